package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/vec"
)

// A heads is a stack of (rows, dim) matrices by batch and head inside a slice:
// element d of row r lies at batch·b + head·h + row·r + d.
type heads struct {
	f                []float32
	batch, head, row int
}

// An attend is softmax(cap(scale · q·kᵀ) + bias) · v for every head of a batch.
// A row that may see nothing gives zeros.
//
// Vaswani et al., "Attention Is All You Need", 2017, eq. 1.
type attend struct {
	batch, heads, kvHeads int
	rows, keys, dim, vDim int
	q, k, v, dst          heads
	scale, softCap        float32

	// bias is added to the scores: row r of head h at batch·b + head·h + row·r,
	// width values. Keys beyond it are not seen.
	bias  heads
	width int
	// visible returns the keys a row sees, from first up to last; nil is all.
	visible func(b, row int) (first, last int)
	// nan makes rows that see nothing NaN, as a softmax by itself does.
	nan bool
	// sink, one score a head, takes part in the sum of its softmax only.
	sink []float32

	// scores (batch, heads, rows, keys) are written at a stage, if not nil.
	scores []float32
	stage  stage
}

// A stage is where scores are written.
type stage int

const (
	afterProduct stage = iota
	afterCap
	afterBias
	afterSoftmax
)

// blockRows is how many rows are done together: their scores stay in the
// second-level cache beside the keys and values.
const blockRows = 48

func (a *attend) run(c *call) {
	if a.batch == 0 || a.rows == 0 || a.vDim == 0 {
		return
	}
	if a.heads <= 0 || a.kvHeads <= 0 || a.heads%a.kvHeads != 0 {
		fail("%w: attention of %d heads with %d of keys", onnx.ErrFormat, a.heads, a.kvHeads)
	}
	if a.keys == 0 || a.dim == 0 {
		fail("%w: attention to %d keys of %d", onnx.ErrUnsupported, a.keys, a.dim)
	}
	workers := c.pool().Workers()
	// A chunk is the heads that share keys, or one where that leaves workers idle.
	group := a.heads / a.kvHeads
	if a.batch*a.kvHeads < workers {
		group = 1
	}
	scratch := attending(c, workers, a.keys*(a.dim+a.vDim))
	scores := c.blank(onnx.Float, workers, min(blockRows, a.rows), a.keys).F
	per := a.heads / group
	c.spreadOut(a.batch*per, func(worker, i int) {
		b, h := i/per, i%per*group
		s := &scratch[worker]
		kv := h / (a.heads / a.kvHeads)
		s.k.Resize(a.keys, a.dim)
		s.k.PackRows(a.k.f[b*a.k.batch+kv*a.k.head:], a.k.row)
		s.v.Resize(a.vDim, a.keys)
		s.v.PackColumns(a.v.f[b*a.v.batch+kv*a.v.head:], a.v.row)
		size := len(scores) / workers
		s.scores = scores[worker*size : (worker+1)*size]
		for h := h; h < i%per*group+group; h++ {
			for r := 0; r < a.rows; r += blockRows {
				a.block(s, b, h, r, min(blockRows, a.rows-r))
			}
		}
	})
}

// keepScratch bounds the floats of each worker that stay with a Session.
const keepScratch = 1 << 18

// attending returns what workers pack keys and values into, the same for every
// call that needs little of it.
func attending(c *call, workers, floats int) []attendScratch {
	if floats > keepScratch {
		return make([]attendScratch, workers)
	}
	k := kept[[]attendScratch](c)
	if *k == nil {
		*k = make([]attendScratch, workers)
	}
	return *k
}

type attendScratch struct {
	k, v   gemm.Panels
	scores []float32
}

// block attends with rows of one head. Weights are divided by their sum after the
// product with the values, of which a row has fewer than keys.
func (a *attend) block(s *attendScratch, b, h, from, rows int) {
	n := a.keys
	gemm.Multiply(s.scores, n, a.q.f[b*a.q.batch+h*a.q.head+from*a.q.row:], a.q.row, rows, &s.k, nil, false)
	var by [blockRows]float32
	for r := range rows {
		row := s.scores[r*n:][:n]
		first, last := 0, n
		if a.visible != nil {
			first, last = a.visible(b, from+r)
		}
		var bias []float32
		if a.bias.f != nil {
			bias = a.bias.f[b*a.bias.batch+h*a.bias.head+(from+r)*a.bias.row:][:min(a.width, n)]
			last = min(last, len(bias))
		}
		first, last = max(0, min(first, n)), max(0, min(last, n))
		first = min(first, last)
		if bias != nil {
			bias = bias[first:last]
		}
		scale := a.scale
		if a.softCap != 0 || a.scores != nil {
			a.early(row, first, last, bias, b, h, from+r)
			scale, bias = 1, nil
		}
		clear(row[:first])
		clear(row[last:])
		by[r] = a.softmax(row[first:last], bias, scale, h)
		if a.scores != nil && a.stage == afterSoftmax {
			vec.Scale(row, row, by[r])
			by[r] = 1
			a.write(afterSoftmax, row, b, h, from+r)
		}
	}
	to := a.dst.f[b*a.dst.batch+h*a.dst.head+from*a.dst.row:]
	gemm.Multiply(to, a.dst.row, s.scores, n, rows, &s.v, nil, false)
	for r := range rows {
		row := to[r*a.dst.row:][:a.vDim]
		vec.Scale(row, row, by[r])
	}
}

// early does with a row of scores what comes before the softmax, for calls that
// limit or return them.
func (a *attend) early(row []float32, first, last int, bias []float32, b, h, r int) {
	vec.Scale(row, row, a.scale)
	a.write(afterProduct, row, b, h, r)
	if a.softCap != 0 {
		vec.SoftCap(row, row, a.softCap)
	}
	a.write(afterCap, row, b, h, r)
	if bias != nil {
		vec.Add(row[first:last], row[first:last], bias)
	}
	if a.scores != nil && a.stage == afterBias {
		fill(row[:first], float32(math.Inf(-1)))
		fill(row[last:], float32(math.Inf(-1)))
		a.write(afterBias, row, b, h, r)
	}
}

// softmax makes scores weights and returns what they still are to be multiplied
// with.
func (a *attend) softmax(row, bias []float32, scale float32, h int) float32 {
	if len(row) == 0 {
		return 0
	}
	top, sum := vec.SoftmaxWeights(row, bias, scale)
	switch {
	case math.IsInf(float64(top), -1) && a.nan:
		fill(row, float32(math.NaN()))
		return 1
	case math.IsInf(float64(top), -1):
		clear(row)
		return 0
	case a.sink != nil:
		sum += float32(math.Exp(float64(a.sink[h] - top)))
	}
	return 1 / sum
}

func (a *attend) write(at stage, row []float32, b, h, r int) {
	if a.scores != nil && a.stage == at {
		copy(a.scores[((b*a.heads+h)*a.rows+r)*a.keys:], row)
	}
}

// headsOf returns the heads of t (batch, heads, rows, dim).
func headsOf(t *Tensor) heads {
	d := t.Shape
	return heads{t.F, d[1] * d[2] * d[3], d[2] * d[3], d[3]}
}

// rowsOf returns the heads of t (batch, rows, heads · dim).
func rowsOf(t *Tensor, n int) heads {
	d := t.Shape
	return heads{t.F, d[1] * d[2], d[2] / n, d[2]}
}

// mask reads t, broadcast to (batch, heads, rows, any width), as what is added to
// scores: t itself, or 0 and off for true and false.
func mask(t *Tensor, batch, n, rows int, off float32) (heads, int) {
	shape := append([]int{1, 1, 1, 1}, t.Shape...)
	if len(t.Shape) > 4 || len(t.Shape) == 0 {
		fail("%w: mask of shape %d", onnx.ErrFormat, t.Shape)
	}
	shape = shape[len(t.Shape):]
	for i, d := range []int{batch, n, rows} {
		if shape[i] != 1 && shape[i] != d {
			fail("%w: mask of shape %d for %d", onnx.ErrFormat, t.Shape, []int{batch, n, rows})
		}
	}
	f := t.F
	if t.D != nil {
		f = make([]float32, len(t.D))
		for i, v := range t.D {
			f[i] = float32(v)
		}
	}
	if t.I != nil {
		f = make([]float32, len(t.I))
		for i, v := range t.I {
			if v == 0 {
				f[i] = off
			}
		}
	}
	step := strides(shape)
	for i := range step {
		if shape[i] == 1 {
			step[i] = 0
		}
	}
	if f == nil {
		f = []float32{}
	}
	return heads{f, step[0], step[1], step[2]}, shape[3]
}

// joined returns past (batch, heads, P, dim) with rows of x after it, as one
// tensor of that shape.
func joined(c *call, past *Tensor, x heads, typ onnx.DType, batch, n, rows, dim int) *Tensor {
	p := 0
	if past != nil {
		d := past.Shape
		if len(d) != 4 || d[0] != batch || d[1] != n || d[3] != dim || past.F == nil {
			fail("%w: past of shape %d, want %d", onnx.ErrFormat, d, []int{batch, n, -1, dim})
		}
		p = d[2]
	}
	out := c.blank(typ, batch, n, p+rows, dim)
	for i := range batch * n {
		to := out.F[i*(p+rows)*dim:]
		if p > 0 {
			copy(to[:p*dim], past.F[i*p*dim:])
		}
		for r := range rows {
			copy(to[(p+r)*dim:][:dim], x.f[i/n*x.batch+i%n*x.head+r*x.row:])
		}
	}
	return out
}
