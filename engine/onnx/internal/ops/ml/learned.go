package ml

import (
	"math"
	"slices"
	"strconv"

	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// table returns the attribute prefix + "tensor", "strings", "int64s" or
// "floats", nil if there is none.
func table(c *run.Call, prefix string) *tensor.Tensor {
	for _, kind := range []string{"tensor", "strings", "int64s", "floats"} {
		a := c.Attr(prefix + kind)
		if a == nil {
			continue
		}
		switch kind {
		case "tensor":
			return tensorAttr(c, prefix+kind)
		case "strings":
			return &tensor.Tensor{Type: onnx.String, Shape: []int{len(a.Strings)}, S: a.Strings}
		case "int64s":
			return &tensor.Tensor{Type: onnx.Int64, Shape: []int{len(a.Ints)}, I: a.Ints}
		}
		return &tensor.Tensor{Type: onnx.Float, Shape: []int{len(a.Floats)}, F: a.Floats}
	}
	return nil
}

// tensorAttr returns the tensor of an attribute, nil if there is none.
func tensorAttr(c *run.Call, name string) *tensor.Tensor {
	a := c.Attr(name)
	if a == nil || a.T == nil {
		return nil
	}
	t := c.Constant(a.T)
	return t.Whole()
}

// floatsAttr returns the numbers of an attribute.
func floatsAttr(c *run.Call, name string) []float32 {
	if a := c.Attr(name); a != nil {
		return a.Floats
	}
	return nil
}

// labelOf returns element i as what labels are compared by.
func labelOf(t *tensor.Tensor, i int) string {
	switch {
	case t.S != nil:
		return t.S[i]
	case t.I != nil:
		return strconv.FormatInt(t.I[i], 10)
	}
	return strconv.FormatFloat(t.At(i), 'g', -1, 64) // one NaN for all
}

// labelEncoder replaces keys by values, others by a default.
func labelEncoder(c *run.Call) []*tensor.Tensor {
	x, keys, values := c.X(0), table(c, "keys_"), table(c, "values_")
	if keys == nil || values == nil || keys.Len() != values.Len() || keys.Type != x.Type {
		tensor.Malformed("no labels for %v", x.Type)
	}
	missing := tensorAttr(c, "default_tensor")
	if missing == nil {
		missing = tensor.New(values.Type, 1)
		switch {
		case values.S != nil:
			missing.S[0] = c.Text("default_string", "_Unused")
		case values.I != nil:
			missing.I[0] = int64(c.Int("default_int64", -1))
		default:
			missing.Put(0, c.Float("default_float", float32(math.Copysign(0, -1))))
		}
	}
	if missing.Type != values.Type || missing.Len() != 1 {
		tensor.Malformed("a default of %v for %v", missing.Type, values.Type)
	}
	at := make(map[string]int, keys.Len())
	for i := range keys.Len() {
		if k := labelOf(keys, i); at[k] == 0 { // the first of equals, counted from 1
			at[k] = i + 1
		}
	}
	out := c.Blank(values.Type, x.Shape...)
	for i := range x.Len() {
		if k := at[labelOf(x, i)]; k > 0 {
			tensor.CopyElems(out, i, values, k-1, 1)
		} else {
			tensor.CopyElems(out, i, missing, 0, 1)
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

// branches are the tests of a tree's nodes, in the order they are numbered; the
// next number is that of a set.
var branches = []func(v, split float64) bool{
	func(v, split float64) bool { return v <= split },
	func(v, split float64) bool { return v < split },
	func(v, split float64) bool { return v >= split },
	func(v, split float64) bool { return v > split },
	func(v, split float64) bool { return v == split },
	func(v, split float64) bool { return v != split },
}

// treeEnsemble joins the leaves a row of features falls to in every tree.
//
// ONNX, Operators-ml.md, TreeEnsemble.
func treeEnsemble(c *run.Call) []*tensor.Tensor {
	x, rows, n := features(c)
	splits, modes, weights := tensorAttr(c, "nodes_splits"), tensorAttr(c, "nodes_modes"), tensorAttr(c, "leaf_weights")
	feature, yes, no := c.List("nodes_featureids", -1), c.List("nodes_truenodeids", -1), c.List("nodes_falsenodeids", -1)
	yesLeaf, noLeaf := c.List("nodes_trueleafs", -1), c.List("nodes_falseleafs", -1)
	tracks, leafTarget, roots := c.List("nodes_missing_value_tracks_true", -1), c.List("leaf_targetids", -1), c.List("tree_roots", -1)
	targets, how, post := c.Int("n_targets", 0), c.Int("aggregate_function", 1), c.Int("post_transform", 0)
	if splits == nil || modes == nil || weights == nil {
		tensor.Malformed("a tree without nodes")
	}
	nodes := splits.Len()
	if modes.Len() != nodes || modes.I == nil || splits.S != nil || weights.S != nil || len(feature) != nodes || len(yes) != nodes || len(no) != nodes || len(yesLeaf) != nodes || len(noLeaf) != nodes ||
		tracks != nil && len(tracks) != nodes || weights.Len() != len(leafTarget) || targets < 1 || post < 0 || post >= len(postTransforms) || how < 0 || how > 3 {
		tensor.Malformed("a tree of %d nodes", nodes)
	}
	// Sets are separated by NaN, in the order of the nodes that use them.
	sets := make(map[int][]float64)
	values, from := tensorAttr(c, "membership_values"), 0
	for i, mode := range modes.I {
		if mode < 0 || mode > int64(len(branches)) || feature[i] < 0 || feature[i] >= n {
			tensor.Malformed("node %d", i)
		}
		if mode == int64(len(branches)) {
			for ; values != nil && from < values.Len() && !math.IsNaN(values.At(from)); from++ {
				sets[i] = append(sets[i], values.At(from))
			}
			from++
		}
	}
	out := c.Zeros(x.Type, rows, targets)
	seen, row := make([]bool, targets), make([]float32, targets)
	for r := range rows {
		c.Check()
		clear(seen)
		for _, at := range roots {
			// A tree has no more levels than nodes; where it does it has a ring.
			leaf := -1
			for range nodes {
				if at < 0 || at >= nodes {
					break
				}
				v := x.At(r*n + feature[at])
				took := tracks != nil && tracks[at] != 0 && math.IsNaN(v)
				if mode := int(modes.I[at]); mode < len(branches) {
					took = took || branches[mode](v, splits.At(at))
				} else {
					took = took || slices.Contains(sets[at], v)
				}
				next, last := no[at], noLeaf[at]
				if took {
					next, last = yes[at], yesLeaf[at]
				}
				if last != 0 {
					leaf = next
					break
				}
				at = next
			}
			if leaf < 0 || leaf >= len(leafTarget) || leafTarget[leaf] < 0 || leafTarget[leaf] >= targets {
				tensor.Malformed("a tree without an end")
			}
			t := leafTarget[leaf]
			old, w := out.At(r*targets+t), weights.At(leaf)
			switch {
			case how == 0:
				w = old + w/float64(len(roots))
			case how == 1:
				w += old
			case seen[t] && how == 2:
				w = min(old, w)
			case seen[t]:
				w = max(old, w)
			}
			seen[t] = true
			out.Put(r*targets+t, w)
		}
		if post > 0 {
			for t := range row {
				row[t] = float32(out.At(r*targets + t))
			}
			postTransforms[post].f(row)
			for t, v := range row {
				out.Put(r*targets+t, float64(v))
			}
		}
	}
	return run.One(out)
}
