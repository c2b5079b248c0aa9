package model_test

import (
	"fmt"
	"strings"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// llamaNames are the names most decoders have in SafeTensors files.
var llamaNames = []string{
	"attn_q_norm", "self_attn.q_norm", "attn_k_norm", "self_attn.k_norm", "attn_norm", "input_layernorm", "ffn_norm", "post_attention_layernorm",
	"attn_output", "self_attn.o_proj", "attn_q.", "self_attn.q_proj.", "attn_k.", "self_attn.k_proj.", "attn_v.", "self_attn.v_proj.",
	"ffn_gate_inp_shexp", "mlp.shared_expert_gate", "ffn_gate_inp", "mlp.gate", "ffn_gate_shexp", "mlp.shared_expert.gate_proj", "ffn_up_shexp", "mlp.shared_expert.up_proj",
	"ffn_down_shexp", "mlp.shared_expert.down_proj", "ffn_gate_exps", "mlp.experts.N.gate_proj", "ffn_up_exps", "mlp.experts.N.up_proj", "ffn_down_exps", "mlp.experts.N.down_proj",
	"ffn_gate", "mlp.gate_proj", "ffn_up", "mlp.up_proj", "ffn_down", "mlp.down_proj",
	"blk.", "model.layers.", "token_embd", "model.embed_tokens", "output_norm", "model.norm", "output.", "lm_head.",
}

// TestGoldenPublished turns the models of make_golden.py, which the team's
// fixtures have no twins of, into what Hugging Face publishes, and expects the
// same outputs.
func TestGoldenPublished(t *testing.T) {
	for _, tt := range []struct {
		name, config string // what config.json has beside sizes
		names        []string
		halves       bool // query and key rows go from neighbours back to halves
	}{
		{"llama-bias-linear", `"model_type":"llama","rms_norm_eps":%g,"rope_scaling":{"type":"linear","factor":4.0}`, llamaNames, true},
		{"granite", `"model_type":"granite","rms_norm_eps":%g,"tie_word_embeddings":true,"embedding_multiplier":12,"residual_multiplier":0.25,"attention_multiplier":0.125,"logits_scaling":8`, llamaNames, true},
		{"olmo2", `"model_type":"olmo2","rms_norm_eps":%g`, append([]string{"post_attention_norm", "post_attention_layernorm", "post_ffw_norm", "post_feedforward_layernorm"}, llamaNames...), false},
		{"qwen2moe", `"model_type":"qwen2_moe","rms_norm_eps":%g,"num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":32,"shared_expert_intermediate_size":48,"norm_topk_prob":false`, llamaNames, false},
		{"qwen3moe", `"model_type":"qwen3_moe","rms_norm_eps":%g,"num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":32,"norm_topk_prob":true`, llamaNames, false},
		{"phimoe-layer-norm", `"model_type":"phimoe","rms_norm_eps":%g,"num_local_experts":4,"num_experts_per_tok":2,"router_jitter_noise":0.25,"attention_bias":true,"lm_head_bias":true`,
			append([]string{"ffn_gate_inp", "block_sparse_moe.gate", "ffn_gate_exps", "block_sparse_moe.experts.N.w1", "ffn_up_exps", "block_sparse_moe.experts.N.w3", "ffn_down_exps", "block_sparse_moe.experts.N.w2"}, llamaNames...), false},
		{"nomic-bert", `"model_type":"nomic_bert","layer_norm_epsilon":%g,"n_positions":64,"n_inner":32,"activation_function":"swiglu"`, []string{
			"token_embd_norm", "emb_ln", "token_embd", "embeddings.word_embeddings", "token_types", "embeddings.token_type_embeddings",
			"attn_output_norm", "norm1", "layer_output_norm", "norm2", "attn_qkv", "attn.Wqkv", "attn_output", "attn.out_proj",
			"ffn_gate", "mlp.fc12", "ffn_up", "mlp.fc11", "ffn_down", "mlp.fc2", "blk.", "encoder.layers.",
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := open(t, "testdata/"+tt.name+".gguf")
			arch := from.Meta.String("general.architecture")
			number := func(key string) any {
				v, _ := from.Meta.Lookup(arch + "." + key)
				return v
			}
			eps := number("attention.layer_norm_rms_epsilon")
			if eps == nil {
				eps = number("attention.layer_norm_epsilon")
			}
			config := fmt.Sprintf(`{"hidden_size":%v,"intermediate_size":%v,"num_hidden_layers":%v,"num_attention_heads":%v,"num_key_value_heads":%v,"max_position_embeddings":64,`+tt.config,
				number("embedding_length"), number("feed_forward_length"), number("block_count"), number("attention.head_count"), number("attention.head_count_kv"), eps)
			base, dim := number("rope.freq_base"), 0
			if base != nil {
				config += fmt.Sprintf(`,"rope_theta":%v,"rotary_emb_base":%v`, base, base)
			}
			if n := number("attention.key_length"); n != nil {
				config += fmt.Sprintf(`,"head_dim":%v`, n)
				dim = int(n.(int64))
			} else {
				dim = int(number("embedding_length").(int64) / number("attention.head_count").(int64))
			}
			set := &weights.Set{Source: weights.SafeTensors}
			set.Meta.Set("hf.config", config+"}")
			if number("pooling_type") != nil {
				set.Meta.Set("hf.pooling", `{"pooling_mode_mean_tokens":true}`)
			}
			names := strings.NewReplacer(tt.names...)
			add := func(name string, w *weights.Tensor, shape []int, data []byte) {
				if err := set.Add(&weights.Tensor{Name: name, Type: w.Type, Shape: shape, Data: data}); err != nil {
					t.Fatal(err)
				}
			}
			for w := range from.All() {
				name, shape, data := names.Replace(w.Name), w.Shape, w.Data
				switch {
				case strings.Contains(name, "experts.N."):
					for i := range shape[0] {
						n := len(data) / shape[0]
						add(strings.Replace(name, ".N.", fmt.Sprintf(".%d.", i), 1), w, shape[1:], data[i*n:(i+1)*n])
					}
					continue
				case strings.Contains(w.Name, "ffn_gate_inp_shexp"):
					shape = []int{1, shape[0]}
				case tt.halves && (strings.Contains(w.Name, "attn_q.") || strings.Contains(w.Name, "attn_k.")):
					n := len(data) / shape[0]
					data = nil
					for r := range shape[0] {
						head, i := r/dim, r%dim
						at := head*dim + 2*(i%(dim/2)) + i/(dim/2)
						data = append(data, w.Data[at*n:(at+1)*n]...)
					}
				}
				add(name, w, shape, data)
			}
			g := readGolden(t, "testdata/"+tt.name+".golden.json")
			if tt.name == "nomic-bert" {
				compareEmbedding(t, set, g, model.PoolMean, 1e-5)
				return
			}
			r := newRunnerOf(t, openModel(t, set), quant.F32, func(m model.LM, b *graph.Builder, h graph.Value) graph.Value { return m.Logits(b, h) })
			compareRows(t, r, g.Prompt, g.logits(t), 1e-5)
		})
	}
}
