package cpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/kernels/quant"
)

// layered records two layers of unlike heads and a third that looks at the keys of the
// second, whose rows are all or the wanted ones only.
func layered(t *testing.T, b *Backend, wantedOnly bool) graph.Exec {
	t.Helper()
	const rows, want = 12, 3
	r := rand.New(rand.NewPCG(11, 4))
	g := graph.NewBuilder(rows, want)
	positions := g.Positions()
	x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, hidden))
	wide := graph.Attention{Layer: 1, Heads: 2, KVHeads: 1, HeadDim: 32, Scale: 1, Window: 4}
	for i, o := range []graph.Attention{{Heads: 4, KVHeads: 2, HeadDim: 16, Scale: 1}, wide, wide} {
		rope := graph.Rope{HeadDim: o.HeadDim, Freqs: []float64{1, 0.1}, Magnitude: 1}
		q := g.Rope(g.Linear(x, tensor(r, "q", quant.F32, o.Heads*o.HeadDim, hidden), nil), positions, rope)
		if i == 2 {
			x = g.Add(x, g.SharedAttention(q, graph.SharedAttention{Attention: o}))
			break
		}
		k := g.Rope(g.Linear(x, tensor(r, "k", quant.F32, o.KVHeads*o.HeadDim, hidden), nil), positions, rope)
		a := g.Attention(q, k, g.Linear(x, tensor(r, "v", quant.F32, o.KVHeads*o.HeadDim, hidden), nil), o)
		if x = g.Add(x, a); i == 1 && wantedOnly {
			x, positions = g.Take(x, g.Wanted()), g.WantedPositions()
		}
	}
	if !wantedOnly {
		x = g.Take(x, g.Wanted())
	}
	p, err := g.Compile(x)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A cache whose layers have unlike heads takes what they take together; a block's copy has
// all of them; and dropping rows that are not wanted, after the last layer with keys, changes no
// bit of the rest.
func TestUnlikeLayers(t *testing.T) {
	b := Open(2)
	defer b.Close()
	spec := graph.CacheSpec{Blocks: 6, BlockSize: 4, Type: quant.F32, Layers: []graph.CacheLayer{{KVHeads: 2, HeadDim: 16}, {KVHeads: 1, HeadDim: 32}}}
	var first []float32
	for _, wantedOnly := range []bool{false, true} {
		for _, cut := range []int{0, 5} {
			c, err := b.NewCache(spec)
			if err != nil {
				t.Fatal(err)
			}
			if block := spec.BlockBytes(0); c.Bytes() != 6*block || block != 2*4*(32+32)*4 {
				t.Errorf("a cache of %d bytes, blocks of %d", c.Bytes(), block)
			}
			e := layered(t, b, wantedOnly)
			table := []int32{4, 2, 0}
			run := func(from, to int, want ...int32) []float32 {
				in := &graph.Batch{Tables: [][]int32{table}, Want: want}
				for i := from; i < to; i++ {
					in.Tokens, in.Positions, in.Seq = append(in.Tokens, int32(i*7%vocab)), append(in.Positions, int32(i)), append(in.Seq, 0)
				}
				out, err := e.Run(context.Background(), in, c)
				if err != nil {
					t.Fatal(err)
				}
				return slices.Clone(out[0])
			}
			if cut > 0 {
				run(0, cut)
				for i, to := range []int32{5, 3} { // on with copies of the first blocks
					c.Copy(0, to, table[i])
					table[i] = to
				}
			}
			got := run(cut, 10, int32(7-cut), int32(9-cut))
			if first == nil {
				first = got
			} else if !slices.Equal(got, first) {
				t.Errorf("cut at %d, wanted rows only %v: other bits", cut, wantedOnly)
			}
			e.Close()
			c.Close()
		}
	}
	for _, bad := range []graph.CacheSpec{
		{Layers: spec.Layers, BlockSize: 1, Type: quant.F32},
		{Blocks: 1, BlockSize: 1, Type: quant.F32, Layers: []graph.CacheLayer{{KVHeads: 1, HeadDim: 8}, {KVHeads: 1}}},
		{Blocks: 1, BlockSize: 1, Type: quant.Q8_0, Layers: []graph.CacheLayer{{KVHeads: 1, HeadDim: 32}, {KVHeads: 1, HeadDim: 16}}},
	} {
		if c, err := b.NewCache(bad); err == nil {
			t.Errorf("a cache of %+v: %v", bad, c)
		}
	}
}
