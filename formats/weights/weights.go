// Package weights holds what every model file format has in common: named
// tensors that alias the mapped file, and metadata values.
//
// It is a leaf so that format readers and the sniffing formats.Open can share
// these types without an import cycle.
package weights

import (
	"context"
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
	Torch
	GGML // whisper.cpp's files, from before GGUF
)

func (s Source) String() string {
	switch s {
	case GGUF:
		return "GGUF"
	case SafeTensors:
		return "SafeTensors"
	case ONNX:
		return "ONNX"
	case Torch:
		return "PyTorch"
	case GGML:
		return "ggml"
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
	// Step, where it is not 0, says that Data is a view of a stack of matrices with others
	// between them: the bytes from one to the next.
	Step int

	compose func(dst []byte) error
	made    bool
}

// A Raw is a stored tensor of a number type that has no quant.Type: masks that
// models do without, or weights whose scales are tensors of their own.
type Raw struct {
	Name  string
	DType string // as the file spells it: "F8_E4M3"
	Shape []int
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

// Parts yields Data in the pieces that follow one another: all of it, or each matrix where
// there is a Step.
func (t *Tensor) Parts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		size := len(t.Data)
		if t.Step > 0 {
			size = t.Size() / t.Shape[0]
		}
		for at := 0; at < len(t.Data); at += max(size, t.Step) {
			if !yield(t.Data[at : at+size]) {
				return
			}
		}
	}
}

// Size returns the bytes of the tensor's data, whether Data is there or not.
func (t *Tensor) Size() int {
	n, _ := t.Type.Size(t.Elems())
	return n
}

// Later says how t's data is put together where no file has it in one piece.
// compose writes all of dst, which has t.Size() bytes; it may run more than
// once, but never beside itself.
func (t *Tensor) Later(compose func(dst []byte) error) { t.Data, t.compose = nil, compose }

// Made reports whether t's data was put together in memory of its own, and lies in no file.
func (t *Tensor) Made() bool { return t.made }

// Read returns t's data. What has not been put together yet is put together in
// memory of its own, which the Set does not keep: one tensor at a time can be
// read of a model larger than memory.
func (t *Tensor) Read() ([]byte, error) {
	if t.Data != nil || t.compose == nil {
		return t.Data, nil
	}
	data := make([]byte, t.Size())
	return data, t.compose(data)
}

// ReadTo is Read into dst, which has t.Size() bytes.
func (t *Tensor) ReadTo(dst []byte) error {
	if t.Data != nil || t.compose == nil {
		copy(dst, t.Data)
		return nil
	}
	return t.compose(dst)
}

// Floats is Read as float32.
func (t *Tensor) Floats() ([]float32, error) {
	data, err := t.Read()
	if err != nil {
		return nil, err
	}
	x := make([]float32, t.Elems())
	t.Type.Layout().Decode(x, data)
	return x, nil
}

// A Set is every tensor and every metadata value of one model. It is immutable
// once a reader has returned it, and safe for concurrent use until Close.
type Set struct {
	Source Source
	Meta   Meta

	order  []*Tensor
	byName map[string]*Tensor
	close  []func() error
	maps   Mappings
	fill   []func() error
	raws   []*Raw
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

// Keep has the Set close a mapping that its tensors lie in.
func (s *Set) Keep(m *Mapping) {
	s.maps = append(s.maps, m)
	s.OnClose(m.Close)
}

// Forget gives back the memory of data, a part of a tensor's Data that is not read soon,
// where a mapped file holds it too.
func (s *Set) Forget(data []byte) { s.maps.Forget(data) }

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

// AddRaw appends a tensor of a type quant does not have. Only readers call it.
func (s *Set) AddRaw(r *Raw) { s.raws = append(s.raws, r) }

// Raws lists the tensors of types quant does not have, in file order. Neither
// Tensor nor All finds them.
func (s *Set) Raws() []*Raw { return s.raws }

// Bytes returns the size of all tensor data, of that too which is still to be
// put together.
func (s *Set) Bytes() int64 {
	var n int64
	for _, t := range s.order {
		n += int64(t.Size())
	}
	return n
}

// OnFill registers work that Fill does once, after the tensors have their data.
func (s *Set) OnFill(f func() error) { s.fill = append(s.fill, f) }

// Fill is FillContext without an end and without progress.
func (s *Set) Fill() error { return s.FillContext(context.Background(), nil) }

// FillContext does the work that readers leave until the weights are needed, which
// they are not to read a header: until then a tensor that has to be put together has
// a shape but no Data. The loader of a model calls it once, after model.Open and
// before anything reads Data; it must not run beside other uses of the Set.
// progress, when not nil, is called with the number of bytes put together so far.
func (s *Set) FillContext(ctx context.Context, progress func(done, total int64)) error {
	var done, total int64
	for _, t := range s.order {
		if t.compose != nil {
			total += int64(t.Size())
		}
	}
	for _, t := range s.order {
		if t.compose == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := t.Read()
		if err != nil {
			return err
		}
		t.Data, t.compose, t.made = data, nil, true
		done += int64(len(data))
		if progress != nil {
			progress(done, total)
		}
	}
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
