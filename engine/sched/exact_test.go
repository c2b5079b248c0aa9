package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"quern/bench/fixtures"
	"quern/engine/draft"
	"quern/engine/model"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
)

// TestDraftsChangeNothing: a thousand random requests, in a batch that preempts, get the replies
// that they get without drafts, to the bit of every log-probability: with drafts that are right
// but for a share of their tokens, and with those of a lookup.
func TestDraftsChangeNothing(t *testing.T) {
	models := []struct {
		path string
		near int // blocks of layers that see less
	}{
		{path: "llama-Q4_K_M"}, {path: "mixtral-Q8_0"}, {path: "gpt-oss", near: 9},
		{path: "families/olmo3-Q4_0", near: 14}, {path: "families/cohere2-Q4_0", near: 14},
		{path: "families/gemma4-e-Q4_0"}, {path: "families/deepseek-v3-Q4_0"},
		{path: "families/qwen35-Q4_0"}, {path: "families/falcon-h1-Q4_0"}, {path: "families/lfm2-Q4_0"},
		{path: "families/falcon-mamba-Q4_0"}, {path: "families/rwkv7-Q4_0"},
	}
	each := 28
	if fixtures.Whole {
		each = 84 // 12 * 84 = 1008
	}
	for at, tt := range models {
		t.Run(tt.path, func(t *testing.T) {
			set, err := gguf.Open("../model/testdata/" + tt.path + ".gguf")
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			lm, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			const size, slots = 4, 6
			requests := randomRequests(rand.New(rand.NewPCG(uint64(at), 5)), each, lm.Config().Vocab)
			want := answers(t, start(t, lm, 400, 0, size, 2), requests)
			for i, wrong := range []float64{0.05, 0.4} {
				g := &guesser{wrong: wrong, vocab: lm.Config().Vocab, rng: rand.New(rand.NewPCG(uint64(at), uint64(i)))}
				for _, a := range want {
					g.replies = append(g.replies, a.tokens)
				}
				s := start(t, lm, 24, tt.near, size, slots, g, draft.NewLookup(slots, 96))
				got := answers(t, s, requests)
				for k := range want {
					if fmt.Sprint(got[k]) != fmt.Sprint(want[k]) {
						t.Fatalf("wrong %v: reply %d is\n%v, without drafts\n%v", wrong, k, got[k], want[k])
					}
				}
				st := s.Stats()
				if st.Preemptions == 0 || int(st.AcceptedTokens) < each || st.DraftTokens < st.AcceptedTokens+5 {
					t.Errorf("not much happened: %+v", st)
				}
			}
		})
	}
}

// TestTimesChangeNothing: however long steps are thought to take, and with that whatever
// prompts are cut into, beside whatever else, replies are the same to the bit; of those in the
// background too, whose steps are given up at random.
func TestTimesChangeNothing(t *testing.T) {
	for at, path := range []string{"llama-Q4_K_M", "mixtral-Q8_0", "families/gemma4-e-Q4_0", "families/deepseek-v3-Q4_0", "families/qwen35-Q4_0", "families/rwkv7-Q4_0"} {
		t.Run(path, func(t *testing.T) {
			set, err := gguf.Open("../model/testdata/" + path + ".gguf")
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			lm, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			const size, slots = 4, 6
			requests := randomRequests(rand.New(rand.NewPCG(uint64(at), 6)), 60, lm.Config().Vocab)
			want := answers(t, start(t, lm, 400, 0, size, 1), requests)
			for i := range requests {
				requests[i].Background = i%3 > 0
			}
			seeds := uint64(1)
			if fixtures.Whole {
				seeds = 3
			}
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(seed, 7))
				var clock time.Time
				now := func() time.Time {
					clock = clock.Add(time.Duration(math.Exp(rng.Float64()*14)) * time.Microsecond)
					return clock
				}
				got := answers(t, startTimed(t, lm, 24, 0, size, slots, now), requests)
				for k := range want {
					if fmt.Sprint(got[k]) != fmt.Sprint(want[k]) {
						t.Fatalf("seed %d: reply %d is\n%v, alone\n%v", seed, k, got[k], want[k])
					}
				}
			}
		})
	}
}

// An answer is one sequence's.
type answer struct {
	tokens []token.ID // prompt and reply
	reply  []sample.Token
	reason sched.Reason
	stop   token.ID
	err    error
}

// randomRequests use all that a request can ask for, and sometimes the same prompt twice.
func randomRequests(rng *rand.Rand, n, vocab int) (list []sched.Request) {
	for i := range n {
		r := sched.Request{
			N: 1 + max(0, rng.IntN(5)-2), Max: 4 + rng.IntN(16), EOG: []token.ID{token.ID(rng.IntN(vocab))},
			IgnoreEOS: rng.IntN(3) == 0, NoPromptCache: rng.IntN(5) == 0,
			Sample: sample.Params{Seed: rng.Uint64()},
		}
		if i > 0 && rng.IntN(4) == 0 {
			r.Prompt = list[rng.IntN(i)].Prompt
		} else {
			for range 1 + rng.IntN(40) {
				r.Prompt = append(r.Prompt, token.ID(rng.IntN(vocab)))
			}
		}
		p := &r.Sample
		if rng.IntN(2) == 0 {
			p.Temperature = 0.2 + rng.Float32()
			p.TopK, p.TopP, p.MinP = rng.IntN(2)*20, float32(rng.IntN(2))*0.9, float32(rng.IntN(2))*0.02
		}
		if rng.IntN(3) == 0 {
			p.RepeatPenalty, p.FrequencyPenalty, p.PresencePenalty = 1.2, 0.3, 0.2
		}
		if rng.IntN(3) == 0 {
			p.Logprobs, p.Top = true, rng.IntN(4)
		}
		if rng.IntN(5) == 0 {
			p.Bias = map[token.ID]float32{token.ID(rng.IntN(vocab)): 5}
		}
		if rng.IntN(4) == 0 {
			r.Min = rng.IntN(r.Max)
		}
		if rng.IntN(3) == 0 {
			for range 20 {
				r.StopIDs = append(r.StopIDs, token.ID(rng.IntN(vocab)))
			}
		}
		r.PromptLogprobs = rng.IntN(8) == 0
		if rng.IntN(4) == 0 {
			left := 1 + rng.IntN(20)
			r.Mask = func() sample.Mask { return &pattern{left: left, vocab: vocab} }
		}
		list = append(list, r)
	}
	return list
}

func answers(t *testing.T, s late, requests []sched.Request) []answer {
	t.Helper()
	out := make([][]answer, len(requests))
	var readers sync.WaitGroup
	for i, r := range requests {
		st, err := s.Submit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = make([]answer, r.N)
		for k := range out[i] {
			out[i][k].tokens = slices.Clone(r.Prompt)
		}
		readers.Go(func() {
			for e, err := range st.Events() {
				a := &out[i][e.Seq]
				switch {
				case err != nil:
					a.err = err
				case e.Type == sched.PromptDone && r.PromptLogprobs:
					a.reply = append(a.reply, e.Prompt.Logprobs...)
				case e.Type == sched.Token:
					a.tokens, a.reply = append(a.tokens, e.Token.ID), append(a.reply, e.Token)
				case e.Type == sched.Finish:
					a.reason, a.stop = e.Reason, e.StopID
				}
			}
		})
	}
	s.begin()
	readers.Wait()
	return slices.Concat(out...)
}

// A guesser is a Drafter that computes all replies, with a share of wrong tokens.
type guesser struct {
	wrong   float64
	vocab   int
	rng     *rand.Rand
	replies [][]token.ID // with their prompts
}

// Offer implements sched.Drafter.
func (g *guesser) Offer(_ int, t sched.Text, n int) (tokens, rank int) { return n, 3 }

// Draft implements sched.Drafter.
func (g *guesser) Draft(_ context.Context, asks []sched.Ask) error {
	for i := range asks {
		a := &asks[i]
		for range a.N {
			next := token.ID(g.rng.IntN(g.vocab))
			so := slices.Concat(a.Tokens, a.Draft)
			for _, r := range g.replies {
				if g.rng.Float64() >= g.wrong && len(r) > len(so) && slices.Equal(r[:len(so)], so) {
					next = r[len(so)]
				}
			}
			a.Draft = append(a.Draft, next)
		}
	}
	return nil
}

// Forget implements sched.Drafter.
func (g *guesser) Forget(int) {}

// A pattern is a Mask that allows a third of all tokens, by turns another; of every eight
// tokens the last three are certain.
type pattern struct{ n, left, vocab int }

func (p *pattern) certain() (token.ID, bool) {
	return token.ID(p.n * 7 % p.vocab), p.left > 0 && p.n%8 > 4
}

// Allows implements sample.Mask.
func (p *pattern) Allows(id token.ID) bool {
	if sure, ok := p.certain(); ok {
		return id == sure
	}
	return int(id)%3 == p.n%3
}

// Bits implements sample.Mask.
func (p *pattern) Bits() ([]uint32, error) {
	words := make([]uint32, (p.vocab+31)/32)
	for id := range p.vocab {
		if p.Allows(token.ID(id)) {
			words[id/32] |= 1 << (id % 32)
		}
	}
	return words, nil
}

// Forced implements sample.Mask.
func (p *pattern) Forced(dst, _ []token.ID) []token.ID {
	q := *p
	for id, ok := q.certain(); ok; id, ok = q.certain() {
		dst = append(dst, id)
		q.n++
		q.left--
	}
	return dst
}

// Accept implements sample.Mask.
func (p *pattern) Accept(id token.ID) error {
	if !p.Allows(id) {
		return errors.New("not allowed")
	}
	p.n++
	p.left--
	return nil
}

// MayEnd implements sample.Mask.
func (p *pattern) MayEnd() bool { return p.left <= 0 }

// Ended implements sample.Mask.
func (p *pattern) Ended() bool { return p.left <= 0 }
