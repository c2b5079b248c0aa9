package model

import (
	"fmt"
	"math"

	"quern/engine/graph"
	"quern/formats/weights"
)

// frequencies returns radians per position for each pair of a head and the
// magnitude rotations are multiplied with. divide, when not nil, holds one
// divisor per pair (rope_freqs.weight of Llama 3 files).
//
// Linear scaling: Chen et al., "Extending Context Window of Large Language
// Models via Positional Interpolation", 2023. YaRN: Peng et al., 2023, §3.2–3.4.
func (rc *RopeConfig) frequencies(divide *weights.Tensor) ([]float64, float32, error) {
	n := rc.Dim / 2
	freqs := make([]float64, n)
	for i := range freqs {
		freqs[i] = math.Pow(rc.Base, -float64(i)/float64(n))
	}
	if divide != nil {
		f := make([]float32, n)
		if divide.Elems() != n {
			return nil, 0, fmt.Errorf("%w: tensor %s has shape %v, want [%d]", ErrFormat, divide.Name, divide.Shape, n)
		}
		divide.Type.Layout().Decode(f, divide.Data)
		for i, d := range f {
			if !(d > 0) {
				return nil, 0, fmt.Errorf("%w: tensor %s divides by %g", ErrFormat, divide.Name, d)
			}
			freqs[i] /= float64(d)
		}
	}
	switch rc.Scaling {
	case "linear":
		for i := range freqs {
			freqs[i] /= rc.Factor
		}
	case "yarn":
		low, high := rc.yarnRange()
		for i, f := range freqs {
			ramp := (float64(i) - low) / max(0.001, high-low)
			keep := (1 - min(1, max(0, ramp))) * rc.ExtFactor
			freqs[i] = f/rc.Factor*(1-keep) + f*keep
		}
		if rc.ExtFactor != 0 {
			return freqs, float32(rc.AttnFactor * (1 + 0.1*math.Log(rc.Factor))), nil
		}
	}
	return freqs, float32(rc.AttnFactor), nil
}

// yarnRange returns the pairs between which YaRN goes over from keeping a
// frequency to interpolating it: those that turn BetaFast and BetaSlow times
// in the original context.
func (rc *RopeConfig) yarnRange() (low, high float64) {
	pair := func(turns float64) float64 {
		return float64(rc.Dim) * math.Log(float64(rc.Original)/(turns*2*math.Pi)) / (2 * math.Log(rc.Base))
	}
	low, high = pair(rc.BetaFast), pair(rc.BetaSlow)
	if !rc.Exact {
		low, high = math.Floor(low), math.Ceil(high)
	}
	return max(0, low), min(float64(rc.Dim-1), high)
}

// divisors finds those of frequencies beyond the original context and within it, nil where
// a model has none.
//
// Ding et al., "LongRoPE", 2024, §3.
func (m *base) divisors() (long, short *weights.Tensor) {
	n := m.c.Rope.Dim / 2
	long, short = m.tensors.maybe("rope_factors_long.weight", n), m.tensors.maybe("rope_factors_short.weight", n)
	if (long == nil) != (short == nil) && m.tensors.err == nil {
		m.tensors.err = fmt.Errorf("%w: one of rope_factors_long and rope_factors_short is missing", ErrFormat)
	}
	return long, short
}

// stretched is the rotation by the divisors that the length to serve asks for.
func (m *base) stretched(b *graph.Builder, long, short *weights.Tensor) graph.Rope {
	rope, served := m.rope, m.c.Context
	if long == nil {
		return rope
	}
	if m.c.Served > 0 {
		served = m.c.Served
	}
	if served > m.c.Rope.Original {
		short = long
	}
	var err error
	if rope.Freqs, rope.Magnitude, err = m.c.Rope.frequencies(short); err != nil {
		b.Fail(err)
	}
	return rope
}
