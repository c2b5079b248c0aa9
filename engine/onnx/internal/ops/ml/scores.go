package ml

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// postTransforms are what becomes of the scores of a row, in the order
// TreeEnsemble numbers them.
var postTransforms = []struct {
	name string
	f    func(row []float32)
}{
	{"NONE", func([]float32) {}},
	{"SOFTMAX", func(row []float32) { vec.Softmax(row) }},
	{"LOGISTIC", func(row []float32) { vec.Sigmoid(row, row) }},
	{"SOFTMAX_ZERO", func(row []float32) { // zeros stay zeros
		top, sum := float32(math.Inf(-1)), 0.0
		for _, v := range row {
			top = max(top, v)
		}
		for i, v := range row {
			if v != 0 {
				e := math.Exp(float64(v - top))
				sum += e
				row[i] = float32(e)
			}
		}
		for i := range row {
			if sum > 0 {
				row[i] = float32(float64(row[i]) / sum)
			}
		}
	}},
	{"PROBIT", func(row []float32) {
		for i, v := range row {
			row[i] = float32(math.Sqrt2 * math.Erfinv(2*float64(v)-1))
		}
	}},
}

// transform applies what post_transform names to the scores of a row.
func transform(name string, row []float32) {
	for _, p := range postTransforms {
		if p.name == name {
			p.f(row)
			return
		}
	}
	tensor.Malformed("post_transform %.20q", name)
}

// binaryScores writes the two scores of a decision between two classes that was
// made by one: what it lacks to one beside it where it is a share, else its
// opposite.
func binaryScores(row []float32, score float32, post string, share bool) {
	row[0], row[1] = -score, score
	switch {
	case share:
		row[0] = 1 - score
	case post == "LOGISTIC":
		vec.Sigmoid(row, row)
	}
}

// labels returns the classes of a classifier: strings or integers.
func labels(c *run.Call, ints string) *tensor.Tensor {
	if a := c.Attr("classlabels_strings"); a != nil && len(a.Strings) > 0 {
		return &tensor.Tensor{Type: onnx.String, Shape: []int{len(a.Strings)}, S: a.Strings}
	}
	if a := c.Attr(ints); a != nil && len(a.Ints) > 0 {
		return &tensor.Tensor{Type: onnx.Int64, Shape: []int{len(a.Ints)}, I: a.Ints}
	}
	tensor.Malformed("%s without labels", c.Node.Op)
	return nil
}

// best returns the first of the largest.
func best(row []float32) int {
	at := 0
	for i, v := range row {
		if v > row[at] {
			at = i
		}
	}
	return at
}
