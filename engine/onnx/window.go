package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// A window is how a filter moves over up to three dimensions of space; those
// that are not there are one long.
type window struct {
	rank                                              int
	in, out, kernel, stride, dilation, before, beyond [3]int
}

// three returns v as the last of three numbers.
func three(v []int, missing int) (out [3]int) {
	for i := range out {
		out[i] = missing
		if j := i - 3 + len(v); j >= 0 {
			out[i] = v[j]
		}
	}
	return out
}

func volume(v [3]int) int { return count(v[:]) }

// spatial checks the attributes of a filter of x (batch, channels, space…).
// transposed filters have no auto_pad here: see convTranspose.
func (c *call) spatial(x *Tensor, kernel []int, pads []int) window {
	r := len(x.Shape) - 2
	if r < 1 || r > 3 {
		fail("%w: %s of shape %d", onnx.ErrUnsupported, c.n.Op, x.Shape)
	}
	w := window{rank: r, in: three(x.Shape[2:], 1), kernel: three(kernel, 1)}
	stride, dilation := c.list("strides", -1), c.list("dilations", -1)
	if len(kernel) != r || stride != nil && len(stride) != r || dilation != nil && len(dilation) != r || pads != nil && len(pads) != 2*r {
		fail("%w: filter %d, strides %d, dilations %d, pads %d of shape %d", onnx.ErrFormat, kernel, stride, dilation, pads, x.Shape)
	}
	w.stride, w.dilation = three(stride, 1), three(dilation, 1)
	if pads != nil {
		w.before, w.beyond = three(pads[:r], 0), three(pads[r:], 0)
	}
	for d := range 3 {
		for _, v := range []int{w.kernel[d], w.stride[d], w.dilation[d]} {
			if v < 1 || v > maxElems {
				fail("%w: filter %d, strides %d, dilations %d", onnx.ErrFormat, kernel, stride, dilation)
			}
		}
		if w.before[d] < 0 || w.beyond[d] < 0 || w.before[d] > maxElems || w.beyond[d] > maxElems || w.in[d] > maxElems {
			fail("%w: pads %d", onnx.ErrUnsupported, pads)
		}
	}
	return w
}

// slide returns the window of a convolution or a pool over x. With ceil the
// last step may reach beyond the padding.
func (c *call) slide(x *Tensor, kernel []int, ceil bool) window {
	w := c.spatial(x, kernel, c.list("pads", -1))
	auto := c.text("auto_pad", "NOTSET")
	for d := range 3 {
		span := (w.kernel[d]-1)*w.dilation[d] + 1
		s := w.stride[d]
		switch auto {
		case "SAME_UPPER", "SAME_LOWER":
			w.out[d] = (w.in[d] + s - 1) / s
			all := max(0, (w.out[d]-1)*s+span-w.in[d])
			w.before[d] = all / 2
			if auto == "SAME_LOWER" {
				w.before[d] = all - all/2
			}
			w.beyond[d] = all - w.before[d]
			continue
		case "VALID":
			w.before[d], w.beyond[d] = 0, 0
		case "NOTSET", "":
		default:
			fail("%w: auto_pad %.20q", onnx.ErrFormat, auto)
		}
		room := w.in[d] + w.before[d] + w.beyond[d] - span
		switch {
		case room < 0 && !(ceil && room+s > 0):
			w.out[d] = 0
		case ceil:
			w.out[d] = (room+s-1)/s + 1
			if (w.out[d]-1)*s >= w.in[d]+w.before[d] {
				w.out[d]--
			}
		default:
			w.out[d] = room/s + 1
		}
	}
	return w
}

// shape returns the shape of a result of channels.
func (w *window) shape(batch, channels int) []int {
	return slices.Concat([]int{batch, channels}, w.out[3-w.rank:])
}

// taps returns those of the filter that meet the input, in dimension d at step o.
func (w *window) taps(d, o int) (from, to int) {
	first := o*w.stride[d] - w.before[d]
	if first < 0 {
		from = min(w.kernel[d], (-first+w.dilation[d]-1)/w.dilation[d])
	}
	if first < w.in[d] {
		to = min(w.kernel[d], (w.in[d]-1-first)/w.dilation[d]+1)
	}
	return from, max(from, to)
}

// plain reports whether every step sees just one element, its own.
func (w *window) plain() bool {
	one := [3]int{1, 1, 1}
	return w.kernel == one && w.stride == one && w.before == [3]int{} && w.beyond == [3]int{}
}

// columns writes to dst (channels · kernel, to-from) what the filter sees of
// x (channels, in) at the steps from up to to, a row for each of its taps.
//
// Chellapilla, Puri & Simard, "High Performance Convolutional Neural Networks
// for Document Processing", 2006, §3.1.
func columns[T any](dst, x []T, channels int, w *window, from, to int) {
	n, plane := to-from, volume(w.in)
	height, width := w.out[1], w.out[2]
	for ch := range channels {
		src := x[ch*plane : (ch+1)*plane]
		for k0 := range w.kernel[0] {
			for k1 := range w.kernel[1] {
				for k2 := range w.kernel[2] {
					row := dst[:n]
					dst = dst[n:]
					shift := k2*w.dilation[2] - w.before[2]
					for p := from; p < to; {
						at, line := p%width, p/width
						m := min(width-at, to-p)
						seg := row[p-from:][:m]
						p += m
						y := line%height*w.stride[1] - w.before[1] + k1*w.dilation[1]
						z := line/height*w.stride[0] - w.before[0] + k0*w.dilation[0]
						if y < 0 || y >= w.in[1] || z < 0 || z >= w.in[0] {
							clear(seg)
							continue
						}
						readLine(seg, src[(z*w.in[1]+y)*w.in[2]:][:w.in[2]], at*w.stride[2]+shift, w.stride[2])
					}
				}
			}
		}
	}
}

// stretch returns from which to which of n steps element first + step·by lies
// in a line of size.
func stretch(n, size, first, by int) (lo, hi int) {
	if first < 0 {
		lo = min(n, (-first+by-1)/by)
	}
	if hi = lo; first < size {
		hi = min(n, max(lo, (size-1-first)/by+1))
	}
	return lo, hi
}

// readLine reads every by-th element of line from first on; zeros lie around it.
func readLine[T any](dst, line []T, first, by int) {
	lo, hi := stretch(len(dst), len(line), first, by)
	clear(dst[:lo])
	clear(dst[hi:])
	if lo == hi {
		return
	}
	if line = line[first+lo*by:]; by == 1 {
		copy(dst[lo:hi], line)
		return
	}
	for i := range dst[lo:hi] {
		dst[lo+i] = line[i*by]
	}
}

// scatterColumns is columns the other way round: it adds what lies in src
// (kernel, steps), for one channel, to x (in).
func scatterColumns[T float32 | float64 | int64](x, src []T, w *window) {
	steps, row := volume(w.out), 0
	for k0 := range w.kernel[0] {
		for k1 := range w.kernel[1] {
			for k2 := range w.kernel[2] {
				from := src[row*steps : (row+1)*steps]
				row++
				for o0 := range w.out[0] {
					z := o0*w.stride[0] - w.before[0] + k0*w.dilation[0]
					if z < 0 || z >= w.in[0] {
						continue
					}
					for o1 := range w.out[1] {
						y := o1*w.stride[1] - w.before[1] + k1*w.dilation[1]
						if y < 0 || y >= w.in[1] {
							continue
						}
						line := x[(z*w.in[1]+y)*w.in[2]:][:w.in[2]]
						first := k2*w.dilation[2] - w.before[2]
						for o2, v := range from[(o0*w.out[1]+o1)*w.out[2]:][:w.out[2]] {
							if at := first + o2*w.stride[2]; at >= 0 && at < len(line) {
								line[at] += v
							}
						}
					}
				}
			}
		}
	}
}
