// Package kerneltest has helpers that tests of several packages of kernels share.
package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
)

// Floats returns n normally distributed values.
func Floats(r *rand.Rand, n int) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64())
	}
	return f
}

// Within fails unless |got-want| ≤ bound, and only then writes out what the number is of: tests
// ask it for every element.
func Within(t *testing.T, got float32, want, bound float64, format string, args ...any) {
	if !(math.Abs(float64(got)-want) <= bound) {
		t.Helper()
		t.Fatalf("%s = %g, want %g ± %g", fmt.Sprintf(format, args...), got, want, bound)
	}
}

// Guard is the value of elements that must not be written.
const Guard = 12345

// Guarded returns rows of stride floats, all Guard.
func Guarded(rows, stride int) []float32 {
	f := make([]float32, rows*stride)
	for i := range f {
		f[i] = Guard
	}
	return f
}

// Report adds GFLOP/s to a benchmark of that many floating-point operations.
func Report(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// NeedAMX skips a test where the CPU has no tiles.
func NeedAMX(t testing.TB) {
	t.Helper()
	if isa.Host() < isa.AMX {
		t.Skip("this CPU has no AMX; kernels/internal/amxrun runs this test without it")
	}
}
