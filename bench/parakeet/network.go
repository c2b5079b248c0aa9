package main

import (
	"math"
	"strconv"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// encoder records a FastConformer as NeMo exports it.
func (w *writer) encoder() {
	w.Model.Meta = map[string]string{
		"model_type": "EncDecRNNTBPEModel", "normalize_type": "per_feature", "url": "parakeet-tdt of random weights", "version": "2", "model_author": "NeMo",
		"vocab_size": strconv.Itoa(w.vocab), "feat_dim": strconv.Itoa(w.bands), "subsampling_factor": "8", "pred_rnn_layers": "2", "pred_hidden": strconv.Itoa(w.hidden),
		"comment": "Only the transducer branch is exported",
	}
	x := w.take("audio_signal", "B", w.bands, "T")
	length := w.Input("length", onnx.Int64, "B")
	x = w.op("Unsqueeze", w.transpose(x, 0, 2, 1), w.List(1))
	c := w.channels
	image := []*onnx.Attr{onnxtest.IntList("kernel_shape", 3, 3), onnxtest.IntList("strides", 2, 2), onnxtest.IntList("pads", 1, 1, 1, 1)}
	point := onnxtest.IntList("kernel_shape", 1, 1)
	for i := range 3 {
		inside := w.Cast(w.inside(x, 2, length), w.FloatType())
		x = w.op("Mul", x, w.op("Unsqueeze", inside, w.List(1, 3)))
		if i == 0 {
			x = w.conv(x, true, []int{c, 1, 3, 3}, image...)
		} else {
			x = w.conv(x, true, []int{c, 1, 3, 3}, append(image, onnxtest.Int("group", int64(c)))...)
			x = w.conv(x, true, []int{c, c, 1, 1}, point)
		}
		x = w.op("Relu", x)
		length = w.op("Add", w.op("Div", w.op("Sub", length, w.Ints(nil, 1)), w.Ints(nil, 2)), w.Ints(nil, 1))
	}
	x = w.op("Reshape", w.transpose(x, 0, 2, 1, 3), w.List(0, 0, -1))
	x = w.op("Add", w.linear(x, c*w.bands/8, w.width), w.fill(0, w.width))
	frames := w.Node("Gather", []string{w.op("Shape", x), w.Ints(nil, 1)})
	row := w.op("Unsqueeze", frames, w.List(0))
	places := w.op("Slice", w.uniform(1, 1, 2*w.shape.places-1, w.width), w.op("Sub", w.List(int64(w.shape.places)), row), w.op("Add", w.List(int64(w.shape.places-1)), row), w.List(1))
	inside := w.inside(x, 1, length)
	hide := w.op("Unsqueeze", w.op("Not", w.op("And", w.op("Unsqueeze", inside, w.List(1)), w.op("Unsqueeze", inside, w.List(2)))), w.List(1))
	keep := w.op("Unsqueeze", w.Cast(inside, w.FloatType()), w.List(1))
	for range w.layers {
		x = w.feedForward(x)
		x = w.op("Add", x, w.attention(w.norm(x), places, hide))
		x = w.op("Add", x, w.convolution(w.norm(x), keep))
		x = w.norm(w.feedForward(x))
	}
	w.give("outputs", w.transpose(x, 0, 2, 1), "B", w.width, "frames")
	w.Output("encoded_lengths", length, onnx.Int64, "B")
}

// inside tells which frames of an axis of x lie in the length of their window.
func (w *writer) inside(x string, axis int64, length string) string {
	n := w.Node("Gather", []string{w.op("Shape", x), w.Ints(nil, axis)})
	return w.op("Less", w.op("Range", w.Ints(nil, 0), n, w.Ints(nil, 1)), w.op("Unsqueeze", length, w.List(1)))
}

// attention is that with relative positions of Transformer-XL.
//
// Dai et al., "Transformer-XL", 2019, with the shift as NeMo exports it.
func (w *writer) attention(x, places, hide string) string {
	dim := w.width / w.heads
	split := func(y string) string { return w.op("Reshape", y, w.List(0, -1, int64(w.heads), int64(dim))) }
	q, k, v := split(w.linear(x, w.width, w.width)), split(w.linear(x, w.width, w.width)), split(w.linear(x, w.width, w.width))
	p := split(w.linear(places, w.width, w.width))
	u := w.transpose(w.op("Add", q, w.fill(0, w.heads, dim)), 0, 2, 1, 3)
	t := w.transpose(w.op("Add", q, w.fill(0, w.heads, dim)), 0, 2, 1, 3)
	content := w.op("MatMul", u, w.transpose(k, 0, 2, 3, 1))
	place := w.op("MatMul", t, w.transpose(p, 0, 2, 3, 1))
	shape := w.op("Shape", place)
	heads, rows, columns := w.op("Slice", shape, w.List(0), w.List(2)), w.op("Slice", shape, w.List(2), w.List(3)), w.op("Slice", shape, w.List(3), w.List(math.MaxInt32))
	join := func(in ...string) string { return w.Node("Concat", in, onnxtest.Int("axis", 0)) }
	place = w.op("Reshape", w.op("Pad", place, w.List(0, 0, 0, 1, 0, 0, 0, 0)), join(heads, w.List(-1), rows))
	place = w.op("Slice", place, w.List(1), w.List(math.MaxInt32), w.List(2))
	place = w.op("Slice", w.op("Reshape", place, join(heads, rows, columns)), w.List(0), rows, w.List(3))
	scores := w.op("Div", w.op("Add", content, place), w.Floats(nil, float32(math.Sqrt(float64(dim)))))
	share := w.Node("Softmax", []string{w.op("Where", hide, w.Floats(nil, -10000), scores)}, onnxtest.Int("axis", -1))
	share = w.op("Where", hide, w.Floats(nil, 0), share)
	y := w.transpose(w.op("MatMul", share, w.transpose(v, 0, 2, 1, 3)), 0, 2, 1, 3)
	return w.linear(w.op("Reshape", y, w.List(0, -1, int64(w.width))), w.width, w.width)
}

// convolution is a gated one, of single frames and then of taps of each channel.
func (w *writer) convolution(x, keep string) string {
	n := w.width
	y := w.conv(w.transpose(x, 0, 2, 1), false, []int{2 * n, n, 1}, onnxtest.IntList("kernel_shape", 1))
	a, b := y+"_a", y+"_b"
	w.Named([]string{a, b}, "Split", []string{y}, onnxtest.Int("axis", 1))
	y = w.op("Mul", w.op("Mul", a, w.op("Sigmoid", b)), keep)
	side := int64(w.taps / 2)
	y = w.conv(y, true, []int{n, 1, w.taps}, onnxtest.IntList("kernel_shape", int64(w.taps)), onnxtest.IntList("pads", side, side), onnxtest.Int("group", int64(n)))
	y = w.conv(w.swish(y), false, []int{n, n, 1}, onnxtest.IntList("kernel_shape", 1))
	return w.transpose(y, 0, 2, 1)
}

// predictor records two layers of LSTM.
func (w *writer) predictor() {
	h := w.hidden
	ids := w.Input("targets", onnx.Int32, "B", "U")
	n := w.Input("target_length", onnx.Int32, "B")
	s1, s2 := w.take("states.1", 2, "B", h), w.take("onnx::Slice_3", 2, "B", h)
	x := w.transpose(w.op("Gather", w.uniform(1, w.vocab+1, h), ids), 1, 0, 2)
	split := func(s string) (a, b string) {
		a, b = s+"_0", s+"_1"
		w.Named([]string{a, b}, "Split", []string{s}, onnxtest.Int("axis", 0))
		return a, b
	}
	h0, h1 := split(s1)
	c0, c1 := split(s2)
	by := 1 / math.Sqrt(float64(h))
	layer := func(x, hidden, cell string) (y, h2, c2 string) {
		y, h2, c2 = x+"_y", x+"_h", x+"_c"
		w.Named([]string{y, h2, c2}, "LSTM", []string{x, w.uniform(by, 1, 4*h, h), w.uniform(by, 1, 4*h, h), w.fill(0, 1, 8*h), "", hidden, cell}, onnxtest.Int("hidden_size", int64(h)))
		return w.op("Squeeze", y, w.List(1)), h2, c2
	}
	y, a0, b0 := layer(x, h0, c0)
	y, a1, b1 := layer(y, h1, c1)
	w.give("outputs", w.transpose(y, 1, 2, 0), "B", h, "U")
	w.Output("prednet_lengths", n, onnx.Int32, "B")
	w.give("states", w.Node("Concat", []string{a0, a1}, onnxtest.Int("axis", 0)), 2, "B", h)
	w.give("162", w.Node("Concat", []string{b0, b1}, onnxtest.Int("axis", 0)), 2, "B", h)
}

// joiner records the joint. Blank is so likely that about every second step writes a
// token, and most steps move on by some frames, as in speech.
func (w *writer) joiner() {
	side := func(name string, width int) string {
		x := w.transpose(w.take(name, "B", width, name+"_n"), 0, 2, 1)
		return w.op("Add", w.linear(x, width, w.hidden), w.fill(0, w.hidden))
	}
	a := w.op("Unsqueeze", side("encoder_outputs", w.width), w.List(2))
	b := w.op("Unsqueeze", side("decoder_outputs", w.hidden), w.List(1))
	n := w.vocab + 1 + w.durations
	bias := make([]float32, n)
	bias[w.vocab] = float32(0.35 * math.Sqrt(2*math.Log(float64(w.vocab))))
	for d := range w.durations {
		bias[w.vocab+1+d] = float32(2 * d)
	}
	y := w.op("Add", w.linear(w.op("Relu", w.op("Add", a, b)), w.hidden, n), w.Floats([]int{n}, bias...))
	w.give("outputs", y, "B", "encoder_outputs_n", "decoder_outputs_n", n)
}
