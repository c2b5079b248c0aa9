package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/engine/graph"
	"quern/kernels/quant"
)

// TestStreams holds the ops on rows of several streams against sums written out; tokens behind
// the last row of a short table are zeros.
func TestStreams(t *testing.T) {
	const width, vocab, short = 24, 6, 4
	r := rand.New(rand.NewPCG(6, 1))
	embed, few := tensor(r, "embed", quant.F32, vocab, 3*width), tensor(r, "few", quant.F32, short, 3*width)
	by, v := tensor(r, "by", quant.F32, 6, 3*width), tensor(r, "v", quant.F32, width)
	g := graph.NewBuilder(3, 3)
	x := g.Embed(g.Tokens(), embed)
	y := g.EmbedSome(g.Tokens(), few, vocab)
	c := g.Linear(x, by, nil)
	two := g.HeadCut(x, 1, 0, 2*width)
	z := g.MatchRMS(g.Blend(y, two, c, 3), g.HeadCut(x, 1, 0, width), 1e-5)
	z = g.HeadJoin(z, g.Times(g.Sparsify(g.HeadCut(x, 1, 0, width), 0.5), v), 1)
	p, err := g.Compile(g.Take(z, g.Wanted()))
	if err != nil {
		t.Fatal(err)
	}
	be := Open(2)
	defer be.Close()
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	tokens := []int32{1, 5, 3}
	res, err := exec.Run(t.Context(), &graph.Batch{Tokens: tokens, Positions: []int32{0, 1, 2}, Seq: []int32{0, 0, 0}, Tables: [][]int32{{0}}, Want: []int32{0, 1, 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	floats := func(data []byte, n int) []float64 {
		f, to := make([]float32, n), make([]float64, n)
		quant.F32.Layout().Decode(f, data)
		for i, x := range f {
			to[i] = float64(x)
		}
		return to
	}
	table, part, coefs, vector := floats(embed.Data, vocab*3*width), floats(few.Data, short*3*width), floats(by.Data, 6*3*width), floats(v.Data, width)
	rms := func(x []float64) (mean, square float64) {
		for _, v := range x {
			mean += v / float64(len(x))
			square += v * v / float64(len(x))
		}
		return mean, square
	}
	for i, token := range tokens {
		x, y := table[int(token)*3*width:][:3*width], make([]float64, 3*width)
		if token < short {
			copy(y, part[int(token)*3*width:])
		}
		var want []float64
		mean, target := rms(x[:width])
		for o := range 3 {
			stream := append([]float64(nil), y[o*width:(o+1)*width]...)
			for j := range 2 {
				by := 0.0
				for k, v := range coefs[(2*o+j)*3*width:][:3*width] {
					by += v * x[k]
				}
				for k := range stream {
					stream[k] += by * x[j*width+k]
				}
			}
			_, own := rms(stream)
			for _, v := range stream {
				want = append(want, v*math.Sqrt(target/max(own, 1e-5)))
			}
		}
		for k, v := range x[:width] {
			want = append(want, max(0, v-mean-0.5*math.Sqrt(target-mean*mean))*vector[k])
		}
		for k, v := range res[0][i*4*width:][:4*width] {
			if math.Abs(float64(v)-want[k]) > 1e-4 {
				t.Fatalf("row %d: [%d] = %g, want %g", i, k, v, want[k])
			}
		}
	}
}
