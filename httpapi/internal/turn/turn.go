// Package turn runs one request's generations and delivers their events, those of package
// engine, to the request's dialect. An answer in one piece is collected from the events
// that a stream is made of.
//
// A dialect that streams is a Spelling and a stream.Framing. A new type of event is a
// constant beside engine.Delta: every Spelling is called with it, and those that have no words
// for it ignore it.
package turn

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
	"quern/httpapi/internal/stream"
)

// An Event is one event of one prompt of a turn.
type Event struct {
	engine.Event
	PromptIndex int // of the request, from 0
}

// A Turn is the answers of a model to one request. Events of one prompt come in order,
// those of several mix.
type Turn struct {
	Tally

	cancel context.CancelFunc
	items  chan Event // holds one: events for a slow client wait in the engine. Closed when all prompts are done or one failed
	wg     sync.WaitGroup
	supply *supply

	mu      sync.Mutex
	failure error // the first, in the form that clients get

	// Only the handler's goroutine uses these.
	prompts   int
	sequences int // of each prompt
	finished  int // sequences
	begin     time.Time
	m         *metrics.Metrics
	model     string
	warn      func(string) // may be nil
}

// A Request asks for the same number of sequences for each prompt. At is
// called once for each, just before it is generated, so that the prompt is not in memory
// before, nor for as long as the answer takes.
type Request struct {
	Prompts   int
	Sequences int
	At        func(prompt int) engine.GenerateRequest
	Warn      func(text string) // called with parts of the request that have no effect; may be nil
}

// Start begins to answer r. The caller must call Close, which ends the work and waits.
func Start(ctx context.Context, m *metrics.Metrics, l engine.Lease, r Request) *Turn {
	work, cancel := context.WithCancel(ctx)
	g := &Turn{
		cancel: cancel, items: make(chan Event, 1), begin: time.Now(), m: m, model: cmp.Or(l.Info().Base, l.Info().ID),
		prompts: r.Prompts, sequences: r.Sequences, warn: r.Warn,
	}
	g.supply = &supply{at: r.At, prompts: r.Prompts, workers: min(r.Prompts, parallelPrompts)}
	var workers sync.WaitGroup
	for range g.supply.workers {
		workers.Go(func() { g.work(work, l) })
	}
	g.wg.Go(func() {
		workers.Wait()
		close(g.items)
	})
	return g
}

// work generates for prompts until there are none left or one failed.
func (g *Turn) work(ctx context.Context, l engine.Lease) {
	s := g.supply
	for j := s.take(); j != nil && ctx.Err() == nil; j = s.take() {
		err := g.run(ctx, l, j)
		if err == nil {
			continue
		}
		settled, ends := s.again(j, err)
		if !settled {
			g.fail(err)
		}
		if ends {
			return
		}
	}
}

// run reads the events of one prompt. Its error has the form that clients get.
func (g *Turn) run(ctx context.Context, l engine.Lease, j *job) (err error) {
	defer fault.Recovered(&err)
	done := false
	r := g.supply.ask(j)
	unheld := r.Constraint != nil || r.ToolChoice.Required || r.ToolChoice.Names != nil // until the engine says that the constraint is in force
	for ev, err := range l.Generate(ctx, r) {
		if err != nil {
			return fault.Classify(ctx, err)
		}
		g.supply.began(j)
		if unheld = unheld && !ev.Constrained; unheld {
			return unconstrained()
		}
		done = ev.Type == engine.Done
		select {
		case g.items <- Event{ev, j.prompt}:
		case <-ctx.Done():
			return fault.Classify(ctx, ctx.Err())
		}
	}
	if done {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fault.Classify(ctx, err)
	}
	f := fault.New(engine.CodeEngineFailure, "", "the model stopped unexpectedly")
	f.Cause = errors.New("generation ended without Done")
	return f
}

// unconstrained is the error of a reply whose constraint is not in force.
func unconstrained() error {
	f := fault.New(engine.CodeEngineFailure, "", "the model cannot hold its reply to the form asked for")
	f.Cause = errors.New("no layer took the constraint")
	return f
}

// fail ends the generation with err unless it has failed before.
func (g *Turn) fail(err error) {
	g.mu.Lock()
	if g.failure == nil {
		g.failure = err
	}
	g.mu.Unlock()
	g.cancel()
}

// err is why there are no more items: nil when all prompts are done.
func (g *Turn) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// Close cancels generations that still run and waits for them. Sequences that began and did not
// end are counted as aborted.
func (g *Turn) Close() {
	g.cancel()
	g.wg.Wait()
	for range g.supply.taken*g.sequences - g.finished { // all workers have ended
		g.m.Finished(g.model, "abort")
	}
}

// count adds an event to the tally and the metrics, and calls warn with its notes, which come
// before anything is answered.
func (g *Turn) count(ev Event) {
	g.Tally.add(ev)
	switch ev.Type {
	case engine.Admitted:
		for _, n := range ev.Notes {
			if g.warn != nil {
				g.warn("tools: " + n)
			}
		}
	case engine.Finish:
		g.finished++
		g.m.Finished(g.model, ev.Reason)
	case engine.Done:
		g.m.Generated(g.model, ev.Timings, g.Longest, time.Since(g.begin))
	}
}

// A Reply is the whole answer to one prompt.
type Reply struct {
	Prompt       []engine.Logprob // of the prompt's tokens, where they were asked for
	PromptTokens int
	CachedTokens int // of them, taken from the cache
	Sequences    []Sequence
}

// A Sequence is one of the texts a prompt was answered with.
type Sequence struct {
	text      strings.Builder
	reasoning strings.Builder
	Calls     []Call // that are whole
	Logprobs  []engine.Logprob
	End       engine.Event // its Finish

	open      Call // the call under way
	arguments strings.Builder
}

// A Call is a call of a tool.
type Call struct {
	ID, Name, Arguments string
}

// Text is the text of the sequence.
func (s *Sequence) Text() string { return s.text.String() }

// Reasoning is the thinking of the sequence.
func (s *Sequence) Reasoning() string { return s.reasoning.String() }

// Collect returns the whole answers, one a prompt. ctx is that of Start.
func (g *Turn) Collect(ctx context.Context) ([]Reply, error) {
	replies := make([]Reply, g.prompts)
	err := g.Each(ctx, 0, func(ev Event) error {
		r := &replies[ev.PromptIndex]
		if r.Sequences == nil {
			r.Sequences = make([]Sequence, g.sequences)
		}
		r.add(ev)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// Each calls take with the events as they come, until it fails. ctx is that of Start. It returns an
// error when there is no event for stall after the first; not positive is no limit.
func (g *Turn) Each(ctx context.Context, stall time.Duration, take func(Event) error) error {
	var late <-chan time.Time
	for {
		select {
		case ev, ok := <-g.items:
			if !ok {
				return g.err()
			}
			if stall > 0 {
				late = time.After(stall)
			}
			g.count(ev)
			if err := take(ev); err != nil {
				return err
			}
		case <-late:
			return stream.Stalled(stall)
		case <-ctx.Done():
			return fault.Classify(ctx, ctx.Err())
		}
	}
}

func (r *Reply) add(ev Event) {
	if ev.Type == engine.PromptDone {
		r.Prompt, r.PromptTokens, r.CachedTokens = ev.Prompt, ev.PromptTokens, ev.CachedTokens
	}
	if ev.Index < 0 || ev.Index >= len(r.Sequences) {
		return
	}
	s := &r.Sequences[ev.Index]
	switch ev.Type {
	case engine.Delta:
		s.text.WriteString(ev.Text)
		s.Logprobs = append(s.Logprobs, ev.Logprobs...)
	case engine.ReasoningDelta:
		s.reasoning.WriteString(ev.Text)
	case engine.CallStart:
		s.open = Call{ID: ev.CallID, Name: ev.Name}
		s.arguments.Reset()
	case engine.CallDelta:
		s.arguments.WriteString(ev.Text)
	case engine.CallEnd:
		s.open.Arguments = s.arguments.String()
		s.Calls = append(s.Calls, s.open)
	case engine.Finish:
		s.End = ev.Event
	}
}

// A Tally is the usage and the timings of a turn.
type Tally struct {
	PromptTokens, CachedTokens, OutputTokens int
	ReasoningTokens                          int // of the output's
	Predicted, Unpredicted                   int // tokens drafted, with a prediction: those that came so, and the others
	Truncated                                int // messages left out
	Timings                                  engine.Timings
	Longest                                  int // tokens of the longest sequence

	admitted, taken int           // prompt tokens so far, and those taken from the cache
	drawn           map[int]drawn // so far, by prompt
}

func (t *Tally) add(ev Event) {
	switch ev.Type {
	case engine.Admitted:
		t.Truncated += ev.Truncated
		t.admitted += ev.PromptTokens
	case engine.PromptDone:
		t.taken += ev.CachedTokens
	case engine.Delta, engine.ReasoningDelta, engine.CallStart, engine.CallDelta, engine.CallEnd, engine.Finish:
		t.Longest = max(t.Longest, ev.Tokens)
		if t.drawn == nil {
			t.drawn = make(map[int]drawn)
		}
		t.drawn[ev.PromptIndex] = drawn{ev.OutputTokens, ev.Reasoning}
	case engine.Done:
		t.PromptTokens += ev.PromptTokens
		t.CachedTokens += ev.CachedTokens
		t.OutputTokens += ev.OutputTokens
		t.ReasoningTokens += ev.Reasoning
		t.Predicted += ev.Predicted
		t.Unpredicted += ev.Unpredicted
		// Prompts run side by side: the client waited for the slowest.
		t.Timings.Queue = max(t.Timings.Queue, ev.Timings.Queue)
		t.Timings.Prompt = max(t.Timings.Prompt, ev.Timings.Prompt)
		t.Timings.Predict = max(t.Timings.Predict, ev.Timings.Predict)
		t.Timings.First = max(t.Timings.First, ev.Timings.First)
	}
}

// drawn are output tokens, and those of thinking among them.
type drawn struct{ output, reasoning int }

// SoFar returns the tally while the answer is under way, as far as tokens go.
func (t *Tally) SoFar() Tally {
	now := Tally{PromptTokens: t.admitted, CachedTokens: t.taken}
	for _, n := range t.drawn {
		now.OutputTokens += n.output
		now.ReasoningTokens += n.reasoning
	}
	return now
}
