//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"quern/bench/internal/must"
)

// A group is a control group with a limit of memory.
type group struct {
	dir            string
	limit, peak    string // files of it
	killed, killOf string // the file that counts processes killed, and the line of it
}

// newGroup makes a group below that of this process, in either version of control groups.
func newGroup(bytes int64) (*group, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		name := fmt.Sprintf("soak-%d", os.Getpid())
		g := &group{filepath.Join("/sys/fs/cgroup", path, name), "memory.max", "memory.peak", "memory.events", "oom_kill"}
		if controllers == "memory" {
			g = &group{filepath.Join("/sys/fs/cgroup/memory", path, name), "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control", "oom_kill"}
		} else if controllers != "" {
			continue
		}
		if err := os.Mkdir(g.dir, 0o755); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(g.dir, g.limit), []byte(strconv.FormatInt(bytes, 10)), 0o644); err == nil {
			// Without it what does not fit would go to disk instead of showing.
			_ = os.WriteFile(filepath.Join(g.dir, "memory.swap.max"), []byte("0"), 0o644) // version 2 with swap only
			return g, nil
		}
		os.Remove(g.dir)
	}
	return nil, fmt.Errorf("%w: a control group with a limit of memory", errNotHere)
}

// count is a number of the group: of a whole file, or of its line that begins with a word.
func (g *group) count(file, word string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if word == "" && len(f) == 1 {
			return strconv.ParseInt(f[0], 10, 64)
		}
		if len(f) == 2 && f[0] == word {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s does not say %q", file, word)
}

// remove waits for the group to be empty.
func (g *group) remove() error {
	return poll(context.Background(), 5*time.Second, "the control group is empty", func() error { return os.Remove(g.dir) })
}

// memory gives a server little memory and asks for more: long prompts of many clients, uploads
// and speech. It may refuse; it may not be killed.
func memory(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	const limit = 128 << 20 // less than the cache of 64 sequences and what else there is
	g := must.Get(newGroup(limit))
	defer func() { err = errors.Join(err, g.remove()) }()
	s := must.Get(newServer(o, "model_defaults: {queue: 1000}\n"))
	s.wrap = []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, g.dir}
	must.Get(s.start(ctx))
	defer s.kill()
	c := newCrowd(s)
	c.work(ctx, 2*o.clients, o.d)
	said, faults := c.told()
	fmt.Println(said)
	killed, err := g.count(g.killed, g.killOf)
	peak, err2 := g.count(g.peak, "")
	must.Do(errors.Join(err, err2, faults, ctx.Err()))
	if killed > 0 {
		return "", fmt.Errorf("%d processes were killed for memory", killed)
	}
	return fmt.Sprintf("with %d MiB, of which %d were used at most, pages of files included: nothing was killed", limit>>20, peak>>20), s.stop()
}
