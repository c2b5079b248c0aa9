package model

import "quern/engine/graph"

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
