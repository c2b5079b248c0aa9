package cuda_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"quern/kernels/attention"
	"quern/kernels/cuda"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// TestAttentionFaults plants wrong tables and lengths.
func TestAttentionFaults(t *testing.T) {
	const heads, dim, size, blocks, tableLen = 2, 32, 4, 3, 2
	for _, tt := range []struct {
		name       string
		table      []int32
		seq, end   int32
		head       int
		wantsFault bool
	}{
		{"right", []int32{2, 0}, 0, 8, dim, false},
		{"block behind the last", []int32{2, 3}, 0, 8, dim, true},
		{"block below 0", []int32{-1, 0}, 0, 8, dim, true},
		{"longer than its table", []int32{2, 0}, 0, 9, dim, true},
		{"no such sequence", []int32{2, 0}, 1, 8, dim, true},
		{"wider heads", []int32{2, 0}, 0, 8, 2 * dim, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGPU(t)
			d := cuda.Dims{Heads: heads, Rows: 1, Splits: 1}
			err := g.launch("attend_f32", d, g.Alloc(4*heads*(dim+2)), g.floats(random(1, heads*dim)), g.floats(random(2, blocks*2*size*dim)),
				g.ints(tt.table...), g.ints(tt.seq), g.ints(tt.end), tableLen, heads, 1, tt.head, size, 0, float32(1), float32(0))
			if (err != nil) != tt.wantsFault {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAttention(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		t                       quant.Type
		heads, kvHeads, headDim int
		blockSize, window       int
		softcap                 float32
		sinks                   bool
	}{
		{"f16", quant.F16, 4, 2, 64, 16, 0, 0, false},
		{"f32, odd heads, sinks", quant.F32, 3, 1, 20, 3, 0, 0, true},
		{"window", quant.F16, 2, 2, 128, 8, 5, 0, false},
		{"soft cap", quant.F16, 2, 1, 80, 16, 0, 20, false},
		{"q8_0", quant.Q8_0, 4, 1, 96, 16, 0, 0, false},
		{"wide heads", quant.F16, 1, 1, 256, 4, 9, 30, true},
		{"wider heads", quant.F16, 2, 1, 512, 4, 9, 0, true},
		{"wider heads of a few", quant.F32, 1, 1, 300, 16, 0, 0, false},
		{"chunks", quant.F16, 2, 1, 64, 16, -6, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const sequences, tableLen = 2, 12
			lengths := [sequences]int{33, 2 * tt.blockSize}
			blocks := sequences*tableLen + 1
			kv, err := attention.NewKV(tt.t, 2, blocks, tt.blockSize, tt.kvHeads, tt.headDim)
			if err != nil {
				t.Fatal(err)
			}
			kv.Data = make([]byte, kv.Size())
			layer := kv.Size() / 2 // the second layer begins there
			width := tt.kvHeads * tt.headDim
			var tables, slots []int32
			for s := range sequences {
				for b := range tableLen {
					tables = append(tables, int32((7*(s*tableLen+b)+3)%blocks))
				}
				lengths[s] = min(lengths[s], tableLen*tt.blockSize)
			}
			rows := lengths[0] + lengths[1] + 1 // and one of padding
			k, v := random(1, rows*width), random(2, rows*width)
			row := 0
			for s, n := range lengths {
				for pos := range n {
					block := tables[s*tableLen+pos/tt.blockSize]
					kv.Put(1, block, pos%tt.blockSize, k[row*width:(row+1)*width], v[row*width:(row+1)*width])
					slots = append(slots, block*int32(tt.blockSize)+int32(pos%tt.blockSize))
					row++
				}
			}
			slots = append(slots, -1)
			g := newGPU(t)
			cache := g.bytes(make([]byte, layer))
			g.run(cuda.Name("kv_put", tt.t), cuda.Dims{Rows: rows, Out: width}, cache, g.floats(k), g.floats(v), g.ints(slots...), tt.kvHeads, tt.headDim, tt.blockSize)
			stored := make([]byte, layer)
			if err := g.Read(cache, stored); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(stored, kv.Data[layer:]) {
				t.Fatal("kv_put stores other bytes than kernels.KV")
			}

			// Rows at some places of both sequences, and one of padding.
			seq := []int32{0, 0, 1, 1, 0, 1}
			ends := []int32{1, int32(lengths[0]), int32(lengths[1]), 4, 6, 0}
			n := tt.heads * tt.headDim
			q := random(3, len(seq)*n)
			o := attention.AttendOptions{Scale: float32(1 / math.Sqrt(float64(tt.headDim))), SoftCap: tt.softcap}
			var sinks []float32
			at := none
			if tt.sinks {
				sinks = random(4, tt.heads)
				at = g.floats(sinks)
			}
			want := make([]float32, len(q))
			group := tt.heads / tt.kvHeads
			scratch := attention.NewScratch(kv, group)
			for r := range seq {
				end := int(ends[r])
				first := 0
				if tt.window > 0 {
					first = max(0, end-tt.window)
				} else if tt.window < 0 && end > 0 {
					first = (end - 1) / -tt.window * -tt.window
				}
				for h := range tt.kvHeads {
					if end == 0 {
						break
					}
					from, to := r*n+h*group*tt.headDim, r*n+(h+1)*group*tt.headDim
					if sinks != nil {
						o.Sinks = sinks[h*group : (h+1)*group]
					}
					kv.Attend(want[from:to], q[from:to], 1, h, tables[int(seq[r])*tableLen:(int(seq[r])+1)*tableLen], first, end, o, scratch)
				}
			}
			for _, splits := range []int{1, 3, 7} {
				d := cuda.Dims{Heads: tt.heads, Rows: len(seq), Splits: splits}
				part, dst := g.Alloc(4*len(seq)*tt.heads*splits*(tt.headDim+2)), g.Alloc(4*len(q))
				g.run(cuda.AttendName(tt.t, tt.headDim), d, part, g.floats(q), cache, g.ints(tables...), g.ints(seq...), g.ints(ends...),
					tableLen, tt.heads, tt.kvHeads, tt.headDim, tt.blockSize, tt.window, o.Scale, tt.softcap)
				d.Out = tt.headDim
				g.run("attend_combine", d, dst, part, at, tt.heads, tt.headDim, splits)
				bound := 4e-5 // values are below 5, their sum by weights too
				if tt.t == quant.Q8_0 {
					bound = 0.03 // the CPU rounds queries to eight bits
				}
				near(t, fmt.Sprintf("%d splits", splits), g.got(dst, len(q)), want, func(int) float64 { return bound })
			}
		})
	}
}

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
		{"bf16, chunks", quant.BF16, 2, 1, 64, 16, -12, 0, false},
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
			g := newGPU(t)
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
			g := newGPU(t)
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

// TestSides has windows to both sides and slopes, at the edges of sequences and within.
func TestSides(t *testing.T) {
	const heads, headDim, size = 4, 20, 4
	pool := threads.NewPool(1)
	defer pool.Close()
	for _, tt := range []struct {
		name   string
		window int
		slopes []float32
	}{{"window", 6, nil}, {"slopes", 0, []float32{0.5, 0.25, 0.125, 1}}, {"both", 9, []float32{0.5, 0.25, 0.125, 1}}} {
		g := newGPU(t)
		p := newPaged(g, quant.F32, 2, headDim, size, 30, 7)
		seq, positions, ends := []int32{0, 0, 0, 1, 1, 0}, []int32{0, 14, 29, 6, 2, 0}, []int32{30, 30, 30, 7, 7, 0}
		q := random(3, len(seq)*heads*headDim)
		scale := float32(0.3)
		var queries []attention.Query
		for i, s := range seq {
			at := int(positions[i])
			ask := attention.Query{Table: p.tables[int(s)*p.room : (int(s)+1)*p.room], End: int(ends[i]), At: at}
			if half := tt.window / 2; half > 0 {
				ask.First, ask.End = max(0, at-half), min(int(ends[i]), at+half+1)
			}
			if ends[i] > 0 { // else padding
				queries = append(queries, ask)
			}
		}
		n := len(queries) * heads * headDim
		want := make([]float32, len(q))
		attention.NewBatchAttention(heads, 2).Run(pool, p.host, 0, want[:n], q[:n], queries, attention.AttendOptions{Scale: scale, Slopes: tt.slopes})
		slopes := none
		if tt.slopes != nil {
			slopes = g.floats(tt.slopes)
		}
		for _, splits := range []int{1, 3} {
			d := cuda.Dims{Heads: heads, Rows: len(seq), Splits: splits, Out: headDim}
			part, dst := g.Alloc(4*len(seq)*heads*splits*(headDim+2)), g.Alloc(4*len(q))
			g.run("attend_sides_f32", d, part, g.floats(q), p.cache, g.ints(p.tables...), g.ints(seq...), g.ints(ends...), g.ints(positions...), slopes,
				p.room, heads, 2, headDim, size, tt.window, scale, float32(0))
			g.run("attend_combine", d, dst, part, none, heads, headDim, splits)
			near(t, fmt.Sprintf("%s, %d splits", tt.name, splits), g.got(dst, len(q)), want, func(int) float64 { return 4e-5 })
		}
	}
}

// TestLatents stores keys that begin with their values, and asks for rows of two sequences and
// one of padding.
func TestLatents(t *testing.T) {
	const size, room, blocks = 4, 10, 21
	for _, tt := range []struct {
		t                 quant.Type
		heads, key, value int
	}{
		{quant.F32, 9, 40, 24}, {quant.F16, 2, 576, 512}, {quant.BF16, 3, 72, 64}, {quant.F8_E4M3, 1, 40, 8}, {quant.Q8_0, 2, 320, 256},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			lengths := [2]int{37, 5}
			var tables, slots []int32
			for i := range 2 * room {
				tables = append(tables, int32(blocks-1-i))
			}
			kv, err := attention.NewLatents(quant.F32, 1, blocks, size, tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			kv.Data = make([]byte, kv.Size())
			row, _ := tt.t.Size(tt.key)
			stored := make([]byte, blocks*size*row)
			k := random(1, (lengths[0]+lengths[1]+1)*tt.key)
			n := 0
			for s, length := range lengths {
				for pos := range length {
					key := k[n*tt.key : (n+1)*tt.key]
					n++
					block := tables[s*room+pos/size]
					slot := int(block)*size + pos%size
					slots = append(slots, int32(slot))
					copy(stored[slot*row:], encode(tt.t, key))
					kept := decode(tt.t, stored[slot*row:(slot+1)*row], tt.key)
					kv.Put(0, block, pos%size, kept, kept)
				}
			}
			slots = append(slots, -1)
			g := newGPU(t)
			cache := g.bytes(make([]byte, len(stored)))
			g.run(cuda.Name("latent_put", tt.t), cuda.Dims{Rows: n + 1, Out: tt.key}, cache, g.floats(k), g.ints(slots...), tt.key)
			held := make([]byte, len(stored))
			if err := g.Read(cache, held); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(held, stored) {
				t.Fatal("latent_put stores other bytes than the type has")
			}
			seq, ends := []int32{0, 1, 0, 1}, []int32{37, 5, 1, 0}
			q := random(3, len(seq)*tt.heads*tt.key)
			scale := float32(1 / math.Sqrt(float64(tt.key)))
			want := make([]float32, len(seq)*tt.heads*tt.value)
			scratch := attention.NewScratch(kv, tt.heads)
			for r, end := range ends {
				if end > 0 {
					kv.Attend(want[r*tt.heads*tt.value:(r+1)*tt.heads*tt.value], q[r*tt.heads*tt.key:(r+1)*tt.heads*tt.key], 0, 0, tables[int(seq[r])*room:], 0, int(end), attention.AttendOptions{Scale: scale}, scratch)
				}
			}
			for _, splits := range []int{1, 3} {
				d := cuda.Dims{Heads: tt.heads, Rows: len(seq), Splits: splits, Out: tt.value}
				part, dst := g.Alloc(4*len(seq)*tt.heads*splits*(tt.value+2)), g.Alloc(4*len(want))
				g.run(cuda.Name("latent_attend", tt.t), d, part, g.floats(q), cache, g.ints(tables...), g.ints(seq...), g.ints(ends...), room, tt.heads, tt.key, tt.value, size, scale)
				g.run("attend_combine", d, dst, part, none, tt.heads, tt.value, splits)
				near(t, fmt.Sprintf("%d splits", splits), g.got(dst, len(want)), want, func(int) float64 { return 4e-5 })
			}
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
	g := newGPU(t)
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
