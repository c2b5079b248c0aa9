package aac

import (
	"math"

	"quern/kernels/fourier"
)

type point = fourier.Complex[float32]

// An imdct is the inverse modified discrete cosine transform of n coefficients,
// without the half of its output that mirrors the other half, scaled so that
// full scale is 1.
//
// It is a DCT-IV, computed by a complex Fourier transform of n/2 points between
// two rotations.
//
// ISO/IEC 14496-3, 4.6.11.3.1.
type imdct struct {
	n       int
	before  []point // rotations, with the scale
	after   []point
	plan    *fourier.Plan[float32]
	x       []point
	scratch []point
}

func newIMDCT(n int) *imdct {
	m := &imdct{
		n:      n,
		before: make([]point, n/2),
		after:  make([]point, n/2),
		plan:   fourier.New[float32](n / 2),
		x:      make([]point, n/2),
	}
	m.scratch = make([]point, m.plan.Scratch())
	const fullScale = 32768
	for i := range m.before {
		sin, cos := math.Sincos(-math.Pi * float64(8*i+1) / float64(8*n))
		m.after[i] = point{Re: float32(cos), Im: float32(sin)}
		f := -1 / (float64(n) * fullScale)
		m.before[i] = point{Re: float32(cos * f), Im: float32(sin * f)}
	}
	return m
}

// run writes the second and third quarter of the 2n values of the transform of
// x to dst. The first quarter is the second one backwards and negated, the
// fourth is the third one backwards. dst and x have n values and may be the
// same.
func (m *imdct) run(dst, x []float32) {
	n := m.n
	dst, x = dst[:n], x[:n]
	t := m.x
	for i, r := range m.before {
		t[i] = point{Re: x[2*i], Im: x[n-1-2*i]}.Mul(r)
	}
	t = m.plan.Forward(t, m.scratch)
	for i, r := range m.after {
		u := t[i].Mul(r)
		dst[n-1-2*i] = u.Re
		dst[2*i] = -u.Im
	}
}
