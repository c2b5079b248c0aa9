package attention

import (
	"math"

	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// The attention operators of ONNX Runtime, ContribOperators.md.

// scaleOr returns the attribute scale, 1/√dim where it is left out.
func scaleOr(c *run.Call, dim int) float32 {
	if s := c.Float("scale", 0); s != 0 {
		return float32(s)
	}
	return float32(1 / math.Sqrt(float64(dim)))
}

// padding adds to a what hides padded keys: t holds a length for each item, or
// one and the first key of each, or a mask of (batch, keys), (batch, rows, keys)
// or (batch, 1, most, most) whose zeros hide.
func padding(c *run.Call, a *Attend, t *tensor.Tensor, past int) {
	off := float32(c.Float("mask_filter_value", -10000))
	if t == nil {
		return
	}
	if t.I == nil {
		tensor.Unsupported("mask of %v", t.Type)
	}
	m := c.Zeros(onnx.Float, a.Batch, 1, 1, a.Keys)
	switch d := t.Shape; {
	case len(d) == 1 && (d[0] == a.Batch || d[0] == 2*a.Batch):
		for b := range a.Batch {
			first, last := 0, int(t.I[b])
			if d[0] == 2*a.Batch {
				first = int(t.I[a.Batch+b])
			}
			for i := range a.Keys {
				if i < first || i >= last {
					m.F[b*a.Keys+i] = off
				}
			}
		}
	case len(d) == 1 && d[0] == 3*a.Batch+2:
		for b := range a.Batch {
			for i := int(max(0, t.I[b])); i < a.Keys; i++ {
				m.F[b*a.Keys+i] = off
			}
		}
	case len(d) == 2 && d[0] == a.Batch && d[1] == a.Keys, len(d) == 3 && d[0] == a.Batch && d[1] == a.Rows && d[2] == a.Keys:
		m = c.Zeros(onnx.Float, a.Batch, 1, len(t.I)/(a.Batch*a.Keys), a.Keys)
		for i, v := range t.I {
			if v == 0 {
				m.F[i] = off
			}
		}
	case len(d) == 4 && d[0] == a.Batch && d[1] == 1 && d[2] == d[3] && d[2] >= a.Keys:
		m = c.Zeros(onnx.Float, a.Batch, 1, a.Rows, a.Keys)
		for i := range m.F {
			b, r, k := i/(a.Rows*a.Keys), i/a.Keys%a.Rows, i%a.Keys
			if t.I[(b*d[2]+past+r)*d[2]+k] == 0 {
				m.F[i] = off
			}
		}
	default:
		tensor.Unsupported("mask of shape %d for %d", d, []int{a.Batch, a.Rows, a.Keys})
	}
	a.addBias(m)
}

// addBias adds t, broadcast to (batch, heads, rows, keys), to the bias.
func (a *Attend) addBias(t *tensor.Tensor) {
	if t == nil {
		return
	}
	if t.F == nil || len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] != a.Keys {
		tensor.Malformed("bias of shape %d for %d keys", t.Shape, a.Keys)
	}
	b, w := Mask(t, a.Batch, a.Heads, a.Rows, 0)
	if a.Bias.F == nil {
		a.Bias, a.Width = b, w
		return
	}
	sum := tensor.New(onnx.Float, a.Batch, a.Heads, a.Rows, a.Keys)
	for i := range a.Batch * a.Heads * a.Rows {
		n, h, r := i/(a.Heads*a.Rows), i/a.Rows%a.Heads, i%a.Rows
		for j := range a.Keys {
			sum.F[i*a.Keys+j] = a.Bias.F[n*a.Bias.Batch+h*a.Bias.Head+r*a.Bias.Row+j] + b.F[n*b.Batch+h*b.Head+r*b.Row+j]
		}
	}
	a.Bias, a.Width = HeadsOf(sum), a.Keys
}

// causal hides what comes after a row, of which past are before the first.
func (a *Attend) causal(past int) {
	a.visible = func(_, r int) (int, int) { return 0, past + r + 1 }
}

// microsoftAttention projects its input to queries, keys and values itself.
func microsoftAttention(c *run.Call) []*tensor.Tensor {
	x, w := c.X(0), c.X(1)
	if len(x.Shape) != 3 || x.F == nil || len(w.Shape) != 2 {
		tensor.Unsupported("attention of %v, shape %d by %d", x.Type, x.Shape, w.Shape)
	}
	var bias []float32
	if b := c.Opt(2); b != nil {
		if bias = b.F; len(bias) != w.Shape[1] {
			tensor.Malformed("bias of shape %d for %d columns", b.Shape, w.Shape[1])
		}
	}
	return Projected(c, product.MatMul(c, x, w, false, false, 1, bias), c.Opt(3), c.Opt(4), c.Opt(5))
}

// Projected attends with queries, keys and values side by side in x.
func Projected(c *run.Call, x, hidden, past, bias *tensor.Tensor) []*tensor.Tensor {
	n := c.Int("num_heads", 0)
	sizes := c.List("qkv_hidden_sizes", -1)
	if sizes == nil {
		sizes = []int{x.Shape[2] / 3, x.Shape[2] / 3, x.Shape[2] / 3}
	}
	if n <= 0 || len(sizes) != 3 || sizes[0] <= 0 || sizes[0] != sizes[1] || sizes[2] <= 0 || sizes[0]%n != 0 || sizes[2]%n != 0 || 2*sizes[0]+sizes[2] != x.Shape[2] {
		tensor.Malformed("%d values as %d in %d heads", x.Shape[2], sizes, n)
	}
	if c.Int("do_rotary", 0) != 0 || c.Int("past_present_share_buffer", 0) != 0 {
		tensor.Unsupported("attention with do_rotary or past_present_share_buffer")
	}
	batch, rows, width := x.Shape[0], x.Shape[1], x.Shape[2]
	a := Attend{Batch: batch, Heads: n, KvHeads: n, Rows: rows, Keys: rows, Dim: sizes[0] / n, VDim: sizes[2] / n}
	out := c.Blank(x.Type, batch, rows, sizes[2])
	part := func(from, dim int) Heads { return Heads{x.F[min(from, len(x.F)):], rows * width, dim, width} }
	a.Q, a.K, a.V, a.Dst = part(0, a.Dim), part(sizes[0], a.Dim), part(2*sizes[0], a.VDim), rowsOf(out, n)
	a.Scale = scaleOr(c, a.Dim)
	var present *tensor.Tensor
	before := 0
	if past != nil || len(c.Node.Outputs) > 1 && c.Node.Outputs[1] != "" {
		if a.Dim != a.VDim {
			tensor.Unsupported("past keys of %d and values of %d", a.Dim, a.VDim)
		}
		var pk, pv *tensor.Tensor
		if past != nil {
			if len(past.Shape) != 5 || past.Shape[0] != 2 {
				tensor.Malformed("past of shape %d", past.Shape)
			}
			before = past.Shape[3]
			half := tensor.Count(past.Shape[1:])
			pk = &tensor.Tensor{Type: past.Type, Shape: past.Shape[1:], F: past.F[:half]}
			pv = &tensor.Tensor{Type: past.Type, Shape: past.Shape[1:], F: past.F[half:]}
		}
		jk, jv := joined(c, pk, a.K, x.Type, batch, n, rows, a.Dim), joined(c, pv, a.V, x.Type, batch, n, rows, a.Dim)
		a.K, a.V, a.Keys = HeadsOf(jk), HeadsOf(jv), before+rows
		present = c.Blank(x.Type, 2, batch, n, a.Keys, a.Dim)
		copy(present.F[copy(present.F, jk.F):], jv.F)
	}
	padding(c, &a, hidden, before)
	a.addBias(bias)
	if c.Int("unidirectional", 0) != 0 {
		a.causal(before)
	}
	a.Run(c)
	return []*tensor.Tensor{tensor.Rounded(out), present}
}

// MultiHead attends with queries, keys and values that are projected already.
func MultiHead(c *run.Call) []*tensor.Tensor {
	q, k, v, bias := c.X(0), c.Opt(1), c.Opt(2), c.Opt(3)
	n := c.Int("num_heads", 0)
	if n <= 0 || q.F == nil {
		tensor.Malformed("attention of %v with %d heads", q.Type, n)
	}
	if c.OptPacked(8) != nil || c.OptPacked(9) != nil || len(c.Node.Outputs) > 3 && c.Node.Outputs[3] != "" {
		tensor.Unsupported("attention with past_sequence_length, cache_indirection or its products")
	}
	a := Attend{Heads: n, KvHeads: n}
	switch {
	case k == nil && len(q.Shape) == 5 && q.Shape[2] == n && q.Shape[3] == 3: // (batch, rows, heads, 3, dim)
		a.Batch, a.Rows, a.Dim = q.Shape[0], q.Shape[1], q.Shape[4]
		a.Keys, a.VDim = a.Rows, a.Dim
		at := func(i int) Heads {
			return Heads{q.F[min(i*a.Dim, len(q.F)):], a.Rows * n * 3 * a.Dim, 3 * a.Dim, n * 3 * a.Dim}
		}
		a.Q, a.K, a.V = at(0), at(1), at(2)
	case k == nil || len(q.Shape) != 3 || q.Shape[2]%n != 0 || k.F == nil || k.Shape[0] != q.Shape[0]:
		tensor.Unsupported("attention of shape %d", q.Shape)
	default:
		a.Batch, a.Rows, a.Dim = q.Shape[0], q.Shape[1], q.Shape[2]/n
		a.Q = rowsOf(q, n)
		switch d := k.Shape; {
		case len(d) == 5 && d[2] == n && d[3] == 2 && d[4] == a.Dim && v == nil: // (batch, keys, heads, 2, dim)
			a.Keys, a.VDim = d[1], a.Dim
			at := func(i int) Heads {
				return Heads{k.F[min(i*a.Dim, len(k.F)):], a.Keys * n * 2 * a.Dim, 2 * a.Dim, n * 2 * a.Dim}
			}
			a.K, a.V = at(0), at(1)
		case v == nil || v.F == nil || len(v.Shape) != len(d) || v.Shape[0] != a.Batch:
			tensor.Unsupported("attention of shapes %d and %d", q.Shape, d)
		case len(d) == 4 && d[1] == n && d[3] == a.Dim && v.Shape[1] == n && v.Shape[2] == d[2]: // keys of an encoder
			a.Keys, a.VDim = d[2], v.Shape[3]
			a.K, a.V = HeadsOf(k), HeadsOf(v)
		case len(d) == 3 && d[2] == n*a.Dim && v.Shape[1] == d[1] && v.Shape[2]%n == 0:
			a.Keys, a.VDim = d[1], v.Shape[2]/n
			a.K, a.V = rowsOf(k, n), rowsOf(v, n)
		default:
			tensor.Unsupported("attention of shapes %d, %d and %d", q.Shape, d, v.Shape)
		}
	}
	if bias != nil {
		if len(bias.F) != n*(2*a.Dim+a.VDim) {
			tensor.Malformed("bias of shape %d for %d heads of %d and %d", bias.Shape, n, a.Dim, a.VDim)
		}
		a.Q = biased(a.Q, bias.F[:n*a.Dim], a.Batch, n, a.Rows, a.Dim)
		if k == nil || len(k.Shape) != 4 {
			a.K = biased(a.K, bias.F[n*a.Dim:2*n*a.Dim], a.Batch, n, a.Keys, a.Dim)
			a.V = biased(a.V, bias.F[2*n*a.Dim:], a.Batch, n, a.Keys, a.VDim)
		}
	}
	out := c.Blank(q.Type, a.Batch, a.Rows, n*a.VDim)
	res := []*tensor.Tensor{out, nil, nil}
	pastK, pastV, before := c.Opt(6), c.Opt(7), 0
	if pastK != nil || len(c.Node.Outputs) > 1 && c.Node.Outputs[1] != "" {
		before = pastRows(pastK, pastV)
		res[1] = joined(c, pastK, a.K, q.Type, a.Batch, n, a.Keys, a.Dim)
		res[2] = joined(c, pastV, a.V, q.Type, a.Batch, n, a.Keys, a.VDim)
		a.K, a.V, a.Keys = HeadsOf(res[1]), HeadsOf(res[2]), before+a.Keys
	}
	a.Dst, a.Scale = rowsOf(out, n), scaleOr(c, a.Dim)
	padding(c, &a, c.Opt(4), before)
	a.addBias(c.Opt(5))
	if c.Int("unidirectional", 0) != 0 {
		a.causal(before)
	}
	a.Run(c)
	tensor.Rounded(out)
	return res
}

// biased returns x (batch, n, rows, dim) plus a bias of n · dim.
func biased(x Heads, bias []float32, batch, n, rows, dim int) Heads {
	out := Heads{make([]float32, batch*rows*n*dim), rows * n * dim, dim, n * dim}
	for i := range batch * rows {
		for h := range n {
			src := x.F[i/rows*x.Batch+h*x.Head+i%rows*x.Row:][:dim]
			to := out.F[(i*n+h)*dim:][:dim]
			for j, v := range src {
				to[j] = v + bias[h*dim+j]
			}
		}
	}
	return out
}

// groupQuery attends causally with fewer heads of keys than of queries, in a
// cache whose filled length differs between items.
func groupQuery(c *run.Call) []*tensor.Tensor {
	q, k, v := c.X(0), c.Opt(1), c.Opt(2)
	n, kvn := c.Int("num_heads", 0), c.Int("kv_num_heads", 0)
	if n <= 0 || kvn <= 0 || n%kvn != 0 || q.F == nil || len(q.Shape) != 3 {
		tensor.Malformed("attention of %v, shape %d, with %d and %d heads", q.Type, q.Shape, n, kvn)
	}
	a := Attend{Batch: q.Shape[0], Rows: q.Shape[1], Heads: n, KvHeads: kvn, softCap: float32(c.Float("softcap", 0))}
	var kn, vn Heads
	if k == nil { // queries, keys and values side by side
		width := q.Shape[2]
		if a.Dim = width / (n + 2*kvn); a.Dim*(n+2*kvn) != width || a.Dim == 0 {
			tensor.Malformed("%d values in %d and %d heads", width, n, kvn)
		}
		part := func(from int) Heads { return Heads{q.F[min(from, len(q.F)):], a.Rows * width, a.Dim, width} }
		a.Q, kn, vn = part(0), part(n*a.Dim), part((n+kvn)*a.Dim)
	} else {
		a.Dim = q.Shape[2] / n
		for _, t := range []*tensor.Tensor{k, v} {
			if t == nil || t.F == nil || len(t.Shape) != 3 || t.Shape[0] != a.Batch || t.Shape[1] != a.Rows || t.Shape[2] != kvn*a.Dim || q.Shape[2] != n*a.Dim {
				tensor.Malformed("keys or values for queries of shape %d with %d and %d heads", q.Shape, n, kvn)
			}
		}
		a.Q, kn, vn = rowsOf(q, n), rowsOf(k, kvn), rowsOf(v, kvn)
	}
	a.VDim = a.Dim
	pastK, pastV, filled := c.Opt(3), c.Opt(4), c.X(5)
	total := c.X(6).Scalar()
	if len(filled.I) != a.Batch || total.I == nil {
		tensor.Malformed("lengths of shape %d for a batch of %d", filled.Shape, a.Batch)
	}
	before := 0
	for _, p := range []*tensor.Tensor{pastK, pastV} {
		if p == nil {
			continue
		}
		if d := p.Shape; p.F == nil || len(d) != 4 || d[0] != a.Batch || d[1] != kvn || d[3] != a.Dim || pastK == nil || pastV == nil || d[2] != pastK.Shape[2] {
			tensor.Malformed("past of shape %d", d)
		}
		before = p.Shape[2]
	}
	// What an item has before this call; a prompt begins at nothing.
	start := make([]int, a.Batch)
	for b, f := range filled.I {
		if s := int(f) + 1 - a.Rows; int64(a.Rows) != total.I[0] && s >= 0 {
			start[b] = s
		}
		if start[b] > before || f < 0 || total.I[0] < 0 {
			tensor.Malformed("item %d has %d keys, %d of them past, with %d in the cache", b, f, start[b], before)
		}
	}
	a.Keys = max(before, int(total.I[0]))
	for _, s := range start {
		if s+a.Rows > a.Keys {
			tensor.Malformed("%d keys after %d, room for %d", a.Rows, s, a.Keys)
		}
	}
	if c.Int("do_rotary", 0) != 0 {
		r := newRotary(c.X(7), c.X(8), 0, c.Int("rotary_interleaved", 0) != 0)
		at := func(b, row int) int { return start[b] + row }
		if p := c.Opt(9); p != nil {
			if len(p.I) != a.Batch*a.Rows {
				tensor.Malformed("positions of shape %d", p.Shape)
			}
			at = func(b, row int) int { return int(p.I[b*a.Rows+row]) }
		}
		turned := func(x Heads, n int) Heads {
			out := Heads{make([]float32, a.Batch*a.Rows*n*a.Dim), a.Rows * n * a.Dim, a.Dim, n * a.Dim}
			r.all(c, out, x, a.Batch, n, a.Rows, a.Dim, at)
			return out
		}
		a.Q, kn = turned(a.Q, n), turned(kn, kvn)
	}
	cache := func(past *tensor.Tensor, x Heads) *tensor.Tensor {
		t := c.Zeros(q.Type, a.Batch, kvn, a.Keys, a.Dim)
		for i := range a.Batch * kvn {
			b, h := i/kvn, i%kvn
			to := t.F[i*a.Keys*a.Dim:]
			if past != nil {
				copy(to[:before*a.Dim], past.F[i*before*a.Dim:])
			}
			for r := range a.Rows {
				copy(to[(start[b]+r)*a.Dim:][:a.Dim], x.F[b*x.Batch+h*x.Head+r*x.Row:])
			}
		}
		return tensor.Rounded(t)
	}
	presentK, presentV := cache(pastK, kn), cache(pastV, vn)
	a.K, a.V = HeadsOf(presentK), HeadsOf(presentV)
	window := c.Int("local_window_size", -1)
	a.visible = func(b, r int) (int, int) {
		last := start[b] + r + 1
		if window > 0 {
			return last - window, last
		}
		return 0, last
	}
	if bias := c.Opt(10); bias != nil {
		a.addBias(bias)
	}
	if sink := c.Opt(11); sink != nil {
		if a.sink = sink.F; len(a.sink) != n {
			tensor.Malformed("sinks of shape %d for %d heads", sink.Shape, n)
		}
	} else if c.Int("smooth_softmax", 0) == 1 {
		a.sink = make([]float32, n)
	}
	out := c.Blank(q.Type, a.Batch, a.Rows, n*a.Dim)
	a.Dst, a.Scale = rowsOf(out, n), scaleOr(c, a.Dim)
	a.Run(c)
	return []*tensor.Tensor{tensor.Rounded(out), presentK, presentV}
}
