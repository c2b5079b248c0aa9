package sched

import (
	"context"
	"fmt"
)

// A Watcher is a Drafter that goes by what the model makes of texts. Result 1 of Options.Exec
// is that, for each row of the batch.
type Watcher interface {
	Drafter
	// Watch is told after a step what it made of tokens of sequences that may have drafts. A
	// sequence has its tokens seen in order, but for those that the prefix cache had, and those whose
	// states were computed again, which are seen again.
	Watch(ctx context.Context, seen []Seen) error
}

// A Seen is what a step made of tokens of a text. The text is as it is behind the step: at least
// one token follows.
type Seen struct {
	Place int
	Text
	From int       // the first of the tokens
	Made []float32 // row by row; good until Watch returns
}

// keepMade notes what a step made, for Watchers.
func (d *drafts) keepMade(results [][]float32) error {
	if len(d.watchers) == 0 {
		return nil
	}
	if len(results) < 2 {
		return fmt.Errorf("sched: a drafter wants what the model makes of its rows, and the engine gave %d results", len(results))
	}
	d.made = results[1]
	return nil
}

// standing is how many of a sequence's rows in a step are of tokens that stand: those of a draft
// as far as it agreed.
func standing(p *stepped, drawn []draw) int {
	n := p.rows - len(p.q.draft)
	if len(p.q.draft) > 0 {
		n += drawn[0].agreed
	}
	return n
}

// see notes what the step made of n tokens of q, from one on, whose rows begin with row at of rows.
func (s *Scheduler) see(q *sequence, from, n, at, rows int) {
	d := &s.drafts
	if len(d.watchers) == 0 || q.state != running || q.odds == nil || !s.seat(q) {
		return
	}
	if n = min(n, len(q.tokens)-1-from); n > 0 {
		width := len(d.made) / rows
		d.seen = append(d.seen, Seen{Place: q.place, Text: q.text(), From: from, Made: d.made[at*width : (at+n)*width]})
	}
}

// watch tells Watchers what was seen.
func (s *Scheduler) watch(ctx context.Context) {
	d := &s.drafts
	if len(d.seen) > 0 {
		for _, w := range d.watchers {
			if err := w.Watch(ctx, d.seen); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "what a step made was not read for drafts", "err", err)
			}
		}
	}
	clear(d.seen) // keeps no sequence alive
	d.seen, d.made = d.seen[:0], nil
}
