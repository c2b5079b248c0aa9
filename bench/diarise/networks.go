package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A writer records a network of random weights.
type writer struct {
	*onnxtest.Builder
	rng *rand.Rand
}

// generate writes networks of published size to a folder: pyannote's segmentation-3.0, and
// 3D-Speaker's CAM++, WeSpeaker's ECAPA-TDNN and NeMo's TitaNet-Large.
func generate(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, record := range map[string]func(*writer){"segmentation.onnx": segmentation, "campplus.onnx": campplus, "ecapa.onnx": ecapa, "titanet.onnx": titanet} {
		w := &writer{onnxtest.New(17), rand.New(rand.NewPCG(1, 2))}
		record(w)
		data := w.Bytes()
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %.1f MB\n", name, float64(len(data))/1e6)
	}
	return nil
}

// uniform is a weight whose sum over so many inputs has deviation about 1.
func (w *writer) uniform(inputs int, shape ...int) string {
	by := math.Sqrt(3 / float64(inputs))
	return w.Filled(shape, func() float32 { return float32((2*w.rng.Float64() - 1) * by) })
}

// fill is a vector of one number.
func (w *writer) fill(v float32, n int) string {
	return w.Filled([]int{n}, func() float32 { return v })
}

func (w *writer) op(name string, in ...string) string { return w.Node(name, in) }

func (w *writer) conv(x string, shape []int, strides, pads, dilations []int64) string {
	inputs := 1
	for _, d := range shape[1:] {
		inputs *= d
	}
	var kernel []int64
	for _, d := range shape[2:] {
		kernel = append(kernel, int64(d))
	}
	return w.Node("Conv", []string{x, w.uniform(inputs, shape...), w.fill(0, shape[0])}, onnxtest.IntList("kernel_shape", kernel...),
		onnxtest.IntList("strides", strides...), onnxtest.IntList("pads", pads...), onnxtest.IntList("dilations", dilations...))
}

// norm is a batch normalisation with its ReLU.
func (w *writer) norm(x string, channels int) string {
	return w.op("Relu", w.op("BatchNormalization", x, w.fill(1, channels), w.fill(0, channels), w.fill(0, channels), w.fill(1, channels)))
}

// segmentation is PyanNet.
//
// Bredin, "pyannote.audio 2.1 speaker diarization pipeline", 2023.
func segmentation(w *writer) {
	w.Model.Meta = map[string]string{"num_speakers": "3", "powerset_max_classes": "2", "num_classes": "7", "sample_rate": "16000", "window_size": "160000", "receptive_field_size": "991", "receptive_field_shift": "270"}
	leaky := onnxtest.Float("alpha", 0.01)
	instance := func(x string, channels int) string {
		return w.op("InstanceNormalization", x, w.fill(1, channels), w.fill(0, channels))
	}
	pool := func(x string) string {
		return w.Node("MaxPool", []string{x}, onnxtest.IntList("kernel_shape", 3), onnxtest.IntList("strides", 3))
	}
	x := instance(w.Input("x", onnx.Float, "N", 1, "T"), 1)
	channels := 1
	for i, c := range [][2]int{{80, 251}, {60, 5}, {60, 5}} {
		stride := int64(1)
		if i == 0 {
			stride = 10
		}
		x = w.conv(x, []int{c[0], channels, c[1]}, []int64{stride}, []int64{0, 0}, []int64{1})
		if i == 0 {
			x = w.op("Abs", x)
		}
		channels = c[0]
		x = w.Node("LeakyRelu", []string{instance(pool(x), channels)}, leaky)
	}
	x = w.Node("Transpose", []string{x}, onnxtest.IntList("perm", 2, 0, 1))
	const hidden = 128
	width := channels
	for range 4 {
		x = w.Node("LSTM", []string{x, w.uniform(width, 2, 4*hidden, width), w.uniform(hidden, 2, 4*hidden, hidden), w.uniform(hidden, 2, 8*hidden)},
			onnxtest.Int("hidden_size", hidden), onnxtest.Text("direction", "bidirectional"))
		width = 2 * hidden
		x = w.op("Reshape", w.Node("Transpose", []string{x}, onnxtest.IntList("perm", 0, 2, 1, 3)), w.List(0, 0, int64(width)))
	}
	x = w.Node("Transpose", []string{x}, onnxtest.IntList("perm", 1, 0, 2))
	for i, n := range []int{128, 128, 7} {
		x = w.op("Add", w.op("MatMul", x, w.uniform(width, width, n)), w.fill(0, n))
		if width = n; i < 2 {
			x = w.Node("LeakyRelu", []string{x}, leaky)
		}
	}
	w.Output("y", w.Node("LogSoftmax", []string{x}, onnxtest.Int("axis", -1)), onnx.Float, "N", "frames", 7)
}

// campplus is CAM++.
//
// Wang et al., "CAM++: A fast and efficient network for speaker verification using
// context-aware masking", 2023.
func campplus(w *writer) {
	w.Model.Meta = map[string]string{"framework": "3d-speaker", "feature_normalize_type": "global-mean", "normalize_samples": "1", "sample_rate": "16000", "output_dim": "192", "language": "none"}
	x := w.op("Unsqueeze", w.Node("Transpose", []string{w.Input("x", onnx.Float, "N", "T", 80)}, onnxtest.IntList("perm", 0, 2, 1)), w.List(1))
	image := func(x string, in, stride int, act bool) string {
		x = w.conv(x, []int{32, in, 3, 3}, []int64{int64(stride), 1}, []int64{1, 1, 1, 1}, []int64{1, 1})
		if act {
			x = w.op("Relu", x)
		}
		return x
	}
	x = image(x, 1, 1, true)
	for _, stride := range []int{2, 1, 2, 1} {
		side := x
		if stride > 1 {
			side = w.conv(x, []int{32, 32, 1, 1}, []int64{2, 1}, []int64{0, 0, 0, 0}, []int64{1, 1})
		}
		x = w.op("Relu", w.op("Add", image(image(x, 32, stride, true), 32, 1, false), side))
	}
	x = w.op("Reshape", image(x, 32, 2, true), w.List(0, 320, -1))
	line := func(x string, in, out, kernel, stride, dilation int) string {
		pad := int64((kernel - 1) / 2 * dilation)
		return w.conv(x, []int{out, in, kernel}, []int64{int64(stride)}, []int64{pad, pad}, []int64{int64(dilation)})
	}
	x = w.norm(line(x, 320, 128, 5, 2, 1), 128)
	width := 128
	for _, block := range [][2]int{{12, 1}, {24, 2}, {16, 2}} {
		for range block[0] {
			h := w.norm(line(w.norm(x, width), width, 128, 1, 1, 1), 128)
			local := line(h, 128, 32, 3, 1, block[1])
			mean := w.Node("ReduceMean", []string{h}, onnxtest.IntList("axes", -1), onnxtest.Int("keepdims", 1))
			parts := w.Node("AveragePool", []string{h}, onnxtest.IntList("kernel_shape", 100), onnxtest.IntList("strides", 100), onnxtest.Int("ceil_mode", 1))
			long := w.op("Reshape", w.op("Expand", w.op("Unsqueeze", parts, w.List(3)), w.List(1, 1, 1, 100)), w.List(0, 0, -1))
			frames := w.op("Slice", w.op("Shape", h), w.List(2), w.List(3))
			context := w.op("Add", w.op("Slice", long, w.List(0), frames, w.List(2)), mean)
			mask := w.op("Sigmoid", line(w.op("Relu", line(context, 128, 64, 1, 1, 1)), 64, 32, 1, 1, 1))
			x = w.Node("Concat", []string{x, w.op("Mul", local, mask)}, onnxtest.Int("axis", 1))
			width += 32
		}
		x = line(w.norm(x, width), width, width/2, 1, 1, 1)
		width /= 2
	}
	x = w.norm(x, width)
	mean := w.Node("ReduceMean", []string{x}, onnxtest.IntList("axes", -1), onnxtest.Int("keepdims", 1))
	d := w.op("Sub", x, mean)
	n := w.Node("Cast", []string{w.Node("Gather", []string{w.op("Shape", x), w.Ints(nil, 2)})}, onnxtest.Int("to", int64(onnx.Float)))
	variance := w.op("Div", w.op("ReduceSum", w.op("Mul", d, d), w.List(-1)), w.op("Sub", n, w.Floats(nil, 1)))
	x = w.Node("Concat", []string{w.op("Squeeze", mean, w.List(-1)), w.op("Squeeze", w.op("Sqrt", variance), w.List(-1))}, onnxtest.Int("axis", 1))
	w.Output("embedding", w.op("MatMul", x, w.uniform(2*width, 2*width, 192)), onnx.Float, "N", 192)
}
