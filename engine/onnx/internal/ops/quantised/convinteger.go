package quantised

import (
	"slices"

	"quern/engine/onnx/internal/ops/image"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// integers is a convolution of integers of 8 bits.
type integers struct {
	image.Convolution
	x, w, xZero, wZero *tensor.Tensor
}

// newIntegers checks a convolution whose zero points are inputs of a node: one of x,
// and one or one a channel of w.
func newIntegers(c *run.Call, x, w, xZero, wZero int) *integers {
	v := &integers{x: c.Packed(x), w: c.Packed(w), xZero: c.OptPacked(xZero), wZero: c.OptPacked(wZero)}
	v.Convolution = image.NewConvolution(c, v.x, v.w)
	if v.xZero != nil && (v.xZero.Len() != 1 || v.xZero.Type != v.x.Type) || v.wZero != nil && (v.wZero.Len() != 1 && v.wZero.Len() != v.w.Shape[0] || v.wZero.Type != v.w.Type) {
		tensor.Malformed("zero points for %v of shape %d and %v of %d", v.x.Type, v.x.Shape, v.w.Type, v.w.Shape)
	}
	if k := v.InC * image.Volume(v.Kernel); k > 1<<16 {
		tensor.Unsupported("a sum of %d products of integers", k)
	}
	return v
}

// ZeroOf returns the zero point of channel o; a scalar is that of all.
func ZeroOf(zero *tensor.Tensor, o int) int32 {
	if zero == nil {
		return 0
	}
	return int32(zero.At(o % zero.Len()))
}

func convInteger(c *run.Call) []*tensor.Tensor {
	v := newIntegers(c, 0, 1, 2, 3)
	steps := image.Volume(v.Out)
	out := c.Blank(onnx.Int32, v.Shape(v.Batch, v.w.Shape[0])...)
	if out.Len() > 0 {
		convolve(c, v, func(channel, from int, sums []int32) {
			to := out.I[channel*steps+from:]
			for i, s := range sums {
				to[i] = int64(s)
			}
		})
	}
	return run.One(out)
}

// ConvFloats is ConvInteger, whose node n stands for the attributes and whose inputs are the
// first of c, with sums made floats, times the scale of their channel, or the one of all,
// plus the number of their channel in bias, which may be nil. The sums never become a tensor of
// integers.
func ConvFloats(c *run.Call, n *onnx.Node, scales, bias []float32) *tensor.Tensor {
	as := *c
	as.Node = n
	v := newIntegers(&as, 0, 1, 2, 3)
	steps, m := image.Volume(v.Out), v.w.Shape[0]
	out := c.Blank(onnx.Float, v.Shape(v.Batch, m)...)
	if out.Len() == 0 {
		return out
	}
	convolve(c, v, func(channel, from int, sums []int32) {
		to, scale := out.F[channel*steps+from:][:len(sums)], scales[channel%m%len(scales)]
		if bias == nil {
			for i, s := range sums {
				to[i] = float32(s) * scale
			}
			return
		}
		add := bias[channel%m]
		for i, s := range sums {
			to[i] = float32(float32(s)*scale) + add // rounded twice, as the operators do
		}
	})
	return out
}

// linearConv is a convolution of quantised numbers, quantised again.
func linearConv(c *run.Call) []*tensor.Tensor {
	v := newIntegers(c, 0, 3, 2, 5)
	scaleX, scaleW, scaleY, zeroY, bias := c.X(1), c.X(4), c.X(6), c.Packed(7), c.Opt(8)
	m := v.w.Shape[0]
	if scaleX.Len() != 1 || scaleW.Len() != 1 && scaleW.Len() != m || scaleX.F == nil || scaleW.F == nil || bias != nil && (bias.Len() != m || bias.I == nil) {
		tensor.Malformed("scales of shapes %d and %d", scaleX.Shape, scaleW.Shape)
	}
	to := Linear(c, zeroY.Type, 6, 7)
	out := c.BlankRaw(zeroY.Type, v.Shape(v.Batch, m)...)
	if out.Len() == 0 {
		return run.One(out)
	}
	steps := image.Volume(v.Out)
	convolve(c, v, func(channel, from int, sums []int32) {
		o := channel % m
		scale, add := scaleX.F[0]*scaleW.F[o%len(scaleW.F)]/scaleY.F[0], int32(0)
		if bias != nil {
			add = int32(bias.I[o])
		}
		q := linear{typ: to.typ, scale: 1, zero: to.zero}
		var row [256]float32
		for len(sums) > 0 {
			part := row[:min(len(sums), len(row))]
			for i := range part {
				part[i] = float32(sums[i]+add) * scale
			}
			q.quantize(out.Raw[channel*steps+from:], part)
			sums, from = sums[len(part):], from+len(part)
		}
	})
	return run.One(out)
}

// convolve calls f with sums of a channel of an image, (batch · channels), at
// steps from on, from several workers.
func convolve(c *run.Call, v *integers, done func(channel, from int, sums []int32)) {
	x, flip := tensor.Bytes(v.x), byte(0)
	zero := ZeroOf(v.xZero, 0)
	if v.x.Type == onnx.Int8 {
		zero, flip = zero+128, 128
	}
	if v.InC == 1 && v.OutC < 4 {
		v.eachTap(c, x, flip, zero, done)
		return
	}
	// Channels last, the taps of a step are short lists of neighbours.
	plane, channels, steps := image.Volume(v.In), v.Groups*v.InC, image.Volume(v.Out)
	last := c.BlankRaw(onnx.Uint8, plane, channels).Raw
	k, n := v.InC*image.Volume(v.Kernel), v.OutC
	packs := packFilters(c, v)
	stride := packs[0].W.Stride()
	size := min(steps, max(64, tileBytes/max(stride, 4*n)))
	asRows := v.points() && stride == k // pixels are what is multiplied
	var rows []byte
	if !asRows {
		rows = c.BlankRaw(onnx.Uint8, size, stride).Raw
	}
	scratch := run.Kept[convScratch](c)
	scratch.sums, scratch.lines = slices.Grow(scratch.sums[:0], size*n)[:size*n], slices.Grow(scratch.lines[:0], n*size)[:n*size]
	sums, lines := scratch.sums, scratch.lines
	for b := range v.Batch {
		channelsLast(c, last, x[b*channels*plane:], channels, plane, flip)
		for g, w := range packs {
			for from := 0; from < steps; from += size {
				c.Check()
				here := min(size, steps-from)
				if asRows {
					rows = last[from*stride:]
				} else {
					c.ByRows(here, k, func(a, b int) {
						for s := a; s < b; s++ {
							v.gather(rows[s*stride:][:k], last, from+s, g, byte(zero))
						}
					})
				}
				w.Gemm.RunInts(c.Pool(), sums, n, rows, stride, here, zero)
				c.ByRows(here, n+stride, func(a, b int) {
					for s := a; s < b && w.Zero != nil; s++ {
						w.less(sums[s*n:][:n], rows[s*stride:], zero)
					}
					spreadLines(lines, sums, n, size, a, b)
				})
				c.ByRows(n, 4*here, func(first, last int) {
					for o := first; o < last; o++ {
						done((b*v.Groups+g)*n+o, from, lines[o*size:][:here])
					}
				})
			}
		}
	}
}

// convScratch is what convolve keeps from call to call: the sums of a tile, and these by channel.
type convScratch struct{ sums, lines []int32 }

// points reports whether a step sees one pixel of all channels, and steps see them in order.
func (v *integers) points() bool {
	return v.Groups == 1 && image.Volume(v.Kernel) == 1 && v.In == v.Out && v.Stride == [3]int{1, 1, 1} && v.Before == [3]int{}
}

// tileBytes is about how many bytes of columns are multiplied at a time.
const tileBytes = 1 << 18

type filterKey struct {
	w, zero *tensor.Tensor
	groups  int
}

// packFilters lays out the filters of every group, taps before channels.
func packFilters(c *run.Call, v *integers) []*Weights {
	return run.Prepared(c, filterKey{v.w, v.wZero, v.Groups}, tensor.Constant(v.w, v.wZero), func() []*Weights {
		taps, w := image.Volume(v.Kernel), tensor.Bytes(v.w)
		k, n := v.InC*taps, v.OutC
		packs, columns := make([]*Weights, v.Groups), make([]byte, k*n)
		for g := range packs {
			for o := range n {
				for i, u := range w[(g*n+o)*k:][:k] {
					columns[(i%taps*v.InC+i/taps)*n+o] = u
				}
			}
			packs[g] = NewWeights(v.w.Type, columns, k, n, func(j int) int32 { return ZeroOf(v.wZero, g*n+j) })
			packs[g].Gemm = gemm.NewInt8Gemm(packs[g].W, nil, nil)
			if tensor.Constant(v.w, v.wZero) {
				packs[g].last(c, v.w)
			}
		}
		return packs
	})
}

// gather writes what the taps of a step see of group g, and fill beyond the
// input: (taps, channels) of x, which is (plane, channels).
func (v *integers) gather(dst, x []byte, step, g int, fill byte) {
	channels := v.Groups * v.InC
	at := [3]int{step / (v.Out[1] * v.Out[2]), step / v.Out[2] % v.Out[1], step % v.Out[2]}
	for d := range at {
		at[d] = at[d]*v.Stride[d] - v.Before[d]
	}
	for z := range v.Kernel[0] {
		for y := range v.Kernel[1] {
			p, q := at[0]+z*v.Dilation[0], at[1]+y*v.Dilation[1]
			line := dst[:v.Kernel[2]*v.InC]
			dst = dst[len(line):]
			if p < 0 || p >= v.In[0] || q < 0 || q >= v.In[1] {
				repeat(line, fill)
				continue
			}
			base := (p*v.In[1] + q) * v.In[2]
			if v.Groups == 1 && v.Dilation[2] == 1 {
				lo, hi := min(max(-at[2], 0), v.Kernel[2]), max(min(v.In[2]-at[2], v.Kernel[2]), 0)
				hi = max(lo, hi)
				repeat(line[:lo*channels], fill)
				if lo < hi {
					copy(line[lo*channels:hi*channels], x[(base+at[2]+lo)*channels:])
				}
				repeat(line[hi*channels:], fill)
				continue
			}
			for t := range v.Kernel[2] {
				part, r := line[t*v.InC:][:v.InC], at[2]+t*v.Dilation[2]
				if r < 0 || r >= v.In[2] {
					repeat(part, fill)
				} else {
					copy(part, x[(base+r)*channels+g*v.InC:])
				}
			}
		}
	}
}

// eachTap sums taps one by one, for groups of one channel.
func (v *integers) eachTap(c *run.Call, x []byte, flip byte, zero int32, done func(channel, from int, sums []int32)) {
	steps, plane, taps, w := image.Volume(v.Out), image.Volume(v.In), image.Volume(v.Kernel), tensor.Bytes(v.w)
	c.ByRows(v.Batch*v.Groups*v.OutC, steps*taps, func(from, to int) {
		sums, in := make([]int32, steps), make([]int32, plane)
		for i := from; i < to; i++ {
			o := i % (v.Groups * v.OutC)
			for k, u := range x[i/v.OutC*plane:][:plane] {
				in[k] = int32(u^flip) - zero
			}
			clear(sums)
			for t, u := range w[o*taps:][:taps] {
				by := int32(tensor.Wrap(v.w.Type, int64(u))) - ZeroOf(v.wZero, o)
				v.addTap(sums, in, t, by)
			}
			done(i, 0, sums)
		}
	})
}

// addTap adds tap t times a weight to the sums of a plane.
func (v *integers) addTap(sums, in []int32, t int, by int32) {
	tap := [3]int{t / (v.Kernel[1] * v.Kernel[2]), t / v.Kernel[2] % v.Kernel[1], t % v.Kernel[2]}
	first := tap[2]*v.Dilation[2] - v.Before[2]
	lo, hi := image.Stretch(v.Out[2], v.In[2], first, v.Stride[2])
	if lo >= hi {
		return
	}
	for z := range v.Out[0] {
		for y := range v.Out[1] {
			p, q := z*v.Stride[0]-v.Before[0]+tap[0]*v.Dilation[0], y*v.Stride[1]-v.Before[1]+tap[1]*v.Dilation[1]
			if p < 0 || p >= v.In[0] || q < 0 || q >= v.In[1] {
				continue
			}
			row := sums[(z*v.Out[1]+y)*v.Out[2]:][lo:hi]
			line := in[(p*v.In[1]+q)*v.In[2]+first+lo*v.Stride[2]:]
			if v.Stride[2] == 1 {
				line = line[:len(row)]
				for i, u := range line {
					row[i] += by * u
				}
				continue
			}
			for i := range row {
				row[i] += by * line[i*v.Stride[2]]
			}
		}
	}
}

// repeat fills dst with v.
func repeat(dst []byte, v byte) {
	for i := range dst {
		dst[i] = v
	}
}
