package local

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"quern/engine"
	"quern/engine/sample"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// adaptersOf writes two adapters for the small model into dir, as GGUF and as PEFT, and
// the model with the first merged into its weights.
func adaptersOf(t *testing.T, dir string) (asGGUF, asPEFT, merged string) {
	t.Helper()
	set, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	const rank, alpha = 4, 8.0
	r := rand.New(rand.NewPCG(8, 1))
	random := func(n int, by float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64() * by)
		}
		return x
	}
	stream := func(name string, x []float32, shape ...int) gguf.Stream {
		return gguf.StreamOf(&weights.Tensor{Name: name, Type: quant.F32, Shape: shape, Data: quant.Floats(x)})
	}
	var low, whole []gguf.Stream
	header, data := map[string]any{}, []byte(nil)
	put := func(name string, x []float32, shape ...int) {
		from := len(data)
		data = append(data, quant.Floats(x)...)
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(data)}}
	}
	names := strings.NewReplacer("blk.", "base_model.model.model.layers.", "attn_v.weight", "self_attn.v_proj", "ffn_down.weight", "mlp.down_proj")
	for w := range set.All() {
		if !strings.Contains(w.Name, "attn_v.weight") && !strings.Contains(w.Name, "ffn_down.weight") {
			whole = append(whole, gguf.StreamOf(w))
			continue
		}
		rows, cols := w.Shape[0], w.Shape[1]
		a, b := random(rank*cols, 1/math.Sqrt(float64(cols))), random(rows*rank, 0.2)
		low = append(low, stream(w.Name+".lora_a", a, rank, cols), stream(w.Name+".lora_b", b, rows, rank))
		put(names.Replace(w.Name)+".lora_A.weight", random(rank*cols, 0.1), rank, cols)
		put(names.Replace(w.Name)+".lora_B.weight", random(rows*rank, 0.2), rows, rank)
		x := make([]float32, rows*cols)
		w.Type.Layout().Decode(x, w.Data)
		for i := range rows {
			for j := range cols {
				for k := range rank {
					x[i*cols+j] += alpha / rank * b[i*rank+k] * a[k*cols+j]
				}
			}
		}
		whole = append(whole, stream(w.Name, x, rows, cols))
	}
	write := func(name string, meta *weights.Meta, tensors []gguf.Stream) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(gguf.Write(f, meta, tensors), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	var meta weights.Meta
	meta.Set("general.type", "adapter")
	meta.Set("general.architecture", "llama")
	meta.Set("adapter.type", "lora")
	meta.Set("adapter.lora.alpha", alpha)
	asGGUF, merged = write("tone.gguf", &meta, low), write("merged.gguf", &set.Meta, whole)
	asPEFT = filepath.Join(dir, "style")
	if err := os.Mkdir(asPEFT, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	err = errors.Join(os.WriteFile(filepath.Join(asPEFT, "adapter_model.safetensors"), append(file, data...), 0o600),
		os.WriteFile(filepath.Join(asPEFT, "adapter_config.json"), []byte(`{"peft_type":"LORA","r":4,"lora_alpha":16}`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return asGGUF, asPEFT, merged
}

// TestAdapters: a model with adapters answers as its merged twin does, many requests with
// different adapters in one batch as each alone, and vectors are made with them too.
func TestAdapters(t *testing.T) {
	tone, style, merged := adaptersOf(t, t.TempDir())
	e := open(t, engine.Options{Models: []engine.ModelOptions{
		{Name: "small", Path: small, CacheType: quant.F32, CacheBytes: 1 << 20, ContextLength: 256, Adapters: []engine.Adapter{{Name: "tone", Path: tone}, {Name: "half", Path: tone, Scale: 0.5}, {Name: "style", Path: style}}},
		{Name: "merged", Path: merged, CacheType: quant.F32, ContextLength: 256},
	}, Aliases: map[string]string{"tuned": "small:tone"}})
	models := []string{"small", "small:tone", "small:half", "small:style"}
	prompts := []string{"one", "a rather longer prompt that spans more than one block of the cache, and then some more", "two words"}
	request := func(i int) engine.GenerateRequest {
		return engine.GenerateRequest{Prompt: engine.Prompt{Text: prompts[i%len(prompts)]}, MaxTokens: 60, IgnoreEOS: true, N: 1 + i%2,
			Sample: sample.Params{Temperature: 0.8, TopP: 0.9, Seed: uint64(i) + 1}}
	}
	one := func(model string, r engine.GenerateRequest) string {
		res, err := gather(t.Context(), e, model, r)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(res.text, "|")
	}
	const n = 24
	want := map[string][]string{}
	for _, m := range models {
		for i := range n / len(models) {
			r := request(i)
			r.NoPromptCache = true
			want[m] = append(want[m], one(m, r))
		}
	}
	for i, m := range models[1:] {
		if want[m][1] == want["small"][1] || want[m][1] == want[models[i]][1] {
			t.Errorf("%s answers as another does", m)
		}
	}
	greedy := engine.GenerateRequest{Prompt: engine.Prompt{Text: prompts[1]}, MaxTokens: 40, IgnoreEOS: true}
	if got, want := one("tuned", greedy), one("merged", greedy); got != want || got == one("small", greedy) {
		t.Errorf("with the adapter %q, merged %q", got, want)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			m, k := models[i%len(models)], i/len(models)
			res, err := gather(t.Context(), e, m, request(k))
			if err != nil {
				t.Error(err)
			} else if got := strings.Join(res.text, "|"); got != want[m][k] {
				t.Errorf("%s, request %d: %q, alone %q", m, k, got, want[m][k])
			}
		})
	}
	wg.Wait()
	vector := func(model string) []float32 {
		l, err := e.Open(t.Context(), model)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
		res, err := l.Embed(t.Context(), engine.EmbedRequest{Inputs: []engine.EmbedInput{{Text: prompts[1]}}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Vectors[0]
	}
	with, twin, plain := vector("small:tone"), vector("merged"), vector("small")
	near, far := 0.0, 0.0
	for i := range with {
		near, far = max(near, math.Abs(float64(with[i]-twin[i]))), max(far, math.Abs(float64(with[i]-plain[i])))
	}
	if near > 1e-4 || far < 1e-3 {
		t.Errorf("a vector is %g from that of merged weights, %g from the model's own", near, far)
	}
	var ids []string
	for _, m := range e.Models() {
		if m.Base != "" {
			ids = append(ids, m.ID+" of "+m.Base+" in "+m.Adapter+" "+m.Status)
		}
	}
	if got := strings.Join(ids, ", "); got != "small:tone of small in tone.gguf loaded, small:half of small in tone.gguf loaded, small:style of small in style loaded, tuned of small in tone.gguf loaded" {
		t.Errorf("adapters: %s", got)
	}
	for _, s := range e.Stats().Models {
		if s.Model == "small" && (len(s.Adapters) != 3 || s.Adapters[2] != engine.AdapterStats{Model: "small:style"} || s.PrefixHits == 0) {
			t.Errorf("stats %+v", s)
		}
	}
}

// Adapters count in what a model needs of memory, and what is wrong with one is said at start.
func TestAdapterMemoryAndErrors(t *testing.T) {
	dir := t.TempDir()
	tone, style, _ := adaptersOf(t, dir)
	adapter := func(paths ...string) []engine.Adapter {
		var list []engine.Adapter
		for _, p := range paths {
			list = append(list, engine.Adapter{Name: filepath.Base(p), Path: p})
		}
		return list
	}
	needs := func(list []engine.Adapter) int64 {
		e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small, Adapters: list}}})
		n, err := e.Needs(t.Context(), "small")
		if err != nil || n.Why != nil {
			t.Fatal(err, n.Why)
		}
		return n.Bytes
	}
	none, one, two := needs(nil), needs(adapter(tone)), needs(adapter(tone, style))
	st, err := os.Stat(filepath.Join(style, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	room := int64(4 * 4 * engine.DefaultBatch) // between A and B
	if d := two - one; d > st.Size() || d < st.Size()*3/4 || one-none != d+room {
		t.Errorf("%d bytes without adapters, %d with one, %d with another of %d", none, one, two, st.Size())
	}
	qwen, err := filepath.Abs("../model/testdata/qwen3moe.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		m          engine.ModelOptions
	}{
		{"missing", `model "m": adapter "gone": there is no file ` + filepath.Join(dir, "gone"), engine.ModelOptions{Path: small, Adapters: adapter(filepath.Join(dir, "gone"))}},
		{"a model", `adapter "merged.gguf": malformed model: general.type`, engine.ModelOptions{Path: small, Adapters: adapter(filepath.Join(dir, "merged.gguf"))}},
		{"another architecture", `made for architecture "llama", and the model is qwen3moe`, engine.ModelOptions{Path: qwen, Adapters: adapter(tone)}},
		{"another size", "it was made for another", engine.ModelOptions{Path: qwen, Adapters: adapter(style)}},
		{"a voice", "adapters are for text models", engine.ModelOptions{Path: formantPath, Adapters: adapter(tone)}},
		{"as a model", "name it under adapters of its model", engine.ModelOptions{Path: tone}},
		{"as a model, PEFT", "name it under adapters of its model", engine.ModelOptions{Path: style}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.Name = "m"
			if _, err := New(engine.Options{Models: []engine.ModelOptions{tt.m}}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
}
