package onnx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// bytesOf returns a tensor of random bytes.
func bytesOf(r *rand.Rand, typ onnx.DType, shape ...int) *onnx.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	t := &onnx.Tensor{Type: typ, Shape: shape, Data: make([]byte, n)}
	for i := range t.Data {
		t.Data[i] = byte(r.Uint32())
	}
	return t
}

func number(t *onnx.Tensor, i int) int64 {
	if t.Type == onnx.Int8 {
		return int64(int8(t.Data[i]))
	}
	return int64(t.Data[i])
}

// TestConvInteger holds convolutions of integers against sums tap by tap, which
// they must equal.
func TestConvInteger(t *testing.T) {
	types := []onnx.DType{onnx.Uint8, onnx.Int8}
	for i, tt := range []struct {
		batch, groups, in, out int // channels of a group
		size, kernel, stride   [2]int
		dilation, pad          int
	}{
		{1, 1, 1, 1, [2]int{4, 4}, [2]int{3, 3}, [2]int{1, 1}, 1, 0},
		{2, 1, 3, 5, [2]int{7, 6}, [2]int{3, 2}, [2]int{1, 1}, 1, 1},
		{1, 1, 16, 33, [2]int{9, 5}, [2]int{1, 1}, [2]int{1, 1}, 1, 0},
		{1, 1, 5, 8, [2]int{9, 8}, [2]int{3, 3}, [2]int{2, 3}, 1, 1},
		{1, 1, 4, 4, [2]int{11, 10}, [2]int{3, 3}, [2]int{1, 2}, 2, 2},
		{2, 2, 3, 4, [2]int{6, 6}, [2]int{3, 3}, [2]int{1, 1}, 1, 1},
		{1, 7, 1, 1, [2]int{8, 9}, [2]int{3, 3}, [2]int{2, 1}, 1, 1},
		{1, 3, 1, 2, [2]int{8, 9}, [2]int{5, 3}, [2]int{1, 1}, 2, 3},
		{1, 1, 40, 20, [2]int{30, 29}, [2]int{3, 3}, [2]int{1, 1}, 1, 1},
		{1, 1, 3, 2, [2]int{1, 1}, [2]int{3, 3}, [2]int{1, 1}, 1, 1},
	} {
		for k := range 8 {
			if tt.in == 40 && k%3 > 0 {
				continue // the sums by hand take long
			}
			t.Run(fmt.Sprint(i, ".", k), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), uint64(k)))
				xt, wt := types[k%2], types[k/2%2]
				x := bytesOf(r, xt, tt.batch, tt.groups*tt.in, tt.size[0], tt.size[1])
				w := bytesOf(r, wt, tt.groups*tt.out, tt.in, tt.kernel[0], tt.kernel[1])
				xz, wz := bytesOf(r, xt), bytesOf(r, wt)
				if k >= 4 {
					wz = bytesOf(r, wt, tt.groups*tt.out)
				}
				x.Name, w.Name, xz.Name, wz.Name = "x", "w", "xz", "wz"
				p := int64(tt.pad)
				n := node("ConvInteger", "x w xz wz", "y", listAttr("pads", p, p, p, p), listAttr("strides", int64(tt.stride[0]), int64(tt.stride[1])),
					listAttr("dilations", int64(tt.dilation), int64(tt.dilation)), intAttr("group", int64(tt.groups)))
				g := &onnx.Graph{
					Nodes: []*onnx.Node{n}, Inputs: []onnx.Value{{Name: "x", Type: onnx.Type{Kind: onnx.KindTensor, Elem: xt}}}, Outputs: anything("y"),
					Initializers: []*onnx.Tensor{w, xz, wz},
				}
				in, err := run.FromFile(x)
				if err != nil {
					t.Fatal(err)
				}
				s := newSession(t, g, run.Options{})
				for range 2 {
					out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": in})
					if err != nil {
						t.Fatal(err)
					}
					sameSums(t, out["y"], func(b, o, row, col int) (sum int64) {
						zero := number(wz, o%len(wz.Data))
						for c := range tt.in {
							for ky := range tt.kernel[0] {
								for kx := range tt.kernel[1] {
									y, x0 := row*tt.stride[0]-tt.pad+ky*tt.dilation, col*tt.stride[1]-tt.pad+kx*tt.dilation
									if y < 0 || x0 < 0 || y >= tt.size[0] || x0 >= tt.size[1] {
										continue
									}
									at := ((b*tt.groups*tt.in+o/tt.out*tt.in+c)*tt.size[0]+y)*tt.size[1] + x0
									sum += (number(x, at) - number(xz, 0)) * (number(w, ((o*tt.in+c)*tt.kernel[0]+ky)*tt.kernel[1]+kx) - zero)
								}
							}
						}
						return sum
					})
				}
			})
		}
	}
}

func sameSums(t *testing.T, y *run.Tensor, want func(b, o, row, col int) int64) {
	t.Helper()
	d := y.Shape
	for i, got := range y.I {
		rest := i
		col := rest % d[3]
		rest /= d[3]
		row := rest % d[2]
		rest /= d[2]
		if w := want(rest/d[1], rest%d[1], row, col); got != w {
			t.Fatalf("element %d of shape %d is %d, want %d", i, d, got, w)
		}
	}
}

// BenchmarkLinearConv runs quantised convolutions of the shapes picture models
// have, on one thread.
func BenchmarkLinearConv(b *testing.B) {
	for _, tt := range []struct {
		name          string
		in, out, size int
		kernel, group int
	}{
		{"3x3 64 to 64 at 28", 64, 64, 28, 3, 1},
		{"1x1 256 to 64 at 28", 256, 64, 28, 1, 1},
		{"depthwise 3x3 64 at 56", 64, 64, 56, 3, 64},
	} {
		b.Run(tt.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			x, err := run.FromFile(bytesOf(r, onnx.Uint8, 1, tt.in, tt.size, tt.size))
			if err != nil {
				b.Fatal(err)
			}
			w := bytesOf(r, onnx.Int8, tt.out, tt.in/tt.group, tt.kernel, tt.kernel)
			zero, wZero := bytesOf(r, onnx.Uint8), &onnx.Tensor{Name: "wz", Type: onnx.Int8, Shape: []int{}, Data: []byte{0}}
			w.Name, zero.Name = "w", "z"
			scale := &onnx.Tensor{Name: "s", Type: onnx.Float, Shape: []int{}, Data: []byte{0, 0, 128, byte(math.Float32bits(1) >> 24)}}
			p := int64(tt.kernel / 2)
			g := &onnx.Graph{
				Nodes:  []*onnx.Node{node("QLinearConv", "x s z w s wz s z", "y", listAttr("pads", p, p, p, p), intAttr("group", int64(tt.group)))},
				Inputs: []onnx.Value{{Name: "x", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Uint8}}}, Outputs: anything("y"), Initializers: []*onnx.Tensor{w, zero, wZero, scale},
			}
			pool := threads.NewPool(1)
			defer pool.Close()
			s, err := run.New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": 21}}, run.Options{Pool: pool})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Run(context.Background(), map[string]*run.Tensor{"x": x}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
