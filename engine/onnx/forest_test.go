package onnx_test

import (
	"errors"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func textsAttr(name string, v ...string) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrStrings, Strings: v}
}

// stump is a tree that splits feature 0 at 1: two leaves with weights 10 and 20.
// Change alters its attributes.
func stump(change func(attrs map[string]*onnx.Attr)) *onnx.Node {
	n := learned(node("TreeEnsembleRegressor", "a", "y", intAttr("n_targets", 1),
		listAttr("nodes_treeids", 0, 0, 0), listAttr("nodes_nodeids", 0, 1, 2), listAttr("nodes_featureids", 0, 0, 0),
		listAttr("nodes_truenodeids", 1, 0, 0), listAttr("nodes_falsenodeids", 2, 0, 0), listAttr("nodes_missing_value_tracks_true", 1, 0, 0),
		floatsAttr("nodes_values", 1, 0, 0), textsAttr("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF"),
		listAttr("target_treeids", 0, 0), listAttr("target_nodeids", 1, 2), listAttr("target_ids", 0, 0), floatsAttr("target_weights", 10, 20)))
	change(n.Attrs)
	return n
}

// TestTrees runs a small tree, and trees whose indices lead nowhere or round.
func TestTrees(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(a map[string]*onnx.Attr)
		want   error
	}{
		{"good", func(map[string]*onnx.Attr) {}, nil},
		{"no target", func(a map[string]*onnx.Attr) { a["n_targets"].I = 0 }, onnx.ErrFormat},
		{"targets without end", func(a map[string]*onnx.Attr) { a["n_targets"].I = 1 << 62 }, onnx.ErrFormat},
		{"ring", func(a map[string]*onnx.Attr) {
			a["nodes_modes"].Strings[1] = "BRANCH_LEQ"
			a["nodes_falsenodeids"].Ints[1] = 2
		}, onnx.ErrFormat},
		{"one leaf twice", func(a map[string]*onnx.Attr) { a["nodes_falsenodeids"].Ints[0] = 1 }, onnx.ErrFormat},
		{"itself", func(a map[string]*onnx.Attr) { a["nodes_truenodeids"].Ints[0] = 0 }, onnx.ErrFormat},
		{"nowhere", func(a map[string]*onnx.Attr) { a["nodes_truenodeids"].Ints[0] = 1 << 40 }, onnx.ErrFormat},
		{"negative", func(a map[string]*onnx.Attr) { a["nodes_falsenodeids"].Ints[0] = -1 }, onnx.ErrFormat},
		{"another tree", func(a map[string]*onnx.Attr) { a["nodes_treeids"].Ints[1] = 1 }, onnx.ErrFormat},
		{"node twice", func(a map[string]*onnx.Attr) { a["nodes_nodeids"].Ints[2] = 1 }, onnx.ErrFormat},
		{"feature", func(a map[string]*onnx.Attr) { a["nodes_featureids"].Ints[0] = 2 }, onnx.ErrFormat},
		{"negative feature", func(a map[string]*onnx.Attr) { a["nodes_featureids"].Ints[0] = -1 }, onnx.ErrFormat},
		{"huge feature", func(a map[string]*onnx.Attr) { a["nodes_featureids"].Ints[0] = 1 << 40 }, onnx.ErrFormat},
		{"mode", func(a map[string]*onnx.Attr) { a["nodes_modes"].Strings[0] = "BRANCH" }, onnx.ErrFormat},
		{"votes", func(a map[string]*onnx.Attr) { a["target_ids"].Ints[0] = 1 }, onnx.ErrFormat},
		{"voter", func(a map[string]*onnx.Attr) { a["target_nodeids"].Ints[0] = 7 }, onnx.ErrFormat},
		{"fewer weights", func(a map[string]*onnx.Attr) { a["target_weights"].Floats = a["target_weights"].Floats[:1] }, onnx.ErrFormat},
		{"fewer splits", func(a map[string]*onnx.Attr) { a["nodes_values"].Floats = a["nodes_values"].Floats[:1] }, onnx.ErrFormat},
		{"no nodes", func(a map[string]*onnx.Attr) { a["nodes_treeids"].Ints = nil }, onnx.ErrFormat},
		{"aggregate", func(a map[string]*onnx.Attr) {
			a["aggregate_function"] = &onnx.Attr{Name: "aggregate_function", Type: onnx.AttrString, S: "MEAN"}
		}, onnx.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y, err := runNode(t, stump(tt.change), run.Options{}, floats([]int{3, 2}, 0, 5, 1, 5, 2, 5))
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if want := []float64{10, 10, 20}; err == nil && !slices.Equal(doubles(t, y), want) {
				t.Errorf("got %v, want %v", doubles(t, y), want)
			}
		})
	}
}

// TestVotesForBoth wants the label of the higher score where trees vote for both
// of two classes.
func TestVotesForBoth(t *testing.T) {
	n := stump(func(a map[string]*onnx.Attr) {
		for _, name := range []string{"treeids", "nodeids", "ids", "weights"} {
			a["class_"+name] = a["target_"+name]
		}
		a["class_treeids"], a["class_nodeids"] = listAttr("class_treeids", 0, 0, 0, 0), listAttr("class_nodeids", 1, 1, 2, 2)
		a["class_ids"], a["class_weights"] = listAttr("class_ids", 0, 1, 0, 1), floatsAttr("class_weights", 0.7, 0.3, 0.2, 0.8)
		a["classlabels_int64s"] = listAttr("classlabels_int64s", 5, 8)
	})
	n.Op, n.Outputs = "TreeEnsembleClassifier", []string{"y", "z"}
	y, err := runNode(t, n, run.Options{}, floats([]int{2, 1}, 0, 2))
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{5, 8}; !slices.Equal(y.I, want) {
		t.Errorf("labels %d, want %d", y.I, want)
	}
}
