package model

import (
	"fmt"
	"math"

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
