package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// int8Filters keeps filters of integers laid out for products.
type int8Filters struct {
	packs map[[2]*Tensor][]*int8Weights // of constants and their zero points, by group
}

func int8ConvOps() table {
	f := &int8Filters{packs: make(map[[2]*Tensor][]*int8Weights)}
	return table{"ConvInteger": f.convInteger, "QLinearConv": f.linearConv}
}

// integers is a convolution of integers of 8 bits.
type integers struct {
	convolution
	x, w, xZero, wZero *Tensor
}

// integers checks a convolution whose zero points are inputs of a node: one of x,
// and one or one a channel of w.
func (c *call) integers(x, w, xZero, wZero int) *integers {
	v := &integers{x: c.must(x), w: c.must(w), xZero: c.bare(xZero), wZero: c.bare(wZero)}
	v.convolution = c.convolution(v.x, v.w)
	if v.xZero != nil && (v.xZero.len() != 1 || v.xZero.Type != v.x.Type) || v.wZero != nil && (v.wZero.len() != 1 && v.wZero.len() != v.w.Shape[0] || v.wZero.Type != v.w.Type) {
		fail("%w: zero points for %v of shape %d and %v of %d", onnx.ErrFormat, v.x.Type, v.x.Shape, v.w.Type, v.w.Shape)
	}
	if k := v.inC * volume(v.kernel); k > 1<<16 {
		fail("%w: a sum of %d products of integers", onnx.ErrUnsupported, k)
	}
	return v
}

// zeroOf returns the zero point of channel o; a scalar is that of all.
func zeroOf(zero *Tensor, o int) int32 {
	if zero == nil {
		return 0
	}
	return int32(zero.at(o % zero.len()))
}

func (f *int8Filters) convInteger(c *call) []*Tensor {
	v := c.integers(0, 1, 2, 3)
	steps := volume(v.out)
	out := c.blank(onnx.Int32, v.shape(v.batch, v.w.Shape[0])...)
	if out.len() > 0 {
		f.convolve(c, v, func(channel, from int, sums []int32) {
			to := out.I[channel*steps+from:]
			for i, s := range sums {
				to[i] = int64(s)
			}
		})
	}
	return one(out)
}

// linearConv is a convolution of quantised numbers, quantised again.
func (f *int8Filters) linearConv(c *call) []*Tensor {
	v := c.integers(0, 3, 2, 5)
	scaleX, scaleW, scaleY, zeroY, bias := c.x(1), c.x(4), c.x(6), c.must(7), c.opt(8)
	m := v.w.Shape[0]
	if scaleX.len() != 1 || scaleW.len() != 1 && scaleW.len() != m || scaleX.F == nil || scaleW.F == nil || bias != nil && (bias.len() != m || bias.I == nil) {
		fail("%w: scales of shapes %d and %d", onnx.ErrFormat, scaleX.Shape, scaleW.Shape)
	}
	to := c.linear(zeroY.Type, 6, 7)
	out := c.blankRaw(zeroY.Type, v.shape(v.batch, m)...)
	if out.len() == 0 {
		return one(out)
	}
	steps := volume(v.out)
	f.convolve(c, v, func(channel, from int, sums []int32) {
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
	return one(out)
}

// convolve calls f with sums of a channel of an image, (batch · channels), at
// steps from on, from several workers.
func (f *int8Filters) convolve(c *call, v *integers, done func(channel, from int, sums []int32)) {
	x, flip := eights(v.x), byte(0)
	zero := zeroOf(v.xZero, 0)
	if v.x.Type == onnx.Int8 {
		zero, flip = zero+128, 128
	}
	if v.inC == 1 && v.outC < 4 {
		v.eachTap(c, x, flip, zero, done)
		return
	}
	// Channels last, the taps of a step are short lists of neighbours.
	plane, channels, steps := volume(v.in), v.groups*v.inC, volume(v.out)
	turned := c.blankRaw(onnx.Uint8, plane, channels).Raw
	k, n := v.inC*volume(v.kernel), v.outC
	packs := f.pack(v)
	stride := packs[0].w.Stride()
	size := min(steps, max(64, tileBytes/max(stride, 4*n)))
	rows := c.blankRaw(onnx.Uint8, size, stride).Raw
	sums, lines := make([]int32, size*n), make([]int32, n*size)
	for b := range v.batch {
		image := x[b*channels*plane:]
		c.byRows(plane, channels, func(from, to int) {
			for ch := range channels {
				for p, u := range image[ch*plane+from : ch*plane+to] {
					turned[(from+p)*channels+ch] = u ^ flip
				}
			}
		})
		for g, w := range packs {
			for from := 0; from < steps; from += size {
				c.check()
				here := min(size, steps-from)
				c.byRows(here, k, func(a, b int) {
					for s := a; s < b; s++ {
						v.gather(rows[s*stride:][:k], turned, from+s, g, byte(zero))
					}
				})
				w.gemm.RunInts(c.pool(), sums, n, rows, stride, here, zero)
				c.byRows(here, n+stride, func(a, b int) {
					for s := a; s < b; s++ {
						row := sums[s*n:][:n]
						if w.zero != nil {
							w.less(row, rows[s*stride:], zero)
						}
						for o, sum := range row {
							lines[o*size+s] = sum
						}
					}
				})
				c.byRows(n, 4*here, func(first, last int) {
					for o := first; o < last; o++ {
						done((b*v.groups+g)*n+o, from, lines[o*size:][:here])
					}
				})
			}
		}
	}
}

// tileBytes is about how many bytes of columns are multiplied at a time.
const tileBytes = 1 << 18

// pack lays out the filters of every group, taps before channels.
func (f *int8Filters) pack(v *integers) []*int8Weights {
	key := [2]*Tensor{v.w, v.wZero}
	if p := f.packs[key]; p != nil {
		return p
	}
	taps, w := volume(v.kernel), eights(v.w)
	k, n := v.inC*taps, v.outC
	packs, columns := make([]*int8Weights, v.groups), make([]byte, k*n)
	for g := range packs {
		for o := range n {
			for i, u := range w[(g*n+o)*k:][:k] {
				columns[(i%taps*v.inC+i/taps)*n+o] = u
			}
		}
		packs[g] = newInt8Weights(v.w.Type, columns, k, n, func(j int) int32 { return zeroOf(v.wZero, g*n+j) })
		packs[g].gemm = gemm.NewInt8Gemm(packs[g].w, nil, nil)
	}
	if v.w.isConstant() && (v.wZero == nil || v.wZero.isConstant()) {
		f.packs[key] = packs
	}
	return packs
}

// gather writes what the taps of a step see of group g, and fill beyond the
// input: (taps, channels) of x, which is (plane, channels).
func (v *integers) gather(dst, x []byte, step, g int, fill byte) {
	channels := v.groups * v.inC
	at := [3]int{step / (v.out[1] * v.out[2]), step / v.out[2] % v.out[1], step % v.out[2]}
	for d := range at {
		at[d] = at[d]*v.stride[d] - v.before[d]
	}
	for z := range v.kernel[0] {
		for y := range v.kernel[1] {
			p, q := at[0]+z*v.dilation[0], at[1]+y*v.dilation[1]
			line := dst[:v.kernel[2]*v.inC]
			dst = dst[len(line):]
			if p < 0 || p >= v.in[0] || q < 0 || q >= v.in[1] {
				repeat(line, fill)
				continue
			}
			base := (p*v.in[1] + q) * v.in[2]
			if v.groups == 1 && v.dilation[2] == 1 {
				lo, hi := min(max(-at[2], 0), v.kernel[2]), max(min(v.in[2]-at[2], v.kernel[2]), 0)
				hi = max(lo, hi)
				repeat(line[:lo*channels], fill)
				if lo < hi {
					copy(line[lo*channels:hi*channels], x[(base+at[2]+lo)*channels:])
				}
				repeat(line[hi*channels:], fill)
				continue
			}
			for t := range v.kernel[2] {
				part, r := line[t*v.inC:][:v.inC], at[2]+t*v.dilation[2]
				if r < 0 || r >= v.in[2] {
					repeat(part, fill)
				} else {
					copy(part, x[(base+r)*channels+g*v.inC:])
				}
			}
		}
	}
}

// eachTap sums taps one by one, for groups of one channel.
func (v *integers) eachTap(c *call, x []byte, flip byte, zero int32, done func(channel, from int, sums []int32)) {
	steps, plane, taps, w := volume(v.out), volume(v.in), volume(v.kernel), eights(v.w)
	c.byRows(v.batch*v.groups*v.outC, steps*taps, func(from, to int) {
		sums, in := make([]int32, steps), make([]int32, plane)
		for i := from; i < to; i++ {
			o := i % (v.groups * v.outC)
			for k, u := range x[i/v.outC*plane:][:plane] {
				in[k] = int32(u^flip) - zero
			}
			clear(sums)
			for t, u := range w[o*taps:][:taps] {
				by := int32(wrap(v.w.Type, int64(u))) - zeroOf(v.wZero, o)
				v.addTap(sums, in, t, by)
			}
			done(i, 0, sums)
		}
	})
}

// addTap adds tap t times a weight to the sums of a plane.
func (v *integers) addTap(sums, in []int32, t int, by int32) {
	tap := [3]int{t / (v.kernel[1] * v.kernel[2]), t / v.kernel[2] % v.kernel[1], t % v.kernel[2]}
	first := tap[2]*v.dilation[2] - v.before[2]
	lo, hi := stretch(v.out[2], v.in[2], first, v.stride[2])
	if lo >= hi {
		return
	}
	for z := range v.out[0] {
		for y := range v.out[1] {
			p, q := z*v.stride[0]-v.before[0]+tap[0]*v.dilation[0], y*v.stride[1]-v.before[1]+tap[1]*v.dilation[1]
			if p < 0 || p >= v.in[0] || q < 0 || q >= v.in[1] {
				continue
			}
			row := sums[(z*v.out[1]+y)*v.out[2]:][lo:hi]
			line := in[(p*v.in[1]+q)*v.in[2]+first+lo*v.stride[2]:]
			if v.stride[2] == 1 {
				line = line[:len(row)]
				for i, u := range line {
					row[i] += by * u
				}
				continue
			}
			for i := range row {
				row[i] += by * line[i*v.stride[2]]
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
