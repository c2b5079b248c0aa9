package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// Every row of a batch must get the bits KV.Attend gives it alone, however the
// batch is cut.
func TestBatchAttention(t *testing.T) {
	const layers, size, kvHeads, group, dim, blocks = 2, 32, 2, 3, 32, 170
	r := rand.New(rand.NewPCG(6, 1))
	keys, values := kerneltest.Floats(r, blocks*size*kvHeads*dim), kerneltest.Floats(r, blocks*size*kvHeads*dim)
	isatest.Each(t, func(t *testing.T) {
		for which, c := range []struct {
			typ   quant.Type
			byDim bool
		}{{quant.F16, false}, {quant.F16, true}, {quant.BF16, false}, {quant.BF16, true}, {quant.F32, false}, {quant.F32, true}, {quant.Q8_0, false}, {quant.Q8_0, true}, {quant.Q4_0, false}, {quant.Q4_0, true}} {
			typ := c.typ
			r := rand.New(rand.NewPCG(6, 1))
			kv, err := NewKV(typ, layers, blocks, size, kvHeads, dim)
			if err != nil {
				t.Fatal(err)
			}
			kv.byDim = c.byDim
			kv.Data = make([]byte, kv.Size())
			one, two := make([]int32, 140), make([]int32, 30) // two sequences' blocks
			for i, b := range r.Perm(blocks) {
				if i < len(one) {
					one[i] = int32(b)
				} else {
					two[i-len(one)] = int32(b)
				}
			}
			for i := range blocks * size {
				kv.Put(1, int32(i/size), i%size, keys[i*kvHeads*dim:][:kvHeads*dim], values[i*kvHeads*dim:][:kvHeads*dim])
			}
			long := len(one) * size // three partitions
			var prompt []Query
			for i := range 40 {
				prompt = append(prompt, Query{one, 0, 240 + i, 239 + i})
			}
			var window []Query
			for i := range 25 {
				window = append(window, Query{one, 2030 + i, 2060 + i, 2059 + i})
			}
			for number, tt := range []struct {
				name    string
				queries []Query
			}{
				{"none", nil},
				{"one short", []Query{{one, 0, 1, 0}}},
				{"one long", []Query{{one, 0, long - 5, long - 6}}},
				{"one long, window", []Query{{one, 3000, long, long - 1}}},
				{"two sequences", []Query{{one, 0, long, long - 1}, {two, 0, 900, 899}}},
				{"prompt", prompt},
				{"prompt in a window", window},
				{"prompt and another", append(append([]Query{{two, 0, 7, 6}}, prompt[:20]...), Query{two, 0, 8, 7})},
			} {
				q := kerneltest.Floats(r, len(tt.queries)*kvHeads*group*dim)
				sinks, slopes := kerneltest.Floats(r, kvHeads*group), kerneltest.Floats(r, kvHeads*group)
				for turn, o := range []AttendOptions{{Scale: 0.2}, {Scale: 0.2, SoftCap: 3, Sinks: sinks}, {Scale: 0.2, Slopes: slopes}} {
					// What is made of scores knows no number type: all of it is asked of the first, of the others by turns.
					if typ != quant.F16 && (which+number)%3 != turn {
						continue
					}
					want := make([]float32, len(q))
					s := NewScratch(kv, group)
					n := group * dim
					for i, row := range tt.queries {
						for h := range kvHeads {
							at, ho := (i*kvHeads+h)*n, o
							if o.Sinks != nil {
								ho.Sinks = sinks[h*group : (h+1)*group]
							}
							if o.Slopes != nil {
								ho.Slopes = slopes[h*group : (h+1)*group]
							}
							kv.Attend(want[at:at+n], q[at:at+n], 1, h, row.Table, row.First, row.End, ho, s)
						}
					}
					a := NewBatchAttention(kvHeads*group, kvHeads)
					for _, workers := range []int{1, 3, 7} {
						p := threads.NewPool(workers)
						dst := make([]float32, len(q))
						a.Run(p, kv, 1, dst, q, tt.queries, o)
						p.Close()
						for i, f := range dst {
							if math.Float32bits(f) != math.Float32bits(want[i]) {
								t.Fatalf("%v %s, %d workers: row %d [%d] = %g, want %g", typ, tt.name, workers, i/(kvHeads*n), i%(kvHeads*n), f, want[i])
							}
						}
					}
				}
			}
		}
	})
}

// Slopes take the distance of a token, before the query and behind it, off its score:
// against float64, with a query in the middle of what it sees, over two partitions.
func TestSlopes(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const size, dim, heads, n, at = 32, 16, 2, 2300, 1200
		r := rand.New(rand.NewPCG(6, 3))
		kv, err := NewKV(quant.F32, 1, n/size+1, size, 1, dim)
		if err != nil {
			t.Fatal(err)
		}
		kv.Data = make([]byte, kv.Size())
		table := make([]int32, n/size+1)
		var ks, vs [][]float32
		for i := range n {
			table[i/size] = int32(i / size)
			ks, vs = append(ks, kerneltest.Floats(r, dim)), append(vs, kerneltest.Floats(r, dim))
			kv.Put(0, table[i/size], i%size, ks[i], vs[i])
		}
		q, dst, slopes := kerneltest.Floats(r, heads*dim), make([]float32, heads*dim), []float32{0.25, 0.003}
		p := threads.NewPool(1)
		defer p.Close()
		NewBatchAttention(heads, 1).Run(p, kv, 0, dst, q, []Query{{table, 3, n, at}}, AttendOptions{Scale: 0.5, Slopes: slopes})
		for h := range heads {
			sum, want := 0.0, make([]float64, dim)
			for i := 3; i < n; i++ {
				score := 0.0
				for d := range dim {
					score += 0.5 * float64(q[h*dim+d]) * float64(ks[i][d])
				}
				e := math.Exp(score - float64(slopes[h])*math.Abs(float64(at-i)))
				sum += e
				for d := range want {
					want[d] += e * float64(vs[i][d])
				}
			}
			for d := range want {
				if got, want := float64(dst[h*dim+d]), want[d]/sum; math.Abs(got-want) > 1e-5 {
					t.Errorf("head %d [%d] = %g, want %g", h, d, got, want)
				}
			}
		}
	})
}

// A sequence of several partitions against float64.
func TestAttendLong(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const size, dim, n = 32, 16, 4500
		r := rand.New(rand.NewPCG(6, 2))
		kv, err := NewKV(quant.F32, 1, n/size+1, size, 1, dim)
		if err != nil {
			t.Fatal(err)
		}
		kv.Data = make([]byte, kv.Size())
		table := make([]int32, n/size+1)
		var ks, vs [][]float32
		for i := range n {
			table[i/size] = int32(i / size)
			ks, vs = append(ks, kerneltest.Floats(r, dim)), append(vs, kerneltest.Floats(r, dim))
			vec.Scale(ks[i], ks[i], float32(i)/n*3) // the largest scores come late
			kv.Put(0, table[i/size], i%size, ks[i], vs[i])
		}
		q, dst := kerneltest.Floats(r, dim), make([]float32, dim)
		kv.Attend(dst, q, 0, 0, table, 0, n, AttendOptions{Scale: 0.5}, NewScratch(kv, 1))
		for d, want := range slowAttend(q, ks, vs, 0.5) {
			kerneltest.Within(t, dst[d], want, 3e-5, "[%d]", d)
		}
	})
}

func TestBatchAttentionAllocates(t *testing.T) {
	const size, dim, tokens = 32, 64, 5000
	kv, err := NewKV(quant.F16, 1, tokens/size+1, size, 1, dim)
	if err != nil {
		t.Fatal(err)
	}
	kv.Data = make([]byte, kv.Size())
	queries := []Query{{Table: make([]int32, tokens/size+1), End: tokens}}
	p := threads.NewPool(2)
	defer p.Close()
	a, q, dst := NewBatchAttention(4, 1), make([]float32, 4*dim), make([]float32, 4*dim)
	run := func() { a.Run(p, kv, 0, dst, q, queries, AttendOptions{Scale: 1}) }
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 && runtime.GOOS != "js" { // there a turn of the event loop takes memory
		t.Errorf("%g allocations a step", n)
	}
}

func BenchmarkBatchAttention(b *testing.B) {
	const decode = 32768
	for _, s := range []struct {
		typ               quant.Type
		rows, tokens, dim int
		groups            []int
	}{
		{quant.F16, 1, decode, 64, []int{1, 4, 7, 8}},
		{quant.F16, 1, decode, 128, []int{1, 4, 7, 8}},
		{quant.BF16, 1, decode, 64, []int{1, 4, 7, 8}},
		{quant.BF16, 1, decode, 128, []int{1, 4, 7, 8}},
		{quant.F32, 1, decode, 64, []int{1, 4, 8}},
		{quant.Q8_0, 1, decode, 64, []int{1, 4, 8}},
		{quant.Q8_0, 1, decode, 128, []int{1, 4, 8}},
		{quant.Q4_0, 1, decode, 64, []int{1, 4, 8}},
		{quant.Q4_0, 1, decode, 128, []int{1, 4, 8}},
		{quant.F16, 512, 512, 64, []int{1, 8}},
		{quant.F16, 64, 8192, 64, []int{8}},
		{quant.BF16, 64, 8192, 64, []int{8}},
		{quant.Q8_0, 64, 8192, 64, []int{8}},
		{quant.F16, 64, 8192, 128, []int{4}},
		{quant.BF16, 64, 8192, 128, []int{4}},
	} {
		for _, group := range s.groups {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%v,rows=%d,context=%d,dim=%d,group=%d,threads=%d", s.typ, s.rows, s.tokens, s.dim, group, workers), func(b *testing.B) {
					benchmarkAttention(b, s.typ, s.rows, s.tokens, s.dim, group, workers)
				})
			}
		}
	}
}

func benchmarkAttention(b *testing.B, typ quant.Type, rows, tokens, dim, group, workers int) {
	const size, kvHeads = 32, 4
	r := rand.New(rand.NewPCG(6, 3))
	blocks := tokens / size
	// Layers enough that nothing stays in the cache.
	layers := 1
	if rows == 1 {
		layers = 8
	}
	kv, err := NewKV(typ, layers, blocks, size, kvHeads, dim)
	if err != nil {
		b.Fatal(err)
	}
	kv.Arrange()
	kv.Data = make([]byte, kv.Size())
	k, v := kerneltest.Floats(r, kvHeads*dim), kerneltest.Floats(r, kvHeads*dim)
	for l := range layers {
		for i := range tokens {
			if i%97 == 0 {
				k, v = kerneltest.Floats(r, kvHeads*dim), kerneltest.Floats(r, kvHeads*dim)
			}
			kv.Put(l, int32(i/size), i%size, k, v)
		}
	}
	table := make([]int32, blocks)
	for i, v := range r.Perm(blocks) {
		table[i] = int32(v)
	}
	var queries []Query
	for i := range rows {
		queries = append(queries, Query{Table: table, End: tokens - rows + 1 + i})
	}
	p := threads.NewPool(workers)
	defer p.Close()
	a := NewBatchAttention(kvHeads*group, kvHeads)
	q := kerneltest.Floats(r, rows*kvHeads*group*dim)
	dst := make([]float32, len(q))
	if rows == 1 {
		b.SetBytes(int64(kv.Size() / layers))
	}
	b.ReportAllocs()
	layer := 0
	for b.Loop() {
		a.Run(p, kv, layer, dst, q, queries, AttendOptions{Scale: 0.125})
		layer = (layer + 1) % layers
	}
	if rows > 1 {
		mean := float64(tokens) - float64(rows-1)/2
		kerneltest.Report(b, 4*float64(rows*kvHeads*group*dim)*mean)
	}
}

// BenchmarkSlopes is a text of 2048 tokens that all see each other, without and with slopes.
func BenchmarkSlopes(b *testing.B) {
	const size, dim, heads, n = 32, 64, 12, 2048
	r := rand.New(rand.NewPCG(6, 4))
	kv, err := NewKV(quant.F32, 1, n/size, size, heads, dim)
	if err != nil {
		b.Fatal(err)
	}
	kv.Arrange()
	kv.Data = make([]byte, kv.Size())
	table := make([]int32, n/size)
	var queries []Query
	for i := range n {
		table[i/size] = int32(i / size)
		queries = append(queries, Query{table, 0, n, i})
		kv.Put(0, table[i/size], i%size, kerneltest.Floats(r, heads*dim), kerneltest.Floats(r, heads*dim))
	}
	q, dst, slopes := kerneltest.Floats(r, n*heads*dim), make([]float32, n*heads*dim), kerneltest.Floats(r, heads)
	p := threads.NewPool(1)
	defer p.Close()
	for name, o := range map[string]AttendOptions{"without": {Scale: 0.1}, "with": {Scale: 0.1, Slopes: slopes}} {
		b.Run(name, func(b *testing.B) {
			a := NewBatchAttention(heads, heads)
			for b.Loop() {
				a.Run(p, kv, 0, dst, q, queries, o)
			}
		})
	}
}
