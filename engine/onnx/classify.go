package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/vec"
)

// learnedOps are operators of ai.onnx.ml.
//
// ONNX, Operators-ml.md.
func learnedOps() table {
	f := &forests{known: make(map[*onnx.Node]*forest)}
	return table{
		"ai.onnx.ml.LabelEncoder":           labelEncoder,
		"ai.onnx.ml.Binarizer":              binarizer,
		"ai.onnx.ml.Scaler":                 scaleFeatures,
		"ai.onnx.ml.Normalizer":             normalizer,
		"ai.onnx.ml.LinearRegressor":        linearRegressor,
		"ai.onnx.ml.TreeEnsemble":           treeEnsemble,
		"ai.onnx.ml.TreeEnsembleClassifier": f.classify,
		"ai.onnx.ml.TreeEnsembleRegressor":  f.regress,
		"ai.onnx.ml.LinearClassifier":       linearClassifier,
		"ai.onnx.ml.SVMClassifier":          svmClassifier,
		"ai.onnx.ml.SVMRegressor":           svmRegressor,
		"ai.onnx.ml.OneHotEncoder":          oneHotEncoder,
		"ai.onnx.ml.Imputer":                imputer,
		"ai.onnx.ml.FeatureVectorizer":      featureVectorizer,
		"ai.onnx.ml.CategoryMapper":         categoryMapper,
	}
}

// transform applies what post_transform names to the scores of a row.
func transform(name string, row []float32) {
	for _, p := range postTransforms {
		if p.name == name {
			p.f(row)
			return
		}
	}
	fail("%w: post_transform %.20q", onnx.ErrFormat, name)
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
func (c *call) labels(ints string) *Tensor {
	if a := c.attr("classlabels_strings"); a != nil && len(a.Strings) > 0 {
		return &Tensor{Type: onnx.String, Shape: []int{len(a.Strings)}, S: a.Strings}
	}
	if a := c.attr(ints); a != nil && len(a.Ints) > 0 {
		return &Tensor{Type: onnx.Int64, Shape: []int{len(a.Ints)}, I: a.Ints}
	}
	fail("%w: %s without labels", onnx.ErrFormat, c.n.Op)
	return nil
}

// linearClassifier scores classes by products of features and coefficients.
func linearClassifier(c *call) []*Tensor {
	x, rows, n := c.features()
	labels, w, bias, post := c.labels("classlabels_ints"), c.floats("coefficients"), c.floats("intercepts"), c.text("post_transform", "NONE")
	classes := labels.len()
	scored := len(bias) // of two classes one may be scored for both
	if scored == 0 && n > 0 {
		scored = len(w) / n
	}
	if len(w) != scored*n || scored != classes && (scored != 1 || classes != 2) || bias != nil && len(bias) != scored {
		fail("%w: %d coefficients and %d intercepts for %d classes of %d features", onnx.ErrFormat, len(w), len(bias), classes, n)
	}
	out, label := c.blank(onnx.Float, rows, classes), make([]int, rows)
	c.byBlocks(rows, classes*n+1, func(from, to int) {
		for r := from; r < to; r++ {
			row := out.F[r*classes : (r+1)*classes]
			for k := range scored {
				row[k] = x.linear(r, n, w, bias, k)
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
	return []*Tensor{labels.pick(label, rows), out}
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
func oneHotEncoder(c *call) []*Tensor {
	x := c.x(0)
	at := make(map[string]int) // counted from 1
	n := 0
	if x.S != nil || x.Type == onnx.String {
		if a := c.attr("cats_strings"); a != nil {
			n = len(a.Strings)
			for i, s := range a.Strings {
				at[s] = i + 1
			}
		}
	} else if a := c.attr("cats_int64s"); a != nil {
		t := &Tensor{Type: onnx.Int64, I: a.Ints}
		n = len(a.Ints)
		for i := range a.Ints {
			at[t.label(i)] = i + 1
		}
	}
	if n == 0 || x.Seq != nil || x.none() {
		fail("%w: no categories for %v", onnx.ErrFormat, x.Type)
	}
	out := c.zeros(onnx.Float, append(append([]int{}, x.Shape...), n)...)
	keys := x
	if x.S == nil && x.I == nil {
		keys = cast(x, onnx.Int64, castOptions{saturate: true})
	}
	for i := range x.len() {
		switch k := at[keys.label(i)]; {
		case k > 0:
			out.F[i*n+k-1] = 1
		case c.int("zeros", 1) == 0:
			fail("%w: %q is no category", onnx.ErrFormat, keys.label(i))
		}
	}
	return one(out)
}

// imputer replaces one value by others, one for all or one for a feature.
func imputer(c *call) []*Tensor {
	x, _, n := c.features()
	old, values := c.float("replaced_value_float", 0), c.table("imputed_value_")
	if x.I != nil {
		old = float64(c.int("replaced_value_int64", 0))
	}
	if values == nil || values.S != nil || values.len() != 1 && values.len() != n || values.len() == 0 {
		fail("%w: no values for %d features of %v", onnx.ErrFormat, n, x.Type)
	}
	out := c.blank(x.Type, x.Shape...)
	copyElems(out, 0, x, 0, x.len())
	for i := range x.len() {
		if v := x.at(i); v == old || math.IsNaN(v) && math.IsNaN(old) {
			out.put(i, values.at(i%n%values.len()))
		}
	}
	return one(out)
}

// featureVectorizer joins rows of features as float32, each cut or filled up with
// zeros to the length its place has.
func featureVectorizer(c *call) []*Tensor {
	widths := c.list("inputdimensions", -1)
	if len(widths) != len(c.in) || len(c.in) == 0 {
		fail("%w: %d inputs of widths %d", onnx.ErrFormat, len(c.in), widths)
	}
	rows, all := 0, 0
	for i, w := range widths {
		x := c.x(i)
		n := 1
		if len(x.Shape) > 1 {
			n = x.Shape[0]
		}
		if len(x.Shape) == 0 || w < 0 || w > maxElems || i > 0 && n != rows || x.S != nil || x.Seq != nil {
			fail("%w: %v of shape %d for %d features", onnx.ErrFormat, x.Type, x.Shape, w)
		}
		rows, all = n, all+w
	}
	out, done := c.zeros(onnx.Float, rows, all), 0
	for i, w := range widths {
		x := c.x(i)
		n := x.len() / max(rows, 1)
		for r := range rows {
			for k := range min(n, w) {
				out.F[r*all+done+k] = float32(x.at(r*n + k))
			}
		}
		done += w
	}
	return one(out)
}

// categoryMapper turns strings to numbers or numbers to strings.
func categoryMapper(c *call) []*Tensor {
	x := c.x(0)
	names, numbers := c.attr("cats_strings"), c.attr("cats_int64s")
	if names == nil || numbers == nil || len(names.Strings) != len(numbers.Ints) || x.Type != onnx.String && x.Type != onnx.Int64 {
		fail("%w: CategoryMapper of %v", onnx.ErrFormat, x.Type)
	}
	if x.Type == onnx.String {
		at := make(map[string]int64)
		for i, s := range names.Strings {
			at[s] = numbers.Ints[i]
		}
		out := c.blank(onnx.Int64, x.Shape...)
		for i, s := range x.S {
			v, ok := at[s]
			if !ok {
				v = int64(c.int("default_int64", -1))
			}
			out.I[i] = v
		}
		return one(out)
	}
	at := make(map[int64]string)
	for i, v := range numbers.Ints {
		at[v] = names.Strings[i]
	}
	out := c.blank(onnx.String, x.Shape...)
	for i, v := range x.I {
		s, ok := at[v]
		if !ok {
			s = c.text("default_string", "_Unused")
		}
		out.S[i] = s
	}
	return one(out)
}
