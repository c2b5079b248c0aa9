package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// What config.json and the tensors of RWKV-7 say in terms of GGUF: those of Flash Linear
// Attention, which Hugging Face publishes.

// rwkv7Names are the names of SafeTensors files. A number behind a slash is the place in a
// tensor that GGUF files have in one.
var rwkv7Names = map[string]string{
	"attn.x_r": "time_mix_lerp_fused/0", "attn.x_w": "time_mix_lerp_fused/1", "attn.x_k": "time_mix_lerp_fused/2",
	"attn.x_v": "time_mix_lerp_fused/3", "attn.x_a": "time_mix_lerp_fused/4", "attn.x_g": "time_mix_lerp_fused/5",
	"attn.r_proj": "time_mix_receptance", "attn.k_proj": "time_mix_key", "attn.v_proj": "time_mix_value", "attn.o_proj": "time_mix_output",
	"attn.w_lora.lora.0": "time_mix_w1", "attn.w_lora.lora.2": "time_mix_w2",
	"attn.a_lora.lora.0": "time_mix_a1", "attn.a_lora.lora.2": "time_mix_a2",
	"attn.v_lora.lora.0": "time_mix_v1", "attn.v_lora.lora.2": "time_mix_v2",
	"attn.g_lora.lora.0": "time_mix_g1", "attn.g_lora.lora.2": "time_mix_g2",
	"attn.k_k": "time_mix_k_k", "attn.k_a": "time_mix_k_a", "attn.r_k": "time_mix_r_k",
	"attn.g_norm": "time_mix_ln", "pre_norm": "token_embd_norm", "attn_norm": "attn_norm", "ffn_norm": "attn_norm_2",
	"ffn.x_k": "channel_mix_lerp_k", "ffn.key": "channel_mix_key", "ffn.value": "channel_mix_value",
}

// changeRWKV7 names what GGUF files name by other rules: the biases of projections of low
// rank, and the norm of embeddings, which is in the first layer. What some files have to
// draw the first layer's values to themselves is not used.
func (tr *translation) changeRWKV7(t *weights.Tensor) (done bool, err error) {
	if name, ok := strings.CutSuffix(t.Name, "2.bias"); ok && strings.Contains(name, ".time_mix_") {
		t.Name = name + "0.weight"
	}
	layer0, first := strings.CutPrefix(t.Name, "blk.0.")
	switch {
	case strings.HasPrefix(layer0, "time_mix_v") && len(layer0) == len("time_mix_v0.weight"):
		return true, nil
	case first && strings.HasPrefix(layer0, "token_embd_norm."):
		t.Name = layer0
	case strings.HasSuffix(t.Name, ".time_mix_r_k.weight"):
		t.Shape = []int{t.Elems()}
	case strings.HasSuffix(t.Name, ".channel_mix_lerp_k.weight"):
		t.Shape = []int{1, 1, t.Elems()}
	}
	return false, nil
}

// finishRWKV7 puts something where llama.cpp wants what draws the first layer's values.
func (tr *translation) finishRWKV7() error {
	for _, n := range []string{"0", "1", "2"} {
		t, ok := tr.to.Tensor("blk.0.time_mix_a" + n + ".weight")
		if !ok {
			continue // its lack is found later
		}
		if err := tr.put(alias("blk.0.time_mix_v"+n+".weight", t)); err != nil {
			return err
		}
	}
	return nil
}

var rwkv7Only = map[string][]any{"hidden_act": {"sqrelu", "relu2"}, "norm_first": {true}, "norm_bias": {true}, "attn": {}}

// rwkv7Config reads what config.json has of its own.
func rwkv7Config(c *hfConfig, put func(string, any)) {
	hidden, head := c.int("hidden_size", 0), c.int("head_dim", 64)
	for _, key := range []string{"attention.head_count", "attention.head_count_kv"} {
		put(key, int64(0))
	}
	put("context_length", int64(1<<20)) // a state does not end
	if head < 1 || hidden < 1 || hidden > maxWidth || hidden%head != 0 {
		c.fail("head_dim is %d for a hidden_size of %d", head, hidden)
		return
	}
	if n := c.int("num_heads", hidden/head); n != hidden/head {
		c.refuse("num_heads of %d with heads of %d and a hidden_size of %d", n, head, hidden)
	}
	wide := []any{nil, hidden}
	values, _ := c.m["value_dim"].([]any)
	if values == nil {
		values = []any{c.m["value_dim"]}
	}
	for _, v := range values {
		if !slices.Contains(wide, v) {
			c.refuse("value_dim of %v in a model of type %s", v, c.kind)
		}
	}
	put("wkv.head_size", head)
	if v, ok := number(c.m["norm_eps"]); ok {
		if eps := float64(head) * v; math.Abs(eps-rwkvNormEps) > 1e-6*rwkvNormEps {
			put("wkv.norm_epsilon", eps)
		}
	}
	// Ranks that are left out follow from the width, in whole 32s.
	for _, r := range []struct {
		key, from       string
		power, multiple float64
	}{
		{"attention.decay_lora_rank", "decay_low_rank_dim", 0.5, 1.8},
		{"attention.iclr_lora_rank", "a_low_rank_dim", 0.5, 1.8},
		{"attention.value_residual_mix_lora_rank", "v_low_rank_dim", 0.5, 1.3},
		{"attention.gate_lora_rank", "gate_low_rank_dim", 0.8, 0.6},
	} {
		usual := 32 * max(1, int64(math.RoundToEven(math.Pow(float64(hidden), r.power)*r.multiple/32)))
		put(r.key, c.int(r.from, usual))
	}
}
