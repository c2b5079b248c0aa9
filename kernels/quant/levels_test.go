package quant

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
)

// levelValues are kinds of floats, broken and tiny ones among them.
func levelValues() map[string]func() float32 {
	r := rand.New(rand.NewPCG(5, 8))
	return map[string]func() float32{
		"normal": func() float32 { return float32(r.NormFloat64()) },
		"wide":   func() float32 { return float32(math.Exp(40*r.Float64()-20)) * float32(r.IntN(3)-1) },
		"ties":   func() float32 { return float32(r.IntN(509)-254) / 2 },
		"tiny":   func() float32 { return float32(r.IntN(600)-300) * 0x1p-130 },
		"huge":   func() float32 { return math.MaxFloat32 * float32(r.IntN(3)-1) },
		"broken": func() float32 {
			if r.IntN(200) == 0 {
				return float32(math.Inf(1 - 2*r.IntN(2)))
			}
			return float32(r.NormFloat64())
		},
	}
}

// TestEncodeLevels: weights have the same bytes at every level.
func TestEncodeLevels(t *testing.T) {
	for name, value := range levelValues() {
		x := make([]float32, 16*256)
		for i := range x {
			x[i] = value()
		}
		for typ := range All() {
			l := typ.Layout()
			if l.Encode == nil {
				continue
			}
			size, _ := typ.Size(len(x))
			var want []byte
			for level := isa.Generic; level <= isa.Host(); level++ {
				undo := isa.Set(level)
				got := make([]byte, size)
				l.Encode(got, x)
				undo()
				if level == isa.Generic {
					want = got
				}
				if i := firstDifference(got, want); i >= 0 {
					t.Fatalf("%s: %v at %v: byte %d of %d is %d, want %d", name, typ, level, i, size, got[i], want[i])
				}
			}
		}
	}
}

// TestQuantizeLevels: activations have the same bytes at every level, broken and tiny
// values included.
func TestQuantizeLevels(t *testing.T) {
	values := levelValues()
	for name, value := range values {
		for _, n := range []int{256, 512, 544, 1000, 4096} {
			x := make([]float32, n)
			for i := range x {
				x[i] = value()
			}
			for _, typ := range []Type{ActQ8_32, ActQ8_256} {
				var want []byte
				for l := isa.Generic; l <= isa.Host(); l++ {
					undo := isa.Set(l)
					got := bytes.Repeat([]byte{0xaa}, ActBytes(typ, n))
					typ.Layout().Encode(got, x)
					undo()
					if l == isa.Generic {
						want = got
					}
					if i := firstDifference(got, want); i >= 0 {
						t.Fatalf("%s: %d values as %v at %v: byte %d of group %d is %d, want %d", name, n, typ, l, i%GroupBytes, i/GroupBytes, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestHalvesLevels: floats are rounded to the same F16 at every level, whatever they are.
func TestHalvesLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	x := make([]float32, 1<<17+5) // several calls of the assembly, and some left over
	for i := range x {
		x[i] = math.Float32frombits(r.Uint32())
	}
	for i := range 1 << 14 { // halfway between two F16, and just beside
		half := math.Float32bits(F16ToF32(uint16(4 * i)))
		x[3*i], x[3*i+1], x[3*i+2] = math.Float32frombits(half+0xfff), math.Float32frombits(half+0x1000), math.Float32frombits(half+0x1001)
	}
	for l := isa.Generic; l <= isa.Host(); l++ {
		undo := isa.Set(l)
		got := make([]byte, 2*len(x))
		encodeF16(got, x)
		undo()
		for i, f := range x {
			if h := binary.LittleEndian.Uint16(got[2*i:]); h != F32ToF16(f) {
				t.Fatalf("%v: %x is %04x, want %04x", l, math.Float32bits(f), h, F32ToF16(f))
			}
		}
	}
}

// TestFloatsLevels: every F16 is the same float at every level, and the largest magnitude is found
// wherever it stands.
func TestFloatsLevels(t *testing.T) {
	all := make([]byte, 2*(1<<16-1)) // all but one, so that some are left over
	for h := range 1<<16 - 1 {
		binary.LittleEndian.PutUint16(all[2*h:], uint16(h))
	}
	for l := isa.Generic; l <= isa.Host(); l++ {
		undo := isa.Set(l)
		got := make([]float32, len(all)/2)
		decodeF16(got, all)
		for h, f := range got {
			if want := F16ToF32(uint16(h)); math.Float32bits(f) != math.Float32bits(want) {
				t.Fatalf("%v: %04x is %x, want %x", l, h, math.Float32bits(f), math.Float32bits(want))
			}
		}
		const most = 1 << 14 // of a call of the assembly
		x := make([]float32, most+100)
		for _, i := range []int{0, 31, 32, most - 1, most, most + 95, most + 99} {
			for _, v := range []float32{-1, float32(math.Inf(-1)), float32(math.NaN())} {
				x[i] = v
				if top := topBits(x); top != math.Float32bits(v)&^(1<<31) || Finite(x) != (v == -1) {
					t.Errorf("%v: %v at %d: the largest is %x, finite %v", l, v, i, top, Finite(x))
				}
				x[i] = 0
			}
		}
		undo()
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
