package constrain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"quern/engine"
	"quern/engine/grammar"
	"quern/engine/token"
)

// vocabulary has every byte and the end, token 0.
func vocabulary(t *testing.T) *token.Vocab {
	t.Helper()
	spec := token.Spec{Model: "llama", Tokens: []string{"<end>"}, Kinds: []token.Kind{token.Control}, Special: map[token.Role]token.ID{token.EOS: 0}}
	for b := range 256 {
		spec.Tokens, spec.Kinds = append(spec.Tokens, fmt.Sprintf("<0x%02X>", b)), append(spec.Kinds, token.Byte)
	}
	spec.Scores = make([]float32, len(spec.Tokens))
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func choice(words ...string) *engine.Constraint {
	return &engine.Constraint{Form: engine.FormChoice, Choices: words, Param: "choice"}
}

// TestMadeOnce: equal constraints share a grammar, also when asked for at the same time; those
// that differ in anything do not.
func TestMadeOnce(t *testing.T) {
	c := New(vocabulary(t))
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[*Grammar]bool{}
	for range 20 {
		wg.Go(func() {
			g, err := c.Compile(t.Context(), choice("a", "b"))
			mu.Lock()
			defer mu.Unlock()
			if made[g] = true; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, other := range []*engine.Constraint{choice("b", "a"), choice("ab"), choice("a", "b", ""), {Form: engine.FormRegex, Source: "a|b"}} {
		g, err := c.Compile(t.Context(), other)
		if made[g] = true; err != nil {
			t.Error(err)
		}
	}
	if len(made) != 5 {
		t.Errorf("%d grammars of 5 constraints", len(made))
	}
}

// TestKeepsFew: grammars that were not used for longest are forgotten, and refusals are
// remembered as well, but name the field of each request.
func TestKeepsFew(t *testing.T) {
	c := New(vocabulary(t))
	first, err := c.Compile(t.Context(), choice("first"))
	if err != nil {
		t.Fatal(err)
	}
	again := func() *Grammar {
		g, err := c.Compile(t.Context(), choice("first"))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for i := range 3 * maxCached {
		if _, err := c.Compile(t.Context(), choice(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 && again() != first {
			t.Fatal("a grammar in use was forgotten")
		}
	}
	if n := len(c.cache.entries); n != maxCached {
		t.Errorf("%d grammars are kept, want %d", n, maxCached)
	}
	for i := range maxCached {
		if _, err := c.Compile(t.Context(), choice(fmt.Sprint("other", i))); err != nil {
			t.Fatal(err)
		}
	}
	if again() == first {
		t.Error("an unused grammar was kept")
	}
	k := &engine.Constraint{Form: engine.FormSchema, Source: "{"}
	for _, k.Param = range []string{"one", "two"} {
		var told *engine.Error
		if _, err := c.Compile(t.Context(), k); !errors.As(err, &told) || told.Param != k.Param || !strings.HasPrefix(told.Message, k.Param+": ") {
			t.Errorf("got %v, want a refusal of %s", err, k.Param)
		}
	}
}

// grow reads random text with g until so many bytes are taken, or a limit is passed.
func grow(t *testing.T, g *Grammar, bytes int) error {
	t.Helper()
	m := g.Mask()
	rng := rand.New(rand.NewPCG(1, 1))
	for g.g.Bytes() < bytes {
		if err := m.Accept(token.ID(1 + 'a' + rng.IntN(5))); err != nil {
			return err
		}
		if _, err := m.Bits(); err != nil {
			return err
		}
	}
	return nil
}

// TestGrown: grammars that grew while they were used are counted as they are, and one
// that is full is made anew.
func TestGrown(t *testing.T) {
	c := New(vocabulary(t))
	compile := func(n int) *Grammar {
		t.Helper()
		g, err := c.Compile(t.Context(), &engine.Constraint{Form: engine.FormRegex, Source: fmt.Sprintf("[a-e]*a[a-e]{%d}", n), Param: "regex"})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first, second := compile(500), compile(501)
	for _, g := range []*Grammar{first, second} {
		if err := grow(t, g, maxBytes/3); err != nil {
			t.Fatal(err)
		}
	}
	third := compile(502)
	if compile(500) != first || compile(501) != second {
		t.Error("grammars of two thirds of the memory are not kept")
	}
	if err := grow(t, third, maxBytes/3+1<<20); err != nil {
		t.Fatal(err)
	}
	compile(503) // first was not used for longest, but third
	if compile(501) != second || compile(500) != first || compile(502) == third {
		t.Error("the wrong grammar was forgotten")
	}
	var limit *grammar.LimitError
	if err := grow(t, second, 1<<40); !errors.As(err, &limit) {
		t.Fatalf("got %v, want a limit", err)
	}
	if compile(501) == second {
		t.Error("a grammar in which no more states can be made was kept")
	}
}

// TestWaiting: while as many grammars as may are made, others wait, but not after their
// requests end, and not too many of them.
func TestWaiting(t *testing.T) {
	c := New(vocabulary(t))
	for range cap(c.work) {
		c.work <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compile(gone, choice("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the request", err)
	}
	c.queue.Store(maxWaiting + int64(cap(c.work)))
	var told *engine.Error
	if _, err := c.Compile(t.Context(), choice("a")); !errors.As(err, &told) || told.Code != engine.CodeQueueFull || told.RetryAfter == 0 {
		t.Errorf("got %v, want a full queue", err)
	}
	c.queue.Store(0)
	for range cap(c.work) {
		<-c.work
	}
	if _, err := c.Compile(t.Context(), choice("a")); err != nil || c.queue.Load() != 0 {
		t.Errorf("afterwards: %v, %d wait", err, c.queue.Load())
	}
}

// TestPanic: a compiler that panics fails the request, now and when it is asked again.
func TestPanic(t *testing.T) {
	forms["panic"] = form{code: engine.CodeInvalidGrammar, what: "joke", most: 10}
	defer delete(forms, "panic")
	c := New(vocabulary(t))
	for range 2 {
		var told *engine.Error
		if _, err := c.Compile(t.Context(), &engine.Constraint{Form: "panic"}); !errors.As(err, &told) || told.Code != engine.CodeEngineFailure {
			t.Errorf("got %v, want an engine failure", err)
		}
	}
}

// TestCostlyAtOnce: a grammar whose first mask passes a limit is refused.
func TestCostlyAtOnce(t *testing.T) {
	defer func(old int) { limits.Work = old }(limits.Work)
	limits.Work = 1
	c := New(vocabulary(t))
	var told *engine.Error
	if _, err := c.Compile(t.Context(), choice("abc")); !errors.As(err, &told) || told.Code != engine.CodeInvalidGrammar || !strings.Contains(told.Message, "steps") {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestLimitWhileGenerating: a limit that is passed on the way is an error that clients are
// told of, and from then on nothing is allowed.
func TestLimitWhileGenerating(t *testing.T) {
	defer func(old int) { limits.Rows = old }(limits.Rows)
	limits.Rows = 20
	c := New(vocabulary(t))
	k := &engine.Constraint{Form: engine.FormGrammar, Source: "root ::= \"(\" root \")\" | \"x\"", Param: "grammar"}
	g, err := c.Compile(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	m := g.Mask()
	for range 100 {
		if _, err = m.Bits(); err != nil {
			break
		}
		if err = m.Accept('(' + 1); err != nil {
			break
		}
	}
	var told *engine.Error
	if !errors.As(Failure(err, k), &told) || told.Code != engine.CodeInvalidGrammar || told.Param != "grammar" || !strings.Contains(told.Message, "20 ") {
		t.Errorf("got %v, told as %v; want one that names the limit", err, Failure(err, k))
	}
	if !errors.As(Failure(err, nil), &told) || told.Code != engine.CodeEngineFailure {
		t.Errorf("of calls: %v", Failure(err, nil))
	}
	if _, err := m.Bits(); err == nil || m.Allows('('+1) || m.Allows('x'+1) || m.MayEnd() || m.Ended() {
		t.Error("something is allowed behind the limit")
	}
	if Failure(context.Canceled, k) != nil {
		t.Error("another's error was told")
	}
}

// TestAllocatesNothing: a reply under a schema costs no memory a token once its masks are
// known.
func TestAllocatesNothing(t *testing.T) {
	c := New(vocabulary(t))
	g, err := c.Compile(t.Context(), &engine.Constraint{Form: engine.FormSchema, Source: `{"type":"array","items":{"enum":["a","b",1]},"maxItems":100000}`})
	if err != nil {
		t.Fatal(err)
	}
	m, rng := g.Mask(), rand.New(rand.NewPCG(1, 2))
	one := func() {
		words, err := m.Bits()
		if err != nil {
			t.Fatal(err)
		}
		for id := token.ID(1 + rng.IntN(256)); ; id = 1 + id%256 {
			if id != ']'+1 && words[id>>5]&(1<<(id&31)) != 0 {
				if err := m.Accept(id); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		m.Ended()
	}
	for range 70_000 {
		one()
	}
	// A sequence's own rows grow by doubling; that is once in many thousand tokens.
	if n := testing.AllocsPerRun(10_000, one); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}
