package sched

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A draw is what one sequence has of one wanted row: its next token, or with
// score the log-probability of a token of its prompt.
//
// All draws of a step are planned before it and carried out in parallel, by
// Batch.Read or after it; their sequences move on in order when all are done.
type draw struct {
	q       *sequence
	index   int // of the sequence; that of q, or of one that fork has yet to make
	score   bool
	next    token.ID // with score
	sampler *sample.Sampler

	token sample.Token
	err   error
	panic any    // what the sampler or its Mask panicked with, if it did
	stack string // of that
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

// read carries out the draws of wanted row i. It is Batch.Read.
func (s *Scheduler) read(i int, row []float32) {
	t := s.toolbox.take()
	defer s.toolbox.give(t)
	var ranking graph.Ranking
	if s.rankings != nil {
		ranking = s.rankings[i]
	}
	list := s.draws.all[s.draws.first[i]:s.draws.first[i+1]]
	for k := range list {
		x := row
		if k < len(list)-1 && ranking.IDs == nil {
			t.row = append(t.row[:0], row...) // drawing may spoil the row
			x = t.row
		}
		list[k].carryOut(x, ranking, &t.buffers)
	}
	s.draws.done[i] = true
}

// carryOut draws from logits, or from their ranking. It guards whoever computes
// against a Mask that panics.
func (d *draw) carryOut(logits []float32, ranking graph.Ranking, b *sample.Buffers) {
	defer func() {
		if p := recover(); p != nil {
			d.panic, d.stack = p, string(debug.Stack())
			d.err = fmt.Errorf("sched: the sampler panicked: %v", p)
		}
	}()
	q := d.q
	if d.score {
		if d.token = sample.Logprobs(logits, d.next, q.Sample.Top); d.token.Logprob != d.token.Logprob {
			d.err = sample.ErrLogits
		}
		return
	}
	if d.sampler == nil {
		p := q.Sample
		p.Seed = seedOf(p.Seed, d.index)
		var m sample.Mask
		if q.Mask != nil {
			m = q.Mask()
		}
		d.sampler = sample.New(p, q.tokens[:q.prompt], m)
	}
	d.sampler.Share(b)
	if ranking.IDs != nil {
		d.token, d.err = d.sampler.NextOf(ranking.IDs, ranking.Logits, q.barred())
	} else {
		d.token, d.err = d.sampler.Next(logits, q.barred())
	}
}

// A rest is the wanted rows that the Exec did not read, and who reads them.
type rest struct {
	rows   []int
	logits []float32
	width  int
	next   atomic.Int64 // of rows
	help   func()       // work, by a goroutine of its own
	wg     sync.WaitGroup
}

// worthwhile is how many logits keep a goroutine busy for much longer than it
// takes to start.
const worthwhile = 1 << 16

// readRest reads the rows of logits that the Exec has not read. Exec and
// Scheduler are not at work at the same time, so all processors are free.
func (s *Scheduler) readRest(logits []float32) {
	r := &s.rest
	r.rows = r.rows[:0]
	n := len(s.draws.done)
	if n == 0 {
		return
	}
	r.logits, r.width = logits, len(logits)/n
	for i, done := range s.draws.done {
		switch {
		case done:
		case s.rankings != nil && s.rankings[i].IDs != nil:
			s.read(i, nil)
		default:
			r.rows = append(r.rows, i)
		}
	}
	r.next.Store(0)
	helpers := min(runtime.GOMAXPROCS(0), len(r.rows), len(r.rows)*r.width/worthwhile) - 1
	for range helpers {
		r.wg.Add(1)
		go r.help()
	}
	s.work()
	r.wg.Wait()
}

// work reads rows of the rest until none is left.
func (s *Scheduler) work() {
	r := &s.rest
	for {
		k := int(r.next.Add(1)) - 1
		if k >= len(r.rows) {
			return
		}
		i := r.rows[k]
		s.read(i, r.logits[i*r.width:(i+1)*r.width])
	}
}
