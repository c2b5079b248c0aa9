//go:build !js && !cuda && !nogorgonia

package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func newRecorder() recorder { return &exprGraph{g: gorgonia.NewGraph()} }

// exprGraph keeps the recording in a gorgonia expression graph. gorgonia infers
// type and shape of every value from the ops, sorts them and draws them.
// Programs are not run on gorgonia's machine: it costs over a microsecond and
// 16 allocations a node. A handle is the place of a node in AllNodes.
type exprGraph struct{ g *gorgonia.ExprGraph }

// exprOp is an Op as gorgonia sees it. Its children are the op's inputs and, if
// another op's use of the cache has to come first, that op's result.
type exprOp struct {
	call
	serial uint32
}

var _ gorgonia.Op = exprOp{}

func (r *exprGraph) value(n *gorgonia.Node) Value {
	return Value{r, handle(n.ID()), kindOf(n.Type()), Shape(n.Shape())}
}

func (r *exprGraph) input(name string, k kind, s Shape) Value {
	return r.value(gorgonia.NewUniqueNode(gorgonia.WithType(typeOf(k)), gorgonia.In(r.g),
		gorgonia.WithShape(s...), gorgonia.WithName(name)))
}

func (r *exprGraph) apply(c call) (Value, error) {
	all := r.g.AllNodes()
	var nodes gorgonia.Nodes
	for _, v := range slices.Concat(c.in, c.after()) {
		nodes = append(nodes, all[v.n])
	}
	n, err := gorgonia.ApplyOp(exprOp{c, uint32(len(all))}, nodes...)
	if err != nil {
		// gorgonia wraps the cause in prints of its structures.
		for errors.Unwrap(err) != nil {
			err = errors.Unwrap(err)
		}
		return Value{}, err
	}
	if int(n.ID()) != len(all) {
		return Value{}, fmt.Errorf("merged with node %d", n.ID())
	}
	return r.value(n), nil
}

// sorted is in gorgonia's order. Of the orders the edges allow it has the one
// that was recorded.
func (r *exprGraph) sorted() ([]recorded, error) {
	nodes, err := gorgonia.Sort(r.g) // results first
	if err != nil {
		return nil, err
	}
	list := make([]recorded, 0, len(nodes))
	for _, n := range slices.Backward(nodes) {
		e := recorded{Value: r.value(n)}
		if op, ok := n.Op().(exprOp); ok {
			e.op, e.inputs = op.op, len(op.in)
			for it := r.g.From(n.ID()); it.Next(); {
				e.in = append(e.in, handle(it.Node().ID()))
			}
		} else {
			e.name = n.Name()
		}
		list = append(list, e)
	}
	return list, nil
}

func (r *exprGraph) dot() ([]byte, error) { return []byte(r.g.ToDot()), nil }

// types are gorgonia's types of kinds. A leading dimension of no kind yet is a
// variable, which inference replaces.
var types = [...][sameLead + 1]hm.Type{float32s: typesOf(2, tensor.Float32), int32s: typesOf(1, tensor.Int32)}

func typesOf(dims int, t tensor.Dtype) (list [sameLead + 1]hm.Type) {
	for i, lead := range []hm.Type{PerRow: hm.TypeConst("row"), PerWant: hm.TypeConst("wanted row"), sameLead: hm.TypeVariable('a')} {
		list[i] = gorgonia.TensorType{Dims: dims, Of: hm.NewRecordType("", t, lead)}
	}
	return list
}

func typeOf(k kind) hm.Type { return types[k.of][k.lead] }

func kindOf(t hm.Type) kind {
	for _, k := range []kind{perRow, perWant, rowIDs, wantIDs} {
		if typeOf(k).Eq(t) {
			return k
		}
	}
	panic(fmt.Sprintf("graph: gorgonia inferred %v", t))
}

// Type is a fresh function type each call: gorgonia unifies it in place.
func (e exprOp) Type() hm.Type {
	s, ok := signatureOf(e.op)
	if !ok {
		return hm.TypeConst("unknown op")
	}
	var ts []hm.Type
	for _, k := range s.in {
		ts = append(ts, typeOf(k))
	}
	for range e.after() {
		ts = append(ts, hm.TypeVariable('c'))
	}
	return hm.NewFnType(append(ts, typeOf(s.out))...)
}

func (e exprOp) Arity() int {
	s, _ := signatureOf(e.op)
	return len(s.in) + len(e.after())
}

func (e exprOp) InferShape(children ...gorgonia.DimSizer) (tensor.Shape, error) {
	in := make([]Shape, len(e.in))
	for i := range in {
		in[i] = Shape(children[i].(tensor.Shape))
	}
	out, err := e.shape(in...)
	return tensor.Shape(out), err
}

func (e exprOp) Do(...gorgonia.Value) (gorgonia.Value, error) {
	return nil, fmt.Errorf("graph: %s is recorded, not run, by gorgonia", opName(e.op))
}

func (e exprOp) ReturnsPtr() bool     { return true }
func (e exprOp) CallsExtern() bool    { return false }
func (e exprOp) OverwritesInput() int { return -1 }
func (e exprOp) String() string       { return opName(e.op) }

// Hashcode is the op's serial number: gorgonia merges nodes whose hashes agree
// without comparing their children.
func (e exprOp) Hashcode() uint32      { return e.serial }
func (e exprOp) WriteHash(h hash.Hash) { h.Write(binary.LittleEndian.AppendUint32(nil, e.serial)) }
