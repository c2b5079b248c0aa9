package image

import (
	"math"

	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

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
		tensor.Malformed("coordinates %.40q", mode)
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
func (s *stretchOf) interpolation(c *run.Call, mode string, k kernelOf, antialias, exclude bool) taps {
	by := 1.0
	if antialias {
		by = min(s.scale, 1)
	}
	first := int(math.Floor(-k.reach/by)) + 1
	t := taps{n: 2 - 2*first, outside: make([]bool, s.out)}
	t.from, t.weight = c.Blank(onnx.Int64, s.out, t.n).I, c.Blank(onnx.Double, s.out, t.n).D
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
func apply[T float32 | float64](c *run.Call, dst, x []T, t *taps, outer, in, inner int, outside T) {
	out := len(t.outside)
	if inner == 1 {
		c.ByRows(outer, out*t.n, func(a, b int) {
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
	c.ByRows(outer*out, inner*t.n, func(a, b int) {
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

func resize(c *run.Call) []*tensor.Tensor {
	if c.Opset < 11 {
		return upsample(c)
	}
	x, axes := c.X(0), c.List("axes", -1)
	if axes == nil {
		axes = tensor.UpTo(len(x.Shape))
	}
	all := make([]stretchOf, len(x.Shape))
	for d, n := range x.Shape {
		all[d] = stretchOf{in: n, out: n, scale: 1, exact: float64(n), end: 1}
	}
	roi, scales, sizes := c.Opt(1), c.Opt(2), c.Opt(3)
	mode := c.Text("coordinate_transformation_mode", "half_pixel")
	if mode == "tf_crop_and_resize" {
		if roi == nil || roi.Len() != 2*len(axes) {
			tensor.Malformed("no region")
		}
		for i, a := range axes {
			s := &all[tensor.Axis(a, len(all))]
			s.start, s.end = roi.At(i), roi.At(len(axes)+i)
		}
	}
	switch {
	case sizes != nil && sizes.Len() > 0:
		list, policy := sizes.List(), c.Text("keep_aspect_ratio_policy", "stretch")
		if len(list) != len(axes) {
			tensor.Malformed("sizes %d of axes %d", list, axes)
		}
		ratio := math.Inf(1)
		if policy == "not_smaller" {
			ratio = 0
		}
		for i, a := range axes {
			s := &all[tensor.Axis(a, len(all))]
			s.out, s.scale, s.exact = list[i], float64(list[i])/float64(s.in), float64(list[i])
			if policy == "not_smaller" {
				ratio = max(ratio, s.scale)
			} else {
				ratio = min(ratio, s.scale)
			}
		}
		for _, a := range axes {
			if s := &all[tensor.Axis(a, len(all))]; policy != "stretch" {
				s.scale, s.exact = ratio, float64(s.in)*ratio
				s.out = int(math.Floor(min(s.exact, tensor.MaxElems) + 0.5))
			}
		}
	case scales != nil && scales.Len() == len(axes):
		for i, a := range axes {
			s := &all[tensor.Axis(a, len(all))]
			s.scaleBy(scales.At(i))
		}
	default:
		tensor.Malformed("neither sizes nor scales")
	}
	return run.One(resized(c, x, all, mode, c.Text("mode", "nearest"), c.Text("nearest_mode", "round_prefer_floor")))
}

// scaleBy sets the length of the output by its scale.
func (s *stretchOf) scaleBy(scale float64) {
	s.scale, s.exact = scale, float64(s.in)*scale
	if !(scale > 0 && scale < tensor.MaxElems && s.exact <= tensor.MaxElems) {
		tensor.Unsupported("%d elements scaled by %v", s.in, scale)
	}
	s.out = int(math.Floor(s.exact))
}

// upsample is Upsample, and Resize of opset 10, which is the same.
func upsample(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	var scales []float64
	if t := c.Opt(1); t != nil {
		for i := range t.Len() {
			scales = append(scales, t.At(i))
		}
	} else if a := c.Attr("scales"); a != nil {
		for _, v := range a.Floats {
			scales = append(scales, float64(v))
		}
	} else if c.Opset < 7 { // of images
		scales = []float64{1, 1, c.Float("height_scale", 0), c.Float("width_scale", 0)}
	}
	if len(scales) != len(x.Shape) {
		tensor.Malformed("%d scales of shape %d", len(scales), x.Shape)
	}
	all := make([]stretchOf, len(x.Shape))
	for d, n := range x.Shape {
		all[d] = stretchOf{in: n}
		all[d].scaleBy(scales[d])
	}
	return run.One(resized(c, x, all, "asymmetric", c.Text("mode", "nearest"), "floor"))
}

func resized(c *run.Call, x *tensor.Tensor, all []stretchOf, coordinates, mode, nearest string) *tensor.Tensor {
	if x.S != nil || x.Seq != nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	shape := make([]int, len(all))
	for d := range all {
		s := &all[d]
		shape[d] = s.out
		if s.out > 0 && (s.in == 0 || s.out > tensor.MaxElems || !(s.scale > 0)) {
			tensor.Malformed("shape %d resized", x.Shape)
		}
	}
	if tensor.Count(shape) == 0 || len(shape) == 0 {
		return c.Blank(x.Type, shape...)
	}
	c.Fits(x.Type, shape...) // before tables as long as its sides
	beyond := c.Float("extrapolation_value", 0)
	var k kernelOf
	switch mode {
	case "nearest":
		return takeNearest(c, x, all, shape, coordinates, nearest, beyond)
	case "linear", "bilinear":
		k = linearKernel()
	case "cubic":
		k = cubicKernel(c.Float("cubic_coeff_a", -0.75))
	default:
		tensor.Malformed("Resize by %.20q", mode)
	}
	antialias, exclude := c.Int("antialias", 0) != 0, c.Int("exclude_outside", 0) != 0
	as := x
	if x.F == nil && x.D == nil {
		as = tensor.Cast(x, onnx.Double, tensor.CastOptions{})
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
		outer, n, inner := tensor.Split(at, d)
		at[d] = s.out
		next := c.Blank(as.Type, at...)
		if as.F != nil {
			apply(c, next.F, as.F, &t, outer, n, inner, float32(beyond))
		} else {
			apply(c, next.D, as.D, &t, outer, n, inner, beyond)
		}
		as = next
	}
	if as.Type != x.Type {
		low, high := tensor.Bounds(x.Type)
		out := c.Blank(x.Type, shape...)
		for i, v := range as.D {
			out.Put(i, min(max(v, low), high))
		}
		return out
	}
	return tensor.Rounded(as)
}

func takeNearest(c *run.Call, x *tensor.Tensor, all []stretchOf, shape []int, coordinates, nearest string, beyond float64) *tensor.Tensor {
	f, ok := roundings[nearest]
	if !ok {
		tensor.Malformed("nearest by %.20q", nearest)
	}
	from := make([][]int64, len(all))
	for d := range all {
		from[d] = c.Blank(onnx.Int64, shape[d]).I
		for i := range from[d] {
			at, inside := all[d].position(i, coordinates)
			if from[d][i] = -1; inside {
				from[d][i] = int64(min(max(f(at), 0), float64(x.Shape[d]-1)))
			}
		}
	}
	out, value := c.Blank(x.Type, shape...), tensor.New(x.Type, 1)
	value.Put(0, beyond)
	move.Assemble(c, out, x, value, from)
	return out
}
