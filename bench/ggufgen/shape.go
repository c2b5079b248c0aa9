package main

import (
	"fmt"
	"math"
	"slices"

	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A shape is the hyperparameters of a model.
type shape struct {
	name                     string
	layers                   int
	width, ff                int
	heads, kvHeads, headDim  int
	vocab, context           int
	ropeBase, eps            float64
	tied                     bool     // the output matrix is the embedding
	ropeFactor, ropeOriginal float64  // of Llama 3's frequency scaling, 0 for none
	delta                    *delta   // of Qwen3.5: three of four layers; nil elsewhere
	mamba                    *mamba   // of Falcon-H1: beside the attention of each layer; nil elsewhere
	latent                   *latent  // of DeepSeek; nil elsewhere
	rwkv                     *rwkv    // of RWKV-7: in place of all attention; nil elsewhere
	encoder                  *encoder // of BERT, which makes vectors; nil elsewhere
	drafts                   bool     // with a layer behind the last that drafts (MTP)
}

// blocks are the layers, and the one that drafts.
func (s *shape) blocks() int {
	if s.drafts {
		return s.layers + 1
	}
	return s.layers
}

// mayDraft reports whether files of its architecture have a layer that drafts. DeepSeek's has experts,
// which no shape here has.
func (s *shape) mayDraft() bool { return s.delta != nil }

// A latent is the hyperparameters of latent attention: the width of what is cached, and of a
// head what is not rotated, what is, and its value.
type latent struct{ rank, nope, rotate, value int }

// A mamba is the hyperparameters of Mamba-2 with one group.
type mamba struct{ heads, dim, state, taps int }

// A delta is the hyperparameters of gated delta nets.
type delta struct{ keyHeads, valueHeads, dim, taps int }

var shapes = []shape{
	{
		name: "smollm2-135m", layers: 30, width: 576, ff: 1536, heads: 9, kvHeads: 3, headDim: 64,
		vocab: 49152, context: 8192, ropeBase: 1e5, eps: 1e-5, tied: true,
	},
	{
		name: "tinyllama-1.1b", layers: 22, width: 2048, ff: 5632, heads: 32, kvHeads: 4, headDim: 64,
		vocab: 32000, context: 2048, ropeBase: 1e4, eps: 1e-5,
	},
	{
		name: "llama-3.2-1b", layers: 16, width: 2048, ff: 8192, heads: 32, kvHeads: 8, headDim: 64,
		vocab: 128256, context: 131072, ropeBase: 5e5, eps: 1e-5, tied: true, ropeFactor: 32, ropeOriginal: 8192,
	},
	{
		// About the smallest Qwen3.5.
		name: "qwen3.5-0.8b", layers: 24, width: 1024, ff: 3584, heads: 8, kvHeads: 2, headDim: 256,
		vocab: 151936, context: 32768, ropeBase: 1e7, eps: 1e-6, tied: true, delta: &delta{keyHeads: 16, valueHeads: 16, dim: 128, taps: 4},
	},
	{
		name: "falcon-h1-0.5b", layers: 36, width: 1024, ff: 2048, heads: 8, kvHeads: 2, headDim: 64,
		vocab: 32784, context: 16384, ropeBase: 1e11, eps: 1e-5, mamba: &mamba{heads: 24, dim: 64, state: 128, taps: 4},
	},
	{
		// What a token of DeepSeek-V2-Lite passes through, with its six experts and two shared
		// ones as one block.
		name: "deepseek-v2-lite-active", layers: 27, width: 2048, ff: 8 * 1408, heads: 16, kvHeads: 1, headDim: 576,
		vocab: 102400, context: 163840, ropeBase: 1e4, eps: 1e-6, latent: &latent{rank: 512, nope: 128, rotate: 64, value: 128},
	},
	{
		name: "rwkv7-0.4b", layers: 24, width: 1024, ff: 4096,
		vocab: 65536, context: 1048576, ropeBase: 1e4, eps: 1e-5, rwkv: &rwkv{head: 64, decay: 64, rate: 64, draw: 32, gate: 128},
	},
	// BERT's small, its base and XLM-RoBERTa's large, as embedding models have them.
	{
		name: "bge-small", layers: 12, width: 384, ff: 1536, heads: 12, kvHeads: 12, headDim: 32,
		vocab: 30522, context: 512, eps: 1e-12, encoder: &encoder{poolCLS},
	},
	{
		name: "bge-base", layers: 12, width: 768, ff: 3072, heads: 12, kvHeads: 12, headDim: 64,
		vocab: 30522, context: 512, eps: 1e-12, encoder: &encoder{poolCLS},
	},
	{
		name: "bge-m3", layers: 24, width: 1024, ff: 4096, heads: 16, kvHeads: 16, headDim: 64,
		vocab: 250002, context: 8192, eps: 1e-5, encoder: &encoder{poolCLS},
	},
	{
		name: "llama-3.1-8b", layers: 32, width: 4096, ff: 14336, heads: 32, kvHeads: 8, headDim: 128,
		vocab: 128256, context: 131072, ropeBase: 5e5, eps: 1e-5, ropeFactor: 8, ropeOriginal: 8192,
	},
}

// A mix says which number type each matrix gets.
type mix struct {
	name     string
	fileType int64      // general.file_type, llama.cpp's number of the mixture
	base     quant.Type // of most matrices
	more     quant.Type // of attn_v and ffn_down in the layers moreBits picks
	output   quant.Type // of the output matrix, or the embedding where tied
}

var mixes = []mix{
	{"Q4_K_M", 15, quant.Q4_K, quant.Q6_K, quant.Q6_K},
	{"Q8_0", 7, quant.Q8_0, quant.Q8_0, quant.Q8_0},
	{"Q6_K", 18, quant.Q6_K, quant.Q6_K, quant.Q6_K},
	{"Q5_K_M", 17, quant.Q5_K, quant.Q6_K, quant.Q6_K},
	{"Q3_K_M", 12, quant.Q3_K, quant.Q5_K, quant.Q6_K},
	{"Q2_K", 10, quant.Q2_K, quant.Q3_K, quant.Q6_K},
	{"IQ4_XS", 30, quant.IQ4_XS, quant.Q5_K, quant.Q6_K},
	{"IQ4_NL", 25, quant.IQ4_NL, quant.Q5_K, quant.Q6_K},
	{"MXFP4", 38, quant.MXFP4, quant.MXFP4, quant.Q8_0},
	{"Q4_0", 2, quant.Q4_0, quant.Q4_0, quant.Q6_K},
	{"Q4_1", 3, quant.Q4_1, quant.Q4_1, quant.Q6_K},
	{"Q5_0", 8, quant.Q5_0, quant.Q5_0, quant.Q6_K},
	{"Q5_1", 9, quant.Q5_1, quant.Q5_1, quant.Q6_K},
	{"F16", 1, quant.F16, quant.F16, quant.F16},
}

// moreBits reports whether layer i of n is one that llama.cpp's mixtures store
// more precisely: the first and last eighth, and every third between.
func moreBits(i, n int) bool {
	return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2
}

// narrow returns the type that stands in for t where rows of n weights are no
// whole number of t's blocks.
func narrow(t quant.Type, n int) quant.Type {
	if n%t.Layout().Block == 0 {
		return t
	}
	switch t {
	case quant.Q4_K:
		return quant.Q5_0
	case quant.Q6_K:
		return quant.Q8_0
	}
	return quant.F16
}

// tensors lists the model's tensors. Each draws from a generator of its own,
// so its data depends on nothing but its name, its type and the seed.
func tensors(s shape, m mix, seed uint64) []gguf.Stream {
	var out []gguf.Stream
	matrix := func(name string, t quant.Type, rows, cols int) {
		t = narrow(t, cols)
		// Weights of this size keep the variance of what they multiply.
		std := 1 / math.Sqrt(float64(cols))
		out = append(out, stream(name+".weight", t, []int{rows, cols}, std, seed))
	}
	vector := func(name string, n int) {
		out = append(out, gguf.Stream{Name: name + ".weight", Type: quant.F32, Shape: []int{n}, Data: norm(name, n, seed)})
	}
	if s.encoder != nil {
		matrix("token_embd", m.output, s.vocab, s.width)
		rest := encoderTensors(s, m, matrix, vector, seed)
		return append(out, rest...)
	}
	if s.tied {
		matrix("token_embd", m.output, s.vocab, s.width)
	} else {
		matrix("token_embd", m.base, s.vocab, s.width)
		matrix("output", m.output, s.vocab, s.width)
	}
	vector("output_norm", s.width)
	if s.rwkv != nil {
		vector("token_embd_norm", s.width)
		out = append(out, constant("token_embd_norm.bias", []int{s.width}, 0), constant("output_norm.bias", []int{s.width}, 0))
	}
	if s.ropeFactor > 0 {
		out = append(out, ropeFreqs(s))
	}
	q, kv := s.heads*s.headDim, s.kvHeads*s.headDim
	for i := range s.blocks() {
		more := m.base
		if moreBits(i, s.layers) {
			more = m.more
		}
		blk := fmt.Sprintf("blk.%d.", i)
		vector(blk+"attn_norm", s.width)
		if s.rwkv != nil {
			rwkvLayer(&out, s, m.base, blk, matrix, vector)
			continue
		}
		if i == s.layers {
			matrix(blk+"nextn.eh_proj", m.base, s.width, 2*s.width)
			for _, name := range []string{"enorm", "hnorm", "shared_head_norm"} {
				vector(blk+"nextn."+name, s.width)
			}
		}
		if s.delta != nil {
			hybrid(&out, s, m, i, more, matrix, vector)
			continue
		}
		if l := s.latent; l != nil {
			out = append(out, latentHeads(s, m.base, blk, matrix, seed)...)
			vector(blk+"attn_kv_a_norm", l.rank)
		} else {
			matrix(blk+"attn_q", m.base, q, s.width)
			matrix(blk+"attn_k", m.base, kv, s.width)
			matrix(blk+"attn_v", more, kv, s.width)
			matrix(blk+"attn_output", m.base, s.width, q)
		}
		if s.mamba != nil {
			out = append(out, besideAttention(s, m.base, blk, matrix)...)
			out = append(out, gguf.Stream{Name: blk + "ffn_norm", Type: quant.F32, Shape: []int{s.width}, Data: norm(blk+"ffn_norm", s.width, seed)})
		} else {
			vector(blk+"ffn_norm", s.width)
		}
		matrix(blk+"ffn_gate", m.base, s.ff, s.width)
		matrix(blk+"ffn_up", m.base, s.ff, s.width)
		matrix(blk+"ffn_down", more, s.width, s.ff)
	}
	return out
}

// hybrid adds layer i of a Qwen3.5, behind its first norm.
func hybrid(out *[]gguf.Stream, s shape, m mix, i int, more quant.Type, matrix func(string, quant.Type, int, int), vector func(string, int)) {
	blk, d := fmt.Sprintf("blk.%d.", i), s.delta
	inner := d.valueHeads * d.dim
	channels := 2*d.keyHeads*d.dim + inner
	plain := func(name string, shape []int, value float32) { *out = append(*out, constant(name, shape, value)) }
	if (i+1)%4 == 0 || i == s.layers {
		matrix(blk+"attn_q", m.base, 2*s.heads*s.headDim, s.width)
		matrix(blk+"attn_k", m.base, s.kvHeads*s.headDim, s.width)
		matrix(blk+"attn_v", more, s.kvHeads*s.headDim, s.width)
		matrix(blk+"attn_output", m.base, s.width, s.heads*s.headDim)
		vector(blk+"attn_q_norm", s.headDim)
		vector(blk+"attn_k_norm", s.headDim)
	} else {
		matrix(blk+"attn_qkv", more, channels, s.width)
		matrix(blk+"attn_gate", m.base, inner, s.width)
		matrix(blk+"ssm_alpha", quant.F16, d.valueHeads, s.width)
		matrix(blk+"ssm_beta", quant.F16, d.valueHeads, s.width)
		matrix(blk+"ssm_out", m.base, s.width, inner)
		plain(blk+"ssm_conv1d.weight", []int{channels, d.taps}, 0.5)
		plain(blk+"ssm_dt.bias", []int{d.valueHeads}, 0)
		plain(blk+"ssm_a", []int{d.valueHeads}, -0.1)
		vector(blk+"ssm_norm", d.dim)
	}
	vector(blk+"post_attention_norm", s.width)
	matrix(blk+"ffn_gate", m.base, s.ff, s.width)
	matrix(blk+"ffn_up", m.base, s.ff, s.width)
	matrix(blk+"ffn_down", more, s.width, s.ff)
}

// latentHeads is the attention of a layer of DeepSeek but for its norm.
func latentHeads(s shape, t quant.Type, blk string, matrix func(string, quant.Type, int, int), seed uint64) []gguf.Stream {
	l := s.latent
	matrix(blk+"attn_q", t, s.heads*(l.nope+l.rotate), s.width)
	matrix(blk+"attn_kv_a_mqa", t, l.rank+l.rotate, s.width)
	matrix(blk+"attn_output", t, s.width, s.heads*l.value)
	stack := func(name string, rows, cols int) gguf.Stream {
		return stream(blk+name+".weight", narrow(t, cols), []int{s.heads, rows, cols}, 1/math.Sqrt(float64(cols)), seed)
	}
	return []gguf.Stream{stack("attn_k_b", l.rank, l.nope), stack("attn_v_b", l.value, l.rank)}
}

// besideAttention is what a layer of Falcon-H1 has more.
func besideAttention(s shape, t quant.Type, blk string, matrix func(string, quant.Type, int, int)) []gguf.Stream {
	d := s.mamba
	inner := d.heads * d.dim
	channels := inner + 2*d.state
	matrix(blk+"ssm_in", t, inner+channels+d.heads, s.width)
	matrix(blk+"ssm_out", t, s.width, inner)
	return []gguf.Stream{
		constant(blk+"ssm_conv1d.weight", []int{channels, d.taps}, 0.5), constant(blk+"ssm_conv1d.bias", []int{channels}, 0),
		constant(blk+"ssm_dt.bias", []int{d.heads}, 0), constant(blk+"ssm_a", []int{d.heads, 1}, -0.1), constant(blk+"ssm_d", []int{d.heads, 1}, 1),
	}
}

// constant is a tensor of one value.
func constant(name string, shape []int, value float32) gguf.Stream {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return gguf.Stream{Name: name, Type: quant.F32, Shape: shape, Data: floats(slices.Repeat([]float32{value}, n))}
}

// ropeFreqs returns what divides the rotary frequencies: nothing for waves a
// quarter of the original context long or shorter, ropeFactor for those longer
// than it, and a blend between.
func ropeFreqs(s shape) gguf.Stream {
	f := make([]float32, s.headDim/2)
	for i := range f {
		wave := 2 * math.Pi * math.Pow(s.ropeBase, float64(2*i)/float64(s.headDim))
		// 1 where the short waves end, 0 where the long ones begin.
		blend := min(1, max(0, (s.ropeOriginal/wave-1)/3))
		f[i] = float32(1 / ((1-blend)/s.ropeFactor + blend))
	}
	return gguf.Stream{Name: "rope_freqs.weight", Type: quant.F32, Shape: []int{len(f)}, Data: floats(f)}
}

// chatTemplate needs no tokens of its own: the vocabulary has none for roles.
const chatTemplate = "{% for message in messages %}{{ '[' + message['role'] + ']\\n' + message['content'] + '\\n' }}{% endfor %}" +
	"{% if add_generation_prompt %}{{ '[assistant]\\n' }}{% endif %}"

func metadata(s shape, m mix) *weights.Meta {
	meta := new(weights.Meta)
	meta.Set("general.type", "model")
	meta.Set("general.name", s.name+" with random weights")
	meta.Set("general.file_type", m.fileType)
	meta.Set("general.quantization_version", int64(2))
	arch := "llama"
	switch {
	case s.delta != nil:
		arch = "qwen35"
	case s.mamba != nil:
		arch = "falcon-h1"
	case s.latent != nil:
		arch = "deepseek2"
	case s.rwkv != nil:
		arch = "rwkv7"
	case s.encoder != nil:
		arch = "bert"
	}
	meta.Set("general.architecture", arch)
	own := func(key string, v weights.Value) { meta.Set(arch+"."+key, v) }
	own("vocab_size", int64(s.vocab))
	own("context_length", int64(s.context))
	own("embedding_length", int64(s.width))
	own("block_count", int64(s.blocks()))
	if s.drafts {
		own("nextn_predict_layers", int64(1))
	}
	own("feed_forward_length", int64(s.ff))
	own("attention.head_count", int64(s.heads))
	own("attention.head_count_kv", int64(s.kvHeads))
	own("attention.layer_norm_rms_epsilon", s.eps)
	rotated := s.headDim
	if d := s.delta; d != nil {
		rotated /= 4
		own("attention.key_length", int64(s.headDim))
		own("attention.value_length", int64(s.headDim))
		own("rope.dimension_sections", []int64{int64(rotated) / 2, 0, 0, 0})
		own("full_attention_interval", int64(4))
		own("ssm.conv_kernel", int64(d.taps))
		own("ssm.state_size", int64(d.dim))
		own("ssm.group_count", int64(d.keyHeads))
		own("ssm.time_step_rank", int64(d.valueHeads))
		own("ssm.inner_size", int64(d.valueHeads*d.dim))
	}
	if l := s.latent; l != nil {
		rotated = l.rotate
		own("attention.kv_lora_rank", int64(l.rank))
		own("attention.key_length", int64(l.rank+l.rotate))
		own("attention.value_length", int64(l.rank))
		own("attention.key_length_mla", int64(l.nope+l.rotate))
		own("attention.value_length_mla", int64(l.value))
		own("leading_dense_block_count", int64(s.layers))
	}
	if d := s.mamba; d != nil {
		own("attention.key_length", int64(s.headDim))
		own("attention.value_length", int64(s.headDim))
		own("ssm.conv_kernel", int64(d.taps))
		own("ssm.state_size", int64(d.state))
		own("ssm.group_count", int64(1))
		own("ssm.time_step_rank", int64(d.heads))
		own("ssm.inner_size", int64(d.heads*d.dim))
	}
	switch {
	case s.rwkv != nil:
		rwkvKeys(s, own)
	case s.encoder != nil:
		encoderKeys(s, meta, own)
	default:
		own("rope.dimension_count", int64(rotated))
		own("rope.freq_base", s.ropeBase)
	}
	v := vocabulary(s.vocab)
	meta.Set("tokenizer.ggml.model", "llama")
	meta.Set("tokenizer.ggml.pre", "default")
	meta.Set("tokenizer.ggml.tokens", v.tokens)
	meta.Set("tokenizer.ggml.scores", v.scores)
	meta.Set("tokenizer.ggml.token_type", v.types)
	meta.Set("tokenizer.ggml.unknown_token_id", int64(unknownID))
	meta.Set("tokenizer.ggml.bos_token_id", int64(bosID))
	meta.Set("tokenizer.ggml.eos_token_id", int64(eosID))
	meta.Set("tokenizer.ggml.add_bos_token", true)
	meta.Set("tokenizer.ggml.add_eos_token", false)
	meta.Set("tokenizer.ggml.add_space_prefix", true)
	meta.Set("tokenizer.chat_template", chatTemplate)
	return meta
}
