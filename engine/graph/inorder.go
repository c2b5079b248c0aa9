package graph

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"quern/formats/weights"
)

// inorder keeps the recording as a list and infers by itself. Builds for js and
// with the tags cuda and nogorgonia use it in place of gorgonia, which would add
// 25 MB to a wasm file, needs cgo and a CUDA toolkit of its own under the cuda
// tag, and is a fourth of the binary elsewhere.
type inorder struct{ list []recorded }

func (r *inorder) input(name string, k kind, s Shape) Value {
	v := Value{r, handle(len(r.list)), k, s}
	r.list = append(r.list, recorded{Value: v, name: name})
	return v
}

func (r *inorder) apply(c call) (Value, error) {
	s, known := signatureOf(c.op)
	k, ok := s.result(c.in)
	if !known || !ok {
		return Value{}, errTypes
	}
	shapes := make([]Shape, len(c.in))
	for i, v := range c.in {
		shapes[i] = v.shape
	}
	out, err := c.shape(shapes...)
	if err != nil {
		return Value{}, err
	}
	n := recorded{Value: Value{r, handle(len(r.list)), k, out}, op: c.op, inputs: len(c.in)}
	for _, v := range slices.Concat(c.in, c.after()) {
		n.in = append(n.in, v.n)
	}
	r.list = append(r.list, n)
	return n.Value, nil
}

// sorted is in recording order: an op's inputs are recorded before it.
func (r *inorder) sorted() ([]recorded, error) { return r.list, nil }

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

// opName is the op's type and, where it has one, its weight or layer.
func opName(op Op) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", op), "graph.")
	if layer, _, ok := cacheUse(op); ok {
		return fmt.Sprintf("%s layer %d", name, layer)
	}
	var w *weights.Tensor
	switch o := op.(type) {
	case Embed:
		w = o.Weight
	case AdaptedEmbed:
		w = o.Weight
	case RMSNorm:
		w = o.Weight
	case LayerNorm:
		w = o.Weight
	case Experts:
		w = o.Up
	case AdaptedExperts:
		w = o.Up
	case Bias:
		w = o.Vector
	case Linear:
		w = o.Weight
	case AdaptedLinear:
		w = o.Weight
	case Conv1D:
		w = o.Weight
	}
	if w != nil {
		name += " " + w.Name
	}
	return name
}
