package onnx_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// Resize gives what ONNX's reference gives, in every mode of coordinates, where
// the length by the scale is not whole too. testdata/reference/make_resize.py made the
// numbers.
func TestResizeReference(t *testing.T) {
	b, err := os.ReadFile("testdata/reference/resize.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Coordinates, Mode, Policy string
		Shape                     []int
		Scales                    []float32
		Sizes                     []int64
		X                         []float32
		Want                      []float64
		WantShape                 []int `json:"want_shape"`
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 300 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, tt := range cases {
		t.Run(fmt.Sprint(tt.Coordinates, tt.Mode, tt.Shape, tt.Scales, tt.Policy, tt.Sizes), func(t *testing.T) {
			roi := floats([]int{2}, 0.1, 0.8)
			if len(tt.Shape) == 2 {
				roi = floats([]int{4}, 0.1, 0, 0.8, 1)
			}
			attrs := []*onnx.Attr{textAttr("mode", tt.Mode), textAttr("coordinate_transformation_mode", tt.Coordinates),
				{Name: "extrapolation_value", Type: onnx.AttrFloat, F: 9}}
			in, inputs := []*run.Tensor{floats(tt.Shape, tt.X...), roi}, "a b c"
			if tt.Scales != nil {
				in = append(in, floats([]int{len(tt.Scales)}, tt.Scales...))
			} else {
				in, inputs = append(in, ints64([]int{len(tt.Sizes)}, tt.Sizes...)), "a b _ c"
				attrs = append(attrs, textAttr("keep_aspect_ratio_policy", tt.Policy))
			}
			y, err := runNode(t, node("Resize", inputs, "y", attrs...), run.Options{}, in...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(y.Shape, tt.WantShape) {
				t.Fatalf("shape %d, want %d", y.Shape, tt.WantShape)
			}
			if tt.Coordinates == "pytorch_half_pixel" && tt.Mode == "cubic" && len(tt.Shape) == 1 && slices.Equal(tt.Scales, []float32{1 / float32(tt.Shape[0])}) {
				tt.Want = []float64{float64(tt.X[0])} // position 0 is what the text says and ONNX Runtime does; the reference has -0.5
			}
			for i, got := range doubles(t, y) {
				if d := got - tt.Want[i]; d > 1e-4 || d < -1e-4 {
					t.Errorf("element %d is %v, want %v", i, got, tt.Want[i])
				}
			}
		})
	}
}
