package quant_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/quant"
)

func TestActBytes(t *testing.T) {
	for _, tt := range []struct {
		typ  quant.Type
		n    int
		want int
	}{
		{quant.F32, 0, 0}, {quant.F32, 3, 12},
		{quant.ActQ8_32, 0, 0}, {quant.ActQ8_32, 32, 320}, {quant.ActQ8_32, 256, 320}, {quant.ActQ8_32, 288, 640},
		{quant.ActQ8_256, 0, 0}, {quant.ActQ8_256, 256, 320}, {quant.ActQ8_256, 4096, 5120},
	} {
		if got := quant.ActBytes(tt.typ, tt.n); got != tt.want {
			t.Errorf("ActBytes(%v, %d) = %d, want %d", tt.typ, tt.n, got, tt.want)
		}
	}
}

// actRows are rows that have something to get wrong.
func actRows(rng *rand.Rand) map[string][]float32 {
	rows := map[string][]float32{
		"empty":    {},
		"zero":     make([]float32, 256),
		"one":      {3},
		"tiny":     {0x1p-149, 0x1p-140, -0x1p-130},
		"smallest": {0x1p-126 * 127, 0x1p-126, -0x1p-126 * 60.5},
		"largest":  {math.MaxFloat32, -math.MaxFloat32, 1e38, 1},
		"ties":     {127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5},
		"negative": {-4, 1, 2, 3},
	}
	for _, n := range []int{31, 32, 33, 64, 255, 256, 257, 1024, 4096 + 32} {
		rows[fmt.Sprint("normal", n)] = randomFloats(rng, n)
	}
	heavy := randomFloats(rng, 512)
	for i := range heavy {
		heavy[i] = heavy[i] * heavy[i] * heavy[i] * 100
	}
	rows["heavy"] = heavy
	return rows
}

func TestQuantize(t *testing.T) {
	for _, typ := range []quant.Type{quant.ActQ8_32, quant.ActQ8_256} {
		share := map[quant.Type]int{quant.ActQ8_32: 32, quant.ActQ8_256: 256}[typ]
		for name, x := range actRows(rand.New(rand.NewPCG(1, 1))) {
			t.Run(typ.String()+"/"+name, func(t *testing.T) {
				// Old contents must not show through.
				dst := make([]byte, quant.ActBytes(typ, len(x)))
				for i := range dst {
					dst[i] = 0xaa
				}
				typ.Layout().Encode(dst, x)
				values := make([]float32, len(dst)/320*256)
				typ.Layout().Decode(values, dst)
				for i, v := range values {
					g, in := dst[i/256*320:][:320], i%256
					d := floatAt(g, 304)
					if typ == quant.ActQ8_32 {
						d = floatAt(g, 256+in/32*4)
					}
					if i >= len(x) {
						if v != 0 || g[in] != 0 {
							t.Fatalf("padding %d is %v", i, v)
						}
						continue
					}
					first := i / share * share
					var top float32
					for _, y := range x[first:min(first+share, len(x))] {
						top = max(top, float32(math.Abs(float64(y))))
					}
					if top/127 < 0x1p-126 {
						top = 0
					}
					if d != top/127 {
						t.Fatalf("scale of %d is %v, want %v/127", i, d, top)
					}
					if int8(g[in]) == -128 {
						t.Fatalf("value %d is -128", i)
					}
					// Half a step, and the roundings of d, 1/d and x/d: at
					// most 127 steps times 3·2⁻²⁴ of one, with room.
					limit := float64(d) * (0.5 + 127*4*0x1p-24)
					if d == 0 {
						limit = 127 * 0x1p-126
					}
					if e := math.Abs(float64(x[i]) - float64(d)*float64(int8(g[in]))); e > limit {
						t.Fatalf("value %d: %v became %v, off by %g of a step", i, x[i], v, e/float64(d))
					}
				}
				checkSums(t, typ, dst)
			})
		}
	}
}

// checkSums holds a row's sums against its quants.
func checkSums(t *testing.T, typ quant.Type, dst []byte) {
	t.Helper()
	for ; len(dst) > 0; dst = dst[320:] {
		for j := range 8 {
			var half [2]int
			for i, q := range dst[32*j : 32*j+32] {
				half[i/16] += int(int8(q))
			}
			if typ == quant.ActQ8_32 {
				want := -128 * (half[0] + half[1])
				if got := int(int32(binary.LittleEndian.Uint32(dst[288+4*j:]))); got != want {
					t.Fatalf("-128·Σq of %d is %v, want %v", j, got, want)
				}
				continue
			}
			for k, at := range [2]int{256 + 4*j, 258 + 4*j} {
				if got := shortAt(dst, at); got != half[k] {
					t.Fatalf("sum of 16 at %d is %d, want %d", at, got, half[k])
				}
			}
			if got := shortAt(dst, 288+2*j); got != half[0]+half[1] {
				t.Fatalf("sum of 32 number %d is %d, want %d", j, got, half[0]+half[1])
			}
		}
		if typ == quant.ActQ8_256 && [12]byte(dst[308:320]) != [12]byte{} {
			t.Fatalf("tail of the group is %x, want zeros", dst[308:320])
		}
	}
}

func TestQuantizeTies(t *testing.T) {
	x := []float32{127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5}
	want := []int8{127, 0, 2, 2, 0, -2, -2, 126}
	for _, typ := range []quant.Type{quant.ActQ8_32, quant.ActQ8_256} {
		dst := make([]byte, 320)
		typ.Layout().Encode(dst, x)
		for i, q := range want {
			if got := int8(dst[i]); got != q {
				t.Errorf("%v: %v became %d, want %d", typ, x[i], got, q)
			}
		}
	}
}

func TestQuantizeNotFinite(t *testing.T) {
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		x := make([]float32, 512)
		for i := range x {
			x[i] = 1
		}
		x[300] = float32(bad)
		for _, typ := range []quant.Type{quant.ActQ8_32, quant.ActQ8_256} {
			dst := make([]byte, 640)
			typ.Layout().Encode(dst, x)
			values := make([]float32, 512)
			typ.Layout().Decode(values, dst)
			share := map[quant.Type]int{quant.ActQ8_32: 32, quant.ActQ8_256: 256}[typ]
			for i, v := range values {
				if broken := i/share == 300/share; broken != math.IsNaN(float64(v)) {
					t.Errorf("%v with %v at 300: value %d is %v", typ, bad, i, v)
				}
			}
		}
	}
}

func floatAt(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}

func shortAt(b []byte, at int) int {
	return int(int16(binary.LittleEndian.Uint16(b[at:])))
}

func BenchmarkQuantize(b *testing.B) {
	const n = 4096
	x := randomFloats(rand.New(rand.NewPCG(2, 2)), n)
	for _, typ := range []quant.Type{quant.ActQ8_32, quant.ActQ8_256} {
		b.Run(typ.String(), func(b *testing.B) {
			dst := make([]byte, quant.ActBytes(typ, n))
			encode := typ.Layout().Encode
			b.SetBytes(4 * n)
			b.ReportAllocs()
			for b.Loop() {
				encode(dst, x)
			}
		})
	}
}
