package conformer

import (
	"slices"

	fonnx "quern/formats/onnx"
)

// A split is a graph of a joint cut into what depends on the encoder alone, what depends on
// the other inputs alone, and the rest. The first runs once for all frames of a window, the
// second once a token.
type split struct {
	frames, tokens, rest *fonnx.Model
}

// splitJoint cuts a graph whose first input is the encoder's and whose first output is the
// logits. It returns nil where exactly one value does not go from each side to the rest: the
// graph is then run as it is.
func splitJoint(m *fonnx.Model) *split {
	const ours, others = 1, 2
	in := m.Graph.Asked()
	of := make(map[string]int) // which inputs a value depends on
	for i, v := range in {
		of[v.Name] = others
		if i == 0 {
			of[v.Name] = ours
		}
	}
	made := make(map[string]*fonnx.Node)
	for _, n := range m.Graph.Nodes {
		mask := 0
		for _, a := range n.Attrs {
			if a.G != nil || len(a.Graphs) > 0 {
				return nil // inner graphs are not analysed
			}
		}
		for _, name := range n.Inputs {
			mask |= of[name]
		}
		for _, name := range n.Outputs {
			of[name], made[name] = mask, n
		}
	}
	logits := m.Graph.Outputs[0].Name
	if of[logits] != ours|others {
		return nil
	}
	for _, o := range m.Graph.Outputs[1:] {
		if of[o.Name]&ours != 0 {
			return nil
		}
	}
	// What goes over: values of one side that nodes of the rest read.
	var over [3][]string
	for _, n := range m.Graph.Nodes {
		if len(n.Outputs) == 0 || of[n.Outputs[0]] != ours|others {
			continue
		}
		for _, name := range n.Inputs {
			if side := of[name]; (side == ours || side == others) && !slices.Contains(over[side], name) {
				over[side] = append(over[side], name)
			}
		}
	}
	if len(over[ours]) != 1 || len(over[others]) != 1 || made[over[ours][0]] == nil || made[over[others][0]] == nil {
		return nil
	}
	value := func(name string) fonnx.Value {
		return fonnx.Value{Name: name, Type: fonnx.Type{Kind: fonnx.KindTensor, Elem: in[0].Type.Elem}}
	}
	a, b := value(over[ours][0]), value(over[others][0])
	cut := func(in, out []fonnx.Value) *fonnx.Model {
		g := *m.Graph
		g.Inputs, g.Outputs, g.Nodes = in, out, needed(m.Graph, made, in, out)
		part := &fonnx.Model{IR: m.IR, Producer: m.Producer, Opsets: m.Opsets, Functions: m.Functions, Graph: &g}
		g.Initializers = read(m.Graph.Initializers, g.Nodes)
		return part
	}
	return &split{
		frames: cut(in[:1], []fonnx.Value{a}),
		tokens: cut(in[1:], append([]fonnx.Value{b}, m.Graph.Outputs[1:]...)),
		rest:   cut([]fonnx.Value{a, b}, m.Graph.Outputs[:1]),
	}
}

// needed lists the nodes, in their order, that make out of in.
func needed(g *fonnx.Graph, made map[string]*fonnx.Node, in, out []fonnx.Value) (nodes []*fonnx.Node) {
	given := make(map[string]bool)
	for _, v := range in {
		given[v.Name] = true
	}
	want := make(map[*fonnx.Node]bool)
	var names []string
	for _, v := range out {
		names = append(names, v.Name)
	}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if n := made[name]; n != nil && !given[name] && !want[n] {
			want[n] = true
			names = append(names, n.Inputs...)
		}
	}
	for _, n := range g.Nodes {
		if want[n] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// read lists the constants that nodes read.
func read(all []*fonnx.Tensor, nodes []*fonnx.Node) (list []*fonnx.Tensor) {
	used := make(map[string]bool)
	for _, n := range nodes {
		for _, name := range n.Inputs {
			used[name] = true
		}
	}
	for _, t := range all {
		if used[t.Name] {
			list = append(list, t)
		}
	}
	return list
}
