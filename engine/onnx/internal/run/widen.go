package run

import (
	"slices"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// Floats of 16 bits are float32 between nodes. Results that the graph only hands from node to node
// would be rounded there to be widened here, and fusions are of float32. They are rounded where a
// model says so, by Cast, and where they leave it. A model that reads the bits of its numbers runs
// as it is written.

// Between returns the type that values of type t have between nodes.
func (s *Session) Between(t onnx.DType) onnx.DType {
	if !s.narrow && (t == onnx.Float16 || t == onnx.BFloat16) {
		return onnx.Float
	}
	return t
}

// Between is that of the Session.
func (c *Call) Between(t onnx.DType) onnx.DType { return c.s.Between(t) }

// Of returns the tensor that an attribute is.
func (c *Call) Of(f *onnx.Tensor) *tensor.Tensor { return c.s.widen(tensor.Of(f)) }

// widen gives a tensor, and those of a sequence, the type it has between nodes.
func (s *Session) widen(t *tensor.Tensor) *tensor.Tensor {
	t.Type = s.Between(t.Type)
	for _, e := range t.Seq {
		s.widen(e)
	}
	return t
}

// TakesHalves says of input i of a node of Define that it may be a constant of 16 bits as its file
// has it: products lay it out once.
func (s *Session) TakesHalves(n *onnx.Node, i int) { s.halves[OpName(n)] = i }

// widenRead widens constants that others than those read.
func (s *Session) widenRead(b *Body) {
	read := make(map[string]int) // by others
	for _, n := range b.Nodes {
		Reads(n, func(name string) { read[name]++ })
		if at, ok := s.halves[OpName(n)]; ok && at < len(n.Inputs) {
			read[n.Inputs[at]]--
		}
	}
	for _, name := range slices.Concat(b.Inputs, b.Outputs) {
		read[name]++
	}
	for name, t := range b.Consts {
		if t.AreHalves() && read[name] > 0 {
			t.Widen()
		}
	}
}

// Halves returns input i, whose numbers may have to be widened.
func (c *Call) Halves(i int) *tensor.Tensor {
	if i < len(c.In) && c.In[i] != nil && c.In[i].AreHalves() {
		return c.In[i]
	}
	return c.X(i)
}

// narrowed returns an output as the model declares it.
func (s *Session) narrowed(t *tensor.Tensor, want *onnx.Type) *tensor.Tensor {
	if want == nil {
		return t
	}
	switch {
	case want.Kind == onnx.KindOptional:
		return s.narrowed(t, want.Of)
	case want.Kind == onnx.KindSequence:
		for i, e := range t.Seq {
			t.Seq[i] = s.narrowed(e, want.Of)
		}
	case t.Type != want.Elem && t.Type == s.Between(want.Elem):
		return tensor.Cast(t, want.Elem, tensor.CastOptions{})
	}
	return t
}

// readsBits reports whether nodes, or those of graphs below them, look at the bits of numbers.
func readsBits(nodes []*onnx.Node) bool {
	for _, n := range nodes {
		if n.Op == "BitCast" {
			return true
		}
		for _, a := range n.Attrs {
			if a.G != nil && readsBits(a.G.Nodes) {
				return true
			}
		}
	}
	return false
}
