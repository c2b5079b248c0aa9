package gemm

import "fmt"

// Windows is Rows of X against stretches of a source:
//
//	Dst[r][j] = Σ_i X[r·XStride + i] · Source[At[i] + j]
//
// for r < Rows and j < N, a multiple of PanelWidth: a convolution, where element i of a filter
// meets the values from At[i] on, without a copy of these for each of its taps. Strides count
// floats, At is below 2³². Each sum is one running sum over ascending i, as those of a Product,
// with the same bits.
type Windows struct {
	Dst       []float32
	DstStride int
	X         []float32
	XStride   int
	Rows      int
	Source    []float32
	At        []uint32
	N         int
}

// Run computes the rows on the calling goroutine.
func (c *Windows) Run() {
	if c.Rows == 0 || c.N == 0 {
		return
	}
	k := len(c.At)
	if c.N%PanelWidth != 0 || len(c.Dst) < (c.Rows-1)*c.DstStride+c.N || len(c.X) < (c.Rows-1)*c.XStride+k {
		panic(fmt.Sprintf("gemm: windows of %d rows in %d floats, stride %d, %d taps, %d columns into %d floats, stride %d",
			c.Rows, len(c.X), c.XStride, k, c.N, len(c.Dst), c.DstStride))
	}
	for _, at := range c.At {
		if int(at)+c.N > len(c.Source) {
			panic(fmt.Sprintf("gemm: %d columns from %d on of %d floats", c.N, at, len(c.Source)))
		}
	}
	c.tiles()
}

// tilesGo is tiles in Go.
func (c *Windows) tilesGo() {
	for r := range c.Rows {
		x := c.X[r*c.XStride:][:len(c.At)]
		for j := 0; j < c.N; j += 4 {
			var s0, s1, s2, s3 float32
			for i, at := range c.At {
				v, u := x[i], (*[4]float32)(c.Source[int(at)+j:])
				s0 += v * u[0]
				s1 += v * u[1]
				s2 += v * u[2]
				s3 += v * u[3]
			}
			*(*[4]float32)(c.Dst[r*c.DstStride+j:]) = [4]float32{s0, s1, s2, s3}
		}
	}
}
