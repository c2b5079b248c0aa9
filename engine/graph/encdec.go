package graph

import (
	"fmt"

	"quern/formats/weights"
)

// The ops of models with an encoder that sees its whole input at once, and of
// decoders that attend to its result.
type (
	// Conv1D convolves over time. A row holds Steps steps of time one after
	// another, so that rows count the same thing before and after a convolution
	// with a stride. A sequence is padded with zeros, half the taps on each side.
	// Inputs: x (rows, Steps·in). Result: (rows, Steps/Stride·out).
	Conv1D struct {
		Weight *weights.Tensor // (out, in, taps)
		Bias   *weights.Tensor // out numbers, of any shape, or nil
		Steps  int             // steps of time in a row of x
		Stride int             // divides Steps
	}

	// DenseAttention attends over all rows of the batch, before and after, and
	// caches nothing. The batch is one sequence of as many rows as the Program
	// has. Inputs: q, k and v (rows, Heads·HeadDim).
	// Result: the shape of q.
	DenseAttention struct {
		Heads, HeadDim int
		Scale          float32 // of the scores, before softmax
	}

	// Store writes keys and values of the batch's rows to layer Layer of the
	// cache, at their positions in the tables of the batch, for a later
	// CrossAttention. The result is x, so that a step that needs it needs the
	// writing too. Inputs: x (rows, width), k and v (rows, heads·head).
	Store struct{ Layer int }

	// CrossAttention attends to the Tokens keys and values that Store has
	// written to layer Layer of the blocks which Batch.Memory names.
	// Inputs: q (rows, Heads·HeadDim). Result: the shape of q.
	// Vaswani et al., 2017, §3.2.3.
	CrossAttention struct {
		Layer, Heads, HeadDim int
		Tokens                int
		Scale                 float32
	}

	// CrossScores is the scores of some heads of a CrossAttention before softmax.
	// Inputs: q (rows, Heads·HeadDim). Result: (rows, len(Of)·Tokens).
	CrossScores struct {
		CrossAttention
		Of []int // heads
	}
)

func (o Conv1D) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 3 {
		return nil, fmt.Errorf("conv1d: weight must have three dimensions, got %s", describe(o.Weight))
	}
	out, width, taps := o.Weight.Shape[0], o.Weight.Shape[1], o.Weight.Shape[2]
	switch {
	case o.Steps < 1 || o.Stride < 1 || o.Steps%o.Stride != 0 || taps%2 == 0:
		return nil, fmt.Errorf("conv1d: %d taps over %d steps a row, stride %d", taps, o.Steps, o.Stride)
	case o.Bias != nil && o.Bias.Elems() != out:
		return nil, fmt.Errorf("conv1d: bias %s for %s", describe(o.Bias), describe(o.Weight))
	case len(in[0]) != 2 || in[0][1] != o.Steps*width:
		return nil, fmt.Errorf("conv1d: %s over %d steps a row of shape %v", describe(o.Weight), o.Steps, in[0])
	}
	return Shape{in[0][0], o.Steps / o.Stride * out}, nil
}

func (o DenseAttention) Out(in ...Shape) (Shape, error) {
	if o.Heads <= 0 || o.HeadDim <= 0 {
		return nil, fmt.Errorf("dense attention: %d heads of %d", o.Heads, o.HeadDim)
	}
	want := Shape{in[0][0], o.Heads * o.HeadDim}
	if !in[0].equal(want) || !in[1].equal(want) || !in[2].equal(want) {
		return nil, fmt.Errorf("dense attention: q %v, k %v, v %v; want %v", in[0], in[1], in[2], want)
	}
	return in[0], nil
}

func (o Store) Out(in ...Shape) (Shape, error) {
	if len(in[1]) != 2 || in[1][0] != in[0][0] || !in[1].equal(in[2]) {
		return nil, fmt.Errorf("store: k %v and v %v beside rows %v", in[1], in[2], in[0])
	}
	return in[0], nil
}

func (o CrossAttention) Out(in ...Shape) (Shape, error) {
	if o.Heads <= 0 || o.HeadDim <= 0 || o.Tokens <= 0 {
		return nil, fmt.Errorf("cross attention: %d heads of %d over %d tokens", o.Heads, o.HeadDim, o.Tokens)
	}
	if len(in[0]) != 2 || in[0][1] != o.Heads*o.HeadDim {
		return nil, fmt.Errorf("cross attention: q %v for %d heads of %d", in[0], o.Heads, o.HeadDim)
	}
	return in[0], nil
}

func (o CrossScores) Out(in ...Shape) (Shape, error) {
	if _, err := o.CrossAttention.Out(in...); err != nil {
		return nil, err
	}
	if len(o.Of) == 0 {
		return nil, fmt.Errorf("cross scores: of no head")
	}
	for _, h := range o.Of {
		if h < 0 || h >= o.Heads {
			return nil, fmt.Errorf("cross scores: head %d of %d", h, o.Heads)
		}
	}
	return Shape{in[0][0], len(o.Of) * o.Tokens}, nil
}

// The recording methods; the ops of the same names say what they compute.

func (b *Builder) Conv1D(x Value, o Conv1D) Value { return b.apply(o, x) }

func (b *Builder) DenseAttention(q, k, v Value, o DenseAttention) Value {
	return b.apply(o, q, k, v)
}

func (b *Builder) Store(x, k, v Value, layer int) Value { return b.apply(Store{layer}, x, k, v) }

func (b *Builder) CrossAttention(q Value, o CrossAttention) Value { return b.apply(o, q) }

func (b *Builder) CrossScores(q Value, o CrossScores) Value { return b.apply(o, q) }
