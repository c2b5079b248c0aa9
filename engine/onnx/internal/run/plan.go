package run

import (
	"context"
	"fmt"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A Body is a graph or function as it runs: without the nodes New computed.
type Body struct {
	Nodes           []*onnx.Node
	do              []action                  // of each node
	dies            [][]string                // names each node is the last to use
	Consts          map[string]*tensor.Tensor // initializers and folded values
	Inputs, Outputs []string
}

// graph prepares a graph and those in its nodes.
func (s *Session) graph(g *onnx.Graph) error {
	if len(g.Sparse) > 0 {
		return fmt.Errorf("%w: sparse initializers", onnx.ErrUnsupported)
	}
	b := &Body{Nodes: g.Nodes, Consts: make(map[string]*tensor.Tensor)}
	s.bodies[g] = b
	for _, f := range g.Initializers {
		t, err := s.constant(f)
		if err != nil {
			return err
		}
		b.Consts[f.Name] = t
	}
	for _, v := range g.Inputs {
		b.Inputs = append(b.Inputs, v.Name)
	}
	for _, v := range g.Outputs {
		b.Outputs = append(b.Outputs, v.Name)
	}
	if err := s.below(g.Nodes); err != nil {
		return err
	}
	var leave map[*onnx.Node]bool
	if !s.plain {
		leave = b.ofBytes()
	}
	s.fold(b, foldElems, leave)
	if !s.plain {
		s.with.Fuse(s, b)
	}
	s.fold(b, tensor.MaxElems, nil)
	b.prune()
	s.widenRead(b)
	b.plan(s)
	return nil
}

func (s *Session) function(f *onnx.Function) error {
	b := &Body{Nodes: f.Nodes, Inputs: f.Inputs, Outputs: f.Outputs}
	s.bodies[f] = b
	b.plan(s)
	return s.below(f.Nodes)
}

func (s *Session) below(nodes []*onnx.Node) error {
	for _, n := range nodes {
		for _, a := range n.Attrs {
			if a.G != nil {
				if err := s.graph(a.G); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// constant returns a tensor of the model, the same at every call.
func (s *Session) constant(f *onnx.Tensor) (*tensor.Tensor, error) {
	if t := s.consts[f]; t != nil {
		return t, nil
	}
	read := tensor.FromFile
	if s.Between(f.Type) != f.Type {
		read = tensor.Halves
	}
	t, err := read(f)
	if err != nil {
		return nil, err
	}
	s.mem.Keep(t)
	s.consts[f] = t
	return t, nil
}

// foldElems bounds the constants the first pass of folding touches, unless the
// operator only moves them: the second comes after fusion, which wants to see
// the weights that a large DequantizeLinear reads.
const foldElems = 1 << 16

// moves are operators whose result is as large as their input.
var moves = map[string]bool{
	"Identity": true, "Cast": true, "Transpose": true, "Reshape": true, "Flatten": true,
	"Squeeze": true, "Unsqueeze": true, "Slice": true, "Split": true, "QuantizeLinear": true,
}

// Makers returns what makes each name.
func Makers(nodes []*onnx.Node) map[string]*onnx.Node {
	made := make(map[string]*onnx.Node)
	for _, n := range nodes {
		for _, name := range n.Outputs {
			made[name] = n
		}
	}
	return made
}

// OfBytes reports whether a node is a product or a convolution of what DequantizeLinear makes,
// on both sides; made has what makes each name.
func OfBytes(n *onnx.Node, made map[string]*onnx.Node) bool {
	if n.Domain != "" || n.Op != "MatMul" && n.Op != "Conv" || len(n.Inputs) < 2 || n.Inputs[0] == n.Inputs[1] {
		return false
	}
	for _, name := range n.Inputs[:2] {
		if by := made[name]; by == nil || by.Domain != "" || by.Op != "DequantizeLinear" {
			return false
		}
	}
	return true
}

// ofBytes are the nodes that make operands of OfBytes.
func (b *Body) ofBytes() map[*onnx.Node]bool {
	made, bytes := Makers(b.Nodes), make(map[*onnx.Node]bool)
	for _, n := range b.Nodes {
		if OfBytes(n, made) {
			bytes[made[n.Inputs[0]]], bytes[made[n.Inputs[1]]] = true, true
		}
	}
	return bytes
}

// grows are operators that may make a large tensor of a small one, which then
// is better made when it is needed.
var grows = map[string]bool{
	"ConstantOfShape": true, "Expand": true, "Tile": true, "Range": true, "Pad": true, "Resize": true,
	"Upsample": true, "OneHot": true, "EyeLike": true, "Loop": true, "Scan": true, "If": true, "SequenceMap": true,
}

// fold runs nodes whose inputs are all constant, but those to leave. One that fails stays, to
// fail when it runs.
func (s *Session) fold(b *Body, limit int, leave map[*onnx.Node]bool) {
	overridable := make(map[string]bool)
	for _, name := range b.Inputs {
		overridable[name] = true
	}
	sc := &scope{s: s, ctx: context.Background(), body: b, vals: make(map[string]*tensor.Tensor), Opset: s.Opset}
	var left []*onnx.Node
	for _, n := range b.Nodes {
		ready, size := !Draws[n.Op] && !leave[n] && s.calls(n) == nil, 0
		for _, a := range n.Attrs {
			ready = ready && a.Ref == ""
		}
		for _, in := range n.Inputs {
			if t := b.Consts[in]; in != "" && (t == nil || overridable[in]) {
				ready = false
			} else if t != nil {
				size += t.Len()
			}
		}
		for _, name := range n.Outputs {
			ready = ready && b.Consts[name] == nil && !overridable[name]
		}
		if !ready || size > limit && !moves[n.Op] || grows[n.Op] && !s.small(sc, n) || sc.node(n, s.action(n), nil) != nil {
			left = append(left, n)
			clear(sc.vals)
			continue
		}
		for name, t := range sc.vals {
			t.Detach()
			b.Consts[name] = t
		}
		clear(sc.vals)
	}
	s.mem.Reset()
	b.Nodes = left
}

// small reports whether a node that grows, run on constants, is known to make
// little: shapes are computed by such nodes.
func (s *Session) small(sc *scope, n *onnx.Node) bool {
	if n.Op != "ConstantOfShape" {
		return false
	}
	shape, size := sc.lookup(n.Inputs[0]), 1
	if shape == nil || shape.I == nil || len(shape.I) > tensor.MaxRank {
		return false
	}
	for _, d := range shape.I {
		if d < 0 || d > foldElems || size*int(d) > foldElems {
			return false
		}
		size *= int(d)
	}
	return true
}

// prune forgets constants that no node that is left reads.
func (b *Body) prune() {
	used := make(map[string]bool)
	for _, n := range b.Nodes {
		Reads(n, func(name string) { used[name] = true })
	}
	for _, name := range append(b.Inputs, b.Outputs...) {
		used[name] = true
	}
	for name := range b.Consts {
		if !used[name] {
			delete(b.Consts, name)
		}
	}
}

// plan finds what nodes run, and the last use of every name that they make or
// inputs bring.
func (b *Body) plan(s *Session) {
	b.do = make([]action, len(b.Nodes))
	for i, n := range b.Nodes {
		b.do[i] = s.action(n)
	}
	keep := make(map[string]bool) // used later
	for _, name := range b.Outputs {
		keep[name] = true
	}
	b.dies = make([][]string, len(b.Nodes))
	for i := len(b.Nodes) - 1; i >= 0; i-- {
		last := func(name string) {
			if name != "" && !keep[name] {
				keep[name] = true
				if b.Consts[name] == nil {
					b.dies[i] = append(b.dies[i], name)
				}
			}
		}
		for _, name := range b.Nodes[i].Outputs {
			last(name)
		}
		Reads(b.Nodes[i], last)
	}
}

// Reads calls f with what a node reads, also in its graphs. Names that mean
// something else there are among them, which lets a value live longer at most.
func Reads(n *onnx.Node, f func(string)) {
	for _, name := range n.Inputs {
		f(name)
	}
	for _, a := range n.Attrs {
		if a.G == nil {
			continue
		}
		for _, n := range a.G.Nodes {
			Reads(n, f)
		}
		for _, v := range a.G.Outputs {
			f(v.Name)
		}
	}
}

// Draws are operators that give another value each time.
var Draws = map[string]bool{
	"RandomNormal": true, "RandomNormalLike": true, "RandomUniform": true, "RandomUniformLike": true,
	"Bernoulli": true, "Multinomial": true, "Dropout": true,
}
