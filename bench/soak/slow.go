//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"quern/bench/internal/must"
)

const slowReaders = 200

// slow has clients ask for long answers and read nothing of them.
func slow(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	const limit = 2 * time.Second
	s := must.Get(started(ctx, o, fmt.Sprintf("%sstream_write_timeout: %v\n", small, limit)))
	defer s.kill()
	c := newClient(s)
	must.Get(c.chat(ctx, "Hello"))
	// As many that read take as much of the model; what is left to others is compared with that.
	var all sync.WaitGroup
	for range slowReaders {
		conn := must.Get(c.post(ctx, net.Dialer{}))
		all.Go(func() {
			defer conn.Close()
			_, _ = io.Copy(io.Discard, conn)
		})
	}
	beside := must.Get(c.waits(ctx, o.clients, 200))
	all.Wait()
	before := must.Get(s.rests(ctx, usage{}))
	// Small segments and a small window: the kernel takes little for a client that does not read.
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		control := raw.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096), unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536))
		})
		return errors.Join(control, err)
	}}
	for range slowReaders {
		conn := must.Get(c.post(ctx, d))
		defer conn.Close()
	}
	busy := must.Get(c.waits(ctx, o.clients, 200))
	began := time.Now()
	// All are dropped although none of them leaves.
	after := must.Get(s.rests(ctx, before))
	said := fmt.Sprintf("%d clients that do not read are dropped, the last %v after others' answers; p95 of those %v, beside as many that read %v; %v", slowReaders,
		time.Since(began).Round(100*time.Millisecond), busy, beside, after)
	if o.ratio > 0 && float64(busy) > o.ratio*float64(beside) {
		return "", fmt.Errorf("%s: more than %.1f times", said, o.ratio)
	}
	return said, s.stop()
}

// waits has n clients ask, and returns the time within which 95 of 100 of their answers were
// whole. A full queue is no answer.
func (c *client) waits(ctx context.Context, n, requests int) (time.Duration, error) {
	var mu sync.Mutex
	var took []time.Duration
	var errs []error
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := range requests / n {
				began := time.Now()
				_, err := c.chat(ctx, sum(i))
				mu.Lock()
				if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusServiceUnavailable {
					err = nil
				}
				took = append(took, time.Since(began))
				if err != nil {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	c.http.CloseIdleConnections()
	if len(errs) > 0 {
		return 0, fmt.Errorf("%d of %d failed, the first: %w", len(errs), len(took), errs[0])
	}
	slices.Sort(took)
	return took[len(took)*95/100].Round(time.Millisecond), nil
}
