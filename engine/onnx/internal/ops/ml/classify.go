package ml

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

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

// oneHotEncoder writes a row of zeros with a one for the category of each
// element.
func oneHotEncoder(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	at := make(map[string]int) // counted from 1
	n := 0
	if x.S != nil || x.Type == onnx.String {
		if a := c.Attr("cats_strings"); a != nil {
			n = len(a.Strings)
			for i, s := range a.Strings {
				at[s] = i + 1
			}
		}
	} else if a := c.Attr("cats_int64s"); a != nil {
		t := &tensor.Tensor{Type: onnx.Int64, I: a.Ints}
		n = len(a.Ints)
		for i := range a.Ints {
			at[labelOf(t, i)] = i + 1
		}
	}
	if n == 0 || x.Seq != nil || x.None() {
		tensor.Malformed("no categories for %v", x.Type)
	}
	out := c.Zeros(onnx.Float, append(append([]int{}, x.Shape...), n)...)
	keys := x
	if x.S == nil && x.I == nil {
		keys = tensor.Cast(x, onnx.Int64, tensor.CastOptions{Saturate: true})
	}
	for i := range x.Len() {
		switch k := at[labelOf(keys, i)]; {
		case k > 0:
			out.F[i*n+k-1] = 1
		case c.Int("zeros", 1) == 0:
			tensor.Malformed("%q is no category", labelOf(keys, i))
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

// categoryMapper turns strings to numbers or numbers to strings.
func categoryMapper(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	names, numbers := c.Attr("cats_strings"), c.Attr("cats_int64s")
	if names == nil || numbers == nil || len(names.Strings) != len(numbers.Ints) || x.Type != onnx.String && x.Type != onnx.Int64 {
		tensor.Malformed("CategoryMapper of %v", x.Type)
	}
	if x.Type == onnx.String {
		at := make(map[string]int64)
		for i, s := range names.Strings {
			at[s] = numbers.Ints[i]
		}
		out := c.Blank(onnx.Int64, x.Shape...)
		for i, s := range x.S {
			v, ok := at[s]
			if !ok {
				v = int64(c.Int("default_int64", -1))
			}
			out.I[i] = v
		}
		return run.One(out)
	}
	at := make(map[int64]string)
	for i, v := range numbers.Ints {
		at[v] = names.Strings[i]
	}
	out := c.Blank(onnx.String, x.Shape...)
	for i, v := range x.I {
		s, ok := at[v]
		if !ok {
			s = c.Text("default_string", "_Unused")
		}
		out.S[i] = s
	}
	return run.One(out)
}
