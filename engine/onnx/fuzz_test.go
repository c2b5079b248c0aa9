package onnx

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"quern/engine/onnx/internal/ops"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// A budget is a context that is done after some nodes.
type budget struct {
	context.Context
	left int
}

var errBudget = errors.New("the budget of nodes is used up")

func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return errBudget
	}
	return nil
}

// attrNames are attributes whose values the fuzzer chooses.
var attrNames = []string{
	"axis", "axes", "keepdims", "to", "mode", "perm", "pads", "strides", "kernel_shape", "dilations", "group", "auto_pad",
	"dtype", "value", "shape", "k", "num_heads", "kv_num_heads", "q_num_heads", "start", "end", "exclusive", "reverse",
	"blocksize", "block_size", "bits", "K", "N", "ceil_mode", "count_include_pad", "storage_order", "largest", "sorted",
	"batch_axis", "time_axis", "batch_dims", "equation", "reduction", "num_outputs", "split", "allowzero", "noop_with_empty_axes",
	"hidden_size", "direction", "layout", "linear_before_reset", "transA", "transB", "alpha", "beta", "epsilon", "output_shape",
	"output_padding", "coordinate_transformation_mode", "nearest_mode", "sampling_ratio", "output_height", "output_width",
	"num_groups", "size", "p", "fmod", "saturate", "onesided", "inverse", "delimiter", "maxsplit", "upper", "ignore_index",
	"num_scan_inputs", "scan_input_axes", "scan_output_axes", "new_axis", "approximate", "detect_negative", "interleaved",
	"rotary_embedding_dim", "scale", "softcap", "is_causal", "qk_matmul_output_mode", "unidirectional", "do_rotary",
	"min_gram_length", "max_gram_length", "max_skip_count", "ngram_counts", "ngram_indexes", "pool_int64s", "stash_type", "axis_w",
	"accuracy_level", "local_window_size", "sample_size", "low", "high", "mean", "seed", "center_point_box", "spatial_scale", "mode",
	"quant_type", "channels_last", "opset", "broadcast", "spatial", "is_test", "height_scale", "width_scale", "metric", "targets", "coefficients", "intercepts", "classlabels_ints", "cats_int64s", "cats_strings",
	"imputed_value_floats", "inputdimensions", "kernel_type", "kernel_params", "support_vectors", "vectors_per_class", "rho", "n_supports", "post_transform",
	"offset_group", "select_last_index", "lambd", "bias", "block_shape", "antialias", "keep_aspect_ratio_policy", "circular",
}

var attrTexts = []string{
	"", "SAME_UPPER", "SAME_LOWER", "VALID", "linear", "cubic", "nearest", "constant", "reflect", "edge", "wrap", "bidirectional",
	"reverse", "ij,jk->ik", "...ii->...i", "LEFT", "RIGHT", "tanh", "TF", "TFIDF", "sum", "none", "max", "DCR", "CRD", "mul", "add",
	"align_corners", "tf_crop_and_resize", "(a|b)*", "SOFTMAX", "LOGISTIC", "RBF", "LINEAR", "euclidean",
}

// A maker builds graphs from bytes.
type maker struct {
	data  []byte
	names []string
	ops   []string
	made  int
}

func (m *maker) byte() int {
	if len(m.data) == 0 {
		return 0
	}
	b := m.data[0]
	m.data = m.data[1:]
	return int(b)
}

// number is small, but sometimes not at all.
func (m *maker) number() int64 {
	switch b := m.byte(); {
	case b < 200:
		return int64(b%12) - 3
	case b < 240:
		return int64(b)
	default:
		return []int64{math.MaxInt64, math.MinInt64, 1 << 31, 1 << 40, -1 << 31, 1 << 20}[b%6]
	}
}

func (m *maker) attr(name string) *onnx.Attr {
	a := &onnx.Attr{Name: name, I: m.number(), S: attrTexts[m.byte()%len(attrTexts)]}
	a.F = float32(a.I) / 4
	for range m.byte() % 6 {
		n := m.number()
		a.Ints, a.Floats, a.Strings = append(a.Ints, n), append(a.Floats, float32(n)), append(a.Strings, attrTexts[m.byte()%len(attrTexts)])
	}
	if name == "value" {
		a.T = &onnx.Tensor{Type: onnx.Float, Shape: []int{1}, Data: make([]byte, 4)}
	}
	return a
}

func (m *maker) graph(nodes, depth int) *onnx.Graph {
	g := &onnx.Graph{}
	outside := len(m.names)
	for range m.byte() % 4 {
		m.made++
		name := string(rune('A' + m.made))
		g.Inputs = append(g.Inputs, onnx.Value{Name: name})
		m.names = append(m.names, name)
	}
	for range nodes {
		if len(m.data) == 0 {
			break
		}
		n := &onnx.Node{Attrs: make(map[string]*onnx.Attr)}
		name := m.ops[(m.byte()<<8|m.byte())%len(m.ops)]
		n.Op = name
		for i := len(name) - 1; i >= 0; i-- {
			if name[i] == '.' {
				n.Domain, n.Op = name[:i], name[i+1:]
				break
			}
		}
		for range 1 + m.byte()%6 {
			if i := m.byte(); i == 255 {
				n.Inputs = append(n.Inputs, "")
			} else {
				n.Inputs = append(n.Inputs, m.names[i%len(m.names)])
			}
		}
		for range m.byte() % 5 {
			a := m.attr(attrNames[m.byte()%len(attrNames)])
			n.Attrs[a.Name] = a
		}
		if depth < 2 && (n.Op == "Loop" || n.Op == "Scan" || n.Op == "If" || n.Op == "SequenceMap") {
			for _, name := range []string{"body", "then_branch", "else_branch"} {
				n.Attrs[name] = &onnx.Attr{Name: name, Type: onnx.AttrGraph, G: m.graph(m.byte()%4, depth+1)}
			}
		}
		for range 1 + m.byte()%3 {
			m.made++
			name := string(rune('A' + m.made))
			n.Outputs = append(n.Outputs, name)
			m.names = append(m.names, name)
		}
		g.Nodes = append(g.Nodes, n)
		if len(g.Nodes) == nodes || len(m.data) == 0 {
			break
		}
	}
	for range m.byte() % 3 {
		g.Outputs = append(g.Outputs, onnx.Value{Name: m.names[m.byte()%len(m.names)], Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}})
	}
	if depth > 0 {
		m.names = m.names[:outside]
	}
	return g
}

// fuzzed are the values every fuzzed graph starts with.
func fuzzed() map[string]*tensor.Tensor {
	f := func(shape ...int) *tensor.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i%7) - 2.5
		}
		return tensor.NewFloats(shape, v)
	}
	as := func(t *tensor.Tensor, to onnx.DType) *tensor.Tensor {
		c, err := t.Convert(to)
		if err != nil {
			panic(err)
		}
		return c
	}
	return map[string]*tensor.Tensor{
		"a": f(2, 3), "b": f(3), "c": f(), "d": f(1, 2, 4, 4), "e": f(3, 1, 2), "f": f(0, 3), "g": f(2, 4, 8),
		"h": as(f(2, 3), onnx.Float16), "i": tensor.NewInts([]int{2}, []int64{1, 0}), "j": tensor.NewInts(nil, []int64{2}), "k": tensor.NewInts([]int{4}, []int64{1, 2, 3, -1}),
		"l": as(f(2, 3), onnx.Bool), "m": tensor.NewStrings([]int{2}, []string{"a b", "éa"}), "n": as(f(2, 3), onnx.Uint8), "o": as(f(3, 2), onnx.Int8),
		"p": as(f(3, 2), onnx.Double), "q": as(f(4), onnx.Int32), "r": tensor.NewSequence(f(2), f(2)), "s": {}, "t": tensor.NewInts([]int{2}, []int64{1 << 40, -5}),
		"u": as(f(2), onnx.Uint64), "v": as(f(2, 2), onnx.Int4), "w": f(8, 8), "x": f(4, 1, 3, 3),
	}
}

// FuzzRun runs graphs made of any operators on any values: they must give
// well-formed values or an error, in bounded memory and time.
func FuzzRun(f *testing.F) {
	pool := threads.NewPool(2)
	f.Cleanup(pool.Close)
	ops := slices.Sorted(maps.Keys(ops.Table()))
	for i := range ops {
		f.Add([]byte{0, byte(i >> 8), byte(i), 1, 0, 0, 1, 0, 1, 2, 2, 0, 24})
		f.Add([]byte{0, byte(i >> 8), byte(i), 2, 3, 4, 5, 2, 0, 4, 2, 1, 4, 1, 1, 1, 1, 1, 24})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 200 {
			return
		}
		m := &maker{data: data, ops: ops, made: 200}
		values := fuzzed()
		m.names = slices.Sorted(maps.Keys(values))
		g := m.graph(6, 0)
		given := make(map[string]*tensor.Tensor)
		for _, v := range g.Inputs {
			m.names = append(m.names, v.Name)
		}
		g.Inputs = nil
		for name, v := range values {
			kind := onnx.Type{Kind: onnx.KindTensor, Elem: v.Type}
			switch {
			case v.Seq != nil:
				kind = onnx.Type{Kind: onnx.KindSequence, Of: &onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}
			case v.None():
				kind = onnx.Type{Kind: onnx.KindOptional}
			}
			// Bytes of constants stay packed.
			if name == "o" || name == "v" || name == "w" {
				c := v.ToFile(name)
				g.Initializers = append(g.Initializers, c)
				continue
			}
			g.Inputs, given[name] = append(g.Inputs, onnx.Value{Name: name, Type: kind}), v
		}
		for _, n := range g.Nodes {
			for _, name := range n.Outputs {
				g.Outputs = append(g.Outputs, onnx.Value{Name: name})
			}
		}
		version := []int64{21, 12, 8, 28, 6}[len(data)%5]
		s, err := New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": version}}, run.Options{Pool: pool, Limit: 16 << 20})
		if err != nil {
			return
		}
		out, err := s.Run(&budget{context.Background(), 500}, given)
		if err != nil {
			return
		}
		for name, v := range out {
			wellFormed(t, name, v)
		}
	})
}

func wellFormed(t *testing.T, name string, v *tensor.Tensor) {
	switch {
	case v == nil:
		t.Fatalf("%q is nil", name)
	case v.Seq != nil:
		for _, e := range v.Seq {
			wellFormed(t, name, e)
		}
	case v.None():
	case !v.Valid():
		t.Fatalf("%q: %v of shape %d has %d elements", name, v.Type, v.Shape, v.Len())
	}
}
