package main

import (
	"context"
	"math"
	"slices"

	"quern/bench/internal/must"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// A calibration says how static quantisation writes a model: in QuantizeLinear and
// DequantizeLinear around operators.
type calibration struct {
	activations onnx.DType // uint8 or int8
	channels    bool       // weights have a scale for each column or filter, not one
	outputs     bool       // results of the operators are quantised, too
	ops         []string   // that are quantised
}

// calibrations are by what a model is called: as PyTorch's exporter places them (at the inputs of
// products only), and as onnxruntime.quantization.quantize_static does (around every operator it
// is told of).
var calibrations = map[string]calibration{
	"qdq":    {onnx.Uint8, true, false, []string{"MatMul", "Gemm", "Conv"}},
	"static": {onnx.Int8, false, true, []string{"MatMul", "Gemm", "Conv", "Add"}},
}

// static quantises a model of float32, whose values' ranges are those of one run on in.
func static(data []byte, how calibration, in map[string]*run.Tensor, pool *threads.Pool) []byte {
	m := must.Get(onnx.Parse(data, nil))
	s := &statics{rewriter: rewrites(m), how: how, pairs: make(map[string]string)}
	s.reach(m, in, pool)
	nodes := m.Graph.Nodes
	m.Graph.Nodes = nil
	for _, n := range nodes {
		if !slices.Contains(how.ops, n.Op) || s.ranges[n.Outputs[0]] == ([2]float32{}) {
			m.Graph.Nodes = append(m.Graph.Nodes, n)
			continue
		}
		n.Inputs = slices.Clone(n.Inputs)
		for i, name := range n.Inputs {
			if w := s.weights[name]; w == nil && s.ranges[name] != ([2]float32{}) {
				n.Inputs[i] = s.pair(name)
			} else if w != nil && w.Type == onnx.Float && (i == 1 || n.Op == "Add") {
				n.Inputs[i] = s.weight(w, n)
			}
		}
		m.Graph.Nodes = append(m.Graph.Nodes, n)
		if how.outputs {
			s.pair(n.Outputs[0])
		}
	}
	if how.outputs { // all who read a result read what it was quantised to
		for _, n := range m.Graph.Nodes {
			for i, name := range n.Inputs {
				if p := s.pairs[name]; p != "" && n.Op != "QuantizeLinear" {
					n.Inputs[i] = p
				}
			}
		}
	}
	return onnxtest.Marshal(m)
}

type statics struct {
	rewriter
	how    calibration
	ranges map[string][2]float32 // of values of floats
	pairs  map[string]string     // what a value is quantised to
}

// reach runs a model and remembers the range of every value of floats.
func (s *statics) reach(m *onnx.Model, in map[string]*run.Tensor, pool *threads.Pool) {
	all, g := *m, *m.Graph
	all.Graph = &g
	g.Outputs = nil
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			g.Outputs = append(g.Outputs, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindUnknown}})
		}
	}
	s.ranges = make(map[string][2]float32)
	see := func(name string, t *run.Tensor) {
		if t.Type == onnx.Float && t.Len() > 1 {
			s.ranges[name] = [2]float32{min(0, slices.Min(t.F)), max(0, slices.Max(t.F))}
		}
	}
	for name, t := range must.Get(must.Get(run.New(&all, run.Options{Pool: pool, NoFusion: true})).Run(context.Background(), in)) {
		see(name, t)
	}
	for name, t := range in {
		see(name, t)
	}
}

// pair returns what a value is after it was quantised and made floats again.
func (s *statics) pair(name string) string {
	if p := s.pairs[name]; p != "" {
		return p
	}
	low, high := s.ranges[name][0], s.ranges[name][1]
	scale, zero := (high-low)/255, float32(0)
	if scale > 0 {
		zero = float32(math.RoundToEven(float64(-low / scale)))
	}
	if s.how.activations == onnx.Int8 {
		zero -= 128
	}
	by, at := s.constant(name+"_scale", onnxtest.FloatTensor(nil, scale)), s.constant(name+"_zero_point", &onnx.Tensor{Type: s.how.activations, Data: []byte{byte(int(zero))}})
	s.Named([]string{name + "_quantized"}, "QuantizeLinear", []string{name, by, at})
	return s.back(name, by, at)
}

// weight returns what int8 stand for a weight of a node, symmetrically about zero.
func (s *statics) weight(w *onnx.Tensor, n *onnx.Node) string {
	if p := s.pairs[w.Name]; p != "" {
		return p
	}
	v := must.Get(run.FromFile(w)).F
	axis := len(w.Shape) - 1
	if n.Op == "Conv" {
		axis = 0
	}
	groups, inner := 1, len(v)
	if s.how.channels && n.Op != "Add" {
		groups, inner = w.Shape[axis], 1
		for _, d := range w.Shape[axis+1:] {
			inner *= d
		}
	}
	scales := make([]float32, groups)
	for i, x := range v {
		j := i / inner % groups
		scales[j] = max(scales[j], x/127, -x/127)
	}
	q := &onnx.Tensor{Type: onnx.Int8, Shape: w.Shape, Data: make([]byte, len(v))}
	for i, x := range v {
		if by := scales[i/inner%groups]; by > 0 {
			q.Data[i] = byte(int8(math.RoundToEven(float64(x / by))))
		}
	}
	shape := []int(nil)
	var attrs []*onnx.Attr
	if groups > 1 {
		shape, attrs = []int{groups}, []*onnx.Attr{onnxtest.Int("axis", int64(axis))}
	}
	zero := &onnx.Tensor{Type: onnx.Int8, Shape: shape, Data: make([]byte, groups)}
	s.constant(w.Name+"_quantized", q)
	return s.back(w.Name, s.constant(w.Name+"_scale", onnxtest.FloatTensor(shape, scales...)), s.constant(w.Name+"_zero_point", zero), attrs...)
}

// back makes floats of what name was quantised to.
func (s *statics) back(name, scale, zero string, attrs ...*onnx.Attr) string {
	s.pairs[name] = name + "_dequantized"
	s.Named([]string{s.pairs[name]}, "DequantizeLinear", []string{name + "_quantized", scale, zero}, attrs...)
	return s.pairs[name]
}
