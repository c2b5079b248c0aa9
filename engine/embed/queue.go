package embed

import (
	"context"
	"slices"
	"sync"

	"quern/engine/token"
)

// A queue has requests whose texts are to be encoded. Steps take texts of each in turn, so that
// a request of one text does not wait for the thousand of another, and texts of many requests
// share a step. There is no goroutine of the queue: a caller
// that finds no step under way runs the next one, which may have only texts of others.
type queue struct {
	mu       sync.Mutex
	requests []*request // those with texts that no step has taken; the next step begins with the first
	running  int        // requests with a text in the step that runs
}

// A request has texts of one caller.
type request struct {
	ctx     context.Context
	adapter int32
	texts   [][]token.ID
	out     [][]float32 // a vector for each
	next    int         // the first text that no step has taken
	left    int         // texts without a vector
	err     error
	done    chan struct{} // closed when all texts have a vector, or one failed
}

// A waiting text is one of a request's.
type waiting struct {
	of *request
	at int
}

func (w *waiting) tokens() []token.ID { return w.of.texts[w.at] }

// add puts the texts of a caller behind those of others.
func (q *queue) add(ctx context.Context, adapter int32, texts [][]token.ID) *request {
	r := &request{ctx: ctx, adapter: adapter, texts: texts, out: make([][]float32, len(texts)), left: len(texts), done: make(chan struct{})}
	if len(texts) == 0 {
		close(r.done)
		return r
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests = append(q.requests, r)
	return r
}

// remove drops the texts of a caller that is cancelled. A step may be running some.
func (q *queue) remove(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(r)
}

func (q *queue) forget(r *request) {
	if i := slices.Index(q.requests, r); i >= 0 {
		q.requests = slices.Delete(q.requests, i, i+1)
	}
}

// take returns the texts of the next step: of each request the next, again and again, as long as
// they fit beside those taken; the first always does. The next step begins with another request.
func (q *queue) take(fits func(taken []waiting, next []token.ID) bool) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	var taken []waiting
	open := slices.Clone(q.requests)
	for len(open) > 0 {
		open = slices.DeleteFunc(open, func(r *request) bool {
			if len(taken) > 0 && !fits(taken, r.texts[r.next]) {
				return true
			}
			taken = append(taken, waiting{r, r.next})
			r.next++
			return r.next == len(r.texts)
		})
	}
	if len(q.requests) > 1 {
		q.requests = append(q.requests[1:], q.requests[0])
	}
	q.requests = slices.DeleteFunc(q.requests, func(r *request) bool { return r.next == len(r.texts) })
	q.running = len(owners(taken))
	return taken
}

// ran counts down the requests of texts that have vectors now, or failed with err.
func (q *queue) ran(texts []waiting, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = 0
	for i := range texts {
		texts[i].of.left--
	}
	for _, r := range owners(texts) {
		if err != nil {
			r.err = err
			q.forget(r)
		}
		if r.left == 0 || err != nil {
			close(r.done)
		}
	}
}

// Running is how many requests the step that runs is for.
func (q *queue) Running() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// owners are the requests of texts, each once.
func owners(texts []waiting) (out []*request) {
	for i := range texts {
		if !slices.Contains(out, texts[i].of) {
			out = append(out, texts[i].of)
		}
	}
	return out
}

// sharing is the context of a step: that of the caller if all texts are of one, else one that
// no caller's cancellation ends.
func sharing(texts []waiting) context.Context {
	if len(owners(texts)) == 1 {
		return texts[0].of.ctx
	}
	return context.WithoutCancel(texts[0].of.ctx)
}
