package model

import (
	"math"

	"quern/engine/graph"
)

// gemmaLM is the text part of Gemma 2 and 3: norms before and after each block,
// a GELU gate, embeddings scaled by √hidden, and layers that see a window
// between layers that see everything. Gemma 2 limits scores and logits; Gemma 3
// has norms of query and key heads instead, and rotates the layers with a
// window by another base. EmbeddingGemma is Gemma 3 whose tokens see what follows them,
// in layers with a window half of it to either side.
//
// "Gemma 2", 2024, §2; "Gemma 3 Technical Report", 2025, §2; "EmbeddingGemma", 2025, §2.
type gemmaLM struct {
	*base
	layers   []gemmaLayer
	local    graph.Rope // of layers with a window
	scale    float32    // of scores
	scoreCap float32    // 0 for none
}

type gemmaLayer struct {
	attnNorm, attnPost, ffnNorm, ffnPost norm
	attn                                 attention
	ffn                                  mlp
}

func newGemma(set *file) (LM, error) {
	m, err := newBase(set, set.prefix == "gemma-embedding.")
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	g := &gemmaLM{base: m, local: m.rope}
	// The two 27B models scale scores by the width of a head were the heads as
	// wide as the model; their GGUF files are known by their number of layers.
	scale := 1 / math.Sqrt(float64(c.HeadDim))
	wide := 1 / math.Sqrt(float64(c.Hidden)/float64(c.Heads))
	switch c.Arch {
	case "gemma2":
		if c.Layers == 46 {
			scale = wide
		}
		g.scoreCap = float32(r.capping("attn_logit_softcapping", 50))
		m.logCap = float32(r.capping("final_logit_softcapping", 30))
		m.slides = r.windows(c, 2, 4096)
		r.sameBase(c)
	case "gemma3", "gemma-embedding":
		if c.Layers == 62 {
			scale = wide
		}
		m.slides = r.windows(c, 6, 0)
		m.logCap = float32(r.capping("final_logit_softcapping", 0))
		// Position scaling is for the layers that see everything.
		if g.local, err = m.unscaled(10000); err != nil {
			return nil, err
		}
	}
	g.scale = float32(r.positive("attention.scale", scale))
	for i := range c.Layers {
		l := gemmaLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			attnPost: t.norm(blk(i, "post_attention_norm"), c.Hidden),
			ffnNorm:  t.norm(blk(i, "ffn_norm"), c.Hidden),
			ffn:      m.gated(i),
			ffnPost:  t.norm(blk(i, "post_ffw_norm"), c.Hidden),
		}
		if c.Arch != "gemma2" {
			m.headNorms(i, &l.attn)
		}
		g.layers = append(g.layers, l)
	}
	return g, m.err()
}

// capping reads a soft cap: 0 for none.
func (r *reader) capping(key string, def float64) float64 {
	v := r.float(key, def)
	if v < 0 {
		r.fail(key, "is %g, want 0 or more", v)
	}
	return v
}

func (m *gemmaLM) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Scale(b.Embed(b.Tokens(), m.embed), float32(math.Sqrt(float64(c.Hidden))))
	for i := range m.layers {
		l := &m.layers[i]
		rope, o := &m.rope, m.attn(i, m.window(i))
		if o.Bidirectional = c.Encoder; c.Encoder {
			o.Layer = 0 // keys are not read after their layer: all share the cache's first
		}
		if o.Window > 0 {
			rope = &m.local
		}
		o.Scale, o.SoftCap = m.scale, m.scoreCap
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attnPost.rms(b, l.attn.o.of(b, a), c.Eps))
		h := l.ffn.of(b, l.ffnNorm.rms(b, x, c.Eps), graph.GELUTanh)
		x = b.Add(x, l.ffnPost.rms(b, h, c.Eps))
	}
	return m.norm.rms(b, x, c.Eps)
}
