package quantised

import (
	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// A linear says what the bytes of a tensor stand for: (x - zero) · scale.
type linear struct {
	typ   onnx.DType
	scale float32
	zero  int32
}

// Linear reads how tensors of a type are quantised from two inputs. The zero point may
// be left out.
func Linear(c *run.Call, typ onnx.DType, scale, zero int) linear {
	s := c.X(scale)
	if typ != onnx.Uint8 && typ != onnx.Int8 || s.F == nil || s.Len() != 1 {
		tensor.Malformed("%s of %v with scales of %v, shape %d", c.Node.Op, typ, s.Type, s.Shape)
	}
	l := linear{typ: typ, scale: s.F[0]}
	if z := c.OptPacked(zero); z != nil {
		if z.Type != typ || z.Len() != 1 {
			tensor.Malformed("zero point of %v, shape %d, for %v", z.Type, z.Shape, typ)
		}
		l.zero = int32(z.At(0))
	}
	return l
}

// quantised reads input i with the scale and zero point after it.
func quantised(c *run.Call, i int) (x *tensor.Tensor, bytes []byte, l linear) {
	x = c.Packed(i)
	l = Linear(c, x.Type, i+1, i+2)
	return x, tensor.Bytes(x), l
}

// Numbers returns what each byte stands for.
func (l linear) Numbers() (v [256]float32) {
	for i := range v {
		v[i] = float32(int32(tensor.Wrap(l.typ, int64(i)))-l.zero) * l.scale
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
	flipped(dst[:len(x)], dst[:len(x)], 128)
}

// through returns what each byte becomes that is read by l and written by to
// after f, which may be nil.
func (l linear) through(to linear, f func(float32) float32) (table [256]byte) {
	v := l.Numbers()
	if f != nil {
		for i := range v {
			v[i] = f(v[i])
		}
	}
	to.quantize(table[:], v[:])
	return table
}

// linearEach applies f to every element.
func linearEach(c *run.Call, f func(float32) float32) *tensor.Tensor {
	x, bytes, l := quantised(c, 0)
	table := l.through(Linear(c, x.Type, 3, 4), f)
	out := c.BlankRaw(x.Type, x.Shape...)
	c.ByRows(len(bytes), 1, func(from, to int) {
		for i := from; i < to; i++ {
			out.Raw[i] = table[bytes[i]]
		}
	})
	return out
}

// linearPair applies f to every pair of elements.
func linearPair(c *run.Call, f func(a, b float32) float32) *tensor.Tensor {
	a, aBytes, la := quantised(c, 0)
	b, bBytes, lb := quantised(c, 3)
	if a.Type != b.Type {
		tensor.Malformed("%s of %v and %v", c.Node.Op, a.Type, b.Type)
	}
	to := Linear(c, a.Type, 6, 7)
	out := c.BlankRaw(a.Type, tensor.Broadcast(a.Shape, b.Shape)...)
	if out.Len() == 0 {
		return out
	}
	ta, tb := la.Numbers(), lb.Numbers()
	run.NewGrid(out.Shape, a.Shape, b.Shape).Rows(c, func(at, n int, from, step []int) {
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

// AsFloats returns what the bytes of a tensor stand for.
func AsFloats(c *run.Call, x *tensor.Tensor, bytes []byte, l linear) *tensor.Tensor {
	out, table := c.Blank(onnx.Float, x.Shape...), l.Numbers()
	c.ByRows(len(bytes), 1, func(from, to int) {
		for i := from; i < to; i++ {
			out.F[i] = table[bytes[i]]
		}
	})
	return out
}

// asLinear quantises floats.
func asLinear(c *run.Call, x *tensor.Tensor, to linear) *tensor.Tensor {
	out := c.BlankRaw(to.typ, x.Shape...)
	c.ByRows(len(x.F), 1, func(a, b int) { to.quantize(out.Raw[a:b], x.F[a:b]) })
	return out
}

// linearSoftmax is Softmax of the opset its attribute names.
func linearSoftmax(c *run.Call) []*tensor.Tensor {
	x, bytes, l := quantised(c, 0)
	y := norm.Softmax(c.Under(int64(c.Int("opset", 13))), AsFloats(c, x, bytes, l), false)
	return run.One(asLinear(c, y, Linear(c, x.Type, 3, 4)))
}

// linearWhere takes elements of x or y.
func linearWhere(c *run.Call) []*tensor.Tensor {
	cond := c.X(0)
	x, xBytes, lx := quantised(c, 1)
	y, yBytes, ly := quantised(c, 4)
	to := Linear(c, x.Type, 7, 8)
	if cond.Type != onnx.Bool || x.Type != y.Type {
		tensor.Malformed("QLinearWhere of %v, %v and %v", cond.Type, x.Type, y.Type)
	}
	out := c.BlankRaw(x.Type, tensor.Broadcast(tensor.Broadcast(cond.Shape, x.Shape), y.Shape)...)
	if out.Len() == 0 {
		return run.One(out)
	}
	tx, ty := lx.through(to, nil), ly.through(to, nil)
	run.NewGrid(out.Shape, cond.Shape, x.Shape, y.Shape).Rows(c, func(at, n int, from, step []int) {
		for i := range n {
			if cond.I[from[0]+i*step[0]] != 0 {
				out.Raw[at+i] = tx[xBytes[from[1]+i*step[1]]]
			} else {
				out.Raw[at+i] = ty[yBytes[from[2]+i*step[2]]]
			}
		}
	})
	return run.One(out)
}

// linearConcat joins tensors, each with its scale and zero point, along an axis.
func linearConcat(c *run.Call) []*tensor.Tensor {
	if len(c.In) < 5 || len(c.In)%3 != 2 {
		tensor.Malformed("QLinearConcat of %d inputs", len(c.In))
	}
	to := Linear(c, c.Packed(1).Type, 0, 1)
	first := c.Packed(2)
	a := tensor.Axis(c.Int("axis", 0), len(first.Shape))
	shape := append([]int{}, first.Shape...)
	shape[a] = 0
	for i := 2; i < len(c.In); i += 3 {
		x := c.Packed(i)
		same := len(x.Shape) == len(shape)
		for d := range shape {
			same = same && (d == a || x.Shape[d] == shape[d])
		}
		if !same {
			tensor.Malformed("shape %d joined to %d", x.Shape, first.Shape)
		}
		shape[a] += x.Shape[a]
	}
	out := c.BlankRaw(to.typ, shape...)
	width, done := tensor.Count(shape[a:]), 0
	for i := 2; i < len(c.In); i += 3 {
		x, bytes, l := quantised(c, i)
		table, n := l.through(to, nil), tensor.Count(x.Shape[a:])
		for k, b := range bytes {
			out.Raw[k/n*width+done+k%n] = table[b]
		}
		done += n
	}
	return run.One(out)
}

// linearPool is a pool of floats on quantised numbers.
func linearPool(c *run.Call, op string) *tensor.Tensor {
	x, bytes, l := quantised(c, 0)
	to := Linear(c, x.Type, 3, 4)
	f, last := AsFloats(c, x, bytes, l), c.Int("channels_last", 0) != 0
	if last {
		f = ChannelsFirst(c, f)
	}
	y := c.Again(op, c.Attrs(), f)
	if last {
		y = ChannelsLast(c, y)
	}
	return asLinear(c, y, to)
}

// InLayout runs an operator whose first input and result may have their channels
// last.
func InLayout(c *run.Call, op string, last bool) *tensor.Tensor {
	in := append([]*tensor.Tensor{}, c.In...)
	if last {
		in[0] = ChannelsFirst(c, c.X(0))
	}
	y := c.Again(op, c.Attrs(), in...)
	if last {
		y = ChannelsLast(c, y)
	}
	return y
}

// ChannelsFirst turns (batch, space…, channels) to (batch, channels, space…).
func ChannelsFirst(c *run.Call, x *tensor.Tensor) *tensor.Tensor {
	r := len(x.Shape)
	if r < 3 {
		tensor.Malformed("channels of shape %d", x.Shape)
	}
	return c.Permuted(x.Whole(), x.Shape, append([]int{0, r - 1}, tensor.UpTo(r)[1:r-1]...)...)
}

// ChannelsLast turns (batch, channels, space…) to (batch, space…, channels).
func ChannelsLast(c *run.Call, x *tensor.Tensor) *tensor.Tensor {
	r := len(x.Shape)
	return c.Permuted(x.Whole(), x.Shape, append(append([]int{0}, tensor.UpTo(r)[2:]...), 1)...)
}
