package cuda_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"quern/kernels/attention"
	"quern/kernels/cuda"
	"quern/kernels/quant"
)

// A paged cache of random keys and values, as a device has it and, rounded to its
// type, for the CPU.
type paged struct {
	t                            quant.Type
	kvHeads, headDim, size, room int
	lengths                      []int
	tables                       []int32 // (sequences, room)
	k, v                         []float32
	slots                        []int32
	cache                        uint64
	host                         *attention.KV
}

// newPaged fills a cache with kv_put and holds its bytes against package quant.
func newPaged(g *gpu, t quant.Type, kvHeads, headDim, size int, lengths ...int) *paged {
	g.Helper()
	p := &paged{t: t, kvHeads: kvHeads, headDim: headDim, size: size, lengths: lengths}
	tokens := 0
	for _, n := range lengths {
		p.room = max(p.room, (n+size-1)/size)
		tokens += n
	}
	blocks := p.room*len(lengths) + 1
	for i := range p.room * len(lengths) {
		p.tables = append(p.tables, int32(blocks-1-i))
	}
	var err error
	if p.host, err = attention.NewKV(quant.F32, 1, blocks, size, kvHeads, headDim); err != nil {
		g.Fatal(err)
	}
	p.host.Data = make([]byte, p.host.Size())
	width := kvHeads * headDim
	p.k, p.v = random(1, tokens*width), random(2, tokens*width)
	row, _ := t.Size(headDim)
	want := make([]byte, blocks*2*kvHeads*size*row)
	at := 0
	for s, n := range lengths {
		for pos := range n {
			block := int(p.tables[s*p.room+pos/size])
			p.slots = append(p.slots, int32(block*size+pos%size))
			from, to := at*width, (at+1)*width
			for part, x := range [][]float32{p.k[from:to], p.v[from:to]} {
				stored := encode(t, x)
				for h := range kvHeads {
					copy(want[((block*2+part)*kvHeads+h)*size*row+pos%size*row:], stored[h*row:(h+1)*row])
				}
			}
			p.host.Put(0, int32(block), pos%size, decode(t, encode(t, p.k[from:to]), width), decode(t, encode(t, p.v[from:to]), width))
			at++
		}
	}
	p.cache = g.bytes(make([]byte, len(want)))
	g.run(cuda.Name("kv_put", t), cuda.Dims{Rows: tokens, Out: width}, p.cache, g.floats(p.k), g.floats(p.v), g.ints(p.slots...), kvHeads, headDim, size)
	got := make([]byte, len(want))
	if err := g.Read(p.cache, got); err != nil {
		g.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		g.Fatalf("kv_put_%v stores other bytes than package quant makes", t)
	}
	return p
}

// A question is what rows ask of a cache.
type question struct {
	heads, window  int
	softcap, scale float32
	sinks          []float32
	seq, ends      []int32
	q              []float32
}

// answer returns what the CPU attends to, and for each number S and V of
// attend_prefill's bound.
func (p *paged) answer(x *question) (want []float32, s, v []float64) {
	n := x.heads * p.headDim
	want, s, v = make([]float32, len(x.q)), make([]float64, len(x.q)), make([]float64, len(x.q))
	group := x.heads / p.kvHeads
	o := attention.AttendOptions{Scale: x.scale, SoftCap: x.softcap}
	scratch := attention.NewScratch(p.host, group)
	const tiny = 0x1p-14
	for r, end := range x.ends {
		if end == 0 {
			continue
		}
		first := 0
		if x.window > 0 {
			first = max(0, int(end)-x.window)
		} else if x.window < 0 {
			first = (int(end) - 1) / -x.window * -x.window
		}
		table := p.tables[int(x.seq[r])*p.room:]
		for h := range p.kvHeads {
			from, to := r*n+h*group*p.headDim, r*n+(h+1)*group*p.headDim
			if x.sinks != nil {
				o.Sinks = x.sinks[h*group : (h+1)*group]
			}
			p.host.Attend(want[from:to], x.q[from:to], 0, h, table, first, int(end), o, scratch)
		}
		for h := range x.heads {
			at := r*n + h*p.headDim
			var scores []float64
			most, top := 0.0, math.Inf(-1)
			if x.sinks != nil {
				top = float64(x.sinks[h])
			}
			for t := first; t < int(end); t++ {
				k := p.stored(table, t, 0, h/group)
				sum, size := 0.0, 0.0
				for i, k := range k {
					q := float64(x.q[at+i]) * float64(x.scale)
					sum += q * k
					size += max(math.Abs(q), tiny) * math.Abs(k)
				}
				if x.softcap > 0 {
					sum = float64(x.softcap) * math.Tanh(sum/float64(x.softcap))
				}
				scores = append(scores, sum)
				most, top = max(most, size), max(top, sum)
			}
			all := 0.0
			if x.sinks != nil {
				all = math.Exp(float64(x.sinks[h]) - top)
			}
			for t, score := range scores {
				w := math.Exp(score - top)
				all += w
				for i, value := range p.stored(table, first+t, 1, h/group) {
					v[at+i] += max(w, tiny) * math.Abs(value)
				}
			}
			for i := range p.headDim {
				s[at+i] = most
				v[at+i] /= all
			}
		}
	}
	return want, s, v
}

// stored is a token's key (part 0) or value of a head.
func (p *paged) stored(table []int32, t, part, head int) []float64 {
	x := make([]float64, p.headDim)
	at := (((int(table[t/p.size])*2+part)*p.kvHeads+head)*p.size + t%p.size) * p.headDim * 4
	for i, f := range decode(quant.F32, p.host.Data[at:at+4*p.headDim], p.headDim) {
		x[i] = float64(f)
	}
	return x
}

// rounding is u of attend_prefill's bound.
var rounding = map[quant.Type]float64{quant.F16: 0x1p-11, quant.F8_E4M3: 0x1p-11, quant.BF16: 0x1p-8, quant.Q8_0: 0x1p-10}

// hold runs attend_prefill and holds it against the CPU.
func (p *paged) hold(g *gpu, x *question) {
	g.Helper()
	name := cuda.PrefillName(p.t, p.headDim)
	dst := g.floats(x.q) // dst may be q
	g.run(name, cuda.Dims{Rows: len(x.ends), Heads: x.heads}, dst, dst, p.cache, g.ints(p.tables...), g.ints(x.seq...), g.ints(x.ends...), x.sinksAt(g),
		p.room, len(x.ends), x.heads, p.kvHeads, p.size, x.window, x.scale, x.softcap)
	p.check(g, name, x, g.got(dst, len(x.q)))
}

// sinksAt uploads the sinks, if any.
func (x *question) sinksAt(g *gpu) uint64 {
	if x.sinks == nil {
		return none
	}
	return g.floats(x.sinks)
}

func (p *paged) check(g *gpu, name string, x *question, got []float32) {
	g.Helper()
	want, s, v := p.answer(x)
	u := rounding[p.t]
	near(g, name, got, want, func(i int) float64 {
		return ((3*s[i]+1)*u + (s[i]+float64(p.headDim+p.room*p.size))*0x1p-21) * v[i]
	})
	var diff, size float64
	for i := range want {
		diff += float64(got[i]-want[i]) * float64(got[i]-want[i])
		size += float64(want[i]) * float64(want[i])
	}
	// Roundings even out: a token too many shows here, where the bound has room.
	if d := math.Sqrt(diff / size); !(d <= u) {
		g.Errorf("%s: ‖difference‖/‖result‖ is %.2g, want at most %.2g", name, d, u)
	} else {
		g.Logf("%s: ‖difference‖/‖result‖ is %.2g", name, d)
	}
}

// run appends n rows of a sequence, the first of which sees one token more than from.
func (x *question) run(seq, from, n int) {
	for i := range n {
		x.seq, x.ends = append(x.seq, int32(seq)), append(x.ends, int32(from+i+1))
	}
}

func (x *question) ask(headDim int) *question {
	x.q = random(3, len(x.ends)*x.heads*headDim)
	x.scale = float32(1 / math.Sqrt(float64(headDim)))
	return x
}

// TestPrefill has every kernel, at lengths that are no multiples of anything, with
// tokens before the prompt, and two sequences.
func TestPrefill(t *testing.T) {
	for _, typ := range cuda.CacheTypes {
		for _, n := range cuda.PrefillHeads {
			if cuda.PrefillName(typ, n) == "" {
				continue
			}
			t.Run(fmt.Sprintf("%v %d", typ, n), func(t *testing.T) {
				g := newGPU(t)
				p := newPaged(g, typ, 1, n, 16, 85, 9)
				x := &question{heads: 2}
				x.run(0, 50, 35)
				x.run(1, 0, 9)
				p.hold(g, x.ask(n))
			})
		}
	}
}

// TestPrefillRows has the masks, and batches that blocks of 64 rows do not fit.
func TestPrefillRows(t *testing.T) {
	for _, tt := range []struct {
		name           string
		heads, kvHeads int
		size           int
		lengths        []int
		window         int
		softcap        float32
		sinks          bool
		runs           [][3]int // sequence, tokens before, rows
		pad            int
	}{
		{"a row", 1, 1, 4, []int{1}, 0, 0, false, [][3]int{{0, 0, 1}}, 0},
		{"whole tiles", 1, 1, 32, []int{128}, 0, 0, false, [][3]int{{0, 0, 128}}, 0},
		{"one row more", 1, 1, 32, []int{65}, 0, 0, false, [][3]int{{0, 0, 65}}, 0},
		{"groups", 6, 2, 3, []int{40}, 0, 0, false, [][3]int{{0, 3, 37}}, 0},
		{"sinks", 3, 1, 8, []int{70}, 0, 0, true, [][3]int{{0, 40, 30}}, 0},
		{"window", 2, 1, 8, []int{150}, 20, 0, false, [][3]int{{0, 70, 80}}, 0},
		{"chunks", 2, 1, 8, []int{150, 30}, -33, 0, false, [][3]int{{0, 60, 90}, {1, 10, 20}}, 0},
		{"window of one", 1, 1, 8, []int{80}, 1, 0, false, [][3]int{{0, 10, 70}}, 0},
		{"window, soft cap, sinks", 2, 2, 8, []int{90, 30}, 33, 2, true, [][3]int{{0, 60, 30}, {1, 0, 30}}, 0},
		{"soft cap", 2, 1, 16, []int{20}, 0, 1.5, false, [][3]int{{0, 0, 20}}, 0},
		{"many sequences", 1, 1, 4, []int{5, 1, 17, 64, 3, 30}, 0, 0, true, [][3]int{{2, 3, 14}, {0, 0, 5}, {1, 0, 1}, {3, 1, 63}, {4, 0, 3}, {5, 10, 20}}, 0},
		{"padding", 1, 1, 4, []int{5, 9}, 0, 0, false, [][3]int{{1, 0, 9}, {0, 0, 5}}, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGPU(t)
			p := newPaged(g, quant.F16, tt.kvHeads, 64, tt.size, tt.lengths...)
			x := &question{heads: tt.heads, window: tt.window, softcap: tt.softcap}
			if tt.sinks {
				x.sinks = random(4, tt.heads)
			}
			for _, r := range tt.runs {
				x.run(r[0], r[1], r[2])
			}
			x.seq, x.ends = append(x.seq, make([]int32, tt.pad)...), append(x.ends, make([]int32, tt.pad)...)
			p.hold(g, x.ask(64))
		})
	}
}

// TestPrefillAhead has rows that see all of their sequence, as encoders' do.
func TestPrefillAhead(t *testing.T) {
	g := newGPU(t)
	p := newPaged(g, quant.BF16, 2, 64, 4, 70, 20)
	x := &question{heads: 2}
	for s, n := range p.lengths {
		for range n {
			x.seq, x.ends = append(x.seq, int32(s)), append(x.ends, int32(n))
		}
	}
	p.hold(g, x.ask(64))
}

// TestPrefillBroken plants a NaN: rows that see it are NaN, others are not.
func TestPrefillBroken(t *testing.T) {
	for _, typ := range []quant.Type{quant.F16, quant.BF16, quant.F8_E4M3} {
		g := newGPU(t)
		p := newPaged(g, typ, 1, 64, 16, 40)
		k := random(5, 64)
		k[7] = float32(math.NaN())
		g.run(cuda.Name("kv_put", typ), cuda.Dims{Rows: 1, Out: 64}, p.cache, g.floats(k), g.floats(k[:64]), g.ints(p.slots[30]), 1, 64, 16)
		x := &question{heads: 1}
		x.run(0, 0, 40)
		x.ask(64)
		dst := g.Alloc(4 * len(x.q))
		g.run(cuda.PrefillName(typ, 64), cuda.Dims{Rows: 40, Heads: 1}, dst, g.floats(x.q), p.cache, g.ints(p.tables...), g.ints(x.seq...), g.ints(x.ends...), none,
			p.room, 40, 1, 1, 16, 0, x.scale, float32(0))
		for i, v := range g.got(dst, len(x.q)) {
			// The weight of a token a row does not see is 0, and 0 · NaN is NaN.
			if row := i / 64; row < 30 && i%64 != 7 && v != v || row >= 30 && v == v {
				t.Fatalf("%v: row %d is %g beside a NaN in token 30", typ, row, v)
			}
		}
	}
}

// TestPrefillFaults plants wrong tables and lengths.
func TestPrefillFaults(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(p *paged, x *question)
		fault bool
	}{
		{"right", func(*paged, *question) {}, false},
		{"block behind the last", func(p *paged, _ *question) { p.tables[1] = 9 }, true},
		{"longer than its table", func(_ *paged, x *question) { x.ends[2] = 33 }, true},
		{"no such sequence", func(_ *paged, x *question) { x.seq[0] = 7 }, true},
		{"fewer rows", func(_ *paged, x *question) { x.q = x.q[:len(x.q)-64] }, true},
	} {
		g := newGPU(t)
		p := newPaged(g, quant.F16, 1, 64, 16, 32)
		x := &question{heads: 1}
		x.run(0, 0, 32)
		x.ask(64)
		tt.spoil(p, x)
		err := g.launch(cuda.PrefillName(quant.F16, 64), cuda.Dims{Rows: 32, Heads: 1}, g.Alloc(4*32*64), g.floats(x.q), p.cache, g.ints(p.tables...), g.ints(x.seq...), g.ints(x.ends...), none,
			p.room, 32, 1, 1, 16, 0, x.scale, float32(0))
		if (err != nil) != tt.fault {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
