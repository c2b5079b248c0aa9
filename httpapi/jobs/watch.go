package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// How often a server looks for batches without a steward, and for expired files and batches.
const (
	watchEvery = 3 * time.Second
	sweepEvery = time.Minute
)

// watch takes over every batch that has no steward, until ctx ends.
func (j *Jobs) watch(ctx context.Context, s *store) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	mine := map[string]bool{}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	swept := time.Time{}
	for {
		if time.Since(swept) > sweepEvery {
			swept = time.Now()
			if err := j.sweep(ctx, s); err != nil && ctx.Err() == nil {
				j.log.WarnContext(ctx, "expired files are not removed", "err", err)
			}
		}
		ids, err := s.activeIDs(ctx)
		if err == nil && s.server == nil {
			var mended []string
			if mended, err = s.mend(ctx, time.Now()); len(mended) > 0 {
				j.log.WarnContext(ctx, "streams of the cluster had no leader, and were made anew; nothing is lost", "streams", mended)
			}
		}
		if err != nil && ctx.Err() == nil {
			j.log.WarnContext(ctx, "batches cannot be looked after", "err", err)
		}
		for id, key := range ids {
			mu.Lock()
			taken := mine[id]
			mine[id] = true
			mu.Unlock()
			if taken {
				continue
			}
			wg.Go(func() {
				j.lead(ctx, s, id, key)
				mu.Lock()
				delete(mine, id)
				mu.Unlock()
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-j.kick:
		case <-every.C:
		}
	}
}

// activeIDs are the keys of the records of batches that are not over, by id.
func (s *store) activeIDs(ctx context.Context) (map[string]string, error) {
	ids := map[string]string{}
	err := call(ctx, func(ctx context.Context) error {
		return entries(ctx, s.active, ">", func(e jetstream.KeyValueEntry) error {
			ids[e.Key()] = string(e.Value())
			return nil
		})
	})
	return ids, err
}

// lead is the steward of a batch, if no other server is, for as long as it has the lease.
func (j *Jobs) lead(ctx context.Context, s *store, id, key string) {
	l := &lease{s: s, id: id}
	if err := call(ctx, l.take); err != nil {
		return // it has another steward, or will have one later
	}
	work, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { defer stop(); l.renew(work) })
	err := (&steward{j: j, s: s, key: key, id: id}).run(work)
	stop()
	wg.Wait()
	if err != nil && !errors.Is(err, context.Canceled) {
		j.log.WarnContext(ctx, "batch goes on later", "batch", id, "err", err)
		return // when the lease has run out
	}
	if err := call(context.WithoutCancel(ctx), l.drop); err != nil {
		j.log.DebugContext(ctx, "lease runs out by itself", "batch", id, "err", err)
	}
}

// A lease says that this server is the steward of a batch. Two stewards of one batch at the
// same time do no harm: records are written only at the revision that was read, results
// and files are created once.
type lease struct {
	s   *store
	id  string
	rev uint64
}

func (l *lease) take(ctx context.Context) (err error) {
	l.rev, err = l.s.leases.Create(ctx, l.id, nil)
	return err
}

func (l *lease) drop(ctx context.Context) error {
	return l.s.leases.Purge(ctx, l.id, jetstream.LastRevision(l.rev))
}

// renew keeps the lease until ctx ends, or another server may have it.
func (l *lease) renew(ctx context.Context) {
	last := time.Now()
	for sleep(ctx, leaseTime/3) {
		c, cancel := context.WithTimeout(ctx, leaseTime/4)
		rev, err := l.s.leases.Update(c, l.id, nil, l.rev)
		cancel()
		if err == nil {
			l.rev, last = rev, time.Now()
		} else if conflict(err) || time.Since(last) > leaseTime*3/4 {
			return
		}
	}
}
