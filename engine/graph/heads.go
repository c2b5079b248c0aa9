package graph

import (
	"fmt"

	"quern/formats/weights"
)

// Ops that work on each head of a row alone.
type (
	// HeadLinear multiplies each head with a matrix of its own.
	// Inputs: x (rows, heads·in). Result: (rows, heads·out).
	HeadLinear struct{ Weight *weights.Tensor } // (heads, out, in)

	// HeadCut takes the values from From up to To of each of Heads heads.
	// Inputs: x (rows, Heads·width). Result: (rows, Heads·(To-From)).
	HeadCut struct{ Heads, From, To int }

	// HeadJoin puts two values together head by head.
	// Inputs: x (rows, Heads·a), y (rows, Heads·b). Result: (rows, Heads·(a+b)).
	HeadJoin struct{ Heads int }
)

func (o HeadLinear) Out(in ...Shape) (Shape, error) {
	if o.Weight == nil || len(o.Weight.Shape) != 3 {
		return nil, fmt.Errorf("headlinear: weights must be a matrix a head, got %s", describe(o.Weight))
	}
	heads, out, width := o.Weight.Shape[0], o.Weight.Shape[1], o.Weight.Shape[2]
	if len(in[0]) != 2 || in[0][1] != heads*width {
		return nil, fmt.Errorf("headlinear: %s on input of shape %v", describe(o.Weight), in[0])
	}
	return Shape{in[0][0], heads * out}, nil
}

func (o HeadCut) Out(in ...Shape) (Shape, error) {
	if o.Heads < 1 || len(in[0]) != 2 || in[0][1]%o.Heads != 0 || o.From < 0 || o.From >= o.To || o.To > in[0][1]/o.Heads {
		return nil, fmt.Errorf("headcut: values %d to %d of %d heads in %v", o.From, o.To, o.Heads, in[0])
	}
	return Shape{in[0][0], o.Heads * (o.To - o.From)}, nil
}

func (o HeadJoin) Out(in ...Shape) (Shape, error) {
	if o.Heads < 1 || len(in[0]) != 2 || len(in[1]) != 2 || in[0][0] != in[1][0] || in[0][1]%o.Heads != 0 || in[1][1]%o.Heads != 0 {
		return nil, fmt.Errorf("headjoin: %v and %v by %d heads", in[0], in[1], o.Heads)
	}
	return Shape{in[0][0], in[0][1] + in[1][1]}, nil
}

func (b *Builder) HeadLinear(x Value, w *weights.Tensor) Value { return b.apply(HeadLinear{w}, x) }

func (b *Builder) HeadCut(x Value, heads, from, to int) Value {
	return b.apply(HeadCut{heads, from, to}, x)
}

func (b *Builder) HeadJoin(x, y Value, heads int) Value { return b.apply(HeadJoin{heads}, x, y) }
