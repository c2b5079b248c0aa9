package attention

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/vec"
)

// Heads are a stack of (rows, dim) matrices by batch and head inside a slice:
// element d of row r lies at batch·b + head·h + row·r + d.
type Heads struct {
	F                []float32
	Batch, Head, Row int
}

// An Attend is softmax(cap(scale · q·kᵀ) + bias) · v for every head of a batch.
// A row that may see nothing gives zeros.
//
// Vaswani et al., "Attention Is All You Need", 2017, eq. 1.
type Attend struct {
	Batch, Heads, KvHeads int
	Rows, Keys, Dim, VDim int
	Q, K, V, Dst          Heads
	Scale, softCap        float32

	// Bias is added to the scores: row r of head h at batch·b + head·h + row·r,
	// width values. Keys beyond it are not seen.
	Bias  Heads
	Width int
	// visible returns the keys a row sees, from first up to last; nil is all.
	visible func(b, row int) (first, last int)
	// Nan makes rows that see nothing NaN, as a softmax by itself does.
	Nan bool
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

// Run attends, with what the fields say.
func (a *Attend) Run(c *run.Call) {
	if a.Batch == 0 || a.Rows == 0 || a.VDim == 0 {
		return
	}
	if a.Heads <= 0 || a.KvHeads <= 0 || a.Heads%a.KvHeads != 0 {
		tensor.Malformed("attention of %d heads with %d of keys", a.Heads, a.KvHeads)
	}
	if a.Keys == 0 || a.Dim == 0 {
		tensor.Unsupported("attention to %d keys of %d", a.Keys, a.Dim)
	}
	workers := c.Pool().Workers()
	// A chunk is the heads that share keys, or one where that leaves workers idle.
	group := a.Heads / a.KvHeads
	if a.Batch*a.KvHeads < workers {
		group = 1
	}
	scratch := attending(c, workers, a.Keys*(a.Dim+a.VDim))
	scores := c.Blank(onnx.Float, workers, min(blockRows, a.Rows), a.Keys).F
	per := a.Heads / group
	c.SpreadOut(a.Batch*per, func(worker, i int) {
		b, h := i/per, i%per*group
		s := &scratch[worker]
		kv := h / (a.Heads / a.KvHeads)
		s.k.Resize(a.Keys, a.Dim)
		s.k.PackRows(a.K.F[b*a.K.Batch+kv*a.K.Head:], a.K.Row)
		s.v.Resize(a.VDim, a.Keys)
		s.v.PackColumns(a.V.F[b*a.V.Batch+kv*a.V.Head:], a.V.Row)
		size := len(scores) / workers
		s.scores = scores[worker*size : (worker+1)*size]
		for h := h; h < i%per*group+group; h++ {
			for r := 0; r < a.Rows; r += blockRows {
				a.block(s, b, h, r, min(blockRows, a.Rows-r))
			}
		}
	})
}

// keepScratch bounds the floats of each worker that stay with a Session.
const keepScratch = 1 << 18

// attending returns what workers pack keys and values into, the same for every
// call that needs little of it.
func attending(c *run.Call, workers, floats int) []attendScratch {
	if floats > keepScratch {
		return make([]attendScratch, workers)
	}
	k := run.Kept[[]attendScratch](c)
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
func (a *Attend) block(s *attendScratch, b, h, from, rows int) {
	n := a.Keys
	gemm.Multiply(s.scores, n, a.Q.F[b*a.Q.Batch+h*a.Q.Head+from*a.Q.Row:], a.Q.Row, rows, &s.k, nil, false)
	var by [blockRows]float32
	for r := range rows {
		row := s.scores[r*n:][:n]
		first, last := 0, n
		if a.visible != nil {
			first, last = a.visible(b, from+r)
		}
		var bias []float32
		if a.Bias.F != nil {
			bias = a.Bias.F[b*a.Bias.Batch+h*a.Bias.Head+(from+r)*a.Bias.Row:][:min(a.Width, n)]
			last = min(last, len(bias))
		}
		first, last = max(0, min(first, n)), max(0, min(last, n))
		first = min(first, last)
		if bias != nil {
			bias = bias[first:last]
		}
		scale := a.Scale
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
	to := a.Dst.F[b*a.Dst.Batch+h*a.Dst.Head+from*a.Dst.Row:]
	gemm.Multiply(to, a.Dst.Row, s.scores, n, rows, &s.v, nil, false)
	for r := range rows {
		row := to[r*a.Dst.Row:][:a.VDim]
		vec.Scale(row, row, by[r])
	}
}

// early does with a row of scores what comes before the softmax, for calls that
// limit or return them.
func (a *Attend) early(row []float32, first, last int, bias []float32, b, h, r int) {
	vec.Scale(row, row, a.Scale)
	a.write(afterProduct, row, b, h, r)
	if a.softCap != 0 {
		vec.SoftCap(row, row, a.softCap)
	}
	a.write(afterCap, row, b, h, r)
	if bias != nil {
		vec.Add(row[first:last], row[first:last], bias)
	}
	if a.scores != nil && a.stage == afterBias {
		tensor.Fill(row[:first], float32(math.Inf(-1)))
		tensor.Fill(row[last:], float32(math.Inf(-1)))
		a.write(afterBias, row, b, h, r)
	}
}

// softmax makes scores weights and returns what they still are to be multiplied
// with.
func (a *Attend) softmax(row, bias []float32, scale float32, h int) float32 {
	if len(row) == 0 {
		return 0
	}
	top, sum := vec.SoftmaxWeights(row, bias, scale)
	switch {
	case math.IsInf(float64(top), -1) && a.Nan:
		tensor.Fill(row, float32(math.NaN()))
		return 1
	case math.IsInf(float64(top), -1):
		clear(row)
		return 0
	case a.sink != nil:
		sum += float32(math.Exp(float64(a.sink[h] - top)))
	}
	return 1 / sum
}

func (a *Attend) write(at stage, row []float32, b, h, r int) {
	if a.scores != nil && a.stage == at {
		copy(a.scores[((b*a.Heads+h)*a.Rows+r)*a.Keys:], row)
	}
}

// HeadsOf returns the heads of t (batch, heads, rows, dim).
func HeadsOf(t *tensor.Tensor) Heads {
	d := t.Shape
	return Heads{t.F, d[1] * d[2] * d[3], d[2] * d[3], d[3]}
}

// rowsOf returns the heads of t (batch, rows, heads · dim).
func rowsOf(t *tensor.Tensor, n int) Heads {
	d := t.Shape
	return Heads{t.F, d[1] * d[2], d[2] / n, d[2]}
}

// Mask reads t, broadcast to (batch, heads, rows, any width), as what is added to
// scores: t itself, or 0 and off for true and false.
func Mask(t *tensor.Tensor, batch, n, rows int, off float32) (Heads, int) {
	shape := append([]int{1, 1, 1, 1}, t.Shape...)
	if len(t.Shape) > 4 || len(t.Shape) == 0 {
		tensor.Malformed("mask of shape %d", t.Shape)
	}
	shape = shape[len(t.Shape):]
	for i, d := range []int{batch, n, rows} {
		if shape[i] != 1 && shape[i] != d {
			tensor.Malformed("mask of shape %d for %d", t.Shape, []int{batch, n, rows})
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
	step := tensor.Strides(shape)
	for i := range step {
		if shape[i] == 1 {
			step[i] = 0
		}
	}
	if f == nil {
		f = []float32{}
	}
	return Heads{f, step[0], step[1], step[2]}, shape[3]
}

// joined returns past (batch, heads, P, dim) with rows of x after it, as one
// tensor of that shape.
func joined(c *run.Call, past *tensor.Tensor, x Heads, typ onnx.DType, batch, n, rows, dim int) *tensor.Tensor {
	p := 0
	if past != nil {
		d := past.Shape
		if len(d) != 4 || d[0] != batch || d[1] != n || d[3] != dim || past.F == nil {
			tensor.Malformed("past of shape %d, want %d", d, []int{batch, n, -1, dim})
		}
		p = d[2]
	}
	out := c.Blank(typ, batch, n, p+rows, dim)
	for i := range batch * n {
		to := out.F[i*(p+rows)*dim:]
		if p > 0 {
			copy(to[:p*dim], past.F[i*p*dim:])
		}
		for r := range rows {
			copy(to[(p+r)*dim:][:dim], x.F[i/n*x.Batch+i%n*x.Head+r*x.Row:])
		}
	}
	return out
}

// pastRows returns how many rows past keys and values have, which may both be nil.
func pastRows(k, v *tensor.Tensor) int {
	if k == nil {
		return 0
	}
	if v == nil || len(k.Shape) != 4 || len(v.Shape) != 4 || v.Shape[2] != k.Shape[2] {
		tensor.Malformed("past keys and values differ")
	}
	return k.Shape[2]
}
