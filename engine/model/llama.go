package model

import (
	"fmt"
	"math"

	"quern/engine/graph"
	"quern/formats/weights"
)

// llama is Llama and the many models that share its architecture: RMSNorm
// before attention and feed-forward, rotary positions, grouped queries, SwiGLU.
//
// Touvron et al., "LLaMA", 2023, §2.2; "The Llama 3 Herd of Models", 2024, §3.2.
type llama struct {
	c         Config
	embed     *weights.Tensor // (vocab, hidden)
	layers    []llamaLayer
	norm      *weights.Tensor // (hidden)
	output    *weights.Tensor // (vocab, hidden); embed when tied
	freqs     []float64
	magnitude float32
}

type llamaLayer struct {
	attnNorm, ffnNorm          *weights.Tensor // (hidden)
	q, k, v, o                 *weights.Tensor // (heads·headDim, hidden), (kvHeads·headDim, hidden) twice, (hidden, heads·headDim)
	qBias, kBias, vBias        *weights.Tensor // nil in most models
	oBias                      *weights.Tensor
	gate, up, down             *weights.Tensor // (ff, hidden) twice, (hidden, ff)
	gateBias, upBias, downBias *weights.Tensor
}

func newLlama(set *weights.Set) (LM, error) {
	c, err := ggufConfig(set)
	if err != nil {
		return nil, err
	}
	if n, ok := set.Meta.Int("llama.expert_count"); ok && n > 0 {
		return nil, fmt.Errorf("%w: a llama mixture of %d experts", ErrUnsupported, n)
	}
	// GGUF files of this architecture hold query and key rows permuted for
	// rotating neighbouring values; Hugging Face files do not.
	c.Rope.Interleaved = set.Source == weights.GGUF
	t := &tensors{set: set}
	m := &llama{
		c:      c,
		embed:  t.need("token_embd.weight", c.Vocab, c.Hidden),
		norm:   t.need("output_norm.weight", c.Hidden),
		output: t.maybe("output.weight", c.Vocab, c.Hidden),
	}
	if m.output == nil {
		m.output = m.embed
	}
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	for i := range c.Layers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s", i, s) }
		m.layers = append(m.layers, llamaLayer{
			attnNorm: t.need(name("attn_norm.weight"), c.Hidden),
			q:        t.need(name("attn_q.weight"), q, c.Hidden),
			k:        t.need(name("attn_k.weight"), kv, c.Hidden),
			v:        t.need(name("attn_v.weight"), kv, c.Hidden),
			o:        t.need(name("attn_output.weight"), c.Hidden, q),
			qBias:    t.maybe(name("attn_q.bias"), q),
			kBias:    t.maybe(name("attn_k.bias"), kv),
			vBias:    t.maybe(name("attn_v.bias"), kv),
			oBias:    t.maybe(name("attn_output.bias"), c.Hidden),
			ffnNorm:  t.need(name("ffn_norm.weight"), c.Hidden),
			gate:     t.need(name("ffn_gate.weight"), c.FF, c.Hidden),
			up:       t.need(name("ffn_up.weight"), c.FF, c.Hidden),
			down:     t.need(name("ffn_down.weight"), c.Hidden, c.FF),
			gateBias: t.maybe(name("ffn_gate.bias"), c.FF),
			upBias:   t.maybe(name("ffn_up.bias"), c.FF),
			downBias: t.maybe(name("ffn_down.bias"), c.Hidden),
		})
	}
	if t.err != nil {
		return nil, t.err
	}
	divide, _ := set.Tensor("rope_freqs.weight")
	m.freqs, m.magnitude, err = c.Rope.frequencies(divide)
	return m, err
}

func (m *llama) Config() *Config { return &m.c }

func (m *llama) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	rope := graph.Rope{HeadDim: c.HeadDim, Freqs: m.freqs, Magnitude: m.magnitude, Interleaved: c.Rope.Interleaved}
	x := b.Embed(b.Tokens(), m.embed)
	for i, l := range m.layers {
		h := b.RMSNorm(x, l.attnNorm, c.Eps)
		q := b.Rope(b.Linear(h, l.q, l.qBias), b.Positions(), rope)
		k := b.Rope(b.Linear(h, l.k, l.kBias), b.Positions(), rope)
		v := b.Linear(h, l.v, l.vBias)
		a := b.Attention(q, k, v, graph.Attention{
			Layer: i, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
			Scale: float32(1 / math.Sqrt(float64(c.HeadDim))),
		})
		if i == len(m.layers)-1 { // after the last attention only wanted rows matter
			a, x = b.Take(a, b.Wanted()), b.Take(x, b.Wanted())
		}
		x = b.Add(x, b.Linear(a, l.o, l.oBias))
		h = b.RMSNorm(x, l.ffnNorm, c.Eps)
		h = b.Gate(b.Linear(h, l.gate, l.gateBias), b.Linear(h, l.up, l.upBias), graph.SiLU)
		x = b.Add(x, b.Linear(h, l.down, l.downBias))
	}
	return b.RMSNorm(x, m.norm, c.Eps)
}

func (m *llama) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return b.Linear(hidden, m.output, nil)
}
