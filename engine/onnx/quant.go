package onnx

import (
	"math"
	"slices"

	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// quantOps returns operators that share the constants they have laid out.
// quantisedTable are operators on numbers of few bits.
func quantisedTable() table { return join(quantOps(), qlinearOps(), int8ConvOps(), blockOps()) }

func quantOps() table {
	q := newQuantizer()
	return table{
		"QuantizeLinear":                     quantizeLinear,
		"DequantizeLinear":                   dequantizeLinear,
		"com.microsoft.QuantizeLinear":       quantizeLinear,
		"com.microsoft.DequantizeLinear":     dequantizeLinear,
		"DynamicQuantizeLinear":              dynamicQuantize,
		"MatMulInteger":                      q.matMulInteger,
		"QLinearMatMul":                      q.linearMatMul,
		"com.microsoft.MatMulIntegerToFloat": q.integerToFloat,
		"com.microsoft.QAttention":           q.attention,
		"com.microsoft.QGemm":                q.gemm,
		"com.microsoft.DynamicQuantizeMatMul": func(c *call) []*Tensor {
			return one(q.dynamicMatMul(c, c.x(0), c.must(1), c.x(2), c.bare(3), c.opt(4)))
		},
	}
}

// A scaled is the numbers a quantised tensor is read with: one for all, one for
// each index of an axis, or one for each block of it.
type scaled struct {
	inner, size int // elements after the axis, and its length
	block       int
	perAxis     bool
}

// scaling checks the shape of scales for a tensor.
func (c *call) scaling(x, scale *Tensor) scaled {
	block := c.int("block_size", 0)
	if scale.len() == 1 && block == 0 {
		return scaled{}
	}
	a := axis(c.int("axis", 1), len(x.Shape))
	_, n, inner := split(x.Shape, a)
	s := scaled{inner: inner, size: n, block: block, perAxis: true}
	if block == 0 {
		if len(scale.Shape) != 1 || scale.len() != n {
			fail("%w: scales of shape %d for %d along %d", onnx.ErrFormat, scale.Shape, x.Shape, a)
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
		fail("%w: scales of shape %d for %d in blocks of %d along %d", onnx.ErrFormat, scale.Shape, x.Shape, block, a)
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
func quantizeLinear(c *call) []*Tensor {
	x, scale, zero := c.x(0), c.x(1), c.bare(2)
	typ := onnx.DType(c.int("output_dtype", 0))
	if zero != nil {
		typ = zero.Type
		if zero.len() != scale.len() {
			fail("%w: scales of shape %d and zero points of %d", onnx.ErrFormat, scale.Shape, zero.Shape)
		}
	} else if typ == 0 {
		typ = onnx.Uint8
	}
	if typ.Bits() == 0 || typ.Bits() > 16 || typ == onnx.Bool || typ == onnx.Float16 || typ == onnx.BFloat16 {
		fail("%w: quantization to %v", onnx.ErrUnsupported, typ)
	}
	s := c.scaling(x, scale)
	out := c.blank(typ, x.Shape...)
	if out.F != nil { // float8 and float4
		saturate := c.int("saturate", 1) != 0 || typ == onnx.Float8E8M0
		for i := range out.F {
			v := float64(float32(x.at(i)) / float32(scale.at(s.at(i))))
			if !saturate && math.Abs(v) > float64(narrow(typ).Largest()) { // not even where it would round to it
				v = math.Inf(int(math.Copysign(1, v)))
			}
			out.F[i] = float32(roundTo(typ, v, saturate))
		}
		return one(out)
	}
	low, high := bounds(typ)
	if typ.Bits() == 8 {
		out = c.blankRaw(typ, x.Shape...)
	}
	if typ == onnx.Uint8 && !s.perAxis && x.F != nil && scale.F != nil {
		z := int32(0)
		if zero != nil {
			z = int32(zero.at(0))
		}
		c.byRows(x.len(), 1, func(from, to int) {
			gemm.QuantizeBytes(out.Raw[from:to], x.F[from:to], scale.F[0], z)
		})
		return one(out)
	}
	for i := range x.len() {
		j := s.at(i)
		v := math.RoundToEven(float64(float32(x.at(i)) / float32(scale.at(j))))
		if zero != nil {
			v += zero.at(j)
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
	return one(out)
}

func dequantizeLinear(c *call) []*Tensor {
	x, scale, zero := c.must(0), c.x(1), c.bare(2)
	typ := scale.Type
	if t := c.int("output_dtype", 0); t != 0 {
		typ = onnx.DType(t)
	}
	if !isFloat(typ) || scale.F == nil || x.I == nil && x.F == nil && x.Raw == nil || zero != nil && zero.len() != scale.len() {
		fail("%w: dequantization of %v to %v", onnx.ErrUnsupported, x.Type, typ)
	}
	s := c.scaling(x, scale)
	out := c.blank(typ, x.Shape...)
	// What a byte stands for, where that is the same for all.
	var table []float32
	if bits := x.Type.Bits(); x.Raw != nil && bits == 8 && !s.perAxis {
		table = make([]float32, 256)
		for i := range table {
			v := float64(wrap(x.Type, int64(i)))
			if zero != nil {
				v -= zero.at(0)
			}
			table[i] = float32(v) * scale.F[0]
		}
	}
	c.byRows(x.len(), 4, func(from, to int) {
		if table != nil {
			for i, b := range x.Raw[from:to] {
				out.F[from+i] = table[b]
			}
			return
		}
		for i := from; i < to; i++ {
			j := s.at(i)
			v := x.at(i)
			if zero != nil {
				v -= zero.at(j)
			}
			out.F[i] = float32(v) * scale.F[j]
		}
	})
	return one(settle(out))
}

// dynamicScale returns how DynamicQuantizeLinear reads values from low, at most
// zero, to high, at least zero, as uint8.
func dynamicScale(low, high float32) (scale float32, zero int32) {
	scale = (high - low) / 255
	if scale == 0 {
		return 1, 0
	}
	return scale, int32(math.RoundToEven(float64(max(0, min(-low/scale, 255)))))
}

func dynamicQuantize(c *call) []*Tensor {
	x := c.x(0)
	if x.Type != onnx.Float {
		fail("%w: quantization of %v", onnx.ErrFormat, x.Type)
	}
	return c.asBytes(x, c.reachOf(x.F))
}

// asBytes quantises x, whose reach e is.
func (c *call) asBytes(x *Tensor, e reach) []*Tensor {
	scale, zero := dynamicScale(e.ends())
	y, s, z := c.blankRaw(onnx.Uint8, x.Shape...), c.zeros(onnx.Float), c.zeros(onnx.Uint8)
	c.byRows(len(x.F), 2, func(from, to int) { gemm.QuantizeBytes(y.Raw[from:to], x.F[from:to], scale, zero) })
	s.F[0], z.I[0] = scale, int64(zero)
	return []*Tensor{y, s, z}
}

// A reach is the smallest and the largest value, and zero, that each worker has
// seen; see gemm.RangeLanes.
type reach [][32]float32

func (c *call) reach() reach { return make(reach, c.pool().Workers()) }

func (e reach) add(worker int, x []float32) { gemm.RangeLanes(&e[worker], x) }

func (e reach) ends() (low, high float32) {
	for i := range e {
		low, high = min(low, slices.Min(e[i][:16])), max(high, slices.Max(e[i][16:]))
	}
	return low, high
}

// reachOf returns that of x, by the pool.
func (c *call) reachOf(x []float32) reach {
	const per = perChunk
	e := c.reach()
	c.spreadOut((len(x)+per-1)/per, func(worker, i int) { e.add(worker, x[i*per:min((i+1)*per, len(x))]) })
	return e
}
