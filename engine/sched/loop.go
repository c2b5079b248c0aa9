package sched

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"quern/engine/rescue"
	"quern/engine/token"
)

// Run serves requests until ctx ends, then ends all of them with ErrStopped,
// releases every block and returns ctx's error. It is to be called once.
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

// turn is one iteration of the loop. It reports whether another without
// being woken may do more.
func (s *Scheduler) turn(ctx context.Context) bool {
	s.left = false
	s.receive()
	if s.dirty.Swap(false) {
		s.reap()
	}
	s.admit()
	s.grow()
	s.installRead()
	s.loads = s.loads[:0]
	for _, q := range s.running {
		s.extend(q)
		l := q.load()
		l.cut = s.cut(q)
		s.loads = append(s.loads, l)
	}
	s.rows = s.planner.plan(s.rows[:0], s.loads, s.o.Budget, s.o.MaxWant)
	s.reach()
	s.speculate(ctx)
	s.publish()
	if !s.assemble() {
		return s.left
	}
	s.step(ctx)
	s.publish()
	return true
}

// receive moves new requests out of the box into waiting.
func (s *Scheduler) receive() {
	s.box.Lock()
	defer s.box.Unlock()
	if len(s.box.jobs)+len(s.box.background) == 0 {
		return
	}
	for _, list := range [][]*job{s.box.jobs, s.box.background} {
		for _, j := range list {
			j.then = s.read
			s.waiting = insert(s.waiting, j.seqs[0])
		}
		clear(list)
	}
	s.fresh += len(s.box.jobs)
	s.box.waiting = s.fresh
	s.box.jobs, s.box.background = s.box.jobs[:0], s.box.background[:0]
	// One of them may have been cancelled before it was in waiting.
	s.dirty.Store(true)
}

// publish updates the numbers that Submit and Stats read.
func (s *Scheduler) publish() {
	s.box.Lock()
	s.box.waiting = s.fresh
	s.box.running = len(s.running)
	s.box.service = s.service
	// Free slots are of no use while the first that waits lacks blocks, and preempted
	// sequences take them first.
	s.box.spare = 0
	if s.blocked == nil || s.blocked.Background {
		s.box.spare = max(0, s.o.Slots-foreground(s.running)-(foreground(s.waiting)-s.fresh))
	}
	others := foreground(s.waiting)
	s.stats.waiting.Store(int64(others + len(s.box.jobs)))
	s.stats.background.Store(int64(len(s.waiting) - others + len(s.box.background)))
	s.countAdapters()
	s.box.Unlock()
	s.stats.running.Store(int64(len(s.running)))
	s.stats.used.Store(int64(s.pool.Used()))
}

// reap ends the sequences that were cancelled or stopped.
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

// assemble makes the batch of the planned rows. It reports whether there are any.
func (s *Scheduler) assemble() bool {
	in := &s.batch
	in.Reset()
	s.steps = s.steps[:0]
	s.draws.reset()
	for a := range int32(s.o.Adapters + 1) { // sequences of one adapter follow each other
		s.gather(a)
	}
	return len(s.steps) > 0
}

// gather adds the planned rows of the sequences of an adapter to the batch.
func (s *Scheduler) gather(adapter int32) {
	in := &s.batch
	for i, n := range s.rows {
		q, l := s.running[i], &s.loads[i]
		if n == 0 || q.Adapter != adapter {
			continue
		}
		wants := len(in.Want)
		in.Sequence(q.table, nil)
		for i := range q.near {
			in.NearTable(q.near[i].Table)
		}
		if s.o.Adapters > 0 {
			in.Adapter(adapter)
		}
		if q.slot != noSlot {
			in.State(q.slot)
		}
		for k := range n - len(q.draft) {
			in.Row(q.tokens[q.computed+k], int32(q.computed+k))
			if k >= l.from && k < l.to || l.last && k == l.rows-1 {
				next := token.None
				if k >= l.from && k < l.to {
					next = q.tokens[q.computed+k+1]
				}
				top := s.top(q, next == token.None, 0)
				in.WantRow(top)
				if q.Mask != nil && top > 0 {
					in.MaskRow()
				}
				s.draws.plan(q, next)
			}
		}
		head := len(s.draws.done) - 1
		for k, id := range q.draft {
			in.Row(id, int32(len(q.tokens)+k))
			in.WantRow(s.top(q, true, k+1))
			s.draws.row(head)
		}
		s.steps = append(s.steps, stepped{q, n, len(in.Want) - wants})
	}
}

// countAdapters counts the sequences that wait and run with each adapter. The box is locked.
func (s *Scheduler) countAdapters() {
	if s.o.Adapters == 0 {
		return
	}
	clear(s.counts)
	for _, q := range s.waiting[:foreground(s.waiting)] {
		s.counts[q.Adapter][0]++
	}
	for _, j := range s.box.jobs {
		s.counts[j.Adapter][0]++
	}
	for _, q := range s.running {
		s.counts[q.Adapter][1]++
	}
	for i := range s.stats.adapters {
		for k, n := range s.counts[i+1] {
			s.stats.adapters[i][k].Store(n)
		}
	}
}

// step runs the batch and advances its sequences by the results.
func (s *Scheduler) step(ctx context.Context) {
	s.now = s.o.Now()
	for _, p := range s.steps {
		if p.q.started.IsZero() {
			p.q.started = s.now
		}
	}
	step, ok := s.abortable(ctx)
	if !ok {
		s.undo()
		return
	}
	err := s.run(step)
	if s.aborted(step, err) {
		s.undo()
		return
	}
	if err != nil {
		if ctx.Err() != nil {
			return // shutdown does the rest
		}
		for _, p := range s.steps {
			if p.q.state != ended { // a line for each request that fails
				s.log.ErrorContext(p.q.ctx, "step failed", "err", err, "rows", len(s.batch.Tokens), "sequences", len(s.steps))
				s.fail(p.q.job, err)
			}
		}
		return
	}
	s.stats.steps.Add(1)
	of := s.shares()
	s.read += int64(of.rows)
	for _, p := range s.steps {
		p.q.had, p.q.then = p.rows, s.read
	}
	began := s.now
	s.now = s.o.Now()
	s.costs.note(len(s.batch.Tokens), of, s.now.Sub(began))
	at, row := 0, 0
	for i := range s.steps {
		p := &s.steps[i]
		drawn := s.draws.all[s.draws.first[at]:s.draws.first[at+p.wants]]
		if p.q.state == running { // else it ended with another sequence of its request
			from, stand := p.q.computed, standing(p, drawn)
			s.advance(p.q, p.rows, drawn)
			s.collect(p.q, from, stand, row, len(s.batch.Tokens))
		}
		at += p.wants
		row += p.rows
	}
	s.callWatchers(ctx)
}

// shares is the step's rows of prompts.
func (s *Scheduler) shares() (of share) {
	for i := range s.rows {
		if l := &s.loads[i]; l.prompt() && s.rows[i] > 0 {
			of.rows += s.rows[i]
			of.depth += s.rows[i] * (l.depth + s.rows[i]/2)
		}
	}
	return of
}

// run computes the batch on Options.Exec, which draws from each row as it is done.
func (s *Scheduler) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			cause := rescue.Error(p)
			s.log.Error("engine panicked", "err", cause) // with the stack, once
			first, _, _ := strings.Cut(cause.Error(), "\n")
			err = fmt.Errorf("sched: the engine: %s", first)
		}
	}()
	s.masks.start(s.draws.all)
	defer s.masks.wait()
	results, err := s.o.Exec.Run(ctx, &s.batch, s.o.Cache)
	if err == nil {
		err = s.drafts.keepMade(results)
	}
	if err != nil {
		return err
	}
	if i := slices.Index(s.draws.done, false); i >= 0 {
		return fmt.Errorf("sched: the engine gave no logits of wanted row %d of %d", i, len(s.draws.done))
	}
	return nil
}

// shutdown ends all requests; Submit returns ErrStopped from then on.
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
