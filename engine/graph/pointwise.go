package graph

import (
	"fmt"
	"math"
)

// Ops of few models that change each value by itself.

type (
	// Clamp keeps every value within ±Limit.
	// MosaicML, "MPT-7B", 2023; Groeneveld et al., "OLMo", 2024.
	Clamp struct{ Limit float32 }

	// XIELU is Positive · x² + Beta · x above 0, and elsewhere
	// Negative · (exp(min(x, Epsilon)) − 1 − x) + Beta · x.
	// Huang & Schlag, "Deriving Activation Functions Using Integration", 2025, §3.
	XIELU struct{ Positive, Negative, Beta, Epsilon float32 }
)

func (o Clamp) Out(in ...Shape) (Shape, error) {
	if !(o.Limit > 0) {
		return nil, fmt.Errorf("clamp: limit %g, want more than 0", o.Limit)
	}
	return in[0], nil
}

func (o XIELU) Out(in ...Shape) (Shape, error) {
	for _, v := range []float32{o.Positive, o.Negative, o.Beta, o.Epsilon} {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("xielu: %+v", o)
		}
	}
	return in[0], nil
}
