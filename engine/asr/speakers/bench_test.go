package speakers_test

import (
	"math/rand/v2"
	"testing"

	"quern/engine/asr/heard"
	"quern/engine/asr/speakers"
)

// The words of an hour in which two speak by turns, 2.4 s each.
func BenchmarkLabel(b *testing.B) {
	r := speakers.Result{}
	var list []heard.Segment
	for i := range 1500 {
		at := float64(i) * 2.4
		r.Turns = append(r.Turns, speakers.Turn{Start: at, End: at + 2.6, Speaker: i % 2})
		r.Sole = append(r.Sole, speakers.Turn{Start: at, End: at + 2.4, Speaker: i % 2})
		for k := range 6 {
			from := at + float64(k)*0.4
			list = append(list, heard.Segment{Start: from, End: from + 0.3, Words: []heard.Word{{Text: " a", Start: from, End: from + 0.3}}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Label(list)
	}
}

// The embeddings of an hour, two of each window, clustered by agglomeration and by VBx: of six
// voices, and of noise that drowns them.
func BenchmarkHour(b *testing.B) {
	const n, in, out, step = 2160, 256, 128, 10.0 / 3
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int, by float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = by * rng.NormFloat64()
		}
		return x
	}
	p := &speakers.PLDA{Mean: make([]float64, in), LDA: normal(in*out, 1.0/16), After: make([]float64, out), Mu: make([]float64, out), Tr: normal(out*out, 1.0/11), Psi: make([]float64, out)}
	for i := range p.Psi {
		p.Psi[i] = 20 / float64(i+1)
	}
	if err := p.Ready(in); err != nil {
		b.Fatal(err)
	}
	for _, kind := range []struct {
		name  string
		noise float64
	}{{"voices", 0.2}, {"noise", 2}} {
		var voices, x [][]float32
		for range 6 {
			v := make([]float32, in)
			for j := range v {
				v[j] = float32(rng.NormFloat64())
			}
			voices = append(voices, v)
		}
		var of speakers.Heard
		for i := range n {
			v := make([]float32, in)
			for j := range v {
				v[j] = voices[i%6][j] + float32(kind.noise*rng.NormFloat64())
			}
			x, of.Spans = append(x, v), append(of.Spans, speakers.Span{Start: i / 2 * 198, End: i/2*198 + 589})
		}
		for _, way := range []struct {
			name string
			plda *speakers.PLDA
		}{{"agglomeration", nil}, {"vbx", p}} {
			c := speakers.NewClustering(way.plda, step)
			b.Run(way.name+"/"+kind.name, func(b *testing.B) {
				for b.Loop() {
					c.Centroids(b.Context(), x, of, speakers.Bounds{})
				}
			})
		}
	}
}
