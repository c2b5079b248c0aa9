package matmul

import (
	"math"
	"slices"
	"testing"
)

// TestRouting holds choices and weights against sums done by hand.
func TestRouting(t *testing.T) {
	sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, tt := range []struct {
		name   string
		o      Routing
		router []float32
		chosen []int32
		weight []float64
	}{
		{"sigmoid", Routing{Used: 2, Sigmoid: true}, []float32{1, -1, 2, 0}, []int32{2, 0}, []float64{sig(2), sig(1)}},
		{"sigmoid, divided and scaled", Routing{Used: 2, Sigmoid: true, Renormalise: true, Scale: 2.5}, []float32{1, -1, 2, 0}, []int32{2, 0},
			[]float64{2.5 * sig(2) / (sig(2) + sig(1)), 2.5 * sig(1) / (sig(2) + sig(1))}},
		{"a bias chooses and does not count", Routing{Used: 2, Sigmoid: true, Bias: []float32{0, 1, 0, 0}}, []float32{1, -1, 2, 0}, []int32{1, 2}, []float64{sig(-1), sig(2)}},
		{"softmax with a bias", Routing{Used: 1, Renormalise: true, Bias: []float32{0, 0, 0, 1}}, []float32{1, -1, 2, 0}, []int32{3}, []float64{1}},
		{"the group with the best two", Routing{Used: 2, Sigmoid: true, Groups: 2, UsedGroups: 1}, []float32{3, -3, -3, 1, 1, 0}, []int32{3, 4}, []float64{sig(1), sig(1)}},
		{"the group with the best one", Routing{Used: 2, Sigmoid: true, Groups: 2, UsedGroups: 1, GroupMax: true}, []float32{3, -3, -3, 1, 1, 0}, []int32{0, 1}, []float64{sig(3), sig(-3)}},
		{"of equal groups the first", Routing{Used: 1, Sigmoid: true, Groups: 3, UsedGroups: 2}, []float32{0, 1, 0, 1, 0, 1}, []int32{1}, []float64{sig(1)}},
		{"groups of one", Routing{Used: 1, Sigmoid: true, Groups: 3, UsedGroups: 1}, []float32{0, 1, 0}, []int32{1}, []float64{sig(1)}},
		{"nothing to divide", Routing{Used: 1, Sigmoid: true, Renormalise: true}, []float32{-200, -300}, []int32{0}, []float64{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chosen, weight := make([]int32, tt.o.Used), make([]float32, tt.o.Used)
			scores := make([]float32, len(tt.router))
			tt.o.choose(chosen, weight, tt.router, scores)
			if !slices.Equal(chosen, tt.chosen) {
				t.Errorf("experts %d, want %d", chosen, tt.chosen)
			}
			for i, w := range weight {
				if !(math.Abs(float64(w)-tt.weight[i]) <= 1e-6) {
					t.Errorf("weights %g, want %g", weight, tt.weight)
				}
			}
			if n := testing.AllocsPerRun(10, func() { tt.o.choose(chosen, weight, tt.router, scores) }); n > 0 {
				t.Errorf("%g allocations", n)
			}
		})
	}
}
