package move

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

func tile(c *run.Call) []*tensor.Tensor {
	x, reps := c.X(0), c.X(1).List()
	if len(reps) != len(x.Shape) {
		tensor.Malformed("%d repeats of shape %d", reps, x.Shape)
	}
	// Every repeated dimension is read as two, the first with a step of 0.
	var shape, step, out []int
	for i, s := range tensor.Strides(x.Shape) {
		if reps[i] != 1 {
			shape, step = append(shape, reps[i]), append(step, 0)
		}
		shape, step = append(shape, x.Shape[i]), append(step, s)
		out = append(out, x.Shape[i]*reps[i])
	}
	return run.One(c.View(x, 0, shape, step).As(out...))
}

// A border says what lies outside of a dimension of n: element i, which may be
// negative or n and more, is the one returned, or -1 for the constant.
type border func(i, n int) int

var borders = map[string]border{
	"constant": func(i, n int) int {
		if i < 0 || i >= n {
			return -1
		}
		return i
	},
	"edge": func(i, n int) int { return min(max(i, 0), n-1) },
	"reflect": func(i, n int) int {
		if n == 1 {
			return 0
		}
		i = modulo(i, 2*(n-1))
		return min(i, 2*(n-1)-i)
	},
	"wrap": modulo,
}

// modulo is i mod n, in [0, n).
func modulo(i, n int) int {
	if i %= n; i < 0 {
		i += n
	}
	return i
}

func pad(c *run.Call) []*tensor.Tensor {
	x, pads, axes := c.X(0), c.List("pads", 1), c.List("axes", 3)
	if axes == nil {
		axes = tensor.UpTo(len(x.Shape))
	}
	if len(pads) != 2*len(axes) {
		tensor.Malformed("shape %d padded by %d at %d", x.Shape, pads, axes)
	}
	before, after := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	for i, a := range axes {
		a = tensor.Axis(a, len(x.Shape))
		before[a], after[a] = pads[i], pads[len(axes)+i]
	}
	value := c.Blank(x.Type, 1)
	switch v := c.Opt(2); {
	case v != nil && v.Type != x.Type:
		tensor.Malformed("%v padded with %v", x.Type, v.Type)
	case v != nil:
		value = v.Scalar()
	case x.S != nil:
		value = tensor.New(onnx.String, 1)
	default:
		value.Put(0, c.Float("value", 0))
	}
	mode := c.Text("mode", "constant")
	f, ok := borders[mode]
	if !ok {
		tensor.Malformed("padding %.20q", mode)
	}
	return run.One(padded(c, x, before, after, f, value))
}

// padded returns x with elements more (or less, where negative) at both ends of
// its dimensions.
func padded(c *run.Call, x *tensor.Tensor, before, after []int, outside border, value *tensor.Tensor) *tensor.Tensor {
	if len(x.Shape) == 0 {
		return x
	}
	shape := make([]int, len(x.Shape))
	for d, n := range x.Shape {
		if before[d] > tensor.MaxElems || after[d] > tensor.MaxElems || before[d] < -n || after[d] < -n || n > tensor.MaxElems {
			tensor.Unsupported("shape %d padded by %d and %d", x.Shape, before, after)
		}
		shape[d] = max(0, n+before[d]+after[d])
	}
	out := c.Blank(x.Type, shape...)
	if out.Len() == 0 {
		return out
	}
	from := make([][]int64, len(shape))
	for d, n := range shape {
		from[d] = c.Blank(onnx.Int64, n).I
		for i := range from[d] {
			if x.Shape[d] > 0 {
				from[d][i] = int64(outside(i-before[d], x.Shape[d]))
			} else {
				from[d][i] = -1
			}
		}
	}
	Assemble(c, out, x, value, from)
	return out
}

// Assemble fills out, whose element at a position is that of x at from[d][position[d]]
// in every dimension d, or value where one of those is negative.
func Assemble(c *run.Call, out, x, value *tensor.Tensor, from [][]int64) {
	step := tensor.Strides(x.Shape)
	assemble(c, out.F, x.F, value.F, from, step)
	assemble(c, out.D, x.D, value.D, from, step)
	assemble(c, out.I, x.I, value.I, from, step)
	assemble(c, out.S, x.S, value.S, from, step)
}

// assemble fills dst, whose element at a position is that of src at the sum of
// from[d][position[d]]·step[d], or value where one of those is negative.
func assemble[T any](c *run.Call, dst, src, value []T, from [][]int64, step []int) {
	if len(dst) == 0 {
		return
	}
	last := len(from) - 1
	columns := from[last]
	width := len(columns)
	// The stretch of a row that is copied.
	lo := 0
	for lo < width && columns[lo] < 0 {
		lo++
	}
	hi := min(lo+1, width)
	for hi < width && columns[hi] == columns[hi-1]+1 {
		hi++
	}
	c.ByRows(len(dst)/width, width, func(r0, r1 int) {
		for r := r0; r < r1; r++ {
			row, rest, base := dst[r*width:(r+1)*width], r, 0
			for d := last - 1; d >= 0 && base >= 0; d-- {
				if i := from[d][rest%len(from[d])]; i >= 0 {
					base += int(i) * step[d]
				} else {
					base = -1
				}
				rest /= len(from[d])
			}
			if base < 0 {
				for k := range row {
					row[k] = value[0]
				}
				continue
			}
			if lo < hi {
				copy(row[lo:hi], src[base+int(columns[lo]):])
			}
			for _, part := range [2][2]int{{0, lo}, {hi, width}} {
				for k := part[0]; k < part[1]; k++ {
					if i := columns[k]; i < 0 {
						row[k] = value[0]
					} else {
						row[k] = src[base+int(i)]
					}
				}
			}
		}
	})
}

func centerCropPad(c *run.Call) []*tensor.Tensor {
	x, shape, axes := c.X(0), c.X(1).List(), c.List("axes", -1)
	if axes == nil {
		axes = tensor.UpTo(len(x.Shape))
	}
	if len(axes) != len(shape) {
		tensor.Malformed("shape %d as %d at %d", x.Shape, shape, axes)
	}
	before, after := make([]int, len(x.Shape)), make([]int, len(x.Shape))
	for i, a := range axes {
		a = tensor.Axis(a, len(x.Shape))
		if shape[i] < 0 || shape[i] > tensor.MaxElems {
			tensor.Malformed("shape %d", shape)
		}
		more := shape[i] - x.Shape[a]
		before[a] = more / 2
		if more < 0 {
			before[a] = -(-more / 2)
		}
		after[a] = more - before[a]
	}
	return run.One(padded(c, x, before, after, borders["constant"], tensor.New(x.Type, 1)))
}

func trilu(c *run.Call) []*tensor.Tensor {
	x, k := c.X(0), 0
	if t := c.Opt(1); t != nil {
		k = min(max(t.Scalar().List()[0], -tensor.MaxElems), tensor.MaxElems)
	}
	r := len(x.Shape)
	if r < 2 {
		tensor.Malformed("Trilu of shape %d", x.Shape)
	}
	rows, n := x.Shape[r-2], x.Shape[r-1]
	upper := c.Int("upper", 1) != 0
	out := c.Zeros(x.Type, x.Shape...)
	if out.Len() == 0 {
		return run.One(out)
	}
	c.ByRows(out.Len()/n, n, func(from, to int) {
		for i := from; i < to; i++ {
			a, b := min(max(i%rows+k, 0), n), n
			if !upper {
				a, b = 0, min(max(i%rows+k+1, 0), n)
			}
			tensor.CopyElems(out, i*n+a, x, i*n+a, b-a)
		}
	})
	return run.One(out)
}

// inBlocks checks the input of DepthToSpace and SpaceToDepth.
func inBlocks(c *run.Call) (x *tensor.Tensor, b int) {
	x, b = c.X(0), c.Int("blocksize", 0)
	if len(x.Shape) != 4 || b < 1 || b > tensor.MaxElems {
		tensor.Malformed("shape %d in blocks of %d", x.Shape, b)
	}
	return x, b
}

func depthToSpace(c *run.Call) []*tensor.Tensor {
	x, b := inBlocks(c)
	n, ch, h, w := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	if b > 1<<14 || ch%(b*b) != 0 {
		tensor.Malformed("%d channels in blocks of %d", ch, b)
	}
	ch /= b * b
	var t *tensor.Tensor
	if mode := c.Text("mode", "DCR"); mode == "CRD" {
		t = c.Permuted(x, []int{n, ch, b, b, h, w}, 0, 1, 4, 2, 5, 3)
	} else {
		t = c.Permuted(x, []int{n, b, b, ch, h, w}, 0, 3, 4, 1, 5, 2)
	}
	return run.One(t.As(n, ch, h*b, w*b))
}

func spaceToDepth(c *run.Call) []*tensor.Tensor {
	x, b := inBlocks(c)
	n, ch, h, w := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	if h%b != 0 || w%b != 0 {
		tensor.Malformed("shape %d in blocks of %d", x.Shape, b)
	}
	return run.One(c.Permuted(x, []int{n, ch, h / b, b, w / b, b}, 0, 3, 5, 1, 2, 4).As(n, ch*b*b, h/b, w/b))
}

func reverseSequence(c *run.Call) []*tensor.Tensor {
	x, lens := c.X(0), c.X(1).List()
	if len(x.Shape) < 2 {
		tensor.Malformed("sequences of shape %d", x.Shape)
	}
	time, batch := c.Int("time_axis", 0), c.Int("batch_axis", 1)
	if time+batch != 1 || time*batch != 0 || len(lens) != x.Shape[batch] {
		tensor.Malformed("%d sequences of shape %d by axes %d and %d", len(lens), x.Shape, batch, time)
	}
	out := c.Blank(x.Type, x.Shape...)
	inner, steps, n := tensor.Count(x.Shape[2:]), x.Shape[time], len(lens)
	at := func(s, t int) int {
		if time == 0 {
			return (t*n + s) * inner
		}
		return (s*steps + t) * inner
	}
	for s, l := range lens {
		if l < 0 || l > steps {
			tensor.Malformed("a sequence of %d in shape %d", l, x.Shape)
		}
		for t := range steps {
			from := t
			if t < l {
				from = l - 1 - t
			}
			tensor.CopyElems(out, at(s, t), x, at(s, from), inner)
		}
	}
	return run.One(out)
}

func arrayFeatureExtractor(c *run.Call) []*tensor.Tensor {
	x, index := c.X(0), c.X(1).List()
	if len(x.Shape) == 0 {
		x = x.As(1)
	}
	last := len(x.Shape) - 1
	n := x.Shape[last]
	shape := slices.Clone(x.Shape)
	shape[last] = len(index)
	if last == 0 {
		shape = []int{1, len(index)}
	}
	from := make([]int, 0, tensor.Count(shape))
	for r := range tensor.Count(x.Shape[:last]) {
		for _, i := range index {
			if i < 0 || i >= n {
				tensor.Malformed("index %d of %d", i, n)
			}
			from = append(from, r*n+i)
		}
	}
	return run.One(x.Pick(from, shape...))
}
