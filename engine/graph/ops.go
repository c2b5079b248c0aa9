// Package graph holds a model's forward pass as data.
//
// A model records ops into a Builder; Compile turns the recording into a
// Program: steps in execution order with buffers assigned. Backends run
// Programs. The set of ops is closed: only this package declares them, and
// each backend maps every one of them to its kernels.
package graph

import (
	"fmt"

	"quern/formats/weights"
)

// A Shape is the extent of a value, outermost first. Activations of text
// models are (rows, width).
type Shape []int

// Elems returns the number of elements.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

func (s Shape) equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// An Op is one step of a forward pass.
type Op interface {
	// Arity is the number of inputs.
	Arity() int
	// Out checks the inputs' shapes and returns the result's. It fails when
	// weights and inputs do not fit, with both sizes in the message.
	Out(in ...Shape) (Shape, error)
}

// The ops. Inputs named in the comments are in order.
type (
	// Embed reads one row of Weight (vocab, width) per token.
	// Inputs: tokens (rows). Result: (rows, width).
	Embed struct{ Weight *weights.Tensor }

	// Take selects rows. Inputs: x (rows, width), wanted row numbers (want).
	// Result: (want, width).
	Take struct{}

	// RMSNorm divides each group of len(Weight) values by its root mean square
	// and multiplies by Weight; a row may hold several groups (one per head).
	// Zhang & Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
	RMSNorm struct {
		Weight *weights.Tensor // (group)
		Eps    float32
	}

	// Linear computes x · Weightᵀ + Bias. Weight is (out, in), Bias (out) or nil.
	// Inputs: x (rows, in). Result: (rows, out).
	Linear struct{ Weight, Bias *weights.Tensor }

	// Add sums two values of one shape.
	Add struct{}

	// Gate computes act(gate) · up, element by element.
	// Inputs: gate, up. Shazeer, "GLU Variants Improve Transformer", 2020.
	Gate struct{ Act Act }

	// Rope rotates pairs of each head's first 2·len(Freqs) values by
	// position · frequency and scales them by Magnitude.
	// Inputs: x (rows, heads·HeadDim), positions (rows).
	// Su et al., "RoFormer", 2021.
	Rope struct {
		HeadDim     int
		Freqs       []float64 // radians per position, one per pair
		Magnitude   float32   // 1 unless a scaling method says otherwise
		Interleaved bool      // pairs are (2i, 2i+1), else (i, i+len(Freqs))
	}

	// Attention writes the batch's keys and values to layer Layer of the cache
	// and attends causally over each row's sequence so far. Query heads share
	// key heads in groups. Inputs: q (rows, Heads·HeadDim), k and v
	// (rows, KVHeads·HeadDim). Result: the shape of q.
	// Vaswani et al., 2017; Ainslie et al., "GQA", 2023.
	Attention struct {
		Layer, Heads, KVHeads, HeadDim int
		Scale                          float32 // of the scores, before softmax
	}
)

// An Act is an activation function.
type Act uint8

// The activation functions.
const (
	SiLU Act = iota // x · sigmoid(x)
)

func (a Act) String() string {
	if a == SiLU {
		return "silu"
	}
	return fmt.Sprintf("Act(%d)", uint8(a))
}

func (Embed) Arity() int     { return 1 }
func (Take) Arity() int      { return 2 }
func (RMSNorm) Arity() int   { return 1 }
func (Linear) Arity() int    { return 1 }
func (Add) Arity() int       { return 2 }
func (Gate) Arity() int      { return 2 }
func (Rope) Arity() int      { return 2 }
func (Attention) Arity() int { return 3 }

func (o Embed) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 2 {
		return nil, fmt.Errorf("embed: weight must be a matrix, got %s", describe(o.Weight))
	}
	if len(in[0]) != 1 {
		return nil, fmt.Errorf("embed: tokens of shape %v, want one dimension", in[0])
	}
	return Shape{in[0][0], o.Weight.Shape[1]}, nil
}

func (Take) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || len(in[1]) != 1 {
		return nil, fmt.Errorf("take: rows %v from %v", in[1], in[0])
	}
	return Shape{in[1][0], in[0][1]}, nil
}

func (o RMSNorm) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 1 {
		return nil, fmt.Errorf("rmsnorm: weight must be a vector, got %s", describe(o.Weight))
	}
	if len(in[0]) != 2 || in[0][1]%o.Weight.Shape[0] != 0 {
		return nil, fmt.Errorf("rmsnorm: %s over rows of shape %v", describe(o.Weight), in[0])
	}
	return in[0], nil
}

func (o Linear) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 2 {
		return nil, fmt.Errorf("linear: weight must be a matrix, got %s", describe(o.Weight))
	}
	if len(in[0]) != 2 || in[0][1] != o.Weight.Shape[1] {
		return nil, fmt.Errorf("linear: %s on input of shape %v", describe(o.Weight), in[0])
	}
	if b := o.Bias; b != nil && (len(b.Shape) != 1 || b.Shape[0] != o.Weight.Shape[0]) {
		return nil, fmt.Errorf("linear: bias %s for %s", describe(b), describe(o.Weight))
	}
	return Shape{in[0][0], o.Weight.Shape[0]}, nil
}

func (Add) Out(in ...Shape) (Shape, error) {
	if !in[0].equal(in[1]) {
		return nil, fmt.Errorf("add: shapes %v and %v differ", in[0], in[1])
	}
	return in[0], nil
}

func (Gate) Out(in ...Shape) (Shape, error) {
	if !in[0].equal(in[1]) {
		return nil, fmt.Errorf("gate: shapes %v and %v differ", in[0], in[1])
	}
	return in[0], nil
}

func (o Rope) Out(in ...Shape) (Shape, error) {
	if o.HeadDim <= 0 || len(o.Freqs) == 0 || 2*len(o.Freqs) > o.HeadDim {
		return nil, fmt.Errorf("rope: %d pairs in a head of %d", len(o.Freqs), o.HeadDim)
	}
	if len(in[0]) != 2 || in[0][1]%o.HeadDim != 0 || len(in[1]) != 1 || in[1][0] != in[0][0] {
		return nil, fmt.Errorf("rope: heads of %d in %v at positions %v", o.HeadDim, in[0], in[1])
	}
	return in[0], nil
}

func (o Attention) Out(in ...Shape) (Shape, error) {
	if o.Heads <= 0 || o.KVHeads <= 0 || o.Heads%o.KVHeads != 0 || o.HeadDim <= 0 {
		return nil, fmt.Errorf("attention: %d heads of %d share %d key heads", o.Heads, o.HeadDim, o.KVHeads)
	}
	q, kv := Shape{in[0][0], o.Heads * o.HeadDim}, Shape{in[0][0], o.KVHeads * o.HeadDim}
	if !in[0].equal(q) || !in[1].equal(kv) || !in[2].equal(kv) {
		return nil, fmt.Errorf("attention: q %v, k %v, v %v; want %v, %v, %v", in[0], in[1], in[2], q, kv, kv)
	}
	return in[0], nil
}

func describe(t *weights.Tensor) string {
	if t == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %v", t.Name, t.Shape)
}

// Ops lists one value of every op, for tests that a backend knows them all.
func Ops() []Op {
	return []Op{Embed{}, Take{}, RMSNorm{}, Linear{}, Add{}, Gate{}, Rope{}, Attention{}}
}
