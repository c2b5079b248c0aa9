package aac

import (
	"math"

	"quern/kernels/fourier"
)

type point = fourier.Complex[float32]

// fullScale is the amplitude that coefficients have for samples of 1.
const fullScale = 32768

// A transform is what the modified discrete cosine transform of n coefficients and
// its inverse have in common: a DCT-IV, the values of which come backwards and negated.
//
// It is computed by a complex Fourier transform of n/2 points between two
// rotations.
//
// ISO/IEC 14496-3, 4.6.11.3.1.
type transform struct {
	n       int
	before  []point // rotations, with the scale
	after   []point
	plan    *fourier.Plan[float32]
	x       []point
	scratch []point
}

// newTransform returns the transform of n values, times scale.
func newTransform(n int, scale float64) *transform {
	m := &transform{
		n:      n,
		before: make([]point, n/2),
		after:  make([]point, n/2),
		plan:   fourier.New[float32](n / 2),
		x:      make([]point, n/2),
	}
	m.scratch = make([]point, m.plan.Scratch())
	for i := range m.before {
		sin, cos := math.Sincos(-math.Pi * float64(8*i+1) / float64(8*n))
		m.after[i] = point{Re: float32(cos), Im: float32(sin)}
		m.before[i] = point{Re: float32(-cos * scale), Im: float32(-sin * scale)}
	}
	return m
}

// newIMDCT returns the transform that makes samples: what it writes is the second and
// third quarter of the 2n values of the inverse. The first quarter is the second one
// backwards and negated, the fourth is the third one backwards.
func newIMDCT(n int) *transform { return newTransform(n, 1/(float64(n)*fullScale)) }

// run writes the transform of x to dst. Both have n values and may be the same.
func (m *transform) run(dst, x []float32) {
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
