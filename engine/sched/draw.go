package sched

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A draw is what one sequence has of one wanted row: its next token, or with
// score the log-probability of a token of its prompt.
//
// All draws of a step are planned before it and carried out in parallel, by
// Batch.Take; their sequences move on in order when all are done.
type draw struct {
	q       *sequence
	index   int // of the sequence; that of q, or of one that fork has yet to make
	score   bool
	next    token.ID // with score
	sampler *sample.Sampler

	token  sample.Token
	forced []token.ID // behind token, or without one: what the Mask leaves no choice about
	ended  bool       // by the Mask, behind all these or, without any, here
	err    error
	panic  any    // what the sampler or its Mask panicked with, if it did
	stack  string // of that

	mu    sync.Mutex // held by who works with the sampler
	drawn bool       // carryOut was there
	words []uint32   // of the Mask, once made: who has them reads without mu
}

// draws are those of one step: those of wanted row i are all[first[i]:first[i+1]].
type draws struct {
	all   []draw
	first []int
	done  []bool // by wanted row
}

func (d *draws) reset() {
	clear(d.all) // what has ended is not kept alive
	d.all, d.first, d.done = d.all[:0], append(d.first[:0], 0), d.done[:0]
}

// plan adds a wanted row of q; next is the prompt's token behind it, or
// token.None for a row that tokens are drawn from.
func (d *draws) plan(q *sequence, next token.ID) {
	switch {
	case next != token.None:
		d.all = append(d.all, draw{q: q, score: true, next: next})
	case q.done:
		d.all = append(d.all, draw{q: q, index: q.index, sampler: q.sampler})
	default:
		for i := range q.n {
			d.all = append(d.all, draw{q: q, index: i})
		}
	}
	d.first, d.done = append(d.first, len(d.all)), append(d.done, false)
}

// tools are what the draws of one goroutine need. They go from one to the next,
// since a few megabytes for each sequence would be too much.
type tools struct {
	buffers sample.Buffers
	row     []float32
}

type toolbox struct {
	sync.Mutex
	free []*tools
}

func (b *toolbox) take() *tools {
	b.Lock()
	defer b.Unlock()
	n := len(b.free)
	if n == 0 {
		return new(tools)
	}
	t := b.free[n-1]
	b.free = b.free[:n-1]
	return t
}

func (b *toolbox) give(t *tools) {
	b.Lock()
	defer b.Unlock()
	b.free = append(b.free, t)
}

// take carries out the draws of wanted row i. It is Batch.Take.
func (s *Scheduler) take(i int, row graph.Row) {
	t := s.toolbox.take()
	defer s.toolbox.give(t)
	list := s.draws.all[s.draws.first[i]:s.draws.first[i+1]]
	for k := range list {
		r := row
		if k < len(list)-1 && row.IDs == nil {
			t.row = append(t.row[:0], row.Logits...) // drawing may spoil the row
			r.Logits = t.row
		}
		list[k].carryOut(r, &t.buffers)
	}
	s.draws.done[i] = true
}

// top is how many of a wanted row's largest logits q needs, 0: all. A row that is not
// the one a token is drawn from is for log-probabilities.
func (s *Scheduler) top(q *sequence, drawn bool) int {
	// The first draws of several sequences share a row, and have a Mask each.
	if !drawn || q.Mask != nil && !q.done && q.n > 1 {
		return 0
	}
	return q.Sample.Needs(len(q.barred(0)))
}

// guard keeps what the sampler or its Mask panicked with from the thread that computes. It is
// to be deferred.
func (d *draw) guard() {
	if p := recover(); p != nil {
		d.panic, d.stack = p, string(debug.Stack())
		d.err = fmt.Errorf("sched: the sampler panicked: %v", p)
	}
}

// carryOut draws from a row.
func (d *draw) carryOut(row graph.Row, b *sample.Buffers) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.guard()
	d.drawn = true
	if d.err != nil {
		return
	}
	q := d.q
	if d.score {
		if d.token = sample.Logprobs(row.Logits, d.next, q.Sample.Top); d.token.Logprob != d.token.Logprob {
			d.err = sample.ErrLogits
		}
		return
	}
	d.begin()
	d.sampler.Share(b)
	d.token.ID = token.None
	// What is forced at once, as at the beginning of a reply, needs no row.
	if d.forced, d.err = d.sampler.Forced(q.ahead(0), q.barred(0)); len(d.forced) == 0 && d.err == nil {
		if row.IDs != nil {
			d.token, d.err = d.sampler.NextOf(row.IDs, row.Logits, q.barred(0))
		} else {
			d.token, d.err = d.sampler.Next(row.Logits, q.barred(0))
		}
		if d.err == nil {
			d.forced, d.err = d.sampler.Forced(q.ahead(1), q.barred(1))
		}
	}
	d.ended = d.sampler.Ended() || errors.Is(d.err, sample.ErrBarred) && q.Mask != nil && d.sampler.MayEnd()
}

// begin makes the sampler of a sequence that has none yet.
func (d *draw) begin() {
	if d.sampler != nil {
		return
	}
	q := d.q
	p := q.Sample
	p.Seed = seedOf(p.Seed, d.index)
	var m sample.Mask
	if q.Mask != nil {
		m = q.Mask()
	}
	d.sampler = sample.New(p, q.tokens[:q.prompt], m)
}
