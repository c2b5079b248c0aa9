package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// contribTable are operators that ONNX Runtime has beside those of the standard.
func contribTable() table { return join(contribOps(), namedOps(), rewrittenOps()) }

// contribOps are operators of ONNX Runtime that exporters and its optimizer
// write, as ContribOperators.md describes them, those of families of their own
// apart.
func contribOps() table {
	return table{
		"SwiGLU":                                swiGLU,
		"com.microsoft.Gelu":                    func(c *call) []*Tensor { return one(c.gelu(c.x(0), nil, vec.GELU)) },
		"com.microsoft.BiasGelu":                func(c *call) []*Tensor { return one(c.gelu(c.x(0), c.x(1), vec.GELU)) },
		"com.microsoft.FastGelu":                func(c *call) []*Tensor { return one(c.gelu(c.x(0), c.opt(1), vec.GELUTanh)) },
		"com.microsoft.QuickGelu":               quickGelu,
		"com.microsoft.EmbedLayerNormalization": embedNorm,
		"com.microsoft.FusedConv":               fusedConv,
		"com.microsoft.FusedGemm":               fusedGemm,
	}
}

// gelu is a GELU of x plus a bias, which may be nil.
func (c *call) gelu(x, bias *Tensor, f func(dst, x, up []float32)) *Tensor {
	if x.F == nil || len(x.Shape) == 0 && bias != nil {
		fail("%w: GELU of %v, shape %d", onnx.ErrUnsupported, x.Type, x.Shape)
	}
	n := perChunk / 8
	if bias != nil {
		if n = x.Shape[len(x.Shape)-1]; len(bias.F) != n {
			fail("%w: bias of shape %d for %d", onnx.ErrFormat, bias.Shape, x.Shape)
		}
	}
	out := c.blank(x.Type, x.Shape...)
	if n == 0 {
		return out
	}
	c.byRows((x.len()+n-1)/n, n*4, func(from, to int) {
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
	return settle(out)
}

// gated writes x · sigmoid(alpha · x), times up where it is not nil.
func (c *call) gated(x, up *Tensor, alpha float32) *Tensor {
	if x.F == nil || up != nil && (up.F == nil || up.len() != x.len()) {
		fail("%w: gate of %v, shape %d", onnx.ErrUnsupported, x.Type, x.Shape)
	}
	out := c.blank(x.Type, x.Shape...)
	c.byRows(x.len(), 4, func(from, to int) {
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
	return settle(out)
}

func swiGLU(c *call) []*Tensor {
	return one(c.gated(c.x(0), c.x(1), float32(c.float("alpha", 1))))
}

func quickGelu(c *call) []*Tensor {
	return one(c.gated(c.x(0), nil, float32(c.float("alpha", 1.702))))
}

// embedNorm adds the embeddings of words, places and segments and normalizes
// them.
func embedNorm(c *call) []*Tensor {
	ids, segments, word, place, segment := c.x(0), c.opt(1), c.x(2), c.x(3), c.opt(4)
	w, bias, hide, positions := c.x(5), c.x(6), c.opt(7), c.opt(8)
	if len(ids.Shape) != 2 || ids.I == nil || len(word.Shape) != 2 || word.F == nil || w.F == nil || bias.F == nil || word.Shape[1] != w.len() || w.len() != bias.len() || w.len() == 0 {
		fail("%w: embeddings of shape %d for %d", onnx.ErrFormat, word.Shape, ids.Shape)
	}
	batch, rows, n := ids.Shape[0], ids.Shape[1], w.len()
	sum, out := c.zeros(word.Type, batch, rows, n), c.blank(word.Type, batch, rows, n)
	take := func(row []float32, table *Tensor, i int64) {
		if table.F == nil || len(table.Shape) != 2 || table.Shape[1] != n || i < 0 || i >= int64(table.Shape[0]) {
			fail("%w: embedding %d of shape %d", onnx.ErrFormat, i, table.Shape)
		}
		vec.Add(row, row, table.F[int(i)*n:][:n])
	}
	eps := float32(c.float("epsilon", 1e-12))
	c.byRows(batch*rows, n*4, func(from, to int) {
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
	lengths := c.zeros(onnx.Int32, batch)
	if hide != nil {
		if len(hide.I) != batch*rows {
			fail("%w: mask of shape %d for %d", onnx.ErrFormat, hide.Shape, ids.Shape)
		}
		for i, v := range hide.I {
			lengths.I[i/rows] += v & 1
		}
	}
	return []*Tensor{settle(out), lengths, settle(sum)}
}
