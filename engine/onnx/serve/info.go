package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
)

// An Info describes an ONNX graph, and the model it is the graph of.
type Info struct {
	File, Producer  string
	IR              int64
	Opsets          []string // "17", "com.microsoft 1"
	Inputs, Outputs []Value
	Operators       []Count // the most used first, those of inner graphs included
	Weights         []Count // elements of constants by their type
	WeightBytes     int64
	Problem         error // why quern cannot run it: operators it lacks

	Kind  engine.Kind // what quern serve would do with its folder, or ""
	Serve error       // why it would not; nil where Kind is set
}

// A Value is an input or output. Names in its shape stand for sizes that
// are only known when the graph runs; the same name is the same size everywhere.
type Value struct{ Name, Type, Shape string }

// A Count is how often something occurs.
type Count struct {
	Name  string
	Count int64
}

// IsGraph reports whether path is an ONNX graph or a folder whose model is one.
func IsGraph(path string) bool {
	_, ok, _ := find(path)
	return ok
}

// Describe reads what an ONNX file holds. Nothing is computed.
func Describe(path string) (*Info, error) {
	f, ok, err := find(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s is no ONNX model", fonnx.ErrFormat, path)
	}
	m, err := fonnx.Open(f.main)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	info := &Info{File: f.main, Producer: m.Producer, IR: m.IR, Problem: lacks(m)}
	for _, domain := range slices.Sorted(maps.Keys(m.Opsets)) {
		info.Opsets = append(info.Opsets, strings.TrimSpace(fmt.Sprintf("%s %d", domain, m.Opsets[domain])))
	}
	info.Inputs, info.Outputs = valuesOf(m.Graph.Asked()), valuesOf(m.Graph.Outputs)
	operators, types := make(map[string]int64), make(map[string]int64)
	countOperators(m.Graph, operators)
	for _, g := range m.Functions {
		countOperators(&fonnx.Graph{Nodes: g.Nodes}, operators)
	}
	for _, t := range m.Graph.Initializers {
		n := int64(1)
		for _, d := range t.Shape {
			n *= int64(d)
		}
		types[t.Type.String()] += n
		info.WeightBytes += int64(len(t.Data))
	}
	info.Operators, info.Weights = counts(operators), counts(types)
	h, err := Read(path)
	if err != nil {
		info.Serve = err
		return info, nil
	}
	info.Kind = h.Kind
	h.Close()
	return info, nil
}

// lacks says what quern lacks to run a graph. It prepares the graph without
// its weights, so that nothing is computed.
func lacks(m *fonnx.Model) error {
	bare, g := *m, *m.Graph
	g.Initializers, bare.Graph = nil, &g
	_, err := onnx.New(&bare, onnx.Options{})
	return err
}

func countOperators(g *fonnx.Graph, sums map[string]int64) {
	for _, n := range g.Nodes {
		name := n.Op
		if n.Domain != "" {
			name = n.Domain + "." + n.Op
		}
		sums[name]++
		for _, a := range n.Attrs {
			if a.G != nil {
				countOperators(a.G, sums)
			}
		}
	}
}

// counts lists sums, the largest first.
func counts(sums map[string]int64) []Count {
	var list []Count
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, Count{name, sums[name]})
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

func valuesOf(list []fonnx.Value) (out []Value) {
	for _, v := range list {
		x := Value{v.Name, v.Type.Elem.String(), describeDims(v.Type.Dims)}
		switch {
		case v.Type.Kind == fonnx.KindTensor && v.Type.Dims == nil:
			x.Shape = "(…)" // any rank
		case v.Type.Kind != fonnx.KindTensor:
			x.Type, x.Shape = kindNames[v.Type.Kind], ""
		}
		out = append(out, x)
	}
	return out
}

var kindNames = map[fonnx.Kind]string{
	fonnx.KindUnknown: "unknown", fonnx.KindSequence: "sequence", fonnx.KindOptional: "optional", fonnx.KindMap: "map", fonnx.KindSparse: "sparse",
}
