package model_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/weights"
)

// What is no plain low-rank change of this base is refused by name, with the numbers.
func TestAdapterRefused(t *testing.T) {
	base := open(t, "testdata/smollm2-F32.gguf")
	m := openModel(t, base)
	mixture := open(t, "testdata/qwen3moe.gguf")
	pick := func(w *weights.Tensor) bool { return w.Name == "blk.0.attn_q.weight" }
	hidden := m.Config().Hidden
	peft := func(config string, tensors ...*weights.Tensor) *weights.Set {
		s := &weights.Set{Source: weights.SafeTensors}
		if config != "" {
			s.Meta.Set("hf.adapter_config", config)
		}
		for _, w := range tensors {
			if err := s.Add(w); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	half := func(name string, shape ...int) *weights.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return f32Tensor(name, make([]float32, n), shape...)
	}
	const q, fine = "base_model.model.model.layers.0.self_attn.q_proj", `{"peft_type":"LORA","r":2,"lora_alpha":2`
	pair := []*weights.Tensor{half(q+".lora_A.weight", 2, hidden), half(q+".lora_B.weight", hidden, 2)}
	if _, err := model.ReadAdapter(m, base, peft(fine+"}", pair...), 1); err != nil {
		t.Fatal(err)
	}
	gguf := func(change func(*weights.Set)) *weights.Set {
		s := train(t, base, false, 2, 2, pick).file
		change(s)
		return s
	}
	meta := func(key string, v any) *weights.Set {
		return gguf(func(s *weights.Set) { s.Meta.Set(key, v) })
	}
	for _, tt := range []struct {
		name, want string
		file       *weights.Set
		err        error
	}{
		{"no adapter", `general.type is "model", want "adapter"`, meta("general.type", "model"), model.ErrFormat},
		{"type", `type "ia3"; quern knows lora`, meta("adapter.type", "ia3"), model.ErrUnsupported},
		{"architecture", `made for architecture "qwen2", and the model is llama`, meta("general.architecture", "qwen2"), model.ErrFormat},
		{"alpha", "adapter.lora.alpha is", meta("adapter.lora.alpha", math.NaN()), model.ErrFormat},
		{"alpha of text", "adapter.lora.alpha is x", meta("adapter.lora.alpha", "x"), model.ErrFormat},
		{"activated", `key "adapter.alora.invocation_tokens"`, meta("adapter.alora.invocation_tokens", []int64{3}), model.ErrUnsupported},
		{"norm", `tensor "blk.0.attn_norm.weight" of the adapter is no half`, gguf(func(s *weights.Set) { s.Add(half("blk.0.attn_norm.weight", hidden)) }), model.ErrUnsupported},
		{"half", `a half of "blk.0.attn_v.weight" is missing`, gguf(func(s *weights.Set) { s.Add(half("blk.0.attn_v.weight.lora_a", 2, hidden)) }), model.ErrFormat},
		{"other layers", "blk.77.attn_v.weight, which the model has not", gguf(func(s *weights.Set) {
			s.Add(half("blk.77.attn_v.weight.lora_a", 2, hidden))
			s.Add(half("blk.77.attn_v.weight.lora_b", hidden, 2))
		}), model.ErrFormat},
		{"shapes", fmt.Sprintf("has shapes [2 %d] and [%d 2]; rank 2 of blk.0.ffn_up.weight", hidden+1, hidden), gguf(func(s *weights.Set) {
			s.Add(half("blk.0.ffn_up.weight.lora_a", 2, hidden+1))
			s.Add(half("blk.0.ffn_up.weight.lora_b", hidden, 2))
		}), model.ErrFormat},
		{"ranks", "rank 3 of blk.0.attn_output.weight", gguf(func(s *weights.Set) {
			s.Add(half("blk.0.attn_output.weight.lora_a", 2, hidden))
			s.Add(half("blk.0.attn_output.weight.lora_b", hidden, 3))
		}), model.ErrFormat},
		{"vector", "output_norm.weight, which is no matrix", gguf(func(s *weights.Set) {
			s.Add(half("output_norm.weight.lora_a", 2, hidden))
			s.Add(half("output_norm.weight.lora_b", 1, 2))
		}), model.ErrUnsupported},
		{"stack", "blk.0.ffn_up_exps.weight, which the model has not", gguf(func(s *weights.Set) {
			s.Add(half("blk.0.ffn_up_exps.weight.lora_a", 4, 2, 8))
			s.Add(half("blk.0.ffn_up_exps.weight.lora_b", 4, 8, 2))
		}), model.ErrFormat},
		{"four dimensions", "has shape [1 4 2 8], want a matrix, or one for each expert", gguf(func(s *weights.Set) { s.Add(half("blk.0.ffn_up.weight.lora_a", 1, 4, 2, 8)) }), model.ErrUnsupported},
		{"stack for a matrix", "rank 2 of blk.0.ffn_up.weight", gguf(func(s *weights.Set) {
			s.Add(half("blk.0.ffn_up.weight.lora_a", 1, 2, hidden))
			s.Add(half("blk.0.ffn_up.weight.lora_b", 1, hidden, 2))
		}), model.ErrFormat},
		{"expert", "made for another one", peft(fine+"}", half("base_model.model.model.layers.0.mlp.experts.1.up_proj.lora_A.weight", 2, hidden), half("base_model.model.model.layers.0.mlp.experts.1.up_proj.lora_B.weight", hidden, 2)), model.ErrFormat},
		{"nothing", "the adapter changes nothing", peft(fine + "}"), model.ErrFormat},
		{"no configuration", "no adapter_config.json", peft("", pair...), model.ErrFormat},
		{"configuration", "adapter_config.json: unexpected end", peft(`{"r":`, pair...), model.ErrFormat},
		{"PEFT type", `peft_type "IA3"`, peft(`{"peft_type":"IA3"}`, pair...), model.ErrUnsupported},
		{"DoRA", "use_dora of true", peft(fine+`,"use_dora":true}`, pair...), model.ErrUnsupported},
		{"saved modules", "modules_to_save of [lm_head]", peft(fine+`,"modules_to_save":["lm_head"]}`, pair...), model.ErrUnsupported},
		{"bias", "bias of all", peft(fine+`,"bias":"all"}`, pair...), model.ErrUnsupported},
		{"bias of halves", "lora_bias of true", peft(fine+`,"lora_bias":true}`, pair...), model.ErrUnsupported},
		{"another start", `init_lora_weights of "pissa"`, peft(fine+`,"init_lora_weights":"pissa"}`, pair...), model.ErrUnsupported},
		{"another key", "use_later of 1", peft(fine+`,"use_later":1}`, pair...), model.ErrUnsupported},
		{"rank", "r is 0, want 1 to", peft(`{"peft_type":"LORA","r":0,"lora_alpha":2}`, pair...), model.ErrFormat},
		{"no alpha", "lora_alpha is missing", peft(`{"peft_type":"LORA","r":2}`, pair...), model.ErrFormat},
		{"pattern", "pattern \"(\"", peft(fine+`,"rank_pattern":{"(":2}}`, pair...), model.ErrFormat},
		{"magnitudes", "lora_magnitude_vector", peft(fine+"}", half(q+".lora_magnitude_vector", hidden)), model.ErrUnsupported},
		{"unknown module", "is none that quern knows", peft(fine+"}", half("base_model.model.model.layers.0.self_attn.x_proj.lora_A.weight", 2, hidden), half("base_model.model.model.layers.0.self_attn.x_proj.lora_B.weight", hidden, 2)), model.ErrUnsupported},
		{"twice", "two changes of blk.0.attn_q.weight", peft(fine+"}", append(slices.Clone(pair), half("base_model.model.layers.0.self_attn.q_proj.lora_A.weight", 2, hidden), half("base_model.model.layers.0.self_attn.q_proj.lora_B.weight", hidden, 2))...), model.ErrFormat},
		{"infinite", "is multiplied by +Inf", peft(`{"peft_type":"LORA","r":2,"lora_alpha":1e308}`, pair...), model.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scale := 1.0
			if tt.name == "infinite" {
				scale = 1e10
			}
			if _, err := model.ReadAdapter(m, base, tt.file, scale); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v about %q", err, tt.err, tt.want)
			}
		})
	}
	t.Run("experts", func(t *testing.T) {
		e := openModel(t, mixture)
		c := e.Config()
		n, in, ff := c.Experts, c.Hidden, c.ExpertFF
		gguf := func(a, b []int) *weights.Set {
			s := train(t, mixture, false, 2, 2, pick).file
			s.Add(half("blk.0.ffn_up_exps.weight.lora_a", a...))
			s.Add(half("blk.0.ffn_up_exps.weight.lora_b", b...))
			return s
		}
		modules := func(config string, experts ...[2]int) *weights.Set { // and their ranks
			var list []*weights.Tensor
			for _, x := range experts {
				name := fmt.Sprintf("base_model.model.model.layers.0.mlp.experts.%d.up_proj", x[0])
				list = append(list, half(name+".lora_A.weight", x[1], in), half(name+".lora_B.weight", ff, x[1]))
			}
			return peft(config, list...)
		}
		all := "base_model.model.model.layers.0.mlp.experts"
		both := func(rows, in, out, cols int) *weights.Set {
			return peft(fine+`,"target_parameters":["mlp.experts.gate_up_proj"],"peft_version":"0.19.1"}`, half(all+".lora_A.weight", rows, in), half(all+".lora_B.weight", out, cols))
		}
		for _, tt := range []struct {
			name, want string
			file       *weights.Set
			err        error
		}{
			{"as it should be", "", gguf([]int{n, 2, in}, []int{n, ff, 2}), nil},
			{"fewer experts", fmt.Sprintf("has shapes [%d 2 %d] and [%d %d 2]; rank 2 of blk.0.ffn_up_exps.weight [%d %d %d] takes", n-1, in, n-1, ff, n, ff, in), gguf([]int{n - 1, 2, in}, []int{n - 1, ff, 2}), model.ErrFormat},
			{"ranks", "rank 3 of blk.0.ffn_up_exps.weight", gguf([]int{n, 2, in}, []int{n, ff, 3}), model.ErrFormat},
			{"another width", "rank 2 of blk.0.ffn_up_exps.weight", gguf([]int{n, 2, in + 1}, []int{n, ff, 2}), model.ErrFormat},
			{"one for all", "rank 2 of blk.0.ffn_up_exps.weight", gguf([]int{2, in}, []int{ff, 2}), model.ErrFormat},
			{"some modules", "", modules(fine+"}", [2]int{1, 2}), nil},
			{"a module too many", fmt.Sprintf("the model has %d experts", n), modules(fine+"}", [2]int{n, 2}), model.ErrFormat},
			{"modules of two ranks", "share a rank, a type and a scale", modules(fine+`,"rank_pattern":{"experts.1.up_proj":3}}`, [2]int{0, 2}, [2]int{1, 3}), model.ErrUnsupported},
			{"modules of two scales", "share a rank, a type and a scale", modules(fine+`,"alpha_pattern":{"experts.2.up_proj":3}}`, [2]int{0, 2}, [2]int{2, 2}), model.ErrUnsupported},
			{"a parameter", "", both(2*n, in, 2*ff, 2*n), nil},
			{"a parameter of other experts", "it was made for another model", both(2*n+1, in, 2*ff, 2*n+1), model.ErrFormat},
			{"a parameter of another width", "it was made for another model", both(2*n, in+1, 2*ff, 2*n), model.ErrFormat},
			{"a parameter of two ranks", "it was made for another model", both(2*n, in, 2*ff, n), model.ErrFormat},
			{"a parameter of another rank", "is of rank 3, and adapter_config.json says 2", both(3*n, in, 2*ff, 3*n), model.ErrFormat},
		} {
			_, err := model.ReadAdapter(e, mixture, tt.file, 1)
			if tt.err == nil && err != nil || tt.err != nil && (!errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: error %v, want %v about %q", tt.name, err, tt.err, tt.want)
			}
		}
	})
	t.Run("as a model", func(t *testing.T) {
		for _, file := range []*weights.Set{meta("x", "y"), peft(fine+"}", pair...)} {
			if _, err := model.Open(file); !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), "name it under adapters") {
				t.Errorf("error %v", err)
			}
		}
	})
}

// TestAdapterParameters holds PEFT's change of gpt-oss' gates and ups, which alternate in the
// parameter that has both, against merged weights of the GGUF file.
func TestAdapterParameters(t *testing.T) {
	base := open(t, "testdata/gpt-oss.gguf")
	c := openModel(t, base).Config()
	n, in, ff := c.Experts, c.Hidden, c.ExpertFF
	const rank = 3
	r := rand.New(rand.NewPCG(4, 4))
	a, b := normal(r, n*rank*in, 1/math.Sqrt(float64(in))), normal(r, 2*ff*n*rank, 0.1)
	file := &weights.Set{Source: weights.SafeTensors}
	file.Meta.Set("hf.adapter_config", `{"peft_type":"LORA","r":8,"lora_alpha":6,"rank_pattern":{"mlp.experts.gate_up_proj":3},"target_parameters":["mlp.experts.gate_up_proj"]}`)
	const module = "base_model.model.model.layers.1.mlp.experts"
	file.Add(f32Tensor(module+".lora_A.weight", a, n*rank, in))
	file.Add(f32Tensor(module+".lora_B.weight", b, 2*ff, n*rank))
	x := &trained{delta: map[string][]float32{}}
	for first, name := range []string{"blk.1.ffn_gate_exps.weight", "blk.1.ffn_up_exps.weight"} {
		d := make([]float32, n*ff*in)
		for e := range n {
			for row := range ff {
				for col := range in {
					for k := range rank {
						d[(e*ff+row)*in+col] += 2 * b[((2*row+first)*rank+k)*n+e] * a[(e*rank+k)*in+col]
					}
				}
			}
		}
		x.delta[name] = d
	}
	tokens, first := [][]int32{someTokens}, []int32{1}
	want := adapt(t, x.merge(t, base), nil, tokens, nil)[0]
	got := adapt(t, base, []*weights.Set{file}, tokens, first)[0]
	if d := apart(got, want); !(d <= 1e-4+2*tiled()) {
		t.Errorf("%.2g from merged weights", d)
	}
	if d := apart(got, adapt(t, base, nil, tokens, nil)[0]); d < 0.01 {
		t.Errorf("the adapter changes next to nothing: %.2g", d)
	}
}

// Latent attention absorbs kv_b into queries and results, by matrices of each head that have no
// changes: adapters of them are refused by name, of either kind of file and under either name.
func TestLatentsAreNotAdapted(t *testing.T) {
	at := filepath.Join("testdata", "made", "deepseek-v2-lite")
	half := func(name string, shape ...int) *weights.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return f32Tensor(name, make([]float32, n), shape...)
	}
	made := func(source weights.Source, a, b *weights.Tensor) *weights.Set {
		s := &weights.Set{Source: source}
		for k, v := range map[string]weights.Value{
			"general.type": "adapter", "general.architecture": "deepseek2", "adapter.type": "lora", "adapter.lora.alpha": 2.0,
		} {
			s.Meta.Set(k, v)
		}
		if source == weights.SafeTensors {
			s = &weights.Set{Source: source}
			s.Meta.Set("hf.adapter_config", `{"peft_type":"LORA","r":2,"lora_alpha":2}`)
		}
		for _, w := range []*weights.Tensor{a, b} {
			if err := s.Add(w); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	const peft = "base_model.model.model.layers.0.self_attn.kv_b_proj"
	whole := made(weights.SafeTensors, half(peft+".lora_A.weight", 2, 32), half(peft+".lora_B.weight", 64, 2))
	for _, base := range []*weights.Set{open(t, filepath.Join(at, "model.gguf")), openHF(t, filepath.Join(at, "hf"), "")} {
		m := openModel(t, base)
		for _, tt := range []struct {
			want string
			file *weights.Set
		}{
			{"self_attn.kv_b_proj", whole},
			{"blk.0.attn_k_b.weight", made(weights.GGUF, half("blk.0.attn_k_b.weight.lora_a", 2, 2, 16), half("blk.0.attn_k_b.weight.lora_b", 2, 32, 2))},
			{"blk.0.attn_v_b.weight", made(weights.GGUF, half("blk.0.attn_v_b.weight.lora_a", 2, 2, 32), half("blk.0.attn_v_b.weight.lora_b", 2, 16, 2))},
		} {
			if _, err := model.ReadAdapter(m, base, tt.file, 1); !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), tt.want+", which is no matrix that rows are multiplied with") {
				t.Errorf("%s: %v, want it refused by name", tt.want, err)
			}
		}
	}
}
