package sched

import (
	"log/slog"

	"quern/engine/trace"
)

// traceSpans adds the spans of a request that has ended to its trace: in the queue, prefill and
// decode.
func (s *Scheduler) traceSpans(j *job, err error) {
	if !trace.On(j.ctx) {
		return
	}
	of := trace.From(j.ctx)
	if j.started.IsZero() {
		q := of.Child("queue", j.submitted)
		if err != nil {
			q.Fail("ended")
		}
		q.End(s.now)
		return
	}
	of.Child("queue", j.submitted).End(j.started)
	read := of.Child("prefill", j.started, slog.Int("quern.tokens", j.prompt), slog.Int("quern.cached_tokens", j.cached), slog.Int("quern.steps", j.readSteps))
	if j.first.IsZero() {
		if err != nil {
			read.Fail("ended")
		}
		read.End(s.now)
		return
	}
	read.End(j.first)
	made := 0
	for _, q := range j.seqs {
		made += q.generated
	}
	wrote := of.Child("decode", j.first, slog.Int("quern.tokens", made), slog.Int("quern.sequences", len(j.seqs)),
		slog.Int("quern.steps", j.drawSteps), slog.Int("quern.preemptions", j.preempted))
	if err != nil {
		wrote.Fail("ended")
	}
	wrote.End(j.last)
}
