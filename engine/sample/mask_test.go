package sample_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/sample"
	"quern/engine/token"
)

// TestMaskIsExact: a draw under a mask is one from logits where what it bars is -Inf,
// at any temperature and with any filters, and reports log-probabilities as if there
// were no mask.
func TestMaskIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for round := range 3000 {
		vocab := 1 + rng.IntN(200) // more and less than the mask's 128 bits
		logits := normal(rng, vocab, 4)
		var allow []token.ID
		for id := range min(vocab, 128) {
			if rng.IntN(4) == 0 {
				allow = append(allow, token.ID(id))
			}
		}
		p := sample.Params{Seed: uint64(round), Logprobs: true, Top: 3}
		if rng.IntN(3) > 0 {
			p.Temperature = 1
		}
		if rng.IntN(2) == 0 {
			p.TopK, p.TopP = rng.IntN(20), 0.9
		}
		if rng.IntN(2) == 0 {
			p.MinP = 0.05
		}
		ban := []token.ID{token.ID(rng.IntN(vocab))}
		m := &listMask{allow: allow}
		got, err := sample.New(p, nil, m).Next(slices.Clone(logits), ban)
		masked := slices.Clone(logits)
		for i := range masked {
			if !slices.Contains(allow, token.ID(i)) {
				masked[i] = -inf
			}
		}
		want, wantErr := sample.New(p, nil, nil).Next(masked, ban)
		if got.ID != want.ID || !errors.Is(err, wantErr) {
			t.Fatalf("round %d: got %d, %v; want %d, %v", round, got.ID, err, want.ID, wantErr)
		}
		if err != nil {
			continue
		}
		if plain := sample.Logprobs(logits, got.ID, 3); plain.Logprob != got.Logprob || !slices.Equal(plain.Top, got.Top) {
			t.Fatalf("round %d: log-probabilities %v, want those before the mask, %v", round, got, plain)
		}
	}
}

// TestGreedyAsksLittle: greedy draws ask for the whole mask only if the likeliest token
// is barred; others do not try it first.
func TestGreedyAsksLittle(t *testing.T) {
	for _, tt := range []struct {
		name        string
		temperature float32
		allow       []token.ID
		asked       int
	}{
		{"likeliest allowed", 0, []token.ID{2, 4}, 0},
		{"likeliest barred", 0, []token.ID{4}, 1},
		{"drawn", 1, []token.ID{2, 4}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &listMask{allow: tt.allow}
			if _, err := sample.New(sample.Params{Temperature: tt.temperature}, nil, m).Next([]float32{1, 1, 9, 1, 1}, nil); err != nil || m.asked != tt.asked {
				t.Errorf("%v, and %d masks were made; want %d", err, m.asked, tt.asked)
			}
		})
	}
}

// TestMaskFails: a mask that cannot be made ends the draw, and is never left out.
func TestMaskFails(t *testing.T) {
	broken := errors.New("too costly")
	for _, temperature := range []float32{0, 1} {
		m := &listMask{allow: []token.ID{0}, err: broken}
		if _, err := sample.New(sample.Params{Temperature: temperature}, nil, m).Next([]float32{1, 2}, nil); !errors.Is(err, broken) {
			t.Errorf("temperature %v: got %v, want %v", temperature, err, broken)
		}
	}
}

// TestEnded: the sampler knows when nothing but the end may come.
func TestEnded(t *testing.T) {
	m := &listMask{allow: []token.ID{1}}
	s := sample.New(sample.Params{Temperature: 1}, nil, m)
	for i := range 3 {
		if s.Ended() {
			t.Fatalf("ended after %d tokens, want 3", i)
		}
		if _, err := s.Next([]float32{1, 2}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Ended() || !s.MayEnd() {
		t.Error("not ended after 3 tokens")
	}
	asked := m.asked
	if words, err := s.Bits(); words != nil || err != nil || m.asked != asked {
		t.Error("a mask was made behind the end")
	}
	s = sample.New(sample.Params{Temperature: 1}, nil, &listMask{})
	if words, err := s.Bits(); words == nil || err != nil || s.Ended() {
		t.Error("ended before the first token")
	}
}

func TestMaskedAllocates(t *testing.T) {
	logits, work := normal(rand.New(rand.NewPCG(1, 1)), 500, 3), make([]float32, 500)
	for _, temperature := range []float32{0, 1} {
		m := &listMask{allow: []token.ID{3, 90}, accepted: make([]token.ID, 4, 1000)}
		s := sample.New(sample.Params{Temperature: temperature}, nil, m)
		if n := testing.AllocsPerRun(50, func() {
			copy(work, logits)
			if _, err := s.Next(work, nil); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("temperature %v: %v allocations a token", temperature, n)
		}
	}
}

// TestForced: what a mask forces is accepted as if drawn, so many at a time as asked for,
// until the mask is asked again; what is banned or has a bias is left to be drawn.
func TestForced(t *testing.T) {
	prompt := make([]token.ID, 20)
	for i := range prompt {
		prompt[i] = token.ID(i)
	}
	all := []token.ID{2, 4, 2}
	m := &listMask{allow: []token.ID{2, 4}, forced: all}
	s := sample.New(sample.Params{PresencePenalty: 5}, prompt, m)
	for _, want := range [][]token.ID{{2, 4}, {2}, nil} {
		got, err := s.Forced(2, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
	if !slices.Equal(m.accepted, all) || !s.Ended() || !slices.Equal(m.before, prompt[4:]) {
		t.Errorf("accepted %v, ended %v, behind %v", m.accepted, s.Ended(), m.before)
	}

	// Penalties count them.
	m = &listMask{allow: []token.ID{2, 4}, forced: []token.ID{4}}
	s = sample.New(sample.Params{PresencePenalty: 5}, nil, m)
	if got, err := s.Forced(9, nil); err != nil || !slices.Equal(got, []token.ID{4}) {
		t.Fatalf("got %v, %v", got, err)
	}
	if got, err := s.Next([]float32{0, 0, 6, 0, 8}, nil); err != nil || got.ID != 2 {
		t.Errorf("drew %v, %v, want token 2: 4 has its penalty", got, err)
	}
	// The drawn token is behind the forced one.
	if _, err := s.Forced(1, nil); err != nil || !slices.Equal(m.before, []token.ID{4, 2}) {
		t.Errorf("told of %v, %v", m.before, err)
	}

	for _, tt := range []struct {
		name string
		p    sample.Params
		ban  []token.ID
		want []token.ID
	}{
		{"banned", sample.Params{}, []token.ID{4}, []token.ID{2}},
		{"biased", sample.Params{Bias: map[token.ID]float32{4: 1}}, nil, []token.ID{2}},
		{"log-probabilities", sample.Params{Logprobs: true}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &listMask{allow: []token.ID{2, 4}, forced: all}
			s := sample.New(tt.p, nil, m)
			for _, want := range [][]token.ID{tt.want, nil} {
				if got, err := s.Forced(9, tt.ban); err != nil || !slices.Equal(got, want) || !slices.Equal(m.accepted, tt.want) {
					t.Errorf("got %v, %v, accepted %v; want %v", got, err, m.accepted, want)
				}
			}
		})
	}
	if got, err := sample.New(sample.Params{}, nil, nil).Forced(9, nil); got != nil || err != nil {
		t.Errorf("without a mask: %v, %v", got, err)
	}
}

// TestForcedTold: however long the reply, Forced is called with its last tokens.
func TestForcedTold(t *testing.T) {
	m := &openMask{}
	s := sample.New(sample.Params{Seed: 1, Temperature: 1}, []token.ID{9}, m)
	all := []token.ID{9}
	for range 300 {
		got, err := s.Next(make([]float32, 50), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got.ID)
		if _, err := s.Forced(1, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(m.before); n < min(len(all), 16) || !slices.Equal(m.before, all[len(all)-n:]) {
			t.Fatalf("told of %v behind %v", m.before, all)
		}
	}
}

// An openMask allows everything.
type openMask struct{ listMask }

func (m *openMask) Bits() ([]uint32, error) { return []uint32{1<<32 - 1, 1<<32 - 1}, nil }
func (m *openMask) Allows(token.ID) bool    { return true }
func (m *openMask) Accept(token.ID) error   { return nil }

// TestRankedMask: the largest logits that a mask allows give what all of them give, and the
// mask goes on.
func TestRankedMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	for round := range 2000 {
		vocab := 30 + rng.IntN(98)
		logits := normal(rng, vocab, 4)
		var allow []token.ID
		for id := range vocab {
			if rng.IntN(8) == 0 {
				allow = append(allow, token.ID(id))
			} else if rng.IntN(50) == 0 {
				logits[id] = float32(math.NaN()) // barred, so it does not matter
			}
		}
		p := sample.Params{Seed: uint64(round)}
		if rng.IntN(2) == 0 {
			p.Temperature, p.TopK = 1, 1+rng.IntN(10)
		}
		ban := []token.ID{token.ID(rng.IntN(vocab))}
		masked := slices.Clone(logits)
		for i := range masked {
			if !slices.Contains(allow, token.ID(i)) {
				masked[i] = -inf
			}
		}
		one, two := &listMask{allow: allow}, &listMask{allow: allow}
		want, wantErr := sample.New(p, nil, one).Next(slices.Clone(logits), ban)
		ids, values := ranking(masked, p.Needs(1))
		got, err := sample.New(p, nil, two).NextOf(ids, values, ban)
		if got.ID != want.ID || !errors.Is(err, wantErr) || !slices.Equal(one.accepted, two.accepted) {
			t.Fatalf("round %d, %+v: got %d, %v, %v; want %d, %v, %v", round, p, got.ID, err, two.accepted, want.ID, wantErr, one.accepted)
		}
	}
}
