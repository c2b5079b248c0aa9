package cuda_test

import (
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/quant"
)

// TestGroup has rows of decoding, one of padding, and groups of every size.
func TestGroup(t *testing.T) {
	for _, tt := range []struct {
		name           string
		t              quant.Type
		heads, kvHeads int
		headDim, size  int
		window         int
		softcap        float32
		sinks          bool
	}{
		{"f16", quant.F16, 8, 2, 128, 16, 0, 0, false},
		{"f16, a head each, window", quant.F16, 2, 2, 64, 3, 21, 0, false},
		{"f16, seven heads, soft cap", quant.F16, 7, 1, 64, 8, 0, 2, false},
		{"f16, eight heads, sinks", quant.F16, 8, 1, 128, 16, 0, 0, true},
		{"f16, 96", quant.F16, 4, 1, 96, 16, 0, 0, true},
		{"f16, 256", quant.F16, 8, 2, 256, 16, 40, 30, false},
		{"bf16", quant.BF16, 6, 2, 64, 16, 0, 0, false},
		{"bf16, wider", quant.BF16, 5, 1, 128, 4, 9, 0, true},
		{"f8_e4m3", quant.F8_E4M3, 3, 1, 64, 16, 0, 3, true},
		{"f8_e4m3, 96", quant.F8_E4M3, 4, 2, 96, 16, 0, 0, false},
		{"f8_e4m3, 256", quant.F8_E4M3, 2, 1, 256, 16, 0, 0, false},
		{"q8_0", quant.Q8_0, 4, 2, 64, 16, 0, 0, true},
		{"q8_0, 96", quant.Q8_0, 4, 1, 96, 16, 30, 0, false},
		{"q8_0, 256", quant.Q8_0, 4, 1, 256, 16, 0, 0, false},
		{"f8_e4m3, wider", quant.F8_E4M3, 4, 1, 128, 32, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &gpu{TB: t}
			p := newPaged(g, tt.t, tt.kvHeads, tt.headDim, tt.size, 90, 16, 1)
			x := &question{heads: tt.heads, window: tt.window, softcap: tt.softcap, seq: []int32{0, 1, 0, 2, 1}, ends: []int32{90, 16, 0, 1, 5}}
			if tt.sinks {
				x.sinks = random(4, tt.heads)
			}
			x.ask(tt.headDim)
			name := cuda.GroupName(tt.t, tt.headDim, tt.heads/tt.kvHeads)
			for _, splits := range []int{1, 3, 11} {
				part, dst := g.Alloc(4*len(x.ends)*tt.heads*splits*(tt.headDim+2)), g.Alloc(4*len(x.q))
				arrived := g.ints(make([]int32, len(x.ends)*tt.kvHeads)...)
				g.run(name, cuda.Dims{Heads: tt.kvHeads, Rows: len(x.ends), Splits: splits}, dst, part, arrived, g.floats(x.q), p.cache, g.ints(p.tables...), g.ints(x.seq...), g.ints(x.ends...), x.sinksAt(g),
					p.room, tt.heads, tt.kvHeads, tt.size, tt.window, x.scale, tt.softcap)
				p.check(g, name, x, g.got(dst, len(x.q)))
				for i, n := range g.gotInts(arrived, len(x.ends)*tt.kvHeads) {
					if n != 0 {
						t.Errorf("%d splits: %d blocks count as arrived at %d afterwards", splits, n, i)
					}
				}
			}
		})
	}
}

// TestAttendTypes has attend_T for every type of cache, on what the cache holds.
func TestAttendTypes(t *testing.T) {
	for _, typ := range cuda.CacheTypes {
		t.Run(typ.String(), func(t *testing.T) {
			g := &gpu{TB: t}
			p := newPaged(g, typ, 2, 96, 4, 31, 6)
			x := &question{heads: 4, window: 20, softcap: 5, sinks: random(4, 4), seq: []int32{0, 1, 0}, ends: []int32{31, 6, 9}}
			x.ask(96)
			want, _, _ := p.answer(x)
			part, dst := g.Alloc(4*len(x.ends)*4*2*98), g.Alloc(4*len(x.q))
			d := cuda.Dims{Heads: 4, Rows: len(x.ends), Splits: 2}
			g.run(cuda.Name("attend", typ), d, part, g.floats(x.q), p.cache, g.ints(p.tables...), g.ints(x.seq...), g.ints(x.ends...), p.room, 4, 2, 96, 4, x.window, x.scale, x.softcap)
			g.run("attend_combine", d, dst, part, x.sinksAt(g), 4, 96, 2)
			near(t, "attend", g.got(dst, len(x.q)), want, func(int) float64 { return 4e-5 })
		})
	}
}

// TestF8 has every number of F8_E4M3: what stores rounds as package quant does, and
// attention to one token gives its value, through each kernel.
func TestF8(t *testing.T) {
	const n = 128
	v := make([]float32, 2*n) // two tokens, of a sequence each
	for i := range v {
		v[i] = quant.E4M3.Decode(uint16(i))
		if i%3 == 1 { // between two numbers; beyond the last
			v[i] *= 1.03
		}
	}
	want := decode(quant.F8_E4M3, encode(quant.F8_E4M3, v), len(v))
	g := &gpu{TB: t}
	cache, ids := g.bytes(make([]byte, 2*2*n)), g.ints(0, 1)
	g.run("kv_put_f8_e4m3", cuda.Dims{Rows: 2, Out: n}, cache, g.floats(make([]float32, 2*n)), g.floats(v), ids, 1, n, 1)
	q, ends := g.floats(random(1, 2*n)), g.ints(1, 1)
	d := cuda.Dims{Heads: 1, Rows: 2, Splits: 1}
	for _, name := range []string{"attend_f8_e4m3", cuda.GroupName(quant.F8_E4M3, n, 1), cuda.PrefillName(quant.F8_E4M3, n)} {
		part, dst := g.Alloc(4*2*(n+2)), g.Alloc(4*2*n)
		switch name {
		case "attend_f8_e4m3":
			g.run(name, d, part, q, cache, ids, ids, ends, 1, 1, 1, n, 1, 0, float32(1), float32(0))
			g.run("attend_combine", d, dst, part, none, 1, n, 1)
		case cuda.PrefillName(quant.F8_E4M3, n):
			g.run(name, d, dst, q, cache, ids, ids, ends, none, 1, 2, 1, 1, 1, 0, float32(1), float32(0))
		default:
			g.run(name, d, dst, part, g.ints(0, 0), q, cache, ids, ids, ends, none, 1, 1, 1, 1, 0, float32(1), float32(0))
		}
		for i, got := range g.got(dst, 2*n) {
			if got != want[i] && !(got != got && want[i] != want[i]) {
				t.Errorf("%s: number %#x is %g, want %g", name, i, got, want[i])
			}
		}
	}
}
