package kokoro

import (
	"math"

	"quern/kernels/conv"
	"quern/kernels/gemm"
	"quern/kernels/recurrent"
)

// A dense is a matrix (out, in) with an optional bias.
type dense struct {
	out, in int
	m       *gemm.Gemm
}

// apply returns x · Wᵀ + bias.
func (d *dense) apply(c *call, x plane) plane {
	c.yield()
	y := c.arena.plane(x.rows, d.out)
	d.m.Run(c.pool, y.data, d.out, x.data, d.in, x.rows, false)
	return y
}

// A convolution runs over time.
type convolution struct {
	m       *conv.Conv
	out, in int
	taps    int
}

// apply returns the convolution of x.
func (v *convolution) apply(c *call, x plane) plane {
	y := c.arena.plane(v.m.Rows(x.rows), v.out)
	v.to(c, y, x)
	return y
}

// to writes the convolution of x to y.
func (v *convolution) to(c *call, y, x plane) {
	c.yield()
	v.m.Run(c.pool, y.data, x.data, x.rows, false)
}

// addTo adds the convolution of x to y.
func (v *convolution) addTo(c *call, y, x plane) {
	c.yield()
	v.m.Run(c.pool, y.data, x.data, x.rows, true)
}

// A convT is a transposed convolution that multiplies the length by stride.
type convT struct {
	m               *conv.ConvTranspose
	out, in, stride int
}

func (v *convT) apply(c *call, x plane) plane {
	c.yield()
	y := c.arena.plane(v.m.Rows(x.rows), v.out)
	v.m.Run(c.pool, y.data, x.data, x.rows)
	return y
}

// An lstm is a layer that reads its input in both directions.
type lstm struct {
	m     *recurrent.LSTM
	width int // of both directions side by side
}

func (l *lstm) apply(c *call, x plane) plane {
	c.yield()
	y := c.arena.plane(x.rows, l.width)
	l.m.Run(c.pool, y.data, x.data, x.rows)
	return y
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// An affine is the linear layer that turns a style vector into the gain and the
// offset of a normalisation: gain is 1 + the first half.
type affine struct {
	m    *gemm.Gemm // (2·cols, style), with its bias
	cols int
	// The identity pair of InstanceNorm, where a file has it.
	gain, bias []float32
}

// at writes gain and offset for style s.
func (a *affine) at(c *call, gain, offset, s []float32) {
	m := c.arena.mark()
	defer c.arena.release(m)
	both := c.arena.floats(2 * a.cols)
	a.m.Run(c.pool, both, 2*a.cols, s, len(s), 1, false)
	copy(offset, both[a.cols:])
	for i := range a.cols {
		gain[i] = 1 + both[i]
		// (1+γ)·(n·w + b) + β
		if a.bias != nil {
			offset[i] += gain[i] * a.bias[i]
		}
		if a.gain != nil {
			gain[i] *= a.gain[i]
		}
	}
}

// leak is LeakyReLU in place, of a slope below 1.
func (c *call) leak(x plane, slope float32) {
	c.each(x.rows, func(from, to int) {
		part := x.data[from*x.cols : to*x.cols]
		for i, v := range part {
			part[i] = max(v, v*slope)
		}
	})
}

// concat puts planes of one length side by side.
func concat(c *call, parts ...plane) plane {
	cols := 0
	for _, p := range parts {
		cols += p.cols
	}
	y := c.arena.plane(parts[0].rows, cols)
	at := 0
	for _, p := range parts {
		for t := range p.rows {
			copy(y.data[t*cols+at:], p.data[t*p.cols:(t+1)*p.cols])
		}
		at += p.cols
	}
	return y
}

// beside puts the vector s beside every row of x.
func beside(c *call, x plane, s []float32) plane {
	y := c.arena.plane(x.rows, x.cols+len(s))
	for t := range x.rows {
		row := y.data[t*y.cols : (t+1)*y.cols]
		copy(row, x.data[t*x.cols:(t+1)*x.cols])
		copy(row[x.cols:], s)
	}
	return y
}

// repeat holds row i of x for counts[i] rows.
func repeat(c *call, x plane, counts []int, rows int) plane {
	y := c.arena.plane(rows, x.cols)
	at := 0
	for i, n := range counts {
		for range n {
			copy(y.data[at:], x.data[i*x.cols:(i+1)*x.cols])
			at += x.cols
		}
	}
	return y
}
