package sched

import (
	"cmp"
	"errors"

	"quern/engine/sample"
	"quern/engine/token"
)

// advance moves q on by n rows that were computed, those of its draft included, and by the draws
// from the wanted ones.
func (s *Scheduler) advance(q *sequence, n int, drawn []draw) {
	from := q.computed
	q.computed += n - len(q.draft)
	if q.done {
		q.drawSteps++
	} else {
		q.readSteps++
	}
	whole := q.computed == len(q.tokens)
	if len(q.draft) > 0 {
		s.settle(q, from, &drawn[0])
		return
	}
	if q.PromptLogprobs && !q.done {
		// Row p has the log-probability of token p+1.
		for ; q.scored < min(q.prompt-1, q.computed); q.scored++ {
			if q.scores == nil {
				q.scores = append(make([]sample.Token, 0, q.prompt), sample.Token{ID: q.tokens[0]})
			}
			if drawn[0].err != nil {
				s.fail(q.job, drawn[0].err)
				return
			}
			q.scores = append(q.scores, drawn[0].token)
			drawn = drawn[1:]
		}
	}
	s.keep(q, from)
	s.spill(q, from)
	s.drop(q)
	if !whole {
		return
	}
	if q.done {
		s.follow(q, &drawn[0])
		return
	}
	s.promptDone(q)
	if q.NoTokens {
		for i := range q.n {
			q.st.events <- Event{Type: Finish, Seq: i, Reason: Length, StopID: token.None}
		}
		q.live = 0
		s.leave(q)
		q.state = ended
		s.end(q.job, nil)
		return
	}
	s.fork(q)
	for i, f := range q.seqs {
		if f.state == ended {
			return // drawing failed and ended them all
		}
		s.follow(f, &drawn[i])
	}
}

func (s *Scheduler) promptDone(q *sequence) {
	q.job.done = true
	if q.scores == nil && q.PromptLogprobs {
		q.scores = []sample.Token{{ID: q.tokens[0]}}
	}
	s.stats.prompt.Add(int64(q.prompt))
	if !q.NoPromptCache && !q.PromptLogprobs {
		s.stats.queries.Add(int64(q.prompt))
		s.stats.hits.Add(int64(q.cached))
	}
	q.st.events <- Event{Type: PromptDone, Prompt: &Prompt{
		Cached:   q.cached,
		Logprobs: q.scores,
	}}
	q.scores = nil
}

// fork makes the other sequences of q's request once the prompt they
// share is done. Those without a slot or blocks wait, like preempted ones.
func (s *Scheduler) fork(q *sequence) {
	whole := q.prompt / s.o.BlockSize // blocks that will not be written again
	for i := 1; i < q.n; i++ {
		f := s.newSequence(q.job, i, q.tokens)
		q.seqs = append(q.seqs, f)
		if s.share(f, q, whole) {
			f.state = running
			s.running = insert(s.running, f)
		} else {
			s.waiting = insert(s.waiting, f)
		}
	}
	if q.n > 1 {
		s.dirty.Store(true) // Stop may have been called for one that was not made yet
	}
}

// follow appends the tokens of a draw to q.
func (s *Scheduler) follow(q *sequence, d *draw) {
	q.sampler = d.sampler
	known := len(q.tokens)
	if d.panic != nil {
		s.log.ErrorContext(q.ctx, "sampler panicked", "panic", d.panic, "stack", d.stack)
	}
	for i, t := range d.tokens {
		before := q.generated
		more := s.push(q, t.Token, d.err == nil && d.ended && i == len(d.tokens)-1)
		if t.forced {
			s.stats.forced.Add(int64(q.generated - before))
		}
		if !more {
			return
		}
	}
	q.recent = len(q.tokens) - known
	switch {
	case d.ended && errors.Is(d.err, sample.ErrBarred):
		// The only tokens the Mask would still allow are those the request bars.
		s.finish(q, Stop, token.None)
	case d.err != nil:
		s.fail(q.job, d.err)
	}
}

// push appends a token to q and sends it; last: the Mask allows none after it. It reports
// whether q goes on.
func (s *Scheduler) push(q *sequence, t sample.Token, last bool) bool {
	if q.stops(t.ID) {
		s.finish(q, Stop, t.ID)
		return false
	}
	if q.first.IsZero() {
		q.first = s.now
	}
	q.last = s.now
	q.tokens = append(q.tokens, t.ID)
	q.generated++
	s.stats.generated.Add(1)
	q.st.queued[q.index].Add(1)
	q.st.events <- Event{Type: Token, Seq: q.index, Token: t}
	switch {
	case last:
		s.finish(q, Stop, token.None)
	case q.generated >= q.Max:
		s.finish(q, Length, token.None)
	}
	return q.state != ended
}

// finish ends one sequence.
func (s *Scheduler) finish(q *sequence, reason Reason, id token.ID) {
	q.st.events <- Event{Type: Finish, Seq: q.index, Reason: reason, StopID: id, Tokens: q.generated, Right: q.right, Wrong: q.wrong}
	s.leave(q)
	q.state = ended
	if q.live--; q.live == 0 {
		s.end(q.job, nil)
	}
}

// fail ends a request with all its sequences.
func (s *Scheduler) fail(j *job, err error) {
	for _, q := range j.seqs {
		if q.state != ended {
			s.leave(q)
			q.state = ended
		}
	}
	s.end(j, err)
}

// end closes the Stream of a request whose sequences have all ended.
func (s *Scheduler) end(j *job, err error) {
	st := j.st
	st.detach()
	st.err = err
	if err == nil {
		st.timings.Queue = j.started.Sub(j.submitted)
		st.timings.Prompt = s.now.Sub(j.started)
		if !j.first.IsZero() {
			st.timings.Prompt = j.first.Sub(j.started)
			st.timings.First = j.first.Sub(j.submitted)
			st.timings.Predict = j.last.Sub(j.first)
		}
		took := s.now.Sub(j.admitted)
		s.service = cmp.Or(s.service, took)
		s.service += (took - s.service) / 8
	}
	s.traceSpans(j, err)
	close(st.events)
}
