package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A ticket is a line in the queue.
type ticket struct {
	Key      string          `json:"key"` // of the batch's record
	Batch    string          `json:"batch"`
	N        int             `json:"n"`
	CustomID string          `json:"custom_id"`
	Endpoint string          `json:"endpoint"`
	Model    string          `json:"model,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"` // none of a long one, which is read from the input file
}

func newTicket(key, id string, l batch.Line) ticket {
	t := ticket{Key: key, Batch: id, N: l.N, CustomID: l.CustomID, Endpoint: l.Endpoint, Model: l.Model}
	if len(l.Body) <= largeResult {
		t.Body = l.Body
	}
	return t
}

func (t *ticket) line() batch.Line {
	return batch.Line{N: t.N, CustomID: t.CustomID, Endpoint: t.Endpoint, Model: t.Model, Body: t.Body}
}

const (
	// deliveries is how often a line is begun: one that ends its server each time must not
	// do so for ever.
	deliveries = 8
	// longestWait is how long a line waits at most before it is tried again.
	longestWait = 30 * time.Second
	// fetchWait is how long one request for a line waits for it.
	fetchWait = 5 * time.Second
)

// A worker runs one line at a time, so that little is run again when it ends. It pulls lines,
// so that it never has too many.
type worker struct {
	j   *Jobs
	s   *store
	run Runner
}

func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.next(ctx); err != nil && ctx.Err() == nil {
			w.j.log.DebugContext(ctx, "no line can be fetched", "err", err)
			sleep(ctx, time.Second)
		}
	}
}

// next does the line that comes next, if one comes within fetchWait.
func (w *worker) next(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	got, err := w.s.lines.Fetch(1, jetstream.FetchContext(wait))
	if err != nil {
		return err
	}
	for m := range got.Messages() {
		switch err := w.do(ctx, m); {
		case err == nil:
		case ctx.Err() != nil:
			return m.Nak() // another server may have it now
		default:
			w.j.log.WarnContext(ctx, "a line is run again", "err", err)
			return m.NakWithDelay(time.Second)
		}
	}
	if wait.Err() != nil {
		return nil
	}
	return got.Error()
}

// errNotRunning: the batch of a line does not run any more.
var errNotRunning = errors.New("jobs: the batch does not run")

// do runs a line, unless it has a result, and stores its result.
func (w *worker) do(ctx context.Context, m jetstream.Msg) error {
	var t ticket
	if err := json.Unmarshal(m.Data(), &t); err != nil {
		return m.TermWithReason("not a line: " + err.Error())
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	var r batchRecord
	_, err = get(ctx, w.s, t.Key, &r)
	if errors.Is(err, batch.ErrNotFound) || err == nil && r.Status != batch.InProgress && r.Status != batch.Validating {
		return w.done(ctx, m)
	} else if err != nil {
		return err
	}
	key := resultKey(t.Batch, t.N)
	if has, err := w.s.hasResult(ctx, key); err != nil {
		return err
	} else if has {
		return w.done(ctx, m)
	}
	failed, line, err := w.attempt(ctx, m, &t, &r, meta.NumDelivered)
	if errors.Is(err, errNotRunning) {
		return w.done(ctx, m)
	} else if err != nil {
		return err
	}
	if first, err := w.s.createResult(ctx, key, failed, line); err != nil {
		return err
	} else if !first {
		w.j.log.InfoContext(ctx, "a line was computed twice", "batch", t.Batch, "line", t.N)
	}
	return w.done(ctx, m)
}

// done removes a line from the queue.
func (w *worker) done(ctx context.Context, m jetstream.Msg) error {
	return within(ctx, callTime, m.DoubleAck)
}

// attempt runs a line and returns its line of the output file. Meanwhile it reports
// progress to the queue, and watches for the batch's end.
func (w *worker) attempt(ctx context.Context, m jetstream.Msg, t *ticket, r *batchRecord, delivered uint64) (failed bool, line []byte, err error) {
	id := resultID(t.Batch, t.N)
	if delivered > deliveries {
		line, err = batch.Unanswered(id, t.CustomID, batch.CodeGaveUp,
			fmt.Sprintf("this line was begun %d times and never ended: the server stopped each time", deliveries))
		return true, line, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		for sleep(ctx, w.s.ackWait/3) {
			m.InProgress()
			var now batchRecord
			if _, err := get(ctx, w.s, t.Key, &now); errors.Is(err, batch.ErrNotFound) || err == nil && now.Status != batch.InProgress && now.Status != batch.Validating {
				cancel(errNotRunning)
			}
		}
	}()
	defer func() { cancel(nil); <-beating }()

	l := t.line()
	if l.Body == nil {
		if l, err = w.long(ctx, r, t.N); err != nil {
			return false, nil, err
		}
	}
	for wait := pause; ; wait = min(2*wait, longestWait) {
		a := w.run(ctx, r.Owner, l, func(ctx context.Context, id string) (batch.File, io.ReadSeekCloser, error) {
			return w.j.OpenFile(ctx, r.Owner, id)
		})
		if ctx.Err() != nil {
			return false, nil, context.Cause(ctx)
		}
		if !a.Retry {
			line, err = batch.Result(id, t.CustomID, a)
			return a.Status >= http.StatusMultipleChoices, line, err
		}
		if !sleep(ctx, min(max(a.After, wait), longestWait)) {
			return false, nil, context.Cause(ctx)
		}
	}
}

// long reads a line that is too long for the queue.
func (w *worker) long(ctx context.Context, r *batchRecord, n int) (l batch.Line, err error) {
	in, err := w.s.contents.Open(ctx, r.Content, r.Size)
	if err != nil {
		return l, err
	}
	defer in.Close()
	found := errors.New("found")
	err = batch.EachLine(in, w.j.o.LongLine, func(at int, raw []byte) error {
		if at < n {
			return nil
		}
		var bad *batch.LineError
		if l, bad = batch.ParseLine(n, raw); bad != nil {
			return errors.New(bad.Message)
		}
		return found
	})
	if err == found {
		err = nil
	} else if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return l, err
}
