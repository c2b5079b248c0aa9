package conv

import (
	"math"

	"quern/kernels/gemm"
)

// A FastConv is the scratch of convolutions with fewer multiplications: transformed rows
// for each worker. Convolutions that never run at the same time may share one; the zero
// value is ready for use.
type FastConv struct {
	each  []*fastWork
	zeros []float32
}

// A fastWork is the scratch of a worker, with where rows and planes begin in it.
type fastWork struct {
	floats           []float32
	rows, gathered   [mostPoints]int
	spectra, results [2 * mostPoints]int
}

const (
	fastMost   = 48 // tiles at a time, so that weights are read from memory seldom
	fastLeast  = 64 // channels: with fewer, the transforms cost more than they save
	mostPoints = 32
	mostTaps   = 3 * mostPoints / 4
)

// A fastConv is a convolution of stride 1 by Fourier transforms of tiles: of 8, 16 or 32
// rows, two to four times the taps, all but as many as the taps less one give a row of the
// result (overlap-save). At each frequency a product over channels remains, a complex one by
// three real ones (Karatsuba). Filters of 3, 7 and 11 taps take 1.8, 2.3 and 2.1
// multiplications per result. The error is about that of the plain sums. An infinity or NaN
// makes its whole tile NaN.
//
// Mathieu, Henaff & LeCun, "Fast Training of Convolutional Networks through FFTs", 2014;
// Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, compares them.
type fastConv struct {
	in, out, step int // step is how many rows of the result a tile has
	transform     *fourier
	products      []fastProduct
	bias          []float32
	work          *FastConv
	phase         int // tiles of the rows that are a dilation apart
	tiles, per    int // of all, and of a chunk
}

// A fastProduct multiplies the plane from of the transformed tiles and adds the plane init
// of the results, if that is not negative, to make the plane to.
type fastProduct struct {
	w              *gemm.Panels // (out, in)
	from, init, to int
}

// suits reports whether a convolution has a fast form that is faster.
func (o *ConvOptions) suits(out, taps, in int) bool {
	return o.Fast != nil && o.Stride == 1 && taps > 2 && taps <= mostTaps && min(in, out) >= fastLeast && in%gemm.PanelWidth == 0 && out%gemm.PanelWidth == 0
}

// points is how many a tile has: more would take fewer multiplications but more weights.
func points(taps int) int {
	switch {
	case taps <= 4:
		return 8
	case taps <= 8:
		return 16
	}
	return mostPoints
}

// newFastConv transforms w, which is (out, taps, in).
func newFastConv(w []float32, out, taps, in int, o *ConvOptions) *fastConv {
	n := points(taps)
	f := &fastConv{in: in, out: out, step: n - taps + 1, transform: newFourier(n), bias: o.Bias, work: o.Fast}
	if n := max(in, out); len(f.work.zeros) < n {
		f.work.zeros = make([]float32, n)
	}
	row, sum := make([]float32, out*in), make([]float64, in)
	product := func(from, init, to int, by func(tap int) float64) {
		for o := range out {
			clear(sum)
			for j := range taps {
				v := by(j)
				for i, x := range w[(o*taps+j)*in:][:in] {
					sum[i] += v * float64(x)
				}
			}
			for i, v := range sum {
				row[o*in+i] = float32(v)
			}
		}
		p := gemm.NewPanels(out, in)
		p.PackRows(row, in)
		f.products = append(f.products, fastProduct{p, from, init, to})
	}
	// The spectrum of the taps, conjugated as no tap is turned round. Frequencies between
	// the ends stand for two.
	re := func(b int) func(int) float64 {
		by := 2 / float64(n)
		if b%(n/2) == 0 {
			by /= 2
		}
		return func(j int) float64 { return by * math.Cos(2*math.Pi*float64(b*j%n)/float64(n)) }
	}
	im := func(b int) func(int) float64 {
		return func(j int) float64 { return 2 / float64(n) * math.Sin(2*math.Pi*float64(b*j%n)/float64(n)) }
	}
	product(0, -1, 0, re(0))
	product(1, -1, 1, re(n/2))
	for b := 1; b < n/2; b++ {
		re, im := re(b), im(b)
		// (x + iy)(re + i·im) = (x+y)·re - y·(re+im) + i·((x+y)·re + x·(im-re))
		product(3*b+1, -1, 2*b, re)
		product(3*b-1, 2*b, 2*b+1, func(j int) float64 { return im(j) - re(j) })
		product(3*b, 2*b, 2*b, func(j int) float64 { return -re(j) - im(j) })
	}
	return f
}

// planes are how many a tile's transform has with the sums of both parts.
func (f *fastConv) planes() int { return len(f.products) }

// chunks cuts count rows into chunks for workers and returns how many.
func (f *fastConv) chunks(workers, count, dilation int) int {
	longest := (count + dilation - 1) / dilation
	f.phase = (longest + f.step - 1) / f.step
	f.tiles = f.phase * dilation
	if f.tiles == 0 {
		return 0
	}
	// Every worker gets about the same.
	n := (f.tiles + fastMost - 1) / fastMost
	n = (n + workers - 1) / workers * workers
	f.per = ((f.tiles+n-1)/n + 1) &^ 1
	for len(f.work.each) < workers {
		f.work.each = append(f.work.each, &fastWork{})
	}
	size := f.transform.size*(f.in+max(f.in, f.out)) + f.per*(f.planes()*f.in+f.transform.size*f.out)
	for _, s := range f.work.each[:workers] {
		if len(s.floats) < size {
			s.floats = make([]float32, size)
		}
	}
	return (f.tiles + f.per - 1) / f.per
}

// chunk computes some tiles: first come those of the rows 0, Dilation, 2·Dilation and so on,
// then of 1, Dilation + 1 and so on.
func (f *fastConv) chunk(c *Conv, worker, i int) {
	d, n := c.o.Dilation, f.transform.size
	first := i * f.per
	tiles := min(f.per, f.tiles-first)
	s := f.work.each[worker]
	gathered, floats := s.floats[:n*f.in], s.floats[n*f.in:]
	scratch, floats := floats[:n*max(f.in, f.out)], floats[n*max(f.in, f.out):]
	x, y := floats[:f.planes()*tiles*f.in], floats[f.planes()*tiles*f.in:][:n*tiles*f.out]
	for p := range n {
		s.rows[p], s.gathered[p], s.results[p] = p*d*f.in, p*f.in, p*tiles*f.out
	}
	for p := range f.planes() {
		s.spectra[p] = p * tiles * f.in
	}
	// begins is where tile t lies in the rows of the result.
	begins := func(t int) int { return (first+t)%f.phase*f.step*d + (first+t)/f.phase }
	for t := range tiles {
		at := begins(t) - c.o.Left
		src, rows := gathered, &s.gathered
		if at >= 0 && at+(n-1)*d < c.rows {
			src, rows = c.x[at*f.in:], &s.rows
		} else {
			for p := range n {
				to := gathered[p*f.in : (p+1)*f.in]
				if r := at + p*d; r >= 0 && r < c.rows {
					copy(to, c.x[r*f.in:])
				} else {
					clear(to)
				}
			}
		}
		f.transform.split(x[t*f.in:], s.spectra[:f.planes()], src, rows[:n], scratch, f.in)
	}
	for i := range f.products {
		p := &f.products[i]
		g := gemm.Product{
			Dst: y[p.to*tiles*f.out:], DstStride: f.out, X: x[p.from*tiles*f.in:], XStride: f.in, Rows: tiles,
			Taps: 1, K: f.in, W: p.w.Data(), WStride: f.in * gemm.PanelWidth, N: f.out,
		}
		switch {
		case p.init >= 0:
			g.Init, g.InitStride = y[p.init*tiles*f.out:], f.out
		case p.to == 0:
			g.Init = f.bias // frequency 0 is in every row
		}
		g.Run()
	}
	for t := range tiles {
		at := begins(t)
		rows := min(f.step, (c.count-at+d-1)/d)
		if rows <= 0 {
			continue // a phase may be shorter than the first
		}
		dst := c.dst[at*f.out:]
		init, stride := f.work.zeros, 0
		if c.add {
			init, stride = dst, d*f.out
		}
		f.transform.join(dst, d*f.out, init, stride, y[t*f.out:], s.results[:n], scratch, rows, f.out)
	}
}
