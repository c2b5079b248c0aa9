//go:build !js && !cuda

package graph

import (
	"fmt"
	"hash"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func newRecorder() recorder { return &exprGraph{g: gorgonia.NewGraph()} }

// exprGraph keeps the recording in a gorgonia expression graph, which checks
// types, arity and order and draws itself. Programs are not run on gorgonia's
// machine: it costs over a microsecond and 16 allocations a node.
type exprGraph struct {
	g    *gorgonia.ExprGraph
	list []*gorgonia.Node
	at   map[int64]handle // gorgonia's node id → handle

	// eval, when set, lets gorgonia's own machine run the graph: tests compare
	// it with the Program.
	eval func(op Op, dst []float32, in [][]float32) error
}

// exprOp adapts an Op to gorgonia.Op; it is the only such adapter.
type exprOp struct {
	op     Op
	serial uint32
	in     []Shape
	out    Shape
	graph  *exprGraph
}

func (r *exprGraph) keep(n *gorgonia.Node) handle {
	if r.at == nil {
		r.at = make(map[int64]handle)
	}
	h := handle(len(r.list))
	r.at[n.ID()] = h
	r.list = append(r.list, n)
	return h
}

func (r *exprGraph) input(name string, s Shape) handle {
	return r.keep(gorgonia.NewTensor(r.g, gorgonia.Float32, len(s),
		gorgonia.WithShape(s...), gorgonia.WithName(name)))
}

func (r *exprGraph) apply(op Op, out Shape, in []handle) (handle, error) {
	e := exprOp{op: op, serial: uint32(len(r.list)), out: out, graph: r}
	nodes := make([]*gorgonia.Node, len(in))
	for i, h := range in {
		nodes[i] = r.list[h]
		e.in = append(e.in, Shape(nodes[i].Shape()))
	}
	n, err := gorgonia.ApplyOp(e, nodes...)
	if err != nil {
		return 0, fmt.Errorf("recording %s: %w", opName(op), err)
	}
	if _, merged := r.at[n.ID()]; merged {
		return 0, fmt.Errorf("recording %s: merged with another node", opName(op))
	}
	return r.keep(n), nil
}

func (r *exprGraph) nodes() []recorded {
	// AllNodes is in recording order; Sort would yield results first.
	all := r.g.AllNodes()
	list := make([]recorded, len(all))
	for i, n := range all {
		list[i] = recorded{name: n.Name(), shape: Shape(n.Shape())}
		e, ok := n.Op().(exprOp)
		if !ok {
			continue
		}
		list[i].op, list[i].name = e.op, ""
		for it := r.g.From(n.ID()); it.Next(); {
			list[i].in = append(list[i].in, r.at[it.Node().ID()])
		}
	}
	return list
}

func (r *exprGraph) dot() ([]byte, error) { return []byte(r.g.ToDot()), nil }

// Type is a fresh function type each call: gorgonia unifies it in place.
func (e exprOp) Type() hm.Type {
	ts := make([]hm.Type, 0, len(e.in)+1)
	for _, s := range append(e.in[:len(e.in):len(e.in)], e.out) {
		ts = append(ts, gorgonia.TensorType{Dims: len(s), Of: tensor.Float32})
	}
	return hm.NewFnType(ts...)
}

func (e exprOp) Arity() int { return e.op.Arity() }

func (e exprOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(e.out), nil
}

func (e exprOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if e.graph.eval == nil {
		return nil, fmt.Errorf("graph: %s is recorded, not run, by gorgonia", opName(e.op))
	}
	args := make([][]float32, len(in))
	for i, v := range in {
		args[i] = v.Data().([]float32)
	}
	dst := make([]float32, e.out.Elems())
	if err := e.graph.eval(e.op, dst, args); err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(e.out...), tensor.WithBacking(dst)), nil
}

func (e exprOp) ReturnsPtr() bool     { return true }
func (e exprOp) CallsExtern() bool    { return false }
func (e exprOp) OverwritesInput() int { return -1 }
func (e exprOp) String() string       { return opName(e.op) }

// Hashcode is the op's serial number: gorgonia merges nodes whose hashes agree
// without comparing their children.
func (e exprOp) Hashcode() uint32      { return e.serial }
func (e exprOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "%T#%d", e.op, e.serial) }
