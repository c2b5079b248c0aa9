package main

import (
	"math"
	"math/rand/v2"
	"os"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// writeGraph writes the network of Kokoro-82M from durations on as PyTorch's exporter would, with
// random weights: the curves of pitch and energy, the decoder and the generator, which is more than
// nineteen twentieths of the work. Of the source only its spectrum comes in, and the spectrum of
// the sound goes out, so the transforms at both ends are left out in favour of the peer.
//
// Li et al., "StyleTTS 2", 2023; Kaneko et al., "iSTFTNet", 2022.
func writeGraph(path string) error {
	g := &grapher{Builder: onnxtest.New(17), r: rand.New(rand.NewPCG(5, 6))}
	frames := g.Input("frames", onnx.Float, 1, 640, "T")     // what the duration encoder says, stretched
	text := g.Input("text", onnx.Float, 1, 512, "T")         // the same of the text encoder
	source := g.Input("source", onnx.Float, 1, 22, "120T+1") // of harmonics and noise
	g.style = g.Input("style", onnx.Float, 1, 128)

	x := g.lstm(frames, 640, 256)
	var curves [2]string
	for i := range curves {
		y := g.res(g.res(g.res(x, 512, 512, false), 512, 256, true), 256, 256, false)
		curves[i] = g.conv(g.conv(y, 256, 1, 1, 1, 1), 1, 1, 3, 2, 1)
	}
	side := g.conv(text, 512, 64, 1, 1, 1)
	x = g.res(g.join(text, curves[0], curves[1]), 514, 1024, false)
	for i, out := range []int{1024, 1024, 1024, 512} {
		x = g.res(g.join(x, side, curves[0], curves[1]), 1024+64+2, out, i == 3)
	}
	for i, s := range []struct{ in, out, kernel, stride, branch, step, width int }{
		{512, 256, 20, 10, 12, 6, 7}, {256, 128, 12, 6, 1, 1, 11},
	} {
		more := g.snake(g.conv(source, 22, s.out, s.branch, s.step, 1), s.out, s.width)
		x = g.up(g.leaky(x, 0.1), s.in, s.out, s.kernel, s.stride)
		if i == 1 {
			x = g.Node("Pad", []string{x, g.List(0, 0, 1, 0, 0, 0)}, onnxtest.Text("mode", "reflect"))
		}
		x = g.Node("Add", []string{x, more})
		sum := g.snake(x, s.out, 3)
		for _, width := range []int{7, 11} {
			sum = g.Node("Add", []string{sum, g.snake(x, s.out, width)})
		}
		x = g.Node("Div", []string{sum, g.Floats(nil, 3)})
	}
	g.Output("spectrum", g.conv(g.leaky(x, 0.01), 128, 22, 7, 1, 1), onnx.Float, 1, 22, "120T+1")
	return os.WriteFile(path, g.Bytes(), 0o644)
}

// A grapher makes layers of (1, channels, frames).
type grapher struct {
	*onnxtest.Builder
	r     *rand.Rand
	style string
}

// normal is a weight whose products have the size of what they are products of.
func (g *grapher) normal(fan int, shape ...int) string {
	by := math.Sqrt(float64(fan))
	return g.Filled(shape, func() float32 { return float32(g.r.NormFloat64() / by) })
}

func (g *grapher) all(n int, v float32) string {
	return g.Filled([]int{n}, func() float32 { return v })
}

func (g *grapher) join(list ...string) string {
	return g.Node("Concat", list, onnxtest.Int("axis", 1))
}

func (g *grapher) leaky(x string, slope float32) string {
	return g.Node("LeakyRelu", []string{x}, onnxtest.Float("alpha", slope))
}

// conv is a convolution as long as its input, or shorter by the stride.
func (g *grapher) conv(x string, in, out, kernel, stride, dilation int) string {
	pad := int64(dilation * (kernel - 1) / 2)
	if stride > 1 {
		pad = int64((kernel - stride + 1) / 2)
	}
	return g.Node("Conv", []string{x, g.normal(in*kernel, out, in, kernel), g.all(out, 0)}, onnxtest.IntList("kernel_shape", int64(kernel)),
		onnxtest.IntList("strides", int64(stride)), onnxtest.IntList("dilations", int64(dilation)), onnxtest.IntList("pads", pad, pad))
}

// up makes x as many times as long as the stride says.
func (g *grapher) up(x string, in, out, kernel, stride int) string {
	pad := int64(kernel-stride) / 2
	return g.Node("ConvTranspose", []string{x, g.normal(in*kernel/stride, in, out, kernel), g.all(out, 0)}, onnxtest.IntList("kernel_shape", int64(kernel)),
		onnxtest.IntList("strides", int64(stride)), onnxtest.IntList("pads", pad, pad))
}

// norm is an instance normalisation whose scales and offsets the style gives.
func (g *grapher) norm(x string, channels int) string {
	half := [2]string{}
	for i, base := range []float32{1, 0} {
		y := g.Node("Gemm", []string{g.style, g.normal(128, channels, 128), g.all(channels, base)}, onnxtest.Int("transB", 1))
		half[i] = g.Node("Unsqueeze", []string{y, g.List(2)})
	}
	y := g.Node("InstanceNormalization", []string{x, g.all(channels, 1), g.all(channels, 0)}, onnxtest.Float("epsilon", 1e-5))
	return g.Node("Add", []string{g.Node("Mul", []string{y, half[0]}), half[1]})
}

// res is a residual block, which doubles the frames if told.
func (g *grapher) res(x string, in, out int, double bool) string {
	y := g.leaky(g.norm(x, in), 0.2)
	if double {
		y = g.Node("ConvTranspose", []string{y, g.normal(3, in, 1, 3)}, onnxtest.IntList("kernel_shape", 3), onnxtest.IntList("strides", 2),
			onnxtest.IntList("pads", 1, 1), onnxtest.IntList("output_padding", 1), onnxtest.Int("group", int64(in)))
		x = g.Node("Resize", []string{x, "", g.Floats([]int{3}, 1, 1, 2)}, onnxtest.Text("mode", "nearest"), onnxtest.Text("nearest_mode", "floor"),
			onnxtest.Text("coordinate_transformation_mode", "asymmetric"))
	}
	y = g.conv(g.leaky(g.norm(g.conv(y, in, out, 3, 1, 1), out), 0.2), out, out, 3, 1, 1)
	if in != out {
		x = g.conv(x, in, out, 1, 1, 1)
	}
	return g.Node("Mul", []string{g.Node("Add", []string{y, x}), g.Floats(nil, math.Sqrt2/2)})
}

// snake is three residual pairs of convolutions behind x + sin²(a x)/a.
func (g *grapher) snake(x string, channels, kernel int) string {
	wave := func(x string) string {
		scale := g.Filled([]int{1, channels, 1}, func() float32 { return 0.5 + g.r.Float32() })
		y := g.Node("Pow", []string{g.Node("Sin", []string{g.Node("Mul", []string{scale, x})}), g.Floats(nil, 2)})
		return g.Node("Add", []string{x, g.Node("Mul", []string{y, g.Node("Div", []string{g.Floats(nil, 1), scale})})})
	}
	for _, dilation := range []int{1, 3, 5} {
		y := g.conv(wave(g.norm(x, channels)), channels, channels, kernel, 1, dilation)
		x = g.Node("Add", []string{x, g.conv(wave(g.norm(y, channels)), channels, channels, kernel, 1, 1)})
	}
	return x
}

// lstm reads both ways; x is (1, in, frames), and so is what comes out.
func (g *grapher) lstm(x string, in, hidden int) string {
	const both = 2
	x = g.Node("Transpose", []string{x}, onnxtest.IntList("perm", 2, 0, 1))
	y := g.Node("LSTM", []string{x, g.normal(in, both, 4*hidden, in), g.normal(hidden, both, 4*hidden, hidden), g.normal(in, both, 8*hidden)},
		onnxtest.Int("hidden_size", int64(hidden)), onnxtest.Text("direction", "bidirectional")) // (frames, 2, 1, hidden)
	y = g.Node("Transpose", []string{y}, onnxtest.IntList("perm", 2, 1, 3, 0))
	return g.Node("Reshape", []string{y, g.List(1, int64(both*hidden), -1)})
}
