//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"quern/bench/internal/must"
)

// vanished are connections whose machine has lost power, as the server sees it: the kernel drops
// all that arrives for them before it is looked at, so nothing is acknowledged, and no end is sent.
func vanished(ctx context.Context, s *server, n int, request string) (conns []net.Conn, err error) {
	defer must.Catch(&err)
	for range n {
		var d net.Dialer
		c := must.Get(d.DialContext(ctx, "tcp", s.base[len("http://"):]))
		conns = append(conns, c)
		must.Get(c.Write([]byte(request)))
		if _, err := c.Read(make([]byte, 16)); err != nil { // the answer has begun
			return conns, err
		}
		raw := must.Get(c.(*net.TCPConn).SyscallConn())
		var dropped error
		err = raw.Control(func(fd uintptr) {
			nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
			dropped = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing[0]})
		})
		if err := errors.Join(err, dropped); err != nil {
			return conns, fmt.Errorf("%w: a filter of a socket: %w", errNotHere, err)
		}
	}
	return conns, nil
}

// vanish has clients vanish, between two requests and in the middle of an answer.
func vanish(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	s := must.Get(started(ctx, o, small))
	defer s.kill()
	must.Get(newClient(s).chat(ctx, "Hello"))
	before := must.Get(s.rests(ctx, usage{}))
	const each = 20
	idle := must.Get(vanished(ctx, s, each, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
	busy := must.Get(vanished(ctx, s, each, fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(story), story)))
	talks := must.Get(vanished(ctx, s, each/2, "GET /v1/realtime?model=quern-tiny HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c29tZSBvZiBzb2FrLiAgIQ==\r\n\r\n"))
	defer func() {
		for _, c := range slices.Concat(idle, busy, talks) {
			c.Close()
		}
	}()
	open := must.Get(s.usage(ctx))
	if open.files < before.files+each+each/2 {
		return "", fmt.Errorf("%d clients vanished, and the server has %v; before %v", 2*each+each/2, open, before)
	}
	began := time.Now()
	must.Do(poll(ctx, 75*time.Second, "connections without the other end are closed", func() error {
		u, err := s.usage(ctx)
		if err == nil && (u.files > before.files+4 || u.goroutines > before.goroutines+4) {
			err = fmt.Errorf("%v; before %v", u, before)
		}
		return err
	}))
	return fmt.Sprintf("%d clients between requests, %d in an answer and %d in a conversation are given up after %v", each, each, each/2, time.Since(began).Round(time.Second)), s.stop()
}
