package onnx

import (
	"math"

	"quern/formats/onnx"
)

func sampleOps() table {
	return table{
		"Resize": resize, "Upsample": upsample, "GridSample": gridSample, "AffineGrid": affineGrid,
		"RoiAlign": roiAlign, "NonMaxSuppression": nonMaxSuppression,
	}
}

// A stretchOf is how one dimension is resized: from in to out elements, by
// scale, which need not be out/in. exact is in·scale, the length of the output
// before it is rounded to out; coordinates count with it.
type stretchOf struct {
	in, out    int
	scale      float64
	exact      float64
	start, end float64 // of tf_crop_and_resize
}

// position returns where in the input element i of the output lies, and whether
// that is inside.
//
// ONNX, Operators.md, Resize, coordinate_transformation_mode, and op_resize.py of
// its reference for lengths that are not whole.
func (s *stretchOf) position(i int, mode string) (at float64, inside bool) {
	x, in, exact := float64(i), float64(s.in), s.exact
	switch mode {
	case "half_pixel":
		at = (x+0.5)/s.scale - 0.5
	case "half_pixel_symmetric":
		at = in/2*(1-float64(s.out)/exact) + (x+0.5)/s.scale - 0.5
	case "tf_half_pixel_for_nn": // of opset 11
		at = (x + 0.5) / s.scale
	case "pytorch_half_pixel":
		if exact != 1 { // and 0 for one element; the reference's -0.5 is not what the text says
			at = (x+0.5)/s.scale - 0.5
		}
	case "align_corners":
		if exact != 1 {
			at = x * (in - 1) / (exact - 1)
		}
	case "asymmetric":
		at = x / s.scale
	case "tf_crop_and_resize":
		at = (s.start + s.end) / 2 * (in - 1)
		if exact != 1 {
			at = s.start*(in-1) + x*(s.end-s.start)*(in-1)/(exact-1)
		}
		return at, at >= 0 && at <= in-1
	default:
		fail("%w: coordinates %.40q", onnx.ErrFormat, mode)
	}
	return at, true
}

// roundings choose one of the neighbours of a position.
var roundings = map[string]func(at float64) float64{
	"round_prefer_floor": func(at float64) float64 { return math.Ceil(at - 0.5) },
	"round_prefer_ceil":  func(at float64) float64 { return math.Floor(at + 0.5) },
	"floor":              math.Floor, "ceil": math.Ceil,
}

// A kernelOf is a filter that interpolates: its weight at a distance, and how
// far it reaches.
type kernelOf struct {
	weight func(x float64) float64
	reach  float64
}

func linearKernel() kernelOf {
	return kernelOf{func(x float64) float64 { return max(0, 1-math.Abs(x)) }, 1}
}

// cubicKernel is that of Keys, "Cubic Convolution Interpolation for Digital
// Image Processing", 1981, eq. 4, with any a.
func cubicKernel(a float64) kernelOf {
	return kernelOf{func(x float64) float64 {
		x = math.Abs(x)
		switch {
		case x <= 1:
			return ((a+2)*x-(a+3))*x*x + 1
		case x < 2:
			return ((a*x-5*a)*x+8*a)*x - 4*a
		}
		return 0
	}, 2}
}

// taps are, for each element of an output, which n elements of the input it is
// summed from; outside are elements of the output that are not.
type taps struct {
	n       int
	from    []int64
	weight  []float64
	outside []bool
}

// interpolation computes the taps of a dimension. With antialias the filter of
// a smaller output is as much wider; with exclude the weights of elements that
// do not exist go to those that do.
func (s *stretchOf) interpolation(c *call, mode string, k kernelOf, antialias, exclude bool) taps {
	by := 1.0
	if antialias {
		by = min(s.scale, 1)
	}
	first := int(math.Floor(-k.reach/by)) + 1
	t := taps{n: 2 - 2*first, outside: make([]bool, s.out)}
	t.from, t.weight = c.blank(onnx.Int64, s.out, t.n).I, c.blank(onnx.Double, s.out, t.n).D
	for i := range s.out {
		at, inside := s.position(i, mode)
		t.outside[i] = !inside
		if !inside {
			at = 0
		}
		base := math.Ceil(at) - 1
		sum, from, weight := 0.0, t.from[i*t.n:(i+1)*t.n], t.weight[i*t.n:(i+1)*t.n]
		for j := range weight {
			w := k.weight((float64(first+j) - (at - base)) * by)
			p := int(base) + first + j
			if exclude && (p < 0 || p >= s.in) {
				w = 0
			}
			sum += w
			from[j], weight[j] = int64(min(max(p, 0), s.in-1)), w
		}
		if antialias || exclude {
			for j := range weight {
				weight[j] /= sum
			}
		}
	}
	return t
}

// apply writes to dst (outer, out, inner) what taps make of x (outer, in, inner).
func apply[T float32 | float64](c *call, dst, x []T, t *taps, outer, in, inner int, outside T) {
	out := len(t.outside)
	if inner == 1 {
		c.byRows(outer, out*t.n, func(a, b int) {
			for o := a; o < b; o++ {
				src, row := x[o*in:(o+1)*in], dst[o*out:(o+1)*out]
				for i := range row {
					sum := T(0)
					for j := i * t.n; j < (i+1)*t.n; j++ {
						sum += T(t.weight[j]) * src[t.from[j]]
					}
					if row[i] = sum; t.outside[i] {
						row[i] = outside
					}
				}
			}
		})
		return
	}
	c.byRows(outer*out, inner*t.n, func(a, b int) {
		for r := a; r < b; r++ {
			o, i := r/out, r%out
			row := dst[r*inner : (r+1)*inner]
			if t.outside[i] {
				for k := range row {
					row[k] = outside
				}
				continue
			}
			clear(row)
			for j := i * t.n; j < (i+1)*t.n; j++ {
				w := T(t.weight[j])
				if w == 0 {
					continue
				}
				src := x[(o*in+int(t.from[j]))*inner:][:len(row)]
				for k, v := range src {
					row[k] += w * v
				}
			}
		}
	})
}

func resize(c *call) []*Tensor {
	if c.opset < 11 {
		return upsample(c)
	}
	x, axes := c.x(0), c.list("axes", -1)
	if axes == nil {
		axes = upTo(len(x.Shape))
	}
	all := make([]stretchOf, len(x.Shape))
	for d, n := range x.Shape {
		all[d] = stretchOf{in: n, out: n, scale: 1, exact: float64(n), end: 1}
	}
	roi, scales, sizes := c.opt(1), c.opt(2), c.opt(3)
	mode := c.text("coordinate_transformation_mode", "half_pixel")
	if mode == "tf_crop_and_resize" {
		if roi == nil || roi.len() != 2*len(axes) {
			fail("%w: no region", onnx.ErrFormat)
		}
		for i, a := range axes {
			s := &all[axis(a, len(all))]
			s.start, s.end = roi.at(i), roi.at(len(axes)+i)
		}
	}
	switch {
	case sizes != nil && sizes.len() > 0:
		list, policy := sizes.list(), c.text("keep_aspect_ratio_policy", "stretch")
		if len(list) != len(axes) {
			fail("%w: sizes %d of axes %d", onnx.ErrFormat, list, axes)
		}
		ratio := math.Inf(1)
		if policy == "not_smaller" {
			ratio = 0
		}
		for i, a := range axes {
			s := &all[axis(a, len(all))]
			s.out, s.scale, s.exact = list[i], float64(list[i])/float64(s.in), float64(list[i])
			if policy == "not_smaller" {
				ratio = max(ratio, s.scale)
			} else {
				ratio = min(ratio, s.scale)
			}
		}
		for _, a := range axes {
			if s := &all[axis(a, len(all))]; policy != "stretch" {
				s.scale, s.exact = ratio, float64(s.in)*ratio
				s.out = int(math.Floor(min(s.exact, maxElems) + 0.5))
			}
		}
	case scales != nil && scales.len() == len(axes):
		for i, a := range axes {
			s := &all[axis(a, len(all))]
			s.scaleBy(scales.at(i))
		}
	default:
		fail("%w: neither sizes nor scales", onnx.ErrFormat)
	}
	return one(c.resized(x, all, mode, c.text("mode", "nearest"), c.text("nearest_mode", "round_prefer_floor")))
}

// scaleBy sets the length of the output by its scale.
func (s *stretchOf) scaleBy(scale float64) {
	s.scale, s.exact = scale, float64(s.in)*scale
	if !(scale > 0 && scale < maxElems && s.exact <= maxElems) {
		fail("%w: %d elements scaled by %v", onnx.ErrUnsupported, s.in, scale)
	}
	s.out = int(math.Floor(s.exact))
}

// upsample is Upsample, and Resize of opset 10, which is the same.
func upsample(c *call) []*Tensor {
	x := c.x(0)
	var scales []float64
	if t := c.opt(1); t != nil {
		for i := range t.len() {
			scales = append(scales, t.at(i))
		}
	} else if a := c.attr("scales"); a != nil {
		for _, v := range a.Floats {
			scales = append(scales, float64(v))
		}
	} else if c.opset < 7 { // of images
		scales = []float64{1, 1, c.float("height_scale", 0), c.float("width_scale", 0)}
	}
	if len(scales) != len(x.Shape) {
		fail("%w: %d scales of shape %d", onnx.ErrFormat, len(scales), x.Shape)
	}
	all := make([]stretchOf, len(x.Shape))
	for d, n := range x.Shape {
		all[d] = stretchOf{in: n}
		all[d].scaleBy(scales[d])
	}
	return one(c.resized(x, all, "asymmetric", c.text("mode", "nearest"), "floor"))
}

func (c *call) resized(x *Tensor, all []stretchOf, coordinates, mode, nearest string) *Tensor {
	if x.S != nil || x.Seq != nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	shape := make([]int, len(all))
	for d := range all {
		s := &all[d]
		shape[d] = s.out
		if s.out > 0 && (s.in == 0 || s.out > maxElems || !(s.scale > 0)) {
			fail("%w: shape %d resized", onnx.ErrFormat, x.Shape)
		}
	}
	if count(shape) == 0 || len(shape) == 0 {
		return c.blank(x.Type, shape...)
	}
	c.fits(x.Type, shape...) // before tables as long as its sides
	beyond := c.float("extrapolation_value", 0)
	var k kernelOf
	switch mode {
	case "nearest":
		return c.nearest(x, all, shape, coordinates, nearest, beyond)
	case "linear", "bilinear":
		k = linearKernel()
	case "cubic":
		k = cubicKernel(c.float("cubic_coeff_a", -0.75))
	default:
		fail("%w: Resize by %.20q", onnx.ErrFormat, mode)
	}
	antialias, exclude := c.int("antialias", 0) != 0, c.int("exclude_outside", 0) != 0
	as := x
	if x.F == nil && x.D == nil {
		as = cast(x, onnx.Double, castOptions{})
	}
	at := append([]int{}, x.Shape...)
	// The dimensions that shrink the most first would be less work; the last
	// first keeps rows long for the others.
	for d := len(all) - 1; d >= 0; d-- {
		s := &all[d]
		if s.in == s.out && s.scale == 1 && coordinates != "tf_crop_and_resize" {
			continue
		}
		t := s.interpolation(c, coordinates, k, antialias, exclude)
		outer, n, inner := split(at, d)
		at[d] = s.out
		next := c.blank(as.Type, at...)
		if as.F != nil {
			apply(c, next.F, as.F, &t, outer, n, inner, float32(beyond))
		} else {
			apply(c, next.D, as.D, &t, outer, n, inner, beyond)
		}
		as = next
	}
	if as.Type != x.Type {
		low, high := bounds(x.Type)
		out := c.blank(x.Type, shape...)
		for i, v := range as.D {
			out.put(i, min(max(v, low), high))
		}
		return out
	}
	return settle(as)
}

func (c *call) nearest(x *Tensor, all []stretchOf, shape []int, coordinates, nearest string, beyond float64) *Tensor {
	f, ok := roundings[nearest]
	if !ok {
		fail("%w: nearest by %.20q", onnx.ErrFormat, nearest)
	}
	from := make([][]int64, len(all))
	for d := range all {
		from[d] = c.blank(onnx.Int64, shape[d]).I
		for i := range from[d] {
			at, inside := all[d].position(i, coordinates)
			if from[d][i] = -1; inside {
				from[d][i] = int64(min(max(f(at), 0), float64(x.Shape[d]-1)))
			}
		}
	}
	out, value := c.blank(x.Type, shape...), newTensor(x.Type, 1)
	value.put(0, beyond)
	padInto(c, out.F, x.F, value.F, from, strides(x.Shape))
	padInto(c, out.D, x.D, value.D, from, strides(x.Shape))
	padInto(c, out.I, x.I, value.I, from, strides(x.Shape))
	return out
}
