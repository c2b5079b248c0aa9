package model

import (
	"fmt"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// hybrid is the models some of whose layers carry a state instead of looking back: Mamba
// and Mamba-2 (mamba, mamba2), and those that mix such layers with attention, in turn or
// side by side: Falcon-H1, Granite 4, Nemotron-H, Jamba, LFM2, Qwen3-Next and Qwen3.5.
//
// Gu & Dao, "Mamba", 2023; Dao & Gu, "Transformers are SSMs", 2024; "Falcon-H1", 2025;
// "Nemotron-H", 2025; Liquid AI, "LFM2 Technical Report", 2025; "Qwen3-Next", 2025.
type hybrid struct {
	*base
	layers                                []hybridLayer
	embedScale, residualScale, logitScale float32 // of Granite, 1 elsewhere
}

// A hybridLayer adds up what its mixers give, and then what its feed-forward block gives.
// Either may be missing.
type hybridLayer struct {
	norm    norm
	mixers  []mixer
	ffnNorm norm
	ffn     feed
}

// A mixer brings rows together up to its output projection.
type mixer struct {
	of  func(b *graph.Builder, h graph.Value) graph.Value
	out linear
}

// hybridArchs are the architectures whose layers differ, and may have no attention.
var hybridArchs = map[string]func(*hybrid, int) hybridLayer{
	"falcon-h1":      (*hybrid).falconH1,
	"granitehybrid":  (*hybrid).granite,
	"granitemoe":     (*hybrid).granite, // all of its layers are attention
	"jamba":          (*hybrid).jamba,
	"lfm2":           (*hybrid).lfm2,
	"lfm2moe":        (*hybrid).lfm2,
	"mamba":          (*hybrid).mamba,
	"mamba2":         (*hybrid).mamba,
	"nemotron_h":     (*hybrid).nemotron,
	"nemotron_h_moe": (*hybrid).nemotron,
	"qwen35":         (*hybrid).qwen,
	"qwen35moe":      (*hybrid).qwen,
	"qwen3next":      (*hybrid).qwen,
}

func newHybrid(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	g := &hybrid{base: m, embedScale: 1, residualScale: 1, logitScale: 1}
	c, r := &m.c, &m.reader
	if strings.HasPrefix(c.Arch, "granite") {
		g.embedScale = float32(r.positive("embedding_scale", 1))
		g.residualScale = float32(r.positive("residual_scale", 1))
		g.logitScale = float32(1 / r.positive("logit_scale", 1))
		m.interleave()
	}
	for i := range c.Layers {
		g.layers = append(g.layers, hybridArchs[c.Arch](g, i))
		if err := m.err(); err != nil {
			return nil, err
		}
	}
	if c.State > maxState {
		return nil, fmt.Errorf("%w: the states of a sequence are %d numbers, at most %d are supported", ErrFormat, c.State, maxState)
	}
	return g, nil
}

// maxState bounds the states of one sequence, in float32s.
const maxState = 1 << 30

// carry reserves n float32s of a sequence's states.
func (m *base) carry(n int) int {
	at := m.c.State
	m.c.State = min(at+n, 2*maxState)
	return at
}

func (m *hybrid) Hidden(b *graph.Builder) graph.Value { return m.hidden(b, true) }

func (m *hybrid) hidden(b *graph.Builder, wanted bool) graph.Value {
	x := scaled(b, b.Embed(b.Tokens(), m.embed), m.embedScale)
	for i := range m.layers {
		x = m.pass(b, &m.layers[i], wanted && i == m.c.Layers-1, x)
	}
	return m.norm.rms(b, x, m.c.Eps)
}

// pass records a layer; with wanted only rows that are wanted leave it.
func (m *hybrid) pass(b *graph.Builder, l *hybridLayer, wanted bool, x graph.Value) graph.Value {
	c := &m.c
	var sum graph.Value
	h := x
	if len(l.mixers) > 0 {
		h = l.norm.rms(b, x, c.Eps)
	}
	if wanted {
		x = b.Take(x, b.Wanted())
	}
	for k, mix := range l.mixers {
		y := mix.of(b, h)
		if wanted {
			y = b.Take(y, b.Wanted())
		}
		if y = mix.out.of(b, y); k > 0 {
			y = b.Add(sum, y)
		}
		sum = y
	}
	if len(l.mixers) > 0 {
		x = b.Add(x, scaled(b, sum, m.residualScale))
	}
	if l.ffn != nil {
		x = b.Add(x, scaled(b, l.ffn(b, l.ffnNorm.rms(b, x, c.Eps)), m.residualScale))
	}
	return x
}

// next implements predictor, for Qwens: their drafting layers are attention.
func (m *hybrid) next(i int) layerPass {
	l := m.qwenLayer(i, m.gatedAttention(i, 0))
	return func(b *graph.Builder, x graph.Value) graph.Value { return m.pass(b, &l, true, x) }
}

func (m *hybrid) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return scaled(b, m.base.Logits(b, hidden), m.logitScale)
}

// looks is a mixer of attention; a nil rope rotates nothing, scale 0 is 1/√headDim.
func (m *hybrid) looks(a attention, rope *graph.Rope, scale float32) mixer {
	o := m.attn(m.c.KVLayers, 0)
	if scale > 0 {
		o.Scale = scale
	}
	m.c.KVLayers++
	return mixer{out: a.o, of: func(b *graph.Builder, h graph.Value) graph.Value { return a.of(b, h, rope, m.c.Eps, o) }}
}

func (m *hybrid) falconH1(i int) hybridLayer {
	c, t := &m.c, &m.tensors
	ffnNorm := norm{w: t.maybe(blk(i, "ffn_norm"), c.Hidden)} // so converters name it
	if ffnNorm.w == nil {
		ffnNorm = t.norm(blk(i, "ffn_norm"), c.Hidden)
	}
	return hybridLayer{
		norm: t.norm(blk(i, "attn_norm"), c.Hidden), mixers: []mixer{m.looks(m.attention(i), &m.rope, 0), m.ssd(i, false)},
		ffnNorm: ffnNorm, ffn: feeds(m.gated(i), graph.SiLU),
	}
}

func (m *hybrid) granite(i int) hybridLayer {
	c, t, r := &m.c, &m.tensors, &m.reader
	l := hybridLayer{norm: t.norm(blk(i, "attn_norm"), c.Hidden), ffnNorm: t.norm(blk(i, "ffn_norm"), c.Hidden)}
	if c.layerKV[i] == 0 {
		l.mixers = []mixer{m.ssd(i, true)}
	} else {
		rope := &m.rope
		if !r.flag("rope.scaling.finetuned", true) {
			rope = nil
		}
		l.mixers = []mixer{m.looks(m.attention(i), rope, float32(r.float("attention.scale", 0)))}
	}
	if c.Experts > 0 {
		// The softmax is over those chosen.
		e := m.expertsOf(i, graph.SiLU, graph.Routing{Used: c.Used, Renormalise: true})
		l.ffn = mixture(e, m.sharedExpert(i), linear{})
	} else {
		l.ffn = feeds(m.gated(i), graph.SiLU)
	}
	return l
}

func (m *hybrid) mamba(i int) hybridLayer {
	l := hybridLayer{norm: m.tensors.norm(blk(i, "attn_norm"), m.c.Hidden)}
	if m.c.Arch == "mamba2" {
		l.mixers = []mixer{m.ssd(i, true)}
	} else {
		l.mixers = []mixer{m.selective(i)}
	}
	return l
}

func (m *hybrid) lfm2(i int) hybridLayer {
	c, t := &m.c, &m.tensors
	l := hybridLayer{norm: t.norm(blk(i, "attn_norm"), c.Hidden), ffnNorm: t.norm(blk(i, "ffn_norm"), c.Hidden)}
	if c.layerKV[i] > 0 {
		a := m.attention(i)
		m.headNorms(i, &a)
		l.mixers = []mixer{m.looks(a, &m.rope, 0)}
	} else {
		l.mixers = []mixer{m.short(i)}
	}
	if c.Experts > 0 && i >= m.reader.upTo("leading_dense_block_count", c.Layers) {
		l.ffn = mixture(m.expertsOf(i, graph.SiLU, m.routing(i, true, true)), mlp{}, linear{})
	} else {
		l.ffn = feeds(m.gated(i), graph.SiLU)
	}
	return l
}

// short is LFM2's mixer: [b|c|x] = W·h; c · conv(b · x).
func (m *hybrid) short(i int) mixer {
	c, t := &m.c, &m.tensors
	taps := m.reader.count("shortconv.l_cache", 1<<10)
	if taps < 2 {
		m.reader.refuse("shortconv.l_cache", "is %d, want 2 or more", taps)
		taps = 2
	}
	in := t.linear(blk(i, "shortconv.in_proj"), 3*c.Hidden, c.Hidden)
	conv := graph.ShortConv{Weight: t.need(blk(i, "shortconv.conv.weight"), c.Hidden, taps), Bias: t.maybe(blk(i, "shortconv.conv.bias"), c.Hidden), At: m.carry(c.Hidden * (taps - 1))}
	return mixer{out: t.linear(blk(i, "shortconv.out_proj"), c.Hidden, c.Hidden), of: func(b *graph.Builder, h graph.Value) graph.Value {
		y := in.of(b, h)
		part := func(k int) graph.Value { return b.HeadCut(y, 1, k*c.Hidden, (k+1)*c.Hidden) }
		return b.Gate(part(1), b.ShortConv(b.Gate(part(0), part(2), graph.Product), conv), graph.Product)
	}}
}

// Sizes of a state-space layer.
type ssmSizes struct{ taps, inner, heads, groups, state int }

func (m *base) ssmSizes() ssmSizes {
	r := &m.reader
	s := ssmSizes{
		taps: r.count("ssm.conv_kernel", 1<<10), inner: r.count("ssm.inner_size", maxWidth), heads: r.count("ssm.time_step_rank", maxWidth),
		groups: 1, state: r.count("ssm.state_size", maxWidth),
	}
	if m.c.Arch != "mamba" && m.c.Arch != "jamba" {
		s.groups = r.count("ssm.group_count", maxHeads)
	}
	if s.taps < 2 {
		r.refuse("ssm.conv_kernel", "is %d, want 2 or more", s.taps)
		s.taps = 2
	}
	return s
}

// ssd is Mamba-2: [z|x|b|c|dt] = W·h, a short convolution of x, b and c, the scan, z as a
// gate, and, where normed, a norm by groups.
func (m *hybrid) ssd(i int, normed bool) mixer {
	c, t := &m.c, &m.tensors
	s := m.ssmSizes()
	if s.inner%s.heads != 0 || s.heads%s.groups != 0 {
		m.reader.fail("ssm.inner_size", "is %d for %d heads in %d groups", s.inner, s.heads, s.groups)
		return mixer{}
	}
	channels := s.inner + 2*s.groups*s.state
	in := t.linear(blk(i, "ssm_in"), s.inner+channels+s.heads, c.Hidden)
	conv := graph.ShortConv{Weight: t.need(blk(i, "ssm_conv1d.weight"), channels, s.taps), Bias: t.maybe(blk(i, "ssm_conv1d.bias"), channels), Act: true, At: m.carry(channels * (s.taps - 1))}
	scan := graph.Mamba2{
		A: t.reshaped(blk(i, "ssm_a"), s.heads, 1), D: t.reshaped(blk(i, "ssm_d"), s.heads, 1), DtBias: t.need(blk(i, "ssm_dt.bias"), s.heads),
		Head: s.inner / s.heads, Groups: s.groups, State: s.state, At: m.carry(s.inner * s.state),
	}
	var w norm
	if normed {
		w.w = t.reshaped(blk(i, "ssm_norm.weight"), s.groups, s.inner/s.groups)
	}
	return mixer{out: t.linear(blk(i, "ssm_out"), c.Hidden, s.inner), of: func(b *graph.Builder, h graph.Value) graph.Value {
		y := in.of(b, h)
		z := b.HeadCut(y, 1, 0, s.inner)
		x := b.ShortConv(b.HeadCut(y, 1, s.inner, s.inner+channels), conv)
		dt := b.HeadCut(y, 1, s.inner+channels, s.inner+channels+s.heads)
		out := b.Gate(z, b.Mamba2(x, dt, scan), graph.SiLU)
		if normed {
			out = w.rms(b, out, c.Eps)
		}
		return out
	}}
}

// selective is Mamba-1: [x|z] = W·h, a short convolution of x, of which dt, b and c are
// made, the scan, z as a gate. Falcon-Mamba norms dt, b and c without weights, Jamba with.
func (m *hybrid) selective(i int) mixer {
	c, t, r := &m.c, &m.tensors, &m.reader
	s := m.ssmSizes()
	rank := s.heads // of dt
	in := t.linear(blk(i, "ssm_in"), 2*s.inner, c.Hidden)
	conv := graph.ShortConv{Weight: t.need(blk(i, "ssm_conv1d.weight"), s.inner, s.taps), Bias: t.maybe(blk(i, "ssm_conv1d.bias"), s.inner), Act: true, At: m.carry(s.inner * (s.taps - 1))}
	from, steps := t.linear(blk(i, "ssm_x"), rank+2*s.state, s.inner), t.linear(blk(i, "ssm_dt"), s.inner, rank)
	scan := graph.Mamba1{A: t.need(blk(i, "ssm_a"), s.inner, s.state), D: t.need(blk(i, "ssm_d"), s.inner), At: m.carry(s.inner * s.state)}
	var norms [3]*weights.Tensor // of dt, b and c
	for k, name := range []string{"ssm_dt_norm.weight", "ssm_b_norm.weight", "ssm_c_norm.weight"} {
		n := []int{rank, s.state, s.state}[k]
		switch {
		case c.Arch == "jamba":
			norms[k] = t.need(blk(i, name), n)
		case r.flag("ssm.dt_b_c_rms", false):
			norms[k] = ones(n)
		}
	}
	return mixer{out: t.linear(blk(i, "ssm_out"), c.Hidden, s.inner), of: func(b *graph.Builder, h graph.Value) graph.Value {
		y := in.of(b, h)
		x := b.ShortConv(b.HeadCut(y, 1, 0, s.inner), conv)
		d := from.of(b, x)
		part := func(k, from, n int) graph.Value {
			x := b.HeadCut(d, 1, from, from+n)
			if norms[k] != nil {
				x = b.RMSNorm(x, norms[k], c.Eps)
			}
			return x
		}
		dt := steps.of(b, part(0, 0, rank))
		bs, cs := part(1, rank, s.state), part(2, rank+s.state, s.state)
		return b.Gate(b.HeadCut(y, 1, s.inner, 2*s.inner), b.Mamba1(x, dt, bs, cs, scan), graph.SiLU)
	}}
}

// qwen is Qwen3-Next and Qwen3.5: every so manieth layer is attention with a gate, the
// others are delta nets.
func (m *hybrid) qwen(i int) hybridLayer {
	if m.looksBack(i) {
		m.c.KVLayers++
		return m.qwenLayer(i, m.gatedAttention(i, m.c.KVLayers-1))
	}
	return m.qwenLayer(i, m.delta(i))
}

// qwenLayer finds what layer i has around a mixer.
func (m *hybrid) qwenLayer(i int, mix mixer) hybridLayer {
	c, t, r := &m.c, &m.tensors, &m.reader
	l := hybridLayer{norm: t.norm(blk(i, "attn_norm"), c.Hidden), mixers: []mixer{mix}, ffnNorm: t.norm(blk(i, "post_attention_norm"), c.Hidden)}
	if c.Experts == 0 {
		l.ffn = feeds(m.gated(i), graph.SiLU)
		return l
	}
	e := m.expertsOf(i, graph.SiLU, graph.Routing{Used: c.Used, Renormalise: r.flag("expert_weights_norm", true)})
	gate := linear{w: t.row(t.need(blk(i, "ffn_gate_inp_shexp.weight"), c.Hidden))}
	l.ffn = mixture(e, m.sharedExpert(i), gate)
	return l
}

// looksBack reports whether layer i of a Qwen is attention.
func (m *hybrid) looksBack(i int) bool {
	r := &m.reader
	every := r.countOr("full_attention_interval", maxLayers, 4)
	if v, ok := r.value("attention.recurrent_layers"); ok {
		list, ok := v.([]bool)
		if !ok || len(list) < m.c.Layers {
			r.fail("attention.recurrent_layers", "is no list of %d booleans", m.c.Layers)
			return false
		}
		return !list[i]
	}
	return (i+1)%every == 0
}

// gatedAttention is attention whose query projection has a gate behind each head; it has the
// at-th layer of the cache.
func (m *hybrid) gatedAttention(i, at int) mixer {
	c, t := &m.c, &m.tensors
	q := t.linear(blk(i, "attn_q"), 2*c.Heads*c.HeadDim, c.Hidden)
	k, v := t.linear(blk(i, "attn_k"), c.KVHeads*c.HeadDim, c.Hidden), t.linear(blk(i, "attn_v"), c.KVHeads*c.HeadDim, c.Hidden)
	var a attention
	m.headNorms(i, &a)
	o := m.attn(at, 0)
	return mixer{out: t.linear(blk(i, "attn_output"), c.Hidden, c.Heads*c.HeadDim), of: func(b *graph.Builder, h graph.Value) graph.Value {
		both := q.of(b, h)
		turn := func(x graph.Value, n *norm) graph.Value { return b.Rope(n.rms(b, x, c.Eps), b.Positions(), m.rope) }
		y := b.Attention(turn(b.HeadCut(both, c.Heads, 0, c.HeadDim), &norm{w: a.qNorm}), turn(k.of(b, h), &norm{w: a.kNorm}), v.of(b, h), o)
		return b.Gate(b.HeadCut(both, c.Heads, c.HeadDim, 2*c.HeadDim), y, graph.Sigmoid)
	}}
}

// delta is a gated delta net: q, k and v through a short convolution, the net, a norm of
// each head, z as a gate.
func (m *hybrid) delta(i int) mixer {
	c, t, r := &m.c, &m.tensors, &m.reader
	s := m.ssmSizes()
	if s.inner%s.heads != 0 || s.heads%s.groups != 0 {
		r.fail("ssm.inner_size", "is %d for %d value heads and %d key heads", s.inner, s.heads, s.groups)
		return mixer{}
	}
	value, keys, share := s.inner/s.heads, s.groups*s.state, s.heads/s.groups
	channels := 2*keys + s.inner
	conv := graph.ShortConv{Weight: t.need(blk(i, "ssm_conv1d.weight"), channels, s.taps), Bias: t.maybe(blk(i, "ssm_conv1d.bias"), channels), Act: true, At: m.carry(channels * (s.taps - 1))}
	net := graph.DeltaNet{
		A: t.need(blk(i, "ssm_a"), s.heads), DtBias: t.need(blk(i, "ssm_dt.bias"), s.heads),
		Heads: s.heads, KeyHeads: s.groups, Key: s.state, Value: value, Tiled: c.Arch != "qwen3next", At: m.carry(s.heads * s.state * value),
	}
	headNorm := norm{w: t.need(blk(i, "ssm_norm.weight"), value)}
	project := m.deltaInputs(i, s, keys, share)
	return mixer{out: t.linear(blk(i, "ssm_out"), c.Hidden, s.inner), of: func(b *graph.Builder, h graph.Value) graph.Value {
		qkv, z, beta, alpha := project(b, h)
		y := b.DeltaNet(b.ShortConv(qkv, conv), beta, alpha, net)
		return b.Gate(z, headNorm.rms(b, y, c.Eps), graph.SiLU)
	}}
}

// deltaInputs finds the projections of a delta net, which files have in three ways.
func (m *hybrid) deltaInputs(i int, s ssmSizes, keys, share int) func(b *graph.Builder, h graph.Value) (qkv, z, beta, alpha graph.Value) {
	c, t := &m.c, &m.tensors
	value := s.inner / s.heads
	if _, ok := t.set.Tensor(blk(i, "ssm_alpha.weight")); ok {
		qkv, z := t.linear(blk(i, "attn_qkv"), 2*keys+s.inner, c.Hidden), t.linear(blk(i, "attn_gate"), s.inner, c.Hidden)
		beta, alpha := t.linear(blk(i, "ssm_beta"), s.heads, c.Hidden), t.linear(blk(i, "ssm_alpha"), s.heads, c.Hidden)
		return func(b *graph.Builder, h graph.Value) (_, _, _, _ graph.Value) {
			return qkv.of(b, h), z.of(b, h), beta.of(b, h), alpha.of(b, h)
		}
	}
	// Of each key head: its value heads' betas, then their alphas.
	both := t.linear(blk(i, "ssm_ba"), 2*s.heads, c.Hidden)
	apart := func(b *graph.Builder, h graph.Value) (beta, alpha graph.Value) {
		ba := both.of(b, h)
		return b.HeadCut(ba, s.groups, 0, share), b.HeadCut(ba, s.groups, share, 2*share)
	}
	if _, ok := t.set.Tensor(blk(i, "ssm_in.weight")); !ok {
		qkv, z := t.linear(blk(i, "attn_qkv"), 2*keys+s.inner, c.Hidden), t.linear(blk(i, "attn_gate"), s.inner, c.Hidden)
		return func(b *graph.Builder, h graph.Value) (_, _, _, _ graph.Value) {
			beta, alpha := apart(b, h)
			return qkv.of(b, h), z.of(b, h), beta, alpha
		}
	}
	// Early files: of each key head its query, its key, its value heads and their gates.
	in := t.linear(blk(i, "ssm_in"), 2*keys+2*s.inner, c.Hidden)
	v := share * value
	return func(b *graph.Builder, h graph.Value) (_, _, _, _ graph.Value) {
		y := in.of(b, h)
		cut := func(from, to int) graph.Value { return b.HeadCut(y, s.groups, from, to) }
		beta, alpha := apart(b, h)
		qk := b.HeadJoin(cut(0, s.state), cut(s.state, 2*s.state), 1)
		return b.HeadJoin(qk, cut(2*s.state, 2*s.state+v), 1), cut(2*s.state+v, 2*s.state+2*v), beta, alpha
	}
}
