package graph

import (
	"fmt"

	"quern/formats/weights"
)

// Ops of models that carry several streams a row, side by side.
type (
	// Blend adds to each stream a sum of other streams, each by a number of the row's own:
	// x_o + Σ_j c_{o·m+j} · y_j, for the m streams of y.
	// Inputs: x (rows, Streams·width), y (rows, m·width), c (rows, Streams·m).
	// Result: the shape of x.
	// Baykal et al., "Alternating Updates for Efficient Transformers", 2023, §3.
	Blend struct{ Streams int }

	// MatchRMS scales each stream of x so that its root mean square is that of the row of y.
	// The square of its own is taken as no less than Eps.
	// Inputs: x (rows, streams·width), y (rows, width). Result: the shape of x.
	MatchRMS struct{ Eps float32 }

	// Sparsify leaves of each row what is larger than its mean by more than Deviations standard
	// deviations, and only the excess: max(0, x − mean − Deviations · deviation).
	// Google, "Gemma 3n", 2025; after You et al., "Spark Transformer", 2025, §3.
	Sparsify struct{ Deviations float32 }

	// Times multiplies every row by one vector.
	Times struct{ Vector *weights.Tensor } // (width)
)

func (o Blend) Out(in ...Shape) (Shape, error) {
	bad := func() (Shape, error) {
		return nil, fmt.Errorf("blend: %d streams of %v and %v by %v", o.Streams, in[0], in[1], in[2])
	}
	for _, s := range in {
		if len(s) != 2 || s[0] != in[0][0] {
			return bad()
		}
	}
	if o.Streams < 1 || in[0][1]%o.Streams != 0 || in[2][1]%o.Streams != 0 || in[1][1]*o.Streams != in[0][1]*(in[2][1]/o.Streams) {
		return bad()
	}
	return in[0], nil
}

func (o MatchRMS) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || len(in[1]) != 2 || in[0][0] != in[1][0] || in[1][1] < 1 || in[0][1]%in[1][1] != 0 {
		return nil, fmt.Errorf("matchrms: rows %v as large as %v", in[0], in[1])
	}
	return in[0], nil
}

func (o Sparsify) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || o.Deviations != o.Deviations {
		return nil, fmt.Errorf("sparsify: rows %v by %g deviations", in[0], o.Deviations)
	}
	return in[0], nil
}

func (o Times) Out(in ...Shape) (Shape, error) {
	if len(in[0]) != 2 || !hasShape(o.Vector, in[0][1]) {
		return nil, fmt.Errorf("times: %s on rows of shape %v", describe(o.Vector), in[0])
	}
	return in[0], nil
}

func (b *Builder) Times(x Value, v *weights.Tensor) Value { return b.apply(Times{v}, x) }

func (b *Builder) Blend(x, y, c Value, streams int) Value { return b.apply(Blend{streams}, x, y, c) }

func (b *Builder) MatchRMS(x, y Value, eps float32) Value { return b.apply(MatchRMS{eps}, x, y) }

func (b *Builder) Sparsify(x Value, deviations float32) Value {
	return b.apply(Sparsify{deviations}, x)
}
