package conv

import "quern/kernels/gemm"

// A FastConv is the scratch of convolutions with fewer multiplications: transformed rows
// for each worker. Convolutions that never run at the same time may share one; the zero
// value is ready for use.
type FastConv struct {
	each  [][]float32
	zeros []float32
}

// Four rows of a result and four taps of a filter make a tile of seven points.
// Longer filters are cut into pieces of four taps, the last filled up with zeros. A tile
// advances by four rows, as long as a piece, so all pieces use the same transformed
// tiles, and at each point a convolution over tiles remains, with one tap per piece.
// Filters of 3, 7 and 11 taps take 1.75, 3.5 and 5.25 multiplications per result.
const (
	fastTile   = 4
	fastPoints = 2*fastTile - 1
	fastMost   = 48 // tiles at a time, so that they stay in the second-level cache
	fastLeast  = 64 // channels: with fewer, the transforms cost more than they save
)

// fastAt are the points of evaluation, to which infinity is added. Points near 1 lose the
// fewest digits: the error is about four times that of the plain sums, 1e-6 relative to
// the results.
var fastAt = [fastPoints - 1]float64{0, 1, -1, 2, -2, 0.5}

// A fastConv is a convolution of stride 1 by Toom and Cook's multiplication of
// polynomials, transposed. With E(k) the values of a polynomial of k coefficients
// at the points,
//
//	result = E(4)ᵀ · ((E(4) · taps) ⊙ (E(7)⁻ᵀ · x))
//
// for every pair of channels; the sum over channels is taken before E(4)ᵀ. An infinity or
// NaN makes its whole tile NaN.
//
// Winograd, "Arithmetic Complexity of Computations", 1980, §IV; Lavin & Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2016.
type fastConv struct {
	in, out, pieces int
	w               [fastPoints]*gemm.Panels // (out, pieces · in)
	before          [fastPoints * fastPoints]float32
	after           [fastTile * fastPoints]float32
	bias            []float32
	work            *FastConv
	tiles           int // of a chunk
}

// suits reports whether a convolution has a fast form that is faster.
func (o *ConvOptions) suits(out, taps, in int) bool {
	return o.Fast != nil && o.Stride == 1 && taps > 2 && min(in, out) >= fastLeast && in%gemm.PanelWidth == 0 && out%gemm.PanelWidth == 0
}

// newFastConv transforms w, which is (out, taps, in).
func newFastConv(w []float32, out, taps, in int, o *ConvOptions) *fastConv {
	f := &fastConv{in: in, out: out, pieces: (taps + fastTile - 1) / fastTile, bias: o.Bias, work: o.Fast}
	if n := max(in, out); len(f.work.zeros) < n {
		f.work.zeros = make([]float32, n)
	}
	if f.bias == nil {
		f.bias = f.work.zeros
	}
	row := make([]float32, out*f.pieces*in)
	for p := range fastPoints {
		// The rows of E(7)⁻ᵀ are Lagrange's polynomials. Their denominators
		// multiply the taps, so that the matrix applied to x is exact.
		poly, denominator := []float64{1}, 1.0
		for q, a := range fastAt {
			if q == p {
				continue
			}
			poly = append([]float64{0}, poly...) // · z
			for i := range len(poly) - 1 {
				poly[i] -= a * poly[i+1]
			}
			if p < len(fastAt) {
				denominator *= fastAt[p] - a
			}
		}
		for i, v := range poly {
			f.before[p*fastPoints+i] = float32(v)
		}
		var power [fastTile]float64 // row p of E(4)
		power[fastTile-1] = 1
		if p < len(fastAt) {
			for i := range power {
				power[i] = 1
				for range i {
					power[i] *= fastAt[p]
				}
			}
		}
		for i, v := range power {
			f.after[i*fastPoints+p] = float32(v)
		}
		clear(row)
		for o := range out {
			for piece := range f.pieces {
				for i := range in {
					var sum float64
					for j := piece * fastTile; j < min(taps, (piece+1)*fastTile); j++ {
						sum += power[j%fastTile] * float64(w[(o*taps+j)*in+i])
					}
					row[(o*f.pieces+piece)*in+i] = float32(sum / denominator)
				}
			}
		}
		f.w[p] = gemm.NewPanels(out, f.pieces*in)
		f.w[p].PackRows(row, f.pieces*in)
	}
	return f
}

// chunks cuts count rows into chunks for workers and returns how many.
func (f *fastConv) chunks(workers, count, dilation int) int {
	tiles := ((count+dilation-1)/dilation + fastTile - 1) / fastTile // of the longest phase
	const row = 12                                                   // whole tiles of every product
	f.tiles = min(fastMost, max(row, tiles*dilation/(4*workers)/row*row))
	for len(f.work.each) < workers {
		f.work.each = append(f.work.each, nil)
	}
	n := f.scratch()
	for i, s := range f.work.each {
		if len(s) < n {
			f.work.each[i] = make([]float32, n)
		}
	}
	return (tiles + f.tiles - 1) / f.tiles * dilation
}

// scratch is how many floats a worker needs: a gathered tile, and the points of
// tiles before and after the products.
func (f *fastConv) scratch() int {
	return fastPoints * (f.in + (fastMost+f.pieces-1)*f.in + fastMost*f.out)
}

// chunk computes some tiles of one phase: of the rows r, r + Dilation,
// r + 2·Dilation and so on.
func (f *fastConv) chunk(c *Conv, worker, i int) {
	d := c.o.Dilation
	first, phase := i/d*f.tiles*fastTile, i%d
	left := (c.count-phase+d-1)/d - first // rows of the phase
	if left <= 0 {
		return
	}
	tiles := min(f.tiles, (left+fastTile-1)/fastTile)
	n := tiles + f.pieces - 1
	s := f.work.each[worker]
	gathered, s := s[:fastPoints*f.in], s[fastPoints*f.in:]
	x, y := s[:fastPoints*n*f.in], s[fastPoints*n*f.in:]
	for t := range n {
		at := (first+t*fastTile)*d + phase - c.o.Left
		src, stride := gathered, f.in
		if at >= 0 && at+(fastPoints-1)*d < c.rows {
			src, stride = c.x[at*f.in:], d*f.in
		} else {
			for p := range fastPoints {
				to := gathered[p*f.in : (p+1)*f.in]
				if r := at + p*d; r >= 0 && r < c.rows {
					copy(to, c.x[r*f.in:])
				} else {
					clear(to)
				}
			}
		}
		mix(x[t*f.in:], n*f.in, f.work.zeros, 0, src, stride, f.before[:], fastPoints, f.in)
	}
	for p, w := range f.w {
		s := gemm.Product{
			Dst: y[p*tiles*f.out:], DstStride: f.out, X: x[p*n*f.in:], XStride: f.in, Rows: tiles,
			Taps: f.pieces, TapStride: f.in, K: f.in, W: w.Data(), WStride: w.Columns() * gemm.PanelWidth, N: f.out,
		}
		s.Run()
	}
	for t := range tiles {
		dst := c.dst[((first+t*fastTile)*d+phase)*f.out:]
		init, stride := f.bias, 0
		if c.add {
			init, stride = dst, d*f.out
		}
		mix(dst, d*f.out, init, stride, y[t*f.out:], tiles*f.out, f.after[:], min(fastTile, left-t*fastTile), f.out)
	}
}

// mixGo multiplies a matrix m of rows rows and fastPoints columns with as many
// rows of n floats:
//
//	dst[r·dstStride + i] = init[r·initStride + i] + Σ_p m[r·fastPoints + p] · src[p·srcStride + i]
//
// init may be dst, and its stride may be 0.
func mixGo(dst []float32, dstStride int, init []float32, initStride int, src []float32, srcStride int, m []float32, rows, n int) {
	for r := range rows {
		to, from := dst[r*dstStride:][:n], init[r*initStride:][:n]
		by := (*[fastPoints]float32)(m[r*fastPoints:])
		for i, sum := range from {
			for p, v := range by {
				sum += v * src[p*srcStride+i]
			}
			to[i] = sum
		}
	}
}
