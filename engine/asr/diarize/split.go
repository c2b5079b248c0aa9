package diarize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/kernels/vec"
)

// A split is a network of voices cut at its pooling over time: the part before runs once
// over the sound, block by block, and its states are pooled again for every speaker of a
// window, over the frames in which that one speaks.
//
// Where the cut is follows from the graph: all ways from the features to the embedding
// lead through some tensors, and the first of those whose size does not change with the
// frames is what pooling makes of the one before it. How it pools is tried out: the graph's
// own numbers have to be those of one of the poolings here.
type split struct {
	trunk, tail Graph
	in          string // of the tail
	elem        fonnx.DType
	states      string // of the trunk
	out         string
	axis        int   // of the states: frames
	shape       []int // of the pooled states
	deviations  bool  // beside means
	less        bool  // variances are of one degree of freedom less
	epsilon     float64
}

// before runs the part before the pooling.
func (s *split) before(ctx context.Context, e *embedding, rows []float32) (*onnx.Tensor, error) {
	in, err := e.tensors(rows)
	if err != nil {
		return nil, err
	}
	if s.trunk == nil { // the features are pooled themselves
		return in[s.states], nil
	}
	got, err := s.trunk.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	t := got[s.states]
	if t == nil || t.F == nil || len(t.Shape) <= s.axis || t.Shape[s.axis] < 1 || s.pooled(t.Shape) != product(s.shape) {
		return nil, fmt.Errorf("%w: the graph's states have another shape than before", ErrFormat)
	}
	return t, nil
}

// A stretch is some frames of states.
type stretch struct {
	states *onnx.Tensor
	of     []int
}

// whole is all frames of states.
func (s *split) whole(t *onnx.Tensor) stretch {
	x := stretch{states: t}
	for f := range t.Shape[s.axis] {
		x.of = append(x.of, f)
	}
	return x
}

// after pools states over frames and makes the embedding; nil where there are no frames.
func (s *split) after(ctx context.Context, list ...stretch) ([]float32, error) {
	if !slices.ContainsFunc(list, func(x stretch) bool { return len(x.of) > 0 }) {
		return nil, nil
	}
	pooled := s.pool(list)
	in, err := onnx.NewFloats(s.shape, pooled).Convert(s.elem)
	if err != nil {
		return nil, err
	}
	if s.tail == nil {
		return vector(in)
	}
	got, err := s.tail.Run(ctx, map[string]*onnx.Tensor{s.in: in})
	if err != nil {
		return nil, err
	}
	return vector(got[s.out])
}

// pool returns the means over frames and, where the network does, the deviations.
func (s *split) pool(list []stretch) []float32 {
	shape := list[0].states.Shape
	outer, inner := product(shape[:s.axis]), product(shape[s.axis+1:])
	count := 0
	for _, x := range list {
		count += len(x.of)
	}
	n := float64(count)
	if s.less {
		n = max(1, n-1)
	}
	var means, deviations []float32
	values := make([]float32, 0, count)
	for o := range outer {
		for i := range inner {
			values = values[:0]
			for _, x := range list {
				row := x.states.F[o*x.states.Shape[s.axis]*inner+i:]
				for _, f := range x.of {
					values = append(values, row[f*inner])
				}
			}
			mean, variance := vec.Moments(values)
			means = append(means, float32(mean))
			if s.deviations {
				deviations = append(deviations, float32(math.Sqrt(variance*float64(count)/n+s.epsilon)))
			}
		}
	}
	return append(means, deviations...)
}

// pooled is how many numbers pooling makes of states.
func (s *split) pooled(shape []int) int {
	n := product(shape) / shape[s.axis]
	if s.deviations {
		n *= 2
	}
	return n
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// newSplit cuts the graph of e, or says why it cannot be.
func newSplit(ctx context.Context, m *fonnx.Model, e *embedding, compile Compiler) (_ *split, why string, err error) {
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Attrs {
			if a.G != nil || a.Graphs != nil {
				return nil, "a step of it is a graph of its own", nil
			}
		}
	}
	chain := waist(m.Graph, e.inputs[0].Name, e.out)
	if len(chain) < 2 {
		return nil, "the features lead past every pooling", nil
	}
	probe, err := compile(ctx, cut(m, nil, chain[1:]))
	if err != nil {
		return nil, "", err
	}
	bands := e.features.Bands()
	// Noise in all bands, of two lengths that no stride divides.
	try := func(frames int) (map[string]*onnx.Tensor, error) {
		in, err := e.tensors(noise(frames*bands, uint32(frames)))
		if err != nil {
			return nil, err
		}
		got, err := probe.Run(ctx, in)
		if err == nil {
			got[chain[0]] = in[chain[0]]
		}
		return got, err
	}
	short, err := try(149)
	if err != nil {
		return nil, "", err
	}
	long, err := try(251)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(chain, func(name string) bool {
		return short[name] != nil && long[name] != nil && slices.Equal(short[name].Shape, long[name].Shape)
	})
	if at < 1 {
		return nil, "its embedding depends on how long a voice is heard", nil
	}
	states, pooled := chain[at-1], chain[at]
	s := &split{states: states, in: pooled, elem: short[pooled].Type, out: e.out, shape: short[pooled].Shape, axis: -1}
	for i, d := range short[states].Shape {
		if d != long[states].Shape[i] {
			if s.axis >= 0 {
				return nil, "frames are in two dimensions of its states", nil
			}
			s.axis = i
		}
	}
	if s.axis < 1 {
		return nil, "its states are not by voice and frame", nil
	}
	if !s.find(short, long) {
		return nil, "it pools over time in a way of its own", nil
	}
	if states != chain[0] {
		if s.trunk, err = compile(ctx, cut(m, nil, []string{states})); err != nil {
			return nil, "", err
		}
	}
	if pooled != e.out {
		s.tail, err = compile(ctx, cut(m, &fonnx.Value{Name: pooled, Type: fonnx.Type{Kind: fonnx.KindTensor, Elem: s.elem, Dims: dims(s.shape)}}, []string{e.out}))
	}
	return s, "", err
}

// find looks for the pooling that makes what is pooled of the states, at two lengths.
func (s *split) find(runs ...map[string]*onnx.Tensor) bool {
	for _, s.deviations = range []bool{false, true} {
		for _, s.less = range []bool{false, true} {
			for _, s.epsilon = range []float64{0, 1e-10, 1e-8, 1e-7, 1e-5} {
				if !slices.ContainsFunc(runs, func(run map[string]*onnx.Tensor) bool {
					t := run[s.states]
					if t.F == nil || run[s.in].F == nil {
						return true
					}
					return !close(s.pool([]stretch{s.whole(t)}), run[s.in].F)
				}) {
					return true
				}
			}
		}
	}
	return false
}

// close reports whether numbers are the same but for rounding, which sums over frames have.
func close(got, want []float32) bool {
	if len(got) != len(want) {
		return false
	}
	top := 1e-6
	for _, v := range want {
		top = max(top, math.Abs(float64(v)))
	}
	for i := range got {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-4*max(math.Abs(float64(want[i])), 0.01*top)) {
			return false
		}
	}
	return true
}

func dims(shape []int) (out []fonnx.Dim) {
	for _, d := range shape {
		out = append(out, fonnx.Dim{Size: int64(d)})
	}
	return out
}

// waist lists the tensors that every way from one tensor of a graph to another leads
// through, both included; nil where the second does not depend on the first.
//
// Lengauer & Tarjan, "A fast algorithm for finding dominators in a flowgraph", 1979; of a
// graph without cycles, in order, they follow from those of a step's inputs.
func waist(g *fonnx.Graph, from, to string) (chain []string) {
	over := map[string]string{from: ""} // the last tensor before it that all ways lead through
	depth := map[string]int{from: 0}
	for _, n := range g.Nodes {
		common := ""
		for _, in := range n.Inputs {
			if _, ok := depth[in]; !ok || in == "" {
				continue
			}
			if common == "" {
				common = in
			}
			for in != common {
				if depth[in] > depth[common] {
					in = over[in]
				} else {
					common = over[common]
				}
			}
		}
		if common == "" {
			continue
		}
		for _, out := range n.Outputs {
			over[out], depth[out] = common, depth[common]+1
		}
	}
	if _, ok := depth[to]; !ok {
		return nil
	}
	for ; to != ""; to = over[to] {
		chain = append(chain, to)
	}
	slices.Reverse(chain)
	return chain
}

// cut returns a model with the nodes that outputs need. in, unless nil, is given instead of
// the graph's inputs. It shares all else with m and is not closed.
func cut(m *fonnx.Model, in *fonnx.Value, outputs []string) *fonnx.Model {
	part := *m
	g := *m.Graph
	part.Graph = &g
	g.Nodes, g.Outputs = nil, nil
	need := make(map[string]bool)
	for _, name := range outputs {
		need[name] = true
		v := fonnx.Value{Name: name, Type: fonnx.Type{Kind: fonnx.KindTensor, Elem: fonnx.Float}}
		if i := slices.IndexFunc(m.Graph.Outputs, func(o fonnx.Value) bool { return o.Name == name }); i >= 0 {
			v = m.Graph.Outputs[i]
		}
		g.Outputs = append(g.Outputs, v)
	}
	for _, n := range slices.Backward(m.Graph.Nodes) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return need[o] && (in == nil || o != in.Name) }) {
			continue
		}
		g.Nodes = append(g.Nodes, n)
		for _, name := range n.Inputs {
			need[name] = true
		}
	}
	slices.Reverse(g.Nodes)
	// Weights of the other part are not to be kept twice.
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(t *fonnx.Tensor) bool { return !need[t.Name] })
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v fonnx.Value) bool { return !need[v.Name] })
	if in != nil {
		g.Inputs = []fonnx.Value{*in}
	}
	return &part
}
