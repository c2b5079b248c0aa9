package model

import (
	"fmt"

	"quern/engine/graph"
	"quern/formats/weights"
)

// rwkv7 is RWKV-7: no attention, but a memory of fixed size in each head, which forgets and
// relearns by what a row says; its second block looks at a row and the one before it. Both
// blocks read rows mixed with the one before. Values are drawn towards those of the first
// layer.
//
// Peng et al., "RWKV-7 'Goose' with Expressive Dynamic State Evolution", 2025, §4.
type rwkv7 struct {
	*base
	first  norm // of embeddings
	layers []rwkv7Layer
}

type rwkv7Layer struct {
	norm, mixNorm norm
	shift         graph.TokenShift // for r, w, k, v, a and g
	r, k, v, out  linear
	w, a, g       narrow
	draw          narrow // of values towards the first layer's; none in that
	memory        graph.WKV7

	channel  graph.TokenShift
	key, val linear
}

// A narrow is a projection through few numbers: up·f(down·x) + bias.
type narrow struct{ down, up linear }

func (l narrow) of(b *graph.Builder, x graph.Value, acts ...graph.Act) graph.Value {
	x = l.down.of(b, x)
	for _, act := range acts {
		x = b.Activate(x, act)
	}
	return l.up.of(b, x)
}

// rwkvNormEps is the epsilon of the norm of each head in RWKV's own program and llama.cpp's,
// whatever the file says of other norms. Flash Linear Attention, whose files Hugging Face
// has, makes it of the head's width, which is the same for the published models; quern's
// translation of config.json writes the key where it differs.
const rwkvNormEps = 64e-5

func newRWKV7(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	g := &rwkv7{base: m, first: t.norm("token_embd_norm", c.Hidden)}
	head := r.count("wkv.head_size", maxWidth)
	if c.Hidden%head != 0 {
		r.fail("wkv.head_size", "is %d for rows of %d", head, c.Hidden)
	}
	if n := r.countOr("token_shift_count", 2, 2); n != 2 {
		r.refuse("token_shift_count", "is %d, want 2", n)
	}
	ranks := [4]int{}
	for i, key := range []string{"attention.decay_lora_rank", "attention.iclr_lora_rank", "attention.value_residual_mix_lora_rank", "attention.gate_lora_rank"} {
		ranks[i] = r.count(key, maxWidth)
	}
	eps := float32(r.positive("wkv.norm_epsilon", rwkvNormEps))
	if err := m.err(); err != nil {
		return nil, err
	}
	for i := range c.Layers {
		g.layers = append(g.layers, g.layer(i, head, ranks, eps))
	}
	if c.State > maxState {
		return nil, fmt.Errorf("%w: the states of a sequence are %d numbers, at most %d are supported", ErrFormat, c.State, maxState)
	}
	return g, m.err()
}

func (m *rwkv7) layer(i, head int, ranks [4]int, eps float32) rwkv7Layer {
	c, t := &m.c, &m.tensors
	square := func(name string) linear { return t.linear(blk(i, name), c.Hidden, c.Hidden) }
	vector := func(name string) *weights.Tensor { return t.reshaped(blk(i, name+".weight"), c.Hidden) }
	low := func(name string, rank int, biased bool) narrow {
		l := narrow{t.linear(blk(i, name+"1"), rank, c.Hidden), t.linear(blk(i, name+"2"), c.Hidden, rank)}
		if biased {
			l.up.b = vector(name + "0")
		}
		return l
	}
	l := rwkv7Layer{
		norm: t.norm(blk(i, "attn_norm"), c.Hidden), mixNorm: t.norm(blk(i, "attn_norm_2"), c.Hidden),
		shift: graph.TokenShift{Mix: t.reshaped(blk(i, "time_mix_lerp_fused.weight"), 6, c.Hidden), At: m.carry(c.Hidden)},
		r:     square("time_mix_receptance"), k: square("time_mix_key"), v: square("time_mix_value"), out: square("time_mix_output"),
		w: low("time_mix_w", ranks[0], true), a: low("time_mix_a", ranks[1], true), g: low("time_mix_g", ranks[3], false),
		memory: graph.WKV7{
			Key: vector("time_mix_k_k"), Rate: vector("time_mix_k_a"), Bonus: vector("time_mix_r_k"),
			Norm: t.need(blk(i, "time_mix_ln.weight"), c.Hidden), Shift: t.need(blk(i, "time_mix_ln.bias"), c.Hidden),
			Eps: eps, Head: head, At: m.carry(c.Hidden * head),
		},
		channel: graph.TokenShift{Mix: t.reshaped(blk(i, "channel_mix_lerp_k.weight"), 1, c.Hidden), At: m.carry(c.Hidden)},
		key:     t.linear(blk(i, "channel_mix_key"), c.FF, c.Hidden), val: t.linear(blk(i, "channel_mix_value"), c.Hidden, c.FF),
	}
	if i > 0 {
		l.draw = low("time_mix_v", ranks[2], true)
		return l
	}
	for _, name := range []string{"time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight"} {
		t.set.Tensor(blk(i, name)) // converters fill these in; there is nothing to be drawn to
	}
	return l
}

func (m *rwkv7) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := m.first.layer(b, b.Embed(b.Tokens(), m.embed), c.Eps)
	var values graph.Value // of the first layer
	for i := range m.layers {
		l := &m.layers[i]
		mixed := b.TokenShift(l.norm.layer(b, x, c.Eps), l.shift)
		part := func(k int) graph.Value { return b.HeadCut(mixed, 1, k*c.Hidden, (k+1)*c.Hidden) }
		r, w, k := l.r.of(b, part(0)), l.w.of(b, part(1), graph.Tanh), l.k.of(b, part(2))
		v := l.v.of(b, part(3))
		if i == 0 {
			values = v
		} else {
			v = b.Add(v, b.Gate(l.draw.of(b, part(3)), b.Add(values, b.Scale(v, -1)), graph.Sigmoid))
		}
		y := b.WKV7(r, w, k, v, l.a.of(b, part(4)), l.memory)
		y = b.Gate(l.g.of(b, part(5), graph.Sigmoid), y, graph.Product)
		x = b.Add(x, l.out.of(b, y))
		h := b.TokenShift(l.mixNorm.layer(b, x, c.Eps), l.channel)
		h, x = m.wanted(b, i, h, x)
		x = b.Add(x, l.val.of(b, b.Activate(l.key.of(b, h), graph.SquaredReLU)))
	}
	return m.norm.layer(b, x, c.Eps)
}
