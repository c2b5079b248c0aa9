package onnx

import (
	"math"
	"slices"

	"quern/formats/onnx"
	"quern/kernels/vec"
)

// A pairwise computes one element from two. Float32 and narrower floats go
// through fast, or d and a rounding; uint64 through u where it differs from i.
// A nil function stands for types the operator does not take.
type pairwise struct {
	fast func(dst, a, b []float32, sa, sb int)
	d    func(a, b float64) float64
	i    func(a, b int64) int64
	u    func(a, b uint64) uint64
}

var binaries = map[string]pairwise{
	"Add": {addRow, func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b }, nil},
	"Sub": {subRow, func(a, b float64) float64 { return a - b }, func(a, b int64) int64 { return a - b }, nil},
	"Mul": {mulRow, func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b }, nil},
	"Div": {divRow, func(a, b float64) float64 { return a / b }, divide, func(a, b uint64) uint64 { return a / max(b, 1) }},
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
	"BitwiseAnd": {i: func(a, b int64) int64 { return a & b }},
	"BitwiseOr":  {i: func(a, b int64) int64 { return a | b }},
	"BitwiseXor": {i: func(a, b int64) int64 { return a ^ b }},
	"And":        {i: func(a, b int64) int64 { return a & b }},
	"Or":         {i: func(a, b int64) int64 { return a | b }},
	"Xor":        {i: func(a, b int64) int64 { return a ^ b }},
}

// divide cuts towards zero. Divisors are checked before.
func divide(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// elementTable are operators on one number at a time.
func elementTable() table { return join(older(elementOps()), castOps(), randomOps()) }

func elementOps() table {
	ops := table{
		"Where": where, "Mod": mod, "Pow": pow, "BitShift": bitShift, "Mean": mean,
		"Equal": equal, "Not": not, "Dropout": dropout,
		"Identity": func(c *call) []*Tensor { return []*Tensor{c.x(0)} },
	}
	for name, b := range binaries {
		ops[name] = func(c *call) []*Tensor { return []*Tensor{c.binary(b, c.x(0), c.x(1))} }
	}
	for _, name := range []string{"And", "Or", "Xor"} {
		b := binaries[name]
		ops[name] = func(c *call) []*Tensor {
			if c.x(0).Type != onnx.Bool {
				fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, c.x(0).Type)
			}
			return []*Tensor{c.binary(b, c.x(0), c.x(1))}
		}
	}
	for name, b := range map[string]string{"Max": "Max", "Min": "Min", "Sum": "Add"} {
		ops[name] = func(c *call) []*Tensor { return []*Tensor{c.variadic(binaries[b])} }
	}
	ops["Div"] = func(c *call) []*Tensor {
		c.noZeros(c.x(1))
		return []*Tensor{c.binary(binaries["Div"], c.x(0), c.x(1))}
	}
	for name, o := range map[string]order{"Less": less, "LessOrEqual": less | same, "Greater": greater, "GreaterOrEqual": greater | same} {
		ops[name] = func(c *call) []*Tensor { return []*Tensor{c.compare(o)} }
	}
	for name, u := range unaries() {
		ops[name] = func(c *call) []*Tensor { return []*Tensor{c.unary(c.x(0), u(c))} }
	}
	for name, u := range predicates {
		ops[name] = func(c *call) []*Tensor { return []*Tensor{c.test(u(c))} }
	}
	return ops
}

// numbers checks that two operands have one type of number.
func numbers(c *call, a, b *Tensor) {
	if a.Type != b.Type || a.Seq != nil || a.S != nil || a.none() {
		fail("%w: %s of %v and %v", onnx.ErrFormat, c.n.Op, a.Type, b.Type)
	}
}

// over returns the tensor a result of that shape is written to: an operand that
// nobody reads later, or a new one.
func (c *call) over(shape []int, operands ...*Tensor) *Tensor {
	for i, x := range c.in {
		for _, o := range operands {
			if x == o && x != nil && slices.Equal(x.Shape, shape) && c.mine(i) {
				return c.reuse(i)
			}
		}
	}
	return c.blank(operands[0].Type, shape...)
}

func (c *call) binary(f pairwise, a, b *Tensor) *Tensor {
	numbers(c, a, b)
	shape := broadcast(a.Shape, b.Shape)
	if a.I == nil && f.d == nil || a.I != nil && f.i == nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, a.Type)
	}
	out := c.over(shape, a, b)
	if out.len() == 0 {
		return out
	}
	g := newGrid(shape, a.Shape, b.Shape)
	switch {
	case a.F != nil && f.fast != nil:
		g.rows(c, func(at, n int, from, step []int) {
			f.fast(out.F[at:at+n], a.F[from[0]:], b.F[from[1]:], step[0], step[1])
		})
	case a.F != nil:
		zip(c, g, out.F, a.F, b.F, func(a, b float32) float32 { return float32(f.d(float64(a), float64(b))) })
	case a.D != nil:
		zip(c, g, out.D, a.D, b.D, f.d)
	case a.Type == onnx.Uint64 && f.u != nil:
		zip(c, g, out.I, a.I, b.I, func(a, b int64) int64 { return int64(f.u(uint64(a), uint64(b))) })
	default:
		zip(c, g, out.I, a.I, b.I, f.i)
		if t := a.Type; t != onnx.Int64 && t != onnx.Uint64 {
			for i, v := range out.I {
				out.I[i] = wrap(t, v)
			}
		}
	}
	roundAll(out.Type, out.F)
	return out
}

func (c *call) noZeros(b *Tensor) {
	for _, v := range b.I {
		if v == 0 {
			fail("%w: integers divided by zero", onnx.ErrFormat)
		}
	}
}

// variadic folds all inputs.
func (c *call) variadic(f pairwise) *Tensor {
	out := c.x(0)
	for i := 1; i < len(c.in); i++ {
		out = c.binary(f, out, c.x(i))
	}
	return out
}

func mean(c *call) []*Tensor {
	out := c.variadic(binaries["Add"])
	if out.I != nil {
		fail("%w: Mean of %v", onnx.ErrFormat, out.Type)
	}
	n := float64(len(c.in))
	return []*Tensor{c.unary(out, unary{d: func(v float64) float64 { return v / n }})}
}

// Rows of the operators models use most. The operands have steps of 0 or 1 and
// dst may be one of them.

func addRow(dst, a, b []float32, sa, sb int) {
	switch n := len(dst); {
	case sa == 1 && sb == 1:
		vec.Add(dst, a[:n], b[:n])
	case sb == 0:
		v := b[0]
		for i, x := range a[:n] {
			dst[i] = x + v
		}
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
		a, b = a[:n], b[:n]
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
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

func not(c *call) []*Tensor {
	if c.x(0).Type != onnx.Bool {
		fail("%w: Not of %v", onnx.ErrFormat, c.x(0).Type)
	}
	return []*Tensor{c.unary(c.x(0), unary{i: func(v int64) int64 { return 1 - v&1 }})}
}

// dropout gives its input back, but in training mode, which exporters leave on
// where a model samples.
func dropout(c *call) []*Tensor {
	x := c.x(0)
	ratio, train := 0.5, false
	if t := c.opt(1); t != nil {
		ratio = t.scalar().at(0)
	}
	if t := c.opt(2); t != nil {
		train = t.scalar().at(0) != 0
	}
	mask := func(v float64) *Tensor {
		t := onnx.Bool
		if c.opset < 10 {
			t = x.Type
		}
		m := c.blank(t, x.Shape...)
		for i := range m.len() {
			m.put(i, v)
		}
		return m
	}
	if !train || ratio == 0 {
		if len(c.n.Outputs) < 2 {
			return []*Tensor{x}
		}
		return []*Tensor{x, mask(1)}
	}
	if x.I != nil || x.S != nil || x.Seq != nil || ratio < 0 || ratio >= 1 {
		fail("%w: Dropout of %v by %v", onnx.ErrFormat, x.Type, ratio)
	}
	out, m, r := c.zeros(x.Type, x.Shape...), mask(0), c.random()
	for i := range m.I {
		if r.Float64() >= ratio {
			m.I[i] = 1
			out.put(i, x.at(i)/(1-ratio))
		}
	}
	return []*Tensor{out, m}
}

// where takes elements of x or y.
func where(c *call) []*Tensor {
	cond, x, y := c.x(0), c.x(1), c.x(2)
	if cond.Type != onnx.Bool || x.Type != y.Type || x.Seq != nil || y.Seq != nil {
		fail("%w: Where of %v, %v and %v", onnx.ErrFormat, cond.Type, x.Type, y.Type)
	}
	out := c.blank(x.Type, broadcast(broadcast(cond.Shape, x.Shape), y.Shape)...)
	if out.len() == 0 {
		return []*Tensor{out}
	}
	g := newGrid(out.Shape, cond.Shape, x.Shape, y.Shape)
	choose(c, g, out.F, cond.I, x.F, y.F)
	choose(c, g, out.D, cond.I, x.D, y.D)
	choose(c, g, out.I, cond.I, x.I, y.I)
	choose(c, g, out.S, cond.I, x.S, y.S)
	return []*Tensor{out}
}

func choose[T any](c *call, g *grid, dst []T, cond []int64, x, y []T) {
	if len(dst) == 0 {
		return
	}
	g.rows(c, func(at, n int, from, step []int) {
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
