package aac

import (
	"math"
	"math/cmplx"
)

// An imdct is the inverse modified discrete cosine transform of n coefficients,
// without the half of its output that mirrors the other half, scaled so that
// full scale is 1.
//
// It is a DCT-IV, computed by a complex Fourier transform of n/2 points between
// two rotations.
//
// ISO/IEC 14496-3, 4.6.11.3.1.
type imdct struct {
	n      int
	before []complex64 // rotations, with the scale
	after  []complex64
	fft    fft
	x      []complex64
}

func newIMDCT(n int) *imdct {
	m := &imdct{
		n:      n,
		before: make([]complex64, n/2),
		after:  make([]complex64, n/2),
		fft:    newFFT(n / 2),
		x:      make([]complex64, n/2),
	}
	const fullScale = 32768
	for i := range m.before {
		r := cmplx.Rect(1, -math.Pi*float64(8*i+1)/float64(8*n))
		m.after[i] = complex64(r)
		m.before[i] = complex64(r * complex(-1/(float64(n)*fullScale), 0))
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
		t[i] = mul(complex(x[2*i], x[n-1-2*i]), r)
	}
	t = m.fft.run(t)
	for i, r := range m.after {
		u := mul(t[i], r)
		dst[n-1-2*i] = real(u)
		dst[2*i] = -imag(u)
	}
}

// An fft is a Fourier transform of a length with factors 2 to 5, as passes that
// each move the data between two buffers and leave it in order (Stockham's
// arrangement).
type fft struct {
	passes []pass
	y      []complex64
}

// A pass takes n points apart by radix; the transforms of n points lie stride
// apart in the data.
type pass struct {
	radix, stride int
	twiddles      []complex64 // radix-1 for each of n/radix points
}

func newFFT(n int) fft {
	f := fft{y: make([]complex64, n)}
	stride := 1
	for n > 1 {
		r := 2
		for _, k := range []int{4, 2, 3, 5} {
			if n%k == 0 {
				r = k
				break
			}
		}
		p := pass{radix: r, stride: stride}
		for i := range n / r {
			for j := 1; j < r; j++ {
				p.twiddles = append(p.twiddles, complex64(cmplx.Rect(1, -2*math.Pi*float64(i*j)/float64(n))))
			}
		}
		f.passes = append(f.passes, p)
		n /= r
		stride *= r
	}
	return f
}

// run transforms x in place or into the buffer of f, and returns where.
func (f *fft) run(x []complex64) []complex64 {
	y := f.y
	for i := range f.passes {
		p := &f.passes[i]
		switch p.radix {
		case 2:
			p.two(y, x)
		case 3:
			p.three(y, x)
		case 4:
			p.four(y, x)
		case 5:
			p.five(y, x)
		}
		x, y = y, x
	}
	return x
}

func (p *pass) two(y, x []complex64) {
	s, half := p.stride, len(x)/2
	for i, w := range p.twiddles {
		a, b := x[s*i:][:s], x[s*i+half:][:s]
		c, d := y[2*s*i:][:s], y[2*s*i+s:][:s]
		for q, u := range a {
			v := b[q]
			c[q], d[q] = u+v, mul(u-v, w)
		}
	}
}

func (p *pass) three(y, x []complex64) {
	const sin60 = 0.8660254037844386
	s, third := p.stride, len(x)/3
	for i := range len(p.twiddles) / 2 {
		w1, w2 := p.twiddles[2*i], p.twiddles[2*i+1]
		a := x[s*i:]
		b := y[3*s*i:]
		for q := range s {
			u, v, w := a[q], a[q+third], a[q+2*third]
			sum, d := v+w, v-w
			m := u - complex(0.5*real(sum), 0.5*imag(sum))
			r := complex(sin60*imag(d), -sin60*real(d)) // -i·sin60·d
			b[q], b[q+s], b[q+2*s] = u+sum, mul(m+r, w1), mul(m-r, w2)
		}
	}
}

func (p *pass) four(y, x []complex64) {
	s, quarter := p.stride, len(x)/4
	for i := range len(p.twiddles) / 3 {
		w := p.twiddles[3*i:][:3]
		w1, w2, w3 := w[0], w[1], w[2]
		a0, a1, a2, a3 := x[s*i:][:s], x[s*i+quarter:][:s], x[s*i+2*quarter:][:s], x[s*i+3*quarter:][:s]
		b := y[4*s*i:][:4*s]
		b0, b1, b2, b3 := b[:s], b[s:][:s], b[2*s:][:s], b[3*s:][:s]
		for q, u := range a0 {
			v, t, z := a1[q], a2[q], a3[q]
			e, f := u+t, u-t
			g, d := v+z, v-z
			h := complex(imag(d), -real(d)) // -i·d
			b0[q], b1[q], b2[q], b3[q] = e+g, mul(f+h, w1), mul(e-g, w2), mul(f-h, w3)
		}
	}
}

func (p *pass) five(y, x []complex64) {
	const (
		c1, s1 = 0.30901699437494745, 0.9510565162951535 // of 72°
		c2, s2 = -0.8090169943749475, 0.5877852522924731 // of 144°
	)
	s, fifth := p.stride, len(x)/5
	for i := range len(p.twiddles) / 4 {
		w := p.twiddles[4*i:][:4]
		a := x[s*i:]
		b := y[5*s*i:]
		for q := range s {
			u := a[q]
			p1, m1 := a[q+fifth]+a[q+4*fifth], a[q+fifth]-a[q+4*fifth]
			p2, m2 := a[q+2*fifth]+a[q+3*fifth], a[q+2*fifth]-a[q+3*fifth]
			e1 := u + scale(p1, c1) + scale(p2, c2)
			e2 := u + scale(p1, c2) + scale(p2, c1)
			o1 := turn(scale(m1, s1) + scale(m2, s2))
			o2 := turn(scale(m1, s2) - scale(m2, s1))
			b[q] = u + p1 + p2
			b[q+s], b[q+4*s] = mul(e1+o1, w[0]), mul(e1-o1, w[3])
			b[q+2*s], b[q+3*s] = mul(e2+o2, w[1]), mul(e2-o2, w[2])
		}
	}
}

func scale(z complex64, f float32) complex64 { return complex(f*real(z), f*imag(z)) }

// mul is a·b in float32. Go's own product of complex64 takes the way through
// float64, which costs more than it gains here.
func mul(a, b complex64) complex64 {
	return complex(real(a)*real(b)-imag(a)*imag(b), real(a)*imag(b)+imag(a)*real(b))
}

// turn is -i·z.
func turn(z complex64) complex64 { return complex(imag(z), -real(z)) }
