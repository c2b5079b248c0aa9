package httpapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"quern/engine"
)

const (
	// backlog is how many events may wait for a slow client. When it is full
	// the engine stops planning that sequence.
	backlog = 256

	// parallelPrompts is how many prompts of one request are with the engine at
	// a time, so that one request does not fill a model's queue.
	parallelPrompts = 16
)

// An item is one event of one prompt.
type item struct {
	prompt int
	engine.Event
}

// A generation runs the prompts of one request. Events of one prompt come in
// order, those of several mix.
type generation struct {
	ended  <-chan struct{} // the request is over: client gone, timeout or shutdown
	over   func() error    // why
	cancel context.CancelFunc
	items  chan item // closed when all prompts are done or one failed
	wg     sync.WaitGroup

	mu      sync.Mutex
	failure error // the first, ready for the client

	// Only the handler's goroutine uses these.
	unfinish int // sequences without a Finish yet
	begin    time.Time
	m        *metrics
	model    string
}

// generate starts the work. The caller must call close, which ends it and
// waits.
func (a *API) generate(ctx context.Context, l engine.Lease, reqs []engine.GenerateRequest) *generation {
	work, cancel := context.WithCancel(ctx)
	g := &generation{
		ended: ctx.Done(), over: func() error { return classify(ctx, ctx.Err()) }, cancel: cancel,
		items: make(chan item, backlog), begin: time.Now(), m: a.metrics, model: l.Info().ID,
	}
	next := make(chan int, len(reqs))
	for i := range reqs {
		next <- i
		g.unfinish += max(reqs[i].N, 1)
	}
	close(next)
	var workers sync.WaitGroup
	for range min(len(reqs), parallelPrompts) {
		workers.Go(func() {
			for i := range next {
				if work.Err() != nil {
					return
				}
				if err := g.run(work, l, i, reqs[i]); err != nil {
					g.fail(err)
					return
				}
			}
		})
	}
	g.wg.Go(func() {
		workers.Wait()
		close(g.items)
	})
	return g
}

// run pulls the events of one prompt. Its error is ready for the client.
func (g *generation) run(ctx context.Context, l engine.Lease, prompt int, r engine.GenerateRequest) (err error) {
	defer recovered(&err)
	done := false
	for ev, err := range l.Generate(ctx, r) {
		if err != nil {
			return classify(ctx, err)
		}
		done = ev.Type == engine.Done
		select {
		case g.items <- item{prompt, ev}:
		case <-ctx.Done():
			return classify(ctx, ctx.Err())
		}
	}
	if done {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return classify(ctx, err)
	}
	f := fail(codeEngineFailure, "", "the model stopped unexpectedly")
	f.cause = errors.New("generation ended without Done")
	return f
}

// fail ends the generation with err unless it has failed before.
func (g *generation) fail(err error) {
	g.mu.Lock()
	if g.failure == nil {
		g.failure = err
	}
	g.mu.Unlock()
	g.cancel()
}

// err says why there are no more items: nil when all prompts are done.
func (g *generation) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// close cancels what still runs and waits for it.
func (g *generation) close() {
	g.cancel()
	g.wg.Wait()
	for range g.unfinish {
		g.m.finished(g.model, "abort")
	}
}

// each hands every item to f.
func (g *generation) each(t *tally, f func(item)) error {
	for {
		select {
		case it, ok := <-g.items:
			if !ok {
				return g.err()
			}
			t.add(it)
			g.observe(it, t)
			f(it)
		case <-g.ended:
			return g.over()
		}
	}
}

// observe feeds the metrics with an event.
func (g *generation) observe(it item, t *tally) {
	switch it.Type {
	case engine.Finish:
		g.unfinish--
		g.m.finished(g.model, it.Reason)
	case engine.Done:
		g.m.generated(g.model, it.Timings, t.longest, time.Since(g.begin))
	}
}

// A tally collects what all answers report about a generation.
type tally struct {
	prompt, cached, output, truncated int
	timings                           engine.Timings
	longest                           int // tokens of the longest sequence
	load                              time.Duration

	admitted, taken int         // prompt tokens so far, and those taken from the cache
	drawn           map[int]int // output tokens so far, by prompt
}

func (t *tally) add(ev item) {
	switch ev.Type {
	case engine.Admitted:
		t.truncated += ev.Truncated
		t.admitted += ev.PromptTokens
	case engine.PromptDone:
		t.taken += ev.CachedTokens
	case engine.Delta, engine.Finish:
		t.longest = max(t.longest, ev.Tokens)
		if t.drawn == nil {
			t.drawn = make(map[int]int)
		}
		t.drawn[ev.prompt] = ev.OutputTokens
	case engine.Done:
		t.prompt += ev.PromptTokens
		t.cached += ev.CachedTokens
		t.output += ev.OutputTokens
		// Prompts run side by side: the slowest is what the client waited for.
		t.timings.Queue = max(t.timings.Queue, ev.Timings.Queue)
		t.timings.Prompt = max(t.timings.Prompt, ev.Timings.Prompt)
		t.timings.Predict = max(t.timings.Predict, ev.Timings.Predict)
		t.timings.First = max(t.timings.First, ev.Timings.First)
	}
}

type usage struct {
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	TotalTokens      int               `json:"total_tokens"`
	PromptDetails    promptDetails     `json:"prompt_tokens_details"`
	OutputDetails    completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

func (t *tally) usage() *usage {
	return &usage{
		PromptTokens: t.prompt, CompletionTokens: t.output, TotalTokens: t.prompt + t.output,
		PromptDetails: promptDetails{t.cached},
	}
}

// soFar is usage while a reply is under way.
func (t *tally) soFar() *usage {
	u := usage{PromptTokens: t.admitted, TotalTokens: t.admitted, PromptDetails: promptDetails{t.taken}}
	for _, n := range t.drawn {
		u.CompletionTokens += n
		u.TotalTokens += n
	}
	return &u
}

type timings struct {
	QueueMS            float64 `json:"queue_ms"`
	LoadMS             float64 `json:"load_ms"`
	PromptMS           float64 `json:"prompt_ms"`
	PredictedMS        float64 `json:"predicted_ms"`
	PromptPerSecond    float64 `json:"prompt_per_second"`
	PredictedPerSecond float64 `json:"predicted_per_second"`
}

func (t *tally) report() *timings {
	return &timings{
		QueueMS: millis(t.timings.Queue), LoadMS: millis(t.load),
		PromptMS: millis(t.timings.Prompt), PredictedMS: millis(t.timings.Predict),
		PromptPerSecond:    perSecond(t.prompt-t.cached, t.timings.Prompt),
		PredictedPerSecond: perSecond(t.output, t.timings.Predict),
	}
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(int64(float64(n)/d.Seconds()*100+0.5)) / 100
}
