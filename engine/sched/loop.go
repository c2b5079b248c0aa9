package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"quern/engine/sample"
	"quern/engine/token"
)

// Run serves requests until ctx ends, then ends all of them with ErrStopped,
// gives back every block and returns ctx's error. It is to be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		panic("sched: Run was called twice")
	}
	defer s.shutdown()
	for ctx.Err() == nil {
		if s.turn(ctx) {
			continue
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// turn goes once around the loop. It says whether going around again without
// being woken may do more.
func (s *Scheduler) turn(ctx context.Context) bool {
	s.left = false
	s.receive()
	if s.dirty.Swap(false) {
		s.reap()
	}
	s.admit()
	s.grow()
	s.loads = s.loads[:0]
	for _, q := range s.running {
		s.extend(q)
		s.loads = append(s.loads, q.load())
	}
	s.rows = plan(s.rows[:0], s.loads, s.o.Budget, s.o.MaxWant)
	s.publish()
	if !s.assemble() {
		return s.left
	}
	s.step(ctx)
	s.publish()
	return true
}

// receive takes new requests out of the box.
func (s *Scheduler) receive() {
	s.box.Lock()
	defer s.box.Unlock()
	if len(s.box.jobs) == 0 {
		return
	}
	for i, j := range s.box.jobs {
		s.waiting = append(s.waiting, j.seqs[0])
		s.box.jobs[i] = nil
	}
	s.fresh += len(s.box.jobs)
	s.box.waiting = s.fresh
	s.box.jobs = s.box.jobs[:0]
	// One of them may have been cancelled before it was here to be found.
	s.dirty.Store(true)
}

// publish lets others see how things stand.
func (s *Scheduler) publish() {
	s.box.Lock()
	s.box.waiting = s.fresh
	s.box.running = len(s.running)
	s.box.service = s.service
	// Slots are no use to those who lack blocks, and preempted sequences come
	// first.
	s.box.spare = 0
	if s.blocked == nil {
		s.box.spare = max(0, s.o.Slots-len(s.running)-(len(s.waiting)-s.fresh))
	}
	s.stats.waiting.Store(int64(len(s.waiting) + len(s.box.jobs)))
	s.box.Unlock()
	s.stats.running.Store(int64(len(s.running)))
	s.stats.used.Store(int64(s.pool.used()))
}

// reap ends what was cancelled or told to stop.
func (s *Scheduler) reap() {
	s.scratch = append(append(s.scratch[:0], s.running...), s.waiting...)
	for i, q := range s.scratch {
		s.scratch[i] = nil
		switch {
		case q.state == ended: // with another sequence of its request
		case q.st.cancelled():
			s.fail(q.job, q.st.cause)
		case q.done && q.st.stop[q.index].Load():
			s.finish(q, Stop, token.None)
		}
	}
}

// admit moves sequences from waiting to running, oldest first.
func (s *Scheduler) admit() {
	for i := 0; i < len(s.waiting) && len(s.running) < s.o.Slots; {
		q := s.waiting[i]
		if q.stalled() {
			i++ // has tokens its reader has yet to take; those behind need not wait for that
			continue
		}
		if q == s.blocked {
			return
		}
		if !s.place(q) {
			if len(s.running) > 0 {
				s.blocked = q
				return
			}
			// All blocks there are do not suffice for what it has grown to.
			s.finish(q, Length, token.None)
			continue
		}
		s.waiting = remove(s.waiting, q)
		s.running = insert(s.running, q)
		q.state = running
		if !q.seen {
			q.seen, q.admitted = true, time.Now()
			s.fresh--
		}
	}
}

// place gives q blocks for all its tokens, cached ones as far as there are any.
func (s *Scheduler) place(q *sequence) bool {
	s.extend(q)
	need := s.pool.blocksFor(len(q.tokens)) - len(q.table)
	spare := s.pool.available() - need
	// One more block for everybody keeps the next steps from undoing this.
	if spare < 0 || len(s.running) > 0 && spare <= len(s.running) {
		s.vacate(q)
		return false
	}
	for range need {
		b, _ := s.pool.alloc()
		q.table = append(q.table, b)
	}
	return true
}

// vacate takes all blocks from q.
func (s *Scheduler) vacate(q *sequence) {
	s.pool.releaseAll(q.table)
	q.table = q.table[:0]
	q.computed = 0
	if !q.done {
		q.cached = 0
	}
}

// extend moves q on over blocks that others have computed. The last token is
// always left, because its logits are needed.
func (s *Scheduler) extend(q *sequence) {
	size := s.o.BlockSize
	if !q.reads() || q.computed%size != 0 {
		return
	}
	for q.computed+size < len(q.tokens) {
		k, parent := q.computed/size, none
		if k > 0 {
			if parent = q.table[k-1]; !s.pool.prefix.has(parent) {
				return
			}
		}
		b, ok := s.pool.prefix.lookup(parent, q.tokens[q.computed:q.computed+size])
		if !ok {
			return
		}
		s.pool.acquire(b)
		if k < len(q.table) {
			s.pool.release(q.table[k])
			q.table[k] = b
		} else {
			q.table = append(q.table, b)
		}
		q.computed += size
		if !q.done {
			q.cached += size
		}
	}
}

// keep makes the blocks findable that q has filled since it had from tokens
// computed. Where another sequence was first, q changes to its block.
func (s *Scheduler) keep(q *sequence, from int) {
	size := s.o.BlockSize
	if q.NoPromptCache {
		return
	}
	for k := from / size; k < q.computed/size; k++ {
		parent := none
		if k > 0 {
			if parent = q.table[k-1]; !s.pool.prefix.has(parent) {
				return
			}
		}
		b := s.pool.prefix.add(parent, q.table[k], q.tokens[k*size:(k+1)*size])
		if b != q.table[k] {
			s.pool.acquire(b)
			s.pool.release(q.table[k])
			q.table[k] = b
		}
	}
}

// grow gives sequences that crossed into a new block that block. When there is
// none, the newest sequence gives its own back.
func (s *Scheduler) grow() {
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		// Asked once a turn: a reader may catch up at any time, and what has
		// no room now must not be planned now.
		if q.full = q.stalled(); q.full {
			continue
		}
		for q.state == running && len(q.table) < s.pool.blocksFor(len(q.tokens)) {
			if b, ok := s.pool.alloc(); ok {
				q.table = append(q.table, b)
			} else if len(s.running) > 1 {
				s.preempt(s.running[len(s.running)-1])
			} else {
				s.finish(q, Length, token.None) // has the whole cache and needs more
			}
		}
	}
}

// preempt sends q back to wait. Its tokens and its sampler stay as they are;
// keys and values are computed again when there is room.
func (s *Scheduler) preempt(q *sequence) {
	s.log.DebugContext(q.ctx, "sequence preempted", "tokens", len(q.tokens), "blocks", len(q.table), "running", len(s.running))
	s.stats.preempts.Add(1)
	s.leave(q)
	q.state = waiting
	s.waiting = insert(s.waiting, q)
}

// leave takes q out of where it is, with its blocks.
func (s *Scheduler) leave(q *sequence) {
	switch q.state {
	case running:
		s.running = remove(s.running, q)
		s.left = true
	case waiting:
		s.waiting = remove(s.waiting, q)
		if !q.seen {
			s.fresh--
		}
	}
	s.vacate(q)
	// There may be room now, or another head.
	s.blocked = nil
}

// assemble makes the batch of the planned rows. It says whether there are any.
func (s *Scheduler) assemble() bool {
	in := &s.batch
	in.Tokens, in.Positions, in.Seq = in.Tokens[:0], in.Positions[:0], in.Seq[:0]
	in.Tables, in.Want, in.Top = in.Tables[:0], in.Want[:0], in.Top[:0]
	s.steps = s.steps[:0]
	s.draws.reset()
	for i, n := range s.rows {
		if n == 0 {
			continue
		}
		q, l := s.running[i], &s.loads[i]
		wants := len(in.Want)
		for k := range n {
			if k >= l.from && k < l.to || l.last && k == l.rows-1 {
				next := token.None
				if k >= l.from && k < l.to {
					next = q.tokens[q.computed+k+1]
				}
				in.Want = append(in.Want, int32(len(in.Tokens)))
				in.Top = append(in.Top, s.top(q, next == token.None))
				s.draws.plan(q, next)
			}
			in.Tokens = append(in.Tokens, q.tokens[q.computed+k])
			in.Positions = append(in.Positions, int32(q.computed+k))
			in.Seq = append(in.Seq, int32(len(in.Tables)))
		}
		in.Tables = append(in.Tables, q.table)
		s.steps = append(s.steps, stepped{q, n, len(in.Want) - wants})
	}
	return len(s.steps) > 0
}

// step runs the batch and hands out what comes of it.
func (s *Scheduler) step(ctx context.Context) {
	s.now = time.Now()
	for _, p := range s.steps {
		if p.q.started.IsZero() {
			p.q.started = s.now
		}
	}
	if err := s.run(ctx); err != nil {
		if ctx.Err() != nil {
			return // shutdown does the rest
		}
		for _, p := range s.steps {
			if p.q.state != ended { // a line for each request, since each has lost its reply
				s.log.ErrorContext(p.q.ctx, "step failed", "err", err, "rows", len(s.batch.Tokens), "sequences", len(s.steps))
				s.fail(p.q.job, err)
			}
		}
		return
	}
	s.stats.steps.Add(1)
	s.now = time.Now()
	at := 0
	for _, p := range s.steps {
		from := s.draws.first[at]
		at += p.wants
		if p.q.state == running { // else it fell with a sister
			s.advance(p.q, p.rows, s.draws.all[from:s.draws.first[at]])
		}
	}
}

// run has the engine compute the batch, and meanwhile draws.
func (s *Scheduler) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("engine panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("sched: the engine panicked: %v", p)
		}
	}()
	if _, err := s.o.Exec.Run(ctx, &s.batch, s.o.Cache); err != nil {
		return err
	}
	if i := slices.Index(s.draws.done, false); i >= 0 {
		return fmt.Errorf("sched: the engine gave no logits of wanted row %d of %d", i, len(s.draws.done))
	}
	return nil
}

// advance notes that n more rows of q are computed, and what was drawn from those
// that were wanted.
func (s *Scheduler) advance(q *sequence, n int, drawn []draw) {
	from := q.computed
	q.computed += n
	if q.PromptLogprobs && !q.done {
		// Row p tells about token p+1.
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
	if q.computed < len(q.tokens) {
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
		Queue:    q.started.Sub(q.submitted),
		Took:     s.now.Sub(q.started),
		Logprobs: q.scores,
	}}
	q.scores = nil
}

// fork makes the other sequences of q's request, now that the prompt they
// share is done. Those without room wait, like preempted ones.
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
		s.dirty.Store(true) // Stop may have named one that was not there yet
	}
}

// share lets f continue where q is: it has q's whole blocks too, and a copy of
// the one that is partly filled.
func (s *Scheduler) share(f, q *sequence, whole int) bool {
	if len(s.running) >= s.o.Slots {
		return false
	}
	if q.prompt > whole*s.o.BlockSize {
		b, ok := s.pool.alloc()
		if !ok {
			return false
		}
		s.o.Cache.Copy(b, q.table[whole])
		f.table = append(f.table, q.table[:whole]...)
		f.table = append(f.table, b)
	} else {
		f.table = append(f.table, q.table[:whole]...)
	}
	for _, b := range f.table[:whole] {
		s.pool.acquire(b)
	}
	f.computed = q.computed
	return true
}

// follow has q go on by the token that was drawn for it.
func (s *Scheduler) follow(q *sequence, d *draw) {
	q.sampler = d.sampler
	if d.panic != nil {
		s.log.ErrorContext(q.ctx, "sampler panicked", "panic", d.panic, "stack", d.stack)
	}
	t, err := d.token, d.err
	switch {
	case errors.Is(err, sample.ErrBarred) && q.Mask != nil && len(q.barred()) > 0:
		// The grammar is complete, and the only tokens it would still allow
		// are the ones the request bars.
		s.finish(q, Stop, token.None)
		return
	case err != nil:
		s.fail(q.job, err)
		return
	case q.stops(t.ID):
		s.finish(q, Stop, t.ID)
		return
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
	if q.generated >= q.Max {
		s.finish(q, Length, token.None)
	}
}

// finish ends one sequence.
func (s *Scheduler) finish(q *sequence, reason Reason, id token.ID) {
	q.st.events <- Event{Type: Finish, Seq: q.index, Reason: reason, StopID: id, Tokens: q.generated}
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
		if s.service == 0 {
			s.service = took
		}
		s.service += (took - s.service) / 8
	}
	close(st.events)
}

// shutdown ends everything and lets nothing more in.
func (s *Scheduler) shutdown() {
	s.box.Lock()
	s.box.stopped = true
	s.box.Unlock()
	s.receive()
	for len(s.running) > 0 {
		s.fail(s.running[0].job, ErrStopped)
	}
	for len(s.waiting) > 0 {
		s.fail(s.waiting[0].job, ErrStopped)
	}
	s.publish()
}
