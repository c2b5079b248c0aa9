//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"quern/bench/internal/drive"
	"quern/bench/internal/must"
)

// power takes the power away: the server keeps all on a drive that loses what was not synced when
// it is killed. A file that is not synced has to be gone each time, or nothing is shown.
func power(ctx context.Context, o *options) (string, error) { return mounted(ctx, o, "power", outages) }

// A ledger is the batches that a server has accepted, with the lines of each.
type ledger struct {
	mu      sync.Mutex
	batches map[string]int
}

// fill begins batches until the server is gone.
func (l *ledger) fill(ctx context.Context, c *client, a *archive) {
	for {
		lines := 1 + rand.IntN(20)
		var input bytes.Buffer
		for i := range lines {
			fmt.Fprintf(&input, `{"custom_id":"%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Hello"}],"max_tokens":2}}`+"\n", i)
		}
		file, err := c.upload(ctx, input.Bytes())
		if err != nil {
			return
		}
		a.mu.Lock()
		a.files[file] = input.Bytes()
		a.mu.Unlock()
		id, err := c.batch(ctx, file)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.batches[id] = lines
		l.mu.Unlock()
	}
}

// known checks that the server knows every batch.
func (l *ledger) known(ctx context.Context, c *client) error {
	for id := range l.batches {
		if err := c.send(ctx, http.MethodGet, "/v1/batches/"+id, "", nil, nil); err != nil {
			return fmt.Errorf("batch %s, which was accepted: %w", id, err)
		}
	}
	return nil
}

// ended waits for every batch, and counts its answers.
func (l *ledger) ended(ctx context.Context, c *client) (err error) {
	defer must.Catch(&err)
	for id, lines := range l.batches {
		var b struct {
			Status string
			Output string `json:"output_file_id"`
		}
		must.Do(poll(ctx, 5*time.Minute, "batch "+id+" has ended", func() error {
			if err := c.send(ctx, http.MethodGet, "/v1/batches/"+id, "", nil, &b); err != nil {
				return err
			}
			if b.Status != "completed" {
				return fmt.Errorf("it is %s", b.Status)
			}
			return nil
		}))
		var out []byte
		must.Do(c.send(ctx, http.MethodGet, "/v1/files/"+b.Output+"/content", "", nil, &out))
		seen := map[string]int{}
		for text := bufio.NewScanner(bytes.NewReader(out)); text.Scan(); {
			_, rest, _ := bytes.Cut(text.Bytes(), []byte(`"custom_id":"`))
			name, _, _ := bytes.Cut(rest, []byte(`"`))
			seen[string(name)]++
		}
		for i := range lines {
			if n := seen[strconv.Itoa(i)]; n != 1 || len(seen) != lines {
				return fmt.Errorf("batch %s of %d lines: line %d has %d answers, and there are %d lines", id, lines, i, n, len(seen))
			}
		}
	}
	return nil
}

// outages takes the power away again and again.
func outages(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	d := must.Get(drive.New(ctx, o.dir))
	defer d.Close()
	s := must.Get(newServer(o, fmt.Sprintf("%sjobs: {dir: %s/jobs}\n", small, d.At)))
	defer s.kill()
	a, l := &archive{files: map[string][]byte{}}, &ledger{batches: map[string]int{}}
	c := newClient(s)
	for n := range o.times {
		must.Get(s.start(ctx))
		if err := errors.Join(a.check(ctx, c), l.known(ctx, c)); err != nil {
			return "", fmt.Errorf("after %d outages: %w", n, err)
		}
		var all sync.WaitGroup
		all.Go(func() { a.fill(ctx, c, n) })
		all.Go(func() { l.fill(ctx, c, a) })
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200*time.Millisecond + rand.N(800*time.Millisecond)):
		}
		must.Do(d.Mark())
		s.kill() // with its writes and syncs under way
		all.Wait()
		c.http.CloseIdleConnections()
		must.Do(d.Cut(ctx))
	}
	must.Get(s.start(ctx))
	if err := errors.Join(a.check(ctx, c), l.known(ctx, c), l.ended(ctx, c)); err != nil {
		return "", fmt.Errorf("after %d outages: %w", o.times, err)
	}
	return fmt.Sprintf("%d outages; %d files whole; %d batches known, and each line of them answered once", o.times, len(a.files), len(l.batches)), s.stop()
}
