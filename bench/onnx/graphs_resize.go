package main

import (
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// anyResize is Resize in every mode, by sizes and by scales. Left out is what
// the peer computes in its own way: lengths by a scale that are not whole, where
// the formula knows the length; dimensions that keep their length but not their
// place; and positions halfway, of which float32 decides.
func anyResize(g *graph) {
	shape := []int{1, g.n(1, 2), g.n(2, 7), g.n(2, 7)}
	x := g.x(shape...)
	coordinates := one(g, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
	mode := one(g, "nearest", "linear", "cubic")
	if coordinates == "half_pixel_symmetric" && mode == "nearest" {
		mode = "linear"
	}
	attrs := []*onnx.Attr{
		onnxtest.Text("mode", mode), onnxtest.Text("coordinate_transformation_mode", coordinates),
		onnxtest.Text("nearest_mode", one(g, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
	}
	roi := ""
	if coordinates == "tf_crop_and_resize" {
		roi = g.Floats([]int{8}, 0, 0, 0.1131, 0.2137, 1, 1, 0.8717, 0.6919)
		attrs = append(attrs, onnxtest.Float("extrapolation_value", 9))
	}
	if mode == "cubic" {
		attrs = append(attrs, onnxtest.Float("cubic_coeff_a", one(g, float32(-0.75), -0.5)), onnxtest.Int("exclude_outside", int64(g.n(0, 1))))
	}
	if g.opset >= 18 && mode != "nearest" && coordinates != "tf_crop_and_resize" {
		attrs = append(attrs, onnxtest.Int("antialias", int64(g.n(0, 1))))
	}
	h, w := g.n(1, 12), g.n(1, 12)
	if coordinates == "tf_crop_and_resize" {
		h, w = shape[2]+g.n(1, 5), shape[3]+g.n(1, 5)
	}
	if coordinates != "half_pixel" && coordinates != "asymmetric" || g.coin() {
		g.f("Resize", []string{x, roi, "", g.Ints([]int{4}, int64(shape[0]), int64(shape[1]), int64(h), int64(w))}, attrs...)
		return
	}
	scale := func(n, to int) float32 {
		if to == n {
			to++
		}
		return (float32(to) + 0.5) / float32(n)
	}
	g.f("Resize", []string{x, roi, g.Floats([]int{4}, 1, 1, scale(shape[2], h), scale(shape[3], w))}, attrs...)
}
