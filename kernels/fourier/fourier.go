// Package fourier computes discrete Fourier transforms of any length, in
// float32 or float64:
//
//	X[k] = Σ x[j]·e^(-2πi·jk/n)
//
// A plan belongs to one length. It does not change once it is made, so any
// number of goroutines may share one; what a transform writes is its caller's,
// scratch included, and no transform allocates.
//
// Two users of transforms have none of these. MP3's are of 9 and 32 points,
// written out (two of 9 points are 217 instructions, one by a plan 1249). The
// spectrum of the Silero detector is a matrix of its file.
package fourier

import (
	"fmt"
	"math"
)

// A Float is what a transform is computed in.
type Float interface{ float32 | float64 }

// A Complex is a complex number. Generic code cannot take Go's own apart, and
// the product of two complex64 is made in float64.
type Complex[F Float] struct{ Re, Im F }

// Mul returns a·b.
func (a Complex[F]) Mul(b Complex[F]) Complex[F] {
	return Complex[F]{a.Re*b.Re - a.Im*b.Im, a.Re*b.Im + a.Im*b.Re}
}

func (a Complex[F]) add(b Complex[F]) Complex[F] { return Complex[F]{a.Re + b.Re, a.Im + b.Im} }
func (a Complex[F]) sub(b Complex[F]) Complex[F] { return Complex[F]{a.Re - b.Re, a.Im - b.Im} }
func (a Complex[F]) by(f F) Complex[F]           { return Complex[F]{f * a.Re, f * a.Im} }

// turn is -i·a.
func (a Complex[F]) turn() Complex[F] { return Complex[F]{a.Im, -a.Re} }

// Polar returns e^(i·angle).
func Polar[F Float](angle float64) Complex[F] {
	sin, cos := math.Sincos(angle)
	return Complex[F]{F(cos), F(sin)}
}

// A Plan transforms n complex numbers: in passes where n has no prime factor
// beyond 5, and as a convolution by a longer transform otherwise.
type Plan[F Float] struct {
	n      int
	passes []pass[F]
	chirp  *chirp[F] // nil where there are passes
}

// New returns the plan of n numbers. It panics where n is not positive.
func New[F Float](n int) *Plan[F] {
	if n < 1 {
		panic(fmt.Sprintf("fourier: a transform of %d numbers", n))
	}
	if !smooth(n) {
		return &Plan[F]{n: n, chirp: newChirp[F](n)}
	}
	return &Plan[F]{n: n, passes: passes[F](n)}
}

// Len is the number of numbers.
func (p *Plan[F]) Len() int { return p.n }

// Scratch is how many numbers a transform needs beside its own: Len, or about
// four times as many where Len has a prime factor beyond 5.
func (p *Plan[F]) Scratch() int {
	if p.chirp != nil {
		return 2 * len(p.chirp.filter)
	}
	return p.n
}

// Forward transforms x, of length Len. The result is in x or in scratch, which
// has at least Scratch numbers: it returns where. The other is overwritten.
func (p *Plan[F]) Forward(x, scratch []Complex[F]) []Complex[F] {
	if len(x) != p.n || len(scratch) < p.Scratch() {
		panic(fmt.Sprintf("fourier: %d numbers and %d of scratch for a plan of %d and %d", len(x), len(scratch), p.n, p.Scratch()))
	}
	if p.chirp != nil {
		p.chirp.run(x, scratch)
		return x
	}
	return forward(p.passes, x, scratch[:p.n])
}

// Inverse is Forward for the other direction: it takes what Forward returns to
// the numbers that came in, 1/n included.
func (p *Plan[F]) Inverse(x, scratch []Complex[F]) []Complex[F] {
	x = p.Forward(x, scratch)
	backward(x)
	return x
}
