//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"quern/bench/internal/must"
	"quern/engine/builtin"
)

// first compares the first request after a start with the second, of servers that warmed their
// model up and, by turns, of some that did not.
func first(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	var took [2][2][]time.Duration // warmed up or not, first and second
	file := filepath.Join(o.dir, "first.gguf")
	must.Do(os.WriteFile(file, builtin.GGUF(), 0o600))
	for n := range 2 * o.times {
		s := must.Get(newServer(o, fmt.Sprintf("%swarm_up: %v\nmodels: [{path: %s, preload: true}]\n", small, n%2 == 0, file)))
		must.Do(s.asks(ctx, &took[n%2]))
	}
	warm, firstWarm := ratio(took[0])
	cold, firstCold := ratio(took[1])
	said := fmt.Sprintf("the first answer after a start takes %v, %.2f times the second; %v and %.2f times without a warm-up; medians of %d starts each", firstWarm, warm, firstCold, cold, o.times)
	if o.ratio > 0 && warm > o.ratio {
		return "", fmt.Errorf("%s: more than %.1f times", said, o.ratio)
	}
	return said, nil
}

// asks starts a server, and adds what its first answers took.
func (s *server) asks(ctx context.Context, took *[2][]time.Duration) (err error) {
	defer must.Catch(&err)
	must.Get(s.start(ctx))
	defer s.kill()
	c := newClient(s)
	defer c.http.CloseIdleConnections()
	if err := c.send(ctx, http.MethodGet, "/v1/models", "", nil, nil); err != nil { // a connection is not what is measured
		return err
	}
	for i := range took {
		began := time.Now()
		body := marshal(map[string]any{"prompt": fmt.Sprintf("Text %d of as many words as the other.", i), "max_tokens": 16, "ignore_eos": true, "temperature": 0})
		must.Do(c.send(ctx, http.MethodPost, "/v1/completions", "application/json", body, nil))
		took[i] = append(took[i], time.Since(began))
	}
	return s.stop()
}

// ratio is how much longer the first took than the second, and the first, of medians.
func ratio(took [2][]time.Duration) (float64, time.Duration) {
	var medians [2]time.Duration
	for i, list := range took {
		slices.Sort(list)
		medians[i] = list[len(list)/2]
	}
	return float64(medians[0]) / float64(medians[1]), medians[0].Round(100 * time.Microsecond)
}
