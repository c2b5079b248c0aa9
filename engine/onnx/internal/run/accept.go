package run

import (
	"fmt"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A size is what a name in the shapes of inputs stands for, and by which input.
type size struct {
	n     int
	input string
}

// accept checks an input. ONNX Runtime 1.30 lets a name stand for two sizes, but
// operators then see what the model excludes.
func (s *Session) accept(name string, want *onnx.Type, t *tensor.Tensor, sizes map[string]size) error {
	switch {
	case t == nil:
		return fmt.Errorf("input %q has no value", name)
	case want.Kind == onnx.KindOptional && t.None():
		return nil
	case want.Kind == onnx.KindOptional && want.Of != nil:
		return s.accept(name, want.Of, t, sizes)
	case want.Kind == onnx.KindSequence && t.Seq != nil && want.Of != nil:
		for _, e := range t.Seq {
			if err := s.accept(name, want.Of, e, make(map[string]size)); err != nil {
				return err
			}
		}
		return nil
	case want.Kind != onnx.KindTensor && want.Kind != onnx.KindSequence:
		return fmt.Errorf("%w: input %q is no tensor", onnx.ErrUnsupported, name)
	case want.Kind != onnx.KindTensor || t.Type != want.Elem && !(s.wide && t.Type == s.Between(want.Elem)):
		return fmt.Errorf("input %q is %v, want %v", name, t.Type, want.Elem)
	case !t.Valid():
		return fmt.Errorf("input %q of %v and shape %d has %d elements", name, t.Type, t.Shape, t.Len())
	case want.Dims == nil:
		return nil
	case len(t.Shape) != len(want.Dims):
		return fmt.Errorf("input %q has shape %d, want rank %d", name, t.Shape, len(want.Dims))
	}
	for i, d := range want.Dims {
		if d.Size >= 0 && int(d.Size) != t.Shape[i] {
			return fmt.Errorf("input %q has shape %d, want %d in dimension %d", name, t.Shape, d.Size, i)
		}
		if d.Param == "" {
			continue
		}
		known, ok := sizes[d.Param]
		if ok && known.n != t.Shape[i] {
			return fmt.Errorf("input %q has shape %d, where dimension %d is %.40q, which is %d in input %q", name, t.Shape, i, d.Param, known.n, known.input)
		}
		sizes[d.Param] = size{t.Shape[i], name}
	}
	return nil
}
