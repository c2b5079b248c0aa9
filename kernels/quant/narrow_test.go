package quant_test

import (
	"fmt"
	"math"
	"testing"

	"quern/kernels/quant"
)

// narrow says what the definitions of the types say: the bits of exponent and
// mantissa, the bias, the bits from which on there are no finite numbers, those of
// infinity, where there is one, and those of a NaN. last is the largest number.
var narrow = []struct {
	name           string
	typ            quant.Narrow
	exp, man, bias int
	end            uint16
	infinity, nan  uint16
	last           float64
}{
	{"E5M10", quant.E5M10, 5, 10, 15, 0x7c00, 0x7c00, 0x7e00, 65504},
	{"E8M7", quant.E8M7, 8, 7, 127, 0x7f80, 0x7f80, 0x7fc0, 0x1.fep127},
	{"E5M2", quant.E5M2, 5, 2, 15, 0x7c, 0x7c, 0x7e, 57344},
	{"E5M2FNUZ", quant.E5M2FNUZ, 5, 2, 16, 0x80, 0, 0x80, 57344},
	{"E4M3", quant.E4M3, 4, 3, 7, 0x7f, 0, 0x7f, 448},
	{"E4M3FNUZ", quant.E4M3FNUZ, 4, 3, 8, 0x80, 0, 0x80, 240},
	{"E2M1", quant.E2M1, 2, 1, 1, 8, 0, 0, 6},
}

// TestNarrow holds every number of every type against its definition, and what
// lies between two of them goes to the nearer, halves to the even one.
func TestNarrow(t *testing.T) {
	for _, tt := range narrow {
		t.Run(tt.name, func(t *testing.T) {
			sign := uint16(1) << (tt.exp + tt.man)
			fnuz := tt.nan == sign
			value := func(code uint16) float64 {
				e, m := int(code>>tt.man), math.Ldexp(float64(code&(1<<tt.man-1)), -tt.man)
				if e == 0 {
					return math.Ldexp(m, 1-tt.bias)
				}
				return math.Ldexp(1+m, e-tt.bias)
			}
			check := func(v float64, want uint16) {
				t.Helper()
				for _, saturate := range []bool{true, false} {
					if got := tt.typ.Encode(v, saturate); got != want {
						t.Errorf("%g is %#x, want %#x", v, got, want)
					}
					minus := want | sign
					if fnuz && want == 0 {
						minus = 0
					}
					if got := tt.typ.Encode(-v, saturate); got != minus {
						t.Errorf("%g is %#x, want %#x", -v, got, minus)
					}
				}
			}
			for code := range tt.end {
				x := value(code)
				if got := float64(tt.typ.Decode(code)); got != x {
					t.Errorf("%#x is %g, want %g", code, got, x)
				}
				if got := float64(tt.typ.Decode(code | sign)); got != -x && !(fnuz && code == 0) {
					t.Errorf("%#x is %g, want %g", code|sign, got, -x)
				}
				check(x, code)
				if code+1 < tt.end {
					half := (x + value(code+1)) / 2
					check(half, code+code&1)
					check(math.Nextafter(half, 0), code)
					check(math.Nextafter(half, math.Inf(1)), code+1)
				}
			}
			if got := float64(tt.typ.Largest()); got != tt.last || value(tt.end-1) != tt.last {
				t.Errorf("the largest is %g, want %g", got, tt.last)
			}
			if got := tt.typ.Decode(sign); fnuz != (got != got) || !fnuz && (got != 0 || !math.Signbit(float64(got))) {
				t.Errorf("%#x is %g", sign, got)
			}
			for code := tt.end; code < sign; code++ {
				if got := float64(tt.typ.Decode(code)); tt.infinity != 0 && code == tt.infinity != math.IsInf(got, 1) || code != tt.infinity && got == got {
					t.Errorf("%#x is %g", code, got)
				}
			}
		})
	}
}

// TestNarrowBeyond has numbers that are too large, and NaN.
func TestNarrowBeyond(t *testing.T) {
	for _, tt := range narrow {
		sign := uint16(1) << (tt.exp + tt.man)
		step := tt.last - float64(tt.typ.Decode(tt.end-2))
		beyond := tt.infinity
		switch {
		case tt.name == "E2M1":
			beyond = tt.end - 1
		case beyond == 0:
			beyond = tt.nan
		}
		for _, v := range []float64{tt.last + 0.51*step, tt.last + step, 1e300, math.Inf(1)} {
			for _, s := range []uint16{0, sign} {
				if s != 0 {
					v = -v
				}
				if got := tt.typ.Encode(v, true); got != tt.end-1|s {
					t.Errorf("%s: %g saturates to %#x, want %#x", tt.name, v, got, tt.end-1|s)
				}
				if got := tt.typ.Encode(v, false); got != beyond|s {
					t.Errorf("%s: %g becomes %#x, want %#x", tt.name, v, got, beyond|s)
				}
			}
		}
		if tt.name == "E2M1" {
			if got := tt.typ.Encode(math.NaN(), true); got != sign {
				t.Errorf("E2M1: NaN becomes %#x, want minus zero", got)
			}
			continue
		}
		for _, nan := range []float64{math.NaN(), math.Copysign(math.NaN(), -1)} {
			want := tt.nan
			if math.Signbit(nan) {
				want |= sign
			}
			for _, saturate := range []bool{true, false} {
				if got := tt.typ.Encode(nan, saturate); got != want {
					t.Errorf("%s: NaN becomes %#x, want %#x", tt.name, got, want)
				}
			}
			if v := tt.typ.Decode(want); v == v || math.Signbit(float64(v)) != (want&sign != 0) {
				t.Errorf("%s: %#x is %g", tt.name, want, v)
			}
		}
	}
}

func TestE8M0(t *testing.T) {
	for e := range 255 {
		want := math.Ldexp(1, e-127)
		if got := quant.E8M0ToF32(uint8(e)); float64(got) != want || quant.F32ToE8M0(got) != uint8(e) {
			t.Errorf("%d is %g and %d again, want %g", e, got, quant.F32ToE8M0(got), want)
		}
	}
	if v := quant.E8M0ToF32(255); v == v || quant.F32ToE8M0(v) != 255 {
		t.Errorf("255 is %g and %d again, want NaN", v, quant.F32ToE8M0(v))
	}
}

// F8_E4M3 saturates.
func TestF8(t *testing.T) {
	x := []float32{0.3, -449, 1e30, float32(math.Inf(-1)), float32(math.Copysign(0, -1))}
	data := make([]byte, len(x))
	quant.F8_E4M3.Layout().Encode(data, x)
	quant.F8_E4M3.Layout().Decode(x, data)
	if got, want := fmt.Sprint(x), "[0.3125 -448 448 -448 -0]"; got != want {
		t.Errorf("numbers %s, want %s", got, want)
	}
}

func BenchmarkNarrow(b *testing.B) {
	x, data := make([]float32, 4096), make([]byte, 4096)
	for i := range x {
		x[i] = float32(i%513-256) / 7
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(5 * len(x)))
		for b.Loop() {
			quant.F8_E4M3.Layout().Encode(data, x)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(5 * len(x)))
		for b.Loop() {
			quant.F8_E4M3.Layout().Decode(x, data)
		}
	})
}
