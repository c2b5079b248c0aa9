package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// finish writes the results and ends the batch: completed, expired if lines are missing,
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
		return nil // the client has deleted it
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

// clean removes the data that only a running batch needs.
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
