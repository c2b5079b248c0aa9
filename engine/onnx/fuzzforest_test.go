package onnx

import (
	"context"
	"errors"
	"testing"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// FuzzForest runs classifiers and regressors of trees made of bytes: any indices
// must give well-formed values or an error of a malformed model.
func FuzzForest(f *testing.F) {
	pool := threads.NewPool(1)
	f.Cleanup(pool.Close)
	// A node is a tree, an id, a feature, where it leads and its mode; what is
	// left are votes of a tree, an id and a target.
	f.Add(byte(3), []byte{0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 0, 6, 0, 2, 0, 0, 0, 6, 0, 1, 0, 0, 2, 1})
	f.Add(byte(2), []byte{0, 0, 0, 1, 1, 2, 0, 1, 1, 0, 0, 1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, nodes byte, data []byte) {
		if len(data) > 300 {
			return
		}
		lists := make(map[string][]int64)
		branches := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"}
		var modes []string
		var splits, weights []float32
		take := func() int64 {
			if len(data) == 0 {
				return 0
			}
			v := int64(int8(data[0]))
			data = data[1:]
			if v == 127 {
				return 1 << 40
			}
			return v
		}
		for range nodes {
			for _, name := range []string{"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"} {
				lists[name] = append(lists[name], take())
			}
			mode := take()
			modes = append(modes, branches[uint64(mode)%7])
			splits = append(splits, float32(mode)/8)
		}
		for len(data) > 0 {
			for _, name := range []string{"treeids", "nodeids", "ids"} {
				v := take()
				lists["class_"+name], lists["target_"+name] = append(lists["class_"+name], v), append(lists["target_"+name], v)
			}
			weights = append(weights, float32(len(data)%7)-2)
		}
		attrs := map[string]*onnx.Attr{
			"nodes_modes": {Type: onnx.AttrStrings, Strings: modes}, "nodes_values": {Type: onnx.AttrFloats, Floats: splits},
			"class_weights": {Type: onnx.AttrFloats, Floats: weights}, "target_weights": {Type: onnx.AttrFloats, Floats: weights},
			"classlabels_int64s": {Type: onnx.AttrInts, Ints: []int64{4, 5}}, "n_targets": {Type: onnx.AttrInt, I: 3},
		}
		for name, v := range lists {
			attrs[name] = &onnx.Attr{Type: onnx.AttrInts, Ints: v}
		}
		for _, op := range []string{"TreeEnsembleClassifier", "TreeEnsembleRegressor"} {
			n := &onnx.Node{Op: op, Domain: "ai.onnx.ml", Inputs: []string{"x"}, Outputs: []string{"y"}, Attrs: attrs}
			g := &onnx.Graph{
				Nodes: []*onnx.Node{n}, Inputs: []onnx.Value{{Name: "x", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}},
				Outputs: []onnx.Value{{Name: "y"}},
			}
			s, err := New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": 17}}, run.Options{Pool: pool, Limit: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x": tensor.NewFloats([]int{2, 3}, []float32{1, 2, 3, -1, -2, -3})})
			if err != nil {
				if !errors.Is(err, onnx.ErrFormat) && !errors.Is(err, tensor.ErrMemory) {
					t.Fatal(err)
				}
				continue
			}
			wellFormed(t, "y", out["y"])
		}
	})
}
