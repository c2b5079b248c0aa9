package local

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

// An ONNXInfo describes an ONNX graph, and the model it is the graph of.
type ONNXInfo struct {
	File, Producer  string
	IR              int64
	Opsets          []string // "17", "com.microsoft 1"
	Inputs, Outputs []ONNXValue
	Operators       []ONNXCount // the most used first, those of inner graphs included
	Weights         []ONNXCount // elements of constants by their type
	WeightBytes     int64
	Problem         error // why quern cannot run it: operators it lacks

	Kind  engine.Kind // what quern serve would do with its folder, or ""
	Serve error       // why it would not; nil where Kind is set
}

// An ONNXValue is an input or output. Names in its shape stand for sizes that
// are only known when the graph runs; the same name is the same size everywhere.
type ONNXValue struct{ Name, Type, Shape string }

// An ONNXCount is how often something occurs.
type ONNXCount struct {
	Name  string
	Count int64
}

// IsONNX reports whether path is an ONNX graph or a folder whose model is one.
func IsONNX(path string) bool {
	_, ok, _ := findONNX(path)
	return ok
}

// DescribeONNX reads what an ONNX file holds. Nothing is computed.
func DescribeONNX(path string) (*ONNXInfo, error) {
	f, ok, err := findONNX(path)
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
	info := &ONNXInfo{File: f.main, Producer: m.Producer, IR: m.IR, Problem: runsONNX(m)}
	for _, domain := range slices.Sorted(maps.Keys(m.Opsets)) {
		info.Opsets = append(info.Opsets, strings.TrimSpace(fmt.Sprintf("%s %d", domain, m.Opsets[domain])))
	}
	info.Inputs, info.Outputs = valuesOf(askedInputs(m.Graph)), valuesOf(m.Graph.Outputs)
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
	h, err := readONNX(path)
	if err != nil {
		info.Serve = err
		return info, nil
	}
	info.Kind = h.kind
	h.close()
	return info, nil
}

// runsONNX says what quern lacks to run a graph. It prepares the graph without
// its weights, so that nothing is computed.
func runsONNX(m *fonnx.Model) error {
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
func counts(sums map[string]int64) []ONNXCount {
	var list []ONNXCount
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, ONNXCount{name, sums[name]})
	}
	slices.SortStableFunc(list, func(a, b ONNXCount) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

func valuesOf(list []fonnx.Value) (out []ONNXValue) {
	for _, v := range list {
		x := ONNXValue{v.Name, v.Type.Elem.String(), describeDims(v.Type.Dims)}
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
