package onnx

import "fmt"

// An Item is a value in a file of its own: a tensor, a sequence of items, or,
// with neither, an optional without a value.
type Item struct {
	Tensor *Tensor
	Seq    []*Item // not nil for a sequence
}

// ParseItem reads a TensorProto, SequenceProto or OptionalProto, as kind says.
//
// ONNX, onnx/onnx-data.proto3.
func ParseItem(data []byte, kind Kind) (*Item, error) {
	switch kind {
	case KindTensor:
		t, err := ParseTensor(data)
		return &Item{Tensor: t}, err
	case KindSequence, KindOptional:
		return item(data, kind, 0)
	}
	return nil, fmt.Errorf("%w: a value of kind %d", ErrUnsupported, kind)
}

// item reads a SequenceProto or an OptionalProto, whose fields have the same
// numbers: there one value of a field, here any.
func item(msg []byte, kind Kind, depth int) (*Item, error) {
	it := &Item{}
	if kind == KindSequence {
		it.Seq = []*Item{}
	}
	return it, fields(msg, depth, func(f field) error {
		var v *Item
		var err error
		switch f.num {
		case 3, 5, 7:
			if err := f.want(bytes); err != nil {
				return err
			}
		case 4, 6:
			return fmt.Errorf("%w: a sparse tensor or a map as value", ErrUnsupported)
		default:
			return nil
		}
		switch f.num {
		case 3:
			v = &Item{}
			v.Tensor, err = (&reader{}).tensor(f.b, depth+1)
		case 5:
			v, err = item(f.b, KindSequence, depth+1)
		case 7:
			v, err = item(f.b, KindOptional, depth+1)
		}
		if err != nil {
			return err
		}
		if kind == KindSequence {
			it.Seq = append(it.Seq, v)
		} else {
			*it = *v
		}
		return nil
	})
}
