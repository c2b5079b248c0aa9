// Package weights holds what every model file format has in common: named
// tensors that alias the mapped file, and metadata values.
//
// It is a leaf so that format readers and the sniffing formats.Open can share
// these types without an import cycle.
package weights

import (
	"fmt"
	"iter"

	"quern/kernels/quant"
)

// A Source says which container a Set was read from. Only model/config.go
// looks at it: containers differ in metadata spelling and in the row order of
// rotary weights.
type Source uint8

// The containers.
const (
	GGUF Source = iota + 1
	SafeTensors
	ONNX
)

func (s Source) String() string {
	switch s {
	case GGUF:
		return "GGUF"
	case SafeTensors:
		return "SafeTensors"
	case ONNX:
		return "ONNX"
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

// A Tensor is a view of one stored tensor. Data aliases the mapped file and
// must not be written or used after its Set is closed.
type Tensor struct {
	Name  string
	Type  quant.Type
	Shape []int // row-major, outermost first, whatever the file's own order
	Data  []byte
}

// Elems returns the number of weights.
func (t *Tensor) Elems() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// A Set is every tensor and every metadata value of one model. It is immutable
// once a reader has returned it, and safe for concurrent use until Close.
type Set struct {
	Source Source
	Meta   Meta

	order  []*Tensor
	byName map[string]*Tensor
	close  []func() error
	fill   []func() error
}

// Add appends a tensor. Names are unique; a second one of the same name is
// refused. Only readers call it.
func (s *Set) Add(t *Tensor) error {
	if s.byName == nil {
		s.byName = make(map[string]*Tensor)
	}
	if _, dup := s.byName[t.Name]; dup {
		return fmt.Errorf("tensor %q occurs twice", t.Name)
	}
	s.byName[t.Name] = t
	s.order = append(s.order, t)
	return nil
}

// OnClose registers a function Close runs, last registered first.
func (s *Set) OnClose(f func() error) { s.close = append(s.close, f) }

// Tensor finds a tensor by name. The pointer is the tensor's identity:
// backends place a weight once however often a model records it.
func (s *Set) Tensor(name string) (*Tensor, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// All yields the tensors in file order.
func (s *Set) All() iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) {
		for _, t := range s.order {
			if !yield(t) {
				return
			}
		}
	}
}

// Len returns the number of tensors.
func (s *Set) Len() int { return len(s.order) }

// Bytes returns the size of all tensor data.
func (s *Set) Bytes() int64 {
	var n int64
	for _, t := range s.order {
		n += int64(len(t.Data))
	}
	return n
}

// OnFill registers work that Fill does once: giving Data to tensors that their
// file stores in another order.
func (s *Set) OnFill(f func() error) { s.fill = append(s.fill, f) }

// Fill does what readers left for when the weights are wanted, which reading a
// header is not: until then a tensor that has to be put together has a shape
// but no Data. Who runs a model calls it once, after model.Open and before
// anything reads Data; it must not run beside other uses of the Set.
func (s *Set) Fill() error {
	work := s.fill
	s.fill = nil
	for _, f := range work {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// Close unmaps the files. Every Tensor.Data of the Set is invalid afterwards.
func (s *Set) Close() error {
	var first error
	for i := len(s.close) - 1; i >= 0; i-- {
		if err := s.close[i](); err != nil && first == nil {
			first = err
		}
	}
	s.close = nil
	return first
}
