package sched

import (
	"context"
	"fmt"
)

// A Watcher is a Drafter that reads the model's hidden states: result 1 of Options.Exec,
// for each row of the batch.
type Watcher interface {
	Drafter
	// Watch is called after a step with its hidden states of sequences that may have drafts.
	// Those of a sequence come in order, without tokens that the prefix cache had, and twice for
	// tokens whose states were computed again.
	Watch(ctx context.Context, seen []Seen) error
}

// A Seen has a step's hidden states of tokens of a text. The text is as it is after the step: at
// least one token follows those.
type Seen struct {
	Place int
	Text
	From int       // the first of the tokens
	Made []float32 // row by row; good until Watch returns
}

// keepMade keeps a step's hidden states for Watchers.
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

// standing is how many of a sequence's rows in a step are of tokens that are kept: those of a draft
// as far as it agreed.
func standing(p *stepped, drawn []draw) int {
	n := p.rows - len(p.q.draft)
	if len(p.q.draft) > 0 {
		n += drawn[0].agreed
	}
	return n
}

// collect keeps for Watchers the hidden states of n tokens of q, the first being from; their rows
// begin with row at of rows.
func (s *Scheduler) collect(q *sequence, from, n, at, rows int) {
	d := &s.drafts
	if len(d.watchers) == 0 || q.state != running || q.odds == nil || !s.acquirePlace(q) {
		return
	}
	if n = min(n, len(q.tokens)-1-from); n > 0 {
		width := len(d.made) / rows
		d.seen = append(d.seen, Seen{Place: q.place, Text: q.text(), From: from, Made: d.made[at*width : (at+n)*width]})
	}
}

// callWatchers calls the Watchers with what collect has kept.
func (s *Scheduler) callWatchers(ctx context.Context) {
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
