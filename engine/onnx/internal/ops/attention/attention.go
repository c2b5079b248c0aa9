package attention

import (
	"math"

	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// narrowed returns double tensors as float, which attention is computed in.
func narrowed(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || t.D == nil {
		return t
	}
	f := tensor.New(onnx.Float, t.Shape...)
	for i, v := range t.D {
		f.F[i] = float32(v)
	}
	return f
}

// retyped makes a float result one of type t.
func retyped(x *tensor.Tensor, t onnx.DType) *tensor.Tensor {
	if t != onnx.Double {
		x.Type = t
		return tensor.Rounded(x)
	}
	d := tensor.New(t, x.Shape...)
	for i, v := range x.F {
		d.D[i] = float64(v)
	}
	return d
}

// attention is the operator of opset 23 and later: queries, keys and values are
// (batch, heads, rows, dim) or (batch, rows, heads · dim).
func attention(c *run.Call) []*tensor.Tensor {
	typ := c.X(0).Type
	q, k, v := narrowed(c.X(0)), narrowed(c.X(1)), narrowed(c.X(2))
	pastK, pastV := narrowed(c.Opt(4)), narrowed(c.Opt(5))
	if q.F == nil || k.F == nil || v.F == nil || len(q.Shape) != len(k.Shape) || len(k.Shape) != len(v.Shape) {
		tensor.Malformed("attention of %v, %v and %v, shapes %d, %d and %d", q.Type, k.Type, v.Type, q.Shape, k.Shape, v.Shape)
	}
	a := Attend{softCap: float32(c.Float("softcap", 0))}
	var out *tensor.Tensor
	var kn, vn Heads
	var added int
	switch len(q.Shape) {
	case 4:
		a.Batch, a.Heads, a.Rows, a.Dim = q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3]
		a.KvHeads, added, a.VDim = k.Shape[1], k.Shape[2], v.Shape[3]
		if k.Shape[0] != a.Batch || k.Shape[3] != a.Dim || v.Shape[0] != a.Batch || v.Shape[1] != a.KvHeads || v.Shape[2] != added {
			tensor.Malformed("attention of shapes %d, %d and %d", q.Shape, k.Shape, v.Shape)
		}
		out = c.Blank(onnx.Float, a.Batch, a.Heads, a.Rows, a.VDim)
		a.Q, kn, vn, a.Dst = HeadsOf(q), HeadsOf(k), HeadsOf(v), HeadsOf(out)
	case 3:
		a.Heads, a.KvHeads = c.Int("q_num_heads", 0), c.Int("kv_num_heads", 0)
		a.Batch, a.Rows, added = q.Shape[0], q.Shape[1], k.Shape[1]
		if a.Heads <= 0 || a.KvHeads <= 0 || q.Shape[2]%a.Heads != 0 || k.Shape[2]%a.KvHeads != 0 || v.Shape[2]%a.KvHeads != 0 {
			tensor.Malformed("attention of shapes %d, %d and %d with %d and %d heads", q.Shape, k.Shape, v.Shape, a.Heads, a.KvHeads)
		}
		a.Dim, a.VDim = q.Shape[2]/a.Heads, v.Shape[2]/a.KvHeads
		if k.Shape[2]/a.KvHeads != a.Dim || k.Shape[0] != a.Batch || v.Shape[0] != a.Batch || v.Shape[1] != added {
			tensor.Malformed("attention of shapes %d, %d and %d", q.Shape, k.Shape, v.Shape)
		}
		out = c.Blank(onnx.Float, a.Batch, a.Rows, a.Heads*a.VDim)
		a.Q, kn, vn, a.Dst = rowsOf(q, a.Heads), rowsOf(k, a.KvHeads), rowsOf(v, a.KvHeads), rowsOf(out, a.Heads)
	default:
		tensor.Malformed("attention of shape %d", q.Shape)
	}
	a.Scale = float32(c.Float("scale", 0))
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(a.Dim)))
	}
	a.K, a.V, a.Keys = kn, vn, added
	past := 0
	res := []*tensor.Tensor{out, nil, nil, nil}
	if pastK != nil || len(c.Node.Outputs) > 1 && c.Node.Outputs[1] != "" {
		past = pastRows(pastK, pastV)
		pk := joined(c, pastK, kn, onnx.Float, a.Batch, a.KvHeads, added, a.Dim)
		pv := joined(c, pastV, vn, onnx.Float, a.Batch, a.KvHeads, added, a.VDim)
		a.K, a.V, a.Keys = HeadsOf(pk), HeadsOf(pv), past+added
		res[1], res[2] = retyped(pk, typ), retyped(pv, typ)
	}
	if m := c.Opt(3); m != nil {
		a.Bias, a.Width = Mask(m, a.Batch, a.Heads, a.Rows, float32(math.Inf(-1)))
	}
	lengths := c.Opt(6)
	if lengths != nil && len(lengths.I) != a.Batch {
		tensor.Malformed("lengths of shape %d for a batch of %d", lengths.Shape, a.Batch)
	}
	if causal := c.Int("is_causal", 0) != 0; causal || lengths != nil {
		a.visible = func(b, r int) (int, int) {
			offset, last := past, a.Keys
			if lengths != nil {
				last = int(lengths.I[b])
				offset = last - a.Rows
			}
			if causal {
				last = min(last, r+offset+1)
			}
			return 0, last
		}
	}
	if len(c.Node.Outputs) > 3 && c.Node.Outputs[3] != "" {
		res[3] = c.Blank(onnx.Float, a.Batch, a.Heads, a.Rows, a.Keys)
		a.scores, a.stage = res[3].F, stage(c.Int("qk_matmul_output_mode", 0))
	}
	a.Run(c)
	res[0] = retyped(out, typ)
	if res[3] != nil {
		res[3] = retyped(res[3], typ)
	}
	return res
}

// flexAttention is attention whose scores and weights graphs may change.
func flexAttention(c *run.Call) []*tensor.Tensor {
	q, k, v := c.X(0), c.X(1), c.X(2)
	if len(q.Shape) != 4 || len(k.Shape) != 4 || len(v.Shape) != 4 || k.Shape[1] == 0 || q.Shape[1]%k.Shape[1] != 0 || v.Shape[1] != k.Shape[1] {
		tensor.Malformed("attention of shapes %d, %d and %d", q.Shape, k.Shape, v.Shape)
	}
	scale := c.Float("scale", float32(1/math.Sqrt(float64(max(1, q.Shape[3])))))
	typ := q.Type
	wide := func(t *tensor.Tensor) *tensor.Tensor { // computed in float32 or float64
		if t.F != nil {
			t = t.As(t.Shape...)
			t.Type = onnx.Float
		}
		return t
	}
	q, k, v = wide(q), repeatHeads(wide(k), q.Shape[1]), repeatHeads(wide(v), q.Shape[1])
	scores := product.MatMul(c, q, k, false, true, float32(scale), nil)
	change := func(name string, t *tensor.Tensor) *tensor.Tensor {
		if a := c.Attr(name); a != nil && a.G != nil {
			out := c.Graph(a.G, t)
			if len(out) != 1 || out[0].Type != t.Type || tensor.Count(out[0].Shape) != tensor.Count(t.Shape) {
				tensor.Malformed("%s does not return scores", name)
			}
			return out[0]
		}
		return t
	}
	weights := norm.SoftmaxAlong(c, change("score_mod", scores), 3)
	out := product.MatMul(c, change("prob_mod", weights), v, false, false, 1, nil)
	if out.F != nil {
		out = retyped(out, typ)
	}
	return run.One(out)
}

// repeatHeads returns t (batch, heads, rows, dim) with every head repeated, so
// that there are n.
func repeatHeads(t *tensor.Tensor, n int) *tensor.Tensor {
	if t.Shape[1] == n {
		return t
	}
	by := n / t.Shape[1]
	step := tensor.Strides(t.Shape)
	from := tensor.Walk([]int{t.Shape[0], t.Shape[1], by, t.Shape[2], t.Shape[3]}, []int{step[0], step[1], 0, step[2], step[3]}, 0)
	return t.Pick(from, t.Shape[0], n, t.Shape[2], t.Shape[3])
}

// linearAttention keeps a state (dim, values) a head instead of keys: it decays,
// takes up k · (v - what it holds for k) or k · v, and is read with q.
//
// Yang et al., "Gated Delta Networks", 2024, eq. 10; Yang et al., "Gated Linear
// Attention Transformers", 2023, eq. 3.
func linearAttention(c *run.Call) []*tensor.Tensor {
	q, k, v, past, decay, beta := c.X(0), c.X(1), c.X(2), c.Opt(3), c.Opt(4), c.Opt(5)
	n, kvn := c.Int("q_num_heads", 0), c.Int("kv_num_heads", 0)
	if len(q.Shape) != 3 || len(k.Shape) != 3 || len(v.Shape) != 3 || q.F == nil || k.F == nil || v.F == nil || n <= 0 || kvn <= 0 || n%kvn != 0 {
		tensor.Malformed("linear attention of shapes %d, %d and %d with %d and %d heads", q.Shape, k.Shape, v.Shape, n, kvn)
	}
	batch, rows := q.Shape[0], q.Shape[1]
	dk, dv := q.Shape[2]/n, v.Shape[2]/kvn
	if q.Shape[2] != n*dk || k.Shape[0] != batch || k.Shape[1] != rows || k.Shape[2] != kvn*dk || v.Shape[0] != batch || v.Shape[1] != rows || v.Shape[2] != kvn*dv || dk == 0 {
		tensor.Malformed("linear attention of shapes %d, %d and %d with %d and %d heads", q.Shape, k.Shape, v.Shape, n, kvn)
	}
	state := c.Zeros(onnx.Float, batch, kvn, dk, dv)
	if past != nil {
		if past.Len() != state.Len() || past.F == nil {
			tensor.Malformed("state of shape %d, want %d", past.Shape, state.Shape)
		}
		copy(state.F, past.F)
	}
	// width returns how many values an input has for a head.
	width := func(t *tensor.Tensor, most int) int {
		if len(t.Shape) == 3 && t.Shape[0] == batch && t.Shape[1] == rows && t.F != nil {
			switch t.Shape[2] {
			case kvn * most:
				return most
			case kvn:
				return 1
			case 1:
				return 0
			}
		}
		tensor.Malformed("shape %d for %d heads of %d", t.Shape, kvn, most)
		return 0
	}
	rule := c.Text("update_rule", "gated_delta")
	rules := map[string]struct{ decays, delta bool }{"linear": {}, "gated": {decays: true}, "delta": {delta: true}, "gated_delta": {true, true}}
	r, ok := rules[rule]
	if !ok {
		tensor.Unsupported("update_rule %.20q", rule)
	}
	var decays, betas int
	if r.decays {
		decays = width(c.X(4), dk)
	}
	if r.delta {
		betas = width(c.X(5), 1)
	}
	scale := float32(c.Float("scale", 0))
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(dk)))
	}
	out := c.Zeros(onnx.Float, batch, rows, n*dv)
	c.SpreadOut(batch*kvn, func(_, i int) {
		b, h := i/kvn, i%kvn
		s, write := state.F[i*dk*dv:][:dk*dv], make([]float32, dv)
		for t := range rows {
			at := b*rows + t
			key, val := k.F[(at*kvn+h)*dk:][:dk], v.F[(at*kvn+h)*dv:][:dv]
			if r.decays {
				for d := range dk {
					j := at * decay.Shape[2]
					switch decays {
					case dk:
						j += h*dk + d
					case 1:
						j += h
					}
					by := float32(math.Exp(float64(decay.F[j])))
					for e := range dv {
						s[d*dv+e] *= by
					}
				}
			}
			copy(write, val)
			if r.delta {
				for d, kv := range key {
					for e := range write {
						write[e] -= kv * s[d*dv+e]
					}
				}
				by := beta.F[at*beta.Shape[2]+min(betas, 1)*h]
				for e := range write {
					write[e] *= by
				}
			}
			for d, kv := range key {
				for e, w := range write {
					s[d*dv+e] += kv * w
				}
			}
			for g := h * (n / kvn); g < (h+1)*(n/kvn); g++ {
				dst := out.F[(at*n+g)*dv:][:dv]
				for d, qv := range q.F[(at*n+g)*dk:][:dk] {
					for e := range dst {
						dst[e] += scale * qv * s[d*dv+e]
					}
				}
			}
		}
	})
	return []*tensor.Tensor{retyped(out, q.Type), retyped(state, q.Type)}
}

// causalConv is a convolution of every channel with its own taps over what came
// before, which it returns for the next call.
func causalConv(c *run.Call) []*tensor.Tensor {
	x, w, bias, past := c.X(0), c.X(1), c.Opt(2), c.Opt(3)
	if len(x.Shape) != 3 || len(w.Shape) != 3 || x.F == nil || w.F == nil || w.Shape[0] != x.Shape[1] || w.Shape[1] != 1 || w.Shape[2] == 0 {
		tensor.Malformed("convolution of shapes %d and %d", x.Shape, w.Shape)
	}
	batch, channels, rows, taps := x.Shape[0], x.Shape[1], x.Shape[2], w.Shape[2]
	if bias != nil && len(bias.F) != channels || past != nil && (past.F == nil || past.Len() != batch*channels*(taps-1)) {
		tensor.Malformed("bias or state for %d channels and %d taps", channels, taps)
	}
	silu := false
	switch act := c.Text("activation", "none"); act {
	case "none", "":
	case "silu", "swish":
		silu = true
	default:
		tensor.Unsupported("activation %.20q", act)
	}
	out, state := c.Zeros(onnx.Float, x.Shape...), c.Zeros(onnx.Float, batch, channels, taps-1)
	c.ByRows(batch*channels, rows*taps, func(from, to int) {
		padded := make([]float32, taps-1+rows)
		for i := from; i < to; i++ {
			clear(padded)
			if past != nil {
				copy(padded, past.F[i*(taps-1):(i+1)*(taps-1)])
			}
			copy(padded[taps-1:], x.F[i*rows:(i+1)*rows])
			for t := range rows {
				sum := float32(0)
				if bias != nil {
					sum = bias.F[i%channels]
				}
				for j, u := range w.F[i%channels*taps:][:taps] {
					sum += u * padded[t+j]
				}
				if silu {
					sum = float32(float64(sum) / (1 + math.Exp(-float64(sum))))
				}
				out.F[i*rows+t] = sum
			}
			copy(state.F[i*(taps-1):(i+1)*(taps-1)], padded[rows:])
		}
	})
	return []*tensor.Tensor{retyped(out, x.Type), retyped(state, x.Type)}
}
