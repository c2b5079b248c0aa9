package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"quern/bench/internal/must"
)

// embedded kills one server with an embedded store, again and again.
func embedded(ctx context.Context, o *options) error {
	q, err := newQuern(o, "quern", "--threads", "1")
	if err != nil {
		return err
	}
	return chaos(ctx, o, []*process{q})
}

// cluster kills servers and nodes of a JetStream cluster of three, which keeps three copies.
func cluster(ctx context.Context, o *options) error {
	all, err := newCluster(o, 3, nil)
	if err != nil {
		return err
	}
	return chaos(ctx, o, slices.Concat(all.nodes, all.querns))
}

// chaos begins a batch, kills one process after the other and starts it again until the kills are used
// up, and begins another where one is over before that. Then it waits for the ends and counts.
func chaos(ctx context.Context, o *options, all []*process) (err error) {
	defer must.Catch(&err)
	r := rand.New(rand.NewPCG(o.seed, 0))
	var bases []string
	for _, p := range all {
		defer p.kill()
		must.Do(p.start(ctx))
		if p.base != "" {
			bases = append(bases, p.base)
		}
	}
	began := time.Now()
	batches := []status{must.Get(begin(ctx, patient(bases), o.lines, o.tokens))}
	span := 1200 * time.Millisecond
	for kills := 0; kills < o.kills; {
		must.Do(wait(ctx, between(r, span/6, span)))
		now := must.Get(look(ctx, bases, batches[len(batches)-1].ID))
		if now.Status == "completed" {
			span = span * 2 / 3 // this machine is a fast one
			batches = append(batches, must.Get(begin(ctx, patient(bases), o.lines, o.tokens)))
			continue
		}
		p := all[r.IntN(len(all))]
		fmt.Printf("%5.1f s: %d lines of batch %d are done, kill -9 %s\n", time.Since(began).Seconds(), now.Counts.Completed, len(batches), p.name)
		p.kill()
		kills++
		// Some are away for a moment, some for longer.
		must.Do(wait(ctx, between(r, 0, 500*time.Millisecond)))
		must.Do(p.start(ctx))
	}
	var sum tally
	for _, b := range batches {
		sum.add(must.Get(count(ctx, bases, b.ID, o.lines)))
	}
	must.Do(sum.check())
	twice := 0
	for _, p := range all {
		text := must.Get(os.ReadFile(p.log))
		twice += bytes.Count(text, []byte("a line was computed twice"))
		if bytes.Contains(text, []byte("panic:")) {
			err = errors.Join(err, fmt.Errorf("%s panicked; see %s", p.name, p.log))
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("%d kills, %.0f s, %d results came second and were refused\n", o.kills, time.Since(began).Seconds(), twice)
	return nil
}
