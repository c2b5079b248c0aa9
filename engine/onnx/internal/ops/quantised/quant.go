package quantised

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// A scaled is the numbers a quantised tensor is read with: one for all, one for
// each index of an axis, or one for each block of it.
type scaled struct {
	inner, size int // elements after the axis, and its length
	block       int
	perAxis     bool
}

// scaling checks the shape of scales for a tensor.
func scaling(c *run.Call, x, scale *tensor.Tensor) scaled {
	block := c.Int("block_size", 0)
	if scale.Len() == 1 && block == 0 {
		return scaled{}
	}
	a := tensor.Axis(c.Int("axis", 1), len(x.Shape))
	_, n, inner := tensor.Split(x.Shape, a)
	s := scaled{inner: inner, size: n, block: block, perAxis: true}
	if block == 0 {
		if len(scale.Shape) != 1 || scale.Len() != n {
			tensor.Malformed("scales of shape %d for %d along %d", scale.Shape, x.Shape, a)
		}
		return s
	}
	ok := block > 0 && len(scale.Shape) == len(x.Shape)
	for i := range x.Shape {
		want := x.Shape[i]
		if i == a && ok {
			want = (want + block - 1) / block
		}
		ok = ok && scale.Shape[i] == want
	}
	if !ok {
		tensor.Malformed("scales of shape %d for %d in blocks of %d along %d", scale.Shape, x.Shape, block, a)
	}
	return s
}

// at returns which scale belongs to element i.
func (s *scaled) at(i int) int {
	if !s.perAxis {
		return 0
	}
	d := i / s.inner % s.size
	if s.block == 0 {
		return d
	}
	blocks := (s.size + s.block - 1) / s.block
	return (i/(s.inner*s.size)*blocks+d/s.block)*s.inner + i%s.inner
}

// quantizeLinear rounds x / scale to the nearest number of a type, to even, and
// adds the zero point.
func quantizeLinear(c *run.Call) []*tensor.Tensor {
	x, scale, zero := c.X(0), c.X(1), c.OptPacked(2)
	typ := onnx.DType(c.Int("output_dtype", 0))
	if zero != nil {
		typ = zero.Type
		if zero.Len() != scale.Len() {
			tensor.Malformed("scales of shape %d and zero points of %d", scale.Shape, zero.Shape)
		}
	} else if typ == 0 {
		typ = onnx.Uint8
	}
	if typ.Bits() == 0 || typ.Bits() > 16 || typ == onnx.Bool || typ == onnx.Float16 || typ == onnx.BFloat16 {
		tensor.Unsupported("quantization to %v", typ)
	}
	s := scaling(c, x, scale)
	out := c.Blank(typ, x.Shape...)
	if out.F != nil { // float8 and float4
		saturate := c.Int("saturate", 1) != 0 || typ == onnx.Float8E8M0
		for i := range out.F {
			v := float64(float32(x.At(i)) / float32(scale.At(s.at(i))))
			if !saturate && math.Abs(v) > float64(tensor.Narrow(typ).Largest()) { // not even where it would round to it
				v = math.Inf(int(math.Copysign(1, v)))
			}
			out.F[i] = float32(tensor.RoundTo(typ, v, saturate))
		}
		return run.One(out)
	}
	low, high := tensor.Bounds(typ)
	if typ.Bits() == 8 {
		out = c.BlankRaw(typ, x.Shape...)
	}
	if typ.Bits() == 8 && !s.perAxis && x.F != nil && scale.F != nil {
		l := linear{typ: typ, scale: scale.F[0], zero: ZeroOf(zero, 0)}
		c.ByRows(x.Len(), 1, func(from, to int) { l.quantize(out.Raw[from:to], x.F[from:to]) })
		return run.One(out)
	}
	c.ByRows(x.Len(), 8, func(from, to int) {
		for i := from; i < to; i++ {
			j := s.at(i)
			v := math.RoundToEven(float64(float32(x.At(i)) / float32(scale.At(j))))
			if zero != nil {
				v += zero.At(j)
			}
			if v != v {
				v = 0
			}
			v = max(low, min(v, high))
			if out.Raw != nil {
				out.Raw[i] = byte(int(v))
			} else {
				out.I[i] = int64(v)
			}
		}
	})
	return run.One(out)
}

func dequantizeLinear(c *run.Call) []*tensor.Tensor {
	x, scale, zero := c.Packed(0), c.X(1), c.OptPacked(2)
	typ := scale.Type
	if t := c.Int("output_dtype", 0); t != 0 {
		typ = c.Between(onnx.DType(t))
	}
	if !tensor.IsFloat(typ) || scale.F == nil || x.I == nil && x.F == nil && x.Raw == nil || zero != nil && zero.Len() != scale.Len() {
		tensor.Unsupported("dequantization of %v to %v", x.Type, typ)
	}
	s := scaling(c, x, scale)
	out := c.Blank(typ, x.Shape...)
	// What a byte stands for, where that is the same for all.
	var table []float32
	if bits := x.Type.Bits(); x.Raw != nil && bits == 8 && !s.perAxis {
		table = make([]float32, 256)
		for i := range table {
			v := float64(tensor.Wrap(x.Type, int64(i)))
			if zero != nil {
				v -= zero.At(0)
			}
			table[i] = float32(v) * scale.F[0]
		}
	}
	c.ByRows(x.Len(), 4, func(from, to int) {
		if table != nil {
			for i, b := range x.Raw[from:to] {
				out.F[from+i] = table[b]
			}
			return
		}
		for i := from; i < to; i++ {
			j := s.at(i)
			v := x.At(i)
			if zero != nil {
				v -= zero.At(j)
			}
			out.F[i] = float32(v) * scale.F[j]
		}
	})
	return run.One(tensor.Rounded(out))
}

// DynamicScale returns how DynamicQuantizeLinear reads values from low, at most
// zero, to high, at least zero, as uint8.
func DynamicScale(low, high float32) (scale float32, zero int32) {
	scale = (high - low) / 255
	if scale == 0 {
		return 1, 0
	}
	return scale, int32(math.RoundToEven(float64(max(0, min(-low/scale, 255)))))
}

func dynamicQuantize(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	if x.Type != onnx.Float {
		tensor.Malformed("quantization of %v", x.Type)
	}
	return AsBytes(c, x, reachOf(c, x.F))
}

// AsBytes quantises x, whose reach e is.
func AsBytes(c *run.Call, x *tensor.Tensor, e Reach) []*tensor.Tensor {
	scale, zero := DynamicScale(e.ends())
	y, s, z := c.BlankRaw(onnx.Uint8, x.Shape...), c.Zeros(onnx.Float), c.Zeros(onnx.Uint8)
	c.ByRows(len(x.F), 2, func(from, to int) { gemm.QuantizeBytes(y.Raw[from:to], x.F[from:to], scale, zero) })
	s.F[0], z.I[0] = scale, int64(zero)
	return []*tensor.Tensor{y, s, z}
}

// A Reach is the smallest and the largest value, and zero, that each worker has
// seen; see gemm.RangeLanes.
type Reach [][32]float32

// NewReach returns one that has seen nothing.
func NewReach(c *run.Call) Reach { return make(Reach, c.Pool().Workers()) }

// Add sees x, of one worker.
func (e Reach) Add(worker int, x []float32) { gemm.RangeLanes(&e[worker], x) }

func (e Reach) ends() (low, high float32) {
	for i := range e {
		low, high = min(low, slices.Min(e[i][:16])), max(high, slices.Max(e[i][16:]))
	}
	return low, high
}

// reachOf returns that of x, by the pool.
func reachOf(c *run.Call, x []float32) Reach {
	const per = run.PerChunk
	e := NewReach(c)
	c.SpreadOut((len(x)+per-1)/per, func(worker, i int) { e.Add(worker, x[i*per:min((i+1)*per, len(x))]) })
	return e
}
