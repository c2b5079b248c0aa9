package attention

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// A rotary turns pairs of values of every head by the angle of their position.
//
// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding",
// 2021, §3.2.2.
type rotary struct {
	cos, sin    *tensor.Tensor // (positions, half)
	half        int            // pairs that are turned
	interleaved bool
}

func newRotary(cos, sin *tensor.Tensor, dim int, interleaved bool) rotary {
	if cos.F == nil || sin.F == nil || len(cos.Shape) == 0 || cos.Len() != sin.Len() {
		tensor.Malformed("cosines of shape %d, sines of %d", cos.Shape, sin.Shape)
	}
	half := cos.Shape[len(cos.Shape)-1]
	if dim > 0 {
		half = min(half, dim/2)
	}
	return rotary{cos, sin, half, interleaved}
}

// turn writes x, one head, turned by the angles of row at of the tables, to dst.
func (r *rotary) turn(dst, x []float32, at int) {
	width := r.cos.Shape[len(r.cos.Shape)-1]
	if at < 0 || (at+1)*width > len(r.cos.F) || 2*r.half > len(x) {
		tensor.Malformed("position %d of a table of shape %d, head of %d", at, r.cos.Shape, len(x))
	}
	cos, sin := r.cos.F[at*width:][:r.half], r.sin.F[at*width:][:r.half]
	copy(dst[2*r.half:], x[2*r.half:])
	for i := range r.half {
		j, k := i, i+r.half
		if r.interleaved {
			j, k = 2*i, 2*i+1
		}
		a, b := x[j], x[k]
		dst[j], dst[k] = cos[i]*a-sin[i]*b, cos[i]*b+sin[i]*a
	}
}

// all turns every head of x to dst, of one layout. at returns the row of the
// tables for a place.
func (r *rotary) all(c *run.Call, dst, x Heads, batch, n, rows, dim int, at func(b, row int) int) {
	c.ByRows(batch*rows, n*dim, func(from, to int) {
		for i := from; i < to; i++ {
			b, row := i/rows, i%rows
			for h := range n {
				src, out := b*x.Batch+h*x.Head+row*x.Row, b*dst.Batch+h*dst.Head+row*dst.Row
				r.turn(dst.F[out:out+dim], x.F[src:src+dim], at(b, row))
			}
		}
	})
}

// embed turns x (batch, heads, rows, dim) or (batch, rows, heads · dim).
func (r *rotary) embed(c *run.Call, x *tensor.Tensor, n int, at func(b, row int) int) *tensor.Tensor {
	if x.F == nil {
		tensor.Unsupported("rotation of %v", x.Type)
	}
	out := c.Blank(x.Type, x.Shape...)
	switch len(x.Shape) {
	case 4:
		r.all(c, HeadsOf(out), HeadsOf(x), x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3], at)
	case 3:
		if n <= 0 {
			n = 1
			if h := c.Int("rotary_embedding_dim", 0); h == 0 && r.half > 0 {
				n = x.Shape[2] / (2 * r.half)
			}
		}
		if n <= 0 || x.Shape[2]%n != 0 {
			tensor.Malformed("rotation of shape %d with %d heads", x.Shape, n)
		}
		r.all(c, rowsOf(out, n), rowsOf(x, n), x.Shape[0], n, x.Shape[1], x.Shape[2]/n, at)
	default:
		tensor.Malformed("rotation of shape %d", x.Shape)
	}
	return tensor.Rounded(out)
}

// rowsIn returns how many rows x has for an item of the batch.
func rowsIn(x *tensor.Tensor) int {
	switch len(x.Shape) {
	case 3:
		return x.Shape[1]
	case 4:
		return x.Shape[2]
	}
	tensor.Malformed("rotation of shape %d", x.Shape)
	return 0
}

func rotaryEmbedding(c *run.Call) []*tensor.Tensor {
	x, positions := c.X(0), c.Opt(3)
	r := newRotary(c.X(1), c.X(2), c.Int("rotary_embedding_dim", 0), c.Int("interleaved", 0) != 0)
	rows := rowsIn(x)
	at := func(b, row int) int { return b*rows + row } // the tables are (batch, rows, half)
	if positions != nil {
		if len(positions.I) != x.Shape[0]*rows {
			tensor.Malformed("positions of shape %d for %d", positions.Shape, x.Shape)
		}
		at = func(b, row int) int { return int(positions.I[b*rows+row]) }
	}
	return run.One(r.embed(c, x, c.Int("num_heads", 0), at))
}

// microsoftRotary takes its positions as one for every place or as the first of
// all.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.RotaryEmbedding.
func microsoftRotary(c *run.Call) []*tensor.Tensor {
	x, positions := c.X(0), c.X(1)
	r := newRotary(c.X(2), c.X(3), c.Int("rotary_embedding_dim", 0), c.Int("interleaved", 0) != 0)
	if c.Float("scale", 1) != 1 {
		tensor.Unsupported("rotation with a scale")
	}
	rows := rowsIn(x)
	at := func(b, row int) int { return int(positions.I[0]) + row }
	switch len(positions.I) {
	case x.Shape[0] * rows:
		at = func(b, row int) int { return int(positions.I[b*rows+row]) }
	case 1:
	default:
		tensor.Malformed("positions of shape %d for %d", positions.Shape, x.Shape)
	}
	return run.One(r.embed(c, x, c.Int("num_heads", 0), at))
}
