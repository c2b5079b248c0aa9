package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/chat"
	"quern/engine/sample"
	"quern/kernels/quant"
)

// small is a two-layer random model with a SentencePiece vocabulary.
const small = "../model/testdata/smollm2-F32.gguf"

func open(t *testing.T, o engine.Options) *Engine {
	t.Helper()
	o.Threads = 2
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// A result is a generation gathered whole.
type result struct {
	text   []string
	reason []string
	events []engine.Event
	done   engine.Event
}

func gather(ctx context.Context, e *Engine, model string, r engine.GenerateRequest) (result, error) {
	n := max(1, r.N)
	res := result{text: make([]string, n), reason: make([]string, n)}
	for ev, err := range e.Generate(ctx, model, r) {
		if err != nil {
			return res, err
		}
		res.events = append(res.events, ev)
		switch ev.Type {
		case engine.Delta:
			res.text[ev.Index] += ev.Text
		case engine.Finish:
			res.reason[ev.Index] = ev.Reason
		case engine.Done:
			res.done = ev
		}
	}
	return res, nil
}

// TestSlowReader: a slow reader gets the queued tokens as one Delta, and the same text.
func TestSlowReader(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small}}})
	r := engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 30, IgnoreEOS: true, N: 2, Sample: sample.Params{Logprobs: true, Temperature: 1, Seed: 1}}
	want, err := gather(t.Context(), e, "small", r)
	if err != nil {
		t.Fatal(err)
	}
	before := want.done.OutputTokens
	var text [2]string
	deltas, entries := 0, 0
	for ev, err := range e.Generate(t.Context(), "small", r) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type != engine.Delta {
			continue
		}
		text[ev.Index] += ev.Text
		entries += len(ev.Logprobs)
		if deltas++; deltas == 1 {
			poll.Until(t, "all tokens wait", func() bool {
				stats := e.Stats()
				return int(stats.Models[0].GeneratedTokens) == 2*before
			})
		}
	}
	if text != [2]string(want.text) || entries != before {
		t.Errorf("%q with %d entries, want %q with %d", text, entries, want.text, before)
	}
	// The first, what was on its way behind it, one for each sequence, and what the end held back: how
	// much is on its way depends on the machine, but each token by itself it is not.
	if deltas > before/3 {
		t.Errorf("%d Deltas of %d tokens for a reader that waited once", deltas, before)
	}
}

func user(text string) engine.Prompt {
	return engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser, Text: text}}}
}

func TestGenerateOrder(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small}}})
	res, err := gather(t.Context(), e, "small", engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 5, IgnoreEOS: true, N: 2,
		Sample: sample.Params{Logprobs: true, Top: 2}, PromptLogprobs: true})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []engine.EventType
	entries := 0
	for _, ev := range res.events {
		if ev.Type == engine.Delta {
			entries += len(ev.Logprobs)
			for _, l := range ev.Logprobs {
				if len(l.Top) != 2 || l.Logprob > 0 || l.Top[0].Logprob < l.Top[1].Logprob {
					t.Errorf("entry %+v", l)
				}
			}
			continue
		}
		kinds = append(kinds, ev.Type)
	}
	if want := []engine.EventType{engine.Admitted, engine.PromptDone, engine.Finish, engine.Finish, engine.Done}; !equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	if got := len(res.events[1].Prompt); got != res.done.PromptTokens {
		t.Errorf("%d prompt entries for %d tokens", got, res.done.PromptTokens)
	}
	if entries != 10 || res.done.OutputTokens != 10 {
		t.Errorf("%d entries, %d tokens, want 10", entries, res.done.OutputTokens)
	}
	if res.text[0] != res.text[1] { // greedy
		t.Errorf("two greedy replies differ: %q and %q", res.text[0], res.text[1])
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A reply must not depend on other requests of the batch, nor on what is cached.
func TestRepliesAreTheirOwn(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small, CacheType: quant.F32}}})
	prompts := []string{"one", "two words", "a rather longer prompt that spans more than one block of the cache, and then some more", "one"}
	request := func(i int) engine.GenerateRequest {
		p := prompts[i%len(prompts)]
		return engine.GenerateRequest{Prompt: engine.Prompt{Text: p}, MaxTokens: 40, IgnoreEOS: true,
			Sample: sample.Params{Temperature: 0.8, TopP: 0.9, Seed: uint64(i%len(prompts)) + 1}}
	}
	want := make([]string, len(prompts))
	for i := range want {
		res, err := gather(t.Context(), e, "small", request(i))
		if err != nil {
			t.Fatal(err)
		}
		want[i] = res.text[0]
	}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			res, err := gather(t.Context(), e, "small", request(i))
			if err != nil {
				t.Error(err)
			} else if got := res.text[0]; got != want[i%len(want)] {
				t.Errorf("request %d says %q, alone %q", i, got, want[i%len(want)])
			}
		}()
	}
	wg.Wait()
}

func TestCancelFreesEverything(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small}}})
	before := runtime.NumGoroutine()
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		for ev, err := range e.Generate(ctx, "small", engine.GenerateRequest{Prompt: engine.Prompt{Text: "go on"}, IgnoreEOS: true}) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
				break
			}
			if ev.Type == engine.Delta {
				n++
			}
			if n == 3 {
				if i%2 == 0 {
					break // leaving the loop cancels
				}
				cancel()
			}
		}
		cancel()
	}
	poll.Until(t, "nothing runs, waits or is held", func() bool {
		s := e.Stats().Models[0]
		return s.Running == 0 && s.Waiting == 0 && s.BlocksUsed == 0
	})
	poll.Goroutines(t, before+2)
}

func TestErrors(t *testing.T) {
	e := open(t, engine.Options{Builtin: true, Models: []engine.ModelOptions{{Name: "owner/small:F32", Path: small, ContextLength: 32}}, Aliases: map[string]string{"gpt": builtin.Name}})
	code := func(model string, r engine.GenerateRequest) (engine.Code, string) {
		_, err := gather(t.Context(), e, model, r)
		var known *engine.Error
		if !errors.As(err, &known) {
			return engine.Code(errString(err)), ""
		}
		if strings.Contains(known.Message, "testdata") {
			t.Errorf("the message shows a path: %s", known.Message)
		}
		return known.Code, known.Param
	}
	for _, tt := range []struct {
		name  string
		model string
		r     engine.GenerateRequest
		code  engine.Code
		param string
	}{
		{"unknown model", "nobody", engine.GenerateRequest{Prompt: user("x")}, engine.CodeModelNotFound, "model"},
		{"chat without a template", "owner/small:F32", engine.GenerateRequest{Prompt: user("x")}, engine.CodeModelNotSupported, "model"},
		{"too long", "owner/small:F32", engine.GenerateRequest{Prompt: engine.Prompt{Text: strings.Repeat("word ", 100)}}, engine.CodeContextLength, "prompt"},
		{"bias", "owner/small:F32", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, Sample: sample.Params{Bias: map[int32]float32{320: 1}}}, engine.CodeInvalidValue, "logit_bias"},
		{"stop id", "owner/small:F32", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, StopIDs: []int32{-1}}, engine.CodeInvalidValue, "stop_token_ids"},
		{"token", "owner/small:F32", engine.GenerateRequest{Prompt: engine.Prompt{Tokens: []int32{5, 320}}}, engine.CodeInvalidValue, "prompt"},
	} {
		if c, p := code(tt.model, tt.r); c != tt.code || p != tt.param {
			t.Errorf("%s: %s %q, want %s %q", tt.name, c, p, tt.code, tt.param)
		}
	}
	// What is found all the same: by alias, without the quantisation, in another case.
	for _, name := range []string{"owner/small", "OWNER/SMALL:f32", "gpt", "GPT"} {
		if _, err := e.Find(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func errString(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.gguf")
	if err := os.WriteFile(bad, []byte("GGUF and then nothing of use"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		o          engine.Options
	}{
		{"no file", "no file", engine.Options{Models: []engine.ModelOptions{{Path: filepath.Join(dir, "none.gguf")}}}},
		{"not a model", "GGUF version", engine.Options{Models: []engine.ModelOptions{{Path: bad}}}},
		{"same name", "two models", engine.Options{Models: []engine.ModelOptions{{Name: "a", Path: small}, {Name: "a", Path: small}}}},
		{"no folder", "model folder", engine.Options{Dirs: []string{filepath.Join(dir, "none")}}},
		{"device", "device", engine.Options{Device: "abacus"}},
		{"cuda", "no CUDA", engine.Options{Device: "cuda"}},
	} {
		e, err := New(tt.o)
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error about %q", tt.name, err, tt.want)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	copyFile := func(to string) {
		t.Helper()
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(small)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := os.Create(to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	copyFile("owner/repo/a.gguf")
	copyFile("b.gguf")
	if err := os.WriteFile(filepath.Join(dir, "broken.gguf"), []byte("<html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, engine.Options{Dirs: []string{dir}})
	var ids []string
	for _, m := range texts(e) {
		ids = append(ids, m.ID)
		if m.Status != "unloaded" || m.Quantization != "F32" || m.Architecture != "llama" || m.SizeBytes == 0 {
			t.Errorf("%+v", m)
		}
	}
	if want := []string{"b", "owner/repo/a"}; !equal(ids, want) {
		t.Fatalf("models %v, want %v", ids, want)
	}
	if _, err := gather(t.Context(), e, "owner/repo/a", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, MaxTokens: 1}); err != nil {
		t.Error(err)
	}
}

// An encoder serves embeddings and nothing else.
func TestEncoder(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "bert", Path: "../model/testdata/bert-mean-Q8_0.gguf", Batch: 16}}})
	if list := e.Models(); len(list) == 0 || list[0].Kind != engine.KindEmbedding {
		t.Fatalf("models are %+v", list)
	}
	text := strings.Repeat("word ", 60) // more tokens than Batch: one step all the same
	in := []engine.EmbedInput{{Text: "a"}, {Text: text}, {Text: "a"}}
	res, err := e.Embed(t.Context(), "bert", engine.EmbedRequest{Inputs: in})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range in {
		alone, err := e.Embed(t.Context(), "bert", engine.EmbedRequest{Inputs: []engine.EmbedInput{v}})
		if err != nil {
			t.Fatal(err)
		}
		for k, x := range alone.Vectors[0] {
			if x != res.Vectors[i][k] {
				t.Fatalf("text %d: value %d is %g alone, %g with others", i, k, x, res.Vectors[i][k])
			}
		}
	}
	var known *engine.Error
	if _, err := gather(t.Context(), e, "bert", engine.GenerateRequest{Prompt: engine.Prompt{Text: "a"}}); !errors.As(err, &known) || known.Code != engine.CodeModelNotSupported {
		t.Errorf("generation gave %v", err)
	}
	if s := e.Stats(); len(s.Models) != 1 || s.Models[0].CacheBytes == 0 {
		t.Errorf("stats are %+v", s.Models)
	}
}

func TestEmbed(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small, Batch: 16}}})
	long := strings.Repeat("a longer text ", 12) // several steps of 16 rows
	texts := []string{"alpha", "beta", long, "alpha", "x"}
	embed := func(texts ...string) [][]float32 {
		t.Helper()
		var in []engine.EmbedInput
		for _, s := range texts {
			in = append(in, engine.EmbedInput{Text: s})
		}
		res, err := e.Embed(t.Context(), "small", engine.EmbedRequest{Inputs: in})
		if err != nil {
			t.Fatal(err)
		}
		return res.Vectors
	}
	together := embed(texts...)
	for i, s := range texts {
		alone := embed(s)[0]
		var dot, ss float64
		for k := range alone {
			dot += float64(alone[k]) * float64(together[i][k])
			ss += float64(alone[k]) * float64(alone[k])
		}
		if dot < 1-1e-5 || ss < 1-1e-5 || ss > 1+1e-5 {
			t.Errorf("text %d: product %g with itself alone, length² %g", i, dot, ss)
		}
	}
	var known *engine.Error
	for name, r := range map[string]engine.EmbedRequest{
		"dimensions": {Inputs: []engine.EmbedInput{{Text: "x"}}, Dimensions: 7},
		"input[1]":   {Inputs: []engine.EmbedInput{{Text: "x"}, {Text: strings.Repeat("y ", 9000)}}},
		"content":    {Inputs: []engine.EmbedInput{{Text: strings.Repeat("y ", 9000)}}, Param: "content"},
	} {
		if _, err := e.Embed(t.Context(), "small", r); !errors.As(err, &known) || known.Param != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := e.Embed(t.Context(), "small", engine.EmbedRequest{Truncate: true, Inputs: []engine.EmbedInput{{Text: strings.Repeat("y ", 9000)}}}); err != nil {
		t.Error(err)
	}
}

// TestDefaultModel: a request that names no model means the only one that was configured;
// what is built in is meant where there is nothing else.
func TestDefaultModel(t *testing.T) {
	copyTo := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, builtin.GGUF(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := engine.ModelOptions{Name: "first", Path: copyTo("a.gguf")}, engine.ModelOptions{Name: "second", Path: copyTo("b.gguf")}
	for _, tt := range []struct {
		models []engine.ModelOptions
		want   string // "" for an error
	}{
		{nil, builtin.Name},
		{[]engine.ModelOptions{first}, "first"},
		{[]engine.ModelOptions{first, second}, ""},
	} {
		e := open(t, engine.Options{Builtin: true, Models: tt.models})
		m, err := e.described("", engine.KindChat)
		if m.ID != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%d models beside the built-in one: %q, %v; want %q", len(tt.models), m.ID, err, tt.want)
		}
	}
	// A default that is configured is meant by every endpoint that it can answer, whichever kind that
	// would rather have.
	e := open(t, engine.Options{Builtin: true, Models: []engine.ModelOptions{first}, Defaults: map[engine.Kind]string{engine.KindChat: builtin.Name}})
	for _, kinds := range [][]engine.Kind{{engine.KindChat, engine.KindCompletion}, {engine.KindCompletion, engine.KindChat}, {engine.KindChat}} {
		if m, err := e.described("", kinds...); m.ID != builtin.Name {
			t.Errorf("%v: %q, %v", kinds, m.ID, err)
		}
	}
}

// The built-in model answers without a file. A lease keeps it in memory; what it says
// comes as it is made.
func Example() {
	e, err := New(engine.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	lease, err := e.Open(ctx, "", engine.KindChat)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release()
	ask := engine.Prompt{Messages: []chat.Message{{Role: chat.RoleUser, Text: "What is the capital of France?"}}}
	for ev, err := range lease.Generate(ctx, engine.GenerateRequest{Prompt: ask}) { // greedy
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(ev.Text)
	}
	fmt.Println()
	// Output:
	// The capital of France is Paris.
}
