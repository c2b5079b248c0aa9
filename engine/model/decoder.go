package model

import (
	"quern/engine/graph"
	"quern/formats/weights"
)

// decoder is Llama and the many models that are Llama with a difference or two: norms,
// attention and a feed-forward block, again and again. What sets an architecture apart is
// its row in decoders.
//
// Touvron et al., "LLaMA", 2023, §2.2; "The Llama 3 Herd of Models", 2024, §3.2.
type decoder struct {
	*base
	traits
	layers []decoderLayer

	position    *weights.Tensor // (context, hidden), added to the embedding; or nil
	beside      bool            // attention and feed-forward block are side by side
	long, short *weights.Tensor // divisors of frequencies within the original context and beyond it; or nil
	start       norm            // of embeddings; none in most
	slopes      []float32       // of heads, taken off scores for each token between; nil for none
	clamp       float32         // of queries, keys and values; 0 for none
	temper      graph.Temper

	local, global *graph.Rope // of layers with and without a window; nil for no rotation
	unrotate      int         // layers of which the last has no rotary positions; 0 for none

	factors
	attnScale float32 // 0 for 1/√headDim
}

// factors are those of Granite, MiniCPM and Cohere, 1 elsewhere.
type factors struct{ embedScale, residualScale, logitScale float32 }

var noFactors = factors{1, 1, 1}

type decoderLayer struct {
	attnNorm, ffnNorm norm // without weights where a model has none: side by side both see the first
	attnPost, ffnPost norm
	attn              attention
	ffn               feed
	rope              *graph.Rope
	window            int
}

func newDecoder(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	d := &decoder{base: m, traits: decoders[m.c.Arch], factors: noFactors}
	c, r := &m.c, &m.reader
	d.local, d.global, d.beside = &m.rope, &m.rope, d.parallel
	switch d.pairs {
	case permuted:
		m.interleave()
	case neighbours:
		m.rope.Interleaved = true
	case unrotated:
		d.local, d.global = nil, nil
	}
	if d.position = d.positions(); d.position != nil {
		c.Context = min(c.Context, d.position.Shape[0])
	}
	if d.windowed {
		c.Window = r.upTo("attention.sliding_window", maxContext)
	}
	if d.setup != nil {
		d.setup(d)
	}
	for i := range c.Layers {
		d.layers = append(d.layers, d.layer(i, m.window(i)))
	}
	return d, m.err()
}

// layer finds the weights of layer i, which has a window or 0.
func (m *decoder) layer(i, window int) decoderLayer {
	l := decoderLayer{attn: m.attention(i), rope: m.global, window: window}
	if m.windowed {
		l.window = m.c.Window
	}
	if l.window > 0 {
		l.rope = m.local
	}
	if m.unrotate > 0 && (i+1)%m.unrotate == 0 {
		l.rope = nil
	}
	m.norms(i, &l)
	m.headsNormed(i, &l.attn)
	l.attn.temper, l.attn.clamp = m.temper, m.clamp
	if m.doors {
		l.attn.gate = m.tensors.linear(blk(i, "attn_gate"), m.c.Heads*m.c.HeadDim, m.c.Hidden)
	}
	switch {
	case m.block != nil:
		l.ffn = m.block(m, i)
	case m.ungated:
		l.ffn = feeds(m.plain(i), m.act)
	default:
		l.ffn = feeds(m.gated(i), m.act)
	}
	return l
}

// positions is the table of learned positions, nil where positions are rotated.
func (m *decoder) positions() *weights.Tensor {
	if !m.learned {
		return nil
	}
	w, ok := m.set.Tensor("position_embd.weight")
	if !ok || len(w.Shape) != 2 || w.Shape[0] < 1 {
		return m.tensors.need("position_embd.weight", m.c.Context, m.c.Hidden)
	}
	return m.tensors.need("position_embd.weight", w.Shape[0], m.c.Hidden)
}

// norms finds the norms of layer i around its blocks.
func (m *decoder) norms(i int, l *decoderLayer) {
	c, t := &m.c, &m.tensors
	find := func(name string) norm { return t.norm(blk(i, name), c.Hidden) }
	has := func(name string) bool { _, ok := t.set.Tensor(blk(i, name+".weight")); return ok }
	switch {
	case m.bare:
		l.attnNorm, l.ffnNorm = m.norm, m.norm
	case m.before == noNorms:
	case m.before == oneNorm:
		l.attnNorm = find("attn_norm")
	case m.before == falconNorms:
		if l.attnNorm = find("attn_norm"); has("attn_norm_2") {
			l.attnNorm, l.ffnNorm = find("attn_norm_2"), l.attnNorm
		}
	case m.before == stableNorms:
		l.attnNorm = find("attn_norm")
		if m.beside = !has("ffn_norm"); !m.beside {
			l.ffnNorm = find("ffn_norm")
		}
	case m.before == glmNorms:
		l.attnNorm, l.ffnNorm = find("attn_norm"), find("post_attention_norm")
	default:
		l.attnNorm, l.ffnNorm = find("attn_norm"), find("ffn_norm")
	}
	if m.postNorms {
		l.attnPost, l.ffnPost = find("post_attention_norm"), find("post_ffw_norm")
	}
}

// headsNormed finds the norms of queries and keys of layer i.
func (m *decoder) headsNormed(i int, a *attention) {
	c, t := &m.c, &m.tensors
	q, k := blk(i, "attn_q_norm.weight"), blk(i, "attn_k_norm.weight")
	_, has := t.set.Tensor(q)
	switch {
	case m.heads == eachHead, m.heads == maybeEachHead && has:
		a.qNorm, a.kNorm = t.need(q, c.HeadDim), t.need(k, c.HeadDim)
	case m.heads == allHeads:
		a.qNorm, a.kNorm = t.need(q, c.Heads*c.HeadDim), t.need(k, c.KVHeads*c.HeadDim)
	case m.heads == ownOfHeads && has:
		a.qNorm, a.kNorm = t.need(q, c.Heads, c.HeadDim), t.need(k, c.KVHeads, c.HeadDim)
	}
	a.layerNorm, a.turned = m.layerNorm, m.turned
}

func (m *decoder) normed(b *graph.Builder, n norm, x graph.Value) graph.Value {
	switch {
	case n.w == nil:
		return x
	case m.layerNorm:
		return n.layer(b, x, m.c.Eps)
	}
	return n.rms(b, x, m.c.Eps)
}

func (m *decoder) Hidden(b *graph.Builder) graph.Value { return m.hidden(b, true) }

func (m *decoder) hidden(b *graph.Builder, wanted bool) graph.Value {
	x := scaled(b, b.Embed(b.Tokens(), m.embed), m.embedScale)
	if m.position != nil {
		x = b.Add(x, b.Embed(b.Positions(), m.position))
	}
	x = m.normed(b, m.start, x)
	stretched := m.stretched(b, m.long, m.short)
	for i := range m.layers {
		x = m.pass(b, &m.layers[i], i, wanted && i == m.c.Layers-1, &stretched, x)
	}
	return m.normed(b, m.norm, x)
}

// pass records a layer, which is the at-th of the cache; with wanted only rows that are wanted
// leave it. stretched is what the layers rotate by that do so like the model.
func (m *decoder) pass(b *graph.Builder, l *decoderLayer, at int, wanted bool, stretched *graph.Rope, x graph.Value) graph.Value {
	o, rope := m.attn(at, l.window), l.rope
	if m.attnScale > 0 {
		o.Scale = m.attnScale
	}
	o.Slopes = m.slopes
	if rope == &m.rope {
		rope = stretched
	}
	h := m.normed(b, l.attnNorm, x)
	a := l.attn.of(b, h, rope, m.c.Eps, o)
	shared := m.beside && l.ffnNorm.w == nil
	if wanted {
		if shared {
			h = b.Take(h, b.Wanted())
		}
		a, x = b.Take(a, b.Wanted()), b.Take(x, b.Wanted())
	}
	a = scaled(b, m.normed(b, l.attnPost, l.attn.o.of(b, a)), m.residualScale)
	if !m.beside {
		x = b.Add(x, a)
	}
	if !shared {
		h = m.normed(b, l.ffnNorm, x)
	}
	y := scaled(b, m.normed(b, l.ffnPost, l.ffn(b, h)), m.residualScale)
	if m.beside {
		y = b.Add(a, y)
	}
	return b.Add(x, y)
}

// next implements predictor.
func (m *decoder) next(i int) layerPass {
	l := m.layer(i, 0)
	return func(b *graph.Builder, x graph.Value) graph.Value {
		stretched := m.stretched(b, m.long, m.short)
		return m.pass(b, &l, 0, true, &stretched, x)
	}
}

func (m *decoder) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return scaled(b, m.base.Logits(b, hidden), m.logitScale)
}

// scaled multiplies x by a factor that is 1 in most models.
func scaled(b *graph.Builder, x graph.Value, by float32) graph.Value {
	if by == 1 {
		return x
	}
	return b.Scale(x, by)
}
