package jobs

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// consume opens the consumer of the queue, by which workers get lines. Embedded, it is made anew
// where it and the queue do not fit together, as after a power failure: neither is synced, so one
// may be older than the other. A consumer that is newer counts lines as done that are in the queue
// again, or that will be added under their numbers, and would never deliver them. A new one
// delivers all; those that have a result are acknowledged.
func (s *store) consume(ctx context.Context) (err error) {
	config := jetstream.ConsumerConfig{
		Durable: queueConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.ackWait,
		MaxDeliver:    -1, // workers count deliveries, and end lines delivered too often
		MaxAckPending: inFlight,
	}
	lines, err := s.queue.CreateOrUpdateConsumer(ctx, config)
	if err == nil && s.lines == nil {
		s.lines = lines
	}
	if err != nil || s.server == nil {
		return err // another server's workers may use it
	}
	at, err := s.lines.Info(ctx)
	if err != nil {
		return err
	}
	has, err := s.queue.Info(ctx)
	if err != nil {
		return err
	}
	// No worker runs yet, so every line waits or was delivered and not acknowledged.
	if at.Delivered.Stream <= has.State.LastSeq && has.State.Msgs <= at.NumPending+uint64(at.NumAckPending) {
		return nil
	}
	if err := s.queue.DeleteConsumer(ctx, queueConsumer); err != nil {
		return err
	}
	s.lines, err = s.queue.CreateOrUpdateConsumer(ctx, config)
	return err
}
