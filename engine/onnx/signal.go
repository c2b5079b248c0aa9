package onnx

import (
	"math"

	"quern/formats/onnx"
)

func signalOps() map[string]op {
	return map[string]op{
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

// transformed writes the Fourier transform of n numbers of a row, cut or
// filled with zeros, to dst: numbers per element (1 or 2) of both are given.
func transformed(f *fourier, line []complex128, dst, x *Tensor, to, from, byTo, byFrom, n, have, width, wide int, inverse, oneSided bool) {
	for i := range line {
		line[i] = 0
	}
	bins := f.n
	switch {
	case inverse && oneSided:
		// The other half is the conjugate.
		for i := range min(n/2+1, have) {
			v := complex(x.at(from+i*byFrom), 0)
			if width == 2 {
				v = complex(real(v), x.at(from+i*byFrom+1))
			}
			line[i] = v
			if i > 0 && n-i > i {
				line[n-i] = complex(real(v), -imag(v))
			}
		}
	default:
		for i := range min(n, have) {
			re, im := x.at(from+i*byFrom), 0.0
			if width == 2 {
				im = x.at(from + i*byFrom + 1)
			}
			line[i] = complex(re, im)
		}
		if oneSided {
			bins = n/2 + 1
		}
	}
	f.run(line, inverse)
	for i := range bins {
		dst.put(to+i*byTo, real(line[i]))
		if wide == 2 {
			dst.put(to+i*byTo+1, imag(line[i]))
		}
	}
}

// dft is the transform along an axis of x (…, 1) or (…, 2), whose last
// dimension is real and imaginary.
func dft(c *call) []*Tensor {
	x, r := c.x(0), len(c.x(0).Shape)
	a := c.int("axis", 1)
	if c.opset >= 20 {
		a = -2
		if t := c.opt(2); t != nil {
			a = t.scalar().list()[0]
		}
	}
	if r < 2 || x.F == nil && x.D == nil {
		fail("%w: DFT of %v of shape %d", onnx.ErrFormat, x.Type, x.Shape)
	}
	if a = axis(a, r); a == r-1 || x.Shape[r-1] < 1 || x.Shape[r-1] > 2 {
		fail("%w: DFT of axis %d of shape %d", onnx.ErrFormat, a, x.Shape)
	}
	inverse, oneSided := c.int("inverse", 0) != 0, c.int("onesided", 0) != 0
	n := x.Shape[a]
	if inverse && oneSided {
		n = max(0, 2*(n-1))
	}
	if t := c.opt(1); t != nil {
		n = t.scalar().list()[0]
	}
	if n < 1 || n > maxFourier {
		fail("%w: DFT of %d", onnx.ErrUnsupported, n)
	}
	shape := append([]int{}, x.Shape...)
	shape[a], shape[r-1] = n, 2
	switch {
	case oneSided && inverse:
		shape[r-1] = 1
	case oneSided:
		shape[a] = n/2 + 1
	}
	out := c.blank(x.Type, shape...)
	width, wide := x.Shape[r-1], shape[r-1]
	inner := count(x.Shape[a+1 : r-1])
	f := newFourier(n)
	c.byRows(count(x.Shape[:a])*inner, n*16, func(from, to int) {
		f, line := f.fork(), make([]complex128, n)
		for i := from; i < to; i++ {
			o, k := i/inner, i%inner
			transformed(f, line, out, x, (o*shape[a]*inner+k)*wide, (o*x.Shape[a]*inner+k)*width, inner*wide, inner*width,
				n, x.Shape[a], width, wide, inverse, oneSided)
		}
	})
	return one(out)
}

// stft is the transform of frames of x (batch, samples, 1 or 2) times a window.
func stft(c *call) []*Tensor {
	x, step, window := c.x(0), c.x(1).scalar().list()[0], c.opt(2)
	if len(x.Shape) == 2 {
		x = x.as(x.Shape[0], x.Shape[1], 1)
	}
	size := -1
	if window != nil {
		size = window.len()
	}
	if t := c.opt(3); t != nil {
		size = t.scalar().list()[0]
	}
	if len(x.Shape) != 3 || x.Shape[2] < 1 || x.Shape[2] > 2 || x.F == nil && x.D == nil || step < 1 || size < 1 || size > maxFourier || window != nil && (window.len() != size || window.S != nil) {
		fail("%w: frames of %d every %d of shape %d", onnx.ErrFormat, size, step, x.Shape)
	}
	bins, oneSided := size, c.int("onesided", 1) != 0
	if oneSided {
		bins = size/2 + 1
	}
	samples, width, frames := x.Shape[1], x.Shape[2], 0
	if samples >= size {
		frames = (samples-size)/step + 1
	}
	out := c.blank(x.Type, x.Shape[0], frames, bins, 2)
	f := newFourier(size)
	c.byRows(x.Shape[0]*frames, size*16, func(from, to int) {
		f, line := f.fork(), make([]complex128, size)
		for i := from; i < to; i++ {
			base := (i/frames*samples + i%frames*step) * width
			for k := range line {
				line[k] = complex(x.at(base+k*width), 0)
				if width == 2 {
					line[k] = complex(real(line[k]), x.at(base+k*width+1))
				}
				if window != nil {
					line[k] *= complex(window.at(k), 0)
				}
			}
			f.run(line, false)
			for k := range bins {
				out.put((i*bins+k)*2, real(line[k]))
				out.put((i*bins+k)*2+1, imag(line[k]))
			}
		}
	})
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
		if err := c.ctx.Err(); err != nil {
			panic(failure{err})
		}
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
