package contrib

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// gelu is a GELU of x plus a bias, which may be nil.
func gelu(c *run.Call, x, bias *tensor.Tensor, f func(dst, x, up []float32)) *tensor.Tensor {
	if x.F == nil || len(x.Shape) == 0 && bias != nil {
		tensor.Unsupported("GELU of %v, shape %d", x.Type, x.Shape)
	}
	n := run.PerChunk / 8
	if bias != nil {
		if n = x.Shape[len(x.Shape)-1]; len(bias.F) != n {
			tensor.Malformed("bias of shape %d for %d", bias.Shape, x.Shape)
		}
	}
	out := c.Blank(x.Type, x.Shape...)
	if n == 0 {
		return out
	}
	c.ByRows((x.Len()+n-1)/n, n*4, func(from, to int) {
		for ; from < to; from++ {
			row := out.F[from*n : min((from+1)*n, len(out.F))]
			src := x.F[from*n:][:len(row)]
			if bias != nil {
				vec.Add(row, src, bias.F)
				src = row
			}
			f(row, src, nil)
		}
	})
	return tensor.Rounded(out)
}

// gated writes x · sigmoid(alpha · x), times up where it is not nil.
func gated(c *run.Call, x, up *tensor.Tensor, alpha float32) *tensor.Tensor {
	if x.F == nil || up != nil && (up.F == nil || up.Len() != x.Len()) {
		tensor.Unsupported("gate of %v, shape %d", x.Type, x.Shape)
	}
	out := c.Blank(x.Type, x.Shape...)
	c.ByRows(x.Len(), 4, func(from, to int) {
		dst, src := out.F[from:to], x.F[from:to]
		vec.Scale(dst, src, alpha)
		vec.Sigmoid(dst, dst)
		for i, v := range src {
			dst[i] *= v
			if up != nil {
				dst[i] *= up.F[from+i]
			}
		}
	})
	return tensor.Rounded(out)
}

func swiGLU(c *run.Call) []*tensor.Tensor {
	return run.One(gated(c, c.X(0), c.X(1), float32(c.Float("alpha", 1))))
}

func quickGelu(c *run.Call) []*tensor.Tensor {
	return run.One(gated(c, c.X(0), nil, float32(c.Float("alpha", 1.702))))
}

// embedNorm adds the embeddings of words, places and segments and normalizes
// them.
func embedNorm(c *run.Call) []*tensor.Tensor {
	ids, segments, word, place, segment := c.X(0), c.Opt(1), c.X(2), c.X(3), c.Opt(4)
	w, bias, hide, positions := c.X(5), c.X(6), c.Opt(7), c.Opt(8)
	if len(ids.Shape) != 2 || ids.I == nil || len(word.Shape) != 2 || word.F == nil || w.F == nil || bias.F == nil || word.Shape[1] != w.Len() || w.Len() != bias.Len() || w.Len() == 0 {
		tensor.Malformed("embeddings of shape %d for %d", word.Shape, ids.Shape)
	}
	batch, rows, n := ids.Shape[0], ids.Shape[1], w.Len()
	sum, out := c.Zeros(word.Type, batch, rows, n), c.Blank(word.Type, batch, rows, n)
	take := func(row []float32, table *tensor.Tensor, i int64) {
		if table.F == nil || len(table.Shape) != 2 || table.Shape[1] != n || i < 0 || i >= int64(table.Shape[0]) {
			tensor.Malformed("embedding %d of shape %d", i, table.Shape)
		}
		vec.Add(row, row, table.F[int(i)*n:][:n])
	}
	eps := float32(c.Float("epsilon", 1e-12))
	c.ByRows(batch*rows, n*4, func(from, to int) {
		for i := from; i < to; i++ {
			row := sum.F[i*n:][:n]
			take(row, word, ids.I[i])
			at := int64(i % rows)
			if positions != nil {
				at = positions.I[i%len(positions.I)]
			}
			take(row, place, at)
			if segments != nil && segment != nil {
				take(row, segment, segments.I[i])
			}
			vec.LayerNorm(out.F[i*n:][:n], row, w.F, bias.F, eps)
		}
	})
	lengths := c.Zeros(onnx.Int32, batch)
	if hide != nil {
		if len(hide.I) != batch*rows {
			tensor.Malformed("mask of shape %d for %d", hide.Shape, ids.Shape)
		}
		for i, v := range hide.I {
			lengths.I[i/rows] += v & 1
		}
	}
	return []*tensor.Tensor{tensor.Rounded(out), lengths, tensor.Rounded(sum)}
}
