package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// line is a convolution over frames.
func (w *writer) line(x string, in, out, kernel, dilation, groups int) string {
	pad := int64((kernel - 1) / 2 * dilation)
	inputs := in / groups * kernel
	return w.Node("Conv", []string{x, w.uniform(inputs, out, in/groups, kernel), w.fill(0, out)}, onnxtest.IntList("kernel_shape", int64(kernel)),
		onnxtest.IntList("pads", pad, pad), onnxtest.IntList("dilations", int64(dilation)), onnxtest.Int("group", int64(groups)))
}

// overFrames reduces frames to one.
func (w *writer) overFrames(op, x string) string {
	if op == "ReduceSum" {
		return w.op(op, x, w.List(-1))
	}
	return w.Node(op, []string{x}, onnxtest.IntList("axes", -1), onnxtest.Int("keepdims", 1))
}

// excite is a squeeze and excitation of channels.
func (w *writer) excite(x string, channels, inner int) string {
	gate := w.line(w.op("Relu", w.line(w.overFrames("ReduceMean", x), channels, inner, 1, 1, 1)), inner, channels, 1, 1, 1)
	return w.op("Mul", x, w.op("Sigmoid", gate))
}

// deviation is that of frames around their mean, weighted where weights are not "".
func (w *writer) deviation(x, mean, weights string) string {
	d := w.op("Sub", x, mean)
	square := w.op("Mul", d, d)
	if weights == "" {
		square = w.overFrames("ReduceMean", square)
	} else {
		square = w.overFrames("ReduceSum", w.op("Mul", square, weights))
	}
	return w.op("Sqrt", w.op("Add", square, w.Floats(nil, 1e-5)))
}

// attend pools frames by attention to their means and deviations, (1, 2·channels, 1).
//
// Okabe et al., "Attentive statistics pooling for deep speaker embedding", 2018.
func (w *writer) attend(x string, channels int) string {
	join := func(list ...string) string { return w.Node("Concat", list, onnxtest.Int("axis", 1)) }
	mean := w.overFrames("ReduceMean", x)
	shape := w.op("Shape", x)
	all := join(x, w.op("Expand", mean, shape), w.op("Expand", w.deviation(x, mean, ""), shape))
	weights := w.line(w.op("Tanh", w.line(all, 3*channels, 128, 1, 1, 1)), 128, channels, 1, 1, 1)
	weights = w.Node("Softmax", []string{weights}, onnxtest.Int("axis", -1))
	mean = w.overFrames("ReduceSum", w.op("Mul", x, weights))
	return join(mean, w.deviation(x, mean, weights))
}

// ecapa is WeSpeaker's ECAPA-TDNN of 512 channels.
//
// Desplanques et al., "ECAPA-TDNN: Emphasized channel attention, propagation and aggregation
// in TDNN based speaker verification", 2020.
func ecapa(w *writer) {
	const channels, scale = 512, 8
	w.Model.Meta = map[string]string{"framework": "wespeaker", "normalize_samples": "0", "sample_rate": "16000", "output_dim": "192", "language": "none"}
	x := w.Node("Transpose", []string{w.Input("feats", onnx.Float, "B", "T", 80)}, onnxtest.IntList("perm", 0, 2, 1))
	x = w.norm(w.line(x, 80, channels, 5, 1, 1), channels)
	var outs []string
	for _, dilation := range []int{2, 3, 4} {
		h := w.norm(w.line(x, channels, channels, 1, 1, 1), channels)
		const width = channels / scale
		var parts []string
		before := ""
		for i := range scale {
			part := w.op("Slice", h, w.List(int64(i*width)), w.List(int64((i+1)*width)), w.List(1))
			if i < scale-1 {
				if before != "" {
					part = w.op("Add", part, before)
				}
				part = w.norm(w.line(part, width, width, 3, dilation, 1), width)
				before = part
			}
			parts = append(parts, part)
		}
		h = w.Node("Concat", parts, onnxtest.Int("axis", 1))
		h = w.norm(w.line(h, channels, channels, 1, 1, 1), channels)
		x = w.op("Add", x, w.excite(h, channels, 128))
		outs = append(outs, x)
	}
	const wide = 3 * channels
	x = w.op("Relu", w.line(w.Node("Concat", outs, onnxtest.Int("axis", 1)), wide, wide, 1, 1, 1))
	x = w.line(w.attend(x, wide), 2*wide, 192, 1, 1, 1)
	w.Output("embs", w.op("Squeeze", x, w.List(-1)), onnx.Float, "B", 192)
}

// titanet is NeMo's TitaNet-Large.
//
// Koluguri, Park and Ginsburg, "TitaNet: Neural model for speaker representation with 1D
// depth-wise separable convolutions and global context", 2022.
func titanet(w *writer) {
	const channels, wide, speakers = 1024, 3072, 16681
	w.Model.Meta = map[string]string{"framework": "nemo", "feature_normalize_type": "per_feature", "sample_rate": "16000", "output_dim": "192", "feat_dim": "80", "language": "none"}
	separable := func(x string, in, out, kernel int) string {
		x = w.line(w.line(x, in, in, kernel, 1, in), in, out, 1, 1, 1)
		return w.op("BatchNormalization", x, w.fill(1, out), w.fill(0, out), w.fill(0, out), w.fill(1, out))
	}
	x := w.Input("audio_signal", onnx.Float, "B", 80, "T")
	w.Input("length", onnx.Int64, "B")
	x = w.op("Relu", separable(x, 80, channels, 3))
	for _, kernel := range []int{7, 11, 15} {
		side := w.line(x, channels, channels, 1, 1, 1)
		for i := range 3 {
			if x = separable(x, channels, channels, kernel); i < 2 {
				x = w.op("Relu", x)
			}
		}
		x = w.op("Relu", w.op("Add", w.excite(x, channels, channels/8), side))
	}
	x = w.op("Relu", separable(x, channels, wide, 1))
	x = w.op("Squeeze", w.line(w.attend(x, wide), 2*wide, 192, 1, 1, 1), w.List(-1))
	w.Output("logits", w.op("MatMul", x, w.uniform(192, 192, speakers)), onnx.Float, "B", speakers)
	w.Output("embs", x, onnx.Float, "B", 192)
}
