package model

import (
	"math"
	"slices"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// gemma3n is the text part of Gemma 3n. It carries several streams of a row side by side. A
// layer foretells all of them from one another, runs on the first, and corrects the others by
// what the first became (AltUp). Beside attention there is a projection through few numbers
// (LAuReL); the first layers' gates keep only what stands out. What Gemma 4 has as well is
// there: tables of each layer's own, keys of earlier layers, and windows.
//
// Google, "Gemma 3n", 2025, and its modelling code; Baykal et al., "Alternating Updates for
// Efficient Transformers", 2023; Menghani et al., "LAuReL: Learned Augmented Residual Layer", 2024.
type gemma3n struct {
	*base
	layers         []gemma3nLayer
	inputs         layerInputs
	streams, keyed int             // keyed: layers that have keys; those behind look at theirs
	spread, gather *weights.Tensor // (streams-1, hidden, hidden): to the other streams, and back
	one, plus      *weights.Tensor // (headDim) and (streams) ones
}

type gemma3nLayer struct {
	attnNorm, attnPost, ffnNorm, ffnPost norm
	q, k, v, o                           linear // k and v nil in layers that share
	qNorm, kNorm                         *weights.Tensor
	rope                                 *graph.Rope
	attn                                 graph.Attention
	ffn                                  mlp
	deviations                           float32 // of the gate's mean that it has to stand out by; -Inf keeps all
	left, right                          linear  // of LAuReL
	laurelNorm                           norm
	router, predict, correct             linear
	routerNorm                           norm
	scale                                *weights.Tensor // (hidden)
	gate, up                             linear          // of what the layer's table says
	inputNorm                            norm
}

// streamFloor is below what the square of a stream's size is not taken to be.
const streamFloor = 1e-5

func newGemma3n(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t, r := &m.c, &m.tensors, &m.reader
	m.logCap = float32(r.capping("final_logit_softcapping", 30))
	g := &gemma3n{base: m, one: ones(c.HeadDim)}
	if at := r.upTo("altup.active_idx", 64); at != 0 {
		r.refuse("altup.active_idx", "is %d, want 0", at)
	}
	if g.streams = r.countOr("altup.num_inputs", 64, 4); g.streams < 2 {
		r.fail("altup.num_inputs", "is %d, want 2 or more", g.streams)
		return nil, m.err()
	}
	g.plus = ones(g.streams)
	if m.slides = r.windows(c, 5, 0); m.slides == nil {
		r.fail("attention.sliding_window", "is missing")
		return nil, m.err()
	}
	local, err := m.unscaled(10000)
	if err != nil {
		return nil, err
	}
	g.keyed = c.Layers - r.upTo("attention.shared_kv_layers", c.Layers-1)
	width := r.count("embedding_length_per_layer_input", maxWidth)
	g.inputs = m.layerInputs(width)
	g.spread = t.need("altup_proj.weight", g.streams-1, c.Hidden, c.Hidden)
	g.gather = t.need("altup_unembd_proj.weight", g.streams-1, c.Hidden, c.Hidden)
	sparsity := g.sparsity()
	last := map[bool]int{} // layer of the cache, by whether there is a window
	for i := range c.Layers {
		g.layers = append(g.layers, g.layer(i, width, last))
		l := &g.layers[i]
		if l.rope = &m.rope; m.slides[i] {
			l.rope = &local
		}
		l.deviations = sparsity[i]
		if err := m.err(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// sparsity is by how many standard deviations gates of each layer have to stand out.
func (m *gemma3n) sparsity() []float32 {
	const key = "activation_sparsity_scale"
	all := slices.Repeat([]float32{float32(math.Inf(-1))}, m.c.Layers)
	v, ok := m.reader.value(key)
	list, _ := v.([]float64)
	if ok && len(list) != m.c.Layers {
		m.reader.fail(key, "has %d entries for %d layers", len(list), m.c.Layers)
		return all
	}
	for i, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 1) {
			m.reader.fail(key, "is %g", x)
		}
		all[i] = float32(x)
	}
	return all
}

func (m *gemma3n) layer(i, width int, last map[bool]int) gemma3nLayer {
	c, t := &m.c, &m.tensors
	keys, n := c.KVHeads*c.HeadDim, m.streams
	find := func(name string) norm { return t.norm(blk(i, name), c.Hidden) }
	low, _ := t.set.Tensor(blk(i, "laurel_l.weight"))
	rank := 1
	if low != nil && len(low.Shape) == 2 {
		rank = low.Shape[0]
	}
	ff := c.layerFF[i]
	l := gemma3nLayer{
		attnNorm: find("attn_norm"), attnPost: find("post_attention_norm"), ffnNorm: find("ffn_norm"), ffnPost: find("post_ffw_norm"),
		q: t.linear(blk(i, "attn_q"), c.Heads*c.HeadDim, c.Hidden), o: t.linear(blk(i, "attn_output"), c.Hidden, c.Heads*c.HeadDim),
		qNorm: t.need(blk(i, "attn_q_norm.weight"), c.HeadDim),
		ffn:   mlp{gate: t.linear(blk(i, "ffn_gate"), ff, c.Hidden), up: t.linear(blk(i, "ffn_up"), ff, c.Hidden), down: t.linear(blk(i, "ffn_down"), c.Hidden, ff)},
		left:  t.linear(blk(i, "laurel_l"), rank, c.Hidden), right: t.linear(blk(i, "laurel_r"), c.Hidden, rank), laurelNorm: find("laurel_post_norm"),
		router: t.linear(blk(i, "altup_router"), n, c.Hidden), routerNorm: find("altup_router_norm"),
		predict: t.linear(blk(i, "altup_predict_coef"), n*n, n), correct: t.linear(blk(i, "altup_correct_coef"), n, n),
		scale: t.need(blk(i, "altup_correct_scale.weight"), c.Hidden),
		gate:  t.linear(blk(i, "inp_gate"), width, c.Hidden), up: t.linear(blk(i, "proj"), c.Hidden, width), inputNorm: find("post_norm"),
	}
	l.correct.b = m.plus
	at, before := last[m.slides[i]]
	switch {
	case i < m.keyed:
		l.k, l.v = t.linear(blk(i, "attn_k"), keys, c.Hidden), t.linear(blk(i, "attn_v"), keys, c.Hidden)
		l.kNorm = t.need(blk(i, "attn_k_norm.weight"), c.HeadDim)
		last[m.slides[i]], at = i, i
	case !before:
		m.reader.fail("attention.shared_kv_layers", "leaves layer %d without one of its kind before it", i)
	default: // files have what nothing is multiplied with
		for _, name := range []string{"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"} {
			m.spare(blk(i, name))
		}
	}
	l.attn = m.attn(at, m.window(i))
	l.attn.Scale = 1
	return l
}

// altup is what the router says of x, by which streams are blended.
func (l *gemma3nLayer) altup(b *graph.Builder, x graph.Value, c *Config) graph.Value {
	h := b.Scale(l.routerNorm.rms(b, x, c.Eps), float32(1/float64(c.Hidden)))
	return b.Activate(l.router.of(b, h), graph.Tanh)
}

func (m *gemma3n) Hidden(b *graph.Builder) graph.Value {
	c, n := &m.c, m.streams
	first := func(x graph.Value) graph.Value { return b.HeadCut(x, 1, 0, c.Hidden) }
	rest := func(x graph.Value) graph.Value { return b.HeadCut(x, 1, c.Hidden, n*c.Hidden) }
	repeat := func(x graph.Value) graph.Value { // for the other streams
		y := x
		for range n - 2 {
			y = b.HeadJoin(y, x, 1)
		}
		return y
	}
	x := b.Scale(b.Embed(b.Tokens(), m.embed), float32(math.Sqrt(float64(c.Hidden))))
	inputs := m.inputs.of(b, x, c)
	x = b.HeadJoin(x, b.MatchRMS(b.HeadLinear(repeat(x), m.spread), x, streamFloor), 1)
	positions := b.Positions()
	for i := range m.layers {
		l := &m.layers[i]
		x = b.Blend(x, x, l.predict.of(b, l.altup(b, first(x), c)), n)
		own := first(x)
		h := l.attnNorm.rms(b, own, c.Eps)
		laurel := b.Add(h, l.laurelNorm.rms(b, l.right.of(b, l.left.of(b, h)), c.Eps))
		q := b.Rope(b.RMSNorm(l.q.of(b, h), l.qNorm, c.Eps), positions, *l.rope)
		var a graph.Value
		if i < m.keyed {
			k := b.Rope(b.RMSNorm(l.k.of(b, h), l.kNorm, c.Eps), positions, *l.rope)
			a = b.Attention(q, k, b.RMSNorm(l.v.of(b, h), m.one, c.Eps), l.attn)
		} else {
			a = b.SharedAttention(q, graph.SharedAttention{Attention: l.attn})
		}
		if i == m.keyed-1 { // later rows look at keys that are all there: only wanted ones go on
			for _, v := range []*graph.Value{&a, &x, &laurel, &inputs} {
				*v = b.Take(*v, b.Wanted())
			}
			own, positions = first(x), b.WantedPositions()
		}
		y := b.Add(own, l.attnPost.rms(b, l.o.of(b, a), c.Eps))
		y = b.Scale(b.Add(y, laurel), float32(1/math.Sqrt2))
		h = l.ffnNorm.rms(b, y, c.Eps)
		gate := l.ffn.gate.of(b, h)
		if !math.IsInf(float64(l.deviations), -1) {
			gate = b.Sparsify(gate, l.deviations)
		}
		h = l.ffn.down.of(b, b.Gate(gate, l.ffn.up.of(b, h), graph.GELUTanh))
		y = b.Add(y, l.ffnPost.rms(b, h, c.Eps))
		news := b.Add(y, b.Scale(own, -1))
		x = b.Blend(x, news, l.correct.of(b, l.altup(b, y, c)), n)
		p := b.HeadCut(inputs, 1, i*m.inputs.width, (i+1)*m.inputs.width)
		p = b.Gate(l.gate.of(b, b.Times(first(x), l.scale)), p, graph.GELUTanh)
		p = l.inputNorm.rms(b, l.up.of(b, p), c.Eps)
		x = b.HeadJoin(first(x), b.Add(rest(x), repeat(p)), 1)
	}
	y := first(x)
	back := b.MatchRMS(b.HeadLinear(rest(x), m.gather), y, streamFloor)
	for k := range n - 1 {
		y = b.Add(y, b.HeadCut(back, 1, k*c.Hidden, (k+1)*c.Hidden))
	}
	return m.norm.rms(b, b.Scale(y, 1/float32(n)), c.Eps)
}

// What config.json and the tensors of Gemma 3n say in terms of GGUF.

var gemma3nNames = map[string]string{
	"post_attention_layernorm": "post_attention_norm", "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
	"laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r", "laurel.post_laurel_norm": "laurel_post_norm",
	"altup.modality_router": "altup_router", "altup.router_norm": "altup_router_norm", "altup.prediction_coefs": "altup_predict_coef",
	"altup.correction_coefs": "altup_correct_coef", "altup.correct_output_scale": "altup_correct_scale",
}

var (
	gemma3nReads    = []string{"final_logit_softcapping", "hidden_size_per_layer_input", "num_kv_shared_layers"}
	gemma3nOnly     = map[string][]any{"hidden_activation": geluTanh, "attention_bias": {false}, "altup_correct_scale": {true}}
	gemma3nDefaults = map[string]any{
		"hidden_size": int64(2048), "num_hidden_layers": int64(35), "num_attention_heads": int64(8), "num_key_value_heads": int64(2), "head_dim": int64(256), "intermediate_size": int64(16384),
		"rms_norm_eps": 1e-6, "sliding_window": int64(512), "max_position_embeddings": int64(32768), "hidden_size_per_layer_input": int64(256), "num_kv_shared_layers": int64(15),
		"final_logit_softcapping": 30.0, "altup_num_inputs": int64(4), "altup_coef_clip": 120.0, "rope_theta": 1e6, "rope_local_base_freq": 1e4, "tie_word_embeddings": true,
	}
)

func gemma3nConfig(c *hfConfig, put func(string, any)) {
	gemma(5)(c, put)
	layers := c.int("num_hidden_layers", 0)
	if layers < 1 || layers > maxLayers {
		c.fail("num_hidden_layers is %d, outside 1 to %d", layers, maxLayers)
		return
	}
	put("altup.active_idx", c.int("altup_active_idx", 0))
	put("altup.num_inputs", c.int("altup_num_inputs", 0))
	put("embedding_length_per_layer_input", c.int("hidden_size_per_layer_input", 0))
	put("attention.shared_kv_layers", c.int("num_kv_shared_layers", 0))
	if list, ok := c.m["intermediate_size"].([]any); ok {
		widths := make([]int64, len(list))
		for i, v := range list {
			if widths[i], ok = v.(int64); !ok {
				c.fail("intermediate_size holds %v", v)
			}
		}
		put("feed_forward_length", widths)
	}
	// So much of a normal distribution lies below what a gate keeps.
	share := func(i int) any {
		switch v := c.m["activation_sparsity_pattern"].(type) {
		case nil:
			if i < 10 && layers > 10 {
				return 0.95
			}
			return 0.0
		case []any:
			if int64(len(v)) == layers {
				return v[i]
			}
			c.fail("activation_sparsity_pattern has %d entries for %d layers", len(v), layers)
		default:
			return v
		}
		return 0.0
	}
	scale := make([]float64, layers)
	for i := range scale {
		s, ok := number(share(i))
		if !ok || !(s >= 0 && s < 1) {
			c.fail("activation_sparsity_pattern holds %v, want a number from 0 up to 1", share(i))
		}
		scale[i] = float64(float32(math.Sqrt2 * math.Erfinv(2*s-1)))
	}
	put("activation_sparsity_scale", scale)
}

// changeGemma3n keeps coefficients of corrections within their limit, as transformers does
// whenever it uses them.
func (tr *translation) changeGemma3n(t *weights.Tensor) (bool, error) {
	if !strings.HasSuffix(t.Name, ".altup_correct_coef.weight") {
		return false, nil
	}
	limit, ok := number(tr.c.m["altup_coef_clip"])
	if !ok {
		return false, nil
	}
	x, err := t.Floats()
	if err != nil {
		return true, err
	}
	clipped := false
	for i, v := range x {
		x[i] = min(max(v, -float32(limit)), float32(limit))
		clipped = clipped || x[i] != v
	}
	if !clipped {
		return false, nil
	}
	w := floats(t.Name, x)
	w.Shape = t.Shape
	return true, tr.put(w)
}
