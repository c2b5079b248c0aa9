package model_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/quantize"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// encoder holds one of the fixtures' families that make vectors against llama.cpp, whose
// activation is rounded, and float64: GGUF and Hugging Face form, quantised, and with
// other texts in the same step.
func encoder(t *testing.T, at string) {
	set := open(t, filepath.Join(at, "model.gguf"))
	exact := readGolden(t, filepath.Join(at, "golden-hf-f64.json"))
	t.Run("model", func(t *testing.T) {
		compareEmbedding(t, set, readGolden(t, filepath.Join(at, "golden.json")), model.PoolMean, 1e-2)
	})
	t.Run("exact", func(t *testing.T) { compareEmbedding(t, set, exact, model.PoolMean, 1e-4) })
	t.Run("hf", func(t *testing.T) {
		hf := openHF(t, filepath.Join(at, "hf"), "")
		hf.Meta.Set("hf.pooling", `{"pooling_mode_mean_tokens":true}`)
		compareEmbedding(t, hf, exact, model.PoolMean, 1e-4)
	})
	t.Run("quantised", func(t *testing.T) { encoderQuantised(t, set, exact.Prompt) })
	t.Run("together", func(t *testing.T) { encoderTogether(t, set, exact.Prompt) })
}

// encoderQuantised holds quern's own quantised file against its numbers as float32.
func encoderQuantised(t *testing.T, set *weights.Set, prompt []int32) {
	for _, typ := range []string{"Q8_0", "Q4_0"} {
		q, err := quantize.Set(context.Background(), set, typ, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Fill(); err != nil {
			t.Fatal(err)
		}
		got, want := hiddenOf(t, q, prompt), hiddenOf(t, decoded(t, q), prompt)
		worst := 0.0
		for i := range want {
			ref := make([]float64, len(want[i]))
			for k, x := range want[i] {
				ref[k] = float64(x)
			}
			worst = max(worst, distance(got[i], ref))
		}
		if !(worst <= 0.3) || worst == 0 {
			t.Errorf("%s: rows are off by %.3g, want at most 0.3 and above 0", typ, worst)
		}
	}
}

// hiddenOf returns the rows of a text.
func hiddenOf(t *testing.T, set *weights.Set, prompt []int32) [][]float32 {
	t.Helper()
	r := newRunnerOf(t, openModel(t, set), quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
	var all []int32
	for i := range prompt[:min(len(prompt), 64)] {
		all = append(all, int32(i))
	}
	return r.feed(prompt, all...)
}

// encoderTogether expects equal bits of a text alone and beside another: what stands for
// a prompt in pieces, since tokens that see what follows cannot come one by one.
func encoderTogether(t *testing.T, set *weights.Set, prompt []int32) {
	alone := hiddenOf(t, set, prompt)
	r := newRunnerOf(t, openModel(t, set), quant.F32, func(_ model.LM, _ *graph.Builder, h graph.Value) graph.Value { return h })
	in := &graph.Batch{}
	for s, text := range [][]int32{slices.Repeat([]int32{7, 9, 11}, 30), prompt} {
		in.Sequence(r.table[20*s:20*s+20], nil)
		for i, id := range text {
			in.Row(id, int32(i))
			if s == 1 {
				in.Want = append(in.Want, int32(len(in.Tokens)-1))
			}
		}
	}
	out, err := r.exec.Run(t.Context(), in, r.cache)
	if err != nil {
		t.Fatal(err)
	}
	n := len(alone[0])
	for i := range alone {
		for k, x := range alone[i] {
			if math.Float32bits(x) != math.Float32bits(out[0][i*n+k]) {
				t.Fatalf("row %d [%d] is %g beside another text, %g alone", i, k, out[0][i*n+k], x)
			}
		}
	}
}
