package ml

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A forest is the trees of TreeEnsembleClassifier and TreeEnsembleRegressor.
type forest struct {
	nodes   []treeNode
	votes   []vote // of the leaves, one after the other
	roots   []int32
	targets int
	deepest int // feature
	base    []float64
	signs   bool // some weights are negative
	voted   int  // how many targets any leaf votes for
}

// A treeNode tests a feature, or with a mode of leaf has votes.
type treeNode struct {
	split   float64
	feature int32
	yes, no int32 // the next nodes, or where the votes of a leaf begin and end
	mode    uint8
	missing bool // NaN goes to yes
}

type vote struct {
	target int32
	weight float64
}

// treeModes are the modes of nodes, those that branch in the order of branches.
var treeModes = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"}

const leaf = 6

// readForest returns the forest of a node, whose leaves vote by attributes that begin
// with a prefix. Every node must be reached once at most, so that there are no
// rings.
func readForest(c *run.Call, prefix string, targets int) *forest {
	fixed := true
	for _, a := range c.Node.Attrs {
		fixed = fixed && a.Ref == ""
	}
	return run.Prepared(c, c.Node, fixed, func() *forest { return newForest(c, prefix, targets) })
}

func newForest(c *run.Call, prefix string, targets int) *forest {
	t := &forest{targets: targets, base: numbersOf(c, "base_values")}
	tree, id, feature := c.List("nodes_treeids", -1), c.List("nodes_nodeids", -1), c.List("nodes_featureids", -1)
	yes, no, tracks := c.List("nodes_truenodeids", -1), c.List("nodes_falsenodeids", -1), c.List("nodes_missing_value_tracks_true", -1)
	splits, modes := numbersOf(c, "nodes_values"), c.Attr("nodes_modes")
	n := len(tree)
	if n == 0 || n > tensor.MaxElems || modes == nil || len(modes.Strings) != n || len(splits) != n || len(tracks) != n && tracks != nil {
		tensor.Malformed("a tree of %d nodes", n)
	}
	for _, list := range [][]int{id, feature, yes, no} {
		if len(list) != n {
			tensor.Malformed("a tree of %d nodes", n)
		}
	}
	at := make(map[[2]int]int32, n)
	seen := make(map[int]bool)
	for i := range n {
		key := [2]int{tree[i], id[i]}
		if _, twice := at[key]; twice {
			tensor.Malformed("node %d of tree %d comes twice", id[i], tree[i])
		}
		at[key] = int32(i)
		if !seen[tree[i]] {
			seen[tree[i]] = true
			t.roots = append(t.roots, int32(i))
		}
	}
	t.nodes = make([]treeNode, n)
	for i := range n {
		mode := slices.Index(treeModes, modes.Strings[i])
		if mode < 0 || mode != leaf && (feature[i] < 0 || feature[i] >= tensor.MaxElems) {
			tensor.Malformed("node %d of tree %d: %.20q of feature %d", id[i], tree[i], modes.Strings[i], feature[i])
		}
		t.nodes[i] = treeNode{split: splits[i], mode: uint8(mode), missing: tracks != nil && tracks[i] != 0}
		if mode == leaf {
			continue
		}
		a, okA := at[[2]int{tree[i], yes[i]}]
		b, okB := at[[2]int{tree[i], no[i]}]
		if !okA || !okB {
			tensor.Malformed("node %d of tree %d leads to %d and %d", id[i], tree[i], yes[i], no[i])
		}
		t.nodes[i].feature, t.nodes[i].yes, t.nodes[i].no = int32(feature[i]), a, b
		t.deepest = max(t.deepest, feature[i])
	}
	t.isTrees()
	t.vote(c, prefix, at)
	return t
}

// isTrees fails where a node can be reached in two ways.
func (t *forest) isTrees() {
	reached := make([]bool, len(t.nodes))
	stack := slices.Clone(t.roots)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if reached[i] {
			tensor.Malformed("a tree with a ring")
		}
		reached[i] = true
		if n := &t.nodes[i]; n.mode != leaf {
			stack = append(stack, n.yes, n.no)
		}
	}
}

// vote reads what the leaves have.
func (t *forest) vote(c *run.Call, prefix string, at map[[2]int]int32) {
	tree, id, target := c.List(prefix+"treeids", -1), c.List(prefix+"nodeids", -1), c.List(prefix+"ids", -1)
	weights := numbersOf(c, prefix+"weights")
	if len(id) != len(tree) || len(target) != len(tree) || len(weights) != len(tree) {
		tensor.Malformed("%d votes of %d leaves", len(weights), len(tree))
	}
	of := make([]int32, len(tree)) // the leaf of a vote
	number := make([]int32, len(t.nodes)+1)
	for i := range of {
		l, ok := at[[2]int{tree[i], id[i]}]
		if !ok || target[i] < 0 || target[i] >= t.targets {
			tensor.Malformed("node %d of tree %d votes for %d of %d", id[i], tree[i], target[i], t.targets)
		}
		of[i] = l
		if t.nodes[l].mode == leaf { // exporters give weights to other nodes too
			number[l+1]++
		}
		t.signs = t.signs || weights[i] < 0
	}
	for i := range t.nodes {
		number[i+1] += number[i]
		if n := &t.nodes[i]; n.mode == leaf {
			n.yes, n.no = number[i], number[i]
		}
	}
	t.votes = make([]vote, number[len(t.nodes)])
	named := make(map[int]bool)
	for i, l := range of {
		named[target[i]] = true
		if n := &t.nodes[l]; n.mode == leaf {
			t.votes[n.no] = vote{int32(target[i]), weights[i]}
			n.no++
		}
	}
	t.voted = len(named)
}

// fall returns the votes of the leaf that row i of x, of width features, falls to.
func (t *forest) fall(root int32, x *tensor.Tensor, i, width int) []vote {
	n := &t.nodes[root]
	for n.mode != leaf {
		v := x.At(i*width + int(n.feature))
		if branches[n.mode](v, n.split) || n.missing && math.IsNaN(v) {
			n = &t.nodes[n.yes]
		} else {
			n = &t.nodes[n.no]
		}
	}
	return t.votes[n.yes:n.no]
}

// aggregates are how TreeEnsembleRegressor joins what trees say.
var aggregates = map[string]func(sum, v float64, first bool) float64{
	"SUM":     func(sum, v float64, _ bool) float64 { return sum + v },
	"AVERAGE": func(sum, v float64, _ bool) float64 { return sum + v },
	"MIN": func(sum, v float64, first bool) float64 {
		if first || v < sum {
			return v
		}
		return sum
	},
	"MAX": func(sum, v float64, first bool) float64 {
		if first || v > sum {
			return v
		}
		return sum
	},
}

// each calls f with the sums of every row and whether any tree voted for them, on
// the pool.
func (t *forest) each(c *run.Call, join func(sum, v float64, first bool) float64, f func(row int, sums []float64, voted []bool)) {
	x, rows, width := features(c)
	if t.deepest >= width {
		tensor.Malformed("feature %d of %d", t.deepest, width)
	}
	byBlocks(c, rows, 64*len(t.roots)+t.targets, func(from, to int) {
		sums, voted := make([]float64, t.targets), make([]bool, t.targets)
		for r := from; r < to; r++ {
			clear(sums)
			clear(voted)
			for _, root := range t.roots {
				for _, v := range t.fall(root, x, r, width) {
					sums[v.target] = join(sums[v.target], v.weight, !voted[v.target])
					voted[v.target] = true
				}
			}
			f(r, sums, voted)
		}
	})
}

// byBlocks is byRows that looks at the context now and then.
func byBlocks(c *run.Call, rows, width int, f func(from, to int)) {
	const most = 1 << 24 // elements without a look
	size := max(1, most/max(1, width))
	for first := 0; first < rows; first += size {
		c.Check()
		c.ByRows(min(size, rows-first), width, func(from, to int) { f(first+from, first+to) })
	}
}

// forestRegressor is TreeEnsembleRegressor.
//
// ONNX, Operators-ml.md. Like ONNX Runtime it leaves one target as it is but for
// PROBIT.
func forestRegressor(c *run.Call) []*tensor.Tensor {
	targets, how, post := c.Int("n_targets", 0), c.Text("aggregate_function", "SUM"), c.Text("post_transform", "NONE")
	join := aggregates[how]
	if targets < 1 || targets > tensor.MaxElems || join == nil {
		tensor.Malformed("%.20q of %d targets", how, targets)
	}
	t := readForest(c, "target_", targets)
	_, rows, _ := features(c)
	out := c.Blank(onnx.Float, rows, targets)
	t.each(c, join, func(r int, sums []float64, _ []bool) {
		row := out.F[r*targets : (r+1)*targets]
		for i, v := range sums {
			if how == "AVERAGE" {
				v /= float64(len(t.roots))
			}
			if len(t.base) == targets {
				v += t.base[i]
			}
			row[i] = float32(v)
		}
		if targets > 1 || post == "PROBIT" {
			transform(post, row)
		}
	})
	return run.One(out)
}

// forestClassifier is TreeEnsembleClassifier.
//
// ONNX, Operators-ml.md. Where trees vote for one of two classes its score is
// compared with a half, or with zero where there are negative weights, and the
// first of the two scores is made up, as ONNX Runtime does. Where they vote for
// both, the class is that of the higher score; ONNX Runtime 1.30 returns 0 or 1
// there, whatever the labels are.
func forestClassifier(c *run.Call) []*tensor.Tensor {
	labels, post := labels(c, "classlabels_int64s"), c.Text("post_transform", "NONE")
	n := labels.Len()
	t := readForest(c, "class_", n)
	_, rows, _ := features(c)
	if len(t.base) > 1 && len(t.base) != n || n == 2 && len(t.base) == 2 {
		tensor.Unsupported("%d base values for %d classes", len(t.base), n)
	}
	out, label := c.Blank(onnx.Float, rows, n), make([]int, rows)
	t.each(c, aggregates["SUM"], func(r int, sums []float64, voted []bool) {
		row := out.F[r*n : (r+1)*n]
		for i, v := range t.base {
			sums[i] += v
			voted[i] = true
		}
		for i, v := range sums {
			row[i] = float32(v)
		}
		if n == 2 && t.voted == 1 {
			score := row[0] + row[1] // one of them is zero
			if score > 0.5 || t.signs && score > 0 {
				label[r] = 1
			}
			if !voted[1] {
				binaryScores(row, score, post, !t.signs)
				return
			}
			transform(post, row)
			return
		}
		best := -1
		for i, v := range row {
			if voted[i] && (best < 0 || v > row[best]) {
				best = i
			}
		}
		label[r] = max(best, 0)
		transform(post, row)
	})
	return []*tensor.Tensor{labels.Pick(label, rows), out}
}
