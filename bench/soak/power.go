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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// power takes the power away: the server keeps all on a file system of a disk that is a file. When
// it is killed, that file holds what was synced, and what was not is in the memory of the system
// alone, which is dropped. Writes that reached the disk count as on it: a disk that loses its own
// cache is not played. The file system is told to write nothing by itself, and a file that is not
// synced has to be gone each time, or nothing is shown.
func power(ctx context.Context, o *options) (string, error) { return mounted(ctx, o, "power", outages) }

// diskSize is what the disk has; files of zeros take no room.
const diskSize = 1 << 30

// A drive is a file system in a file.
type drive struct{ image, at string }

// plug mounts it.
func (d *drive) plug(ctx context.Context) error {
	// commit is in seconds: how long the journal waits where nothing is synced.
	return command(ctx, "mount", "-o", "loop,commit=3600", d.image, d.at)
}

// unplug has the drive be what was on the disk at this moment.
func (d *drive) unplug(ctx context.Context) error {
	before := d.image + ".before"
	if err := command(ctx, "cp", "--sparse=always", d.image, before); err != nil {
		return err
	}
	// This writes to the old file, which is then thrown away.
	if err := errors.Join(unix.Unmount(d.at, 0), os.Remove(d.image)); err != nil {
		return err
	}
	return os.Rename(before, d.image)
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

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
func (l *ledger) ended(ctx context.Context, c *client) error {
	for id, lines := range l.batches {
		var b struct {
			Status string
			Output string `json:"output_file_id"`
		}
		err := poll(ctx, 5*time.Minute, "batch "+id+" has ended", func() error {
			if err := c.send(ctx, http.MethodGet, "/v1/batches/"+id, "", nil, &b); err != nil {
				return err
			}
			if b.Status != "completed" {
				return fmt.Errorf("it is %s", b.Status)
			}
			return nil
		})
		if err != nil {
			return err
		}
		var out []byte
		if err := c.send(ctx, http.MethodGet, "/v1/files/"+b.Output+"/content", "", nil, &out); err != nil {
			return err
		}
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
func outages(ctx context.Context, o *options) (string, error) {
	d := &drive{filepath.Join(o.dir, "image"), filepath.Join(o.dir, "disk")}
	f, err := os.Create(d.image)
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(diskSize), f.Close(), os.Mkdir(d.at, 0o700)); err != nil {
		return "", err
	}
	if err := command(ctx, "mkfs.ext4", "-q", "-F", d.image); err != nil {
		return "", fmt.Errorf("%w: %w", errNotHere, err)
	}
	if err := d.plug(ctx); err != nil {
		return "", fmt.Errorf("%w: %w", errNotHere, err)
	}
	defer func() { _ = unix.Unmount(d.at, unix.MNT_DETACH) }() // with the name space at the latest
	s, err := newServer(o, fmt.Sprintf("%sjobs: {dir: %s/jobs}\n", small, d.at))
	if err != nil {
		return "", err
	}
	defer s.kill()
	a, l := &archive{files: map[string][]byte{}}, &ledger{batches: map[string]int{}}
	c := newClient(s)
	for n := range o.times {
		if _, err := s.start(ctx); err != nil {
			return "", err
		}
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
		lost := filepath.Join(d.at, fmt.Sprint("not-synced-", n)) // one that is written again is synced by ext4
		if err := os.WriteFile(lost, bytes.Repeat([]byte("gone"), 1<<16), 0o600); err != nil {
			return "", err
		}
		s.kill() // with its writes and syncs under way
		all.Wait()
		c.http.CloseIdleConnections()
		if err := errors.Join(d.unplug(ctx), d.plug(ctx)); err != nil {
			return "", err
		}
		if text, err := os.ReadFile(lost); err == nil && bytes.Contains(text, []byte("gone")) {
			return "", errors.New("a file that was not synced outlived the outage: this file system shows nothing")
		}
	}
	if _, err := s.start(ctx); err != nil {
		return "", err
	}
	if err := errors.Join(a.check(ctx, c), l.known(ctx, c), l.ended(ctx, c)); err != nil {
		return "", fmt.Errorf("after %d outages: %w", o.times, err)
	}
	return fmt.Sprintf("%d outages; %d files whole; %d batches known, and each line of them answered once", o.times, len(a.files), len(l.batches)), s.stop()
}
