package jobs

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// consume opens the consumer of the queue, by which workers get lines. Embedded, it is made anew
// where it and the queue do not fit together, as after a power failure: neither is synced, so one
// may be older than the other. A consumer that is newer takes lines for done that are there again, or that
// will be put under their numbers, and would never hand them out. A new one hands out all there
// are; those that have a result end by it.
func (s *store) consume(ctx context.Context) (err error) {
	config := jetstream.ConsumerConfig{
		Durable: queueConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.ackWait,
		MaxDeliver:    -1, // workers count, and end what was delivered too often
		MaxAckPending: inFlight,
	}
	lines, err := s.queue.CreateOrUpdateConsumer(ctx, config)
	if err == nil && s.lines == nil {
		s.lines = lines
	}
	if err != nil || s.server == nil {
		return err // another server's workers may be at it
	}
	at, err := s.lines.Info(ctx)
	if err != nil {
		return err
	}
	has, err := s.queue.Info(ctx)
	if err != nil {
		return err
	}
	// No worker runs yet, so every line waits or was handed out and not ended.
	if at.Delivered.Stream <= has.State.LastSeq && has.State.Msgs <= at.NumPending+uint64(at.NumAckPending) {
		return nil
	}
	if err := s.queue.DeleteConsumer(ctx, queueConsumer); err != nil {
		return err
	}
	s.lines, err = s.queue.CreateOrUpdateConsumer(ctx, config)
	return err
}
