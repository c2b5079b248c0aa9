package onnx

import (
	"quern/formats/onnx"
)

// A rotary turns pairs of values of every head by the angle of their position.
//
// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding",
// 2021, §3.2.2.
type rotary struct {
	cos, sin    *Tensor // (positions, half)
	half        int     // pairs that are turned
	interleaved bool
}

func newRotary(cos, sin *Tensor, dim int, interleaved bool) rotary {
	if cos.F == nil || sin.F == nil || len(cos.Shape) == 0 || cos.len() != sin.len() {
		fail("%w: cosines of shape %d, sines of %d", onnx.ErrFormat, cos.Shape, sin.Shape)
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
		fail("%w: position %d of a table of shape %d, head of %d", onnx.ErrFormat, at, r.cos.Shape, len(x))
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
func (r *rotary) all(c *call, dst, x heads, batch, n, rows, dim int, at func(b, row int) int) {
	c.byRows(batch*rows, n*dim, func(from, to int) {
		for i := from; i < to; i++ {
			b, row := i/rows, i%rows
			for h := range n {
				src, out := b*x.batch+h*x.head+row*x.row, b*dst.batch+h*dst.head+row*dst.row
				r.turn(dst.f[out:out+dim], x.f[src:src+dim], at(b, row))
			}
		}
	})
}

// embed turns x (batch, heads, rows, dim) or (batch, rows, heads · dim).
func (r *rotary) embed(c *call, x *Tensor, n int, at func(b, row int) int) *Tensor {
	if x.F == nil {
		fail("%w: rotation of %v", onnx.ErrUnsupported, x.Type)
	}
	out := c.blank(x.Type, x.Shape...)
	switch len(x.Shape) {
	case 4:
		r.all(c, headsOf(out), headsOf(x), x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3], at)
	case 3:
		if n <= 0 {
			n = 1
			if h := c.int("rotary_embedding_dim", 0); h == 0 && r.half > 0 {
				n = x.Shape[2] / (2 * r.half)
			}
		}
		if n <= 0 || x.Shape[2]%n != 0 {
			fail("%w: rotation of shape %d with %d heads", onnx.ErrFormat, x.Shape, n)
		}
		r.all(c, rowsOf(out, n), rowsOf(x, n), x.Shape[0], n, x.Shape[1], x.Shape[2]/n, at)
	default:
		fail("%w: rotation of shape %d", onnx.ErrFormat, x.Shape)
	}
	return settle(out)
}

// rowsIn returns how many rows x has for an item of the batch.
func rowsIn(x *Tensor) int {
	switch len(x.Shape) {
	case 3:
		return x.Shape[1]
	case 4:
		return x.Shape[2]
	}
	fail("%w: rotation of shape %d", onnx.ErrFormat, x.Shape)
	return 0
}

func rotaryEmbedding(c *call) []*Tensor {
	x, positions := c.x(0), c.opt(3)
	r := newRotary(c.x(1), c.x(2), c.int("rotary_embedding_dim", 0), c.int("interleaved", 0) != 0)
	rows := rowsIn(x)
	at := func(b, row int) int { return b*rows + row } // the tables are (batch, rows, half)
	if positions != nil {
		if len(positions.I) != x.Shape[0]*rows {
			fail("%w: positions of shape %d for %d", onnx.ErrFormat, positions.Shape, x.Shape)
		}
		at = func(b, row int) int { return int(positions.I[b*rows+row]) }
	}
	return one(r.embed(c, x, c.int("num_heads", 0), at))
}

// microsoftRotary takes its positions as one for every place or as the first of
// all.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.RotaryEmbedding.
func microsoftRotary(c *call) []*Tensor {
	x, positions := c.x(0), c.x(1)
	r := newRotary(c.x(2), c.x(3), c.int("rotary_embedding_dim", 0), c.int("interleaved", 0) != 0)
	if c.float("scale", 1) != 1 {
		fail("%w: rotation with a scale", onnx.ErrUnsupported)
	}
	rows := rowsIn(x)
	at := func(b, row int) int { return int(positions.I[0]) + row }
	switch len(positions.I) {
	case x.Shape[0] * rows:
		at = func(b, row int) int { return int(positions.I[b*rows+row]) }
	case 1:
	default:
		fail("%w: positions of shape %d for %d", onnx.ErrFormat, positions.Shape, x.Shape)
	}
	return one(r.embed(c, x, c.int("num_heads", 0), at))
}
