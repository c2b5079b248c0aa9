package kokoro

import (
	"math"

	"quern/kernels"
)

// chunkRows is how many steps a worker takes at a time. Sums are kept per chunk
// and added in order, so results do not depend on the number of workers.
const chunkRows = 256

// A norm is one adaptive instance normalisation followed by an activation, which
// together are one pass over their input: y = f(a·x + b) with a and b per
// channel.
//
// Huang & Belongie, "Arbitrary Style Transfer in Real-time with Adaptive
// Instance Normalization", 2017, eq. 8.
type norm struct {
	affine *affine
	alpha  []float32 // of the snake activation; nil for LeakyReLU with slope
	slope  float32
}

// apply normalises x over time with style s and writes the activation to a new
// plane with the given phases and padding.
func (n *norm) apply(c *call, x plane, s []float32, phases, pad int) plane {
	y := c.arena.plane(x.rows, x.cols, phases, pad)
	m := c.arena.mark()
	a, b := c.arena.floats(x.cols), c.arena.floats(x.cols)
	n.affine.at(a, b, s)
	mean, scale := c.arena.floats(x.cols), c.arena.floats(x.cols)
	c.moments(x, mean, scale)
	for i := range a {
		a[i] *= scale[i]
		b[i] -= mean[i] * a[i]
	}
	c.each(x.rows, func(_, from, to int) {
		for t := from; t < to; t++ {
			in, out := x.row(t), y.row(t)
			if n.alpha != nil {
				snake(out, in, a, b, n.alpha)
				continue
			}
			for i, v := range in {
				v = v*a[i] + b[i]
				if v < 0 {
					v *= n.slope
				}
				out[i] = v
			}
		}
	})
	c.arena.release(m)
	return y
}

// moments writes the mean of every channel of x over time and 1/√(variance+ε).
//
// Values are summed relative to the first row in float32 within a chunk and in
// float64 over chunks: a large common offset costs no precision.
func (c *call) moments(x plane, mean, scale []float32) {
	const eps = 1e-5
	cols := x.cols
	chunks := (x.rows + chunkRows - 1) / chunkRows
	m := c.arena.mark()
	sums := c.arena.floats(2 * chunks * cols)
	origin := x.row(0)
	c.each(x.rows, func(chunk, from, to int) {
		sum := sums[2*chunk*cols : (2*chunk+1)*cols]
		square := sums[(2*chunk+1)*cols : (2*chunk+2)*cols]
		clear(sum)
		clear(square)
		for t := from; t < to; t++ {
			row := x.row(t)
			for i, v := range row {
				d := v - origin[i]
				sum[i] += d
				square[i] += d * d
			}
		}
	})
	for i := range cols {
		var sum, square float64
		for k := range chunks {
			sum += float64(sums[2*k*cols+i])
			square += float64(sums[(2*k+1)*cols+i])
		}
		sum /= float64(x.rows)
		square = max(square/float64(x.rows)-sum*sum, 0)
		mean[i] = float32(sum) + origin[i]
		scale[i] = float32(1 / math.Sqrt(square+eps))
	}
	c.arena.release(m)
}

// snake writes v + sin²(αv)/α for v = a·x + b.
//
// Ziyin, Hartwig & Ueda, "Neural Networks Fail to Learn Periodic Functions and
// How to Fix It", 2020, eq. 3.
func snake(dst, x, a, b, alpha []float32) {
	a, b, alpha, dst = a[:len(x)], b[:len(x)], alpha[:len(x)], dst[:len(x)]
	for i, v := range x {
		v = v*a[i] + b[i]
		al := alpha[i]
		s := sin(al * v)
		dst[i] = v + s*s/al
	}
}

// sin is the sine of x with an error below 3·10⁻⁷ for |x| < 10⁴: the odd Taylor
// polynomial of degree 11 on [-π/2, π/2]. The sign of whole turns is kept.
func sin(x float32) float32 {
	const (
		piHi  = 0x1.92p1 // 8 bits, so that k·piHi is exact
		piMid = 0x1.fb5p-11
		piLo  = math.Pi - piHi - piMid
		shift = 0x1.8p23
	)
	t := x*(1/math.Pi) + shift
	k := t - shift
	r := x - k*piHi - k*piMid - k*piLo
	q := r * r
	p := float32(-1.0 / 39916800)
	p = p*q + 1.0/362880
	p = p*q - 1.0/5040
	p = p*q + 1.0/120
	p = p*q - 1.0/6
	p = r + r*q*p
	// An odd number of half turns changes the sign; it is the lowest bit of t.
	return math.Float32frombits(math.Float32bits(p) ^ math.Float32bits(t)<<31)
}

// each calls f for chunks of [0, rows) on the pool.
func (c *call) each(rows int, f func(chunk, from, to int)) {
	region := kernels.Region{F: func(_, chunk int) {
		f(chunk, chunk*chunkRows, min((chunk+1)*chunkRows, rows))
	}}
	c.pool.Run((rows+chunkRows-1)/chunkRows, &region)
}
