package onnx

import (
	"math"

	"quern/formats/onnx"
)

func signalOps() table {
	return table{
		"DFT": dft, "STFT": stft, "MelWeightMatrix": melWeights, "Det": det, "Einsum": einsum,
		"HannWindow":     func(c *call) []*Tensor { return one(c.cosines(0.5, -0.5, 0)) },
		"HammingWindow":  func(c *call) []*Tensor { return one(c.cosines(25.0/46, -21.0/46, 0)) },
		"BlackmanWindow": func(c *call) []*Tensor { return one(c.cosines(0.42, -0.5, 0.08)) },
	}
}

// cosines returns a window a + b·cos(2πi/n) + d·cos(4πi/n).
func (c *call) cosines(a, b, d float64) *Tensor {
	size := c.x(0).scalar().list()[0]
	out := c.blank(c.floatType("output_datatype"), count([]int{size}))
	n := float64(size)
	if c.int("periodic", 1) == 0 {
		n--
	}
	for i := range out.len() {
		at := 2 * math.Pi * float64(i) / max(n, 1)
		out.put(i, a+b*math.Cos(at)+d*math.Cos(2*at))
	}
	return out
}

// floatType is the type of numbers an attribute names, float32 without it.
func (c *call) floatType(name string) onnx.DType {
	t := onnx.DType(c.int(name, int(onnx.Float)))
	if t.Bits() == 0 || t == onnx.String || t == onnx.Bool {
		fail("%w: output of %v", onnx.ErrFormat, t)
	}
	return t
}

// melWeights returns triangles (bins, mels) evenly spaced in mel.
//
// O'Shaughnessy, "Speech Communication", 1987, p. 150, has the scale.
func melWeights(c *call) []*Tensor {
	number := func(i int) float64 { return c.x(i).scalar().at(0) }
	mels, length, rate := int(number(0)), int(number(1)), number(2)
	if mels < 0 || length < 0 || mels > maxElems || length > maxElems || !(rate > 0) {
		fail("%w: %d mels of %d samples at %v", onnx.ErrFormat, mels, length, rate)
	}
	bins := length/2 + 1
	out := c.zeros(c.floatType("output_datatype"), bins, mels)
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	low, high := mel(number(3)), mel(number(4))
	edge := func(i int) int {
		f := 700 * (math.Pow(10, (low+float64(i)*(high-low)/float64(mels+2))/2595) - 1)
		at := math.Floor(float64(length+1) * f / rate)
		if !(at >= 0 && at <= float64(bins)) {
			fail("%w: %v Hz at a rate of %v", onnx.ErrFormat, f, rate)
		}
		return int(at)
	}
	for m := range mels {
		a, b, d := edge(m), edge(m+1), edge(m+2)
		put := func(bin int, v float64) {
			if bin < bins {
				out.put(bin*mels+m, v)
			}
		}
		if a == b {
			put(b, 1)
		}
		for i := a; a < b && i <= b; i++ {
			put(i, float64(i-a)/float64(b-a))
		}
		for i := b; b < d && i < d; i++ {
			put(i, float64(d-i)/float64(d-b))
		}
	}
	return one(out)
}

// det is the determinant of matrices, by elimination with row exchanges.
func det(c *call) []*Tensor {
	x := c.x(0)
	r := len(x.Shape)
	if r < 2 || x.Shape[r-1] != x.Shape[r-2] || x.F == nil && x.D == nil {
		fail("%w: determinant of %v of shape %d", onnx.ErrFormat, x.Type, x.Shape)
	}
	n := x.Shape[r-1]
	out := c.blank(x.Type, x.Shape[:r-2]...)
	m := make([]float64, n*n)
	for i := range out.len() {
		for j := range m {
			m[j] = x.at(i*n*n + j)
		}
		out.put(i, c.determinant(m, n))
	}
	return one(out)
}

func (c *call) determinant(m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		c.check()
		best := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[best*n+k]) {
				best = i
			}
		}
		if m[best*n+k] == 0 {
			return 0
		}
		if best != k {
			d = -d
			for j := range n {
				m[k*n+j], m[best*n+j] = m[best*n+j], m[k*n+j]
			}
		}
		d *= m[k*n+k]
		for i := k + 1; i < n; i++ {
			by := m[i*n+k] / m[k*n+k]
			for j := k; j < n; j++ {
				m[i*n+j] -= by * m[k*n+j]
			}
		}
	}
	return d
}
