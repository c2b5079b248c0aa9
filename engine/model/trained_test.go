package model_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// A trained is a random adapter with what it does to each matrix, by the matrix's name in
// the base it was made for.
type trained struct {
	file  *weights.Set
	delta map[string][]float32 // shape of the matrix
}

func f32Tensor(name string, x []float32, shape ...int) *weights.Tensor {
	return &weights.Tensor{Name: name, Type: quant.F32, Shape: shape, Data: quant.Floats(x)}
}

func normal(r *rand.Rand, n int, by float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * by)
	}
	return x
}

// train makes a random adapter of rank rank for the matrices of base that pick picks, in
// PEFT's form or in GGUF's. A lookup's are those that lookup names.
func train(t *testing.T, base *weights.Set, peft bool, rank int, alpha float64, pick func(w *weights.Tensor) bool) *trained {
	t.Helper()
	return trainBy(t, base, peft, "", rank, alpha, pick)
}

// trainBy is train with a version of PEFT, whose changes of parameters it decides.
func trainBy(t *testing.T, base *weights.Set, peft bool, version string, rank int, alpha float64, pick func(w *weights.Tensor) bool) *trained {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(rank), 5))
	x := &trained{file: &weights.Set{Source: weights.GGUF}, delta: map[string][]float32{}}
	if peft {
		x.file.Source = weights.SafeTensors
		config, err := json.Marshal(map[string]any{"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "bias": "none", "target_modules": []string{"q_proj"}, "use_dora": false, "lora_dropout": 0.1, "peft_version": version})
		if err != nil {
			t.Fatal(err)
		}
		x.file.Meta.Set("hf.adapter_config", string(config))
	} else {
		x.file.Meta.Set("general.type", "adapter")
		x.file.Meta.Set("general.architecture", base.Meta.String("general.architecture"))
		x.file.Meta.Set("adapter.type", "lora")
		x.file.Meta.Set("adapter.lora.alpha", alpha)
	}
	add := func(name string, x2 []float32, shape ...int) {
		if err := x.file.Add(f32Tensor(name, x2, shape...)); err != nil {
			t.Fatal(err)
		}
	}
	wrapped := make(map[string]bool)
	for w := range base.All() {
		if len(w.Shape) == 3 && pick(w) {
			n, rows, cols := w.Shape[0], w.Shape[1], w.Shape[2]
			in, out, rowsIn := cols, rows, false
			if kind := base.Meta.String("hf.config"); peft && (version < "0.19" || strings.Contains(kind, "llama4") || strings.Contains(kind, "qwen3_vl_moe")) {
				in, out, rowsIn = rows, cols, true
			}
			a, b := normal(r, n*rank*in, 1/math.Sqrt(float64(in))), normal(r, n*out*rank, 0.1)
			d := make([]float32, n*rows*cols)
			for e := range n {
				for o := range out {
					for i := range in {
						sum := 0.0
						for k := range rank {
							if peft { // PEFT: "o r e, e r i"
								sum += float64(b[(o*rank+k)*n+e]) * float64(a[(e*rank+k)*in+i])
							} else {
								sum += float64(b[(e*out+o)*rank+k]) * float64(a[(e*rank+k)*in+i])
							}
						}
						at := o*cols + i
						if rowsIn {
							at = i*cols + o
						}
						d[e*rows*cols+at] = float32(sum * alpha / float64(rank))
					}
				}
			}
			x.delta[w.Name] = d
			if !peft {
				add(w.Name+".lora_a", a, n, rank, in)
				add(w.Name+".lora_b", b, n, out, rank)
				continue
			}
			module := w.Name[:strings.LastIndexByte(w.Name, '.')]
			name := "base_model.model." + module
			if !wrapped[module] && strings.HasSuffix(module, ".experts") {
				name += ".base_layer"
			}
			wrapped[module] = true
			add(name+".lora_A.weight", a, n*rank, in)
			add(name+".lora_B.weight", b, out, n*rank)
			continue
		}
		if len(w.Shape) != 2 || !pick(w) {
			continue
		}
		rows, cols := w.Shape[0], w.Shape[1]
		lies := strings.Contains(base.Meta.String("hf.config"), `"gpt2"`) && strings.Contains(w.Name, ".c_") // the other way round
		if lies {
			rows, cols = cols, rows
		}
		a, b := normal(r, rank*cols, 1/math.Sqrt(float64(cols))), normal(r, rows*rank, 0.1)
		d := make([]float32, rows*cols)
		for i := range rows {
			for j := range cols {
				sum := 0.0
				for k := range rank {
					sum += float64(b[i*rank+k]) * float64(a[k*cols+j])
				}
				d[i*cols+j] = float32(sum * alpha / float64(rank))
			}
		}
		if lies {
			d = turned(d, rows, cols)
		}
		x.delta[w.Name] = d
		module := "base_model.model." + strings.TrimSuffix(w.Name, ".weight")
		lookup := looksUp(w.Name) && strings.HasSuffix(w.Name, ".weight")
		switch {
		case peft && lookup: // its rows are A's
			add(module+".lora_embedding_A", turned(b, rows, rank), rank, rows)
			add(module+".lora_embedding_B", turned(a, rank, cols), cols, rank)
		case peft:
			add(module+".lora_A.weight", a, rank, cols)
			add(module+".lora_B.weight", b, rows, rank)
		case lookup:
			add(w.Name+".lora_a", b, rows, rank)
			add(w.Name+".lora_b", turned(a, rank, cols), cols, rank)
		default:
			add(w.Name+".lora_a", a, rank, cols)
			add(w.Name+".lora_b", b, rows, rank)
		}
	}
	if len(x.delta) == 0 {
		t.Fatal("nothing was picked")
	}
	return x
}

func turned(x []float32, rows, cols int) []float32 {
	out := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = x[i*cols+j]
		}
	}
	return out
}

// merge is base with what an adapter does added to its weights.
func (x *trained) merge(t *testing.T, base *weights.Set) *weights.Set {
	t.Helper()
	out := &weights.Set{Source: base.Source, Meta: base.Meta}
	for w := range base.All() {
		if d := x.delta[w.Name]; d != nil {
			sum := decode(w)
			for i, v := range d {
				sum[i] += v
			}
			w = f32Tensor(w.Name, sum, w.Shape...)
		}
		if err := out.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
