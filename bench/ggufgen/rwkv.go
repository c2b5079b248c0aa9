package main

import (
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// An rwkv is the hyperparameters of RWKV-7: the width of a head, and the ranks of what makes
// decays, rates, values' draw to the first layer and gates.
type rwkv struct{ head, decay, rate, draw, gate int }

// rwkvLayer adds layer i but for its first norm's weight.
func rwkvLayer(out *[]gguf.Stream, s shape, t quant.Type, blk string, matrix func(string, quant.Type, int, int), vector func(string, int)) {
	plain := func(name string, value float32, shape ...int) {
		*out = append(*out, constant(blk+name, shape, value))
	}
	plain("attn_norm.bias", 0, s.width)
	vector(blk+"attn_norm_2", s.width)
	plain("attn_norm_2.bias", 0, s.width)
	vector(blk+"time_mix_ln", s.width)
	plain("time_mix_ln.bias", 0, s.width)
	for _, name := range []string{"receptance", "key", "value", "output"} {
		matrix(blk+"time_mix_"+name, t, s.width, s.width)
	}
	for _, low := range []struct {
		name string
		rank int
	}{{"w", s.rwkv.decay}, {"a", s.rwkv.rate}, {"v", s.rwkv.draw}, {"g", s.rwkv.gate}} {
		rank := low.rank
		if low.name == "v" && blk == "blk.0." {
			rank = s.rwkv.rate // unused; llama.cpp wants it of this size
		}
		matrix(blk+"time_mix_"+low.name+"1", quant.F16, rank, s.width)
		matrix(blk+"time_mix_"+low.name+"2", quant.F16, s.width, rank)
		if low.name != "g" {
			plain("time_mix_"+low.name+"0.weight", -0.5, s.width)
		}
	}
	plain("time_mix_lerp_fused.weight", 0.5, 6, 1, 1, s.width)
	plain("channel_mix_lerp_k.weight", 0.5, 1, 1, s.width)
	for _, name := range []string{"k_k", "k_a", "r_k"} {
		plain("time_mix_"+name+".weight", 0.5, s.width)
	}
	matrix(blk+"channel_mix_key", t, s.ff, s.width)
	matrix(blk+"channel_mix_value", t, s.width, s.ff)
}

// rwkvKeys are the keys of an RWKV-7 file beside those that all have.
func rwkvKeys(s shape, own func(string, weights.Value)) {
	own("attention.layer_norm_epsilon", s.eps)
	own("wkv.head_size", int64(s.rwkv.head))
	own("attention.decay_lora_rank", int64(s.rwkv.decay))
	own("attention.iclr_lora_rank", int64(s.rwkv.rate))
	own("attention.value_residual_mix_lora_rank", int64(s.rwkv.draw))
	own("attention.gate_lora_rank", int64(s.rwkv.gate))
}
