package grammar_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	. "quern/engine/grammar"
)

// fits reads text byte by byte and reports whether it may go on so, and end so.
func fits(g *Grammar, text string) (begins, ends bool) {
	s := g.New()
	for i := range len(text) {
		if s.Accept(int32(text[i])+3) != nil {
			return false, false
		}
	}
	return true, s.MayEnd()
}

// TestMeaning checks texts against grammars: 1 may end so, 0 may go on so, - is barred.
func TestMeaning(t *testing.T) {
	trie, _ := small(t)
	az := Runes(RuneRange{'a', 'z'})
	for _, tt := range []struct {
		name  string
		make  func(b *Builder) *Node
		texts map[string]rune
	}{
		{"shortest ends at once", func(b *Builder) *Node {
			return b.Seq(b.Shortest(Concat(Star(AnyChar()), Lit(","))), b.Lexeme(Star(digit())))
		}, map[string]rune{"a": '0', "a,": '1', ",": '1', "a,1": '1', "a,1,": '-', "a,b": '-', ",,": '-'}},
		{"shortest of what may be empty", func(b *Builder) *Node {
			return b.Seq(b.Shortest(Star(Lit("a"))), b.Literal("b"))
		}, map[string]rune{"b": '1', "ab": '-', "a": '-'}},
		{"text and its stops", func(b *Builder) *Node { return b.Text("<m>", "ab") },
			map[string]rune{"": '1', "a<m": '1', "a<m>": '-', "ac<<mm>a": '1', "ab": '-', "\xff\x00": '1'}},
		{"until", func(b *Builder) *Node { return b.Seq(until(b, "<m>", "ab"), b.Literal("<")) },
			map[string]rune{"": '0', "xx<m>": '0', "<m><": '1', "<<m><": '1', "ab<": '1', "abc": '-', "<m>x": '-'}},
		{"lazy call", func(b *Builder) *Node {
			return b.Alt(b.Text("<m>"), b.Seq(until(b, "<m>"), b.Literal("[]"), b.Text()))
		}, map[string]rune{"": '1', "<": '1', "<m": '1', "<m>": '0', "<m>[]": '1', "<m>[]<m>x": '1', "<m>x": '-'}},
		{"intersection", func(b *Builder) *Node {
			return b.Lexeme(And(Repeat(Chars(az), 2, 4), Concat(Star(AnyByte()), Lit("b"), Star(AnyByte())), Not(Concat(Lit("x"), Star(AnyByte())))))
		}, map[string]rune{"a": '0', "ab": '1', "acc": '0', "accc": '-', "accb": '1', "x": '-', "abcde": '-'}},
		{"intersection with itself", func(b *Builder) *Node {
			az := Star(Chars(az))
			return b.Lexeme(And(az, Or(az, Lit("A")), Not(Or(Lit("b"), Concat(Lit("c"), az), Lit("A")))))
		}, map[string]rune{"": '1', "a": '1', "b": '0', "bb": '1', "c": '-', "A": '-', "ac": '1'}},
		{"nothing by itself", func(b *Builder) *Node {
			az := Star(Chars(az))
			return b.Alt(b.Literal("x"), b.Lexeme(Concat(Lit("a"), And(az, Not(Or(az, Lit("A")))))))
		}, map[string]rune{"": '0', "a": '-', "x": '1'}},
		{"counts in counts", func(b *Builder) *Node {
			x := func(l string, m, n, min, max int) *Regex {
				return Concat(Lit(l), Repeat(Repeat(Lit("a"), m, n), min, max))
			}
			return b.Lexeme(Or(x("1", 3, 3, 1, 2), x("2", 2, 3, 1, 2), x("3", 0, 2, 0, 2), x("4", 2, Unbounded, 0, 3), x("5", 1, Unbounded, 2, 2),
				x("6", 2, 3, 0, Unbounded), x("7", 1, 2, 0, Unbounded), x("8", 3, 4, 2, 3), x("9", 2, 2, 2, 2)))
		}, map[string]rune{"1aaa": '1', "1aaaa": '0', "1aaaaaa": '1', "1": '0', "2aa": '1', "2a": '0', "2aaaaaa": '1', "2aaaa": '1', "2aaaaaaa": '-',
			"3": '1', "3aaaa": '1', "3aaaaa": '-', "4": '1', "4a": '0', "4aa": '1', "4aaaaaaaaaa": '1', "5a": '0', "5aa": '1', "5aaaaaaa": '1',
			"6": '1', "6a": '0', "6aaaaaaa": '1', "7": '1', "7a": '1', "8aaaaa": '0', "8aaaaaa": '1', "8aaaaaaaaaaaa": '1', "8aaaaaaaaaaaaa": '-',
			"9aaa": '0', "9aaaa": '1', "9aaaaa": '-'}},
		{"choice", func(b *Builder) *Node { return b.Choice("yes", "no", "yesterday", "é") },
			map[string]rune{"": '0', "yes": '1', "yest": '0', "yesterday": '1', "no": '1', "nope": '-', "\xc3": '0', "é": '1'}},
		{"characters only whole", func(b *Builder) *Node { return b.Lexeme(Star(AnyChar())) },
			map[string]rune{"é": '1', "\xc3": '0', "\xc3a": '-', "\xed\xa0": '-', "\xf4\x90": '-', "\xc0": '-', "\xf0\x9f\x98\x80": '1'}},
		{"counts", func(b *Builder) *Node { return b.Repeat(b.Shortest(Lit("ab")), 2, 3) },
			map[string]rune{"ab": '0', "abab": '1', "ababab": '1', "abababa": '-'}},
		{"counts upside down", func(b *Builder) *Node { return b.Opt(b.Repeat(b.Literal("a"), 3, 2)) },
			map[string]rune{"": '1', "a": '-'}},
		{"nothing in a choice", func(b *Builder) *Node { return b.Alt(b.Alt(), b.Lexeme(Nothing()), b.Literal("a")) },
			map[string]rune{"": '0', "a": '1'}},
		{"a class without members", func(b *Builder) *Node { return b.Opt(b.Lexeme(Chars(nil))) },
			map[string]rune{"": '1', "a": '-'}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := compile(t, trie, Limits{}, tt.make)
			for text, want := range tt.texts {
				begins, ends := fits(g, text)
				got := '-'
				if ends {
					got = '1'
				} else if begins {
					got = '0'
				}
				if got != want {
					t.Errorf("%q: %c, want %c", text, got, want)
				}
			}
		})
	}
}

// TestSpecial checks that special tokens are symbols and never their spelling.
func TestSpecial(t *testing.T) {
	trie, _ := small(t)
	g := compile(t, trie, Limits{}, func(b *Builder) *Node {
		return b.Seq(b.Literal("<"), b.Alt(b.Token(marker), b.Literal("m>")), b.Opt(b.Literal("x")))
	})
	s := g.New()
	if s.Allows(marker) || s.Allows(eog) || s.Accept(marker) == nil {
		t.Error("a special token at the start")
	}
	for _, id := range []int32{'<' + 3, marker} {
		if err := s.Accept(id); err != nil {
			t.Fatal(err)
		}
	}
	if s.Allows(marker) || s.Allows('m'+3) || !s.Allows('x'+3) || !s.Allows(eog) || s.Allows(other) {
		t.Error("after the special token")
	}
	if err := s.Accept(eog); err != nil {
		t.Fatal(err)
	}
	mask := make([]uint32, trie.Words())
	if err := s.Mask(mask); err != ErrEnded || !slices.Equal(mask, make([]uint32, len(mask))) {
		t.Errorf("Mask after the end: %v", err)
	}
	if err := s.Accept(eog); err != ErrEnded || s.Allows(eog) || !s.MayEnd() || len(s.Forced()) > 0 {
		t.Errorf("Accept after the end: %v", err)
	}
	s.Rollback(1)
	if err := s.Accept('x' + 3); err != nil {
		t.Errorf("after going back before the end: %v", err)
	}
	for _, id := range []int32{-1, int32(trie.Tokens())} {
		if s.Allows(id) || !errors.Is(s.Accept(id), ErrToken) {
			t.Errorf("token %d is taken", id)
		}
	}
}

func TestForced(t *testing.T) {
	trie, _ := small(t)
	g := compile(t, trie, Limits{}, func(b *Builder) *Node {
		return b.Seq(b.Literal(`{"name": `), b.Alt(b.Seq(b.Literal("tr"), b.Lexeme(Opt(Lit("ue")))), b.Literal("false")), b.Token(marker), b.Opt(b.Literal("x")))
	})
	s := g.New()
	for _, step := range []struct {
		read   string
		forced string
	}{{"", `{"name": `}, {`{"na`, `me": `}, {`me": `, ""}, {"f", "alse"}, {"alse", ""}} {
		for i := range len(step.read) {
			if err := s.Accept(int32(step.read[i]) + 3); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(s.Forced()); got != step.forced {
			t.Errorf("forced %q, want %q", got, step.forced)
		}
	}
	if err := s.Accept(marker); err != nil || len(s.Forced()) > 0 {
		t.Errorf("forced %q before a possible end; %v", s.Forced(), err)
	}
	long := compile(t, trie, Limits{}, func(b *Builder) *Node { return b.Repeat(b.Shortest(Lit("ab")), 100_000, 100_000) })
	if n := len(long.New().Forced()); n != 4096 {
		t.Errorf("%d bytes forced; want the bound", n)
	}
}

// TestLimits passes each limit, and wants its name.
func TestLimits(t *testing.T) {
	trie, texts := small(t, pieces...)
	any := Star(AnyChar())
	deep := func(b *Builder) *Node {
		n := b.Literal("a")
		for range 1000 {
			n = b.Seq(b.Literal("b"), n)
		}
		return n
	}
	deepRegex := Lit("a")
	for range 1000 {
		deepRegex = Not(deepRegex)
	}
	// Which of the last n letters were an a: 2^n states.
	states := func(n int) *Regex {
		return Concat(Star(Chars(OneOf("ab"))), Lit("a"), Repeat(Chars(OneOf("ab")), n, n))
	}
	parens := func(b *Builder) *Node {
		p := b.Rule("p")
		b.Define(p, b.Alt(b.Seq(b.Literal("("), p, b.Literal(")")), b.Seq()))
		return p
	}
	for _, tt := range []struct {
		name   string
		limits Limits
		make   func(b *Builder) *Node
		want   string
		during bool // and not when compiling
	}{
		{"nodes", Limits{Nodes: 10}, func(b *Builder) *Node { return b.Seq(b.Literal("a"), b.Choice("a", "b"), deep(b)) }, "10 nodes", false},
		{"nesting", Limits{}, deep, "500 levels of nesting", false},
		{"nesting of an expression", Limits{}, func(b *Builder) *Node { return b.Lexeme(deepRegex) }, "500 levels of nesting", false},
		{"compile steps", Limits{Compile: 100}, jsonGrammar, "100 steps to compile", false},
		{"expressions", Limits{Expressions: 50}, jsonGrammar, "50 expressions", false},
		{"expressions of derivatives", Limits{Expressions: 200}, func(b *Builder) *Node { return b.Lexeme(states(30)) }, "200 expressions", true},
		{"states", Limits{States: 50}, func(b *Builder) *Node { return b.Lexeme(states(12)) }, "50 states of the lexer", true},
		{"memory", Limits{Memory: 100_000}, func(b *Builder) *Node { return b.Lexeme(states(30)) }, "100000 bytes of expressions and states", true},
		{"memory to compile", Limits{Memory: 10_000}, jsonGrammar, "10000 bytes of expressions and states", false},
		{"memory of a search", Limits{Memory: 1_000_000}, func(b *Builder) *Node { // the same twice, so nothing is left
			ab := Chars(OneOf("ab"))
			return b.Lexeme(And(states(14), Not(Concat(Star(ab), Lit("a"), Repeat(ab, 4, 4), Repeat(ab, 10, 10)))))
		}, "1000000 bytes of expressions and states", false},
		{"fuel", Limits{Fuel: 50}, func(b *Builder) *Node {
			return b.Lexeme(Concat(any, Repeat(Or(Lit("a"), Lit("aa"), Lit("ba")), 20, 90)))
		}, "50 steps for one state", true},
		{"steps for a mask", Limits{Work: 100}, func(b *Builder) *Node { return b.Lexeme(states(12)) }, "100 steps for one token or one mask", true},
		{"steps for a mask in rows", Limits{Work: 60}, parens, "60 steps for one token or one mask", true},
		{"items in a row", Limits{Items: 10}, func(b *Builder) *Node {
			var alts []*Node
			for range 20 {
				alts = append(alts, b.Seq(b.Shortest(Lit("a")), b.Shortest(Lit("b"))))
			}
			return b.Alt(alts...)
		}, "10 items in one row", false},
		{"rows", Limits{Rows: 5}, parens, "5 rows", true},
		{"items of a sequence", Limits{Total: 50}, parens, "50 items in one sequence", true},
		{"places", Limits{Threads: 2}, func(b *Builder) *Node {
			r := b.Rule("r")
			word := b.Lexeme(Plus(Chars(OneOf("("))))
			b.Define(r, b.Alt(b.Seq(b.Literal("("), r, word, b.Literal(")")), word))
			return r
		}, "2 places at once", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuilder(tt.limits)
			g, err := b.Compile(tt.make(b), trie)
			var limit *LimitError
			if !tt.during {
				if !errors.As(err, &limit) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v; want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := g.New()
			mask := make([]uint32, trie.Words())
			rng := rand.New(rand.NewPCG(1, 1))
			for range 3000 {
				if err = s.Mask(mask); err != nil {
					break
				}
				var next []int32
				for i := range int32(trie.Tokens()) {
					if i > other && bit(mask, int(i)) && !strings.Contains(string(texts[i]), ")") {
						next = append(next, i)
					}
				}
				if len(next) == 0 {
					break
				}
				if err = s.Accept(next[rng.IntN(len(next))]); err != nil {
					break
				}
			}
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v; want %q", err, tt.want)
			}
			if full := strings.Contains(tt.want, "states") || strings.Contains(tt.want, "expressions"); g.Full() != full {
				t.Errorf("Full is %v", !full)
			}
			// It stays so, and nothing is allowed.
			again := s.Mask(mask)
			if again != err || s.Err() != err || s.Accept('a'+3) != err || s.Allows('a'+3) || s.MayEnd() || !slices.Equal(mask, make([]uint32, len(mask))) {
				t.Errorf("after the limit: %v", again)
			}
		})
	}
}

// TestMistakes checks that mistakes of a front end are errors.
func TestMistakes(t *testing.T) {
	trie, _ := small(t)
	for _, tt := range []struct {
		name string
		make func(b *Builder) *Node
		want string
	}{
		{"undefined", func(b *Builder) *Node { return b.Rule("a") }, `"a" is not defined`},
		{"declared twice", func(b *Builder) *Node { b.Rule("a"); return b.Rule("a") }, `"a" is declared twice`},
		{"defined twice", func(b *Builder) *Node {
			r := b.Rule("a")
			b.Define(r, b.Seq())
			b.Define(r, b.Seq())
			return r
		}, `"a" is defined twice`},
		{"no rule", func(b *Builder) *Node { n := b.Seq(); b.Define(n, n); return n }, "no rule"},
		{"unknown token", func(b *Builder) *Node { return b.Token(99999) }, "token 99999"},
		{"end token", func(b *Builder) *Node { return b.Token(eog) }, "ends a reply"},
		{"no text", func(b *Builder) *Node { r := b.Rule("r"); b.Define(r, b.Seq(b.Literal("a"), r)); return r }, ErrNothing.Error()},
		{"no text in a lexeme", func(b *Builder) *Node { return b.Lexeme(And(Plus(digit()), Lit("a"))) }, ErrNothing.Error()},
		{"empty choice", func(b *Builder) *Node { return b.Choice() }, ErrNothing.Error()},
	} {
		b := NewBuilder(Limits{})
		n := tt.make(b)
		if _, err := b.Compile(n, trie); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	for _, v := range []Vocab{{}, {Bytes: [][]byte{nil}, EOG: []int32{1}}, {Bytes: [][]byte{nil}, Special: []int32{-1}}, {Bytes: [][]byte{make([]byte, 1<<14+1)}}} {
		if _, err := NewTrie(v); err == nil {
			t.Errorf("NewTrie of %d tokens, special %d, ends %d: no error", len(v.Bytes), v.Special, v.EOG)
		}
	}
}

// TestBytes: what a grammar says of its memory is what it takes.
func TestBytes(t *testing.T) {
	trie, _ := small(t, pieces...)
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	g := compile(t, trie, Limits{Memory: 8 << 20}, func(b *Builder) *Node {
		return b.Lexeme(Concat(Star(Chars(OneOf("abcde"))), Lit("a"), Repeat(Chars(OneOf("abcde")), 300, 300)))
	})
	s := g.New()
	mask := make([]uint32, trie.Words())
	rng := rand.New(rand.NewPCG(1, 1))
	var err error
	for err == nil && s.Tokens() < 3000 {
		if err = s.Mask(mask); err == nil {
			err = s.Accept('a' + 3 + rng.Int32N(5))
		}
	}
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Max != 8<<20 {
		t.Fatalf("%v after %d tokens; want the limit of memory", err, s.Tokens())
	}
	took, says := live()-before, g.Bytes()
	t.Logf("%d bytes taken, %d counted", took, says)
	if took > says+says/4 || says > took*2 {
		t.Errorf("%d bytes are taken; Bytes says %d", took, says)
	}
	runtime.KeepAlive(s)
}

// TestManyNames: what may be any text but some words takes no more steps for many words
// than for few.
func TestManyNames(t *testing.T) {
	trie, _ := small(t, pieces...)
	var words []string
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		word := ""
		for range 12 {
			word += string(rune('a' + rng.IntN(26)))
		}
		words = append(words, word)
	}
	for _, words := range [][]string{words[:2], words} {
		g := compile(t, trie, Limits{Work: 2000}, func(b *Builder) *Node { return b.Lexeme(freeNames(words...)) })
		s := g.New()
		if err := s.Accept('"' + 3); err != nil {
			t.Fatal(err)
		}
		if err := s.Mask(make([]uint32, trie.Words())); err != nil {
			t.Errorf("%d words: %v", len(words), err)
		}
	}
}

// TestForget keeps too few bytes of masks to remember any for long.
func TestForget(t *testing.T) {
	trie, _ := small(t, pieces...)
	few := compile(t, trie, Limits{Memo: 1000}, jsonGrammar)
	many := compile(t, trie, Limits{}, jsonGrammar)
	a, b := few.New(), many.New()
	for _, c := range []byte(`{"a": [1, true, "bcé"], "x": {}, "y": "0123456789"}`) {
		same(t, a, b, trie, "before "+string(c))
		if a.Accept(int32(c)+3) != nil || b.Accept(int32(c)+3) != nil {
			t.Fatalf("%q is barred", c)
		}
	}
}

// TestAllocs checks that masks cost no memory where a State has been before.
func TestAllocs(t *testing.T) {
	trie, _ := small(t, pieces...)
	for _, tt := range grammars {
		g := compile(t, trie, Limits{}, tt.make)
		s := g.New()
		mask := make([]uint32, trie.Words())
		for range 10 {
			if s.Mask(mask) != nil {
				break
			}
			if n := testing.AllocsPerRun(5, func() {
				if err := s.Mask(mask); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations a mask", tt.name, n)
			}
			for id := range int32(trie.Tokens()) {
				s.Allows(id)
			}
			id := int32(0)
			if n := testing.AllocsPerRun(trie.Tokens(), func() {
				s.Allows(id % int32(trie.Tokens()))
				id++
			}); n != 0 {
				t.Errorf("%s: %v allocations an Allows", tt.name, n)
			}
			next := slices.IndexFunc(make([]struct{}, trie.Tokens()), func(struct{}) bool { return false })
			for i := range trie.Tokens() {
				if i != eog && bit(mask, i) {
					next = i
				}
			}
			if next < 0 {
				break
			}
			if err := s.Accept(int32(next)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestConcurrent reads and masks with many States of one Grammar at once. Run it
// with -race.
func TestConcurrent(t *testing.T) {
	trie, _ := small(t, pieces...)
	walk := func(g *Grammar, seed uint64) string {
		rng := rand.New(rand.NewPCG(seed, 5))
		mask := make([]uint32, trie.Words())
		s := g.New()
		var log []string
		for range 30 {
			if err := s.Mask(mask); err != nil {
				break
			}
			log = append(log, fmt.Sprint(mask))
			var next []int32
			for id := range trie.Tokens() {
				if bit(mask, id) {
					next = append(next, int32(id))
				}
			}
			if err := s.Accept(next[rng.IntN(len(next))]); err != nil {
				return err.Error()
			}
		}
		return strings.Join(log, "\n")
	}
	for _, name := range []string{"json", "ambiguous words", "many ways", "lazy", "and, not"} {
		i := slices.IndexFunc(grammars, func(x struct {
			name string
			make func(b *Builder) *Node
		}) bool {
			return x.name == name
		})
		limits := Limits{Memo: 50_000}
		alone := compile(t, trie, limits, grammars[i].make)
		shared := compile(t, trie, limits, grammars[i].make)
		var wg sync.WaitGroup
		got := make([]string, 8)
		for n := range got {
			wg.Go(func() { got[n] = walk(shared, uint64(n/2)) })
		}
		wg.Wait()
		for n := range got {
			if want := walk(alone, uint64(n/2)); got[n] != want {
				t.Errorf("%s: State %d differs from one that was alone", name, n)
			}
		}
	}
}
