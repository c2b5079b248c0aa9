package image

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// A window is how a filter moves over up to three dimensions of space; those
// that are not there are one long.
type window struct {
	rank                                              int
	In, Out, Kernel, Stride, Dilation, Before, beyond [3]int
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

// Volume is the number of points of a window or of what it goes over.
func Volume(v [3]int) int { return tensor.Count(v[:]) }

// spatial checks the attributes of a filter of x (batch, channels, space…).
// transposed filters have no auto_pad here: see convTranspose.
func spatial(c *run.Call, x *tensor.Tensor, kernel []int, pads []int) window {
	r := len(x.Shape) - 2
	if r < 1 || r > 3 {
		tensor.Unsupported("%s of shape %d", c.Node.Op, x.Shape)
	}
	w := window{rank: r, In: three(x.Shape[2:], 1), Kernel: three(kernel, 1)}
	stride, dilation := c.List("strides", -1), c.List("dilations", -1)
	if len(kernel) != r || stride != nil && len(stride) != r || dilation != nil && len(dilation) != r || pads != nil && len(pads) != 2*r {
		tensor.Malformed("filter %d, strides %d, dilations %d, pads %d of shape %d", kernel, stride, dilation, pads, x.Shape)
	}
	w.Stride, w.Dilation = three(stride, 1), three(dilation, 1)
	if pads != nil {
		w.Before, w.beyond = three(pads[:r], 0), three(pads[r:], 0)
	}
	for d := range 3 {
		for _, v := range []int{w.Kernel[d], w.Stride[d], w.Dilation[d]} {
			if v < 1 || v > tensor.MaxElems {
				tensor.Malformed("filter %d, strides %d, dilations %d", kernel, stride, dilation)
			}
		}
		if w.Before[d] < 0 || w.beyond[d] < 0 || w.Before[d] > tensor.MaxElems || w.beyond[d] > tensor.MaxElems || w.In[d] > tensor.MaxElems {
			tensor.Unsupported("pads %d", pads)
		}
	}
	return w
}

// slide returns the window of a convolution or a pool over x. With ceil the
// last step may reach beyond the padding.
func slide(c *run.Call, x *tensor.Tensor, kernel []int, ceil bool) window {
	w := spatial(c, x, kernel, c.List("pads", -1))
	auto := c.Text("auto_pad", "NOTSET")
	for d := range 3 {
		span := (w.Kernel[d]-1)*w.Dilation[d] + 1
		s := w.Stride[d]
		switch auto {
		case "SAME_UPPER", "SAME_LOWER":
			w.Out[d] = (w.In[d] + s - 1) / s
			all := max(0, (w.Out[d]-1)*s+span-w.In[d])
			w.Before[d] = all / 2
			if auto == "SAME_LOWER" {
				w.Before[d] = all - all/2
			}
			w.beyond[d] = all - w.Before[d]
			continue
		case "VALID":
			w.Before[d], w.beyond[d] = 0, 0
		case "NOTSET", "":
		default:
			tensor.Malformed("auto_pad %.20q", auto)
		}
		room := w.In[d] + w.Before[d] + w.beyond[d] - span
		switch {
		case room < 0 && !(ceil && room+s > 0):
			w.Out[d] = 0
		case ceil:
			w.Out[d] = (room+s-1)/s + 1
			if (w.Out[d]-1)*s >= w.In[d]+w.Before[d] {
				w.Out[d]--
			}
		default:
			w.Out[d] = room/s + 1
		}
	}
	return w
}

// Shape returns the shape of a result of channels.
func (w *window) Shape(batch, channels int) []int {
	return slices.Concat([]int{batch, channels}, w.Out[3-w.rank:])
}

// taps returns those of the filter that meet the input, in dimension d at step o.
func (w *window) taps(d, o int) (from, to int) {
	first := o*w.Stride[d] - w.Before[d]
	if first < 0 {
		from = min(w.Kernel[d], (-first+w.Dilation[d]-1)/w.Dilation[d])
	}
	if first < w.In[d] {
		to = min(w.Kernel[d], (w.In[d]-1-first)/w.Dilation[d]+1)
	}
	return from, max(from, to)
}

// plain reports whether every step sees just one element, its own.
func (w *window) plain() bool {
	one := [3]int{1, 1, 1}
	return w.Kernel == one && w.Stride == one && w.Before == [3]int{} && w.beyond == [3]int{}
}

// columns writes to dst (channels · kernel, to-from) what the filter sees of
// x (channels, in) at the steps from up to to, a row for each of its taps.
//
// Chellapilla, Puri & Simard, "High Performance Convolutional Neural Networks
// for Document Processing", 2006, §3.1.
func columns[T any](dst, x []T, channels int, w *window, from, to int) {
	line := make([]T, to-from)
	eachTap(line, x, channels, w, from, func(_ int, row []T) { dst = dst[copy(dst, row):] })
}

// eachTap calls f with what each tap of the filter sees of x (channels, in) at as many steps
// from one on as line is long: in line, or where it lies.
func eachTap[T any](line, x []T, channels int, w *window, from int, f func(tap int, row []T)) {
	n, plane := len(line), Volume(w.In)
	to := from + n
	height, width := w.Out[1], w.Out[2]
	tap := 0
	z0, y0, x0 := from/width/height, from/width%height, from%width // the first step
	for ch := range channels {
		src := x[ch*plane : (ch+1)*plane]
		for k0 := range w.Kernel[0] {
			for k1 := range w.Kernel[1] {
				for k2 := range w.Kernel[2] {
					row := line
					shift, by := k2*w.Dilation[2]-w.Before[2], w.Stride[2]
					i0, i1, i2 := z0, y0, x0
					for p := from; p < to; {
						m := min(width-i2, to-p)
						seg := row[p-from:][:m]
						p += m
						z, y, first := i0*w.Stride[0]-w.Before[0]+k0*w.Dilation[0], i1*w.Stride[1]-w.Before[1]+k1*w.Dilation[1], i2*by+shift
						if i1, i2 = i1+1, 0; i1 == height {
							i0, i1 = i0+1, 0
						}
						if y < 0 || y >= w.In[1] || z < 0 || z >= w.In[0] {
							clear(seg)
							continue
						}
						of := src[(z*w.In[1]+y)*w.In[2]:][:w.In[2]]
						if m == n && by == 1 && first >= 0 && first+n <= len(of) {
							row = of[first : first+n]
							continue
						}
						readLine(seg, of, first, by)
					}
					f(tap, row)
					tap++
				}
			}
		}
	}
}

// Stretch returns from which to which of n steps element first + step·by lies
// in a line of size.
func Stretch(n, size, first, by int) (lo, hi int) {
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
	lo, hi := Stretch(len(dst), len(line), first, by)
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
	steps, row := Volume(w.Out), 0
	for k0 := range w.Kernel[0] {
		for k1 := range w.Kernel[1] {
			for k2 := range w.Kernel[2] {
				from := src[row*steps : (row+1)*steps]
				row++
				for o0 := range w.Out[0] {
					z := o0*w.Stride[0] - w.Before[0] + k0*w.Dilation[0]
					if z < 0 || z >= w.In[0] {
						continue
					}
					for o1 := range w.Out[1] {
						y := o1*w.Stride[1] - w.Before[1] + k1*w.Dilation[1]
						if y < 0 || y >= w.In[1] {
							continue
						}
						line := x[(z*w.In[1]+y)*w.In[2]:][:w.In[2]]
						first := k2*w.Dilation[2] - w.Before[2]
						for o2, v := range from[(o0*w.Out[1]+o1)*w.Out[2]:][:w.Out[2]] {
							if at := first + o2*w.Stride[2]; at >= 0 && at < len(line) {
								line[at] += v
							}
						}
					}
				}
			}
		}
	}
}

// joinLines joins into each line of a plane of results what the taps see of a
// plane of x: f takes a line of results, one of x that begins at the first element,
// the step in it and which tap it is. There may be less than a whole line.
func (w *window) joinLines(dst, x []float32, f func(dst, line []float32, by, tap int)) {
	for o0 := range w.Out[0] {
		a0, b0 := w.taps(0, o0)
		for o1 := range w.Out[1] {
			a1, b1 := w.taps(1, o1)
			row := dst[(o0*w.Out[1]+o1)*w.Out[2]:][:w.Out[2]]
			for k0 := a0; k0 < b0; k0++ {
				z := o0*w.Stride[0] - w.Before[0] + k0*w.Dilation[0]
				for k1 := a1; k1 < b1; k1++ {
					y := o1*w.Stride[1] - w.Before[1] + k1*w.Dilation[1]
					line := x[(z*w.In[1]+y)*w.In[2]:][:w.In[2]]
					tap, first, by := (k0*w.Kernel[1]+k1)*w.Kernel[2], -w.Before[2], w.Stride[2]
					for range w.Kernel[2] {
						if lo, hi := Stretch(len(row), len(line), first, by); lo < hi {
							f(row[lo:hi], line[first+lo*by:], by, tap)
						}
						tap, first = tap+1, first+w.Dilation[2]
					}
				}
			}
		}
	}
}
