package model_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/quantize"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// TestFamilies holds every family against llama.cpp and float64: GGUF and Hugging Face
// form, quantised, prompts of 48 and 160 tokens, and a prompt in other pieces.
func TestFamilies(t *testing.T) {
	dir := fixtures.Path(t, "families")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(dir, name)
			if readGolden(t, filepath.Join(at, "golden.json")).Embedding != nil {
				encoder(t, at)
				return
			}
			family(t, at)
		})
	}
}

// limits is how far logits may be from llama.cpp's and from float64's. llama.cpp looks GELU
// up in a table.
func limits(path string) (llama, float float64) {
	if strings.Contains(path, "gemma4") {
		return 5e-3, 3e-4
	}
	return 1e-4, 1e-4
}

func family(t *testing.T, at string) {
	limit, float := limits(at)
	gguf, err := filepath.Glob(filepath.Join(at, "model*.gguf"))
	if err != nil || len(gguf) < 3 {
		t.Fatalf("files %v, %v", gguf, err)
	}
	f32 := readGolden(t, filepath.Join(at, "golden.json"))
	for _, path := range gguf {
		file := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(file, func(t *testing.T) {
			if typ, ok := strings.CutPrefix(file, "model-Q"); ok {
				familyQuantised(t, path, filepath.Join(at, "golden-Q"+typ+".json"))
				return
			}
			compare(t, open(t, path), f32, limit, 1e-3)
		})
	}
	t.Run("long", func(t *testing.T) {
		compare(t, open(t, filepath.Join(at, "model.gguf")), readGolden(t, filepath.Join(at, "golden-long.json")), 2*limit, 1e-3)
	})
	t.Run("hf", func(t *testing.T) {
		set := openHF(t, filepath.Join(at, "hf"), "")
		g := readGolden(t, filepath.Join(at, "golden-hf-f64.json"))
		g.Prompt = f32.Prompt
		compareRows(t, newRunner(t, set, quant.F32), g.Prompt, g.logits(t), float)
	})
	// Settings of config.json that GGUF files do not have.
	configs, err := filepath.Glob(filepath.Join(at, "hf", "config-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range configs {
		variant := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(config), "config-"), ".json")
		t.Run("hf-"+variant, func(t *testing.T) {
			g := readGolden(t, filepath.Join(at, "golden-"+variant+"-f64.json"))
			if len(g.Prompt) == 0 {
				g.Prompt = f32.Prompt
			}
			compareRows(t, newRunner(t, openHF(t, filepath.Join(at, "hf"), config), quant.F32), g.Prompt, g.logits(t), float)
		})
	}
	t.Run("pieces", func(t *testing.T) { inPieces(t, open(t, filepath.Join(at, "model.gguf")), f32.Prompt) })
}

// inPieces feeds a prompt at once, one token at a time and in three chunks, and wants the
// same bits.
func inPieces(t *testing.T, set *weights.Set, prompt []int32) {
	n := len(prompt)
	whole := newRunner(t, set, quant.F32).feed(prompt, int32(n-1))[0]
	single, chunks := newRunner(t, set, quant.F32), newRunner(t, set, quant.F32)
	var one, three []float32
	for i := range prompt {
		one = single.feed(prompt[i:i+1], 0)[0]
	}
	for _, c := range [][2]int{{0, 17}, {17, 40}, {40, n}} {
		three = chunks.feed(prompt[c[0]:c[1]], int32(c[1]-c[0]-1))[0]
	}
	if !slices.Equal(whole, one) {
		t.Error("one token at a time gives other bits")
	}
	if !slices.Equal(whole, three) {
		t.Error("three chunks give other bits")
	}
}

// TestFamiliesMade holds the families that the fixtures leave out against the float64 of
// testdata/make_families.py: GGUF and Hugging Face form, and a prompt in other pieces.
func TestFamiliesMade(t *testing.T) {
	dirs, err := filepath.Glob("testdata/made/*")
	if err != nil || len(dirs) < 35 {
		t.Fatalf("folders %v, %v", dirs, err)
	}
	for _, at := range dirs {
		t.Run(filepath.Base(at), func(t *testing.T) {
			g := readGolden(t, filepath.Join(at, "golden.json"))
			gguf := filepath.Join(at, "model.gguf")
			compareRows(t, newRunner(t, open(t, gguf), quant.F32), g.Prompt, g.logits(t), 1e-5)
			hf := openHF(t, filepath.Join(at, "hf"), "")
			compareRows(t, newRunner(t, hf, quant.F32), g.Prompt, g.logits(t), 1e-5)
			variants, err := filepath.Glob(filepath.Join(at, "golden-*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, golden := range variants {
				v := readGolden(t, golden)
				config := filepath.Join(at, "hf", "config-"+strings.TrimPrefix(filepath.Base(golden), "golden-"))
				compareRows(t, newRunner(t, openHF(t, filepath.Join(at, "hf"), config), quant.F32), v.Prompt, v.logits(t), 1e-5)
			}
			inPieces(t, open(t, gguf), g.Prompt)
			sameAsGGUF(t, openHF(t, filepath.Join(at, "hf"), ""), open(t, gguf))
			// In eight bits the model is still this one; activations have eight bits as well.
			q, err := quantize.Set(t.Context(), open(t, gguf), "q8_0", 1)
			if err != nil {
				t.Fatal(err)
			}
			few := 0
			for w := range q.All() {
				if w.Type == quant.Q8_0 {
					few++
				}
				// llama.cpp has convolutions and states in floats only.
				if (strings.Contains(w.Name, "conv1d") || strings.Contains(w.Name, "shortconv.conv") || strings.HasSuffix(w.Name, "ssm_a")) && w.Type != quant.F32 {
					t.Errorf("%s became %v", w.Name, w.Type)
				}
			}
			if few < 5 {
				t.Errorf("%d tensors of Q8_0", few)
			}
			compareRows(t, newRunner(t, q, quant.F32), g.Prompt, g.logits(t), 0.5)
		})
	}
}

// familyQuantised holds a quantised file against llama.cpp's pass over the same numbers.
func familyQuantised(t *testing.T, path, golden string) {
	g := readGolden(t, golden)
	d := g.Dequantise
	d.Prompt = g.Prompt
	// With weights as numbers the bits they were quantised to must say the same.
	limit, _ := limits(path)
	compare(t, decoded(t, open(t, path)), d, limit, 1e-3)
	// With activations of eight bits quern may be about as far off as llama.cpp is.
	own := make([]float32, len(g.Last))
	for i, x := range g.Last {
		own[i] = float32(x)
	}
	compareRows(t, newRunner(t, open(t, path), quant.F32), d.Prompt, map[int32][]float64{int32(len(d.Prompt) - 1): d.Last}, 0.1+1.5*distance(own, d.Last))
}

// TestFamiliesSmall needs nothing outside the repository.
func TestFamiliesSmall(t *testing.T) {
	files, err := filepath.Glob("testdata/families/*.gguf")
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { familyQuantised(t, f, strings.TrimSuffix(f, ".gguf")+".golden.json") })
	}
}

// decoded is set with every tensor as F32.
func decoded(t *testing.T, set *weights.Set) *weights.Set {
	t.Helper()
	to := &weights.Set{Source: set.Source, Meta: set.Meta}
	for w := range set.All() {
		data := make([]byte, 0, 4*w.Elems())
		for _, x := range decode(w) {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		if err := to.Add(&weights.Tensor{Name: w.Name, Type: quant.F32, Shape: w.Shape, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
