package model

import (
	"fmt"
	"math"
	"math/bits"

	"quern/engine/graph"
	"quern/formats/weights"
)

// bert is BERT and what came of it, which make embeddings: every token sees the
// whole text and norms come after each block. BERT learns its positions;
// nomic-bert rotates and has a SwiGLU; jina-bert-v2 takes a slope times the distance
// off its scores and has a GEGLU.
//
// Devlin et al., "BERT", 2019, §3; Nussbaum et al., "Nomic Embed", 2024, §3; Günther et
// al., "Jina Embeddings 2", 2023, §3; Press et al., "Train Short, Test Long", 2022.
type bert struct {
	*base
	slopes   []float32       // of heads, or nil
	types    *weights.Tensor // (hidden) of texts that are no pair, or nil
	position *weights.Tensor // (context, hidden), or nil
	layers   []bertLayer
	act      graph.Act
}

type bertLayer struct {
	attn             attention
	attnPost, ffnEnd norm
	ffn              mlp
}

// berts is what the models of this architecture differ in.
var berts = map[string]struct {
	position, rotates, slopes, gated bool
	act                              graph.Act
}{
	"bert":         {position: true, act: graph.GELU},
	"nomic-bert":   {rotates: true, gated: true, act: graph.SiLU},
	"jina-bert-v2": {slopes: true, gated: true, act: graph.GELU},
}

// normsEmbedding are the architectures with a norm of the embedding and none after the
// last layer.
var normsEmbedding = map[string]bool{"bert": true, "nomic-bert": true, "jina-bert-v2": true}

func newBert(set *file) (LM, error) {
	m, err := newBase(set, true)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	f := berts[c.Arch]
	e := &bert{base: m, act: f.act}
	if w, ok := set.Tensor("token_types.weight"); ok {
		if len(w.Shape) != 2 || w.Shape[0] < 1 || w.Shape[1] != c.Hidden {
			return nil, fmt.Errorf("%w: tensor %s has shape %v, want rows of %d", ErrFormat, w.Name, w.Shape, c.Hidden)
		}
		if row := t.cut(w, "first", 0, 1); row != nil {
			row.Shape = []int{c.Hidden}
			e.types = row
		}
	}
	if f.position {
		w, ok := set.Tensor("position_embd.weight")
		if !ok || len(w.Shape) != 2 || w.Shape[1] != c.Hidden || w.Shape[0] < 1 {
			return nil, fmt.Errorf("%w: no position_embd.weight with rows of %d", ErrFormat, c.Hidden)
		}
		e.position, c.Context = w, min(c.Context, w.Shape[0])
	}
	if f.slopes {
		e.slopes = slopes(c.Heads, m.reader.positive("attention.max_alibi_bias", 8))
	}
	for i := range c.Layers {
		l := bertLayer{
			attn:     m.attention(i),
			attnPost: t.norm(blk(i, "attn_output_norm"), c.Hidden),
			ffnEnd:   t.norm(blk(i, "layer_output_norm"), c.Hidden),
		}
		if f.gated {
			l.ffn = m.gated(i)
		} else {
			l.ffn = m.plain(i)
		}
		e.layers = append(e.layers, l)
	}
	return e, m.err()
}

func (m *bert) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	if m.types != nil {
		x = b.Bias(x, m.types)
	}
	if m.position != nil {
		x = b.Add(x, b.Embed(b.Positions(), m.position))
	}
	var rope *graph.Rope
	if berts[c.Arch].rotates {
		rope = &m.rope
	}
	x = m.norm.layer(b, x, c.Eps)
	for i := range m.layers {
		l := &m.layers[i]
		// A layer's keys are not read after it: all share the cache's first.
		o := m.attn(0, 0)
		o.Bidirectional, o.Slopes = true, m.slopes
		a := l.attn.of(b, x, rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = l.attnPost.layer(b, b.Add(x, l.attn.o.of(b, a)), c.Eps)
		x = l.ffnEnd.layer(b, b.Add(x, l.ffn.of(b, x, m.act)), c.Eps)
	}
	return x
}

// slopes are those of so many heads: powers of 2 from 2^(-most/n) down to 2^-most, where
// n is the power of 2 below; heads beyond n have those between.
//
// Press et al., "Train Short, Test Long", 2022, §3, and its published code.
func slopes(heads int, most float64) []float32 {
	n := 1 << (bits.Len(uint(heads)) - 1)
	s := make([]float32, heads)
	for h := range s {
		power := float64(h + 1)
		if h >= n {
			power = float64(h-n) + 0.5
		}
		s[h] = float32(math.Exp2(-most * power / float64(n)))
	}
	return s
}

// modernBert is ModernBERT: BERT with norms before the blocks, none before the first;
// with rotated positions, a gate, and no biases; and with layers that see half a window to
// either side between layers that see everything, which rotate by another base. The first
// layer and every third after it see everything, unless the file says otherwise.
//
// Warner et al., "Smarter, Better, Faster, Longer", 2024, §2.
type modernBert struct {
	*base
	start  norm       // of the embedding
	local  graph.Rope // of layers with a window
	layers []modernBertLayer
	act    graph.Act
}

type modernBertLayer struct {
	attnNorm, ffnNorm norm // attnNorm is empty in the first
	attn              attention
	ffn               mlp
}

// hiddenActs are the activations of gates that files name.
var hiddenActs = map[string]graph.Act{"": graph.GELU, "gelu": graph.GELU, "silu": graph.SiLU}

func newModernBert(set *file) (LM, error) {
	m, err := newBase(set, true)
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	x := &modernBert{base: m, start: t.norm("token_embd_norm", c.Hidden)}
	m.slides = r.windowsFrom(c, 3, 0, 0)
	if x.local, err = m.unscaled(10000); err != nil {
		return nil, err
	}
	v, given := r.value("hidden_activation")
	name, _ := v.(string)
	act, known := hiddenActs[name]
	if given && (!known || name == "") {
		r.refuse("hidden_activation", "is %v, want gelu or silu", v)
	}
	x.act = act
	for i := range c.Layers {
		l := modernBertLayer{attn: m.attention(i), ffnNorm: t.norm(blk(i, "ffn_norm"), c.Hidden), ffn: m.gated(i)}
		if i > 0 {
			l.attnNorm = t.norm(blk(i, "attn_norm"), c.Hidden)
		}
		x.layers = append(x.layers, l)
	}
	return x, m.err()
}

func (m *modernBert) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := m.start.layer(b, b.Embed(b.Tokens(), m.embed), c.Eps)
	for i := range m.layers {
		l := &m.layers[i]
		h := x
		if l.attnNorm.w != nil {
			h = l.attnNorm.layer(b, x, c.Eps)
		}
		// A layer's keys are not read after it: all share the cache's first.
		rope, o := &m.rope, m.attn(0, m.window(i))
		if o.Bidirectional = true; o.Window > 0 {
			rope = &m.local
		}
		a := l.attn.of(b, h, rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		x = b.Add(x, l.ffn.of(b, l.ffnNorm.layer(b, x, c.Eps), m.act))
	}
	return m.norm.layer(b, x, c.Eps)
}
