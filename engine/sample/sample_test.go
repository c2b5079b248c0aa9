package sample_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/sample"
	"quern/engine/token"
)

var inf = float32(math.Inf(1))

func next(t *testing.T, s *sample.Sampler, logits []float32, ban ...token.ID) token.ID {
	t.Helper()
	got, err := s.Next(slices.Clone(logits), ban)
	if err != nil {
		t.Fatal(err)
	}
	return got.ID
}

// normal returns n logits as of a model: a bell with the given width.
func normal(rng *rand.Rand, n int, width float64) []float32 {
	l := make([]float32, n)
	for i := range l {
		l[i] = float32(rng.NormFloat64() * width)
	}
	return l
}

func TestGreedy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		p      sample.Params
		logits []float32
		ban    []token.ID
		want   token.ID
	}{
		{"largest", sample.Params{}, []float32{1, 3, 2}, nil, 1},
		{"ties by id", sample.Params{}, []float32{1, 3, 3, 3}, nil, 1},
		{"barred by ban", sample.Params{}, []float32{1, 3, 2}, []token.ID{1, 99, -1}, 2},
		{"all negative", sample.Params{}, []float32{-9, -3, -4}, nil, 1},
		{"one possible", sample.Params{}, []float32{-inf, -inf, -1e30, -inf}, nil, 2},
		{"filters do not matter", sample.Params{TopK: 2, TopP: 0.1, MinP: 0.9, TypicalP: 0.2}, []float32{1, 3, 2}, nil, 1},
		{"tiny temperature", sample.Params{Temperature: 1e-44}, []float32{1, 3, 2}, nil, 1},
		{"negative temperature", sample.Params{Temperature: -1}, []float32{1, 3, 2}, nil, 1},
		{"bias", sample.Params{Bias: map[token.ID]float32{0: 5, 7: 100, -1: 3}}, []float32{1, 3, 2}, nil, 0},
		{"bias -100 bars whatever the logit", sample.Params{Bias: map[token.ID]float32{1: -100}}, []float32{1, 3000, 2}, nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := next(t, sample.New(tt.p, nil, nil), tt.logits, tt.ban...); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, p := range []sample.Params{
		{}, {Temperature: 1}, {Temperature: 1, TopK: 2}, {Temperature: 1, TopP: 0.5}, {Temperature: 1, MinP: 0.5},
		{Temperature: 1, TypicalP: 0.5}, {Logprobs: true, Top: 2}, {RepeatPenalty: 1.5},
	} {
		for _, tt := range []struct {
			name   string
			logits []float32
			ban    []token.ID
			want   error
		}{
			{"NaN first", []float32{nan, 1, 2, 3}, nil, sample.ErrLogits},
			{"NaN in the middle", []float32{3, 1, nan, 2}, nil, sample.ErrLogits},
			{"all NaN", []float32{nan, nan, nan, nan}, nil, sample.ErrLogits},
			{"infinite", []float32{3, 1, 2, inf}, nil, sample.ErrLogits},
			{"empty", nil, nil, sample.ErrBarred},
			{"all barred", []float32{1, 2}, []token.ID{1, 0}, sample.ErrBarred},
			{"all impossible", []float32{-inf, -inf, -inf}, nil, sample.ErrBarred},
		} {
			t.Run(fmt.Sprintf("%s %+v", tt.name, p), func(t *testing.T) {
				if _, err := sample.New(p, nil, nil).Next(tt.logits, tt.ban); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		}
	}
}

// settings are Params that between them use every stage alone and in company.
func settings(vocab int) map[string]sample.Params {
	k := vocab / 8
	return map[string]sample.Params{
		"temperature 1":      {Temperature: 1},
		"temperature 0.5":    {Temperature: 0.5},
		"temperature 2":      {Temperature: 2},
		"top-k 1":            {Temperature: 1, TopK: 1},
		"top-k":              {Temperature: 1, TopK: k},
		"top-k most":         {Temperature: 1, TopK: vocab - 1},
		"top-k all":          {Temperature: 1, TopK: vocab},
		"top-p 0.1":          {Temperature: 1, TopP: 0.1},
		"top-p 0.5":          {Temperature: 0.7, TopP: 0.5},
		"top-p 0.95":         {Temperature: 1, TopP: 0.95},
		"top-p 0.9999":       {Temperature: 1, TopP: 0.9999},
		"min-p 0.05":         {Temperature: 1, MinP: 0.05},
		"min-p 0.5":          {Temperature: 1.5, MinP: 0.5},
		"min-p 1":            {Temperature: 1, MinP: 1},
		"typical-p 0.2":      {Temperature: 1, TypicalP: 0.2},
		"typical-p 0.9":      {Temperature: 0.8, TypicalP: 0.9},
		"top-k top-p":        {Temperature: 0.8, TopK: k, TopP: 0.9},
		"top-p min-p":        {Temperature: 1, TopP: 0.9, MinP: 0.1},
		"typical-p min-p":    {Temperature: 1, TypicalP: 0.5, MinP: 0.3},
		"everything":         {Temperature: 1.3, TopK: k, TypicalP: 0.95, TopP: 0.9, MinP: 0.02},
		"off by being whole": {Temperature: 1, TopP: 1, TypicalP: 1},
	}
}

// TestDistributions draws often enough to see both what may come and how often.
func TestDistributions(t *testing.T) {
	const vocab = 48
	draws := 8000
	if fixtures.Whole {
		draws = 40000
	}
	for name, p := range settings(vocab) {
		for _, width := range []float64{0.3, 2, 6} {
			t.Run(fmt.Sprintf("%s width %v", name, width), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(width*10)))
				logits := normal(rng, vocab, width)
				for range 5 {
					logits[rng.IntN(vocab)] = -inf
				}
				logits[3] = logits[7] // a tie
				want := distribution(p, penalised(p, logits, nil, nil))
				p := p
				p.Seed = 99
				s := sample.New(p, nil, nil)
				counts := make([]float64, vocab)
				work := make([]float32, vocab)
				for range draws {
					copy(work, logits)
					tok, err := s.Next(work, nil)
					if err != nil {
						t.Fatal(err)
					}
					counts[tok.ID]++
				}
				chi, free, rest, restWant := 0.0, -1, 0.0, 0.0
				for id := range counts {
					if want[id] == 0 && counts[id] > 0 {
						t.Errorf("token %d was drawn %v times and cannot come", id, counts[id])
					}
					// Rare tokens share one cell, as χ² wants.
					if e := want[id] * float64(draws); e < 10 {
						rest, restWant = rest+counts[id], restWant+e
					} else {
						chi += (counts[id] - e) * (counts[id] - e) / e
						free++
					}
				}
				if restWant > 1 {
					chi += (rest - restWant) * (rest - restWant) / restWant
					free++
				}
				// Wilson & Hilferty's approximation at 4.5 standard deviations.
				if free > 0 {
					d := 2 / (9 * float64(free))
					if limit := float64(free) * math.Pow(1-d+4.5*math.Sqrt(d), 3); chi > limit {
						t.Errorf("χ² is %.1f with %d degrees of freedom, at most %.1f is plausible", chi, free, limit)
					}
				}
			})
		}
	}
}

// TestBig compares with the oracle where the fast paths differ from the slow
// ones: vocabularies that do not fit small buffers, all widths.
func TestBig(t *testing.T) {
	const vocab = 5000
	for name, p := range settings(vocab) {
		for _, width := range []float64{0, 0.01, 1, 3, 10} {
			t.Run(fmt.Sprintf("%s width %v", name, width), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(2, uint64(width*100)))
				logits := normal(rng, vocab, width)
				want := distribution(p, penalised(p, logits, nil, nil))
				n := 0
				for _, q := range want {
					if q > 0 {
						n++
					}
				}
				got := sample.Kept(p, logits)
				if len(got) != n {
					t.Errorf("%d tokens may come, want %d", len(got), n)
				}
				sum := 0.0
				for id, q := range got {
					sum += q
					if d := math.Abs(q - want[id]); d > 1e-5*want[id]+1e-35 {
						t.Fatalf("token %d has probability %g, want %g", id, q, want[id])
					}
				}
				if math.Abs(sum-1) > 1e-6 {
					t.Errorf("probabilities sum to %v", sum)
				}
			})
		}
	}
}

func TestKeptExact(t *testing.T) {
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	for _, tt := range []struct {
		name   string
		p      sample.Params
		logits []float32
		want   []token.ID
	}{
		{"top-k takes ties by id", sample.Params{TopK: 2}, []float32{1, 2, 2, 2}, []token.ID{1, 2}},
		{"top-p takes ties by id", sample.Params{TopP: 0.5}, []float32{1, 1, 1, 1}, []token.ID{0, 1}},
		{"top-p includes the token that crosses", sample.Params{TopP: 0.6}, []float32{ln(0.5), ln(0.25), ln(0.25)}, []token.ID{0, 1}},
		{"top-p tiny keeps one", sample.Params{TopP: 1e-6}, []float32{ln(0.5), ln(0.25), ln(0.25)}, []token.ID{0}},
		{"min-p keeps what is equal", sample.Params{MinP: 1}, []float32{2, 2, 1}, []token.ID{0, 1}},
		{"min-p above 1 keeps the best", sample.Params{MinP: 3}, []float32{2, 5, 1}, []token.ID{1}},
		// Entropy of (0.8 0.1 0.1) is 0.64; the surprises are 0.22 and 2.3.
		{"typical", sample.Params{TypicalP: 0.5}, []float32{ln(0.8), ln(0.1), ln(0.1)}, []token.ID{0}},
		// Entropy of (0.4, 60 × 0.01) is 3.1, nearer to 4.6 than to 0.9.
		{"typical drops the best", sample.Params{TypicalP: 0.015}, append([]float32{ln(0.4)}, slices.Repeat([]float32{ln(0.01)}, 60)...), []token.ID{1, 2}},
		{"top-p sees what top-k left", sample.Params{TopK: 2, TopP: 0.6}, []float32{ln(0.4), ln(0.3), ln(0.3)}, []token.ID{0, 1}},
		{"top-p sees what top-k left, all in one", sample.Params{TopK: 2, TopP: 0.55}, []float32{ln(0.4), ln(0.3), ln(0.3)}, []token.ID{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.Temperature = 1
			var got []token.ID
			for id := range sample.Kept(tt.p, tt.logits) {
				got = append(got, id)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestPenalties compares with the oracle over long random replies.
func TestPenalties(t *testing.T) {
	const vocab = 40
	for _, p := range []sample.Params{
		{RepeatPenalty: 1.3},
		{RepeatPenalty: 1.3, RepeatLastN: 5},
		{RepeatPenalty: 0.5, RepeatLastN: 1},
		{RepeatPenalty: 1.2, RepeatLastN: -1},
		{RepeatPenalty: 1.2, RepeatLastN: 1 << 30},
		{FrequencyPenalty: 0.4},
		{PresencePenalty: 1.5},
		{PresencePenalty: -0.5, FrequencyPenalty: -0.1},
		{RepeatPenalty: 1.3, RepeatLastN: 7, FrequencyPenalty: 0.2, PresencePenalty: 0.3, Bias: map[token.ID]float32{3: 2, 4: -100}},
	} {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			prompt := make([]token.ID, 90)
			for i := range prompt {
				prompt[i] = token.ID(rng.IntN(vocab + 3)) // ids past the vocabulary must do no harm
			}
			s := sample.New(p, prompt, nil)
			var generated []token.ID
			for range 200 {
				logits := normal(rng, vocab, 1)
				l := penalised(p, logits, prompt, generated)
				got := next(t, s, logits)
				for id, v := range l {
					if v > l[got]+1e-5 {
						t.Fatalf("after %d tokens: got %d with logit %v, but %d has %v", len(generated), got, l[got], id, v)
					}
				}
				generated = append(generated, got)
			}
		})
	}
}

func TestSeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var rows [][]float32
	for range 64 {
		rows = append(rows, normal(rng, 300, 1))
	}
	reply := func(s *sample.Sampler) (ids []token.ID) {
		for _, row := range rows {
			ids = append(ids, next(t, s, row))
		}
		return ids
	}
	for _, p := range []sample.Params{{Temperature: 1}, {Temperature: 1, TopP: 0.9}, {Temperature: 1, TopK: 40}} {
		p.Seed = 7
		want := reply(sample.New(p, nil, nil))
		if got := reply(sample.New(p, nil, nil)); !slices.Equal(got, want) {
			t.Errorf("equal seeds gave %v and %v", want, got)
		}
		// Two samplers in one set of buffers, in turn.
		var b sample.Buffers
		p2 := p
		p2.Seed, p2.TopK = 8, 7
		one, two := sample.New(p, nil, nil), sample.New(p2, nil, nil)
		one.Share(&b)
		two.Share(&b)
		var got []token.ID
		for _, row := range rows {
			got = append(got, next(t, one, row))
			next(t, two, row)
		}
		if !slices.Equal(got, want) {
			t.Errorf("company changed %v to %v", want, got)
		}
		p.Logprobs, p.Top = true, 3
		if got := reply(sample.New(p, nil, nil)); !slices.Equal(got, want) {
			t.Errorf("log-probabilities changed %v to %v", want, got)
		}
		p.Seed = 6
		if got := reply(sample.New(p, nil, nil)); slices.Equal(got, want) {
			t.Errorf("seeds 6 and 7 both gave %v", got)
		}
	}
}

// A listMask allows listed tokens and remembers what it accepted.
type listMask struct {
	allow    []token.ID
	accepted []token.ID
	forced   []token.ID
	before   []token.ID // as Forced was called with
	words    [4]uint32
	asked    int // for bits
	err      error
}

func (m *listMask) Bits() ([]uint32, error) {
	m.asked++
	clear(m.words[:])
	for _, id := range m.allow {
		m.words[id/32] |= 1 << (id % 32)
	}
	return m.words[:], m.err
}

func (m *listMask) Forced(dst, before []token.ID) []token.ID {
	m.before = slices.Clone(before)
	return append(dst, m.forced...)
}

func (m *listMask) Allows(id token.ID) bool { return m.err == nil && slices.Contains(m.allow, id) }
func (m *listMask) MayEnd() bool            { return m.Ended() }
func (m *listMask) Ended() bool             { return len(m.accepted) == 3 }

func (m *listMask) Accept(id token.ID) error {
	if len(m.accepted) == 3 {
		return errors.New("full")
	}
	m.accepted = append(m.accepted, id)
	return nil
}

func TestMask(t *testing.T) {
	m := &listMask{allow: []token.ID{2, 4}}
	s := sample.New(sample.Params{Temperature: 1, Seed: 1, Logprobs: true, Top: 1}, nil, m)
	logits := []float32{9, 1, 1, 1, 1}
	for range 3 {
		tok, err := s.Next(slices.Clone(logits), nil)
		if err != nil || !slices.Contains(m.allow, tok.ID) {
			t.Fatalf("got %v, %v", tok, err)
		}
		if tok.Top[0].ID != 0 {
			t.Errorf("the mask changed the log-probabilities: %v", tok.Top)
		}
	}
	if _, err := s.Next(slices.Clone(logits), []token.ID{2, 4}); !errors.Is(err, sample.ErrBarred) {
		t.Errorf("got %v, want ErrBarred", err)
	}
	if _, err := s.Next(slices.Clone(logits), nil); err == nil {
		t.Error("a refused token was drawn")
	}
}

func TestLogprobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, vocab := range []int{1, 3, 30, 1000} {
		for _, top := range []int{0, 1, 5, 20, 50, -3} {
			logits := normal(rng, vocab, 4)
			if vocab > 3 {
				logits[1] = logits[2]
				logits[0] = -inf
			}
			p := sample.Params{Temperature: 0.3, TopK: 2, Logprobs: true, Top: top, Seed: 3,
				RepeatPenalty: 2, Bias: map[token.ID]float32{0: 1, 2: -100}}
			l := penalised(sample.Params{Bias: p.Bias}, logits, nil, nil)
			all := make([]int, vocab)
			for i := range all {
				all[i] = i
			}
			q := softmax(l, all, 1)
			want := shortest(all, q, math.Inf(1), func(id int) float64 { return -l[id] })
			want = want[:max(0, min(top, 20, vocab))]
			tok, err := sample.New(p, []token.ID{1, 2}, nil).Next(logits, nil)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(math.Exp(float64(tok.Logprob))-q[tok.ID]) > 1e-6 {
				t.Errorf("vocab %d: chosen has %v, want %v", vocab, tok.Logprob, math.Log(q[tok.ID]))
			}
			if len(tok.Top) != len(want) {
				t.Fatalf("vocab %d top %d: %d alternatives, want %d", vocab, top, len(tok.Top), len(want))
			}
			for i, c := range tok.Top {
				if int(c.ID) != want[i] || math.Abs(math.Exp(float64(c.Logprob))-q[want[i]]) > 1e-6 {
					t.Errorf("vocab %d top %d: place %d is %v, want %d with %v", vocab, top, i, c, want[i], math.Log(q[want[i]]))
				}
			}
		}
	}
	logits := []float32{1, 2, 3, 4}
	before := slices.Clone(logits)
	if got := sample.Logprobs(logits, 9, 2); !math.IsInf(float64(got.Logprob), -1) || len(got.Top) != 2 {
		t.Errorf("a token outside the vocabulary: %v", got)
	}
	if !slices.Equal(logits, before) {
		t.Error("logits were changed")
	}
	if got := sample.Logprobs([]float32{1, float32(math.NaN())}, 0, 1); !math.IsNaN(float64(got.Logprob)) {
		t.Errorf("NaN gave %v", got)
	}
	if got := sample.Logprobs([]float32{-inf, -inf}, 0, 2); !math.IsInf(float64(got.Logprob), -1) || len(got.Top) != 2 {
		t.Errorf("all impossible gave %v", got)
	}
}

func TestNoAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	for name, p := range settings(2000) {
		p.RepeatPenalty, p.FrequencyPenalty = 1.1, 0.1
		logits, work := normal(rng, 2000, 3), make([]float32, 2000)
		s := sample.New(p, nil, nil)
		one := func() {
			copy(work, logits)
			if _, err := s.Next(work, []token.ID{1}); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			one()
		}
		if n := testing.AllocsPerRun(100, one); n != 0 {
			t.Errorf("%s: %v allocations per token", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, vocab := range []int{32 << 10, 128 << 10} {
		for _, tt := range []struct {
			name string
			p    sample.Params
		}{
			{"greedy", sample.Params{}},
			{"temperature", sample.Params{Temperature: 0.8}},
			{"top-k 40", sample.Params{Temperature: 0.8, TopK: 40}},
			{"top-k 1000", sample.Params{Temperature: 0.8, TopK: 1000}},
			{"top-p 0.95", sample.Params{Temperature: 0.8, TopP: 0.95}},
			{"min-p 0.05", sample.Params{Temperature: 0.8, MinP: 0.05}},
			{"typical-p 0.9", sample.Params{Temperature: 0.8, TypicalP: 0.9}},
			{"top-k 40 top-p 0.95 min-p 0.05 repeat 1.1", sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1}},
			{"logprobs 5", sample.Params{Logprobs: true, Top: 5}},
		} {
			for _, width := range []float64{1, 4} { // flat, and as models have it
				b.Run(fmt.Sprintf("%s/vocab %d/width %v", tt.name, vocab, width), func(b *testing.B) {
					logits := normal(rand.New(rand.NewPCG(1, 2)), vocab, width)
					work := make([]float32, vocab)
					s := sample.New(tt.p, nil, nil)
					b.SetBytes(int64(4 * vocab))
					b.ReportAllocs()
					for b.Loop() {
						copy(work, logits)
						if _, err := s.Next(work, nil); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
