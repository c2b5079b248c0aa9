package onnx

import (
	"math"
	"slices"
	"strconv"

	"quern/formats/onnx"
	"quern/kernels/vec"
)

// table returns the attribute prefix + "tensor", "strings", "int64s" or
// "floats", nil if there is none.
func (c *call) table(prefix string) *Tensor {
	for _, kind := range []string{"tensor", "strings", "int64s", "floats"} {
		a := c.attr(prefix + kind)
		if a == nil {
			continue
		}
		switch kind {
		case "tensor":
			return c.tensorAttr(prefix + kind)
		case "strings":
			return &Tensor{Type: onnx.String, Shape: []int{len(a.Strings)}, S: a.Strings}
		case "int64s":
			return &Tensor{Type: onnx.Int64, Shape: []int{len(a.Ints)}, I: a.Ints}
		}
		return &Tensor{Type: onnx.Float, Shape: []int{len(a.Floats)}, F: a.Floats}
	}
	return nil
}

// tensorAttr returns the tensor of an attribute, nil if there is none.
func (c *call) tensorAttr(name string) *Tensor {
	a := c.attr(name)
	if a == nil || a.T == nil {
		return nil
	}
	t := c.constant(a.T)
	return t.whole()
}

// floats returns the numbers of an attribute.
func (c *call) floats(name string) []float32 {
	if a := c.attr(name); a != nil {
		return a.Floats
	}
	return nil
}

// label returns element i as what labels are compared by.
func (t *Tensor) label(i int) string {
	switch {
	case t.S != nil:
		return t.S[i]
	case t.I != nil:
		return strconv.FormatInt(t.I[i], 10)
	}
	return strconv.FormatFloat(t.at(i), 'g', -1, 64) // one NaN for all
}

// labelEncoder replaces keys by values, others by a default.
func labelEncoder(c *call) []*Tensor {
	x, keys, values := c.x(0), c.table("keys_"), c.table("values_")
	if keys == nil || values == nil || keys.len() != values.len() || keys.Type != x.Type {
		fail("%w: no labels for %v", onnx.ErrFormat, x.Type)
	}
	missing := c.tensorAttr("default_tensor")
	if missing == nil {
		missing = newTensor(values.Type, 1)
		switch {
		case values.S != nil:
			missing.S[0] = c.text("default_string", "_Unused")
		case values.I != nil:
			missing.I[0] = int64(c.int("default_int64", -1))
		default:
			missing.put(0, c.float("default_float", float32(math.Copysign(0, -1))))
		}
	}
	if missing.Type != values.Type || missing.len() != 1 {
		fail("%w: a default of %v for %v", onnx.ErrFormat, missing.Type, values.Type)
	}
	at := make(map[string]int, keys.len())
	for i := range keys.len() {
		if k := keys.label(i); at[k] == 0 { // the first of equals, counted from 1
			at[k] = i + 1
		}
	}
	out := c.blank(values.Type, x.Shape...)
	for i := range x.len() {
		if k := at[x.label(i)]; k > 0 {
			copyElems(out, i, values, k-1, 1)
		} else {
			copyElems(out, i, missing, 0, 1)
		}
	}
	return one(out)
}

// binarizer is 1 above the threshold and 0 elsewhere.
func binarizer(c *call) []*Tensor {
	x, threshold := c.x(0), c.float("threshold", 0)
	if x.S != nil {
		fail("%w: Binarizer of %v", onnx.ErrFormat, x.Type)
	}
	out := c.zeros(x.Type, x.Shape...)
	for i := range x.len() {
		if x.at(i) > threshold {
			out.put(i, 1)
		}
	}
	return one(out)
}

// features checks x (rows, features) or (features).
func (c *call) features() (x *Tensor, rows, n int) {
	x = c.x(0)
	if r := len(x.Shape); r < 1 || r > 2 || x.S != nil || x.Seq != nil {
		fail("%w: %s of %v of shape %d", onnx.ErrFormat, c.n.Op, x.Type, x.Shape)
	}
	rows, n = 1, x.Shape[len(x.Shape)-1]
	if len(x.Shape) == 2 {
		rows = x.Shape[0]
	}
	return x, rows, n
}

// scaleFeatures is (x - offset) · scale, by feature.
func scaleFeatures(c *call) []*Tensor {
	x, _, n := c.features()
	offset, scale := c.floats("offset"), c.floats("scale")
	out := c.blank(onnx.Float, x.Shape...)
	if len(offset) != 1 && len(offset) != n || len(scale) != 1 && len(scale) != n {
		fail("%w: %d offsets and %d scales for %d features", onnx.ErrFormat, len(offset), len(scale), n)
	}
	for i := range out.F {
		out.F[i] = (float32(x.at(i)) - offset[i%n%len(offset)]) * scale[i%n%len(scale)]
	}
	return one(out)
}

// norms are what Normalizer divides rows by.
var norms = map[string]func(row []float64) float64{
	"MAX": func(row []float64) float64 { return slices.Max(append(row, math.Inf(-1))) },
	"L1":  func(row []float64) float64 { return norm(row, 1) },
	"L2":  func(row []float64) float64 { return norm(row, 2) },
}

func normalizer(c *call) []*Tensor {
	x, rows, n := c.features()
	f, ok := norms[c.text("norm", "MAX")]
	if !ok {
		fail("%w: norm %.20q", onnx.ErrFormat, c.text("norm", "MAX"))
	}
	out, row := c.blank(onnx.Float, x.Shape...), make([]float64, n, n+1)
	for r := range rows {
		for i := range row {
			row[i] = x.at(r*n + i)
		}
		by := f(row)
		for i, v := range row {
			if by != 0 {
				v /= by
			}
			out.F[r*n+i] = float32(v)
		}
	}
	return one(out)
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

// linear is the product of row r of n features with row k of w, plus the number of
// that row in bias, where there is one.
func (t *Tensor) linear(r, n int, w, bias []float32, k int) float32 {
	sum := 0.0
	for i, v := range w[k*n : (k+1)*n] {
		sum += float64(v) * t.at(r*n+i)
	}
	if bias != nil {
		sum += float64(bias[k])
	}
	return float32(sum)
}

func linearRegressor(c *call) []*Tensor {
	x, rows, n := c.features()
	w, bias, targets := c.floats("coefficients"), c.floats("intercepts"), c.int("targets", 1)
	if targets < 1 || len(w) != targets*n || bias != nil && len(bias) != targets {
		fail("%w: %d coefficients for %d targets of %d features", onnx.ErrFormat, len(w), targets, n)
	}
	out := c.blank(onnx.Float, rows, targets)
	for r := range rows {
		row := out.F[r*targets : (r+1)*targets]
		for t := range row {
			row[t] = x.linear(r, n, w, bias, t)
		}
		for _, p := range postTransforms {
			if p.name == c.text("post_transform", "NONE") {
				p.f(row)
			}
		}
	}
	return one(out)
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
func treeEnsemble(c *call) []*Tensor {
	x, rows, n := c.features()
	splits, modes, weights := c.tensorAttr("nodes_splits"), c.tensorAttr("nodes_modes"), c.tensorAttr("leaf_weights")
	feature, yes, no := c.list("nodes_featureids", -1), c.list("nodes_truenodeids", -1), c.list("nodes_falsenodeids", -1)
	yesLeaf, noLeaf := c.list("nodes_trueleafs", -1), c.list("nodes_falseleafs", -1)
	tracks, leafTarget, roots := c.list("nodes_missing_value_tracks_true", -1), c.list("leaf_targetids", -1), c.list("tree_roots", -1)
	targets, how, post := c.int("n_targets", 0), c.int("aggregate_function", 1), c.int("post_transform", 0)
	if splits == nil || modes == nil || weights == nil {
		fail("%w: a tree without nodes", onnx.ErrFormat)
	}
	nodes := splits.len()
	if modes.len() != nodes || modes.I == nil || splits.S != nil || weights.S != nil || len(feature) != nodes || len(yes) != nodes || len(no) != nodes || len(yesLeaf) != nodes || len(noLeaf) != nodes ||
		tracks != nil && len(tracks) != nodes || weights.len() != len(leafTarget) || targets < 1 || post < 0 || post >= len(postTransforms) || how < 0 || how > 3 {
		fail("%w: a tree of %d nodes", onnx.ErrFormat, nodes)
	}
	// Sets are separated by NaN, in the order of the nodes that use them.
	sets := make(map[int][]float64)
	values, from := c.tensorAttr("membership_values"), 0
	for i, mode := range modes.I {
		if mode < 0 || mode > int64(len(branches)) || feature[i] < 0 || feature[i] >= n {
			fail("%w: node %d", onnx.ErrFormat, i)
		}
		if mode == int64(len(branches)) {
			for ; values != nil && from < values.len() && !math.IsNaN(values.at(from)); from++ {
				sets[i] = append(sets[i], values.at(from))
			}
			from++
		}
	}
	out := c.zeros(x.Type, rows, targets)
	seen, row := make([]bool, targets), make([]float32, targets)
	for r := range rows {
		c.check()
		clear(seen)
		for _, at := range roots {
			// A tree has no more levels than nodes; where it does it has a ring.
			leaf := -1
			for range nodes {
				if at < 0 || at >= nodes {
					break
				}
				v := x.at(r*n + feature[at])
				took := tracks != nil && tracks[at] != 0 && math.IsNaN(v)
				if mode := int(modes.I[at]); mode < len(branches) {
					took = took || branches[mode](v, splits.at(at))
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
				fail("%w: a tree without an end", onnx.ErrFormat)
			}
			t := leafTarget[leaf]
			old, w := out.at(r*targets+t), weights.at(leaf)
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
			out.put(r*targets+t, w)
		}
		if post > 0 {
			for t := range row {
				row[t] = float32(out.at(r*targets + t))
			}
			postTransforms[post].f(row)
			for t, v := range row {
				out.put(r*targets+t, float64(v))
			}
		}
	}
	return one(out)
}
