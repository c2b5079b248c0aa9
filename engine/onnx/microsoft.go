package onnx

import (
	"math"

	"quern/formats/onnx"
)

// The attention operators of ONNX Runtime, ContribOperators.md.

// scaleOr returns the attribute scale, 1/√dim where it is left out.
func (c *call) scaleOr(dim int) float32 {
	if s := c.float("scale", 0); s != 0 {
		return float32(s)
	}
	return float32(1 / math.Sqrt(float64(dim)))
}

// padding adds to a what hides padded keys: t holds a length for each item, or
// one and the first key of each, or a mask of (batch, keys), (batch, rows, keys)
// or (batch, 1, most, most) whose zeros hide.
func (c *call) padding(a *attend, t *Tensor, past int) {
	off := float32(c.float("mask_filter_value", -10000))
	if t == nil {
		return
	}
	if t.I == nil {
		fail("%w: mask of %v", onnx.ErrUnsupported, t.Type)
	}
	m := c.zeros(onnx.Float, a.batch, 1, 1, a.keys)
	switch d := t.Shape; {
	case len(d) == 1 && (d[0] == a.batch || d[0] == 2*a.batch):
		for b := range a.batch {
			first, last := 0, int(t.I[b])
			if d[0] == 2*a.batch {
				first = int(t.I[a.batch+b])
			}
			for i := range a.keys {
				if i < first || i >= last {
					m.F[b*a.keys+i] = off
				}
			}
		}
	case len(d) == 1 && d[0] == 3*a.batch+2:
		for b := range a.batch {
			for i := int(max(0, t.I[b])); i < a.keys; i++ {
				m.F[b*a.keys+i] = off
			}
		}
	case len(d) == 2 && d[0] == a.batch && d[1] == a.keys, len(d) == 3 && d[0] == a.batch && d[1] == a.rows && d[2] == a.keys:
		m = c.zeros(onnx.Float, a.batch, 1, len(t.I)/(a.batch*a.keys), a.keys)
		for i, v := range t.I {
			if v == 0 {
				m.F[i] = off
			}
		}
	case len(d) == 4 && d[0] == a.batch && d[1] == 1 && d[2] == d[3] && d[2] >= a.keys:
		m = c.zeros(onnx.Float, a.batch, 1, a.rows, a.keys)
		for i := range m.F {
			b, r, k := i/(a.rows*a.keys), i/a.keys%a.rows, i%a.keys
			if t.I[(b*d[2]+past+r)*d[2]+k] == 0 {
				m.F[i] = off
			}
		}
	default:
		fail("%w: mask of shape %d for %d", onnx.ErrUnsupported, d, []int{a.batch, a.rows, a.keys})
	}
	a.addBias(m)
}

// addBias adds t, broadcast to (batch, heads, rows, keys), to the bias.
func (a *attend) addBias(t *Tensor) {
	if t == nil {
		return
	}
	if t.F == nil || len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] != a.keys {
		fail("%w: bias of shape %d for %d keys", onnx.ErrFormat, t.Shape, a.keys)
	}
	b, w := mask(t, a.batch, a.heads, a.rows, 0)
	if a.bias.f == nil {
		a.bias, a.width = b, w
		return
	}
	sum := newTensor(onnx.Float, a.batch, a.heads, a.rows, a.keys)
	for i := range a.batch * a.heads * a.rows {
		n, h, r := i/(a.heads*a.rows), i/a.rows%a.heads, i%a.rows
		for j := range a.keys {
			sum.F[i*a.keys+j] = a.bias.f[n*a.bias.batch+h*a.bias.head+r*a.bias.row+j] + b.f[n*b.batch+h*b.head+r*b.row+j]
		}
	}
	a.bias, a.width = headsOf(sum), a.keys
}

// causal hides what comes after a row, of which past are before the first.
func (a *attend) causal(past int) {
	a.visible = func(_, r int) (int, int) { return 0, past + r + 1 }
}

// microsoftAttention projects its input to queries, keys and values itself.
func microsoftAttention(c *call) []*Tensor {
	x, w := c.x(0), c.x(1)
	if len(x.Shape) != 3 || x.F == nil || len(w.Shape) != 2 {
		fail("%w: attention of %v, shape %d by %d", onnx.ErrUnsupported, x.Type, x.Shape, w.Shape)
	}
	var bias []float32
	if b := c.opt(2); b != nil {
		if bias = b.F; len(bias) != w.Shape[1] {
			fail("%w: bias of shape %d for %d columns", onnx.ErrFormat, b.Shape, w.Shape[1])
		}
	}
	return c.projected(c.matMul(x, w, false, false, 1, bias), c.opt(3), c.opt(4), c.opt(5))
}

// projected attends with queries, keys and values side by side in x.
func (c *call) projected(x, hidden, past, bias *Tensor) []*Tensor {
	n := c.int("num_heads", 0)
	sizes := c.list("qkv_hidden_sizes", -1)
	if sizes == nil {
		sizes = []int{x.Shape[2] / 3, x.Shape[2] / 3, x.Shape[2] / 3}
	}
	if n <= 0 || len(sizes) != 3 || sizes[0] <= 0 || sizes[0] != sizes[1] || sizes[2] <= 0 || sizes[0]%n != 0 || sizes[2]%n != 0 || 2*sizes[0]+sizes[2] != x.Shape[2] {
		fail("%w: %d values as %d in %d heads", onnx.ErrFormat, x.Shape[2], sizes, n)
	}
	if c.int("do_rotary", 0) != 0 || c.int("past_present_share_buffer", 0) != 0 {
		fail("%w: attention with do_rotary or past_present_share_buffer", onnx.ErrUnsupported)
	}
	batch, rows, width := x.Shape[0], x.Shape[1], x.Shape[2]
	a := attend{batch: batch, heads: n, kvHeads: n, rows: rows, keys: rows, dim: sizes[0] / n, vDim: sizes[2] / n}
	out := c.blank(x.Type, batch, rows, sizes[2])
	part := func(from, dim int) heads { return heads{x.F[min(from, len(x.F)):], rows * width, dim, width} }
	a.q, a.k, a.v, a.dst = part(0, a.dim), part(sizes[0], a.dim), part(2*sizes[0], a.vDim), rowsOf(out, n)
	a.scale = c.scaleOr(a.dim)
	var present *Tensor
	before := 0
	if past != nil || len(c.n.Outputs) > 1 && c.n.Outputs[1] != "" {
		if a.dim != a.vDim {
			fail("%w: past keys of %d and values of %d", onnx.ErrUnsupported, a.dim, a.vDim)
		}
		var pk, pv *Tensor
		if past != nil {
			if len(past.Shape) != 5 || past.Shape[0] != 2 {
				fail("%w: past of shape %d", onnx.ErrFormat, past.Shape)
			}
			before = past.Shape[3]
			half := count(past.Shape[1:])
			pk = &Tensor{Type: past.Type, Shape: past.Shape[1:], F: past.F[:half]}
			pv = &Tensor{Type: past.Type, Shape: past.Shape[1:], F: past.F[half:]}
		}
		jk, jv := joined(c, pk, a.k, x.Type, batch, n, rows, a.dim), joined(c, pv, a.v, x.Type, batch, n, rows, a.dim)
		a.k, a.v, a.keys = headsOf(jk), headsOf(jv), before+rows
		present = c.blank(x.Type, 2, batch, n, a.keys, a.dim)
		copy(present.F[copy(present.F, jk.F):], jv.F)
	}
	c.padding(&a, hidden, before)
	a.addBias(bias)
	if c.int("unidirectional", 0) != 0 {
		a.causal(before)
	}
	a.run(c)
	return []*Tensor{settle(out), present}
}

// multiHead attends with queries, keys and values that are projected already.
func multiHead(c *call) []*Tensor {
	q, k, v, bias := c.x(0), c.opt(1), c.opt(2), c.opt(3)
	n := c.int("num_heads", 0)
	if n <= 0 || q.F == nil {
		fail("%w: attention of %v with %d heads", onnx.ErrFormat, q.Type, n)
	}
	if c.bare(8) != nil || c.bare(9) != nil || len(c.n.Outputs) > 3 && c.n.Outputs[3] != "" {
		fail("%w: attention with past_sequence_length, cache_indirection or its products", onnx.ErrUnsupported)
	}
	a := attend{heads: n, kvHeads: n}
	switch {
	case k == nil && len(q.Shape) == 5 && q.Shape[2] == n && q.Shape[3] == 3: // (batch, rows, heads, 3, dim)
		a.batch, a.rows, a.dim = q.Shape[0], q.Shape[1], q.Shape[4]
		a.keys, a.vDim = a.rows, a.dim
		at := func(i int) heads {
			return heads{q.F[min(i*a.dim, len(q.F)):], a.rows * n * 3 * a.dim, 3 * a.dim, n * 3 * a.dim}
		}
		a.q, a.k, a.v = at(0), at(1), at(2)
	case k == nil || len(q.Shape) != 3 || q.Shape[2]%n != 0 || k.F == nil || k.Shape[0] != q.Shape[0]:
		fail("%w: attention of shape %d", onnx.ErrUnsupported, q.Shape)
	default:
		a.batch, a.rows, a.dim = q.Shape[0], q.Shape[1], q.Shape[2]/n
		a.q = rowsOf(q, n)
		switch d := k.Shape; {
		case len(d) == 5 && d[2] == n && d[3] == 2 && d[4] == a.dim && v == nil: // (batch, keys, heads, 2, dim)
			a.keys, a.vDim = d[1], a.dim
			at := func(i int) heads {
				return heads{k.F[min(i*a.dim, len(k.F)):], a.keys * n * 2 * a.dim, 2 * a.dim, n * 2 * a.dim}
			}
			a.k, a.v = at(0), at(1)
		case v == nil || v.F == nil || len(v.Shape) != len(d) || v.Shape[0] != a.batch:
			fail("%w: attention of shapes %d and %d", onnx.ErrUnsupported, q.Shape, d)
		case len(d) == 4 && d[1] == n && d[3] == a.dim && v.Shape[1] == n && v.Shape[2] == d[2]: // keys of an encoder
			a.keys, a.vDim = d[2], v.Shape[3]
			a.k, a.v = headsOf(k), headsOf(v)
		case len(d) == 3 && d[2] == n*a.dim && v.Shape[1] == d[1] && v.Shape[2]%n == 0:
			a.keys, a.vDim = d[1], v.Shape[2]/n
			a.k, a.v = rowsOf(k, n), rowsOf(v, n)
		default:
			fail("%w: attention of shapes %d, %d and %d", onnx.ErrUnsupported, q.Shape, d, v.Shape)
		}
	}
	if bias != nil {
		if len(bias.F) != n*(2*a.dim+a.vDim) {
			fail("%w: bias of shape %d for %d heads of %d and %d", onnx.ErrFormat, bias.Shape, n, a.dim, a.vDim)
		}
		a.q = biased(a.q, bias.F[:n*a.dim], a.batch, n, a.rows, a.dim)
		if k == nil || len(k.Shape) != 4 {
			a.k = biased(a.k, bias.F[n*a.dim:2*n*a.dim], a.batch, n, a.keys, a.dim)
			a.v = biased(a.v, bias.F[2*n*a.dim:], a.batch, n, a.keys, a.vDim)
		}
	}
	out := c.blank(q.Type, a.batch, a.rows, n*a.vDim)
	res := []*Tensor{out, nil, nil}
	pastK, pastV, before := c.opt(6), c.opt(7), 0
	if pastK != nil || len(c.n.Outputs) > 1 && c.n.Outputs[1] != "" {
		if pastK != nil {
			if pastV == nil || len(pastK.Shape) != 4 || len(pastV.Shape) != 4 || pastV.Shape[2] != pastK.Shape[2] {
				fail("%w: past keys and values differ", onnx.ErrFormat)
			}
			before = pastK.Shape[2]
		}
		res[1] = joined(c, pastK, a.k, q.Type, a.batch, n, a.keys, a.dim)
		res[2] = joined(c, pastV, a.v, q.Type, a.batch, n, a.keys, a.vDim)
		a.k, a.v, a.keys = headsOf(res[1]), headsOf(res[2]), before+a.keys
	}
	a.dst, a.scale = rowsOf(out, n), c.scaleOr(a.dim)
	c.padding(&a, c.opt(4), before)
	a.addBias(c.opt(5))
	if c.int("unidirectional", 0) != 0 {
		a.causal(before)
	}
	a.run(c)
	settle(out)
	return res
}

// biased returns x (batch, n, rows, dim) plus a bias of n · dim.
func biased(x heads, bias []float32, batch, n, rows, dim int) heads {
	out := heads{make([]float32, batch*rows*n*dim), rows * n * dim, dim, n * dim}
	for i := range batch * rows {
		for h := range n {
			src := x.f[i/rows*x.batch+h*x.head+i%rows*x.row:][:dim]
			to := out.f[(i*n+h)*dim:][:dim]
			for j, v := range src {
				to[j] = v + bias[h*dim+j]
			}
		}
	}
	return out
}

// groupQuery attends causally with fewer heads of keys than of queries, in a
// cache whose filled length differs between items.
func groupQuery(c *call) []*Tensor {
	q, k, v := c.x(0), c.opt(1), c.opt(2)
	n, kvn := c.int("num_heads", 0), c.int("kv_num_heads", 0)
	if n <= 0 || kvn <= 0 || n%kvn != 0 || q.F == nil || len(q.Shape) != 3 {
		fail("%w: attention of %v, shape %d, with %d and %d heads", onnx.ErrFormat, q.Type, q.Shape, n, kvn)
	}
	a := attend{batch: q.Shape[0], rows: q.Shape[1], heads: n, kvHeads: kvn, softCap: float32(c.float("softcap", 0))}
	var kn, vn heads
	if k == nil { // queries, keys and values side by side
		width := q.Shape[2]
		if a.dim = width / (n + 2*kvn); a.dim*(n+2*kvn) != width || a.dim == 0 {
			fail("%w: %d values in %d and %d heads", onnx.ErrFormat, width, n, kvn)
		}
		part := func(from int) heads { return heads{q.F[min(from, len(q.F)):], a.rows * width, a.dim, width} }
		a.q, kn, vn = part(0), part(n*a.dim), part((n+kvn)*a.dim)
	} else {
		a.dim = q.Shape[2] / n
		for _, t := range []*Tensor{k, v} {
			if t == nil || t.F == nil || len(t.Shape) != 3 || t.Shape[0] != a.batch || t.Shape[1] != a.rows || t.Shape[2] != kvn*a.dim || q.Shape[2] != n*a.dim {
				fail("%w: keys or values for queries of shape %d with %d and %d heads", onnx.ErrFormat, q.Shape, n, kvn)
			}
		}
		a.q, kn, vn = rowsOf(q, n), rowsOf(k, kvn), rowsOf(v, kvn)
	}
	a.vDim = a.dim
	pastK, pastV, filled := c.opt(3), c.opt(4), c.x(5)
	total := c.x(6).scalar()
	if len(filled.I) != a.batch || total.I == nil {
		fail("%w: lengths of shape %d for a batch of %d", onnx.ErrFormat, filled.Shape, a.batch)
	}
	before := 0
	for _, p := range []*Tensor{pastK, pastV} {
		if p == nil {
			continue
		}
		if d := p.Shape; p.F == nil || len(d) != 4 || d[0] != a.batch || d[1] != kvn || d[3] != a.dim || pastK == nil || pastV == nil || d[2] != pastK.Shape[2] {
			fail("%w: past of shape %d", onnx.ErrFormat, d)
		}
		before = p.Shape[2]
	}
	// What an item has before this call; a prompt begins at nothing.
	start := make([]int, a.batch)
	for b, f := range filled.I {
		if s := int(f) + 1 - a.rows; int64(a.rows) != total.I[0] && s >= 0 {
			start[b] = s
		}
		if start[b] > before || f < 0 || total.I[0] < 0 {
			fail("%w: item %d has %d keys, %d of them past, with %d in the cache", onnx.ErrFormat, b, f, start[b], before)
		}
	}
	a.keys = max(before, int(total.I[0]))
	for _, s := range start {
		if s+a.rows > a.keys {
			fail("%w: %d keys after %d, room for %d", onnx.ErrFormat, a.rows, s, a.keys)
		}
	}
	if c.int("do_rotary", 0) != 0 {
		r := newRotary(c.x(7), c.x(8), 0, c.int("rotary_interleaved", 0) != 0)
		at := func(b, row int) int { return start[b] + row }
		if p := c.opt(9); p != nil {
			if len(p.I) != a.batch*a.rows {
				fail("%w: positions of shape %d", onnx.ErrFormat, p.Shape)
			}
			at = func(b, row int) int { return int(p.I[b*a.rows+row]) }
		}
		turned := func(x heads, n int) heads {
			out := heads{make([]float32, a.batch*a.rows*n*a.dim), a.rows * n * a.dim, a.dim, n * a.dim}
			r.all(c, out, x, a.batch, n, a.rows, a.dim, at)
			return out
		}
		a.q, kn = turned(a.q, n), turned(kn, kvn)
	}
	cache := func(past *Tensor, x heads) *Tensor {
		t := c.zeros(q.Type, a.batch, kvn, a.keys, a.dim)
		for i := range a.batch * kvn {
			b, h := i/kvn, i%kvn
			to := t.F[i*a.keys*a.dim:]
			if past != nil {
				copy(to[:before*a.dim], past.F[i*before*a.dim:])
			}
			for r := range a.rows {
				copy(to[(start[b]+r)*a.dim:][:a.dim], x.f[b*x.batch+h*x.head+r*x.row:])
			}
		}
		return settle(t)
	}
	presentK, presentV := cache(pastK, kn), cache(pastV, vn)
	a.k, a.v = headsOf(presentK), headsOf(presentV)
	window := c.int("local_window_size", -1)
	a.visible = func(b, r int) (int, int) {
		last := start[b] + r + 1
		if window > 0 {
			return last - window, last
		}
		return 0, last
	}
	if bias := c.opt(10); bias != nil {
		a.addBias(bias)
	}
	if sink := c.opt(11); sink != nil {
		if a.sink = sink.F; len(a.sink) != n {
			fail("%w: sinks of shape %d for %d heads", onnx.ErrFormat, sink.Shape, n)
		}
	} else if c.int("smooth_softmax", 0) == 1 {
		a.sink = make([]float32, n)
	}
	out := c.blank(q.Type, a.batch, a.rows, n*a.dim)
	a.dst, a.scale = rowsOf(out, n), c.scaleOr(a.dim)
	a.run(c)
	return []*Tensor{settle(out), presentK, presentV}
}
