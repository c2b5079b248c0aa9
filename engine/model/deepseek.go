package model

import (
	"fmt"
	"math"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// deepseek is DeepSeek V2 and V3 and what shares their attention: Kimi K2, GLM 4.7 Flash,
// Mistral 4; and MiniCPM 3, which has MiniCPM's factors on top. Keys and values of all heads are made of one short vector a token, c, and one
// rotated key; only these are cached. W_kb is moved to the queries and W_vb behind the
// attention, so heads attend to c itself as if there were one key head: q' = W_kbᵀ·q.
//
// DeepSeek-AI, "DeepSeek-V2", 2024, §2.1; "DeepSeek-V3 Technical Report", 2024, §2.1.
type deepseek struct {
	*base
	layers []deepseekLayer
	latent
	eps     float32 // of the norms within attention
	scale   float32 // of scores
	dense   int     // layers without experts, the first ones
	queries int     // rank of queries, 0 where they are made at once
	temper  graph.Temper

	factors
	long, short *weights.Tensor // as in decoder
}

// A latent is the sizes of this attention.
type latent struct {
	rank   int // of c
	nope   int // values of a head that are not rotated
	rotate int // values of a head that are
	value  int // values of a head's result
}

type deepseekLayer struct {
	attnNorm, ffnNorm norm
	qDown             linear // (rank of queries, hidden); nil where q is made at once
	qNorm             *weights.Tensor
	q                 linear // (heads·(nope+rotate), …)
	kvDown            linear // (rank+rotate, hidden)
	kvNorm            *weights.Tensor
	k, v              *weights.Tensor // (heads, rank, nope) and (heads, value, rank)
	out               linear          // (hidden, heads·value)
	ffn               feed
}

// latentArchs are the architectures with this attention.
var latentArchs = map[string]bool{"deepseek2": true, "minicpm3": true, "mistral4": true}

// latentSizes reads the sizes of latent attention and makes the cache's of them: one key
// head as wide as c and the rotated key. Files older than the split of kv_b give the
// widths of a head under the plain keys.
func (r *reader) latentSizes(c *Config) latent {
	l := latent{rank: r.count("attention.kv_lora_rank", maxWidth), rotate: r.count("rope.dimension_count", maxWidth)}
	head, value := r.countOr("attention.key_length_mla", maxWidth, 0), r.countOr("attention.value_length_mla", maxWidth, 0)
	key := r.count("attention.key_length", maxWidth)
	plain := c.Hidden / c.Heads
	if c.Arch != "minicpm3" { // whose files do not say
		plain = r.count("attention.value_length", maxWidth)
	} else {
		plain = r.countOr("attention.value_length", maxWidth, max(1, plain))
	}
	if head == 0 {
		head, value = key, plain
	} else if key != l.rank+l.rotate || plain != l.rank {
		r.fail("attention.key_length", "is %d and value_length %d, for a rank of %d and %d rotated", key, plain, l.rank, l.rotate)
	}
	l.value = value
	if l.nope = head - l.rotate; l.nope < 1 {
		r.fail("rope.dimension_count", "is %d for heads of %d", l.rotate, head)
		l.nope = 1
	}
	c.KVHeads, c.HeadDim = 1, l.rank+l.rotate
	return l
}

func newDeepseek(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, r := &m.c, &m.reader
	g := &deepseek{base: m, latent: r.latentSizes(c), eps: c.Eps, factors: noFactors}
	m.rope.HeadDim, m.rope.Interleaved = g.rotate, r.flag("rope.interleaved", c.Arch != "minicpm3")
	if c.Arch == "minicpm3" {
		g.factors = m.miniCPMFactors()
		g.long, g.short = m.divisors()
	}
	if set.Source == weights.SafeTensors {
		g.eps = 1e-6 // transformers' classes do not read rms_norm_eps there; llama.cpp does
	}
	scale := 1 / math.Sqrt(float64(g.nope+g.rotate))
	if by := r.logMultiplier(c); by > 0 && c.Rope.Scaling == "yarn" {
		// Long contexts sharpen the scores, twice what YaRN does to one side.
		m := 1 + 0.1*by*math.Log(c.Rope.Factor)
		scale *= m * m
	}
	g.scale = float32(scale)
	g.dense = r.upTo("leading_dense_block_count", c.Layers)
	g.queries = r.upTo("attention.q_lora_rank", maxWidth)
	if beta := r.float("attention.temperature_scale", 0); beta > 0 {
		g.temper = graph.Temper{Beta: beta, Period: r.countOr("attention.temperature_length", maxContext, c.Rope.Original)}
	}
	for i := range c.Layers {
		g.layers = append(g.layers, g.layer(i))
	}
	return g, m.err()
}

// layer finds the weights of layer i.
func (m *deepseek) layer(i int) deepseekLayer {
	c, t, heads := &m.c, &m.tensors, m.c.Heads
	l := deepseekLayer{
		attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
		kvDown:   t.linear(blk(i, "attn_kv_a_mqa"), m.rank+m.rotate, c.Hidden),
		kvNorm:   t.need(blk(i, "attn_kv_a_norm.weight"), m.rank),
		out:      t.linear(blk(i, "attn_output"), c.Hidden, heads*m.value),
		ffnNorm:  t.norm(blk(i, "ffn_norm"), c.Hidden),
	}
	if m.queries > 0 {
		l.qDown = t.linear(blk(i, "attn_q_a"), m.queries, c.Hidden)
		l.qNorm = t.need(blk(i, "attn_q_a_norm.weight"), m.queries)
		l.q = t.linear(blk(i, "attn_q_b"), heads*(m.nope+m.rotate), m.queries)
	} else {
		l.q = t.linear(blk(i, "attn_q"), heads*(m.nope+m.rotate), c.Hidden)
	}
	both := t.maybe(blk(i, "attn_kv_b.weight"), heads*(m.nope+m.value), m.rank)
	if _, apart := m.set.Tensor(blk(i, "attn_k_b.weight")); both != nil && !apart {
		var err error
		if l.k, l.v, err = splitKV(both, heads, m.latent); err != nil {
			t.fail(err)
		} else {
			t.fill(l.k, l.v)
		}
	} else {
		l.k = t.need(blk(i, "attn_k_b.weight"), heads, m.rank, m.nope)
		l.v = t.need(blk(i, "attn_v_b.weight"), heads, m.value, m.rank)
	}
	if i < m.dense || c.Experts == 0 {
		l.ffn = feeds(m.gated(i), graph.SiLU)
		return l
	}
	// Early files of GLM 4.7 Flash do not say that scores are sigmoids, which came
	// with this bias.
	_, sigmoid := m.set.Tensor(blk(i, "exp_probs_b.bias"))
	o := m.routing(i, sigmoid, c.Arch == "mistral4")
	// DeepSeek V2 takes a group for as good as its best expert; only with V3's
	// sigmoids came the best two. llama.cpp has the latter for both.
	o.GroupMax = !o.Sigmoid
	l.ffn = mixture(m.expertsOf(i, graph.SiLU, o), m.sharedExpert(i), linear{})
	return l
}

// splitKV takes kv_b of older files, (heads·(nope+value), rank), apart: keys transposed by
// head, (heads, rank, nope), and values, (heads, value, rank). Blocks of few bits cannot be
// turned; such keys become F16, and their values stay as they are.
func splitKV(w *weights.Tensor, heads int, l latent) (k, v *weights.Tensor, err error) {
	row, ok := w.Type.Size(l.rank)
	if !ok {
		return nil, nil, fmt.Errorf("%w: rows of %d of %s are no whole blocks of %v", ErrFormat, l.rank, w.Name, w.Type)
	}
	v = &weights.Tensor{Name: strings.Replace(w.Name, "attn_kv_b", "attn_v_b", 1), Type: w.Type, Shape: []int{heads, l.value, l.rank}}
	rearrange(v, w, func(dst, data []byte) {
		for h := range heads {
			from := (h*(l.nope+l.value) + l.nope) * row
			dst = dst[copy(dst, data[from:from+l.value*row]):]
		}
	})
	k = &weights.Tensor{Name: strings.Replace(w.Name, "attn_kv_b", "attn_k_b", 1), Type: w.Type, Shape: []int{heads, l.rank, l.nope}}
	if w.Type.Layout().Block > 1 {
		k.Type = quant.F16
	}
	rearrange(k, w, func(dst, data []byte) {
		from, to := w.Type.Layout(), k.Type.Layout()
		x, turned := make([]float32, l.nope*l.rank), make([]float32, l.nope*l.rank)
		size, _ := k.Type.Size(len(x))
		for h := range heads {
			at := h * (l.nope + l.value) * row
			from.Decode(x, data[at:at+l.nope*row])
			for i := range l.nope {
				for r := range l.rank {
					turned[r*l.nope+i] = x[i*l.rank+r]
				}
			}
			to.Encode(dst[h*size:(h+1)*size], turned)
		}
	})
	return k, v, nil
}

// fill gives tensors that are made of others their Data when the others have it.
func (t *tensors) fill(made ...*weights.Tensor) {
	for _, x := range made {
		t.set.OnFill(func() error {
			data, err := x.Read()
			x.Data = data
			return err
		})
	}
}

// deepseekNames are the names of SafeTensors files; kv_b_proj is taken apart.
var deepseekNames = map[string]string{
	"self_attn.q_a_proj":           "attn_q_a",
	"self_attn.q_a_layernorm":      "attn_q_a_norm",
	"self_attn.q_b_proj":           "attn_q_b",
	"self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
	"self_attn.kv_a_layernorm":     "attn_kv_a_norm",
	"self_attn.kv_b_proj":          "attn_kv_b",
}

// latentOf are the sizes of latent attention as config.json has them.
func latentOf(c *hfConfig) latent {
	size := func(key string) int {
		n := c.int(key, 0)
		if n < 1 || n > maxWidth {
			c.fail("%s is %v, outside 1 to %d", key, c.m[key], maxWidth)
			return 1
		}
		return int(n)
	}
	return latent{rank: size("kv_lora_rank"), nope: size("qk_nope_head_dim"), rotate: size("qk_rope_head_dim"), value: size("v_head_dim")}
}

// deepseekConfig reads what config.json has of its own.
func deepseekConfig(c *hfConfig, put func(string, any)) {
	l := latentOf(c)
	put("attention.head_count_kv", int64(1))
	put("attention.kv_lora_rank", int64(l.rank))
	put("attention.key_length", int64(l.rank+l.rotate))
	put("attention.value_length", int64(l.rank))
	put("attention.key_length_mla", int64(l.nope+l.rotate))
	put("attention.value_length_mla", int64(l.value))
	put("rope.dimension_count", int64(l.rotate))
	if n := c.int("q_lora_rank", 0); n > 0 {
		put("attention.q_lora_rank", n)
	}
	if v, ok := c.m["rope_interleave"].(bool); ok && !v {
		put("rope.interleaved", false)
	}
	if n := c.int("moe_layer_freq", 1); n != 1 {
		c.refuse("moe_layer_freq of %d", n)
	}
	routedExperts(c, put)
	switch m := c.m["topk_method"]; m {
	case nil, "noaux_tc", "group_limited_greedy":
	case "greedy": // groups say nothing then
		put("expert_group_count", int64(1))
		put("expert_group_used_count", int64(1))
	default:
		c.refuse("topk_method of %v", m)
	}
	temper(c, put)
}

func (m *deepseek) Hidden(b *graph.Builder) graph.Value { return m.hidden(b, true) }

func (m *deepseek) hidden(b *graph.Builder, wanted bool) graph.Value {
	x := scaled(b, b.Embed(b.Tokens(), m.embed), m.embedScale)
	rope := m.stretched(b, m.long, m.short)
	for i := range m.layers {
		x = m.pass(b, &m.layers[i], i, wanted && i == m.c.Layers-1, rope, x)
	}
	return m.norm.rms(b, x, m.c.Eps)
}

// pass records a layer, which is the at-th of the cache; with wanted only rows that are wanted
// leave it.
func (m *deepseek) pass(b *graph.Builder, l *deepseekLayer, at int, wanted bool, rope graph.Rope, x graph.Value) graph.Value {
	c, heads := &m.c, m.c.Heads
	h := l.attnNorm.rms(b, x, c.Eps)

	q := h
	if l.qDown.w != nil {
		q = b.RMSNorm(l.qDown.of(b, h), l.qNorm, m.eps)
	}
	q = l.q.of(b, q)
	turned := b.Rope(b.HeadCut(q, heads, m.nope, m.nope+m.rotate), b.Positions(), rope)
	q = b.HeadJoin(b.HeadLinear(b.HeadCut(q, heads, 0, m.nope), l.k), turned, heads)
	if m.temper.Period > 0 {
		q = b.Temper(q, b.Positions(), m.temper)
	}

	kv := l.kvDown.of(b, h)
	latent := b.RMSNorm(b.HeadCut(kv, 1, 0, m.rank), l.kvNorm, m.eps)
	k := b.HeadJoin(latent, b.Rope(b.HeadCut(kv, 1, m.rank, m.rank+m.rotate), b.Positions(), rope), 1)

	o := graph.LatentAttention{Layer: at, Heads: heads, HeadDim: m.rank + m.rotate, Values: m.rank, Scale: m.scale}
	a := b.LatentAttention(q, k, o)
	if wanted {
		a, x = b.Take(a, b.Wanted()), b.Take(x, b.Wanted())
	}
	a = b.HeadLinear(a, l.v)
	x = b.Add(x, scaled(b, l.out.of(b, a), m.residualScale))

	return b.Add(x, scaled(b, l.ffn(b, l.ffnNorm.rms(b, x, c.Eps)), m.residualScale))
}

// next implements predictor.
func (m *deepseek) next(i int) layerPass {
	l := m.layer(i)
	return func(b *graph.Builder, x graph.Value) graph.Value {
		return m.pass(b, &l, 0, true, m.stretched(b, m.long, m.short), x)
	}
}

func (m *deepseek) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return scaled(b, m.base.Logits(b, hidden), m.logitScale)
}
