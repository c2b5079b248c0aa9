// Package onnx runs ONNX graphs, opset 6 and later.
//
// Nodes run one after the other on typed tensors, unlike the models of package
// model, which are recorded into a graph.Builder: shapes and even ranks of an
// ONNX graph may depend on the data (NonZero, Reshape by a computed shape, If,
// Loop), and a Program has neither. Products and convolutions of float32 still
// go through the kernels every other model uses.
//
// A Model of package formats/onnx becomes a Session with New; Run takes and
// returns Tensors by name, see Inputs and Outputs. Tensors come from NewFloats
// and its like, from a constant (FromFile) or a .npy file (ReadNPY), and go back
// by ToFile and WriteNPY.
//
// Below internal, package tensor holds values and the memory they lie in, run
// plans and runs graphs, the packages of ops are the operators by family, and fuse
// joins groups of nodes into one step.
package onnx

import (
	"io"

	"quern/engine/onnx/internal/fuse"
	"quern/engine/onnx/internal/ops"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

type (
	// A Session is a model that can run, one call at a time.
	Session = run.Session
	// Options are the parts a Session shares with others, and its limits.
	Options = run.Options
	// A Tensor is a value of a graph, row-major.
	Tensor = tensor.Tensor
)

// ErrMemory is wrapped by the error of a Run whose values would take more than
// Options.Limit.
var ErrMemory = tensor.ErrMemory

// New prepares a model, computing what depends on constants only. A model that
// uses operators that are missing is refused with their sorted list before
// anything is computed. The Model must stay open while the Session is used.
func New(m *onnx.Model, o Options) (*Session, error) {
	return run.New(m, o, run.Operators{Table: ops.Table(), Hints: ops.Hints, Fuse: fuse.Body})
}

// NewFloats returns a tensor of float32. Data is kept, not copied, as in the
// other constructors; all panic where its length is not the product of shape.
func NewFloats(shape []int, data []float32) *Tensor { return tensor.NewFloats(shape, data) }

// NewDoubles returns a tensor of float64.
func NewDoubles(shape []int, data []float64) *Tensor { return tensor.NewDoubles(shape, data) }

// NewInts returns a tensor of int64.
func NewInts(shape []int, data []int64) *Tensor { return tensor.NewInts(shape, data) }

// NewStrings returns a tensor of strings.
func NewStrings(shape []int, data []string) *Tensor { return tensor.NewStrings(shape, data) }

// NewSequence returns a sequence.
func NewSequence(elems ...*Tensor) *Tensor { return tensor.NewSequence(elems...) }

// FromFile returns the tensor with the elements of a constant, which it may alias.
func FromFile(f *onnx.Tensor) (*Tensor, error) { return tensor.FromFile(f) }

// ReadNPY reads an array as numpy.save writes it. The tensor may alias data.
func ReadNPY(data []byte) (*Tensor, error) { return tensor.ReadNPY(data) }

// WriteNPY writes t as numpy.save does.
func WriteNPY(w io.Writer, t *Tensor) error { return tensor.WriteNPY(w, t) }
