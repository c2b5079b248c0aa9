package onnx_test

import (
	"context"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// BenchmarkShapes runs operators at shapes that models have, with the bytes
// they read and write.
func BenchmarkShapes(b *testing.B) {
	f := func(shape ...int) *run.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i%17) - 8
		}
		return run.NewFloats(shape, v)
	}
	for _, tt := range []struct {
		name string
		node *onnx.Node
		in   []*run.Tensor
	}{
		{"Transpose heads", node("Transpose", "a", "y", listAttr("perm", 0, 2, 1, 3)), []*run.Tensor{f(1, 512, 12, 64)}},
		{"Transpose rows", node("Transpose", "a", "y", listAttr("perm", 0, 1, 3, 2)), []*run.Tensor{f(1, 12, 512, 64)}},
		{"Transpose channels", node("Transpose", "a", "y", listAttr("perm", 0, 2, 3, 1)), []*run.Tensor{f(1, 64, 112, 112)}},
		{"Conv 3x3", node("Conv", "a b", "y", listAttr("pads", 1, 1, 1, 1)), []*run.Tensor{f(1, 64, 56, 56), f(64, 64, 3, 3)}},
		{"Conv 3x3 small", node("Conv", "a b", "y", listAttr("pads", 1, 1, 1, 1)), []*run.Tensor{f(1, 512, 7, 7), f(512, 512, 3, 3)}},
		{"Conv 1x1", node("Conv", "a b", "y"), []*run.Tensor{f(1, 256, 28, 28), f(512, 256, 1, 1)}},
		{"Conv patch", node("Conv", "a b", "y", listAttr("strides", 16, 16)), []*run.Tensor{f(1, 3, 224, 224), f(768, 3, 16, 16)}},
		{"Conv sound", node("Conv", "a b", "y", listAttr("pads", 1, 1)), []*run.Tensor{f(1, 80, 3000), f(384, 80, 3)}},
		{"Conv depthwise", node("Conv", "a b", "y", listAttr("pads", 1, 1, 1, 1), intAttr("group", 128)), []*run.Tensor{f(1, 128, 56, 56), f(128, 1, 3, 3)}},
		{"ConvTranspose", node("ConvTranspose", "a b", "y", listAttr("strides", 8), listAttr("pads", 4, 4)), []*run.Tensor{f(1, 256, 300), f(256, 128, 16)}},
		{"MaxPool", node("MaxPool", "a", "y", listAttr("kernel_shape", 3, 3), listAttr("strides", 2, 2)), []*run.Tensor{f(1, 64, 112, 112)}},
		{"AveragePool", node("AveragePool", "a", "y", listAttr("kernel_shape", 3, 3), listAttr("strides", 2, 2)), []*run.Tensor{f(1, 64, 112, 112)}},
		{"BatchNormalization", node("BatchNormalization", "a b b b b", "y"), []*run.Tensor{f(1, 64, 112, 112), f(64)}},
		{"ReduceMean last", node("ReduceMean", "a b", "y"), []*run.Tensor{f(512, 768), ints64([]int{1}, -1)}},
		{"ReduceMean rows", node("ReduceMean", "a b", "y"), []*run.Tensor{f(1, 512, 768), ints64([]int{1}, 1)}},
		{"ReduceMax last", node("ReduceMax", "a b", "y"), []*run.Tensor{f(512, 768), ints64([]int{1}, -1)}},
		{"ArgMax", node("ArgMax", "a", "y", intAttr("axis", -1)), []*run.Tensor{f(1, 151936)}},
		{"TopK", node("TopK", "a b", "y _"), []*run.Tensor{f(1, 151936), ints64([]int{1}, 40)}},
		{"Resize linear", node("Resize", "a _ b", "y", &onnx.Attr{Name: "mode", S: "linear"}), []*run.Tensor{f(1, 64, 56, 56), f(4)}},
		{"Pad", node("Pad", "a b", "y"), []*run.Tensor{f(1, 64, 112, 112), ints64([]int{8}, 0, 0, 1, 1, 0, 0, 1, 1)}},
		{"Tile", node("Tile", "a b", "y"), []*run.Tensor{f(1, 512, 768), ints64([]int{3}, 4, 1, 1)}},
		{"LSTM", node("LSTM", "a b c", "y"), []*run.Tensor{f(200, 1, 256), f(1, 1024, 256), f(1, 1024, 256)}},
		{"LSTM step", node("LSTM", "a b c", "y"), []*run.Tensor{f(1, 1, 128), f(1, 512, 128), f(1, 512, 128)}},
		{"STFT", node("STFT", "a b c", "y"), []*run.Tensor{f(1, 16000, 1), ints64(nil, 160), f(400)}},
		{"Einsum", node("Einsum", "a b", "y", &onnx.Attr{Name: "equation", S: "bhid,bhjd->bhij"}), []*run.Tensor{f(1, 12, 128, 64), f(1, 12, 128, 64)}},
		{"ScatterND", node("ScatterND", "a b c", "y"), []*run.Tensor{f(512, 768), ints64([]int{1, 1}, 3), f(1, 768)}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			g := &onnx.Graph{Nodes: []*onnx.Node{tt.node}}
			given := make(map[string]*run.Tensor)
			if tt.name == "Resize linear" {
				copy(tt.in[1].F, []float32{1, 1, 2, 2})
			}
			i := 0
			for _, name := range []string{"a", "b", "c"} {
				if i == len(tt.in) {
					break
				}
				t := tt.in[i]
				i++
				// Weights are constants, as they are in models.
				if t.Type == onnx.Float && name != "a" && tt.name != "Resize linear" && tt.name != "Einsum" {
					g.Initializers = append(g.Initializers, t.ToFile(name))
					continue
				}
				g.Inputs = append(g.Inputs, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor, Elem: t.Type}})
				given[name] = t
			}
			g.Outputs = anything("y")
			s := newSession(b, g, run.Options{})
			for b.Loop() {
				if _, err := s.Run(context.Background(), given); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
