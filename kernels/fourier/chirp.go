package fourier

import "math"

// A chirp is a transform of any length n as a convolution, which a transform of
// at least 2n-1 points computes.
//
// Bluestein, "A Linear Filtering Approach to the Computation of Discrete Fourier
// Transform", 1970.
type chirp[F Float] struct {
	passes []pass[F]
	turns  []Complex[F] // (n): e^(-πi·k²/n)
	filter []Complex[F] // (the convolution's points): the transform of their conjugates
}

func newChirp[F Float](n int) *chirp[F] {
	size := 2*n - 1
	for !smooth(size) {
		size++
	}
	c := &chirp[F]{passes: passes[F](size), turns: make([]Complex[F], n)}
	filter := make([]Complex[F], size)
	for k := range c.turns {
		// k² mod 2n keeps the angle small, and with it exact.
		c.turns[k] = Polar[F](-math.Pi * float64(k*k%(2*n)) / float64(n))
		filter[k] = Complex[F]{c.turns[k].Re, -c.turns[k].Im}
		if k > 0 {
			filter[size-k] = filter[k]
		}
	}
	c.filter = forward(c.passes, filter, make([]Complex[F], size))
	return c
}

// run transforms x in place.
func (c *chirp[F]) run(x, scratch []Complex[F]) {
	size := len(c.filter)
	a, b := scratch[:size], scratch[size:2*size]
	for k, v := range x {
		a[k] = v.Mul(c.turns[k])
	}
	clear(a[len(x):])
	y := forward(c.passes, a, b)
	if &y[0] == &b[0] {
		a, b = b, a
	}
	for k, v := range c.filter {
		a[k] = a[k].Mul(v)
	}
	y = forward(c.passes, a, b)
	backward(y)
	for k := range x {
		x[k] = y[k].Mul(c.turns[k])
	}
}
