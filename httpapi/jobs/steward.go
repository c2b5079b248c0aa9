package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A steward takes one batch from where its record says it is to its end.
type steward struct {
	j   *Jobs
	s   *store
	id  string
	key string

	r    batchRecord
	rev  uint64
	done map[int]mark // lines that have a result
}

const (
	saveEvery  = time.Second      // the counts of a batch, while it runs
	checkEvery = 15 * time.Second // that what is missing still waits
)

// run goes on until the batch is over, or ctx ends.
func (w *steward) run(ctx context.Context) error {
	var err error
	for {
		w.rev, err = get(ctx, w.s, w.key, &w.r)
		switch {
		case errors.Is(err, batch.ErrNotFound):
			return w.unfound(ctx)
		case err != nil:
			return err
		}
		switch w.r.Status {
		case batch.Validating:
			err = w.validate(ctx)
		case batch.InProgress:
			err = w.follow(ctx)
		case batch.Finalizing, batch.Cancelling:
			err = w.finish(ctx)
		default:
			return w.clean(ctx)
		}
		if err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
}

// unfound gives up a batch that has no record: its client was told that it failed, or will
// be in a moment.
func (w *steward) unfound(ctx context.Context) error {
	return call(ctx, func(ctx context.Context) error {
		e, err := w.s.active.Get(ctx, w.id)
		if err != nil || time.Since(e.Created()) < time.Minute {
			return err
		}
		return w.s.active.Purge(ctx, w.id)
	})
}

// save writes the record.
func (w *steward) save(ctx context.Context) (err error) {
	w.rev, err = w.s.update(ctx, &w.r, w.rev)
	return err
}

func (w *steward) now() *int64 { return new(w.j.o.Now().Unix()) }

// input opens the file the batch was made of.
func (w *steward) input(ctx context.Context) (io.ReadCloser, error) {
	return w.s.contents.Open(ctx, w.r.Content, w.r.Size)
}

// validate checks every line before any of them runs.
func (w *steward) validate(ctx context.Context) error {
	in, err := w.input(ctx)
	if errors.Is(err, batch.ErrNotFound) {
		return w.fail(ctx, batch.LineError{Code: "input_file_deleted", Message: "the input file was deleted before its lines had run"})
	} else if err != nil {
		return err
	}
	defer in.Close()
	c, err := batch.CheckLines(in, w.r.Endpoint, w.j.o.LongLine)
	if err != nil {
		return err
	}
	if len(c.Errors) > 0 {
		return w.fail(ctx, c.Errors...)
	}
	w.r.Status, w.r.InProgressAt = batch.InProgress, w.now()
	w.r.Counts.Total, w.r.Model = c.Lines, c.Model
	return w.save(ctx)
}

func (w *steward) fail(ctx context.Context, why ...batch.LineError) error {
	w.r.Status, w.r.FailedAt = batch.Failed, w.now()
	w.r.Errors = &batch.Errors{Object: "list", Data: why}
	return w.save(ctx)
}

// follow has the lines run and counts their results, until all are there or the batch is
// cancelled or late.
func (w *steward) follow(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Waited for on a clock that does not jump.
	late := time.NewTimer(time.Unix(*w.r.ExpiresAt, 0).Sub(w.j.o.Now()))
	defer late.Stop()
	save, check := time.NewTicker(saveEvery), time.NewTicker(checkEvery)
	defer save.Stop()
	defer check.Stop()

	waiting, err := w.waiting(ctx) // before the results: what has run meanwhile is counted twice
	if err != nil {
		return err
	}
	results, err := w.results(ctx)
	if err != nil {
		return err
	}
	defer results.Stop()
	if c := w.counts(); c != w.r.Counts { // of who was the steward before
		w.r.Counts = c
		if err := w.save(ctx); err != nil {
			return err
		}
	}
	filled := make(chan error, 1)
	fill := func() {
		have := maps.Clone(w.done)
		go func() { filled <- w.fill(ctx, have) }()
	}
	if waiting+len(w.done) < w.r.Counts.Total {
		fill()
	} else {
		filled <- nil
	}
	full := false
	for len(w.done) < w.r.Counts.Total {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-results.Updates():
			if !ok {
				return errors.New("jobs: the results are no longer told")
			}
			w.note(e)
			continue
		case err := <-filled:
			if errors.Is(err, batch.ErrNotFound) {
				return w.fail(ctx, batch.LineError{Code: "input_file_deleted", Message: "the input file was deleted before its lines had run"})
			} else if err != nil {
				return err
			}
			full = true
			continue
		case <-check.C:
			n, err := w.waiting(ctx)
			if err != nil || n > 0 || !full {
				continue // those that wait will be run
			}
			return errChanged // look again at what there is, and fill what is missing
		case <-late.C:
			w.j.log.InfoContext(ctx, "batch has expired", "batch", w.id, "lines", w.r.Counts.Total, "done", len(w.done))
			w.r.Counts = w.counts()
			return w.finalizing(ctx)
		case <-save.C:
		}
		if c := w.counts(); c != w.r.Counts {
			w.r.Counts = c
			err = w.save(ctx)
		} else {
			var now batchRecord
			if _, err = get(ctx, w.s, w.key, &now); err == nil && now.Status != batch.InProgress {
				return errChanged
			}
		}
		var away *batch.AwayError
		if err != nil && !errors.As(err, &away) {
			return err
		}
	}
	w.r.Counts = w.counts()
	return w.finalizing(ctx)
}

func (w *steward) finalizing(ctx context.Context) error {
	w.r.Status, w.r.FinalizingAt = batch.Finalizing, w.now()
	return w.save(ctx)
}

func (w *steward) counts() batch.Counts {
	c := batch.Counts{Total: w.r.Counts.Total}
	for _, m := range w.done {
		if m.failed() {
			c.Failed++
		} else {
			c.Completed++
		}
	}
	return c
}

// results reads the results there are into done, and goes on with those that come.
func (w *steward) results(ctx context.Context) (jetstream.KeyWatcher, error) {
	w.done = map[int]mark{}
	r, err := w.s.results.Watch(ctx, w.id+".*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, failure(err)
	}
	for {
		select {
		case <-ctx.Done():
			r.Stop()
			return nil, ctx.Err()
		case <-time.After(3 * callTime):
			r.Stop()
			return nil, &batch.AwayError{Err: errors.New("the results are not told")}
		case e := <-r.Updates():
			if e == nil {
				return r, nil
			}
			w.note(e)
		}
	}
}

// note remembers that a line has a result.
func (w *steward) note(e jetstream.KeyValueEntry) {
	if e == nil || len(e.Value()) == 0 {
		return
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(e.Key(), w.id+".")); err == nil {
		w.done[n] = mark(e.Value()[0])
	}
}

// waiting is how many lines of the batch are in the queue, or with workers.
func (w *steward) waiting(ctx context.Context) (n int, err error) {
	subject := queueSubject + w.id
	err = call(ctx, func(ctx context.Context) error {
		i, err := w.s.queue.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err == nil {
			n = int(i.State.Subjects[subject])
		}
		return err
	})
	return n, err
}

// fill puts every line that has no result into the queue, which has none of the batch
// afterwards that was there before: a worker who has one finds that it lost it.
func (w *steward) fill(ctx context.Context, have map[int]mark) error {
	if err := w.purge(ctx); err != nil {
		return err
	}
	in, err := w.input(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	q := &enqueuer{s: w.s, subject: queueSubject + w.id}
	if err := batch.EachLine(in, w.j.o.LongLine, func(n int, raw []byte) error {
		if _, ok := have[n]; ok {
			return nil
		}
		l, bad := batch.ParseLine(n, raw)
		if bad != nil {
			return fmt.Errorf("jobs: line %d was checked and is not one: %s", n, bad.Message)
		}
		b, err := json.Marshal(newTicket(w.key, w.id, l))
		if err != nil {
			return err
		}
		return q.put(ctx, b)
	}); err != nil {
		return err
	}
	return q.flush(ctx)
}

// purge empties the queue of the batch's lines.
func (w *steward) purge(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) error {
		return w.s.queue.Purge(ctx, jetstream.WithPurgeSubject(queueSubject+w.id))
	})
}

// An enqueuer sends lines some at a time. A full queue makes it wait for workers.
type enqueuer struct {
	s       *store
	subject string
	sent    []sent
}

type sent struct {
	b   []byte
	ack jetstream.PubAckFuture
}

const enqueuedTogether = 256

func (q *enqueuer) put(ctx context.Context, b []byte) error {
	ack, err := q.s.js.PublishAsync(q.subject, b)
	if err != nil {
		ack = nil
	}
	if q.sent = append(q.sent, sent{b, ack}); len(q.sent) < enqueuedTogether {
		return ctx.Err()
	}
	return q.flush(ctx)
}

// flush waits until what was sent is stored, and sends again what is not.
func (q *enqueuer) flush(ctx context.Context) error {
	patience := time.After(callTime)
	for _, x := range q.sent {
		if x.ack != nil {
			select {
			case <-x.ack.Ok():
				continue
			case <-x.ack.Err():
			case <-patience:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// It may be stored by now, and is then run once more for nothing.
		if err := until(ctx, func(ctx context.Context) error { _, err := q.s.js.Publish(ctx, q.subject, x.b); return err }); err != nil {
			return err
		}
	}
	q.sent = q.sent[:0]
	return nil
}

// finish writes what there is and ends the batch: completed, expired if lines are missing,
// or cancelled.
func (w *steward) finish(ctx context.Context) error {
	if err := w.purge(ctx); err != nil {
		return err
	}
	results, err := w.results(ctx)
	if err != nil {
		return err
	}
	results.Stop()
	counted := w.r.Counts.Completed + w.r.Counts.Failed
	if w.r.Counts = w.counts(); w.r.Counts.Completed+w.r.Counts.Failed < counted {
		return fmt.Errorf("jobs: %d results were counted and %d are there", counted, len(w.done))
	}
	missing := w.r.Counts.Total - len(w.done)
	expired := w.r.Status == batch.Finalizing && missing > 0
	if w.r.OutputFileID, err = w.output(ctx, "output", func(m mark) bool { return !m.failed() }, false); err != nil {
		return err
	}
	if w.r.ErrorFileID, err = w.output(ctx, "error", mark.failed, expired); err != nil {
		return err
	}
	switch {
	case w.r.Status == batch.Cancelling:
		w.r.Status, w.r.CancelledAt = batch.Cancelled, w.now()
	case expired:
		w.r.Status, w.r.ExpiredAt = batch.Expired, w.now()
		w.r.Counts.Failed += missing
	default:
		w.r.Status, w.r.CompletedAt = batch.Completed, w.now()
	}
	if err := w.save(ctx); err != nil {
		return err
	}
	w.j.log.InfoContext(ctx, "batch is over", "batch", w.id, "status", w.r.Status, "lines", w.r.Counts.Total, "failed", w.r.Counts.Failed)
	return w.clean(ctx)
}

// output stores the results that pick chooses as a file and returns its id, nil if there
// are none. With missing, lines without a result are in it too.
func (w *steward) output(ctx context.Context, kind string, pick func(mark) bool, missing bool) (*string, error) {
	var lines []int
	for n, m := range w.done {
		if pick(m) {
			lines = append(lines, n)
		}
	}
	if len(lines) == 0 && !missing {
		return nil, nil
	}
	slices.Sort(lines)
	r, pipe := io.Pipe()
	go func() {
		for _, n := range lines {
			if err := w.s.copyResult(ctx, pipe, resultKey(w.id, n)); err != nil {
				pipe.CloseWithError(err)
				return
			}
		}
		if missing {
			pipe.CloseWithError(w.writeMissing(ctx, pipe))
			return
		}
		pipe.Close()
	}()
	defer r.Close()
	f := batch.File{ID: "file-" + strings.TrimPrefix(w.id, "batch_") + kind[:1], CreatedAt: *w.now(), Filename: w.id + "_" + kind + ".jsonl", Purpose: batch.ForOutput}
	if w.r.OutputAge > 0 {
		f.ExpiresAt = new(f.CreatedAt + w.r.OutputAge)
	}
	_, err := w.j.putFile(ctx, w.s, w.r.Owner, f, r)
	if conflict(err) {
		err = nil // an earlier steward stored it
	}
	return &f.ID, err
}

// writeMissing writes an error for every line without a result.
func (w *steward) writeMissing(ctx context.Context, to io.Writer) error {
	in, err := w.input(ctx)
	if errors.Is(err, batch.ErrNotFound) {
		return nil // who deleted it knows what was in it
	} else if err != nil {
		return err
	}
	defer in.Close()
	return batch.EachLine(in, w.j.o.LongLine, func(n int, raw []byte) error {
		if _, ok := w.done[n]; ok {
			return nil
		}
		l, _ := batch.ParseLine(n, raw)
		b, err := batch.Unanswered(resultID(w.id, n), l.CustomID, batch.CodeExpired, "this request was not run before the completion window of its batch was over")
		if err == nil {
			_, err = to.Write(b)
		}
		return err
	})
}

// clean removes what only a batch that runs needs.
func (w *steward) clean(ctx context.Context) error {
	if err := w.purge(ctx); err != nil {
		return err
	}
	if w.done == nil {
		results, err := w.results(ctx)
		if err != nil {
			return err
		}
		results.Stop()
	}
	for n, m := range w.done {
		if !m.large() {
			continue
		}
		if err := w.s.dropLarge(ctx, resultKey(w.id, n)); err != nil {
			return err
		}
	}
	return until(ctx, func(ctx context.Context) error {
		st, err := w.s.js.Stream(ctx, "KV_"+bucketResults)
		if err != nil {
			return err
		}
		if err := st.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucketResults+"."+w.id+".*")); err != nil {
			return err
		}
		return w.s.active.Purge(ctx, w.id)
	})
}
