package model_test

import (
	"errors"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// gemma4HF is the mixture of make_golden.py as Hugging Face publishes it, with parts that
// see and hear.
func gemma4HF(t *testing.T, config string) *weights.Set {
	t.Helper()
	names := strings.NewReplacer(
		"attn_q_norm", "self_attn.q_norm", "attn_k_norm", "self_attn.k_norm", "post_attention_norm", "post_attention_layernorm", "attn_norm", "input_layernorm",
		"attn_output", "self_attn.o_proj", "attn_q", "self_attn.q_proj", "attn_k", "self_attn.k_proj", "attn_v", "self_attn.v_proj",
		"pre_ffw_norm_2", "pre_feedforward_layernorm_2", "post_ffw_norm", "post_feedforward_layernorm", "ffn_norm", "pre_feedforward_layernorm",
		"ffn_gate_inp.weight", "router.proj.weight", "ffn_gate_inp.scale", "router.scale", "ffn_down_exps.scale", "router.per_expert_scale",
		"ffn_gate_up_exps.weight", "experts.gate_up_proj", "ffn_down_exps.weight", "experts.down_proj",
		"ffn_gate", "mlp.gate_proj", "ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj", "layer_output_scale.weight", "layer_scalar",
		"blk.", "model.language_model.layers.", "token_embd", "model.language_model.embed_tokens", "output_norm", "model.language_model.norm",
	)
	set := &weights.Set{Source: weights.SafeTensors}
	set.Meta.Set("hf.config", config)
	add := func(w weights.Tensor, name string) {
		w.Name = name
		if err := set.Add(&w); err != nil {
			t.Fatal(err)
		}
	}
	for w := range open(t, "testdata/gemma4-moe.gguf").All() {
		if w.Name != "rope_freqs.weight" {
			add(*w, names.Replace(w.Name))
		}
	}
	other := weights.Tensor{Type: quant.F32, Shape: []int{1}, Data: make([]byte, 4)}
	for _, name := range []string{
		"model.vision_tower.encoder.layers.0.self_attn.q_proj.linear.weight", "model.vision_tower.patch_embedder.input_proj.weight", "model.embed_vision.embedding_projection.weight",
		"model.audio_tower.layers.0.norm_out.weight", "model.embed_audio.embedding_projection.weight", "model.vision_embedder.patch_dense.weight",
	} {
		add(other, name)
	}
	return set
}

const (
	gemma4Sizes = `"model_type":"gemma4_text","hidden_size":32,"intermediate_size":32,"num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":8,` +
		`"attention_k_eq_v":true,"rms_norm_eps":0.001,"max_position_embeddings":64,"vocab_size":48,"sliding_window":8,"hidden_size_per_layer_input":null,"final_logit_softcapping":5.0,` +
		`"enable_moe_block":true,"num_experts":4,"top_k_experts":2,"moe_intermediate_size":16,"hidden_activation":"gelu_pytorch_tanh","tie_word_embeddings":true,` +
		`"rope_parameters":{"full_attention":{"rope_type":"proportional","rope_theta":5000.0,"partial_rotary_factor":0.25},"sliding_attention":{"rope_type":"default","rope_theta":1000.0}}`
	gemma4Global = `"global_head_dim":16,"num_global_key_value_heads":1`
	gemma4Types  = `"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]`
)

// A mixture from Hugging Face gives what its GGUF file gives, whichever way config.json
// says how wide the heads of layers without a window are.
func TestGemma4Published(t *testing.T) {
	g := readGolden(t, "testdata/gemma4-moe.golden.json")
	for name, config := range map[string]string{
		"wrapper":   `{"model_type":"gemma4","text_config":{` + gemma4Sizes + `,` + gemma4Global + `,` + gemma4Types + `},"vision_config":{"hidden_size":8}}`,
		"by layer":  `{"model_type":"gemma4","text_config":{` + gemma4Sizes + `,"per_layer_config":{"1":{"head_dim":16,"num_key_value_heads":1},"3":{"head_dim":16,"num_key_value_heads":1}},` + gemma4Types + `}}`,
		"text only": `{` + gemma4Sizes + `,` + gemma4Global + `,` + gemma4Types + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := gemma4HF(t, config)
			if n, _ := model.Skipped(set); n != 6 {
				t.Errorf("%d tensors see or hear, want 6", n)
			}
			compareRows(t, newRunner(t, set, quant.F32), g.Prompt, g.logits(t), 1e-5)
		})
	}
}

// What Gemma 4's files may say that quern does not compute, or that contradicts itself.
func TestGemma4Refused(t *testing.T) {
	whole := gemma4Sizes + `,` + gemma4Global + `,` + gemma4Types
	for _, tt := range []struct {
		name, from, to, want string
		err                  error
	}{
		{"both ways", `"tie_word`, `"use_bidirectional_attention":"all","tie_word`, "use_bidirectional_attention of all", model.ErrUnsupported},
		{"kinds of layers", `"sliding_attention","full_attention"]`, `"sliding_attention","linear_attention"]`, "layers of type linear_attention", model.ErrUnsupported},
		{"too few kinds", `,"full_attention"]`, `]`, "layer_types has 3 entries for 4 layers", model.ErrFormat},
		{"rotation", `"proportional"`, `"yarn"`, "rope scaling yarn of full_attention layers", model.ErrUnsupported},
		{"part", `"partial_rotary_factor":0.25`, `"partial_rotary_factor":-1`, "partial_rotary_factor is -1", model.ErrFormat},
		{"width", `"global_head_dim":16`, `"global_head_dim":1099511627776`, "global_head_dim 1099511627776", model.ErrFormat},
		{"table", `"hidden_size_per_layer_input":null`, `"hidden_size_per_layer_input":8,"vocab_size_per_layer_input":40`, "vocab_size_per_layer_input of 40 beside a vocab_size of 48", model.ErrUnsupported},
		{"no table", `"hidden_size_per_layer_input":null`, `"hidden_size_per_layer_input":8`, "per_layer_token_embd.weight is missing", model.ErrFormat},
		{"shared", `"tie_word`, `"num_kv_shared_layers":3,"tie_word`, "leaves layer 1 without one of its kind", model.ErrFormat},
		{"all shared", `"tie_word`, `"num_kv_shared_layers":4,"tie_word`, "attention.shared_kv_layers is 4, outside", model.ErrFormat},
		{"wider layers", `"tie_word`, `"num_kv_shared_layers":1,"use_double_wide_mlp":true,"tie_word`, "has shape [32 32], want [64 32]", model.ErrFormat},
		{"activation", `gelu_pytorch_tanh`, `silu`, "hidden_activation of silu", model.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := strings.Replace(whole, tt.from, tt.to, 1)
			if config == whole {
				t.Fatal("nothing is replaced")
			}
			if _, err := model.Open(gemma4HF(t, `{`+config+`}`)); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v about %q", err, tt.err, tt.want)
			}
		})
	}
}
