package quant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/quant"
)

// halfValue is IEEE 754's definition of a half of those exponent bits.
func halfValue(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exp, man := int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return math.Copysign(math.Ldexp(man, -24), sign)
	case 31:
		if man != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+man, exp-25)
}

func TestF16ToF32(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := quant.F16ToF32(h), halfValue(h)
		if math.IsNaN(want) {
			// Quiet, same sign, same payload.
			wantBits := uint32(h&0x8000)<<16 | 0x7fc00000 | uint32(h&0x3ff)<<13
			if math.Float32bits(got) != wantBits {
				t.Fatalf("F16ToF32(%04x) = %s, want %08x", h, show(got), wantBits)
			}
			continue
		}
		if math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("F16ToF32(%04x) = %s, want %v", h, show(got), want)
		}
	}
}

func TestF32ToF16Back(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		want := h
		if h&0x7fff > 0x7c00 {
			want |= 0x200
		}
		if got := quant.F32ToF16(quant.F16ToF32(h)); got != want {
			t.Fatalf("F32ToF16(F16ToF32(%04x)) = %04x, want %04x", h, got, want)
		}
	}
}

// nearestHalf rounds by comparing with both neighbours in float64, where all
// of this is exact.
func nearestHalf(f float32) uint16 {
	v := math.Abs(float64(f))
	var sign uint16
	if math.Signbit(float64(f)) {
		sign = 0x8000
	}
	lo, hi := uint16(0), uint16(0x7c00)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; halfValue(mid) <= v {
			lo = mid
		} else {
			hi = mid
		}
	}
	up := halfValue(hi)
	if hi == 0x7c00 {
		up = 65536 // where the next number would be
	}
	below, above := v-halfValue(lo), up-v
	if above < below || above == below && hi&1 == 0 {
		lo = hi
	}
	return sign | lo
}

func TestF32ToF16Rounds(t *testing.T) {
	check := func(f float32) {
		t.Helper()
		if got, want := quant.F32ToF16(f), nearestHalf(f); got != want {
			t.Fatalf("F32ToF16(%s) = %04x, want %04x", show(f), got, want)
		}
	}
	// Each half's midpoint to the next, and the floats just around it.
	for h := uint16(0); h < 0x7c00; h++ {
		next := halfValue(h + 1)
		if h == 0x7bff {
			next = 65536
		}
		mid := float32((halfValue(h) + next) / 2)
		for _, f := range []float32{mid, math.Nextafter32(mid, 0), math.Nextafter32(mid, 1e9)} {
			check(f)
			check(-f)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200000 {
		if f := math.Float32frombits(rng.Uint32()); f == f {
			check(f)
		}
	}
	for bits, want := range map[uint32]uint16{
		0x7f800000: 0x7c00, 0xff800000: 0xfc00,
		0x7f800001: 0x7e00, 0xffffffff: 0xffff, 0x7fc02000: 0x7e01,
	} {
		if got := quant.F32ToF16(math.Float32frombits(bits)); got != want {
			t.Errorf("F32ToF16(%08x) = %04x, want %04x", bits, got, want)
		}
	}
}

func TestBF16(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := quant.BF16ToF32(h)
		if got, want := math.Float32bits(f), uint32(h)<<16; got != want {
			t.Fatalf("BF16ToF32(%04x) = %08x, want %08x", h, got, want)
		}
		want := h
		if f != f {
			want |= 0x40
		}
		if got := quant.F32ToBF16(f); got != want {
			t.Fatalf("F32ToBF16(%s) = %04x, want %04x", show(f), got, want)
		}
		if h&0x7fff >= 0x7f80 {
			continue
		}
		// Below, at and above the midpoint to the next number.
		bits := uint32(h) << 16
		for add, up := range map[uint32]uint16{0x7fff: 0, 0x8000: h & 1, 0x8001: 1} {
			if got := quant.F32ToBF16(math.Float32frombits(bits + add)); got != h+up {
				t.Fatalf("F32ToBF16(%08x) = %04x, want %04x", bits+add, got, h+up)
			}
		}
	}
}

func BenchmarkF16ToF32(b *testing.B) {
	var sum float32
	b.SetBytes(2)
	b.ReportAllocs()
	h := uint16(0)
	for b.Loop() {
		sum += quant.F16ToF32(h & 0x3fff)
		h++
	}
	_ = sum
}
