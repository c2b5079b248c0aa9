package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"quern/bench/internal/must"
	"quern/engine"
	"quern/engine/local"
)

// bulk is the request queries come beside, query what they are, and together how many of them at a
// time.
var (
	bulk, query = load{256, 128}, load{1, 16}
	together    = 16
)

// queries is how many are timed.
const queries = 60

// beside prints how long a query takes alone and beside requests of many texts, and how many queries
// a second are answered one after the other and several at a time.
func beside(out io.Writer, o options) (err error) {
	defer must.Catch(&err)
	fmt.Fprintf(out, "%d threads, queries of %d tokens, %v tokens beside them; milliseconds of a query, median and 95 of 100. %s\n\n", o.threads, query.tokens, bulk, o.before.Stamp())
	fmt.Fprintf(out, "| file | alone | beside | texts/s one by one | %d at a time |\n|---|---:|---:|---:|---:|\n", together)
	for _, file := range o.files {
		must.Do(besideOne(out, file, o.threads))
	}
	return nil
}

func besideOne(out io.Writer, file string, threads int) (err error) {
	defer must.Catch(&err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := must.Get(local.New(engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: file}}, Threads: threads, Device: "cpu"}))
	defer e.Close()
	l := must.Get(e.Open(ctx, "m"))
	defer l.Release()
	short, long := requestOf(draw(query)), requestOf(draw(bulk))
	ask := func() error {
		_, err := l.Embed(ctx, short)
		return err
	}
	must.Do(ask()) // which is when the model is compiled
	alone := must.Get(times(ask))
	start := time.Now()
	var wg sync.WaitGroup
	failed := make([]error, together)
	for i := range failed {
		wg.Go(func() {
			for range queries / 4 {
				if failed[i] = ask(); failed[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		must.Do(err)
	}
	rate := float64(together*(queries/4)) / time.Since(start).Seconds()
	wg.Go(func() {
		for err := error(nil); err == nil; {
			_, err = l.Embed(ctx, long) // until it is cancelled
		}
	})
	with := must.Get(times(ask))
	cancel()
	wg.Wait()
	fmt.Fprintf(out, "| %s | %.1f, %.1f | %.1f, %.1f | %.0f | %.0f |\n", filepath.Base(file),
		at(alone, 0.5), at(alone, 0.95), at(with, 0.5), at(with, 0.95), 1e3/at(alone, 0.5), rate)
	return nil
}

// times are milliseconds of queries one after the other, in ascending order.
func times(ask func() error) (out []float64, err error) {
	for range queries {
		start := time.Now()
		if err := ask(); err != nil {
			return nil, err
		}
		out = append(out, time.Since(start).Seconds()*1e3)
	}
	slices.Sort(out)
	return out, nil
}

// at is a quantile of numbers in ascending order.
func at(v []float64, q float64) float64 { return v[min(len(v)-1, int(q*float64(len(v))))] }
