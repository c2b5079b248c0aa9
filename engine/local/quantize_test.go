package local

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/lm"
	"quern/engine/quantize"
	"quern/formats"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// TestQuantize holds the types of every tensor against llama.cpp's quantiser,
// and the error of the weights against that of llama.cpp's own file.
func TestQuantize(t *testing.T) {
	dir := fixtures.Path(t, "llm", "quant")
	source, err := formats.Open(filepath.Join(dir, "llama-F32.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, name := range quantize.Types() {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "q.gguf")
			last := 0.0
			err := quantize.File(t.Context(), quantize.Options{
				Source: filepath.Join(dir, "llama-F32.gguf"), Target: target, Type: strings.ToLower(name), Threads: 2, Progress: func(x float64) { last = x },
			})
			if err != nil {
				t.Fatal(err)
			}
			if last != 1 {
				t.Errorf("progress ended at %g", last)
			}
			got, err := formats.Open(target)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			peer, err := formats.Open(filepath.Join(dir, "llama-"+name+".gguf"))
			if err != nil {
				t.Fatal(err)
			}
			defer peer.Close()
			text, err := os.ReadFile(filepath.Join(dir, "golden-"+name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var golden struct {
				Types map[string]string `json:"tensor_types"`
			}
			if err := json.Unmarshal(text, &golden); err != nil {
				t.Fatal(err)
			}
			if lm.Quantization(got) != lm.Quantization(peer) {
				t.Errorf("file type %s, want %s", lm.Quantization(got), lm.Quantization(peer))
			}
			exact := name != "Q4_K_M" && name != "Q5_K_M" && name != "Q6_K"
			var ours, theirs float64
			for w := range source.All() {
				g, ok := got.Tensor(w.Name)
				p, ok2 := peer.Tensor(w.Name)
				if !ok || !ok2 || g.Type.String() != golden.Types[w.Name] {
					t.Errorf("%s is %v, want %s", w.Name, g.Type, golden.Types[w.Name])
					continue
				}
				if exact && g.Type != quant.Q6_K && !bytes.Equal(g.Data, p.Data) {
					t.Errorf("%s as %v differs from llama.cpp's", w.Name, g.Type)
				}
				x, y, z := make([]float32, w.Elems()), make([]float32, w.Elems()), make([]float32, w.Elems())
				w.Type.Layout().Decode(x, w.Data)
				g.Type.Layout().Decode(y, g.Data)
				p.Type.Layout().Decode(z, p.Data)
				for i := range x {
					dy, dz := float64(x[i]-y[i]), float64(x[i]-z[i])
					ours += dy * dy
					theirs += dz * dz
				}
			}
			if ours > theirs*1.02 {
				t.Errorf("squared error %g, llama.cpp's own file has %g", ours, theirs)
			}
			t.Logf("squared error %.4g, llama.cpp's %.4g", ours, theirs)
		})
	}
}

func TestQuantizeErrors(t *testing.T) {
	dir := t.TempDir()
	hf := filepath.Join(dir, "hf")
	if err := os.Mkdir(hf, 0o777); err != nil {
		t.Fatal(err)
	}
	asHuggingFace(t, hf)
	if err := os.Remove(filepath.Join(hf, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken.gguf")
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, source, target, typ, want string }{
		{"type", small, "x.gguf", "Q9", `"Q9" is not known; there are BF16, F16`},
		{"target exists", small, "taken.gguf", "Q8_0", "exists already"},
		{"no source", "none.gguf", "x.gguf", "Q8_0", "none.gguf"},
		{"tokenizer", hf, "x.gguf", "Q8_0", "no tokenizer.json"},
		{"quantised", "../model/testdata/llama-Q4_K_M.gguf", "x.gguf", "Q8_0", "quantise the original"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := quantize.File(t.Context(), quantize.Options{Source: tt.source, Target: filepath.Join(dir, tt.target), Type: tt.typ})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Quantize: %v; want %q", err, tt.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, tt.target+".*.part")); err != nil || len(left) > 0 {
				t.Error("a part was left behind")
			}
		})
	}
}

// TestQuantizeNarrow holds the types of rows that are no multiple of 256
// against those llama.cpp chooses.
func TestQuantizeNarrow(t *testing.T) {
	const source = "../model/testdata/smollm2-F32.gguf"
	for typ, want := range map[string]map[quant.Type]int{
		"Q8_0":   {quant.Q8_0: 15},
		"Q4_0":   {quant.Q8_0: 1, quant.Q4_0: 14},
		"Q5_0":   {quant.Q8_0: 1, quant.Q5_0: 14},
		"Q5_1":   {quant.Q8_0: 1, quant.Q5_1: 14},
		"Q4_K_M": {quant.Q8_0: 3, quant.Q5_0: 12},
		"Q5_K_M": {quant.Q8_0: 3, quant.Q5_1: 12},
		"Q6_K":   {quant.Q8_0: 15},
	} {
		target := filepath.Join(t.TempDir(), "q.gguf")
		if err := quantize.File(t.Context(), quantize.Options{Source: source, Target: target, Type: typ}); err != nil {
			t.Fatal(err)
		}
		set, err := formats.Open(target)
		if err != nil {
			t.Fatal(err)
		}
		got := map[quant.Type]int{}
		for w := range set.All() {
			if w.Type != quant.F32 {
				got[w.Type]++
			}
		}
		set.Close()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", typ, got, want)
		}
	}
}

// TestQuantizeSafeTensors makes a GGUF file of a directory that was made of a
// GGUF file, and expects the first file back.
func TestQuantizeSafeTensors(t *testing.T) {
	want, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "Quern-Tiny")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	publish(t, dir, want)
	target := filepath.Join(t.TempDir(), "q.gguf")
	if err := quantize.File(t.Context(), quantize.Options{Source: dir, Target: target, Type: "F32"}); err != nil {
		t.Fatal(err)
	}
	got, err := formats.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if name := got.Meta.String("general.name"); name != "Quern-Tiny" {
		t.Errorf("general.name is %q", name)
	}
	skip := []string{"general.name", "general.author", "general.license", "general.description", "general.languages", "general.file_type"}
	for k, v := range want.Meta.All() {
		if g, ok := got.Meta.Lookup(k); !slices.Contains(skip, k) && (!ok || !reflect.DeepEqual(g, v) || got.Meta.Kind(k) != want.Meta.Kind(k)) {
			t.Errorf("%s is %.100v of kind %v, want %.100v of kind %v", k, g, got.Meta.Kind(k), v, want.Meta.Kind(k))
		}
	}
	if got.Len() != want.Len() {
		t.Errorf("%d tensors, want %d", got.Len(), want.Len())
	}
	for w := range want.All() {
		g, ok := got.Tensor(w.Name)
		if !ok || g.Type != quant.F32 || !slices.Equal(g.Shape, w.Shape) {
			t.Errorf("%s: %+v, want %v in F32", w.Name, g, w.Shape)
			continue
		}
		x, y := make([]float32, w.Elems()), make([]float32, w.Elems())
		g.Type.Layout().Decode(x, g.Data)
		w.Type.Layout().Decode(y, w.Data)
		if !slices.Equal(x, y) {
			t.Errorf("%s has other weights", w.Name)
		}
	}
}

// TestQuantizeAtLoad expects of weights quantised when they are loaded the
// replies of the file Quantize makes of them, from either container.
func TestQuantizeAtLoad(t *testing.T) {
	dir := t.TempDir()
	original, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	hf, plain, quantised := filepath.Join(dir, "hf"), filepath.Join(dir, "plain.gguf"), filepath.Join(dir, "q.gguf")
	if err := os.Mkdir(hf, 0o777); err != nil {
		t.Fatal(err)
	}
	publish(t, hf, original)
	for target, typ := range map[string]string{plain: "BF16", quantised: "Q5_0"} {
		if err := quantize.File(t.Context(), quantize.Options{Source: hf, Target: target, Type: typ}); err != nil {
			t.Fatal(err)
		}
	}
	var last, steps float64
	e := open(t, engine.Options{Defaulted: engine.ModelOptions{Quantize: "q5_0"}, Models: []engine.ModelOptions{{Name: "file", Path: quantised}, {Name: "hf", Path: hf}, {Name: "16", Path: plain}},
		Progress: func(model string, done float64) {
			if model == "hf" {
				last = done
				steps++
			}
		}})
	bytes := map[string]int64{}
	for _, m := range texts(e) {
		if m.Quantization != "Q5_0" {
			t.Errorf("%s is %s", m.ID, m.Quantization)
		}
		bytes[m.ID] = m.SizeBytes
	}
	if bytes["hf"] != bytes["file"] || bytes["16"] != bytes["file"] {
		t.Errorf("sizes %v, want the same", bytes)
	}
	for _, prompt := range []string{"What is the capital of France?", "Tell me a story about a fox."} {
		var texts []string
		for _, id := range []string{"file", "hf", "16"} {
			res, err := gather(t.Context(), e, id, engine.GenerateRequest{Prompt: user(prompt), MaxTokens: 30})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, res.text[0])
		}
		if texts[1] != texts[0] {
			t.Errorf("%q is answered with %q from SafeTensors, %q from the file", prompt, texts[1], texts[0])
		}
		// The 16 bits in between round a little.
		if !strings.HasPrefix(texts[2], texts[0][:4]) {
			t.Errorf("%q is answered with %q from BF16, %q from the file", prompt, texts[2], texts[0])
		}
	}
	if last != 1 || steps < 20 {
		t.Errorf("progress ended at %g after %g steps", last, steps)
	}
	for _, m := range e.Stats().Models {
		if m.WeightBytes != bytes["file"] {
			t.Errorf("%s has %d bytes of weights, want %d", m.Model, m.WeightBytes, bytes["file"])
		}
	}
	// Asked of one model by name, what cannot be done is an error.
	if _, err := New(engine.Options{Models: []engine.ModelOptions{{Path: quantised, Quantize: "q8_0"}}}); err == nil || !strings.Contains(err.Error(), "are Q5_0 already") {
		t.Errorf("a quantised model to be quantised: %v", err)
	}
}
