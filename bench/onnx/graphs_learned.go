package main

import (
	"fmt"
	"math"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// The operators of ai.onnx.ml, as converters of scikit-learn and of boosted trees
// write them.

func texts(name string, v ...string) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrStrings, Strings: v}
}

var transforms = []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"}

// classes are labels of a classifier.
func (g *graph) classes(ints string, n int) *onnx.Attr {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(10 + 3*i)
	}
	return onnxtest.IntList(ints, v...)
}

// decides adds a classifier.
func (g *graph) decides(op string, in []string, attrs ...*onnx.Attr) {
	g.Model.Opsets["ai.onnx.ml"] = 3
	g.Named([]string{"label", "scores"}, "ai.onnx.ml."+op, in, attrs...)
	g.returns("label", onnx.Int64)
	g.returns("scores", onnx.Float)
}

// learned adds an operator of one result of floats.
func (g *graph) learned(op string, in []string, attrs ...*onnx.Attr) {
	g.Model.Opsets["ai.onnx.ml"] = 3
	g.f("ai.onnx.ml."+op, in, attrs...)
}

// trees are the attributes of a forest over features: votes are of classes that
// leaves give weights to.
func (g *graph) trees(features int, prefix string, votes []int, low float64) []*onnx.Attr {
	lists := make(map[string][]int64)
	floats := make(map[string][]float32)
	var modes []string
	add := func(name string, v int) { lists[name] = append(lists[name], int64(v)) }
	branch := one(g, "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
	for tree := range g.n(1, 5) {
		next := 1
		var grow func(id, depth int)
		grow = func(id, depth int) {
			add("nodes_treeids", tree)
			add("nodes_nodeids", id)
			add("nodes_hitrates", 1)
			if depth == 0 || depth < 3 && g.r.IntN(4) == 0 {
				modes = append(modes, "LEAF")
				for _, name := range []string{"nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true"} {
					add(name, 0)
				}
				floats["nodes_values"] = append(floats["nodes_values"], 0)
				for _, target := range votes {
					add(prefix+"treeids", tree)
					add(prefix+"nodeids", id)
					add(prefix+"ids", target)
					floats[prefix+"weights"] = append(floats[prefix+"weights"], float32(low+g.r.Float64()*0.4))
				}
				return
			}
			modes = append(modes, branch)
			add("nodes_featureids", g.n(0, features-1))
			add("nodes_missing_value_tracks_true", g.n(0, 1))
			floats["nodes_values"] = append(floats["nodes_values"], float32(g.r.NormFloat64()))
			yes, no := next, next+1
			next += 2
			add("nodes_truenodeids", yes)
			add("nodes_falsenodeids", no)
			grow(yes, depth-1)
			grow(no, depth-1)
		}
		grow(0, g.n(0, 4))
	}
	attrs := []*onnx.Attr{texts("nodes_modes", modes...)}
	hits := make([]float32, len(lists["nodes_hitrates"]))
	delete(lists, "nodes_hitrates")
	attrs = append(attrs, onnxtest.FloatList("nodes_hitrates", hits...))
	for name, v := range lists {
		attrs = append(attrs, onnxtest.IntList(name, v...))
	}
	for name, v := range floats {
		attrs = append(attrs, onnxtest.FloatList(name, v...))
	}
	return attrs
}

// features is an input some of whose numbers are missing.
func (g *graph) features(rows, n int) string {
	v := g.normal(rows*n, 1)
	v[g.r.IntN(len(v))] = float32(math.NaN())
	return g.declare(run.NewFloats([]int{rows, n}, v))
}

func treeRegressor(g *graph) {
	features, targets := g.n(1, 6), g.n(1, 3)
	attrs := append(g.trees(features, "target_", upTo(targets), -0.2), onnxtest.Int("n_targets", int64(targets)),
		onnxtest.Text("aggregate_function", one(g, "SUM", "AVERAGE", "MIN", "MAX")))
	if g.coin() {
		attrs = append(attrs, onnxtest.FloatList("base_values", g.normal(targets, 1)...))
	}
	g.learned("TreeEnsembleRegressor", []string{g.features(g.n(1, 40), features)}, attrs...)
}

func upTo(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// treeClassifier is of several classes, or of two with votes for one.
func treeClassifier(g *graph) {
	features, n := g.n(1, 6), g.n(2, 4)
	votes := upTo(n)
	low := one(g, 0.01, -0.2)
	attrs := []*onnx.Attr{}
	if n == 2 { // with votes for both the peer's labels are none
		votes = []int{g.n(0, 1)}
	}
	post := "NONE"
	if n > 2 {
		post = one(g, transforms...)
		if g.coin() {
			attrs = append(attrs, onnxtest.FloatList("base_values", g.normal(n, 1)...))
		}
	} else if len(votes) == 1 && low < 0 && g.coin() {
		post = "LOGISTIC"
	}
	attrs = append(attrs, g.trees(features, "class_", votes, low)...)
	attrs = append(attrs, g.classes("classlabels_int64s", n), onnxtest.Text("post_transform", post))
	g.decides("TreeEnsembleClassifier", []string{g.features(g.n(1, 40), features)}, attrs...)
}

func linearClassifier(g *graph) {
	features, n := g.n(1, 8), g.n(2, 5)
	scored := n
	if n == 2 && g.coin() {
		scored = 1
	}
	post := one(g, transforms...)
	if scored == 1 {
		post = one(g, "NONE", "LOGISTIC", "SOFTMAX")
	}
	g.decides("LinearClassifier", []string{g.x(g.n(1, 20), features)}, g.classes("classlabels_ints", n), onnxtest.Text("post_transform", post),
		onnxtest.FloatList("coefficients", g.normal(scored*features, 1)...), onnxtest.FloatList("intercepts", g.normal(scored, 1)...))
}

// kernel are the attributes of a support vector machine's kernel.
func (g *graph) kernel() []*onnx.Attr {
	return []*onnx.Attr{onnxtest.Text("kernel_type", one(g, "LINEAR", "POLY", "RBF", "SIGMOID")), onnxtest.FloatList("kernel_params", 0.3, 0.5, 2)}
}

func svmClassifier(g *graph) {
	g.loose = 1e-3
	features, n, supports := g.n(1, 5), g.n(2, 4), 0
	per := make([]int64, n)
	for i := range per {
		per[i] = int64(g.n(1, 4))
		supports += int(per[i])
	}
	pairs := n * (n - 1) / 2
	attrs := append(g.kernel(), g.classes("classlabels_ints", n), onnxtest.IntList("vectors_per_class", per...), onnxtest.FloatList("support_vectors", g.normal(supports*features, 1)...),
		onnxtest.FloatList("coefficients", g.normal(supports*(n-1), 1)...), onnxtest.FloatList("rho", g.normal(pairs, 1)...))
	if g.coin() {
		attrs = append(attrs, onnxtest.FloatList("prob_a", g.normal(pairs, 1)...), onnxtest.FloatList("prob_b", g.normal(pairs, 1)...))
	}
	g.decides("SVMClassifier", []string{g.x(g.n(1, 20), features)}, attrs...)
}

func svmLines(g *graph) {
	features, n := g.n(1, 5), g.n(3, 5)
	g.decides("SVMClassifier", []string{g.x(g.n(1, 20), features)}, append(g.kernel(), g.classes("classlabels_ints", n),
		onnxtest.FloatList("coefficients", g.normal(features*n, 1)...), onnxtest.FloatList("rho", 0.3))...)
}

func svmRegressor(g *graph) {
	features, supports := g.n(1, 5), g.n(1, 9)
	g.learned("SVMRegressor", []string{g.x(g.n(1, 20), features)}, append(g.kernel(), onnxtest.Int("n_supports", int64(supports)), onnxtest.Int("one_class", int64(g.n(0, 1))),
		onnxtest.FloatList("support_vectors", g.normal(supports*features, 1)...), onnxtest.FloatList("coefficients", g.normal(supports, 1)...), onnxtest.FloatList("rho", 0.2))...)
}

func linearRegressor(g *graph) {
	features, targets := g.n(1, 8), g.n(1, 3)
	g.learned("LinearRegressor", []string{g.x(g.n(1, 20), features)}, onnxtest.Int("targets", int64(targets)), onnxtest.FloatList("coefficients", g.normal(targets*features, 1)...),
		onnxtest.FloatList("intercepts", g.normal(targets, 1)...))
}

// prepared are the operators in front of a model.
func prepared(g *graph) {
	rows, n := g.n(1, 9), g.n(1, 6)
	x := g.whole(rows, n)
	g.learned("Scaler", []string{x}, onnxtest.FloatList("offset", g.normal(n, 1)...), onnxtest.FloatList("scale", g.normal(n, 1)...))
	g.learned("Normalizer", []string{x}, onnxtest.Text("norm", one(g, "MAX", "L1", "L2")))
	g.learned("Binarizer", []string{x}, onnxtest.Float("threshold", 1.5))
	g.learned("Imputer", []string{x}, onnxtest.FloatList("imputed_value_floats", g.normal(one(g, 1, n), 1)...), onnxtest.Float("replaced_value_float", 2))
	g.learned("OneHotEncoder", []string{x}, onnxtest.IntList("cats_int64s", 0, 2, 3))
	g.learned("FeatureVectorizer", []string{x, g.x(rows, 2)}, onnxtest.IntList("inputdimensions", int64(n), 3))
}

// encoded are numbers that become names and names that become numbers.
func encoded(g *graph) {
	x := g.i(onnx.Int64, 0, 5, g.n(1, 9))
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("class %d", i))
	}
	g.Model.Opsets["ai.onnx.ml"] = 3
	text := g.Node("ai.onnx.ml.CategoryMapper", []string{x}, texts("cats_strings", names...), onnxtest.IntList("cats_int64s", 0, 1, 2, 3))
	g.returns(g.Node("ai.onnx.ml.CategoryMapper", []string{text}, texts("cats_strings", names...), onnxtest.IntList("cats_int64s", 7, 8, 9, 6), onnxtest.Int("default_int64", -5)), onnx.Int64)
	g.returns(g.Node("ai.onnx.ml.LabelEncoder", []string{text}, texts("keys_strings", names...), onnxtest.IntList("values_int64s", 3, 1, 4, 1), onnxtest.Int("default_int64", -1)), onnx.Int64)
	g.f("ai.onnx.ml.OneHotEncoder", []string{text}, texts("cats_strings", names[1:]...))
}
