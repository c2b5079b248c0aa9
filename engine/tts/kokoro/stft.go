package kokoro

import (
	"math"

	"quern/kernels/fourier"
)

// A transform is the short-time Fourier transform of the generator's ends: a
// periodic Hann window of size samples, every hop samples, centred.
type transform struct {
	size, hop int
	window    []float64
	plan      *fourier.Real[float64]
}

// A point is a complex number.
type point = fourier.Complex[float64]

func newTransform(size, hop int) *transform {
	t := &transform{size: size, hop: hop, plan: fourier.NewReal[float64](size)}
	for i := range size {
		t.window = append(t.window, 0.5-0.5*math.Cos(2*math.Pi*float64(i)/float64(size)))
	}
	return t
}

func (t *transform) bins() int { return t.plan.Bins() }

// forward returns magnitude beside phase, (len(x)/hop+1, 2·bins). The ends of x
// are reflected.
func (t *transform) forward(c *call, x []float32) plane {
	bins, half := t.bins(), t.size/2
	y := c.arena.plane(len(x)/t.hop+1, 2*bins)
	c.each(y.rows, func(from, to int) {
		frame, bin, scratch := make([]float64, t.size), make([]point, bins), make([]point, t.plan.Scratch())
		for f := from; f < to; f++ {
			for i := range frame {
				frame[i] = t.window[i] * float64(x[reflect(f*t.hop+i-half, len(x))])
			}
			row := y.data[f*y.cols : (f+1)*y.cols]
			t.plan.Forward(bin, frame, scratch)
			for k, v := range bin {
				row[k] = float32(math.Hypot(v.Re, v.Im))
				row[bins+k] = float32(math.Atan2(v.Im, v.Re))
			}
		}
	})
	return y
}

// reflect mirrors an index at the ends of n samples without repeating them.
func reflect(i, n int) int {
	for i < 0 || i >= n {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		if n == 1 {
			return 0
		}
	}
	return i
}

// inverse writes (x.rows-1)·hop samples: overlap-add of the frames that
// exp(first half) and sin(second half) of every row describe, divided by the sum
// of squared windows.
func (t *transform) inverse(c *call, dst []float32, x plane) {
	bins, half := t.bins(), t.size/2
	frames := c.arena.floats(x.rows * t.size)
	c.each(x.rows, func(from, to int) {
		frame, bin, scratch := make([]float64, t.size), make([]point, bins), make([]point, t.plan.Scratch())
		for f := from; f < to; f++ {
			row := x.data[f*x.cols : (f+1)*x.cols]
			for k := range bin {
				m, p := math.Exp(float64(row[k])), math.Sin(float64(row[bins+k]))
				bin[k] = point{Re: m * math.Cos(p), Im: m * math.Sin(p)}
			}
			t.plan.Inverse(frame, bin, scratch)
			for i, v := range frame {
				frames[f*t.size+i] = float32(v * t.window[i])
			}
		}
	})
	c.each(len(dst), func(from, to int) {
		for s := from; s < to; s++ {
			at := s + half // position before the cut of half a window
			first := 0     // frame that still reaches here
			if at >= t.size {
				first = (at-t.size)/t.hop + 1
			}
			var sum, weight float64
			for f := first; f*t.hop <= at && f < x.rows; f++ {
				i := at - f*t.hop
				sum += float64(frames[f*t.size+i])
				weight += t.window[i] * t.window[i]
			}
			dst[s] = float32(sum / weight)
		}
	})
}
