package fourier

import "math"

// A pass takes transforms of n points apart by radix, and leaves the data in
// order in another buffer; stride transforms lie side by side.
//
// Stockham's arrangement: Cochran et al., "What Is the Fast Fourier
// Transform?", 1967.
type pass[F Float] struct {
	radix, stride int
	twiddles      []Complex[F] // radix-1 for each of n/radix points
}

// radices are what there are passes for, in order of preference.
var radices = [...]int{4, 2, 3, 5}

// smooth reports whether n is a product of radices.
func smooth(n int) bool {
	for _, r := range radices {
		for n%r == 0 {
			n /= r
		}
	}
	return n == 1
}

// passes returns those of a smooth number of points.
func passes[F Float](n int) []pass[F] {
	var out []pass[F]
	stride := 1
	for _, r := range radices {
		for n%r == 0 {
			p := pass[F]{radix: r, stride: stride, twiddles: make([]Complex[F], 0, n/r*(r-1))}
			for i := range n / r {
				for j := 1; j < r; j++ {
					p.twiddles = append(p.twiddles, Polar[F](-2*math.Pi*float64(i*j)/float64(n)))
				}
			}
			out = append(out, p)
			n /= r
			stride *= r
		}
	}
	return out
}

// forward applies passes to x, by way of y, and returns the one that holds the
// result.
func forward[F Float](passes []pass[F], x, y []Complex[F]) []Complex[F] {
	for i := range passes {
		passes[i].run(y, x)
		x, y = y, x
	}
	return x
}

// backward makes the inverse transform of the forward one: they differ in the
// sign of j alone, so number n-j is j's, and in the factor 1/n.
func backward[F Float](x []Complex[F]) {
	f := 1 / F(len(x))
	x[0] = x[0].by(f)
	for i, j := 1, len(x)-1; i <= j; i, j = i+1, j-1 {
		x[i], x[j] = x[j].by(f), x[i].by(f)
	}
}

// run is the pass from x to y.
func (p *pass[F]) run(y, x []Complex[F]) {
	switch p.radix {
	case 2:
		p.two(y, x)
	case 3:
		p.three(y, x)
	case 4:
		if p.stride == 1 {
			p.firstFour(y, x)
		} else {
			p.four(y, x)
		}
	case 5:
		p.five(y, x)
	}
}

func (p *pass[F]) two(y, x []Complex[F]) {
	s, half := p.stride, len(x)/2
	for i, w := range p.twiddles {
		a, b := x[s*i:][:s], x[s*i+half:][:s]
		c, d := y[2*s*i:][:s], y[2*s*i+s:][:s]
		for q, u := range a {
			v := b[q]
			c[q], d[q] = u.add(v), u.sub(v).Mul(w)
		}
	}
}

func (p *pass[F]) three(y, x []Complex[F]) {
	const sin60 = 0.8660254037844386
	s, third := p.stride, len(x)/3
	for i := range len(p.twiddles) / 2 {
		w1, w2 := p.twiddles[2*i], p.twiddles[2*i+1]
		a0, a1, a2 := x[s*i:][:s], x[s*i+third:][:s], x[s*i+2*third:][:s]
		b := y[3*s*i:][:3*s]
		b0, b1, b2 := b[:s], b[s:][:s], b[2*s:][:s]
		for q, u := range a0 {
			v, w := a1[q], a2[q]
			sum := v.add(w)
			m, r := u.sub(sum.by(0.5)), v.sub(w).by(sin60).turn()
			b0[q], b1[q], b2[q] = u.add(sum), m.add(r).Mul(w1), m.sub(r).Mul(w2)
		}
	}
}

func (p *pass[F]) four(y, x []Complex[F]) {
	s, quarter := p.stride, len(x)/4
	for i := range len(p.twiddles) / 3 {
		w := p.twiddles[3*i:][:3]
		w1, w2, w3 := w[0], w[1], w[2]
		a0, a1, a2, a3 := x[s*i:][:s], x[s*i+quarter:][:s], x[s*i+2*quarter:][:s], x[s*i+3*quarter:][:s]
		b := y[4*s*i:][:4*s]
		b0, b1, b2, b3 := b[:s], b[s:][:s], b[2*s:][:s], b[3*s:][:s]
		for q, u := range a0 {
			v, t, z := a1[q], a2[q], a3[q]
			e, f := u.add(t), u.sub(t)
			g, h := v.add(z), v.sub(z).turn()
			b0[q], b1[q], b2[q], b3[q] = e.add(g), f.add(h).Mul(w1), e.sub(g).Mul(w2), f.sub(h).Mul(w3)
		}
	}
}

// firstFour is four with a stride of 1, where a loop over the stride costs more
// than what is in it.
func (p *pass[F]) firstFour(y, x []Complex[F]) {
	quarter := len(x) / 4
	a0, a1, a2, a3 := x[:quarter], x[quarter:][:quarter], x[2*quarter:][:quarter], x[3*quarter:][:quarter]
	w := p.twiddles
	for i, u := range a0 {
		v, t, z := a1[i], a2[i], a3[i]
		e, f := u.add(t), u.sub(t)
		g, h := v.add(z), v.sub(z).turn()
		w, b := (*[3]Complex[F])(w[3*i:]), (*[4]Complex[F])(y[4*i:])
		b[0], b[1], b[2], b[3] = e.add(g), f.add(h).Mul(w[0]), e.sub(g).Mul(w[1]), f.sub(h).Mul(w[2])
	}
}

func (p *pass[F]) five(y, x []Complex[F]) {
	const (
		c1, s1 = 0.30901699437494745, 0.9510565162951535 // of 72°
		c2, s2 = -0.8090169943749475, 0.5877852522924731 // of 144°
	)
	s, fifth := p.stride, len(x)/5
	for i := range len(p.twiddles) / 4 {
		w := p.twiddles[4*i:][:4]
		a0, a1, a2, a3, a4 := x[s*i:][:s], x[s*i+fifth:][:s], x[s*i+2*fifth:][:s], x[s*i+3*fifth:][:s], x[s*i+4*fifth:][:s]
		b := y[5*s*i:][:5*s]
		b0, b1, b2, b3, b4 := b[:s], b[s:][:s], b[2*s:][:s], b[3*s:][:s], b[4*s:][:s]
		for q, u := range a0 {
			p1, m1 := a1[q].add(a4[q]), a1[q].sub(a4[q])
			p2, m2 := a2[q].add(a3[q]), a2[q].sub(a3[q])
			e1 := u.add(p1.by(c1)).add(p2.by(c2))
			e2 := u.add(p1.by(c2)).add(p2.by(c1))
			o1 := m1.by(s1).add(m2.by(s2)).turn()
			o2 := m1.by(s2).sub(m2.by(s1)).turn()
			b0[q] = u.add(p1).add(p2)
			b1[q], b4[q] = e1.add(o1).Mul(w[0]), e1.sub(o1).Mul(w[3])
			b2[q], b3[q] = e2.add(o2).Mul(w[1]), e2.sub(o2).Mul(w[2])
		}
	}
}
