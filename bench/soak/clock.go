//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"quern/bench/internal/must"
)

// A clock that jumps: Go's package time as it is, but for seconds that are added to the time of
// day. What measures spans is left alone, as it is when a machine's clock is set.
const (
	wallNow  = "sec, nsec, mono := runtimeNow()"
	jumpedIn = wallNow + "\n\tsec += Jump.Load()"
	jumpVar  = "\n// Jump is added to the time of day, in seconds.\nvar Jump atomic.Int64\n"

	// jumps is a file of quern's that listens to signals.
	jumps = `package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

func init() {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range c {
			if s == syscall.SIGUSR1 {
				time.Jump.Add(3600)
			} else {
				time.Jump.Add(-3600)
			}
		}
	}()
}
`
)

// jumping builds a quern whose clock jumps an hour on, or back, with a signal.
func jumping(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("%w: it takes Go, to build a quern with a clock that jumps: %w", errNotHere, err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text := must.Get(os.ReadFile(source))
	if strings.Count(string(text), wallNow) != 1 {
		return "", fmt.Errorf("%s is not as it was when this was written: it has no %q", source, wallNow)
	}
	whole := strings.Replace(string(text), wallNow, jumpedIn, 1) + jumpVar
	whole = strings.Replace(whole, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	here := must.Get(filepath.Abs("cmd/quern"))
	overlay := map[string]string{source: filepath.Join(o.dir, "time.go"), filepath.Join(here, "jumps.go"): filepath.Join(o.dir, "jumps.go")}
	list := must.Get(json.Marshal(map[string]any{"Replace": overlay}))
	for name, text := range map[string]string{"time.go": whole, "jumps.go": jumps, "overlay.json": string(list)} {
		must.Do(os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600))
	}
	quern := filepath.Join(o.dir, "quern")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", filepath.Join(o.dir, "overlay.json"), "-o", quern, "./cmd/quern")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: run it in the root of quern's checkout\n%s", err, said)
	}
	return quern, nil
}

// clock has the clock jump an hour on and two back while a stream, a conversation's worth of chats
// and a batch are under way and files are made. It builds a quern of its own for that.
func clock(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	quern := must.Get(jumping(ctx, o))
	mine := *o
	mine.quern = quern
	s := must.Get(started(ctx, &mine, small+"jobs: {workers: 1}\n"))
	defer s.kill()
	c := newClient(s)
	const lines = 4000
	var input strings.Builder
	for i := range lines {
		fmt.Fprintf(&input, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Count from %[1]d."}],"max_tokens":16}}`+"\n", i)
	}
	var files []string
	put := func(text string) error {
		id, err := c.upload(ctx, []byte(text))
		files = append(files, id)
		return err
	}
	must.Do(put(input.String()))
	var b struct {
		ID, Status string
		Counts     struct{ Completed int } `json:"request_counts"`
	}
	must.Do(c.send(ctx, http.MethodPost, "/v1/batches", "application/json",
		marshal(map[string]string{"input_file_id": files[0], "endpoint": "/v1/chat/completions", "completion_window": "24h"}), &b))
	done := 0
	goesOn := func() error { // lines are run with this time of day too
		if err := c.send(ctx, http.MethodGet, "/v1/batches/"+b.ID, "", nil, &b); err != nil {
			return err
		}
		if b.Counts.Completed <= done || b.Counts.Completed == lines {
			return fmt.Errorf("it is %s, %d lines are done, %d were before", b.Status, b.Counts.Completed, done)
		}
		done = b.Counts.Completed
		return nil
	}
	must.Do(poll(ctx, time.Minute, "the batch has begun", goesOn))
	told := make(chan error, 1)
	go func() { _, err := c.stream(ctx, "Tell me a story."); told <- err }()
	for i, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR2, syscall.SIGUSR1} {
		must.Do(s.jump(ctx, sig))
		if _, err := c.stream(ctx, sum(i)); err != nil {
			return "", fmt.Errorf("a chat after jump %d: %w", i+1, err)
		}
		if err := put(fmt.Sprintf("{\"n\": %d}\n", i)); err != nil {
			return "", fmt.Errorf("a file after jump %d: %w", i+1, err)
		}
		if err := poll(ctx, time.Minute, "the batch goes on", goesOn); err != nil {
			return "", fmt.Errorf("after jump %d: %w", i+1, err)
		}
	}
	if err := <-told; err != nil {
		return "", fmt.Errorf("the stream that was under way: %w", err)
	}
	must.Do(poll(ctx, 2*time.Minute, "the batch is done", func() error {
		if err := c.send(ctx, http.MethodGet, "/v1/batches/"+b.ID, "", nil, &b); err != nil {
			return err
		}
		if b.Status != "completed" {
			return fmt.Errorf("it is %s, %d lines are done", b.Status, b.Counts.Completed)
		}
		return nil
	}))
	if b.Counts.Completed != lines {
		return "", fmt.Errorf("%d lines of %d are done", b.Counts.Completed, lines)
	}
	var list struct{ Data []struct{ ID string } }
	must.Do(c.send(ctx, http.MethodGet, "/v1/files?limit=10000&purpose=batch&order=asc", "", nil, &list))
	if len(list.Data) != len(files) {
		return "", fmt.Errorf("%d files are listed, %d were made", len(list.Data), len(files))
	}
	for i, f := range list.Data {
		if f.ID != files[i] {
			return "", fmt.Errorf("the files are not listed as they were made: %v, made %v", list.Data, files)
		}
	}
	return fmt.Sprintf("an hour on, two back, one on: streams whole; a batch went on after each, %d lines then and %d at its end; %d files in the order they were made",
		done, lines, len(files)), s.stop()
}

// jump has the clock jump, and waits until an answer shows it.
func (s *server) jump(ctx context.Context, sig syscall.Signal) error {
	date := func() (time.Time, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/livez", nil)
		if err != nil {
			return time.Time{}, err
		}
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return time.Time{}, err
		}
		resp.Body.Close()
		return http.ParseTime(resp.Header.Get("Date"))
	}
	before, err := date()
	if err == nil {
		err = s.cmd.Process.Signal(sig)
	}
	if err != nil {
		return err
	}
	return poll(ctx, 10*time.Second, "the clock has jumped", func() error {
		now, err := date()
		if err == nil && now.Sub(before).Abs() < 30*time.Minute {
			err = errors.New("the time of day is as before")
		}
		return err
	})
}
