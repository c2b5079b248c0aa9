package quant_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/quant"
)

// A shape is what a test needs to know of a type's bytes beyond its Layout.
type shape struct {
	halves []int  // offsets of F16 scales, which random bytes would make huge
	quants [2]int // where the quants of a type with mins lie
}

var shapes = map[quant.Type]shape{
	quant.F32:    {},
	quant.F16:    {halves: []int{0}},
	quant.BF16:   {},
	quant.Q4_0:   {halves: []int{0}},
	quant.Q4_1:   {halves: []int{0, 2}, quants: [2]int{4, 20}},
	quant.Q5_0:   {halves: []int{0}},
	quant.Q5_1:   {halves: []int{0, 2}, quants: [2]int{4, 24}},
	quant.Q8_0:   {halves: []int{0}},
	quant.Q2_K:   {halves: []int{80, 82}, quants: [2]int{16, 80}},
	quant.Q3_K:   {halves: []int{108}},
	quant.Q4_K:   {halves: []int{0, 2}, quants: [2]int{16, 144}},
	quant.Q5_K:   {halves: []int{0, 2}, quants: [2]int{16, 176}},
	quant.Q6_K:   {halves: []int{208}},
	quant.Q8_K:   {},
	quant.IQ4_NL: {halves: []int{0}},
	quant.IQ4_XS: {halves: []int{0}},
	quant.MXFP4:  {},
}

// randomWeights returns blocks of random bytes with scales of ordinary size.
func randomWeights(rng *rand.Rand, typ quant.Type, n int) []byte {
	l := typ.Layout()
	w := make([]byte, n/l.Block*l.Bytes)
	for i := range w {
		w[i] = byte(rng.Uint32())
	}
	for b := w; len(b) > 0; b = b[l.Bytes:] {
		for _, at := range shapes[typ].halves {
			f := float32(rng.NormFloat64() * 0.01)
			binary.LittleEndian.PutUint16(b[at:], quant.F32ToF16(f))
		}
		switch typ {
		case quant.F32, quant.Q8_K:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(rng.NormFloat64())))
		case quant.BF16:
			binary.LittleEndian.PutUint16(b, quant.F32ToBF16(float32(rng.NormFloat64())))
		case quant.MXFP4:
			b[0] = byte(120 + rng.IntN(8))
		}
	}
	return w
}

func randomFloats(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// quantise returns x as the type that goes with typ, and the values that has.
func quantise(typ quant.Type, x []float32) (act []byte, values []float32) {
	with := typ.Layout().With
	act = make([]byte, quant.ActBytes(with, len(x)))
	with.Layout().Encode(act, x)
	l := with.Layout()
	values = make([]float32, len(act)/l.Bytes*l.Block)
	l.Decode(values, act)
	return act, values[:len(x)]
}

// exactDot returns Σ w·x and how far from it a Dot may be.
//
// With u = 2⁻²⁴, a block's term w·x is made of an exact integer sum, its
// conversion, and at most four products and one subtraction, each with a
// relative error of u; the scale it uses is itself exact. decode rounds three
// times per weight. Where there are mins the parts d·q and m are rounded before
// they cancel, so a weight counts as |w| + 2|m|. Adding up b blocks costs b·u
// more of the sum of magnitudes. The constant term is for what falls below the
// range of float32: at most 2⁻¹⁴⁹ in a product of scales, times an integer sum
// of less than 2²⁸.
func exactDot(typ quant.Type, w []byte, x []float32) (dot, bound float64) {
	l := typ.Layout()
	v := make([]float32, len(x))
	l.Decode(v, w)
	mins := make([]float32, len(x))
	if q := shapes[typ].quants; q[1] > 0 {
		bare := append([]byte(nil), w...)
		for b := bare; len(b) > 0; b = b[l.Bytes:] {
			clear(b[q[0]:q[1]])
		}
		l.Decode(mins, bare)
	}
	magnitude := 0.0
	for i := range x {
		dot += float64(v[i]) * float64(x[i])
		magnitude += (math.Abs(float64(v[i])) + 2*math.Abs(float64(mins[i]))) * math.Abs(float64(x[i]))
	}
	blocks := float64(len(x) / l.Block)
	return dot, (blocks+10)*0x1p-24*magnitude + (blocks+1)*0x1p-121
}

func TestDot(t *testing.T) {
	for typ := range quant.All() {
		t.Run(typ.String(), func(t *testing.T) {
			if _, ok := shapes[typ]; !ok {
				t.Fatalf("no shape for %v", typ)
			}
			rng := rand.New(rand.NewPCG(3, uint64(typ)))
			block := typ.Layout().Block
			for _, blocks := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 257} {
				n := blocks * block
				w := randomWeights(rng, typ, n)
				act, x := quantise(typ, randomFloats(rng, n))
				got := float64(typ.Layout().Dot(n, w, act))
				want, bound := exactDot(typ, w, x)
				if !(math.Abs(got-want) <= bound) {
					t.Errorf("%d blocks: Dot = %g, want %g ± %g", blocks, got, want, bound)
				}
			}
		})
	}
}

// TestDotExact has scales of one and sums below 2²⁴, where nothing is rounded.
func TestDotExact(t *testing.T) {
	const n = 256
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%255 - 127)
	}
	for typ := range quant.All() {
		t.Run(typ.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(4, uint64(typ)))
			w := randomWeights(rng, typ, n)
			l := typ.Layout()
			for b := w; len(b) > 0; b = b[l.Bytes:] {
				for _, at := range shapes[typ].halves {
					binary.LittleEndian.PutUint16(b[at:], quant.F32ToF16(float32(rng.IntN(3)-1)))
				}
				switch typ {
				case quant.F32, quant.Q8_K:
					binary.LittleEndian.PutUint32(b, math.Float32bits(float32(rng.IntN(200)-100)))
				case quant.BF16:
					binary.LittleEndian.PutUint16(b, quant.F32ToBF16(float32(rng.IntN(200)-100)))
				case quant.MXFP4:
					b[0] = 128
				}
			}
			// Quants one on one: the scale must be exactly one, in every block
			// of 32 too.
			whole := append([]float32(nil), x...)
			for i := 0; i < n; i += 32 {
				whole[i] = 127
			}
			act, values := quantise(typ, whole)
			sameBits(t, values, whole)
			want, _ := exactDot(typ, w, whole)
			if math.Abs(want) >= 1<<24 {
				t.Skip("sum too large to be exact")
			}
			if got := l.Dot(n, w, act); float64(got) != want {
				t.Errorf("Dot = %v, want %v", got, want)
			}
		})
	}
}

func TestDotBroken(t *testing.T) {
	for typ := range quant.All() {
		block := typ.Layout().Block
		n := 2 * block
		w := randomWeights(rand.New(rand.NewPCG(5, 5)), typ, n)
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			x := make([]float32, n)
			x[n-1] = float32(bad)
			act, _ := quantise(typ, x)
			if got := float64(typ.Layout().Dot(n, w, act)); !math.IsNaN(got) && !math.IsInf(got, 0) {
				t.Errorf("%v: Dot with %v among the activations = %v", typ, bad, got)
			}
		}
	}
}

// TestLengths holds that a wrong length is a panic with the numbers, never a
// short read.
func TestLengths(t *testing.T) {
	for typ := range quant.All() {
		l := typ.Layout()
		w := make([]byte, l.Bytes)
		v := make([]float32, l.Block)
		x := make([]byte, quant.ActBytes(l.With, l.Block))
		for name, f := range map[string]func(){
			"Decode short":     func() { l.Decode(v, w[1:]) },
			"Decode long":      func() { l.Decode(v[1:], w) },
			"Dot short w":      func() { l.Dot(l.Block, w[1:], x) },
			"Dot short x":      func() { l.Dot(l.Block, w, x[1:]) },
			"Dot negative":     func() { l.Dot(-l.Block, nil, nil) },
			"Dot other length": func() { l.Dot(2*l.Block, w, x) },
			"Encode short": func() {
				if l.Encode == nil {
					panic("none")
				}
				l.Encode(w[1:], v)
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: %s did not panic", typ, name)
					}
				}()
				f()
			}()
		}
	}
}

// FuzzBlocks feeds every type the same bytes as blocks. A file may hold any of
// them, so none may panic, and where the sum is finite it must be right.
func FuzzBlocks(f *testing.F) {
	rng := rand.New(rand.NewPCG(6, 6))
	for typ := range quant.All() {
		f.Add(uint8(typ), randomWeights(rng, typ, 2*typ.Layout().Block), uint64(typ))
		f.Add(uint8(typ), make([]byte, typ.Layout().Bytes), uint64(0))
	}
	f.Fuzz(func(t *testing.T, number uint8, w []byte, seed uint64) {
		typ, ok := byName(quant.Type(number).String())
		if !ok {
			return
		}
		l := typ.Layout()
		w = w[:min(len(w), 16*l.Bytes)/l.Bytes*l.Bytes]
		n := len(w) / l.Bytes * l.Block
		act, x := quantise(typ, randomFloats(rand.New(rand.NewPCG(seed, 0)), n))
		got := float64(l.Dot(n, w, act))
		want, bound := exactDot(typ, w, x)
		// Where the parts of the sum come near the largest float32 the
		// blocks' own terms may overflow though the sum would not.
		if !(bound < 0x1p70) {
			return
		}
		if !(math.Abs(got-want) <= bound) {
			t.Errorf("%v: Dot of %d = %g, want %g ± %g", typ, n, got, want, bound)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	const n = 4096
	for typ := range quant.All() {
		b.Run(typ.String(), func(b *testing.B) {
			w := randomWeights(rand.New(rand.NewPCG(7, 7)), typ, n)
			dst := make([]float32, n)
			decode := typ.Layout().Decode
			b.SetBytes(int64(len(w)))
			b.ReportAllocs()
			for b.Loop() {
				decode(dst, w)
			}
		})
	}
}

func BenchmarkDot(b *testing.B) {
	const n = 4096
	for typ := range quant.All() {
		b.Run(typ.String(), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(8, 8))
			w := randomWeights(rng, typ, n)
			x, _ := quantise(typ, randomFloats(rng, n))
			dot := typ.Layout().Dot
			b.SetBytes(int64(len(w)))
			b.ReportAllocs()
			for b.Loop() {
				dot(n, w, x)
			}
		})
	}
}

func ExampleType_Size() {
	fmt.Println(quant.Q4_K.Size(4096))
	fmt.Println(quant.Q4_K.Size(100))
	// Output:
	// 2304 true
	// 0 false
}
