package engine

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/formats"
)

// fixtureDir is the folder of reference outputs beside the checkout.
func fixtureDir(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if p := filepath.Join(dir, "shared", "fixtures", "llm", "quant"); isFolder(p) {
			return p
		}
	}
	t.Skip("no shared/fixtures beside the checkout")
	return ""
}

func isFolder(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

// TestQuantize holds the types of every tensor against llama.cpp's quantiser,
// and the error of the weights against that of llama.cpp's own file.
func TestQuantize(t *testing.T) {
	dir := fixtureDir(t)
	source, err := formats.Open(filepath.Join(dir, "llama-F32.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, name := range QuantizeTypes() {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "q.gguf")
			last := 0.0
			err := Quantize(t.Context(), QuantizeOptions{
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
			if quantization(got) != quantization(peer) {
				t.Errorf("file type %s, want %s", quantization(got), quantization(peer))
			}
			var ours, theirs float64
			for w := range source.All() {
				g, ok := got.Tensor(w.Name)
				p, ok2 := peer.Tensor(w.Name)
				if !ok || !ok2 || g.Type.String() != golden.Types[w.Name] {
					t.Errorf("%s is %v, want %s", w.Name, g.Type, golden.Types[w.Name])
					continue
				}
				x, y, z := make([]float32, w.Elems()), make([]float32, w.Elems()), make([]float32, w.Elems())
				w.Type.Layout().Decode(x, w.Data)
				g.Type.Layout().Decode(y, g.Data)
				p.Type.Layout().Decode(z, p.Data)
				for i := range x {
					ours += math.Pow(float64(x[i]-y[i]), 2)
					theirs += math.Pow(float64(x[i]-z[i]), 2)
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
	taken := filepath.Join(dir, "taken.gguf")
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, source, target, typ, want string }{
		{"type", small, "x.gguf", "Q9", `"Q9" is not known; there are F16`},
		{"target exists", small, "taken.gguf", "Q8_0", "exists already"},
		{"no source", "none.gguf", "x.gguf", "Q8_0", "none.gguf"},
		{"SafeTensors", hf, "x.gguf", "Q8_0", "convert it to GGUF"},
		{"quantised", "model/testdata/llama-Q4_K_M.gguf", "x.gguf", "Q8_0", "quantise the original"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Quantize(t.Context(), QuantizeOptions{Source: tt.source, Target: filepath.Join(dir, tt.target), Type: tt.typ})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Quantize: %v; want %q", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, tt.target+".part")); !errors.Is(err, os.ErrNotExist) {
				t.Error("a part was left behind")
			}
		})
	}
}
