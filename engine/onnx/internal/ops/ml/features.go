package ml

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// features checks x (rows, features) or (features).
func features(c *run.Call) (x *tensor.Tensor, rows, n int) {
	x = c.X(0)
	if r := len(x.Shape); r < 1 || r > 2 || x.S != nil || x.Seq != nil {
		tensor.Malformed("%s of %v of shape %d", c.Node.Op, x.Type, x.Shape)
	}
	rows, n = 1, x.Shape[len(x.Shape)-1]
	if len(x.Shape) == 2 {
		rows = x.Shape[0]
	}
	return x, rows, n
}

// scaleFeatures is (x - offset) · scale, by feature.
func scaleFeatures(c *run.Call) []*tensor.Tensor {
	x, _, n := features(c)
	offset, scale := floatsAttr(c, "offset"), floatsAttr(c, "scale")
	out := c.Blank(onnx.Float, x.Shape...)
	if len(offset) != 1 && len(offset) != n || len(scale) != 1 && len(scale) != n {
		tensor.Malformed("%d offsets and %d scales for %d features", len(offset), len(scale), n)
	}
	for i := range out.F {
		out.F[i] = (float32(x.At(i)) - offset[i%n%len(offset)]) * scale[i%n%len(scale)]
	}
	return run.One(out)
}

// norms are what Normalizer divides rows by.
var norms = map[string]func(row []float64) float64{
	"MAX": func(row []float64) float64 { return slices.Max(append(row, math.Inf(-1))) },
	"L1":  func(row []float64) float64 { return reduce.Norm(row, 1) },
	"L2":  func(row []float64) float64 { return reduce.Norm(row, 2) },
}

func normalizer(c *run.Call) []*tensor.Tensor {
	x, rows, n := features(c)
	f, ok := norms[c.Text("norm", "MAX")]
	if !ok {
		tensor.Malformed("norm %.20q", c.Text("norm", "MAX"))
	}
	out, row := c.Blank(onnx.Float, x.Shape...), make([]float64, n, n+1)
	for r := range rows {
		for i := range row {
			row[i] = x.At(r*n + i)
		}
		by := f(row)
		for i, v := range row {
			if by != 0 {
				v /= by
			}
			out.F[r*n+i] = float32(v)
		}
	}
	return run.One(out)
}

// binarizer is 1 above the threshold and 0 elsewhere.
func binarizer(c *run.Call) []*tensor.Tensor {
	x, threshold := c.X(0), c.Float("threshold", 0)
	if x.S != nil {
		tensor.Malformed("Binarizer of %v", x.Type)
	}
	out := c.Zeros(x.Type, x.Shape...)
	for i := range x.Len() {
		if x.At(i) > threshold {
			out.Put(i, 1)
		}
	}
	return run.One(out)
}

// imputer replaces one value by others, one for all or one for a feature.
func imputer(c *run.Call) []*tensor.Tensor {
	x, _, n := features(c)
	old, values := c.Float("replaced_value_float", 0), table(c, "imputed_value_")
	if x.I != nil {
		old = float64(c.Int("replaced_value_int64", 0))
	}
	if values == nil || values.S != nil || values.Len() != 1 && values.Len() != n || values.Len() == 0 {
		tensor.Malformed("no values for %d features of %v", n, x.Type)
	}
	out := c.Blank(x.Type, x.Shape...)
	tensor.CopyElems(out, 0, x, 0, x.Len())
	for i := range x.Len() {
		if v := x.At(i); v == old || math.IsNaN(v) && math.IsNaN(old) {
			out.Put(i, values.At(i%n%values.Len()))
		}
	}
	return run.One(out)
}

// featureVectorizer joins rows of features as float32, each cut or filled up with
// zeros to the length its place has.
func featureVectorizer(c *run.Call) []*tensor.Tensor {
	widths := c.List("inputdimensions", -1)
	if len(widths) != len(c.In) || len(c.In) == 0 {
		tensor.Malformed("%d inputs of widths %d", len(c.In), widths)
	}
	rows, all := 0, 0
	for i, w := range widths {
		x := c.X(i)
		n := 1
		if len(x.Shape) > 1 {
			n = x.Shape[0]
		}
		if len(x.Shape) == 0 || w < 0 || w > tensor.MaxElems || i > 0 && n != rows || x.S != nil || x.Seq != nil {
			tensor.Malformed("%v of shape %d for %d features", x.Type, x.Shape, w)
		}
		rows, all = n, all+w
	}
	out, done := c.Zeros(onnx.Float, rows, all), 0
	for i, w := range widths {
		x := c.X(i)
		n := x.Len() / max(rows, 1)
		for r := range rows {
			for k := range min(n, w) {
				out.F[r*all+done+k] = float32(x.At(r*n + k))
			}
		}
		done += w
	}
	return run.One(out)
}
