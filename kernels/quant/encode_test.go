package quant_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/kernels/quant"
)

// rmse returns the root mean square of decode(w) − x.
func rmse(typ quant.Type, w []byte, x []float32) float64 {
	v := make([]float32, len(x))
	typ.Layout().Decode(v, w)
	sum := 0.0
	for i := range x {
		e := float64(v[i]) - float64(x[i])
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(x)))
}

func encode(t testing.TB, typ quant.Type, x []float32) []byte {
	t.Helper()
	size, ok := typ.Size(len(x))
	if !ok {
		t.Fatalf("%d values are no whole blocks of %v", len(x), typ)
	}
	room := bytes.Repeat([]byte{0xaa}, size+2)
	typ.Layout().Encode(room[1:size+1:size+1], x)
	if room[0] != 0xaa || room[size+1] != 0xaa {
		t.Errorf("Encode of %d %v wrote outside", len(x), typ)
	}
	return room[1 : size+1]
}

// TestEncodeAgainstGGML holds our encoders against files llama.cpp quantised
// without an importance matrix: the simple types byte for byte, the others by
// their error.
func TestEncodeAgainstGGML(t *testing.T) {
	dir := fixtures.Path(t, "llm", "quant")
	same := map[quant.Type]bool{quant.F16: true, quant.BF16: true, quant.Q4_0: true, quant.Q8_0: true}
	for _, tt := range []struct{ plain, quantised string }{
		{"llama-F32.gguf", "llama-F16.gguf"},
		{"llama-F32.gguf", "llama-BF16.gguf"},
		{"llama-F32.gguf", "llama-Q8_0.gguf"},
		{"llama-F32.gguf", "llama-Q4_0.gguf"},
		{"llama-F32.gguf", "llama-Q3_K_M.gguf"},
		{"llama-F32.gguf", "llama-Q4_K_M.gguf"},
		{"llama-F32.gguf", "llama-Q5_K_M.gguf"},
		{"llama-F32.gguf", "llama-Q6_K.gguf"},
		{"../smollm2/model.gguf", "other/smollm2-Q2_K.gguf"},
		{"../mixtral/model.gguf", "other/mixtral-Q8_0.gguf"},
		{"../phi3/model.gguf", "other/phi3-Q4_0.gguf"},
		{"../phi2/model.gguf", "other/phi2-Q8_0.gguf"},
	} {
		t.Run(tt.quantised, func(t *testing.T) {
			plain := make(map[string][]float32)
			for _, w := range readGGUF(t, filepath.Join(dir, tt.plain)) {
				plain[w.name] = decode(t, w.typ, w.data, w.n)
			}
			worst := make(map[quant.Type]float64)
			tensors := make(map[quant.Type]int)
			for _, w := range readGGUF(t, filepath.Join(dir, tt.quantised)) {
				if w.typ == quant.F32 || w.typ.Layout().Encode == nil {
					continue
				}
				x := plain[w.name]
				if len(x) != w.n {
					t.Fatalf("%s has %d weights, %d when plain", w.name, w.n, len(x))
				}
				ours := encode(t, w.typ, x)
				tensors[w.typ]++
				if same[w.typ] {
					if !bytes.Equal(ours, w.data) {
						t.Errorf("%s as %v differs from ggml's at byte %d of %d", w.name, w.typ, differ(ours, w.data), len(ours))
					}
					continue
				}
				ratio := rmse(w.typ, ours, x) / rmse(w.typ, w.data, x)
				worst[w.typ] = max(worst[w.typ], ratio)
				if ratio > 1.02 {
					t.Errorf("%s as %v: error %.4f times ggml's", w.name, w.typ, ratio)
				}
			}
			for typ, n := range tensors {
				if same[typ] {
					t.Logf("%v: %d tensors byte for byte", typ, n)
				} else {
					t.Logf("%v: error at most %.4f of ggml's in %d tensors", typ, worst[typ], n)
				}
			}
		})
	}
}

func differ(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// naive rounds each run of values to equal steps over exactly its own range,
// with scales that nothing rounds: what an encoder that searches must beat
// although its scales have six or eight bits.
func naive(x []float32, run, steps int, symmetric bool) float64 {
	sum := 0.0
	for ; len(x) > 0; x = x[run:] {
		var lo, hi float64
		for _, v := range x[:run] {
			lo, hi = min(lo, float64(v)), max(hi, float64(v))
		}
		if symmetric {
			hi = max(hi, -lo)
			lo = -hi
		}
		step := (hi - lo) / float64(steps)
		for _, v := range x[:run] {
			e := lo + math.Round((float64(v)-lo)/step)*step - float64(v)
			sum += e * e
		}
	}
	return sum
}

func TestEncodeBeatsNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	const n = 64 * 256
	data := map[string][]float32{"normal": randomFloats(rng, n), "heavy tails": randomFloats(rng, n), "uniform": make([]float32, n)}
	for i, v := range data["heavy tails"] {
		data["heavy tails"][i] = v * float32(math.Exp(rng.NormFloat64()))
		data["uniform"][i] = rng.Float32() - 0.25
	}
	for _, tt := range []struct {
		typ       quant.Type
		run       int
		steps     int
		symmetric bool
	}{
		{quant.Q4_0, 32, 15, true},
		{quant.Q8_0, 32, 254, true},
		{quant.Q4_K, 32, 15, false},
		{quant.Q5_K, 32, 31, false},
		{quant.Q6_K, 16, 62, true},
	} {
		for name, x := range data {
			t.Run(tt.typ.String()+"/"+name, func(t *testing.T) {
				got := rmse(tt.typ, encode(t, tt.typ, x), x)
				limit := math.Sqrt(naive(x, tt.run, tt.steps, tt.symmetric) / n)
				t.Logf("error %.6f, %.4f of naive", got, got/limit)
				// Q8_0 does not search; its scale costs it an F16 rounding,
				// 127·2⁻¹² of a step at most where a step's own error is 0.29.
				if tt.typ == quant.Q8_0 {
					limit *= 1.01
				}
				if got > limit {
					t.Errorf("error %g, naive %g", got, limit)
				}
			})
		}
	}
}

// encoded are the types with an encoder.
func encoded() []quant.Type {
	var types []quant.Type
	for typ := range quant.All() {
		if typ.Layout().Encode != nil {
			types = append(types, typ)
		}
	}
	return types
}

func TestEncodeShapes(t *testing.T) {
	constant := func(f float32) []float32 {
		x := make([]float32, 256)
		for i := range x {
			x[i] = f
		}
		return x
	}
	ramp := func(from, to float32) []float32 {
		x := make([]float32, 256)
		for i := range x {
			x[i] = from + (to-from)*float32(i)/255
		}
		return x
	}
	outlier := constant(0.01)
	outlier[77] = -100
	for _, tt := range []struct {
		name  string
		x     []float32
		limit float64 // of the error, relative to the largest magnitude
	}{
		{"nothing", nil, 0},
		{"zero", constant(0), 0},
		{"positive constant", constant(0.7), 0.002},
		{"negative constant", constant(-0.7), 0.002},
		{"positive ramp", ramp(0.5, 1), 0.05},
		{"negative ramp", ramp(-1, -0.5), 0.05},
		{"ramp", ramp(-1, 1), 0.05},
		{"outlier", outlier, 0.01},
		{"small", ramp(-1e-4, 1e-4), 0.05},
		{"below F16", constant(1e-30), 1},
		{"subnormal", constant(0x1p-149), 1},
		{"large", ramp(-1e4, 1e4), 0.05},
	} {
		for _, typ := range encoded() {
			t.Run(tt.name+"/"+typ.String(), func(t *testing.T) {
				w := encode(t, typ, tt.x)
				if len(tt.x) == 0 {
					return
				}
				top := 0.0
				for _, v := range tt.x {
					top = max(top, math.Abs(float64(v)))
				}
				if e := rmse(typ, w, tt.x); !(e <= tt.limit*top) {
					t.Errorf("error %g, want at most %g", e, tt.limit*top)
				}
			})
		}
	}
}

// TestEncodeHuge holds that finite values give finite weights, the types with
// an F16 scale saturating. F16 itself has infinities and may use them.
func TestEncodeHuge(t *testing.T) {
	x := make([]float32, 256)
	for i := range x {
		x[i] = float32(math.Ldexp(1, i-128)) * float32(1-i%2*2)
	}
	for _, typ := range encoded() {
		if typ == quant.F16 {
			continue
		}
		v := decode(t, typ, encode(t, typ, x), len(x))
		for i, f := range v {
			if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				t.Errorf("%v: %v became %v", typ, x[i], f)
				break
			}
		}
	}
}

// TestEncodeAgain encodes what was decoded: those values can be stored as they
// are, so the search should find them again, or nearly.
func TestEncodeAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	x := randomFloats(rng, 32*256)
	for _, typ := range encoded() {
		w := encode(t, typ, x)
		once := decode(t, typ, w, len(x))
		again := rmse(typ, encode(t, typ, once), once)
		first := rmse(typ, w, x)
		t.Logf("%v: error %.6f, again %.6f", typ, first, again)
		if again > first/4 {
			t.Errorf("%v: encoding again adds an error of %g to %g", typ, again, first)
		}
	}
}

// FuzzEncode gives encoders any bits as floats. None may panic, and finite
// values within the range of an F16, the type of scales and offsets, must not have a larger
// error than zero would have.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 192, 127, 0, 0, 128, 255, 1, 0, 0, 0})
	f.Add([]byte{1, 0, 32, 51, 0, 0, 32, 179, 7, 0, 0, 0})
	f.Add([]byte{0, 0, 32, 66, 0, 0, 32, 194, 205, 204, 76, 61})
	f.Fuzz(func(t *testing.T, data []byte) {
		x := make([]float32, 256)
		finite := true
		for i := range x {
			if at := 4 * i; len(data) >= 4 {
				x[i] = floatAt(data, at%(len(data)&^3))
			}
			finite = finite && math.Abs(float64(x[i])) <= 65504
		}
		zero := 0.0
		for _, v := range x {
			zero += float64(v) * float64(v)
		}
		zero = math.Sqrt(zero / float64(len(x)))
		for _, typ := range encoded() {
			w := encode(t, typ, x)
			if typ == quant.F16 || !finite {
				continue
			}
			// A scale is an F16 too: off by half its smallest step, 2^-25, thirty-one times.
			if e := rmse(typ, w, x); !(e <= max(zero*1.001, 0x1p-20)) {
				t.Errorf("%v: error %g of values of %g", typ, e, zero)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	const n = 4096
	x := randomFloats(rand.New(rand.NewPCG(9, 9)), n)
	for typ := range quant.All() {
		l := typ.Layout()
		if l.Encode == nil {
			continue
		}
		b.Run(typ.String(), func(b *testing.B) {
			dst := encode(b, typ, x)
			b.SetBytes(4 * n)
			b.ReportAllocs()
			for b.Loop() {
				l.Encode(dst, x)
			}
		})
	}
}
