package sched

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A draw is one sequence's result of one wanted row: its next tokens, or with
// score the log-probability of a token of its prompt. Where tokens were drafted it has the
// rows of these too, and continues with the next row as long as the drawn token is the drafted one.
//
// All draws of a step are planned before it and carried out in parallel, by
// Batch.Take; their sequences move on in order when all are done.
type draw struct {
	q       *sequence
	index   int // of the sequence; that of q, or of one that fork has yet to make
	score   bool
	next    token.ID   // with score
	draft   []token.ID // drafted after the sequence's tokens
	sampler *sample.Sampler

	token  sample.Token // with score
	tokens []drawn      // else: the next ones
	ended  bool         // by the Mask, behind all these or, without any, here
	agreed int          // of tokens, the first that are as drafted
	err    error        // behind tokens
	panic  any          // the value that the sampler or its Mask panicked with
	stack  string       // of that

	mu    sync.Mutex  // held while the sampler is used
	rows  []graph.Row // with a draft: the row of the sequence's last token and those drafted, that have come
	over  bool        // no row is drawn from any more
	drawn bool        // carryOut was called
	words []uint32    // of the Mask, once made; then they do not change and are read without mu
}

// A drawn is a token that was drawn, or that the Mask left no choice about.
type drawn struct {
	sample.Token
	forced bool
}

// reset empties d and keeps its memory, but nothing else alive.
func (d *draw) reset() {
	clear(d.tokens)
	clear(d.rows)
	*d = draw{tokens: d.tokens[:0], rows: d.rows[:0]}
}

// draws are those of one step: those of wanted row i are all[first[i]:first[i+1]].
type draws struct {
	all   []draw
	first []int
	head  []int  // by wanted row: the row whose draw has it, itself but for drafted tokens
	done  []bool // by wanted row
}

func (d *draws) reset() {
	for i := range d.all {
		d.all[i].reset() // so that sequences that have ended are not kept alive
	}
	d.all, d.first, d.head, d.done = d.all[:0], append(d.first[:0], 0), d.head[:0], d.done[:0]
}

// add returns one more draw.
func (d *draws) add() *draw {
	if n := len(d.all); n < cap(d.all) {
		d.all = d.all[:n+1]
	} else {
		d.all = append(d.all, draw{})
	}
	return &d.all[len(d.all)-1]
}

// plan adds a wanted row of q; next is the prompt's token behind it, or
// token.None for a row that tokens are drawn from.
func (d *draws) plan(q *sequence, next token.ID) {
	switch {
	case next != token.None:
		one := d.add()
		one.q, one.score, one.next = q, true, next
	case q.done:
		one := d.add()
		one.q, one.index, one.sampler, one.draft = q, q.index, q.sampler, q.draft
		one.rows = slices.Grow(one.rows, len(q.draft)+1)[:len(q.draft)+1]
	default:
		for i := range q.n {
			one := d.add()
			one.q, one.index = q, i
			if i == q.index {
				one.sampler = q.sampler // of a step that was aborted
			}
		}
	}
	d.row(len(d.done))
}

// row ends the draws of a wanted row, which is head's or has some of its own.
func (d *draws) row(head int) {
	d.first, d.head, d.done = append(d.first, len(d.all)), append(d.head, head), append(d.done, false)
}

// tools are the buffers that a draw needs. Draws take them from a pool, since a few
// megabytes for each sequence would be too much.
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
	head := s.draws.head[i]
	list := s.draws.all[s.draws.first[head]:s.draws.first[head+1]]
	for k := range list {
		r := row
		if k < len(list)-1 && row.IDs == nil {
			t.row = append(t.row[:0], row.Logits...) // drawing may overwrite the row
			r.Logits = t.row
		}
		list[k].carryOut(i-head, r, &t.buffers)
	}
	s.draws.done[i] = true
}

// top is how many of a wanted row's largest logits q needs, 0: all. A row that is not
// the one a token is drawn from is for log-probabilities. n tokens are drafted before it.
func (s *Scheduler) top(q *sequence, drawn bool, n int) int {
	// The first draws of several sequences share a row, and have a Mask each. The tokens that a Mask
	// allows after a drafted one are known when that is drawn.
	if !drawn || q.Mask != nil && (n > 0 || !q.done && q.n > 1) {
		return 0
	}
	return q.Sample.Needs(len(q.barred(n)))
}

// guard recovers a panic of the sampler or its Mask, so that it does not reach the worker that
// computes. It is to be deferred.
func (d *draw) guard() {
	if p := recover(); p != nil {
		d.panic, d.stack = p, string(debug.Stack())
		d.err = fmt.Errorf("sched: the sampler panicked: %v", p)
	}
}

// carryOut draws from a row, that of the at-th drafted token if at is not 0, and from the rows
// after it that were computed before. A row computed before an earlier one is kept until that comes.
func (d *draw) carryOut(at int, row graph.Row, b *sample.Buffers) {
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
	if len(d.draft) == 0 {
		d.one(row)
		return
	}
	d.rows[at] = row
	for !d.over && d.rows[len(d.tokens)].Logits != nil {
		d.one(d.rows[len(d.tokens)])
	}
}

// one draws from the row behind d.tokens.
func (d *draw) one(row graph.Row) {
	q, n := d.q, len(d.tokens)
	d.over = true // unless all goes well
	// Tokens that are forced before any is drawn, as at the beginning of a reply, need no row.
	forced, err := d.sampler.Forced(q.ahead(n), q.barred(n))
	if len(forced) == 0 && err == nil {
		var t sample.Token
		if row.IDs != nil {
			t, err = d.sampler.NextOf(row.IDs, row.Logits, q.barred(n))
		} else {
			t, err = d.sampler.Next(row.Logits, q.barred(n))
		}
		if err == nil {
			d.tokens = append(d.tokens, drawn{Token: t})
			forced, err = d.sampler.Forced(q.ahead(n+1), q.barred(n+1))
		}
	}
	if d.ended = d.sampler.Ended() || errors.Is(err, sample.ErrBarred) && q.Mask != nil && d.sampler.MayEnd(); err != nil {
		d.tokens, d.err = d.tokens[:n], err
		return
	}
	for _, id := range forced {
		d.tokens = append(d.tokens, drawn{Token: sample.Token{ID: id}, forced: true})
	}
	d.agree(n)
}

// agree notes how many of the tokens from the n-th on are as drafted. Where all are, the
// next row is drawn from too, if the sequence goes on.
func (d *draw) agree(n int) {
	q := d.q
	for _, t := range d.tokens[n:] {
		if d.agreed == len(d.draft) || t.ID != d.draft[d.agreed] {
			return
		}
		if d.agreed++; q.stops(t.ID) {
			return
		}
	}
	d.over = d.ended
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
