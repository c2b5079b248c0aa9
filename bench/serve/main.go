// Command serve puts load on an OpenAI-compatible server and checks what comes
// back.
//
// It asks every prompt once, alone and not streamed, at temperature 0. Then it
// keeps many streams open at the same time for a while and compares each reply
// with the one of the same prompt: same text, same number of tokens, same reason
// to end. Any difference, error or unfinished stream makes it exit with 1.
//
//	go run ./bench/serve -url http://127.0.0.1:8080 -n 64 -d 1m -pid PID
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

type options struct {
	url, key, model string
	streams         int
	warmup, length  time.Duration
	rate            float64
	prompts         int
	maxTokens       int
	pid             int
	growth          int64
	settle          time.Duration
}

func main() {
	var o options
	var asJSON bool
	var growth int64
	flag.StringVar(&o.url, "url", "http://127.0.0.1:8080", "where the server listens")
	flag.StringVar(&o.key, "key", os.Getenv("QUERN_API_KEY"), "API key (default $QUERN_API_KEY)")
	flag.StringVar(&o.model, "model", "", "model to ask (default the server's default)")
	flag.IntVar(&o.streams, "n", 64, "streams open at the same time")
	flag.DurationVar(&o.length, "d", time.Minute, "how long to keep up the load")
	flag.DurationVar(&o.warmup, "warmup", 5*time.Second, "load before anything is measured; its replies are checked too")
	flag.Float64Var(&o.rate, "rate", 0, "new streams per second, at random times; 0 starts the next when one ends")
	flag.IntVar(&o.prompts, "prompts", 48, "different prompts")
	flag.IntVar(&o.maxTokens, "max-tokens", 64, "most tokens of a reply")
	flag.IntVar(&o.pid, "pid", 0, "process id of the server, to watch its memory (Linux)")
	flag.Int64Var(&growth, "growth", 32, "MiB the server may have grown between warm-up and end, with -pid")
	flag.DurationVar(&o.settle, "settle", 2*time.Second, "rest before the memory is looked at")
	flag.BoolVar(&asJSON, "json", false, "print JSON")
	flag.Parse()
	o.growth = growth << 20
	if flag.NArg() > 0 || o.streams < 1 || o.prompts < 1 || o.maxTokens < 1 || o.length <= 0 {
		fmt.Fprintln(os.Stderr, "serve: bad arguments; see -help")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := run(ctx, o, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
	if asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		err = r.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
	if len(r.Problems) > 0 {
		os.Exit(1)
	}
}

// run does the whole measurement. Its error means that it could not be done;
// what the server did wrong is in the report.
func run(ctx context.Context, o options, progress io.Writer) (_ *report, err error) {
	defer must.Catch(&err)
	c := newClient(o)
	defer c.close()
	asks := prompts(o.prompts)
	fmt.Fprintf(progress, "asking %d prompts one at a time\n", len(asks))
	want := make([]reply, len(asks))
	for i, p := range asks {
		r, err := c.single(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("single request %d: %w", i, err)
		}
		want[i] = r
	}
	var warm, load tally
	if o.warmup > 0 {
		fmt.Fprintf(progress, "warming up for %v\n", o.warmup)
		load1(ctx, o, c, asks, want, o.warmup, &warm)
	}
	out := &report{Streams: o.streams, Rate: o.rate}
	if o.pid != 0 {
		rest(ctx, o.settle)
		out.RSSBefore = must.Get(stat.RSS(o.pid))
	}
	fmt.Fprintf(progress, "%d streams for %v\n", o.streams, o.length)
	start := time.Now()
	load1(ctx, o, c, asks, want, o.length, &load)
	took := time.Since(start)
	must.Do(ctx.Err())
	if o.pid != 0 {
		rest(ctx, o.settle)
		if out.RSSAfter, err = stat.RSS(o.pid); err != nil {
			return nil, fmt.Errorf("the server is gone: %w", err)
		}
		if grown := out.RSSAfter - out.RSSBefore; grown > o.growth {
			load.problem("memory grew by %d MiB, more than %d", grown>>20, o.growth>>20)
		}
	}
	out.fill(&load, took)
	out.Problems = append(warm.problems, out.Problems...)
	if out.Replies == 0 {
		out.Problems = append(out.Problems, "not one reply was finished")
	}
	return out, nil
}

// load1 keeps o.streams streams open for d and waits for the last to end.
func load1(ctx context.Context, o options, c *client, asks []prompt, want []reply, d time.Duration, t *tally) {
	starts := make(chan struct{})
	feeder, stop := context.WithTimeout(ctx, d)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(starts)
		for {
			if o.rate > 0 && !rest(feeder, time.Duration(rand.ExpFloat64()/o.rate*float64(time.Second))) {
				return
			}
			select {
			case starts <- struct{}{}:
			case <-feeder.Done():
				return
			}
		}
	})
	for w := range o.streams {
		wg.Go(func() {
			// Each worker walks the prompts from its own place, so that equal
			// and different prompts meet in the batch.
			for i := w; ; i++ {
				if _, ok := <-starts; !ok {
					return
				}
				n := i * 7 % len(asks)
				t.add(n, c.stream(ctx, asks[n]), want[n])
			}
		})
	}
	wg.Wait()
}

// rest waits, and reports whether it was not disturbed.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
