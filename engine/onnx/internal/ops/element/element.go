package element

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// A Pairwise computes one element from two. Float32 and narrower floats go
// through fast, or d and a rounding; uint64 through u where it differs from i.
// A nil function stands for types the operator does not take.
type Pairwise struct {
	fast func(dst, a, b []float32, sa, sb int)
	D    func(a, b float64) float64
	I    func(a, b int64) int64
	U    func(a, b uint64) uint64
}

// Binaries are the operators of two inputs that take one element of each.
var Binaries = map[string]Pairwise{
	"Add": {addRow, func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b }, nil},
	"Sub": {subRow, func(a, b float64) float64 { return a - b }, func(a, b int64) int64 { return a - b }, nil},
	"Mul": {mulRow, func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b }, nil},
	"Div": {divRow, func(a, b float64) float64 { return a / b }, Divide, func(a, b uint64) uint64 { return a / max(b, 1) }},
	"Max": {nil, math.Max, func(a, b int64) int64 { return max(a, b) }, func(a, b uint64) uint64 { return max(a, b) }},
	"Min": {nil, math.Min, func(a, b int64) int64 { return min(a, b) }, func(a, b uint64) uint64 { return min(a, b) }},
	"PRelu": {nil, func(a, b float64) float64 {
		if a < 0 {
			return a * b
		}
		return a
	}, func(a, b int64) int64 {
		if a < 0 {
			return a * b
		}
		return a
	}, func(a, _ uint64) uint64 { return a }},
	"BitwiseAnd": {I: func(a, b int64) int64 { return a & b }},
	"BitwiseOr":  {I: func(a, b int64) int64 { return a | b }},
	"BitwiseXor": {I: func(a, b int64) int64 { return a ^ b }},
	"And":        {I: func(a, b int64) int64 { return a & b }},
	"Or":         {I: func(a, b int64) int64 { return a | b }},
	"Xor":        {I: func(a, b int64) int64 { return a ^ b }},
}

// Divide cuts towards zero. Divisors are checked before.
func Divide(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// numbers checks that two operands have one type of number.
func numbers(c *run.Call, a, b *tensor.Tensor) {
	if a.Type != b.Type || a.Seq != nil || a.S != nil || a.None() {
		tensor.Malformed("%s of %v and %v", c.Node.Op, a.Type, b.Type)
	}
}

// over returns the tensor a result of that shape is written to: an operand that
// no node reads later, or a new one.
func over(c *run.Call, shape []int, operands ...*tensor.Tensor) *tensor.Tensor {
	for i, x := range c.In {
		for _, o := range operands {
			if x == o && x != nil && slices.Equal(x.Shape, shape) && c.Mine(i) {
				return c.Reuse(i)
			}
		}
	}
	return c.Blank(operands[0].Type, shape...)
}

// Binary applies f to two tensors, which broadcast.
func Binary(c *run.Call, f Pairwise, a, b *tensor.Tensor) *tensor.Tensor {
	numbers(c, a, b)
	shape := tensor.Broadcast(a.Shape, b.Shape)
	if a.I == nil && f.D == nil || a.I != nil && f.I == nil {
		tensor.Malformed("%s of %v", c.Node.Op, a.Type)
	}
	out := over(c, shape, a, b)
	if out.Len() == 0 {
		return out
	}
	g := run.NewGrid(shape, a.Shape, b.Shape)
	switch {
	case a.F != nil && f.fast != nil:
		g.Rows(c, func(at, n int, from, step []int) {
			f.fast(out.F[at:at+n], a.F[from[0]:], b.F[from[1]:], step[0], step[1])
		})
	case a.F != nil:
		run.Zip(c, g, out.F, a.F, b.F, func(a, b float32) float32 { return float32(f.D(float64(a), float64(b))) })
	case a.D != nil:
		run.Zip(c, g, out.D, a.D, b.D, f.D)
	case a.Type == onnx.Uint64 && f.U != nil:
		run.Zip(c, g, out.I, a.I, b.I, func(a, b int64) int64 { return int64(f.U(uint64(a), uint64(b))) })
	default:
		run.Zip(c, g, out.I, a.I, b.I, f.I)
		if t := a.Type; t != onnx.Int64 && t != onnx.Uint64 {
			for i, v := range out.I {
				out.I[i] = tensor.Wrap(t, v)
			}
		}
	}
	tensor.RoundAll(out.Type, out.F)
	return out
}

func noZeros(c *run.Call, b *tensor.Tensor) {
	for _, v := range b.I {
		if v == 0 {
			tensor.Malformed("integers divided by zero")
		}
	}
}

// variadic folds all inputs.
func variadic(c *run.Call, f Pairwise) *tensor.Tensor {
	out := c.X(0)
	for i := 1; i < len(c.In); i++ {
		out = Binary(c, f, out, c.X(i))
	}
	return out
}

func mean(c *run.Call) []*tensor.Tensor {
	out := variadic(c, Binaries["Add"])
	if out.I != nil {
		tensor.Malformed("Mean of %v", out.Type)
	}
	n := float64(len(c.In))
	return run.One(mapped(c, out, unary{d: func(v float64) float64 { return v / n }}))
}

// Rows of the operators models use most. The operands have steps of 0 or 1 and
// dst may be one of them.

func addRow(dst, a, b []float32, sa, sb int) {
	switch n := len(dst); {
	case sa == 1 && sb == 1:
		vec.Add(dst, a[:n], b[:n])
	case sb == 0:
		vec.Affine(dst, a[:n], 1, b[0], float32(math.Inf(-1)))
	default:
		addRow(dst, b, a, sb, sa)
	}
}

func subRow(dst, a, b []float32, sa, sb int) {
	switch n := len(dst); {
	case sa == 1 && sb == 1:
		a, b = a[:n], b[:n]
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	case sb == 0:
		v := b[0]
		for i, x := range a[:n] {
			dst[i] = x - v
		}
	default:
		v := a[0]
		for i, x := range b[:n] {
			dst[i] = v - x
		}
	}
}

func mulRow(dst, a, b []float32, sa, sb int) {
	switch n := len(dst); {
	case sa == 1 && sb == 1:
		vec.Mul(dst, a[:n], b[:n])
	case sb == 0 && sa == 1:
		vec.Scale(dst, a[:n], b[0])
	case sb == 0:
		dst[0] = a[0] * b[0]
	default:
		mulRow(dst, b, a, sb, sa)
	}
}

func divRow(dst, a, b []float32, sa, sb int) {
	switch n := len(dst); {
	case sa == 1 && sb == 1:
		a, b = a[:n], b[:n]
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
	case sb == 0:
		v := b[0]
		for i, x := range a[:n] {
			dst[i] = x / v
		}
	default:
		v := a[0]
		for i, x := range b[:n] {
			dst[i] = v / x
		}
	}
}

func not(c *run.Call) []*tensor.Tensor {
	if c.X(0).Type != onnx.Bool {
		tensor.Malformed("Not of %v", c.X(0).Type)
	}
	return run.One(mapped(c, c.X(0), unary{i: func(v int64) int64 { return 1 - v&1 }}))
}

// dropout gives its input back, but in training mode, which exporters leave on
// where a model samples.
func dropout(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	ratio, train := 0.5, false
	if t := c.Opt(1); t != nil {
		ratio = t.Scalar().At(0)
	}
	if t := c.Opt(2); t != nil {
		train = t.Scalar().At(0) != 0
	}
	mask := func(v float64) *tensor.Tensor {
		t := onnx.Bool
		if c.Opset < 10 {
			t = x.Type
		}
		m := c.Blank(t, x.Shape...)
		for i := range m.Len() {
			m.Put(i, v)
		}
		return m
	}
	if !train || ratio == 0 {
		if len(c.Node.Outputs) < 2 {
			return run.One(x)
		}
		return []*tensor.Tensor{x, mask(1)}
	}
	if x.I != nil || x.S != nil || x.Seq != nil || ratio < 0 || ratio >= 1 {
		tensor.Malformed("Dropout of %v by %v", x.Type, ratio)
	}
	out, m, r := c.Zeros(x.Type, x.Shape...), mask(0), c.Random()
	for i := range m.I {
		if r.Float64() >= ratio {
			m.I[i] = 1
			out.Put(i, x.At(i)/(1-ratio))
		}
	}
	return []*tensor.Tensor{out, m}
}

// where takes elements of x or y.
func where(c *run.Call) []*tensor.Tensor {
	cond, x, y := c.X(0), c.X(1), c.X(2)
	if cond.Type != onnx.Bool || x.Type != y.Type || x.Seq != nil || y.Seq != nil {
		tensor.Malformed("Where of %v, %v and %v", cond.Type, x.Type, y.Type)
	}
	out := c.Blank(x.Type, tensor.Broadcast(tensor.Broadcast(cond.Shape, x.Shape), y.Shape)...)
	if out.Len() == 0 {
		return run.One(out)
	}
	g := run.NewGrid(out.Shape, cond.Shape, x.Shape, y.Shape)
	choose(c, g, out.F, cond.I, x.F, y.F)
	choose(c, g, out.D, cond.I, x.D, y.D)
	choose(c, g, out.I, cond.I, x.I, y.I)
	choose(c, g, out.S, cond.I, x.S, y.S)
	return run.One(out)
}

func choose[T any](c *run.Call, g *run.Grid, dst []T, cond []int64, x, y []T) {
	if len(dst) == 0 {
		return
	}
	g.Rows(c, func(at, n int, from, step []int) {
		row, cond, x, y := dst[at:at+n], cond[from[0]:], x[from[1]:], y[from[2]:]
		if step[0] == 0 && step[1] == 1 && cond[0] != 0 {
			copy(row, x)
			return
		}
		for i := range row {
			if cond[i*step[0]] != 0 {
				row[i] = x[i*step[1]]
			} else {
				row[i] = y[i*step[2]]
			}
		}
	})
}
