package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

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
// afterwards that was there before: a worker that has one finds its ticket void.
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
	var ack jetstream.PubAckFuture // nil where it was not sent
	if q.s.room.has(len(b)) == nil {
		if a, err := q.s.js.PublishAsync(q.subject, b); err == nil {
			ack = a
		}
	}
	if q.sent = append(q.sent, sent{b, ack}); len(q.sent) < enqueuedTogether {
		return ctx.Err()
	}
	return q.flush(ctx)
}

// flush waits until the sent lines are stored, and sends those again that are not.
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
		if err := until(ctx, func(ctx context.Context) error {
			if err := q.s.room.has(len(x.b)); err != nil {
				return err
			}
			_, err := q.s.js.Publish(ctx, q.subject, x.b)
			return err
		}); err != nil {
			return err
		}
	}
	q.sent = q.sent[:0]
	return nil
}
