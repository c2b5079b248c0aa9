package signal

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/fourier"
)

// maxFourier bounds the length of a transform.
const maxFourier = 1 << 24

// A point is a complex number.
type point = fourier.Complex[float64]

// transforms are the Fourier transforms of a node, all of one length.
type transforms struct {
	plan  *fourier.Plan[float64]
	lines [][]point // of each worker: the numbers of a transform, then scratch
}

func newTransforms(c *run.Call, n int) *transforms {
	c.Fits(onnx.Double, 2, 6*n) // the tables of a plan, at most
	t := &transforms{plan: fourier.New[float64](n), lines: make([][]point, c.Pool().Workers())}
	c.Fits(onnx.Double, 2*len(t.lines), n+t.plan.Scratch())
	return t
}

// line returns a worker's numbers, for run to transform. They are what the last
// transform left.
func (t *transforms) line(worker int) []point {
	n := t.plan.Len()
	if t.lines[worker] == nil {
		t.lines[worker] = make([]point, n+t.plan.Scratch())
	}
	return t.lines[worker][:n]
}

// run transforms a worker's numbers and returns the result, until the next run.
func (t *transforms) run(worker int, inverse bool) []point {
	n := t.plan.Len()
	x, scratch := t.lines[worker][:n], t.lines[worker][n:]
	if inverse {
		return t.plan.Inverse(x, scratch)
	}
	return t.plan.Forward(x, scratch)
}

// pointOf returns numbers i and, where width is 2, i+1 of x as one.
func pointOf(t *tensor.Tensor, i, width int) point {
	v := point{Re: t.At(i)}
	if width == 2 {
		v.Im = t.At(i + 1)
	}
	return v
}

// dft is the transform along an axis of x (…, 1) or (…, 2), whose last
// dimension is real and imaginary.
func dft(c *run.Call) []*tensor.Tensor {
	x, r := c.X(0), len(c.X(0).Shape)
	a := c.Int("axis", 1)
	if c.Opset >= 20 {
		a = -2
		if t := c.Opt(2); t != nil {
			a = t.Scalar().List()[0]
		}
	}
	if r < 2 || x.F == nil && x.D == nil {
		tensor.Malformed("DFT of %v of shape %d", x.Type, x.Shape)
	}
	if a = tensor.Axis(a, r); a == r-1 || x.Shape[r-1] < 1 || x.Shape[r-1] > 2 {
		tensor.Malformed("DFT of axis %d of shape %d", a, x.Shape)
	}
	inverse, oneSided := c.Int("inverse", 0) != 0, c.Int("onesided", 0) != 0
	n := x.Shape[a]
	if inverse && oneSided {
		n = max(0, 2*(n-1))
	}
	if t := c.Opt(1); t != nil {
		n = t.Scalar().List()[0]
	}
	if n < 1 || n > maxFourier {
		tensor.Unsupported("DFT of %d", n)
	}
	shape := append([]int{}, x.Shape...)
	shape[a], shape[r-1] = n, 2
	have := min(n, x.Shape[a]) // what is given is cut or filled with zeros
	switch {
	case oneSided && inverse:
		shape[r-1] = 1
		have = min(n/2+1, x.Shape[a])
	case oneSided:
		shape[a] = n/2 + 1
	}
	out := c.Blank(x.Type, shape...)
	width, wide := x.Shape[r-1], shape[r-1]
	inner := tensor.Count(x.Shape[a+1 : r-1])
	t := newTransforms(c, n)
	c.SpreadOut(tensor.Count(x.Shape[:a])*inner, func(worker, i int) {
		o, k := i/inner, i%inner
		line, from := t.line(worker), (o*x.Shape[a]*inner+k)*width
		clear(line)
		for j := range have {
			v := pointOf(x, from+j*inner*width, width)
			line[j] = v
			if inverse && oneSided && j > 0 && n-j > j { // the other half is the conjugate
				line[n-j] = point{Re: v.Re, Im: -v.Im}
			}
		}
		to := (o*shape[a]*inner + k) * wide
		for j, v := range t.run(worker, inverse)[:shape[a]] {
			out.Put(to+j*inner*wide, v.Re)
			if wide == 2 {
				out.Put(to+j*inner*wide+1, v.Im)
			}
		}
	})
	return run.One(out)
}

// stft is the transform of frames of x (batch, samples, 1 or 2) times a window.
func stft(c *run.Call) []*tensor.Tensor {
	x, step, window := c.X(0), c.X(1).Scalar().List()[0], c.Opt(2)
	if len(x.Shape) == 2 {
		x = x.As(x.Shape[0], x.Shape[1], 1)
	}
	size := -1
	if window != nil {
		size = window.Len()
	}
	if t := c.Opt(3); t != nil {
		size = t.Scalar().List()[0]
	}
	if len(x.Shape) != 3 || x.Shape[2] < 1 || x.Shape[2] > 2 || x.F == nil && x.D == nil || step < 1 || size < 1 || size > maxFourier || window != nil && (window.Len() != size || window.S != nil) {
		tensor.Malformed("frames of %d every %d of shape %d", size, step, x.Shape)
	}
	bins, oneSided := size, c.Int("onesided", 1) != 0
	if oneSided {
		bins = size/2 + 1
	}
	samples, width, frames := x.Shape[1], x.Shape[2], 0
	if samples >= size {
		frames = (samples-size)/step + 1
	}
	out := c.Blank(x.Type, x.Shape[0], frames, bins, 2)
	t := newTransforms(c, size)
	c.SpreadOut(x.Shape[0]*frames, func(worker, i int) {
		line, from := t.line(worker), (i/frames*samples+i%frames*step)*width
		for k := range line {
			line[k] = pointOf(x, from+k*width, width)
		}
		if window != nil {
			for k := range line {
				w := window.At(k)
				line[k].Re *= w
				line[k].Im *= w
			}
		}
		for k, v := range t.run(worker, false)[:bins] {
			out.Put((i*bins+k)*2, v.Re)
			out.Put((i*bins+k)*2+1, v.Im)
		}
	})
	return run.One(out)
}
