package fourier

import (
	"fmt"
	"math"
)

// A Real transforms an even number n of real numbers into the n/2+1 numbers of
// their transform that are not conjugates of others, as a transform of half the
// length: even numbers are its real parts, odd ones its imaginary parts.
type Real[F Float] struct {
	half  *Plan[F]
	turns []Complex[F] // (n/4+1): e^(-2πi·k/n)
}

// NewReal returns the plan of n numbers. It panics where n is not positive or
// not even.
func NewReal[F Float](n int) *Real[F] {
	if n < 2 || n%2 != 0 {
		panic(fmt.Sprintf("fourier: a transform of %d real numbers", n))
	}
	r := &Real[F]{half: New[F](n / 2), turns: make([]Complex[F], n/4+1)}
	for k := range r.turns {
		r.turns[k] = Polar[F](-2 * math.Pi * float64(k) / float64(n))
	}
	return r
}

// Bins is n/2+1.
func (r *Real[F]) Bins() int { return r.half.n + 1 }

// Scratch is how many numbers a transform needs beside its own.
func (r *Real[F]) Scratch() int { return r.half.Scratch() }

// Forward writes the transform of x, n numbers, to dst, which has Bins. The
// imaginary parts of the first and the last are 0.
func (r *Real[F]) Forward(dst []Complex[F], x []F, scratch []Complex[F]) {
	h := r.half.n
	if len(dst) != h+1 || len(x) != 2*h {
		panic(fmt.Sprintf("fourier: %d real numbers and %d bins for a plan of %d", len(x), len(dst), 2*h))
	}
	for i := range dst[:h] {
		dst[i] = Complex[F]{x[2*i], x[2*i+1]}
	}
	// z is the transform of the even numbers plus i times that of the odd ones:
	// conjugate symmetry tells them apart.
	z := r.half.Forward(dst[:h], scratch)
	first := z[0]
	for k, w := range r.turns[1:] {
		k++
		a, b := z[k], z[h-k]
		even := Complex[F]{(a.Re + b.Re) / 2, (a.Im - b.Im) / 2}
		odd := Complex[F]{(a.Im + b.Im) / 2, (b.Re - a.Re) / 2}.Mul(w)
		dst[k] = even.add(odd)
		dst[h-k] = Complex[F]{even.Re - odd.Re, odd.Im - even.Im}
	}
	dst[0] = Complex[F]{Re: first.Re + first.Im}
	dst[h] = Complex[F]{Re: first.Re - first.Im}
}

// Inverse writes the n numbers whose transform is x to dst, and overwrites x,
// which has Bins. Imaginary parts of the first and the last do not count.
func (r *Real[F]) Inverse(dst []F, x, scratch []Complex[F]) {
	h := r.half.n
	if len(x) != h+1 || len(dst) != 2*h {
		panic(fmt.Sprintf("fourier: %d real numbers and %d bins for a plan of %d", len(dst), len(x), 2*h))
	}
	x[0] = Complex[F]{(x[0].Re + x[h].Re) / 2, (x[0].Re - x[h].Re) / 2}
	for k, w := range r.turns[1:] {
		k++
		a, b := x[k], x[h-k]
		even := Complex[F]{(a.Re + b.Re) / 2, (a.Im - b.Im) / 2}
		odd := Complex[F]{(a.Re - b.Re) / 2, (a.Im + b.Im) / 2}.Mul(Complex[F]{w.Re, -w.Im})
		x[k] = Complex[F]{even.Re - odd.Im, even.Im + odd.Re}
		x[h-k] = Complex[F]{even.Re + odd.Im, odd.Re - even.Im}
	}
	for i, z := range r.half.Inverse(x[:h], scratch) {
		dst[2*i], dst[2*i+1] = z.Re, z.Im
	}
}
