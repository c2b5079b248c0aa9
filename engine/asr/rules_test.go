package asr

import (
	"math"
	"testing"
)

// TestLogSumExp has parts of nothing but barred tokens, and numbers that are none
// among them.
func TestLogSumExp(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		at   map[int]float32 // of 1200 logits, the others barred
		want float64
	}{
		{"all barred", nil, math.Inf(-1)},
		{"one", map[int]float32{700: 3}, 3},
		{"rising", map[int]float32{0: 1, 600: 2, 1199: 3}, math.Log(math.Exp(1) + math.Exp(2) + math.Exp(3))},
		{"falling", map[int]float32{0: 1000, 1: 999, 600: 998}, 1000 + math.Log(1+math.Exp(-1)+math.Exp(-2))},
		{"NaN beside a number", map[int]float32{0: 1, 1: nan}, math.NaN()},
		{"NaN among barred ones", map[int]float32{0: 1, 600: nan}, math.NaN()},
		{"infinite", map[int]float32{0: 1, 600: inf}, math.NaN()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := make([]float32, 1200)
			bar(x)
			for i, v := range tt.at {
				x[i] = v
			}
			got := logSumExp(x)
			if math.IsNaN(got) != math.IsNaN(tt.want) || math.Abs(got-tt.want) > 1e-6*math.Abs(tt.want) {
				t.Errorf("log Σ eˣ is %v, want %v", got, tt.want)
			}
		})
	}
}
