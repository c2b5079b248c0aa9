package conformer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randoms returns numbers of a deviation.
func randoms(r *rand.Rand, n int, by float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(by * r.NormFloat64())
	}
	return x
}

func ids(list []spoken) (out []int) {
	for _, s := range list {
		out = append(out, s.id)
	}
	return out
}

func softmax(x []float32) []float64 {
	sum := logSum(x)
	p := make([]float64, len(x))
	for i, v := range x {
		p[i] = math.Exp(float64(v) - sum)
	}
	return p
}

// likeliest returns the text with the most probability.
func likeliest(texts map[string]float64) (text string) {
	best := -1.0
	for s, p := range texts {
		if p > best {
			text, best = s, p
		}
	}
	return text
}

// The text that CTC's beam search finds is the likeliest of all, and the greedy one that of
// the likeliest labels.
func TestCTC(t *testing.T) {
	const tokens, frames = 4, 6
	m := open(t, toyCTC(t, tokens), OpenOptions{})
	if m.Kind != CTC || m.batches != "" {
		t.Fatalf("%s, batches %q", m.Kind, m.batches)
	}
	r := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for trial := range 20 {
		var rows [][]float32
		for range frames {
			rows = append(rows, randoms(r, tokens, 1))
		}
		texts := make(map[string]float64)
		labels := make([]int, frames)
		var all func(t int, p float64)
		all = func(t int, p float64) {
			if t == frames {
				var text []int
				before := tokens - 1
				for _, l := range labels {
					if l != before && l != tokens-1 {
						text = append(text, l)
					}
					before = l
				}
				texts[fmt.Sprint(text)] += p
				return
			}
			for l, q := range softmax(rows[t]) {
				labels[t] = l
				all(t+1, p*q)
			}
		}
		all(0, 1)
		w, g := shown(rows...), shown(rows...)
		w.beams = 200 // no text is dropped
		decoded(t, m, w, g)
		if got, want := fmt.Sprint(ids(w.tokens)), likeliest(texts); got != want {
			t.Errorf("trial %d: beam search finds %s with %g, the likeliest is %s with %g", trial, got, texts[got], want, texts[want])
		}
		var want []int
		before := tokens - 1
		for _, row := range rows {
			if l := argmax(row); l != before {
				if before = l; l != tokens-1 {
					want = append(want, l)
				}
			}
		}
		if !slices.Equal(ids(g.tokens), want) {
			t.Errorf("greedy: %v, want %v", ids(g.tokens), want)
		}
		if !slices.Equal(ids(g.tokens), ids(w.tokens)) {
			differ++
		} else if !slices.Equal(g.tokens, w.tokens) {
			t.Errorf("trial %d: beam search has tokens %+v, greedy decoding %+v", trial, w.tokens, g.tokens)
		}
	}
	if differ == 0 {
		t.Error("beam search and greedy decoding never differ: the trials show nothing")
	}
}

// How many tokens there are at a frame is what config.json says, unless the program does.
func TestPerFrame(t *testing.T) {
	for _, tt := range []struct {
		config string
		o      OpenOptions
		want   int
	}{
		{"", OpenOptions{}, 10},
		{`{"max_tokens_per_step": 3}`, OpenOptions{}, 3},
		{`{"max_tokens_per_step": 3}`, OpenOptions{PerFrame: 5}, 5},
		{`{"max_tokens_per_step": -3}`, OpenOptions{}, 10},
		{`{"max_tokens_per_step": 100000}`, OpenOptions{}, mostPerFrame},
	} {
		dir := toyTransducer(t, 3, 0, make([]float32, 9))
		write(t, dir, map[string][]byte{"config.json": []byte(tt.config)})
		w := shown([]float32{1, 0, 0}) // which writes the first token again and again
		if decoded(t, open(t, dir, tt.o), w); len(w.tokens) != tt.want {
			t.Errorf("%s, %d: %d tokens at a frame, want %d", tt.config, tt.o.PerFrame, len(w.tokens), tt.want)
		}
	}
}

// The tokens that CTC's beam search finds have the times of the likeliest labels that spell
// them: equal ones are apart, and the first may be there at once.
func TestAlign(t *testing.T) {
	m := open(t, toyCTC(t, 3), OpenOptions{})
	for _, tt := range []struct{ labels, want string }{
		{"a.bb..a", "[{0 0 1} {1 2 2} {0 6 1}]"},
		{".aa.a", "[{0 1 2} {0 4 1}]"},
		{"ab", "[{0 0 1} {1 1 1}]"},
		{"b", "[{1 0 1}]"},
		{"...", "[]"},
	} {
		var rows [][]float32
		for _, l := range tt.labels {
			row := make([]float32, 3)
			row[map[rune]int{'a': 0, 'b': 1, '.': 2}[l]] = 2
			rows = append(rows, row)
		}
		w := shown(rows...)
		w.beams = 8
		decoded(t, m, w)
		type timed struct{ id, at, frames int }
		got := []timed{}
		for _, s := range w.tokens {
			got = append(got, timed{s.id, s.at, s.frames})
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.labels, got, tt.want)
		}
	}
}

// A transducer's beam search finds the likeliest text of all ways through a small lattice.
func TestBeam(t *testing.T) {
	const tokens, frames, perFrame = 3, 3, 2
	r := rand.New(rand.NewPCG(3, 4))
	for _, durations := range []int{0, 3} {
		differ := 0
		for trial := range 12 {
			table := randoms(r, tokens*(tokens+durations), 1.5)
			m := open(t, toyTransducer(t, tokens, durations, table), OpenOptions{PerFrame: perFrame})
			if want := map[int]Kind{0: RNNT, 3: TDT}[durations]; m.Kind != want || m.durations != durations {
				t.Fatalf("%s of %d durations, want %s", m.Kind, m.durations, want)
			}
			var rows [][]float32
			for range frames {
				rows = append(rows, randoms(r, tokens+durations, 1.5))
			}
			texts := make(map[string]float64)
			var text []int
			var walk func(at, here int, p float64)
			walk = func(at, here int, p float64) {
				if at >= frames {
					texts[fmt.Sprint(text)] += p
					return
				}
				last := tokens - 1
				if len(text) > 0 {
					last = text[len(text)-1]
				}
				x := slices.Clone(rows[at])
				for i := range x {
					x[i] += table[last*len(x)+i]
				}
				moves := []float64{1}
				if durations > 0 {
					moves = softmax(x[tokens:])
				}
				for id, q := range softmax(x[:tokens]) {
					for d, move := range moves {
						now := here
						if id != tokens-1 {
							text = append(text, id)
							now++
						}
						step := d
						if step == 0 && (id == tokens-1 || now >= perFrame) {
							step = 1
						}
						if step > 0 {
							now = 0
						}
						walk(at+step, now, p*q*move)
						if id != tokens-1 {
							text = text[:len(text)-1]
						}
					}
				}
			}
			walk(0, 0, 1)
			w, g := shown(rows...), shown(rows...)
			w.beams = 200
			decoded(t, m, w, g)
			got, want := fmt.Sprint(ids(w.tokens)), likeliest(texts)
			if got != want {
				t.Errorf("%d durations, trial %d: beam search finds %s with %g, the likeliest is %s with %g", durations, trial, got, texts[got], want, texts[want])
			}
			if greedy := fmt.Sprint(ids(g.tokens)); greedy != got {
				differ++
				if texts[greedy] > texts[got]*1.001 {
					t.Errorf("%d durations, trial %d: greedy decoding finds %s with %g, better than %s with %g", durations, trial, greedy, texts[greedy], got, texts[got])
				}
			}
		}
		if differ == 0 {
			t.Error("beam search and greedy decoding never differ: the trials show nothing")
		}
	}
}

// largest finds the first of equals first.
func TestLargest(t *testing.T) {
	x := []float32{1, 3, 2, 3, 0}
	for n, want := range [][]int{1: {1}, 2: {1, 3}, 3: {1, 3, 2}, 9: {1, 3, 2, 0, 4}} {
		if want != nil && !slices.Equal(largest(x, n), want) {
			t.Errorf("%d largest: %v, want %v", n, largest(x, n), want)
		}
	}
}
