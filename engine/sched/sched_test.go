package sched

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// start runs s until the test ends or stop is called, which waits for it.
func start(t testing.TB, s *Scheduler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		if err := s.audit(); err != nil || s.pool.Used() != 0 {
			t.Errorf("%d blocks are still used: %v", s.pool.Used(), err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func submit(t testing.TB, s *Scheduler, r Request) *Stream {
	t.Helper()
	st, err := s.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// collect reads a Stream to its end.
func collect(st *Stream) (replies []reply, p *Prompt, err error) {
	replies = make([]reply, len(st.stop))
	for ev, err := range st.Events() {
		if err != nil {
			return replies, p, err
		}
		switch ev.Type {
		case PromptDone:
			p = ev.Prompt
		case Token:
			replies[ev.Seq].tokens = append(replies[ev.Seq].tokens, ev.Token)
		case Finish:
			replies[ev.Seq].reason, replies[ev.Seq].stopID = ev.Reason, ev.StopID
		}
	}
	return replies, p, nil
}

func prompt(n int) []token.ID {
	p := make([]token.ID, n)
	for i := range p {
		p[i] = token.ID(i*i%fakeVocab + 1)
	}
	return p
}

var small = Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 8, Queue: 8}

func TestReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newFake(t, small)
		start(t, s)
		r := Request{Prompt: prompt(10), N: 3, Max: 20, EOG: []token.ID{0}, PromptLogprobs: true,
			Sample: sample.Params{Temperature: 1, Seed: 3, Logprobs: true, Top: 2}}
		st := submit(t, s, r)
		got, p, err := collect(st)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if want := oracle(&s.o, r, i); !got[i].equal(want) {
				t.Errorf("sequence %d: got %v, want %v", i, got[i], want)
			}
		}
		if slices.EqualFunc(got[0].tokens, got[1].tokens, equalTokens) {
			t.Errorf("sequences 0 and 1 are the same: %v", got[0])
		}
		if !slices.EqualFunc(p.Logprobs, scores(r), equalTokens) {
			t.Errorf("prompt log-probabilities %v, want %v", p.Logprobs, scores(r))
		}
		// The next turn of this chat finds the whole blocks of the first, those
		// of the reply included: 10 tokens and all but the last that was drawn.
		next := Request{Prompt: r.Prompt, Max: 1}
		for _, tok := range got[0].tokens {
			next.Prompt = append(next.Prompt, tok.ID)
		}
		next.Prompt = append(next.Prompt, 9)
		_, p, err = collect(submit(t, s, next))
		if want := (10 + len(got[0].tokens) - 1) / 4 * 4; err != nil || p.Cached != want {
			t.Errorf("%d tokens came from the cache, want %d; %v", p.Cached, want, err)
		}
	})
}

func TestSubmitErrors(t *testing.T) {
	o := small
	o.Context = 50
	o.Blocks = 10
	s, _ := newFake(t, o)
	for _, tt := range []struct {
		name string
		r    Request
		want error
	}{
		{"empty", Request{}, ErrNoPrompt},
		{"longer than the blocks", Request{Prompt: prompt(41)}, ErrTooLong},
		{"as long as the blocks", Request{Prompt: prompt(40)}, nil},
	} {
		if _, err := s.Submit(t.Context(), tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	o.Blocks = 64
	s, _ = newFake(t, o)
	var long *TooLongError
	if _, err := s.Submit(t.Context(), Request{Prompt: prompt(50)}); !errors.As(err, &long) || long.Tokens != 50 || long.Limit != 49 {
		t.Errorf("a prompt that fills the context: %v", err)
	}
	if _, err := s.Submit(t.Context(), Request{Prompt: prompt(50), NoTokens: true}); err != nil {
		t.Errorf("with nothing to generate it fits: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Submit(ended, Request{Prompt: prompt(5)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if _, err := New(Options{Blocks: 1}); err == nil {
		t.Error("Options without an Exec were accepted")
	}
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Slots, o.Queue = 2, 3
		s, e := newFake(t, o)
		e.fail = func(*graph.Batch) error { time.Sleep(time.Second); return nil }
		start(t, s)
		r := Request{Prompt: prompt(4), Max: 10}
		first := submit(t, s, r)
		if _, _, err := collect(first); err != nil {
			t.Fatal(err)
		}
		var all []*Stream
		for range 2 {
			all = append(all, submit(t, s, r))
		}
		time.Sleep(3 * time.Second / 2) // whichever step took the first of them, the next has both
		for range 3 {
			all = append(all, submit(t, s, r))
		}
		time.Sleep(time.Second) // one step more: the loop has counted them
		_, err := s.Submit(t.Context(), r)
		var full *QueueFullError
		if !errors.As(err, &full) || !errors.Is(err, ErrQueueFull) || full.Waiting != 3 {
			t.Fatalf("got %v, want a full queue", err)
		}
		// A request takes 10 s and two run: the fourth from now starts in 20.
		if full.Wait < 15*time.Second || full.Wait > 25*time.Second {
			t.Errorf("estimate is %v", full.Wait)
		}
		if got := s.Stats(); got.Running != 2 || got.Waiting != 3 {
			t.Errorf("stats are %+v", got)
		}
		all[0].Close()
		all[4].Close()
		time.Sleep(2 * time.Second)
		for range 2 {
			all = append(all, submit(t, s, r))
		}
		if _, err := s.Submit(t.Context(), r); !errors.Is(err, ErrQueueFull) {
			t.Errorf("got %v, want a full queue", err)
		}
		follows := r
		follows.Follows = true
		all = append(all, submit(t, s, follows))
		for i, st := range all {
			if _, _, err := collect(st); err != nil && i != 0 && i != 4 {
				t.Error(err)
			}
		}
	})
}

func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Slots = 1
		s, e := newFake(t, o)
		e.fail = func(*graph.Batch) error { time.Sleep(time.Second); return nil }
		start(t, s)
		one := submit(t, s, Request{Prompt: prompt(4), Max: 5})
		two := submit(t, s, Request{Prompt: prompt(40), Max: 5, NoPromptCache: true})
		for _, st := range []*Stream{one, two} {
			if _, _, err := collect(st); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := one.Timings(), (Timings{Queue: 0, Prompt: time.Second, First: time.Second, Predict: 4 * time.Second}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got, want := two.Timings(), (Timings{Queue: 5 * time.Second, Prompt: 2 * time.Second, First: 7 * time.Second, Predict: 4 * time.Second}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		want := Stats{Blocks: 64, BlockSize: 4, Steps: 11, PromptTokens: 44, GeneratedTokens: 10, PrefixQueries: 4}
		synctest.Wait()
		if got := s.Stats(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// TestSlowReader: a reader that does not read stops its own sequence only.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.StreamDepth = 3
		s, _ := newFake(t, o)
		start(t, s)
		r := Request{Prompt: prompt(4), Max: 60}
		slow, fast := submit(t, s, r), submit(t, s, r)
		if got, _, err := collect(fast); err != nil || len(got[0].tokens) != 60 {
			t.Fatalf("got %d tokens, %v", len(got[0].tokens), err)
		}
		synctest.Wait() // idle: nothing polls
		if got := slow.queued[0].Load(); got != 3 {
			t.Errorf("%d tokens are queued, want 3", got)
		}
		steps := s.Stats().Steps
		time.Sleep(time.Hour)
		if got := s.Stats().Steps; got != steps {
			t.Errorf("%d steps were made without a reader", got-steps)
		}
		if got, _, err := collect(slow); err != nil || len(got[0].tokens) != 60 {
			t.Fatalf("got %d tokens, %v", len(got[0].tokens), err)
		}
	})
}

func TestCancel(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(cancel context.CancelFunc, st *Stream)
	}{
		{"context", func(cancel context.CancelFunc, st *Stream) { cancel() }},
		{"close", func(cancel context.CancelFunc, st *Stream) { st.Close(); st.Close() }},
		{"break", func(cancel context.CancelFunc, st *Stream) {
			for range st.Events() {
				break
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := small
				o.Slots = 2
				s, e := newFake(t, o)
				e.fail = func(*graph.Batch) error { time.Sleep(time.Second); return nil }
				start(t, s)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				st, err := s.Submit(ctx, Request{Prompt: prompt(4), N: 3}) // two run, one waits
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(3500 * time.Millisecond) // in the middle of a step
				if got := s.Stats(); got.Running != 2 || got.Waiting != 1 || got.BlocksUsed == 0 {
					t.Fatalf("stats are %+v", got)
				}
				steps := s.Stats().Steps
				tt.do(cancel, st)
				time.Sleep(time.Minute)
				if got := s.Stats(); got.Running != 0 || got.Waiting != 0 || got.BlocksUsed != 0 {
					t.Errorf("stats are %+v", got)
				}
				if got := s.Stats().Steps; got > steps+1 {
					t.Errorf("%d steps were made after the one running", got-steps-1)
				}
				for _, err := range st.Events() {
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
				}
			})
		})
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newFake(t, small)
		start(t, s)
		r := Request{Prompt: prompt(5), N: 2, Max: 40, Sample: sample.Params{Temperature: 1}}
		st := submit(t, s, r)
		n, finished := [2]int{}, [2]Reason{}
		for ev, err := range st.Events() {
			switch {
			case err != nil:
				t.Fatal(err)
			case ev.Type == Token:
				if n[ev.Seq]++; ev.Seq == 1 && n[1] == 7 {
					st.Stop(1)
				}
			case ev.Type == Finish:
				finished[ev.Seq] = ev.Reason
			}
		}
		if n != [2]int{40, 7} || finished != [2]Reason{Length, Stop} {
			t.Errorf("got %v tokens, %q", n, finished)
		}
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Slots = 1
		s, e := newFake(t, o)
		e.fail = func(*graph.Batch) error { time.Sleep(time.Second); return nil }
		stop := start(t, s)
		var all []*Stream
		for range 3 {
			all = append(all, submit(t, s, Request{Prompt: prompt(4)}))
		}
		time.Sleep(5 * time.Second)
		all = append(all, submit(t, s, Request{Prompt: prompt(4)}))
		stop()
		for _, st := range all {
			if _, _, err := collect(st); !errors.Is(err, ErrStopped) {
				t.Errorf("got %v, want ErrStopped", err)
			}
		}
		if _, err := s.Submit(t.Context(), Request{Prompt: prompt(4)}); !errors.Is(err, ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
	})
}

func TestEngineFailure(t *testing.T) {
	failure := errors.New("out of smoke")
	for _, tt := range []struct {
		name string
		fail func() error
		want string
	}{
		{"error", func() error { return failure }, "out of smoke"},
		{"panic", func() error { panic(failure) }, "panic: out of smoke"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := newFake(t, small)
				e.fail = func(*graph.Batch) error {
					if e.steps == 3 {
						return tt.fail()
					}
					return nil
				}
				start(t, s)
				r := Request{Prompt: prompt(9), N: 2, Max: 10}
				if _, _, err := collect(submit(t, s, r)); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				got, _, err := collect(submit(t, s, r))
				if err != nil || !got[0].equal(oracle(&s.o, r, 0)) {
					t.Errorf("afterwards: %v, %v", got, err)
				}
			})
		})
	}
}

// A badMask panics at its third token.
type badMask struct{ n int }

func (m *badMask) Bits() ([]uint32, error) {
	if m.n == 2 {
		panic("no such rule")
	}
	return slices.Repeat([]uint32{1<<32 - 1}, (fakeVocab+31)/32), nil
}

func (m *badMask) Allows(id token.ID) bool {
	if m.n == 2 {
		panic("no such rule")
	}
	return true
}
func (m *badMask) Accept(token.ID) error               { m.n++; return nil }
func (m *badMask) Forced(dst, _ []token.ID) []token.ID { return dst }
func (m *badMask) MayEnd() bool                        { return false }
func (m *badMask) Ended() bool                         { return false }

func TestMaskPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newFake(t, small)
		start(t, s)
		r := Request{Prompt: prompt(9), Max: 10}
		bad := r
		bad.Mask = func() sample.Mask { return new(badMask) }
		one, two := submit(t, s, bad), submit(t, s, r)
		if got, _, err := collect(one); err == nil || len(got[0].tokens) != 2 {
			t.Errorf("got %v, %v", got, err)
		}
		if got, _, err := collect(two); err != nil || !got[0].equal(oracle(&s.o, r, 0)) {
			t.Errorf("its neighbour got %v, %v", got, err)
		}
	})
}
