package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// wave returns numbers between -1 and 1 of a shape.
func wave(shape ...int) *run.Tensor {
	x := counted(shape...)
	for i := range x.F {
		x.F[i] = float32(math.Sin(float64(i)*1.7 + 1))
	}
	return x
}

// near compares floats with what was added up in another order.
func near(t *testing.T, got, want []float64, by float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d elements, want %d", len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= by*max(1, math.Abs(w))) {
			t.Fatalf("element %d is %v, want %v", i, got[i], w)
		}
	}
}

// A filter is a two-dimensional convolution.
type filter struct {
	name                                                 string
	batch, groups, in, out, height, width, rows, columns int
	stride, dilation, pad                                int
}

var filters = []filter{
	{"plain", 1, 1, 5, 7, 9, 40, 3, 3, 1, 1, 1},
	{"strides", 2, 1, 3, 8, 17, 19, 4, 3, 2, 1, 2},
	{"dilated", 1, 1, 4, 4, 13, 11, 3, 2, 1, 3, 3},
	{"groups", 2, 3, 4, 5, 8, 8, 3, 3, 1, 1, 0},
	{"each channel", 2, 6, 1, 1, 11, 12, 3, 5, 1, 1, 2},
	{"each channel, strides", 1, 4, 1, 2, 11, 12, 3, 3, 3, 2, 2},
	{"points", 1, 1, 20, 33, 31, 29, 1, 1, 1, 1, 0},
	{"wide padding", 1, 1, 2, 3, 3, 2, 2, 2, 1, 2, 5},
	{"long with strides", 2, 1, 1, 5, 37, 41, 12, 9, 2, 1, 3},
	{"long, dilated, with strides", 1, 2, 2, 3, 60, 70, 13, 12, 3, 2, 4},
	{"many tiles", 1, 1, 70, 3, 50, 50, 3, 3, 1, 1, 1},
}

func (f *filter) attrs() []*onnx.Attr {
	n := func(v int) []int64 { return []int64{int64(v), int64(v)} }
	return []*onnx.Attr{
		listAttr("strides", n(f.stride)...), listAttr("dilations", n(f.dilation)...),
		listAttr("pads", append(n(f.pad), n(f.pad)...)...), intAttr("group", int64(f.groups)),
	}
}

// meet calls f for every pair of an element of the larger and one of the
// smaller side that a weight joins.
func (f *filter) meet(bigH, bigW, smallH, smallW int, do func(big, small, tap int)) {
	for y := range smallH {
		for x := range smallW {
			for i := range f.rows {
				for j := range f.columns {
					by, bx := y*f.stride-f.pad+i*f.dilation, x*f.stride-f.pad+j*f.dilation
					if by >= 0 && by < bigH && bx >= 0 && bx < bigW {
						do(by*bigW+bx, y*smallW+x, i*f.columns+j)
					}
				}
			}
		}
	}
}

func TestConv(t *testing.T) {
	for _, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			x, w, bias := wave(f.batch, f.groups*f.in, f.height, f.width), wave(f.groups*f.out, f.in, f.rows, f.columns), wave(f.groups*f.out)
			size := func(n, k int) int { return (n+2*f.pad-(k-1)*f.dilation-1)/f.stride + 1 }
			h, wd := size(f.height, f.rows), size(f.width, f.columns)
			want := make([]float64, f.batch*f.groups*f.out*h*wd)
			taps := f.rows * f.columns
			for i := range f.batch * f.groups * f.out {
				dst := want[i*h*wd : (i+1)*h*wd]
				o, image := i%(f.groups*f.out), i/f.out
				for k := range dst {
					dst[k] = float64(bias.F[o])
				}
				for ch := range f.in {
					f.meet(f.height, f.width, h, wd, func(big, small, tap int) {
						dst[small] += float64(w.F[(o*f.in+ch)*taps+tap]) * float64(x.F[(image*f.in+ch)*f.height*f.width+big])
					})
				}
			}
			for _, typ := range []onnx.DType{onnx.Float, onnx.Double} {
				got, err := runNode(t, node("Conv", "a b c", "y", f.attrs()...), run.Options{}, convert(t, x, typ), convert(t, w, typ), convert(t, bias, typ))
				if err != nil {
					t.Fatal(err)
				}
				if s := fmt.Sprint(got.Shape); s != fmt.Sprint([]int{f.batch, f.groups * f.out, h, wd}) {
					t.Fatalf("shape %s", s)
				}
				near(t, doubles(t, got), want, 1e-4)
			}
		})
	}
}

// Floats are laid out in another way than doubles: filters of all kinds over one to three
// dimensions, so that planes of phases, lines' ends and groups of rows are met.
func TestConvOfFloatsAndDoubles(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	n := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	for i := range 200 {
		rank, groups, in, out := n(1, 3), n(1, 3), n(1, 5), n(1, 14)
		x, w := []int{n(1, 2), groups * in}, []int{groups * out, in}
		var strides, dilations, before, beyond []int64
		most := []int{300, 30, 12}[rank-1]
		for range rank {
			k, d := n(1, 6), n(1, 3)
			size := n(max(1, most/4), most)
			pads := [2]int{n(0, 4), n(0, 4)}
			if span := (k-1)*d + 1; size+pads[0]+pads[1] < span {
				size = span
			}
			x, w = append(x, size), append(w, k)
			strides, dilations = append(strides, int64(n(1, 3))), append(dilations, int64(d))
			before, beyond = append(before, int64(pads[0])), append(beyond, int64(pads[1]))
		}
		attrs := []*onnx.Attr{listAttr("strides", strides...), listAttr("dilations", dilations...), listAttr("pads", slices.Concat(before, beyond)...), intAttr("group", int64(groups))}
		var results [2][]float64
		for k, typ := range []onnx.DType{onnx.Float, onnx.Double} {
			got, err := runNode(t, node("Conv", "a b c", "y", attrs...), run.Options{}, convert(t, wave(x...), typ), convert(t, wave(w...), typ), convert(t, wave(groups*out), typ))
			if err != nil {
				t.Fatal(err)
			}
			results[k] = doubles(t, got)
		}
		t.Run(fmt.Sprint(i, " x ", x, " filters ", w, " strides ", strides, " dilations ", dilations, " pads ", before, beyond), func(t *testing.T) {
			near(t, results[0], results[1], 1e-4)
		})
	}
}

func TestConvTranspose(t *testing.T) {
	for _, f := range filters[:7] {
		t.Run(f.name, func(t *testing.T) {
			x, w, bias := wave(f.batch, f.groups*f.in, f.height, f.width), wave(f.groups*f.in, f.out, f.rows, f.columns), wave(f.groups*f.out)
			size := func(n, k int) int { return (n-1)*f.stride + (k-1)*f.dilation + 1 - 2*f.pad }
			h, wd := size(f.height, f.rows), size(f.width, f.columns)
			want := make([]float64, f.batch*f.groups*f.out*h*wd)
			taps := f.rows * f.columns
			for i := range f.batch * f.groups * f.out {
				dst := want[i*h*wd : (i+1)*h*wd]
				o, image := i%f.out, i/f.out
				for k := range dst {
					dst[k] = float64(bias.F[i%(f.groups*f.out)])
				}
				for ch := range f.in {
					row := ((image%f.groups)*f.in+ch)*f.out + o
					f.meet(h, wd, f.height, f.width, func(big, small, tap int) {
						dst[big] += float64(w.F[row*taps+tap]) * float64(x.F[(image*f.in+ch)*f.height*f.width+small])
					})
				}
			}
			for _, typ := range []onnx.DType{onnx.Float, onnx.Double} {
				got, err := runNode(t, node("ConvTranspose", "a b c", "y", f.attrs()...), run.Options{}, convert(t, x, typ), convert(t, w, typ), convert(t, bias, typ))
				if err != nil {
					t.Fatal(err)
				}
				near(t, doubles(t, got), want, 1e-4)
			}
		})
	}
}

func TestImages(t *testing.T) {
	x, four := counted(1, 1, 3, 4), counted(1, 1, 4, 4)
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	three := listAttr("kernel_shape", 3, 3)
	two := listAttr("kernel_shape", 2, 2)
	nan := float32(math.NaN())
	scale := floats([]int{4}, 1, 1, 2, 2)
	box := floats([]int{1, 3, 4}, 0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6)
	checkNodes(t, []nodeCase{
		{"largest", node("MaxPool", "a", "y", two), one(x), []int{1, 1, 2, 3}, []float64{5, 6, 7, 9, 10, 11}, nil},
		{"largest, where", node("MaxPool", "a", "_ y", two, listAttr("strides", 2, 2)), one(four), []int{1, 1, 2, 2}, []float64{5, 7, 13, 15}, nil},
		{"largest of bytes", node("MaxPool", "a", "y", two), one(convert(t, x, onnx.Uint8)), []int{1, 1, 2, 3}, []float64{5, 6, 7, 9, 10, 11}, nil},
		{"largest beyond the padding", node("MaxPool", "a", "y", listAttr("kernel_shape", 2), listAttr("strides", 2), intAttr("ceil_mode", 1)), one(counted(1, 1, 5)), []int{1, 1, 3}, []float64{1, 3, 4}, nil},
		{"a wide filter", node("MaxPool", "a", "y", listAttr("kernel_shape", 1<<27), listAttr("pads", 1<<26, 1<<26)), one(counted(1, 1, 5)), []int{1, 1, 6}, []float64{4, 4, 4, 4, 4, 4}, nil},
		{"NaN is the largest", node("MaxPool", "a", "y", listAttr("kernel_shape", 3)), one(floats([]int{1, 1, 3}, 1, nan, 2)), []int{1, 1, 1}, []float64{math.NaN()}, nil},
		{"average", node("AveragePool", "a", "y", three, listAttr("pads", 1, 1, 1, 1), listAttr("strides", 2, 2)), one(x), []int{1, 1, 2, 2}, []float64{2.5, 4, 6.5, 8}, nil},
		{"average with padding", node("AveragePool", "a", "y", three, listAttr("pads", 1, 1, 1, 1), listAttr("strides", 2, 2), intAttr("count_include_pad", 1)), one(x), []int{1, 1, 2, 2}, []float64{10.0 / 9, 24.0 / 9, 26.0 / 9, 48.0 / 9}, nil},
		{"norm", node("LpPool", "a", "y", listAttr("kernel_shape", 2), intAttr("p", 2)), one(floats([]int{1, 1, 3}, 3, 4, 0)), []int{1, 1, 2}, []float64{5, 4}, nil},
		{"global", node("GlobalAveragePool", "a", "y"), one(x), []int{1, 1, 1, 1}, []float64{5.5}, nil},
		{"a filter of nothing", node("MaxPool", "a", "y", listAttr("kernel_shape", 0, 2)), one(x), nil, nil, onnx.ErrFormat},
		{"regions", node("MaxRoiPool", "a b", "y", listAttr("pooled_shape", 1, 2)), one(four, floats([]int{1, 5}, 0, 0, 1, 3, 2)), []int{1, 1, 1, 2}, []float64{9, 11}, nil},
		{"batch", node("BatchNormalization", "a b b c d", "y", &onnx.Attr{Name: "epsilon", F: 0}), one(counted(1, 2, 2), floats([]int{2}, 1, 10), floats([]int{2}, 1, 2), floats([]int{2}, 4, 25)), []int{1, 2, 2}, []float64{0.5, 1, 10, 12}, nil},
		{"nearest", node("Resize", "a _ b", "y"), one(counted(1, 1, 1, 2), scale), []int{1, 1, 2, 4}, []float64{0, 0, 1, 1, 0, 0, 1, 1}, nil},
		{"upsample", node("Upsample", "a b", "y"), one(counted(1, 1, 1, 2), scale), []int{1, 1, 2, 4}, []float64{0, 0, 1, 1, 0, 0, 1, 1}, nil},
		{"linear", node("Resize", "a _ b", "y", textAttr("mode", "linear")), one(counted(1, 1, 1, 2), scale), []int{1, 1, 2, 4}, []float64{0, 0.25, 0.75, 1, 0, 0.25, 0.75, 1}, nil},
		{"smaller", node("Resize", "a _ _ b", "y", textAttr("mode", "linear"), intAttr("antialias", 1), listAttr("axes", 0)), one(counted(4), list64(2)), []int{2}, []float64{0.625, 2.375}, nil},
		{"larger than all", node("Resize", "a _ b", "y"), one(counted(2), floats([]int{1}, 1e30)), nil, nil, onnx.ErrUnsupported},
		{"samples", node("GridSample", "a b", "y", intAttr("align_corners", 1)), one(counted(1, 1, 2, 2), floats([]int{1, 1, 3, 2}, 0, 0, 1, -1, 3, 0)), []int{1, 1, 1, 3}, []float64{1.5, 1, 0}, nil},
		{"samples of the border", node("GridSample", "a b", "y", textAttr("padding_mode", "border")), one(counted(1, 1, 2, 2), floats([]int{1, 1, 2, 2}, 9, 9, nan, nan)), []int{1, 1, 1, 2}, []float64{3, 0}, nil},
		{"boxes", node("NonMaxSuppression", "a b c d", "y"), one(box, floats([]int{1, 1, 3}, 0.8, 0.9, 0.1), ints64(nil, 9), floats(nil, 0.5)), []int{2, 3}, []float64{0, 0, 1, 0, 0, 2}, nil},
		{"integers", node("ConvInteger", "a b c", "y"), one(convert(t, floats([]int{1, 1, 3}, 2, 3, 4), onnx.Uint8), convert(t, floats([]int{1, 1, 2}, 1, 2), onnx.Uint8), convert(t, floats(nil, 1), onnx.Uint8)), []int{1, 1, 2}, []float64{5, 8}, nil},
	})
}

// Windows over long lines have ways of their own for float32; those of doubles go element by
// element.
func TestPoolLines(t *testing.T) {
	x := wave(2, 3, 1013)
	plane := wave(1, 2, 7, 150)
	for _, tt := range []struct {
		name string
		node *onnx.Node
		x    *run.Tensor
	}{
		{"threes", node("MaxPool", "a", "y", listAttr("kernel_shape", 3), listAttr("strides", 3)), x},
		{"fives, two apart", node("MaxPool", "a", "y", listAttr("kernel_shape", 5), listAttr("strides", 2)), x},
		{"pairs of lines of a plane", node("MaxPool", "a", "y", listAttr("kernel_shape", 1, 2)), plane},
		{"hundreds, the last not whole", node("AveragePool", "a", "y", listAttr("kernel_shape", 100), listAttr("strides", 100), intAttr("ceil_mode", 1)), x},
		{"long, with padding", node("AveragePool", "a", "y", listAttr("kernel_shape", 40), listAttr("strides", 7), listAttr("pads", 30, 20)), x},
		{"long, of a plane", node("AveragePool", "a", "y", listAttr("kernel_shape", 1, 33), listAttr("strides", 2, 5), listAttr("pads", 0, 8, 0, 8), intAttr("count_include_pad", 1)), plane},
	} {
		got, err := runNode(t, tt.node, run.Options{}, tt.x)
		if err != nil {
			t.Fatal(err)
		}
		want, err := runNode(t, tt.node, run.Options{}, convert(t, tt.x, onnx.Double))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
			t.Errorf("%s: shape %d, want %d", tt.name, got.Shape, want.Shape)
		}
		near(t, doubles(t, got), doubles(t, want), 1e-5)
	}
}
