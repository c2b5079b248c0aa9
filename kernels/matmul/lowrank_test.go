package matmul

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// A change of a matrix that was made up, with its numbers as they are stored.
func madeChange(r *rand.Rand, a, b quant.Type, out, in, rank int) (c Change, fa, fb []float32) {
	store := func(t quant.Type, n int) ([]byte, []float32) {
		f := kerneltest.Floats(r, n)
		size, _ := t.Size(n)
		data := make([]byte, size)
		t.Layout().Encode(data, f)
		t.Layout().Decode(f, data)
		return data, f
	}
	c = Change{Rank: rank, TypeA: a, TypeB: b, Scale: 0.75}
	c.A, fa = store(a, rank*in)
	c.B, fb = store(b, rank*out)
	return c, fa, fb
}

// TestLowRank holds changes of several adapters in one batch against sums in float64, and
// every row against the same row alone, bit for bit.
func TestLowRank(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(7, 1))
		const out, in, rows = 1077, 130, 41
		var (
			changes []Change
			as, bs  [][]float32
		)
		for _, x := range []struct {
			a, b quant.Type
			rank int
		}{{quant.F32, quant.F32, 16}, {}, {quant.F16, quant.F16, 3}, {quant.BF16, quant.F32, 37}} {
			var c Change
			var fa, fb []float32
			if x.rank > 0 {
				c, fa, fb = madeChange(r, x.a, x.b, out, in, x.rank)
			}
			changes, as, bs = append(changes, c), append(as, fa), append(bs, fb)
		}
		l := NewLowRank(out, in, rows, changes)
		if l.Rank() != 37 {
			t.Fatalf("the highest rank is %d", l.Rank())
		}
		runs := []Run{{0, 1, 0}, {1, 2, -1}, {2, 22, 2}, {22, 24, 1}, {24, 40, 3}, {40, 41, 0}}
		x, y := kerneltest.Floats(r, rows*in), kerneltest.Floats(r, rows*out)
		got := append([]float32(nil), y...)
		l.Run(p, got, x, make([]float32, rows*l.Rank()), runs)
		for _, run := range runs {
			for b := run.From; b < run.To; b++ {
				one := append([]float32(nil), y[b*out:(b+1)*out]...)
				l.Run(p, one, x[b*in:(b+1)*in], make([]float32, l.Rank()), []Run{{0, 1, run.Change}})
				var h []float64
				c := Change{}
				if run.Change >= 0 {
					c = changes[run.Change]
				}
				for k := range c.Rank {
					sum := 0.0
					for i, v := range as[run.Change][k*in : (k+1)*in] {
						sum += float64(v) * float64(x[b*in+i])
					}
					h = append(h, sum)
				}
				for o := range out {
					want := float64(y[b*out+o])
					for k, v := range h {
						want += float64(c.Scale) * float64(bs[run.Change][k*out+o]) * v
					}
					kerneltest.Within(t, got[b*out+o], want, 1e-3, "row %d [%d]", b, o)
					if math.Float32bits(one[o]) != math.Float32bits(got[b*out+o]) {
						t.Fatalf("row %d [%d] is %g alone and %g in a batch", b, o, one[o], got[b*out+o])
					}
				}
			}
		}
	})
}

// A run of rows without a change is left alone, and running allocates nothing.
func TestLowRankAllocates(t *testing.T) {
	p := threads.NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(7, 2))
	c, _, _ := madeChange(r, quant.F32, quant.F32, 64, 64, 8)
	l := NewLowRank(64, 64, 4, []Change{c})
	x, y, low := kerneltest.Floats(r, 4*64), make([]float32, 4*64), make([]float32, 4*8)
	runs := []Run{{0, 2, -1}, {2, 4, 0}}
	if n := testing.AllocsPerRun(20, func() { l.Run(p, y, x, low, runs) }); n != 0 {
		t.Errorf("%g allocations a run", n)
	}
	for i, v := range y[:2*64] {
		if v != 0 {
			t.Fatalf("value %d of a row without a change is %g", i, v)
		}
	}
}
