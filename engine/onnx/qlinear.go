package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// qlinearOps are the operators of com.microsoft that static quantisation writes:
// tensors of 8 bits come with a scale and a zero point, and so does the result.
//
// ONNX Runtime, ContribOperators.md, QLinear….
func qlinearOps() table {
	return table{
		"com.microsoft.QLinearAdd": func(c *call) []*Tensor {
			return one(c.linearPair(func(a, b float32) float32 { return a + b }))
		},
		"com.microsoft.QLinearMul": func(c *call) []*Tensor {
			return one(c.linearPair(func(a, b float32) float32 { return a * b }))
		},
		"com.microsoft.QLinearSigmoid": func(c *call) []*Tensor {
			return one(c.linearEach(func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }))
		},
		"com.microsoft.QLinearLeakyRelu": func(c *call) []*Tensor {
			alpha := float32(c.float("alpha", 0.01))
			return one(c.linearEach(func(v float32) float32 { return max(v, 0) + alpha*min(v, 0) }))
		},
		"com.microsoft.QLinearSoftmax":           linearSoftmax,
		"com.microsoft.QLinearWhere":             linearWhere,
		"com.microsoft.QLinearConcat":            linearConcat,
		"com.microsoft.QLinearAveragePool":       func(c *call) []*Tensor { return one(c.linearPool("AveragePool")) },
		"com.microsoft.QLinearGlobalAveragePool": func(c *call) []*Tensor { return one(c.linearPool("GlobalAveragePool")) },
		"com.microsoft.QLinearConv":              func(c *call) []*Tensor { return one(c.inLayout("QLinearConv", c.int("channels_last", 0) != 0)) },
		"com.microsoft.NhwcMaxPool":              func(c *call) []*Tensor { return one(c.inLayout("MaxPool", true)) },
	}
}

// A linear says what the bytes of a tensor stand for: (x - zero) · scale.
type linear struct {
	typ   onnx.DType
	scale float32
	zero  int32
}

// linear reads how tensors of a type are quantised from two inputs. The zero point may
// be left out.
func (c *call) linear(typ onnx.DType, scale, zero int) linear {
	s := c.x(scale)
	if typ != onnx.Uint8 && typ != onnx.Int8 || s.F == nil || s.len() != 1 {
		fail("%w: %s of %v with scales of %v, shape %d", onnx.ErrFormat, c.n.Op, typ, s.Type, s.Shape)
	}
	l := linear{typ: typ, scale: s.F[0]}
	if z := c.bare(zero); z != nil {
		if z.Type != typ || z.len() != 1 {
			fail("%w: zero point of %v, shape %d, for %v", onnx.ErrFormat, z.Type, z.Shape, typ)
		}
		l.zero = int32(z.at(0))
	}
	return l
}

// quantised reads input i with the scale and zero point after it.
func (c *call) quantised(i int) (x *Tensor, bytes []byte, l linear) {
	x = c.must(i)
	l = c.linear(x.Type, i+1, i+2)
	return x, eights(x), l
}

// numbers returns what each byte stands for.
func (l linear) numbers() (v [256]float32) {
	for i := range v {
		v[i] = float32(int32(wrap(l.typ, int64(i)))-l.zero) * l.scale
	}
	return v
}

// quantize writes the nearest bytes to dst.
func (l linear) quantize(dst []byte, x []float32) {
	if l.typ == onnx.Uint8 {
		gemm.QuantizeBytes(dst, x, l.scale, l.zero)
		return
	}
	gemm.QuantizeBytes(dst, x, l.scale, l.zero+128)
	for i := range x {
		dst[i] ^= 128
	}
}

// through returns what each byte becomes that is read by l and written by to
// after f, which may be nil.
func (l linear) through(to linear, f func(float32) float32) (table [256]byte) {
	v := l.numbers()
	if f != nil {
		for i := range v {
			v[i] = f(v[i])
		}
	}
	to.quantize(table[:], v[:])
	return table
}

// linearEach applies f to every element.
func (c *call) linearEach(f func(float32) float32) *Tensor {
	x, bytes, l := c.quantised(0)
	table := l.through(c.linear(x.Type, 3, 4), f)
	out := c.blankRaw(x.Type, x.Shape...)
	c.byRows(len(bytes), 1, func(from, to int) {
		for i := from; i < to; i++ {
			out.Raw[i] = table[bytes[i]]
		}
	})
	return out
}

// linearPair applies f to every pair of elements.
func (c *call) linearPair(f func(a, b float32) float32) *Tensor {
	a, aBytes, la := c.quantised(0)
	b, bBytes, lb := c.quantised(3)
	if a.Type != b.Type {
		fail("%w: %s of %v and %v", onnx.ErrFormat, c.n.Op, a.Type, b.Type)
	}
	to := c.linear(a.Type, 6, 7)
	out := c.blankRaw(a.Type, broadcast(a.Shape, b.Shape)...)
	if out.len() == 0 {
		return out
	}
	ta, tb := la.numbers(), lb.numbers()
	newGrid(out.Shape, a.Shape, b.Shape).rows(c, func(at, n int, from, step []int) {
		var row [256]float32
		i, j := from[0], from[1]
		for n > 0 {
			part := row[:min(n, len(row))]
			for k := range part {
				part[k] = f(ta[aBytes[i]], tb[bBytes[j]])
				i += step[0]
				j += step[1]
			}
			to.quantize(out.Raw[at:], part)
			at += len(part)
			n -= len(part)
		}
	})
	return out
}

// asFloats returns what the bytes of a tensor stand for.
func (c *call) asFloats(x *Tensor, bytes []byte, l linear) *Tensor {
	out, table := c.blank(onnx.Float, x.Shape...), l.numbers()
	c.byRows(len(bytes), 1, func(from, to int) {
		for i := from; i < to; i++ {
			out.F[i] = table[bytes[i]]
		}
	})
	return out
}

// asLinear quantises floats.
func (c *call) asLinear(x *Tensor, to linear) *Tensor {
	out := c.blankRaw(to.typ, x.Shape...)
	c.byRows(len(x.F), 1, func(a, b int) { to.quantize(out.Raw[a:b], x.F[a:b]) })
	return out
}

// linearSoftmax is Softmax of the opset its attribute names.
func linearSoftmax(c *call) []*Tensor {
	x, bytes, l := c.quantised(0)
	y := c.under(int64(c.int("opset", 13))).softmax(c.asFloats(x, bytes, l), false)
	return one(c.asLinear(y, c.linear(x.Type, 3, 4)))
}

// linearWhere takes elements of x or y.
func linearWhere(c *call) []*Tensor {
	cond := c.x(0)
	x, xBytes, lx := c.quantised(1)
	y, yBytes, ly := c.quantised(4)
	to := c.linear(x.Type, 7, 8)
	if cond.Type != onnx.Bool || x.Type != y.Type {
		fail("%w: QLinearWhere of %v, %v and %v", onnx.ErrFormat, cond.Type, x.Type, y.Type)
	}
	out := c.blankRaw(x.Type, broadcast(broadcast(cond.Shape, x.Shape), y.Shape)...)
	if out.len() == 0 {
		return one(out)
	}
	tx, ty := lx.through(to, nil), ly.through(to, nil)
	newGrid(out.Shape, cond.Shape, x.Shape, y.Shape).rows(c, func(at, n int, from, step []int) {
		for i := range n {
			if cond.I[from[0]+i*step[0]] != 0 {
				out.Raw[at+i] = tx[xBytes[from[1]+i*step[1]]]
			} else {
				out.Raw[at+i] = ty[yBytes[from[2]+i*step[2]]]
			}
		}
	})
	return one(out)
}

// linearConcat joins tensors, each with its scale and zero point, along an axis.
func linearConcat(c *call) []*Tensor {
	if len(c.in) < 5 || len(c.in)%3 != 2 {
		fail("%w: QLinearConcat of %d inputs", onnx.ErrFormat, len(c.in))
	}
	to := c.linear(c.must(1).Type, 0, 1)
	first := c.must(2)
	a := axis(c.int("axis", 0), len(first.Shape))
	shape := append([]int{}, first.Shape...)
	shape[a] = 0
	for i := 2; i < len(c.in); i += 3 {
		x := c.must(i)
		same := len(x.Shape) == len(shape)
		for d := range shape {
			same = same && (d == a || x.Shape[d] == shape[d])
		}
		if !same {
			fail("%w: shape %d joined to %d", onnx.ErrFormat, x.Shape, first.Shape)
		}
		shape[a] += x.Shape[a]
	}
	out := c.blankRaw(to.typ, shape...)
	width, done := count(shape[a:]), 0
	for i := 2; i < len(c.in); i += 3 {
		x, bytes, l := c.quantised(i)
		table, n := l.through(to, nil), count(x.Shape[a:])
		for k, b := range bytes {
			out.Raw[k/n*width+done+k%n] = table[b]
		}
		done += n
	}
	return one(out)
}

// linearPool is a pool of floats on quantised numbers.
func (c *call) linearPool(op string) *Tensor {
	x, bytes, l := c.quantised(0)
	to := c.linear(x.Type, 3, 4)
	f, last := c.asFloats(x, bytes, l), c.int("channels_last", 0) != 0
	if last {
		f = c.channelsFirst(f)
	}
	y := c.again(op, c.resolved(), f)
	if last {
		y = c.channelsLast(y)
	}
	return c.asLinear(y, to)
}

// inLayout runs an operator whose first input and result may have their channels
// last.
func (c *call) inLayout(op string, last bool) *Tensor {
	in := append([]*Tensor{}, c.in...)
	if last {
		in[0] = c.channelsFirst(c.x(0))
	}
	y := c.again(op, c.resolved(), in...)
	if last {
		y = c.channelsLast(y)
	}
	return y
}

// channelsFirst turns (batch, space…, channels) to (batch, channels, space…).
func (c *call) channelsFirst(x *Tensor) *Tensor {
	r := len(x.Shape)
	if r < 3 {
		fail("%w: channels of shape %d", onnx.ErrFormat, x.Shape)
	}
	return c.permuted(x.whole(), x.Shape, append([]int{0, r - 1}, upTo(r)[1:r-1]...)...)
}

// channelsLast turns (batch, channels, space…) to (batch, space…, channels).
func (c *call) channelsLast(x *Tensor) *Tensor {
	r := len(x.Shape)
	return c.permuted(x.whole(), x.Shape, append(append([]int{0}, upTo(r)[2:]...), 1)...)
}
