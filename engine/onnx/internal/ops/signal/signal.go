package signal

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// cosines returns a window a + b·cos(2πi/n) + d·cos(4πi/n).
func cosines(c *run.Call, a, b, d float64) *tensor.Tensor {
	size := c.X(0).Scalar().List()[0]
	out := c.Blank(floatType(c, "output_datatype"), tensor.Count([]int{size}))
	n := float64(size)
	if c.Int("periodic", 1) == 0 {
		n--
	}
	for i := range out.Len() {
		at := 2 * math.Pi * float64(i) / max(n, 1)
		out.Put(i, a+b*math.Cos(at)+d*math.Cos(2*at))
	}
	return out
}

// floatType is the type of numbers an attribute names, float32 without it.
func floatType(c *run.Call, name string) onnx.DType {
	t := onnx.DType(c.Int(name, int(onnx.Float)))
	if t.Bits() == 0 || t == onnx.String || t == onnx.Bool {
		tensor.Malformed("output of %v", t)
	}
	return c.Between(t)
}

// melWeights returns triangles (bins, mels) evenly spaced in mel.
//
// O'Shaughnessy, "Speech Communication", 1987, p. 150, has the scale.
func melWeights(c *run.Call) []*tensor.Tensor {
	number := func(i int) float64 { return c.X(i).Scalar().At(0) }
	mels, length, rate := int(number(0)), int(number(1)), number(2)
	if mels < 0 || length < 0 || mels > tensor.MaxElems || length > tensor.MaxElems || !(rate > 0) {
		tensor.Malformed("%d mels of %d samples at %v", mels, length, rate)
	}
	bins := length/2 + 1
	out := c.Zeros(floatType(c, "output_datatype"), bins, mels)
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	low, high := mel(number(3)), mel(number(4))
	edge := func(i int) int {
		f := 700 * (math.Pow(10, (low+float64(i)*(high-low)/float64(mels+2))/2595) - 1)
		at := math.Floor(float64(length+1) * f / rate)
		if !(at >= 0 && at <= float64(bins)) {
			tensor.Malformed("%v Hz at a rate of %v", f, rate)
		}
		return int(at)
	}
	for m := range mels {
		a, b, d := edge(m), edge(m+1), edge(m+2)
		put := func(bin int, v float64) {
			if bin < bins {
				out.Put(bin*mels+m, v)
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
	return run.One(out)
}

// det is the determinant of matrices, by elimination with row exchanges.
func det(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	r := len(x.Shape)
	if r < 2 || x.Shape[r-1] != x.Shape[r-2] || x.F == nil && x.D == nil {
		tensor.Malformed("determinant of %v of shape %d", x.Type, x.Shape)
	}
	n := x.Shape[r-1]
	out := c.Blank(x.Type, x.Shape[:r-2]...)
	m := make([]float64, n*n)
	for i := range out.Len() {
		for j := range m {
			m[j] = x.At(i*n*n + j)
		}
		out.Put(i, determinant(c, m, n))
	}
	return run.One(out)
}

func determinant(c *run.Call, m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		c.Check()
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
