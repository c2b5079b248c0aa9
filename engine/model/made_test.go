package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// Files whose keys contradict each other or their tensors are refused with the numbers.
func TestMadeRefused(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		value     weights.Value
		want      string
	}{
		{"jamba", "jamba.attention.head_count_kv", []int64{0, 1}, "has 2 entries for 4 layers"},
		{"jamba", "jamba.attention.head_count_kv", []int64{1, 0, 0, 0}, "blk.0.attn_output.weight is missing"},
		{"jamba", "jamba.ssm.state_size", int64(8), "blk.0.ssm_x.weight has shape [36 64], want [20 64]"},
		{"jamba", "jamba.ssm.time_step_rank", int64(1 << 40), "outside 1 to"},
		{"jamba", "jamba.expert_used_count", int64(5), "expert_used_count is 5, outside 1 to 4"},
		{"jamba", "jamba.expert_count", int64(2), "has shape [4 32 32], want [2 32 32]"},
		{"nemotron_h_moe", "nemotron_h_moe.ssm.group_count", int64(3), "64 for 4 heads in 3 groups"},
		{"nemotron_h_moe", "nemotron_h_moe.feed_forward_length", []int64{0, 0, 0, 0}, "blk.1.ssm_in.weight is missing"},
		{"nemotron_h_moe", "nemotron_h_moe.expert_shared_feed_forward_length", int64(8), "blk.1.ffn_up_shexp.weight has shape [24 32], want [8 32]"},
		{"nemotron_h_moe", "nemotron_h_moe.moe_latent_size", int64(24), "blk.1.ffn_latent_down.weight is missing"},
		{"nemotron_h_moe-latent", "nemotron_h_moe.moe_latent_size", int64(16), "has shape [24 32], want [16 32]"},
		{"nemotron_h_moe-latent", "nemotron_h_moe.moe_latent_size", int64(0), "has shape"},
		{"gemma3n", "gemma3n.altup.active_idx", int64(1), "altup.active_idx is 1, want 0"},
		{"gemma3n", "gemma3n.altup.num_inputs", int64(1), "altup.num_inputs is 1, want 2 or more"},
		{"gemma3n", "gemma3n.altup.num_inputs", int64(3), "altup_proj.weight has shape [3 32 32], want [2 32 32]"},
		{"gemma3n", "gemma3n.activation_sparsity_scale", []float64{1}, "has 1 entries for 4 layers"},
		{"gemma3n", "gemma3n.attention.shared_kv_layers", int64(3), "leaves layer 1 without one of its kind before it"},
		{"gemma3n", "gemma3n.embedding_length_per_layer_input", int64(9), "per_layer_token_embd.weight has shape [48 32], want [48 36]"},
		{"mpt", "mpt.attention.max_alibi_bias", 0.0, "max_alibi_bias is 0, want more than 0"},
		{"qwen", "qwen.feed_forward_length", int64(63), "is 63, want an even number"},
		{"qwen", "qwen.feed_forward_length", int64(32), "has shape"},
		{"afmoe", "afmoe.attention.sliding_window", int64(0), "attention.sliding_window is missing"},
		{"glm4", "glm4.rope.dimension_count", int64(7), "is 7, want an even number"},
		{"glm4", "glm4.feed_forward_length", int64(33), "has shape"},
		{"lfm2moe", "lfm2moe.shortconv.l_cache", int64(1), "is 1, want 2 or more"},
		{"qwen35moe", "qwen35moe.ssm.group_count", int64(3), "64 for 4 value heads and 3 key heads"},
		{"deepseek-v2-lite", "deepseek2.attention.kv_lora_rank", int64(31), "is 40 and value_length 32, for a rank of 31 and 8 rotated"},
		{"mistral4", "mistral4.attention.temperature_length", int64(0), "temperature_length is 0, outside 1 to"},
	} {
		t.Run(tt.name+" "+tt.key, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "made", tt.name, "model.gguf"))
			if err != nil {
				t.Fatal(err)
			}
			set, err := gguf.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			set.Meta.Set(tt.key, tt.value)
			_, err = model.Open(set)
			if !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want it refused for %q", err, tt.want)
			}
		})
	}
}

// Early files of GLM 4.7 Flash do not say that scores are sigmoids; the bias of the choice,
// which came with them, does.
func TestSigmoidsUnsaid(t *testing.T) {
	from := open(t, "testdata/made/glm-4.7-flash/model.gguf")
	set := &weights.Set{Source: from.Source}
	for k, v := range from.Meta.All() {
		if k != "deepseek2.expert_gating_func" {
			set.Meta.Set(k, v)
		}
	}
	for w := range from.All() {
		if err := set.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	g := readGolden(t, "testdata/made/glm-4.7-flash/golden.json")
	compareRows(t, newRunner(t, set, quant.F32), g.Prompt, g.logits(t), 1e-5)
}

// Early configurations of Nemotron-H spell the width of a head otherwise.
func TestNemotronHeads(t *testing.T) {
	set := translatePublished(t, "nemotron_h", `"hybrid_override_pattern":"*","attention_head_dim":32,"num_key_value_heads":1,"conv_kernel":4,"ssm_state_size":16,"n_groups":1,"mamba_num_heads":4,"mamba_head_dim":16`)
	if n, _ := set.Meta.Int("nemotron_h.attention.key_length"); n != 32 {
		t.Errorf("heads of %d, want 32", n)
	}
}
