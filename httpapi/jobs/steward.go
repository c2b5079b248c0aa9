package jobs

import (
	"context"
	"errors"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A steward runs one batch from the state in its record to its end.
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
	checkEvery = 15 * time.Second // that missing lines are still in the queue
)

// run runs the batch until it is over, or ctx ends.
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

// unfound drops a batch that has no record: its client has been answered that it failed, or will
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

	waiting, err := w.waiting(ctx) // before the results: lines that end in between are counted twice
	if err != nil {
		return err
	}
	results, err := w.results(ctx)
	if err != nil {
		return err
	}
	defer results.Stop()
	if c := w.counts(); c != w.r.Counts { // of the steward before
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
			return errChanged // read the results again, and queue missing lines
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

// results reads the stored results into done, and then watches for new ones.
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

// note records that a line has a result.
func (w *steward) note(e jetstream.KeyValueEntry) {
	if e == nil || len(e.Value()) == 0 {
		return
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(e.Key(), w.id+".")); err == nil {
		w.done[n] = mark(e.Value()[0])
	}
}
