package image

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// A field is how the input of a convolution is laid out for gemm.Windows: of each channel with
// its padding a plane for each phase of the strides, so that a tap meets consecutive values at
// consecutive steps, in whichever line they are. Steps are counted over whole lines of a plane;
// those at the ends of lines that the filter would leave are computed and dropped.
type field struct {
	wide   [3]int   // of a plane
	phases [3][]int // of each dimension, those that taps are in
	plane  int      // values of a plane
	each   int      // values of the planes of a channel
	steps  int      // from the first to the last
	at     []uint32 // where the taps of all channels begin
}

// field lays out what v goes over, unless columns are the better layout: for filters of one tap,
// few steps, and where lines are so short that their ends count.
func (v *Convolution) field() (f field, ok bool) {
	const fewest = 2 * gemm.PanelWidth
	taps, steps := Volume(v.Kernel), Volume(v.Out)
	if taps == 1 || steps < fewest {
		return f, false
	}
	in := [3][]struct{ phase, shift int }{} // of each tap of a dimension, the phase by its number
	for d := range 3 {
		by := v.Stride[d]
		f.wide[d] = v.Out[d]
		for k := range v.Kernel[d] {
			first := k * v.Dilation[d]
			phase := slices.Index(f.phases[d], first%by)
			if phase < 0 {
				phase = len(f.phases[d])
				f.phases[d] = append(f.phases[d], first%by)
			}
			in[d] = append(in[d], struct{ phase, shift int }{phase, first / by})
			f.wide[d] = max(f.wide[d], first/by+v.Out[d])
		}
		if f.wide[d] > 2*v.Out[d]+64 {
			return f, false
		}
	}
	f.plane = Volume(f.wide)
	f.each = len(f.phases[0]) * len(f.phases[1]) * len(f.phases[2]) * f.plane
	f.steps = ((v.Out[0]-1)*f.wide[1]+v.Out[1]-1)*f.wide[2] + v.Out[2]
	if f.steps > steps+steps/3 || f.each > taps*steps || v.InC*f.each > math.MaxUint32 {
		return f, false
	}
	f.at = make([]uint32, 0, v.InC*taps)
	for ch := range v.InC {
		for _, a := range in[0] {
			for _, b := range in[1] {
				for _, c := range in[2] {
					plane := (a.phase*len(f.phases[1])+b.phase)*len(f.phases[2]) + c.phase
					f.at = append(f.at, uint32(ch*f.each+plane*f.plane+(a.shift*f.wide[1]+b.shift)*f.wide[2]+c.shift))
				}
			}
		}
	}
	return f, true
}

// lay returns x (channels, in) as f has it, and a panel's width of zeros.
func (f *field) lay(c *run.Call, x []float32, channels int, w *window) []float32 {
	in := Volume(w.In)
	out := c.Blank(onnx.Float, channels*f.each+gemm.PanelWidth).F
	clear(out[channels*f.each:])
	c.ByRows(channels, f.each, func(from, to int) {
		for ch := from; ch < to; ch++ {
			src, dst := x[ch*in:][:in], out[ch*f.each:][:f.each]
			for _, p0 := range f.phases[0] {
				for _, p1 := range f.phases[1] {
					for _, p2 := range f.phases[2] {
						for i := range f.wide[0] * f.wide[1] {
							line := dst[:f.wide[2]]
							dst = dst[f.wide[2]:]
							z, y := i/f.wide[1]*w.Stride[0]+p0-w.Before[0], i%f.wide[1]*w.Stride[1]+p1-w.Before[1]
							if z < 0 || z >= w.In[0] || y < 0 || y >= w.In[1] {
								clear(line)
								continue
							}
							readLine(line, src[(z*w.In[1]+y)*w.In[2]:][:w.In[2]], p2-w.Before[2], w.Stride[2])
						}
					}
				}
			}
		}
	})
	return out
}

// convolveField is convolve over a field, a tile of steps at a time.
func convolveField(c *run.Call, dst, x, w []float32, v *Convolution, f *field, e Ending) {
	source := f.lay(c, x, v.Batch*v.Groups*v.InC, &v.window)
	workers := c.Pool().Workers()
	size := v.tile(v.InC*f.each/f.plane+v.OutC, f.steps, workers)
	tiles := (f.steps + size - 1) / size
	steps, rows := Volume(v.Out), len(f.at)
	results := c.Blank(onnx.Float, workers, v.OutC*size).F
	c.SpreadOut(v.Batch*v.Groups*tiles, func(worker, i int) {
		from, image := i%tiles*size, i/tiles // batch and group
		n, g := min(size, f.steps-from), image%v.Groups
		r := results[worker*v.OutC*size:][:v.OutC*size]
		p := gemm.Windows{
			Dst: r, DstStride: size, X: w[g*v.OutC*rows:], XStride: rows, Rows: v.OutC,
			Source: source[image*v.InC*f.each+from:], At: f.at, N: (n + gemm.PanelWidth - 1) / gemm.PanelWidth * gemm.PanelWidth,
		}
		p.Run()
		// Lines of results are together what lies between the first and the last.
		first, last := -1, 0
		for at := 0; at < n; {
			line, begin := (from+at)/f.wide[2], (from+at)%f.wide[2]
			m := min(f.wide[2]-begin, n-at)
			z, y := line/f.wide[1], line%f.wide[1]
			if keep := min(m, v.Out[2]-begin); keep > 0 && y < v.Out[1] {
				to := (z*v.Out[1]+y)*v.Out[2] + begin
				if first < 0 {
					first = to
				}
				last = to + keep
				for o := range v.OutC {
					copy(dst[(image*v.OutC+o)*steps+to:][:keep], r[o*size+at:])
				}
			}
			at += m
		}
		for o := range v.OutC {
			if first >= 0 {
				at := (image*v.OutC+o)*steps + first
				e.finish(dst[at:at+last-first], g*v.OutC+o, at)
			}
		}
	})
}
