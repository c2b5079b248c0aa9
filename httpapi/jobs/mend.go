package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A passing stream holds data that can be made again: leases, and lines that wait. Both are
// empty at times, and of a stream that is empty the nodes of a cluster that lost power may have forgotten
// how far it was, each waiting for the leader's state and none able to be elected (seen of
// nats-server 2.15). So one that has no leader for long, while the others have, is made anew.
type passing struct {
	name string
	make func(context.Context) error // opens it the first time; handles stay valid after renew, since they go by names

	lost time.Time // when it was first seen to have no leader; zero while it has one
}

// patience is how long a stream may have no leader. Elections take ten seconds at most.
const patience = 30 * time.Second

// openPassing opens a passing stream when those that must not be lost are open.
func (s *store) openPassing(ctx context.Context, p *passing) error {
	err := within(ctx, patience, p.make)
	var away *batch.AwayError
	if s.server != nil || !errors.As(err, &away) || ctx.Err() != nil {
		return err
	}
	return s.renew(ctx, p)
}

// renew deletes a passing stream and makes it again.
func (s *store) renew(ctx context.Context, p *passing) error {
	p.lost = time.Time{}
	err := call(ctx, func(ctx context.Context) error { return s.js.DeleteStream(ctx, p.name) })
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return within(ctx, 3*callTime, p.make)
}

// mend checks whether passing streams have a leader, and renews those that had none for long. It is called
// while streams that must not be lost answer. It returns the names of renewed streams.
func (s *store) mend(ctx context.Context, now time.Time) (mended []string, err error) {
	for _, p := range s.passing {
		lerr := call(ctx, func(ctx context.Context) error {
			_, err := s.js.Stream(ctx, p.name)
			return err
		})
		switch {
		case lerr == nil:
			p.lost = time.Time{}
			continue
		case ctx.Err() != nil:
			return mended, ctx.Err()
		case p.lost.IsZero() && !errors.Is(lerr, jetstream.ErrStreamNotFound): // by another server that makes it anew
			p.lost = now
			continue
		case now.Sub(p.lost) < patience:
			continue
		}
		if err = errors.Join(err, s.renew(ctx, p)); err == nil {
			mended = append(mended, p.name)
		}
	}
	return mended, err
}
