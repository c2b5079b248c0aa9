package quant_test

import (
	"math"
	"testing"

	"quern/kernels/quant"
)

// The numbers are those of the definition, and every float32 between two of them
// goes to the nearer, halves to the even one.
func TestF8(t *testing.T) {
	value := func(code int) float64 {
		e, m := code>>3&15, float64(code&7)
		if e == 0 {
			return m * 0x1p-9
		}
		return (1 + m/8) * math.Ldexp(1, e-7)
	}
	check := func(f float64, want uint8) {
		t.Helper()
		for _, sign := range []float64{1, -1} {
			w := want
			if sign < 0 {
				w |= 0x80
			}
			if got := quant.F32ToF8(float32(sign * f)); got != w {
				t.Errorf("%g is %#x, want %#x", sign*f, got, w)
			}
		}
	}
	for code := range 0x7f {
		x := value(code)
		if got := float64(quant.F8ToF32(uint8(code))); got != x {
			t.Errorf("%#x is %g, want %g", code, got, x)
		}
		if got := float64(quant.F8ToF32(uint8(code | 0x80))); got != -x {
			t.Errorf("%#x is %g, want %g", code|0x80, got, -x)
		}
		check(x, uint8(code))
		if code < 0x7e {
			half := (x + value(code+1)) / 2
			check(half, uint8(code+code&1))
			check(float64(math.Nextafter32(float32(half), 0)), uint8(code))
			check(float64(math.Nextafter32(float32(half), 1e9)), uint8(code+1))
		}
	}
	for _, f := range []float64{449, 464, 1e30, math.Inf(1)} {
		check(f, 0x7e)
	}
	for _, code := range []uint8{0x7f, 0xff} {
		if f := quant.F8ToF32(code); f == f || quant.F32ToF8(f) != code {
			t.Errorf("%#x is %g and %#x again, want NaN", code, f, quant.F32ToF8(f))
		}
	}
}
