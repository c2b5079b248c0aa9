package model

import (
	"fmt"
	"math"

	"quern/engine/graph"
	"quern/formats/weights"
)

// gemma4 is the text part of Gemma 4. Layers that see a window and layers that see
// everything have heads of their own number and width. Keys and values of the last layers
// are those of the last layer of their kind before them. Small models add to each layer
// what a table of its own says of the token; the mixture of experts runs beside the dense
// block. Scores are not scaled, and norms are stored as they are.
//
// Google, "Gemma 4", 2026, and its modelling code; "Gemma 3n", 2025, for the tables.
type gemma4 struct {
	*base
	layers []gemma4Layer
	inputs *layerInputs // nil for none
	keyed  int          // layers that have keys; those behind look at theirs
	cached [][2]int     // key heads of the cache's layers, and their width
}

// A gemma4Layer has its norms before and behind attention and feed-forward.
type gemma4Layer struct {
	attnNorm, attnPost, ffnNorm, ffnPost norm
	q, k, v, o                           linear // k and v nil in layers that share; v alone where values are keys
	qNorm, kNorm                         *weights.Tensor
	ones                                 *weights.Tensor // (headDim) for values
	rope                                 graph.Rope
	attn                                 graph.Attention
	ffn                                  mlp
	experts                              *gemma4Experts // nil for none
	gate, up                             linear         // of what the layer's table says
	inputNorm                            norm
	scale                                float32 // of the layer's result
}

// gemma4Experts run beside a dense block, with norms of their own before and behind.
type gemma4Experts struct {
	moe
	scale               *weights.Tensor // (hidden) of what the router sees
	densePost           norm
	before, expertsPost norm
}

// layerInputs are what tables say of a token to each layer, and what its embedding does.
type layerInputs struct {
	width int
	table *weights.Tensor // (vocab, layers·width)
	proj  linear          // (layers·width, hidden)
	norm  *weights.Tensor // (width)
}

// A gemma4Kind is the attention of layers with a window, or of those that see everything.
type gemma4Kind struct {
	headDim int
	rope    graph.Rope
	last    int // of these, the last layer of the cache; -1 before there is one
}

// unlikeSizes reads what may differ from layer to layer.
func (r *reader) unlikeSizes(c *Config, blocks int) {
	c.layerFF = r.each("feed_forward_length", maxWidth, blocks)
	c.layerKV = r.each("attention.head_count_kv", maxHeads, blocks)
	c.Heads = r.perLayer("attention.head_count", maxHeads, blocks, 1)
	for i := range blocks {
		c.FF, c.KVHeads = max(c.FF, c.layerFF[i]), max(c.KVHeads, c.layerKV[i])
		if c.Heads%c.layerKV[i] != 0 {
			r.fail("attention.head_count_kv", "is %d for %d heads", c.layerKV[i], c.Heads)
			c.layerKV[i] = 1
		}
	}
}

func newGemma4(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	m.logCap = float32(r.capping("final_logit_softcapping", 0))
	g := &gemma4{base: m}
	if m.slides = r.windows(c, 6, 0); m.slides == nil {
		r.fail("attention.sliding_window", "is missing")
		return nil, m.err()
	}
	// Pairs that are not rotated have huge divisors there.
	t.need("rope_freqs.weight", m.c.Rope.Dim/2)
	g.keyed = c.Layers - r.upTo("attention.shared_kv_layers", c.Layers-1)
	kinds, err := m.gemma4Kinds()
	if err != nil {
		return nil, err
	}
	if width := r.upTo("embedding_length_per_layer_input", maxWidth); width > 0 {
		inputs := m.layerInputs(width)
		g.inputs = &inputs
	}
	for i := range c.Layers {
		kind := &kinds[0]
		if m.slides[i] {
			kind = &kinds[1]
		}
		g.layers = append(g.layers, g.layer(i, kind))
		if err := m.err(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// gemma4Kinds reads the attention of layers that see everything, and of those with a
// window.
func (m *base) gemma4Kinds() (kinds [2]gemma4Kind, err error) {
	c, r := &m.c, &m.reader
	kinds[0] = gemma4Kind{c.HeadDim, m.rope, -1}
	local := r.countOr("attention.key_length_swa", maxWidth, c.HeadDim)
	if v := r.countOr("attention.value_length_swa", maxWidth, local); v != local {
		r.refuse("attention.value_length_swa", "is %d with keys of %d", v, local)
	}
	rope := RopeConfig{Dim: r.countOr("rope.dimension_count_swa", local, local), Base: r.positive("rope.freq_base_swa", 10000), Factor: 1, AttnFactor: 1}
	if rope.Dim%2 != 0 {
		r.fail("rope.dimension_count_swa", "is %d, want an even number", rope.Dim)
	}
	kinds[1] = gemma4Kind{local, graph.Rope{HeadDim: local}, -1}
	kinds[1].rope.Freqs, kinds[1].rope.Magnitude, err = rope.frequencies(nil)
	return kinds, err
}

// layer finds the weights of layer i, and its place in the cache.
func (m *gemma4) layer(i int, kind *gemma4Kind) gemma4Layer {
	c, t := &m.c, &m.tensors
	dim := kind.headDim
	heads := [2]int{c.layerKV[i], dim}
	keys := heads[0] * dim
	l := gemma4Layer{
		attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden), attnPost: t.norm(blk(i, "post_attention_norm"), c.Hidden),
		ffnNorm: t.norm(blk(i, "ffn_norm"), c.Hidden), ffnPost: t.norm(blk(i, "post_ffw_norm"), c.Hidden),
		o: t.linear(blk(i, "attn_output"), c.Hidden, c.Heads*dim), qNorm: t.need(blk(i, "attn_q_norm.weight"), dim),
		rope: kind.rope, ones: ones(dim), scale: t.number(blk(i, "layer_output_scale.weight"), 1),
	}
	fused := i < m.keyed
	if _, ok := t.set.Tensor(blk(i, "attn_qkv.weight")); ok && fused {
		parts := t.split(t.linear(blk(i, "attn_qkv"), c.Heads*dim+2*keys, c.Hidden), []string{"q", "k", "v"}, c.Heads*dim, keys, keys)
		l.q, l.k, l.v = parts[0], parts[1], parts[2]
	} else {
		fused = false
		l.q = t.linear(blk(i, "attn_q"), c.Heads*dim, c.Hidden)
	}
	if i < m.keyed {
		if !fused {
			l.k = t.linear(blk(i, "attn_k"), keys, c.Hidden)
			if _, ok := t.set.Tensor(blk(i, "attn_v.weight")); ok {
				l.v = t.linear(blk(i, "attn_v"), keys, c.Hidden)
			}
		}
		l.kNorm = t.need(blk(i, "attn_k_norm.weight"), dim)
		kind.last = len(m.cached)
		m.cached = append(m.cached, heads)
	} else if kind.last < 0 || m.cached[kind.last] != heads {
		m.reader.fail("attention.shared_kv_layers", "leaves layer %d without one of its kind before it", i)
		return l
	}
	l.attn = graph.Attention{Layer: kind.last, Heads: c.Heads, KVHeads: heads[0], HeadDim: dim, Scale: 1, Window: m.window(i)}

	ff := c.layerFF[i]
	l.ffn = mlp{gate: t.linear(blk(i, "ffn_gate"), ff, c.Hidden), up: t.linear(blk(i, "ffn_up"), ff, c.Hidden), down: t.linear(blk(i, "ffn_down"), c.Hidden, ff)}
	if c.Experts > 0 {
		e := &gemma4Experts{
			moe:       m.expertsOf(i, graph.GELUTanh, graph.Routing{Used: c.Used, Renormalise: true, Factors: t.maybe(blk(i, "ffn_down_exps.scale"), c.Experts)}),
			scale:     t.need(blk(i, "ffn_gate_inp.scale"), c.Hidden),
			densePost: t.norm(blk(i, "post_ffw_norm_1"), c.Hidden), before: t.norm(blk(i, "pre_ffw_norm_2"), c.Hidden), expertsPost: t.norm(blk(i, "post_ffw_norm_2"), c.Hidden),
		}
		l.experts = e
	}
	if m.inputs != nil {
		l.gate, l.up = t.linear(blk(i, "inp_gate"), m.inputs.width, c.Hidden), t.linear(blk(i, "proj"), c.Hidden, m.inputs.width)
		l.inputNorm = t.norm(blk(i, "post_norm"), c.Hidden)
	}
	return l
}

func (m *gemma4) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Scale(b.Embed(b.Tokens(), m.embed), float32(math.Sqrt(float64(c.Hidden))))
	var inputs graph.Value
	if m.inputs != nil {
		inputs = m.inputs.of(b, x, c)
	}
	positions := b.Positions()
	for i := range m.layers {
		l := &m.layers[i]
		h := l.attnNorm.rms(b, x, c.Eps)
		q := b.Rope(b.RMSNorm(l.q.of(b, h), l.qNorm, c.Eps), positions, l.rope)
		var a graph.Value
		if i < m.keyed {
			k := l.k.of(b, h)
			v := k
			if l.v.w != nil {
				v = l.v.of(b, h)
			}
			k = b.Rope(b.RMSNorm(k, l.kNorm, c.Eps), positions, l.rope)
			a = b.Attention(q, k, b.RMSNorm(v, l.ones, c.Eps), l.attn)
		} else {
			a = b.SharedAttention(q, graph.SharedAttention{Attention: l.attn})
		}
		if i == m.keyed-1 { // later rows look at keys that are all there: only wanted ones go on
			a, x = b.Take(a, b.Wanted()), b.Take(x, b.Wanted())
			positions = b.WantedPositions()
			if m.inputs != nil {
				inputs = b.Take(inputs, b.Wanted())
			}
		}
		x = b.Add(x, l.attnPost.rms(b, l.o.of(b, a), c.Eps))
		x = b.Add(x, l.ffnPost.rms(b, l.feed(b, x, c), c.Eps))
		if m.inputs != nil {
			p := b.HeadCut(inputs, 1, i*m.inputs.width, (i+1)*m.inputs.width)
			x = b.Add(x, l.inputNorm.rms(b, l.up.of(b, b.Gate(l.gate.of(b, x), p, graph.GELUTanh)), c.Eps))
		}
		x = scaled(b, x, l.scale)
	}
	return m.norm.rms(b, x, c.Eps)
}

// feed is the dense block of a layer and what stands beside it, up to their common norm.
func (l *gemma4Layer) feed(b *graph.Builder, x graph.Value, c *Config) graph.Value {
	y := l.ffn.of(b, l.ffnNorm.rms(b, x, c.Eps), graph.GELUTanh)
	e := l.experts
	if e == nil {
		return y
	}
	router := b.Scale(b.RMSNorm(x, e.scale, c.Eps), float32(1/math.Sqrt(float64(c.Hidden))))
	z := b.Experts(e.before.rms(b, x, c.Eps), e.router.of(b, router), e.o)
	return b.Add(e.densePost.rms(b, y, c.Eps), e.expertsPost.rms(b, z, c.Eps))
}

// layerInputs finds the tables of all layers. Tokens behind their last row, which stand for
// images and sound, get zeros.
func (m *base) layerInputs(width int) layerInputs {
	c, t := &m.c, &m.tensors
	all, rows := c.Layers*width, c.Vocab
	const name = "per_layer_token_embd.weight"
	if w, ok := t.set.Tensor(name); ok && len(w.Shape) == 2 && w.Shape[0] >= 1 {
		rows = min(rows, w.Shape[0])
	}
	return layerInputs{
		width: width, table: t.need(name, rows, all),
		proj: t.linear("per_layer_model_proj", all, c.Hidden), norm: t.need("per_layer_proj_norm.weight", width),
	}
}

// of is what the tables and x, the scaled embedding, say to all layers, (rows, layers·width).
func (p *layerInputs) of(b *graph.Builder, x graph.Value, c *Config) graph.Value {
	said := b.Scale(b.EmbedSome(b.Tokens(), p.table, c.Vocab), float32(math.Sqrt(float64(p.width))))
	own := b.RMSNorm(b.Scale(p.proj.of(b, x), float32(1/math.Sqrt(float64(c.Hidden)))), p.norm, c.Eps)
	return b.Scale(b.Add(own, said), float32(1/math.Sqrt2))
}

// number reads a tensor of one number, def where there is none.
func (t *tensors) number(name string, def float32) float32 {
	w := t.maybe(name, 1)
	if w == nil || t.err != nil {
		return def
	}
	x, err := w.Floats()
	if err != nil {
		t.err = err
		return def
	}
	if math.IsNaN(float64(x[0])) || math.IsInf(float64(x[0]), 0) {
		t.err = fmt.Errorf("%w: tensor %s is %g", ErrFormat, name, x[0])
	}
	return x[0]
}
