package sample

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	for x := 0.0; x > -710; x -= 0.00731 {
		got, want := exp(x), math.Exp(x)
		if x < -700 {
			want = 0
		}
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{math.Inf(-1), -math.MaxFloat64} {
		if got := exp(x); got != 0 {
			t.Errorf("exp(%v) = %v, want 0", x, got)
		}
	}
	if got := exp(0); got != 1 {
		t.Errorf("exp(0) = %v", got)
	}
}
