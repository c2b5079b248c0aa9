package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quern/bench/fixtures"
	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/sample"
	"quern/engine/token"
)

// A client reads one Stream as a simulation says.
type client struct {
	st      *Stream
	r       Request
	cancel  context.CancelFunc
	replies []reply
	stopped []bool // Stop was called
	prompt  *Prompt
	gone    bool // cancelled
	over    bool
}

// poll takes one event if there is one.
func (c *client) poll() error {
	select {
	case ev, ok := <-c.st.events:
		if !ok {
			c.over = true
			return nil
		}
		if !c.st.took(&ev) {
			return nil
		}
		if (ev.Type == PromptDone) == (c.prompt != nil) {
			return fmt.Errorf("event %d in the wrong place", ev.Type)
		}
		r := &c.replies[ev.Seq]
		if r.reason != "" {
			return fmt.Errorf("event %d after the end", ev.Type)
		}
		switch ev.Type {
		case PromptDone:
			c.prompt = ev.Prompt
		case Token:
			r.tokens = append(r.tokens, ev.Token)
		case Finish:
			r.reason, r.stopID = ev.Reason, ev.StopID
			if !c.stopped[ev.Seq] && ev.Tokens != len(r.tokens) {
				return fmt.Errorf("%d tokens came of %d", len(r.tokens), ev.Tokens)
			}
		}
	default:
	}
	return nil
}

// verify compares a reply that is over with what it should be.
func (c *client) verify(o *Options) error {
	if c.prompt != nil {
		if want := scores(c.r); !slices.EqualFunc(c.prompt.Logprobs, want, equalTokens) {
			return fmt.Errorf("prompt log-probabilities are %v, want %v", c.prompt.Logprobs, want)
		}
		if c.prompt.Cached < 0 || c.prompt.Cached >= len(c.r.Prompt) || c.prompt.Cached > 0 && (c.r.NoPromptCache || c.r.PromptLogprobs) {
			return fmt.Errorf("%d of %d tokens came from the cache", c.prompt.Cached, len(c.r.Prompt))
		}
	}
	failed := c.gone || c.st.err != nil
	for i, got := range c.replies {
		want := oracle(o, c.r, i)
		if got.equal(want) {
			continue
		}
		n := len(got.tokens)
		part := n <= len(want.tokens) && slices.EqualFunc(got.tokens, want.tokens[:n], equalTokens)
		if part && (got.reason == "" && failed || got.reason != "" && c.stopped[i]) {
			continue
		}
		return fmt.Errorf("sequence %d of %+v:\n got %v\nwant %v\nerror %v", i, c.r, got, want, c.st.err)
	}
	return nil
}

// tally is what the simulations came across, to be sure they are worth it.
type tally struct{ steps, requests, tokens, preempted, hits, forks, forced, failed, cancelled, full, waited, drafted, accepted, disk int }

func (a *tally) add(b tally) {
	a.steps += b.steps
	a.requests += b.requests
	a.tokens += b.tokens
	a.preempted += b.preempted
	a.hits += b.hits
	a.forks += b.forks
	a.forced += b.forced
	a.failed += b.failed
	a.cancelled += b.cancelled
	a.full += b.full
	a.waited += b.waited
	a.drafted += b.drafted
	a.accepted += b.accepted
	a.disk += b.disk
}

// simulate runs one random schedule and checks all that comes out.
func simulate(t testing.TB, seed uint64, store *disk.Store) (sum tally, err error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	upTo := func(n int) int { return 1 + rng.IntN(n) }
	o := Options{
		Blocks:      upTo(40),
		BlockSize:   upTo(6),
		Budget:      upTo(24),
		Slots:       upTo(7),
		Queue:       upTo(6),
		StreamDepth: upTo(6),
	}
	if rng.IntN(2) == 0 {
		o.MaxWant = upTo(o.Budget)
	}
	if rng.IntN(3) == 0 {
		o.Context = 2 + rng.IntN(o.Blocks*o.BlockSize+20)
	}
	if o.States = seed%3 == 0; o.States {
		o.Snapshots = int(seed / 3 % 4)
	}
	for range seed % 4 { // as often none
		r := graph.Reach{Window: upTo(20)}
		if rng.IntN(3) == 0 {
			r = graph.Reach{Chunk: upTo(20)}
		}
		least := (r.Most()+o.BlockSize-2)/o.BlockSize + 1
		o.Near = append(o.Near, graph.Near{Reach: r, Blocks: least + rng.IntN(2*least)})
	}
	if seed%4 < 2 {
		o.Adapters = int(1 + seed%2)
	}
	known := &knowing{wrong: float64(seed%5) / 4, rng: rand.New(rand.NewPCG(seed, 1))}
	if seed%7 > 0 {
		o.Drafters = []Drafter{known}
		o.MaxDraft, o.Spares = int(seed%9), int(seed/3%3)
		if seed%7 > 4 {
			o.Drafters = append(o.Drafters, &knowing{wrong: 1, rng: known.rng})
		}
	}
	var clock time.Time
	o.Now = func() time.Time { return clock }
	if store != nil {
		addDisk(&o, store)
	}
	s, e := newFake(t, o)
	e.took = func(rows int) { clock = clock.Add(time.Duration(int(seed%11)+rows*int(seed%2)) * time.Millisecond) }
	if seed%2 == 0 {
		e.most = 1 + int(seed%7)
	}
	e.together = int(seed / 2 % 4)
	if rng.IntN(2) == 0 {
		s.pool.Collide() // all but everything collides
	}
	failure := errors.New("the device is on fire")
	if rng.IntN(4) == 0 {
		e.fail = func(*graph.Batch) error {
			switch rng.IntN(60) {
			case 0:
				return failure
			case 1:
				panic(failure)
			}
			return nil
		}
	}
	ctx := t.Context()
	// Prompts start alike, in a few ways.
	trunks := make([][]token.ID, 3)
	for i := range trunks {
		trunks[i] = make([]token.ID, 60)
		for k := range trunks[i] {
			trunks[i][k] = token.ID(rng.IntN(3)) // trunks share beginnings, too
		}
	}
	var clients []*client
	submit := func() error {
		trunk := trunks[rng.IntN(len(trunks))]
		prompt := slices.Clone(trunk[:rng.IntN(upTo(len(trunk)))])
		if len(clients) > 0 && rng.IntN(3) == 0 {
			// A further turn of an earlier chat.
			c := clients[rng.IntN(len(clients))]
			prompt = slices.Clone(c.r.Prompt)
			for _, tok := range c.replies[0].tokens {
				prompt = append(prompt, tok.ID)
			}
		}
		for range rng.IntN(4) {
			prompt = append(prompt, token.ID(rng.IntN(fakeVocab)))
		}
		r := Request{
			Prompt: prompt,
			N:      max(0, rng.IntN(6)-2),
			Max:    rng.IntN(30),
			EOG:    []token.ID{0},
			Sample: sample.Params{Seed: rng.Uint64()},
		}
		r.Adapter = int32(rng.Uint64() % uint64(o.Adapters+1))
		if rng.IntN(2) == 0 {
			r.Sample.Temperature = 1
			r.Sample.TopK = int(seed % 6) // as often none
			r.Sample.TopP = 0.9
		}
		if rng.IntN(3) == 0 {
			r.Sample.RepeatPenalty = 1.2
			r.Sample.FrequencyPenalty = 0.3
		}
		if rng.IntN(4) == 0 {
			r.Sample.Logprobs, r.Sample.Top = true, rng.IntN(4)
		}
		if rng.IntN(4) == 0 {
			r.StopIDs = []token.ID{1, 2}
		}
		r.IgnoreEOS = rng.IntN(3) == 0
		r.NoPromptCache = rng.IntN(6) == 0
		r.PromptLogprobs = rng.IntN(5) == 0
		r.NoTokens = rng.IntN(8) == 0
		r.Background = rng.IntN(4) == 0
		if rng.IntN(4) == 0 {
			r.Min = rng.IntN(10)
		}
		if rng.IntN(6) == 0 {
			n, at, sure := rng.IntN(30), rng.IntN(16), rng.IntN(3) > 0
			r.Mask = func() sample.Mask { return &alphabet{n: at, left: n, sure: sure} }
		}
		ctx, cancel := context.WithCancel(ctx)
		st, err := s.Submit(ctx, r)
		if err != nil {
			cancel()
			var long *TooLongError
			switch {
			case errors.Is(err, ErrQueueFull):
				sum.full++
			case errors.Is(err, ErrNoPrompt) && len(prompt) == 0:
			case errors.As(err, &long) && long.Tokens > long.Limit:
			default:
				return err
			}
			return nil
		}
		n := max(1, r.N)
		for i := range n {
			known.learn(r.Prompt, oracle(&s.o, r, i))
		}
		clients = append(clients, &client{st: st, r: r, cancel: cancel, replies: make([]reply, n), stopped: make([]bool, n)})
		sum.requests++
		sum.forks += n - 1
		return nil
	}
	turn := func() (bool, error) {
		more := s.turn(ctx)
		if !more && slices.ContainsFunc(s.running, func(q *sequence) bool { return q.onDisk.fetch != nil }) {
			<-s.wake
		}
		return more, s.audit()
	}
	pick := func() *client { return clients[rng.IntN(len(clients))] }
	for range 150 + rng.IntN(150) {
		var err error
		switch op := rng.IntN(40); {
		case op < 5 || len(clients) == 0:
			err = submit()
		case op < 25:
			_, err = turn()
		case op < 37: // read, some more than others
			c := clients[min(rng.IntN(len(clients)), rng.IntN(len(clients)))]
			for range rng.IntN(8) {
				if err = c.poll(); err != nil {
					break
				}
			}
		case op < 38:
			if c := pick(); rng.IntN(2) == 0 {
				c.gone = true
				c.st.Close()
				c.cancel()
			}
		default:
			c := pick()
			i := rng.IntN(len(c.stopped))
			c.stopped[i] = true
			c.st.Stop(i)
		}
		if err != nil {
			return sum, err
		}
	}
	// Everybody reads on until all is over.
	for round := 0; ; round++ {
		if round > 20000 {
			return sum, fmt.Errorf("no end in sight: %d running, %d waiting", len(s.running), len(s.waiting))
		}
		more, err := turn()
		if err != nil {
			return sum, err
		}
		over := true
		for _, c := range clients {
			for range rng.IntN(4) {
				if err := c.poll(); err != nil {
					return sum, err
				}
			}
			over = over && c.over
		}
		if over && !more {
			break
		}
	}
	for _, c := range clients {
		if err := c.verify(&s.o); err != nil {
			return sum, err
		}
		if c.st.err != nil && !c.gone && e.fail == nil {
			return sum, fmt.Errorf("error %w", c.st.err)
		}
		for _, r := range c.replies {
			sum.tokens += len(r.tokens)
		}
		if c.gone {
			sum.cancelled++
		} else if c.st.err != nil {
			sum.failed++
		}
		c.cancel()
	}
	if got := s.Stats(); got.BlocksUsed != 0 || got.Running != 0 || got.Waiting != 0 {
		return sum, fmt.Errorf("when all is over: %+v", got)
	}
	sum.steps = e.steps
	sum.preempted = int(s.stats.preempts.Load())
	sum.hits = int(s.stats.hits.Load())
	sum.forced = int(s.stats.forced.Load())
	sum.drafted = int(s.stats.drafted.Load())
	sum.accepted = int(s.stats.accepted.Load())
	sum.disk = int(s.stats.disk.Load())
	return sum, nil
}

// TestRandom compares every reply of random schedules with a
// sequence run alone.
func TestRandom(t *testing.T) {
	n := uint64(100)
	if fixtures.Whole {
		n = 4000
	}
	var sum tally
	for seed := range n {
		one, err := simulate(t, seed, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sum.add(one)
	}
	t.Logf("%+v", sum)
	if sum.preempted == 0 || sum.hits == 0 || sum.forks == 0 || sum.forced == 0 || sum.failed == 0 || sum.cancelled == 0 || sum.full == 0 || sum.accepted < 300 || sum.drafted < 2*sum.accepted {
		t.Errorf("something never happened: %+v", sum)
	}
}
