package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/engine/graph"
	"quern/kernels/quant"
)

// TestHeads holds the ops on heads against sums written out, and one row against three.
func TestHeads(t *testing.T) {
	for _, typ := range []quant.Type{quant.F32, quant.F16, quant.Q8_0} {
		t.Run(typ.String(), func(t *testing.T) {
			const heads, in, out, vocab = 3, 64, 70, 5
			r := rand.New(rand.NewPCG(1, 2))
			embed, w := tensor(r, "embed", quant.F32, vocab, heads*in), tensor(r, "heads", typ, heads, out, in)
			g := graph.NewBuilder(3, 3)
			x := g.Embed(g.Tokens(), embed)
			y := g.HeadJoin(g.HeadCut(g.HeadLinear(x, w), heads, 5, out), g.HeadCut(x, heads, 0, 2), heads)
			p, err := g.Compile(g.Take(y, g.Wanted()))
			if err != nil {
				t.Fatal(err)
			}
			be := Open(2)
			defer be.Close()
			exec, err := be.Compile(t.Context(), p, graph.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			run := func(tokens ...int32) []float32 {
				b := &graph.Batch{Tokens: tokens, Tables: [][]int32{{0}}}
				for i := range tokens {
					b.Positions, b.Seq, b.Want = append(b.Positions, int32(i)), append(b.Seq, 0), append(b.Want, int32(i))
				}
				res, err := exec.Run(t.Context(), b, nil)
				if err != nil {
					t.Fatal(err)
				}
				return append([]float32(nil), res[0]...)
			}
			decode := func(typ quant.Type, data []byte, n int) []float32 {
				f := make([]float32, n)
				typ.Layout().Decode(f, data)
				return f
			}
			rows, weight := decode(quant.F32, embed.Data, embed.Elems()), decode(typ, w.Data, w.Elems())
			got := run(4, 0, 2)
			const width = out - 5 + 2
			for i, token := range []int{4, 0, 2} {
				for h := range heads {
					head := rows[(token*heads+h)*in:][:in]
					for o := range width {
						want := 0.0
						if o >= out-5 {
							want = float64(head[o-(out-5)])
						} else {
							for j, v := range weight[(h*out+o+5)*in:][:in] {
								want += float64(v) * float64(head[j])
							}
						}
						if d := math.Abs(float64(got[(i*heads+h)*width+o]) - want); !(d <= 2e-2*(1+math.Abs(want))) {
							t.Fatalf("row %d, head %d, value %d: %g, want %g", i, h, o, got[(i*heads+h)*width+o], want)
						}
					}
				}
			}
			for i, v := range run(2) {
				if v != got[2*heads*width+i] {
					t.Fatalf("value %d is %g alone and %g in a batch", i, v, got[2*heads*width+i])
				}
			}
		})
	}
}
