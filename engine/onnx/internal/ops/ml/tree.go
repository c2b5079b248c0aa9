package ml

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

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
