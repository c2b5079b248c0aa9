package quant_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/kernels/quant"
)

// ownTest are the types llama.cpp wrote no reference values for. Each has a test
// of its own below.
var ownTest = map[quant.Type]bool{quant.F32: true, quant.Q8_K: true, quant.MXFP4: true}

func TestDecodeGolden(t *testing.T) {
	var golden map[string]struct{ Weights, Values []byte }
	readJSON(t, filepath.Join("testdata", "decode.json"), &golden)
	for typ := range quant.All() {
		t.Run(typ.String(), func(t *testing.T) {
			g, ok := golden[typ.String()]
			if !ok {
				if !ownTest[typ] {
					t.Errorf("no reference values for %v", typ)
				}
				return
			}
			want := make([]float32, len(g.Values)/4)
			quant.F32.Layout().Decode(want, g.Values)
			sameBits(t, decode(t, typ, g.Weights, len(want)), want)
		})
	}
}

func TestDecodeFixtures(t *testing.T) {
	dir := fixtures.Path(t, "llm", "quant")
	var golden map[string]struct {
		File   string
		Tensor string
		First  []float32 `json:"first_512"`
	}
	readJSON(t, filepath.Join(dir, "dequant.json"), &golden)
	for name, g := range golden {
		t.Run(name, func(t *testing.T) {
			typ, ok := byName(name)
			if !ok {
				t.Fatalf("byName(%q) found nothing", name)
			}
			for _, w := range readGGUF(t, filepath.Join(dir, g.File)) {
				if w.name == g.Tensor {
					sameBits(t, decode(t, typ, w.data, w.n)[:len(g.First)], g.First)
					return
				}
			}
			t.Fatalf("no tensor %s in %s", g.Tensor, g.File)
		})
	}
}

func TestDecodeF32(t *testing.T) {
	want := []float32{0, float32(math.Copysign(0, -1)), 1, -2.5, math.MaxFloat32, 0x1p-149, float32(math.Inf(1))}
	var w []byte
	for _, f := range want {
		w = binary.LittleEndian.AppendUint32(w, math.Float32bits(f))
	}
	sameBits(t, decode(t, quant.F32, w, len(want)), want)
}

func TestDecodeQ8_K(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := make([]byte, 292)
	for i := range w {
		w[i] = byte(rng.Uint32())
	}
	const d = 0.01171875
	binary.LittleEndian.PutUint32(w, math.Float32bits(d))
	want := make([]float32, 256)
	for i := range want {
		want[i] = d * float32(int8(w[4+i]))
	}
	sameBits(t, decode(t, quant.Q8_K, w, 256), want)
}

// TestDecodeMXFP4 compares every code under every scale with E2M1 and E8M0 as
// the standard defines them.
func TestDecodeMXFP4(t *testing.T) {
	for e := range 256 {
		w := make([]byte, 17)
		w[0] = byte(e)
		want := make([]float32, 32)
		for code := range 16 {
			w[1+code] = byte(code | (15-code)<<4)
			sign, exp, man := 1-2*(code>>3), code>>1&3, float64(code&1)
			v := math.Ldexp(1+man/2, exp-1)
			if exp == 0 {
				v = man / 2
			}
			// One rounding to float32, at the edges of its range.
			f := float32(math.Ldexp(v, e-127)) * float32(sign)
			if v == 0 {
				f = 0 // GGML's table has no negative zero
			}
			want[code], want[31-code] = f, f
		}
		sameBits(t, decode(t, quant.MXFP4, w, 32), want)
	}
}

// decode decodes n weights and checks that nothing around them is touched.
func decode(t *testing.T, typ quant.Type, w []byte, n int) []float32 {
	t.Helper()
	const guard = 12345
	room := make([]float32, n+2)
	room[0], room[n+1] = guard, guard
	typ.Layout().Decode(room[1:n+1:n+1], w)
	if room[0] != guard || room[n+1] != guard {
		t.Errorf("Decode of %d %v wrote outside", n, typ)
	}
	return room[1 : n+1]
}

func sameBits(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("value %d is %v, want %v", i, show(got[i]), show(want[i]))
		}
	}
}

func show(f float32) string {
	return fmt.Sprintf("%v (%08x)", f, math.Float32bits(f))
}
