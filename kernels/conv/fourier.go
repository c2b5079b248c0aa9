package conv

import (
	"math"
	"math/bits"
)

// A fourier is the discrete Fourier transform of a few real rows, at each column, and its
// transpose. size is a power of two.
//
// Half of n values that one transform has are in place: value b is the real part of
// frequency b, value n-b its imaginary part (Sorensen, Jones, Heideman & Burrus,
// "Real-Valued Fast Fourier Transform Algorithms", 1987).
type fourier struct {
	size    int
	twiddle [][]turn // of 4, 8, 16, … points
}

// A turn is a root of unity: its cosine, sine and tangent.
type turn struct{ cos, sin, tan float32 }

func newFourier(size int) *fourier {
	f := &fourier{size: size}
	for n := 4; n <= size; n *= 2 {
		var t []turn
		for b := range n / 4 {
			sin, cos := math.Sincos(2 * math.Pi * float64(b) / float64(n))
			t = append(t, turn{float32(cos), float32(sin), float32(sin / cos)})
		}
		f.twiddle = append(f.twiddle, t)
	}
	return f
}

// place is where row i lies before the transform.
func (f *fourier) place(i int) int {
	return int(bits.Reverse32(uint32(i)) >> (32 - bits.Len(uint(f.size-1))))
}

// splitGo writes the transform of size rows, which begin at the places from of src, as planes
// that begin at the places to of dst: frequency 0, frequency size/2, and of each between
// them its real part, its imaginary part and their sum. scratch has size rows of columns.
func (f *fourier) splitGo(dst []float32, to []int, src []float32, from []int, scratch []float32, columns int) {
	n := f.size
	row := func(i int) []float32 { return scratch[i*columns:][:columns] }
	plane := func(p int) []float32 { return dst[to[p]:][:columns] }
	for i, at := range from[:n] {
		copy(row(f.place(i)), src[at:])
	}
	for m := 1; m < n; m *= 2 { // transforms of m values become those of 2m
		for first := 0; first < n; first += 2 * m {
			part := func(i int) []float32 { return row(first + i) }
			sums(part(0), part(m))
			for b := 1; b < m/2; b++ {
				t := f.twiddle[bits.Len(uint(m))-2][b]
				er, ei, or, oi := part(b), part(m-b), part(m+b), part(2*m-b)
				for i, a := range or {
					c := oi[i]
					u := t.cos * (a + float32(t.tan*c))
					v := t.cos * (c - float32(t.tan*a))
					x, y := er[i], ei[i]
					er[i], ei[i] = x+u, x-u
					oi[i], or[i] = y+v, v-y
				}
			}
			if m > 1 {
				negate(part(m + m/2))
			}
		}
	}
	copy(plane(0), row(0))
	copy(plane(1), row(n/2))
	for b := 1; b < n/2; b++ {
		re, im, sum := row(b), row(n-b), plane(3*b+1)
		copy(plane(3*b-1), re)
		copy(plane(3*b), im)
		for i, v := range re {
			sum[i] = v + im[i]
		}
	}
}

// joinGo adds the first rows rows of the transpose to init, in dst. src has size planes that
// begin at the places from: frequency 0, size/2, and real and imaginary part of each between
// them. init may be dst, and its stride may be 0.
func (f *fourier) joinGo(dst []float32, dstStride int, init []float32, initStride int, src []float32, from []int, scratch []float32, rows, columns int) {
	n := f.size
	row := func(i int) []float32 { return scratch[i*columns:][:columns] }
	copy(row(0), src[from[0]:])
	copy(row(n/2), src[from[1]:])
	for b := 1; b < n/2; b++ {
		copy(row(b), src[from[2*b]:])
		copy(row(n-b), src[from[2*b+1]:])
	}
	for m := n / 2; m > 0; m /= 2 {
		for first := 0; first < n; first += 2 * m {
			part := func(i int) []float32 { return row(first + i) }
			sums(part(0), part(m))
			for b := 1; b < m/2; b++ {
				t := f.twiddle[bits.Len(uint(m))-2][b]
				er, ei, or, oi := part(b), part(m-b), part(m+b), part(2*m-b)
				for i, x := range er {
					y, z, w := ei[i], or[i], oi[i]
					p, q := x-y, w+z
					er[i], ei[i] = x+y, w-z
					or[i], oi[i] = float32(t.cos*p)-float32(t.sin*q), float32(t.cos*q)+float32(t.sin*p)
				}
			}
			if m > 1 {
				negate(part(m + m/2))
			}
		}
	}
	for r := range rows {
		to, from, sum := dst[r*dstStride:][:columns], init[r*initStride:][:columns], row(f.place(r))
		for i, v := range from {
			to[i] = v + sum[i]
		}
	}
}

// sums makes x and y their sum and difference.
func sums(x, y []float32) {
	for i, v := range x {
		w := y[i]
		x[i], y[i] = v+w, v-w
	}
}

func negate(x []float32) {
	for i, v := range x {
		x[i] = -v
	}
}
