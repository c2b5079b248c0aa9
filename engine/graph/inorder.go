package graph

import (
	"bytes"
	"fmt"
)

// inorder keeps the recording as a list. The js and cuda builds use it in
// place of gorgonia, which would add 25 MB to a wasm file and, under the cuda
// tag, needs cgo and a CUDA toolkit of its own.
type inorder struct{ list []recorded }

func (r *inorder) input(name string, s Shape) handle {
	r.list = append(r.list, recorded{name: name, shape: s})
	return handle(len(r.list) - 1)
}

func (r *inorder) apply(op Op, out Shape, in []handle) (handle, error) {
	r.list = append(r.list, recorded{op: op, in: in, shape: out})
	return handle(len(r.list) - 1), nil
}

func (r *inorder) nodes() []recorded { return r.list }

func (r *inorder) dot() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("digraph quern {\n\tnode [shape=box];\n")
	for i, n := range r.list {
		fmt.Fprintf(&b, "\tn%d [label=%q];\n", i, label(n))
		for _, in := range n.in {
			fmt.Fprintf(&b, "\tn%d -> n%d;\n", in, i)
		}
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// label describes a node in one line.
func label(n recorded) string {
	if n.op == nil {
		return fmt.Sprintf("%s %v", n.name, []int(n.shape))
	}
	return fmt.Sprintf("%s %v", opName(n.op), []int(n.shape))
}

// opName is the op's type and, where it has one, its weight.
func opName(op Op) string {
	name := fmt.Sprintf("%T", op)[len("graph."):]
	switch o := op.(type) {
	case Embed:
		name += " " + o.Weight.Name
	case RMSNorm:
		name += " " + o.Weight.Name
	case LayerNorm:
		name += " " + o.Weight.Name
	case Experts:
		name += " " + o.Gate.Name
	case Bias:
		name += " " + o.Vector.Name
	case Linear:
		name += " " + o.Weight.Name
	case Conv1D:
		name += " " + o.Weight.Name
	case Store:
		name += fmt.Sprintf(" layer %d", o.Layer)
	case CrossAttention:
		name += fmt.Sprintf(" layer %d", o.Layer)
	case CrossScores:
		name += fmt.Sprintf(" layer %d", o.Layer)
	case Attention:
		name += fmt.Sprintf(" layer %d", o.Layer)
	}
	return name
}
