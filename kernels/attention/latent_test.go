package attention

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// Values that are the beginnings of keys give the bits of values that are kept beside them.
func TestLatents(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const size, heads, keyDim, valueDim, tokens, rows = 32, 16, 96, 64, 2500, 5
		for _, typ := range []quant.Type{quant.F16, quant.F32, quant.Q8_0, quant.Q4_0} {
			r := rand.New(rand.NewPCG(6, 4))
			blocks := tokens/size + 1
			whole, err := NewKV(typ, 2, blocks, size, 1, keyDim)
			if err != nil {
				t.Fatal(err)
			}
			kv, err := NewLatents(typ, 2, blocks, size, keyDim, valueDim)
			if err != nil {
				t.Fatal(err)
			}
			kv.Arrange()
			if 2*kv.Size() != whole.Size() {
				t.Errorf("%v: %d bytes, and %d with values", typ, kv.Size(), whole.Size())
			}
			table := make([]int32, blocks)
			for i, b := range r.Perm(blocks) {
				table[i] = int32(b)
			}
			whole.Data, kv.Data = make([]byte, whole.Size()), make([]byte, kv.Size())
			for i := range tokens {
				k := kerneltest.Floats(r, keyDim)
				whole.Put(1, table[i/size], i%size, k, k)
				kv.Put(1, table[i/size], i%size, k, nil)
			}
			var queries []Query
			for i := range rows {
				queries = append(queries, Query{Table: table, End: tokens - rows + i + 1})
			}
			q := kerneltest.Floats(r, rows*heads*keyDim)
			for _, n := range []int{rows, 1} {
				want, got := make([]float32, n*heads*keyDim), make([]float32, n*heads*valueDim)
				p := threads.NewPool(2)
				NewBatchAttention(heads, 1).Run(p, whole, 1, want, q[:len(want)], queries[:n], AttendOptions{Scale: 0.2})
				a := NewBatchAttention(heads, 1)
				a.Run(p, kv, 1, got, q[:len(want)], queries[:n], AttendOptions{Scale: 0.2})
				p.Close()
				for i := range n * heads {
					if !slices.Equal(got[i*valueDim:(i+1)*valueDim], want[i*keyDim:][:valueDim]) {
						t.Fatalf("%v, %d rows: head %d is %v, want %v", typ, n, i, got[i*valueDim:(i+1)*valueDim], want[i*keyDim:][:valueDim])
					}
				}
			}
		}
	})
}

func TestLatentSizes(t *testing.T) {
	for _, tt := range []struct {
		typ        quant.Type
		key, value int
	}{{quant.F16, 64, 64}, {quant.F16, 64, 0}, {quant.Q8_0, 64, 48}, {quant.Q4_0, 64, 48}} {
		if _, err := NewLatents(tt.typ, 1, 1, 32, tt.key, tt.value); err == nil {
			t.Errorf("values of %d in keys of %d %v", tt.value, tt.key, tt.typ)
		}
	}
}

// TestLatentsRead counts what of a cache a decode step depends on, number by number: c and the
// rotated key of the sequence's tokens in the one layer, each once, and nothing else of it.
func TestLatentsRead(t *testing.T) {
	const size, layers, blocks, heads, keyDim, valueDim, tokens = 8, 2, 4, 16, 40, 32, 19
	kv, err := NewLatents(quant.F32, layers, blocks, size, keyDim, valueDim)
	if err != nil {
		t.Fatal(err)
	}
	kv.Arrange()
	if got, want := kv.Size(), 4*layers*blocks*size*keyDim; got != want {
		t.Fatalf("a cache of %d bytes, want %d: one key a token and layer", got, want)
	}
	kv.Data = make([]byte, kv.Size())
	r := rand.New(rand.NewPCG(6, 6))
	copy(kv.Data, quant.Floats(kerneltest.Floats(r, len(kv.Data)/4)))
	table := []int32{3, 0, 2}
	p := threads.NewPool(1)
	defer p.Close()
	a := NewBatchAttention(heads, 1)
	q, dst := kerneltest.Floats(r, heads*keyDim), make([]float32, heads*valueDim)
	read := 0
	for i := range len(kv.Data) / 4 {
		was := binary.LittleEndian.Uint32(kv.Data[4*i:])
		binary.LittleEndian.PutUint32(kv.Data[4*i:], math.Float32bits(float32(math.NaN())))
		a.Run(p, kv, 1, dst, q, []Query{{Table: table, End: tokens}}, AttendOptions{Scale: 0.2})
		binary.LittleEndian.PutUint32(kv.Data[4*i:], was)
		block, slot := i/(size*keyDim), i/keyDim%size
		at := slices.Index(table, int32(block-blocks))
		want := at >= 0 && at*size+slot < tokens
		if got := slices.ContainsFunc(dst, func(v float32) bool { return v != v }); got != want {
			t.Fatalf("number %d, of slot %d of block %d: read %v, want %v", i, slot, block, got, want)
		}
		if want {
			read++
		}
	}
	if read != tokens*keyDim {
		t.Errorf("%d numbers are read for %d tokens, want %d of each", read, tokens, keyDim)
	}
}

// BenchmarkLatents is the attention of DeepSeek-V2-Lite (16 heads) and V3 (128). Of a decode step
// it tells how many bytes a token of the context is read as, and how many GB/s that is.
func BenchmarkLatents(b *testing.B) {
	for _, s := range []struct{ heads, rows, tokens int }{{16, 1, 16384}, {128, 1, 16384}, {16, 512, 512}, {16, 512, 4096}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("heads=%d,rows=%d,context=%d,threads=%d", s.heads, s.rows, s.tokens, workers), func(b *testing.B) {
				const size, keyDim, valueDim = 32, 576, 512
				layers := 1
				if s.rows == 1 {
					layers = 8 // not all in the caches
				}
				blocks := s.tokens / size
				kv, err := NewLatents(quant.F16, layers, blocks, size, keyDim, valueDim)
				if err != nil {
					b.Fatal(err)
				}
				kv.Arrange()
				kv.Data = make([]byte, kv.Size())
				r := rand.New(rand.NewPCG(6, 5))
				table := make([]int32, blocks)
				for i, v := range r.Perm(blocks) {
					table[i] = int32(v)
				}
				var k []float32
				for l := range layers {
					for i := range s.tokens {
						if i%97 == 0 {
							k = kerneltest.Floats(r, keyDim)
						}
						kv.Put(l, int32(i/size), i%size, k, nil)
					}
				}
				var queries []Query
				for i := range s.rows {
					queries = append(queries, Query{Table: table, End: s.tokens - s.rows + 1 + i})
				}
				p := threads.NewPool(workers)
				defer p.Close()
				a := NewBatchAttention(s.heads, 1)
				q, dst := kerneltest.Floats(r, s.rows*s.heads*keyDim), make([]float32, s.rows*s.heads*valueDim)
				layer := 0
				for b.Loop() {
					a.Run(p, kv, layer, dst, q, queries, AttendOptions{Scale: 0.07})
					layer = (layer + 1) % layers
				}
				if s.rows == 1 {
					read := float64(kv.Size() / layers)
					b.ReportMetric(read/float64(s.tokens), "B/token")
					b.ReportMetric(read*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
				} else {
					kerneltest.Report(b, 2*float64(s.rows*s.heads*(keyDim+valueDim))*(float64(s.tokens)-float64(s.rows-1)/2))
				}
			})
		}
	}
}
