package local

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// A visit is what an engine said between its start and its end.
type visit struct {
	ids    []engine.Logprob
	cached int
	stats  engine.Stats
	log    string
}

// visits starts an engine, asks its only model and ends it.
func visits(t *testing.T, o engine.ModelOptions, dir, model string, prompt []token.ID) (v visit) {
	t.Helper()
	var log bytes.Buffer
	e, err := New(engine.Options{Models: []engine.ModelOptions{o}, Threads: 2, PrefixCache: engine.PrefixCache{Dir: dir, Size: 1 << 30}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := e.Open(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range l.Generate(t.Context(), engine.GenerateRequest{
		Prompt: engine.Prompt{Tokens: prompt}, MaxTokens: 40, IgnoreEOS: true,
		Sample: sample.Params{Temperature: 1, Seed: 5, Logprobs: true, Top: 2},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case engine.PromptDone:
			v.cached = ev.CachedTokens
		case engine.Delta:
			v.ids = append(v.ids, ev.Logprobs...)
		}
	}
	l.Release()
	v.stats = e.Stats()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	v.log = log.String()
	return v
}

func same(a, b []engine.Logprob) bool {
	return slices.EqualFunc(a, b, func(a, b engine.Logprob) bool {
		return a.ID == b.ID && a.Logprob == b.Logprob && slices.EqualFunc(a.Top, b.Top, func(a, b engine.Alternative) bool { return a.ID == b.ID && a.Logprob == b.Logprob })
	})
}

func tokens(n, vocab int) (ids []token.ID) {
	for i := range n {
		ids = append(ids, token.ID(3+(i*i+7*i)%(vocab-3)))
	}
	return ids
}

// TestDiskRestart: a reply after a restart that goes on from blocks on the disk is that of an
// engine without, to the bit of every log-probability: with heads of keys and values, latents,
// windows and chunks, states, and each type of cache.
func TestDiskRestart(t *testing.T) {
	family := func(name string) string { return "../model/testdata/families/" + name + "-Q4_0.gguf" }
	for _, tt := range []struct {
		name, path string
		cache      quant.Type
		cached     int // of 150
	}{
		{"small", small, 0, 128},
		{"deepseek-v3", family("deepseek-v3"), 0, 128},
		{"cohere2", family("cohere2"), 0, 128},
		{"olmo3", family("olmo3"), 0, 128},
		{"gemma4-e", family("gemma4-e"), 0, 128},
		{"qwen35", family("qwen35"), 0, 128},
		{"falcon-h1", family("falcon-h1"), 0, 128},
		{"lfm2", family("lfm2"), 0, 128},
		{"falcon-mamba", family("falcon-mamba"), 0, 128},
		{"rwkv7", family("rwkv7"), 0, 128},
		{"F32", lm.BuiltinPath, quant.F32, 128},
		{"Q8_0", lm.BuiltinPath, quant.Q8_0, 128},
		{"Q4_0", lm.BuiltinPath, quant.Q4_0, 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := engine.ModelOptions{Name: "m", Path: tt.path, ContextLength: 256, Slots: 2, CacheType: tt.cache}
			prompt, dir := tokens(150, 150), filepath.Join(t.TempDir(), "cache")
			want := visits(t, o, "", "m", prompt)
			first := visits(t, o, dir, "m", prompt)
			again := visits(t, o, dir, "m", prompt)
			if len(want.ids) != 40 || !same(first.ids, want.ids) || !same(again.ids, want.ids) {
				t.Errorf("replies differ:\n%v without\n%v at first\n%v after a restart", want.ids, first.ids, again.ids)
			}
			if first.cached != 0 || again.cached != tt.cached {
				t.Errorf("%d and %d tokens were found, want 0 and %d", first.cached, again.cached, tt.cached)
			}
			if d := again.stats.Disk; d.Hits == 0 || d.Damaged+d.Errors+d.Dropped > 0 || again.stats.Models[0].DiskHits != int64(tt.cached) {
				t.Errorf("%+v", d)
			}
			if want.stats.Disk != nil || want.log+first.log+again.log != "" {
				t.Errorf("logged: %s%s%s", want.log, first.log, again.log)
			}
		})
	}
}

// TestDiskModelReplaced: another model in a file of the same name, size and time does not get
// what the first one computed, though it differs in one byte.
func TestDiskModelReplaced(t *testing.T) {
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	path, dir := filepath.Join(t.TempDir(), "m.gguf"), filepath.Join(t.TempDir(), "cache")
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err == nil {
			if err := os.Chtimes(path+".new", st.ModTime(), st.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	o := engine.ModelOptions{Name: "m", Path: path, ContextLength: 256, Slots: 2}
	prompt := tokens(150, 200)
	put(data)
	first := visits(t, o, dir, "m", prompt)
	set, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	w, ok := set.Tensor("blk.0.attn_v.weight")
	if !ok {
		t.Fatal("no tensor to change")
	}
	middle := len(w.Data)/8*4 + 3 // an exponent
	at := bytes.Index(data, w.Data) + middle
	other := bytes.Clone(data)
	other[at] ^= 3
	put(other)
	want := visits(t, o, "", "m", prompt)
	got := visits(t, o, dir, "m", prompt)
	if got.cached != 0 || !same(got.ids, want.ids) || same(got.ids, first.ids) {
		t.Errorf("with %d tokens found the other model says %v, want %v; the first says %v", got.cached, got.ids, want.ids, first.ids)
	}
	put(data)
	if back := visits(t, o, dir, "m", prompt); back.cached != 128 || !same(back.ids, first.ids) {
		t.Errorf("the first model is back, and of its tokens %d are found", back.cached)
	}
	// Written over in place: not even the file is another.
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := visits(t, o, dir, "m", prompt); got.cached != 128 || !same(got.ids, want.ids) {
		t.Errorf("written over in place, with %d tokens found, it says %v, want %v", got.cached, got.ids, want.ids)
	}
}

// TestDiskKeys: what changes the bits of keys and values is a miss.
func TestDiskKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	low, _, _ := adaptersOf(t, t.TempDir())
	base := engine.ModelOptions{Name: "m", Path: small, ContextLength: 256, Slots: 2}
	adapted := func(scale float64) engine.ModelOptions {
		o := base
		o.Adapters = []engine.Adapter{{Name: "a", Path: low, Scale: scale}}
		return o
	}
	with := func(o engine.ModelOptions, change func(*engine.ModelOptions)) engine.ModelOptions {
		change(&o)
		return o
	}
	prompt := tokens(150, 200)
	for i, tt := range []struct {
		o     engine.ModelOptions
		model string
		found bool
	}{
		{base, "m", false},
		{base, "m", true},
		{adapted(1), "m", true},
		{adapted(1), "m:a", false},
		{adapted(2), "m:a", false},
		{adapted(1), "m:a", true},
		{with(base, func(o *engine.ModelOptions) { o.CacheType = quant.F32 }), "m", false},
		{with(base, func(o *engine.ModelOptions) { o.ContextLength = 200 }), "m", false},
		{with(base, func(o *engine.ModelOptions) { o.Batch = 64 }), "m", true},
	} {
		want := visits(t, tt.o, "", tt.model, prompt)
		got := visits(t, tt.o, dir, tt.model, prompt)
		if (got.cached > 0) != tt.found || !same(got.ids, want.ids) {
			t.Errorf("case %d: %d tokens are found; %v, want %v", i, got.cached, got.ids, want.ids)
		}
	}
}

// TestDiskFaults: a folder that cannot be used costs one line in the log.
func TestDiskFaults(t *testing.T) {
	o := engine.ModelOptions{Name: "m", Path: small, ContextLength: 256, Slots: 2}
	prompt := tokens(150, 200)
	want := visits(t, o, "", "m", prompt)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), filepath.Join(t.TempDir(), "no", "such", "folder")} {
		got := visits(t, o, dir, "m", prompt)
		if got.cached != 0 || !same(got.ids, want.ids) || strings.Count(got.log, "prefix cache") < 1 || strings.Count(got.log, "\n") > 2 {
			t.Errorf("%s: %d tokens are found, logged: %s", filepath.Base(dir), got.cached, got.log)
		}
	}
}
