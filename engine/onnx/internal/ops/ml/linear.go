package ml

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// linearRow is the product of row r of n features with row k of w, plus the number of
// that row in bias, where there is one.
func linearRow(t *tensor.Tensor, r, n int, w, bias []float32, k int) float32 {
	sum := 0.0
	for i, v := range w[k*n : (k+1)*n] {
		sum += float64(v) * t.At(r*n+i)
	}
	if bias != nil {
		sum += float64(bias[k])
	}
	return float32(sum)
}

func linearRegressor(c *run.Call) []*tensor.Tensor {
	x, rows, n := features(c)
	w, bias, targets := floatsAttr(c, "coefficients"), floatsAttr(c, "intercepts"), c.Int("targets", 1)
	if targets < 1 || len(w) != targets*n || bias != nil && len(bias) != targets {
		tensor.Malformed("%d coefficients for %d targets of %d features", len(w), targets, n)
	}
	out := c.Blank(onnx.Float, rows, targets)
	for r := range rows {
		row := out.F[r*targets : (r+1)*targets]
		for t := range row {
			row[t] = linearRow(x, r, n, w, bias, t)
		}
		for _, p := range postTransforms {
			if p.name == c.Text("post_transform", "NONE") {
				p.f(row)
			}
		}
	}
	return run.One(out)
}

// linearClassifier scores classes by products of features and coefficients.
func linearClassifier(c *run.Call) []*tensor.Tensor {
	x, rows, n := features(c)
	labels, w, bias, post := labels(c, "classlabels_ints"), floatsAttr(c, "coefficients"), floatsAttr(c, "intercepts"), c.Text("post_transform", "NONE")
	classes := labels.Len()
	scored := len(bias) // of two classes one may be scored for both
	if scored == 0 && n > 0 {
		scored = len(w) / n
	}
	if len(w) != scored*n || scored != classes && (scored != 1 || classes != 2) || bias != nil && len(bias) != scored {
		tensor.Malformed("%d coefficients and %d intercepts for %d classes of %d features", len(w), len(bias), classes, n)
	}
	out, label := c.Blank(onnx.Float, rows, classes), make([]int, rows)
	byBlocks(c, rows, classes*n+1, func(from, to int) {
		for r := from; r < to; r++ {
			row := out.F[r*classes : (r+1)*classes]
			for k := range scored {
				row[k] = linearRow(x, r, n, w, bias, k)
			}
			if scored == 1 && classes == 2 {
				if row[0] > 0 {
					label[r] = 1
				}
				if post == "LOGISTIC" {
					vec.Sigmoid(row[:1], row[:1])
				}
				row[0], row[1] = 1-row[0], row[0]
				continue
			}
			label[r] = best(row)
			transform(post, row)
		}
	})
	return []*tensor.Tensor{labels.Pick(label, rows), out}
}
