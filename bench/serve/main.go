// Command serve puts load on an OpenAI-compatible server and checks what comes
// back.
//
// It asks every prompt once, alone and not streamed, at temperature 0. Then it
// keeps many streams open at the same time for a while and compares each reply
// with the one of the same prompt: same text, same number of tokens, same reason
// to end. Any difference, error or unfinished stream makes it exit with 1.
//
//	go run ./bench/serve -url http://127.0.0.1:8080 -n 64 -d 1m -pid PID
//
// With -against it compares servers instead, which have to run already, with the same file:
//
//	go run ./bench/serve -against quern=http://127.0.0.1:8080 -against ik=http://127.0.0.1:8081 \
//		-streams 1,16,64 -prompt 64,512 -max-tokens 128 -d 30s
//
// So many streams are kept open then. With -rate 0.5,1,2 requests come at random times instead, so
// many a second, at most -n of them open: what a server does that others do not wait for.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
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
	var vs contest
	var asJSON bool
	var growth int64
	flag.Func("against", "`NAME=URL` of a server to compare, repeatable", func(s string) error {
		name, url, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return errors.New("want NAME=URL")
		}
		vs.names, vs.urls = append(vs.names, name), append(vs.urls, url)
		return nil
	})
	streams := []int{1, 16}
	vs.prompts = []int{64, 512}
	var rates []float64
	flag.Func("streams", "with -against and without -rate, streams open at the same time, in `numbers` with commas (default 1,16)", numbers(&streams))
	flag.Func("prompt", "with -against, tokens of the prompts, in `numbers` with commas (default 64,512)", numbers(&vs.prompts))
	flag.IntVar(&vs.long, "long", 0, "with -against, tokens of one long prompt in the middle of each run")
	flag.IntVar(&vs.vocab, "vocab", 32000, "with -against, tokens of the model's vocabulary")
	flag.IntVar(&vs.rounds, "rounds", 3, "with -against, runs of each server")
	flag.Uint64Var(&vs.seed, "seed", rand.Uint64(), "with -against, of prompts and times; the same again finds its prompts in caches")
	flag.StringVar(&o.url, "url", "http://127.0.0.1:8080", "where the server listens")
	flag.StringVar(&o.key, "key", os.Getenv("QUERN_API_KEY"), "API key (default $QUERN_API_KEY)")
	flag.StringVar(&o.model, "model", "", "model to ask (default the server's default)")
	flag.IntVar(&o.streams, "n", 64, "streams open at the same time; with -against and -rate the most")
	flag.DurationVar(&o.length, "d", time.Minute, "how long to keep up the load")
	flag.DurationVar(&o.warmup, "warmup", 5*time.Second, "load before anything is measured; its replies are checked too")
	flag.Func("rate", "new streams per second, at random times, in `numbers` with commas with -against (default the next starts when one ends)", numbers(&rates))
	flag.IntVar(&o.prompts, "prompts", 48, "different prompts")
	flag.IntVar(&o.maxTokens, "max-tokens", 64, "most tokens of a reply")
	flag.IntVar(&o.pid, "pid", 0, "process id of the server, to watch its memory (Linux)")
	flag.Int64Var(&growth, "growth", 32, "MiB the server may have grown between warm-up and end, with -pid")
	flag.DurationVar(&o.settle, "settle", 2*time.Second, "rest before the memory is looked at")
	flag.BoolVar(&asJSON, "json", false, "print JSON")
	flag.Parse()
	o.growth = growth << 20
	if flag.NArg() > 0 || len(vs.names) == 0 && len(rates) > 1 || vs.rounds < 1 || o.streams < 1 || o.prompts < 1 || o.maxTokens < 1 || o.length <= 0 {
		fmt.Fprintln(os.Stderr, "serve: bad arguments; see -help")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(vs.names) > 0 {
		vs.maxTokens, vs.length = o.maxTokens, o.length
		for _, rate := range rates {
			vs.loads = append(vs.loads, load{o.streams, rate})
		}
		if len(rates) == 0 {
			for _, n := range streams {
				vs.loads = append(vs.loads, load{streams: n})
			}
		}
		if !vs.compare(ctx) {
			stop()
			os.Exit(1)
		}
		return
	}
	if len(rates) > 0 {
		o.rate = rates[0]
	}
	r, err := run(ctx, o, os.Stderr)
	must.End("serve", err)
	if asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else {
		err = r.print(os.Stdout)
	}
	must.End("serve", err)
	if len(r.Problems) > 0 {
		os.Exit(1)
	}
}

// numbers reads a list of positive numbers.
func numbers[T int | float64](into *[]T) func(string) error {
	return func(s string) error {
		*into = nil
		for f := range strings.SplitSeq(s, ",") {
			x, err := strconv.ParseFloat(f, 64)
			n := T(x)
			if err != nil || float64(n) != x || x <= 0 || x > mostNumber {
				return fmt.Errorf("%q is not such a number above 0 and up to %d", f, mostNumber)
			}
			*into = append(*into, n)
		}
		return nil
	}
}

const mostNumber = 1_000_000

// compare runs a contest and prints its table. It reports whether nothing went wrong.
func (c *contest) compare(ctx context.Context) bool {
	others := stat.Before() // the servers idle still
	heats, err := c.against(ctx, os.Stderr)
	if err == nil {
		err = c.table(os.Stdout, heats, others)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		return false
	}
	problems := c.problems(heats)
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "PROBLEM", p)
	}
	return len(problems) == 0
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
		out.RSSBefore = must.Get(stat.MemoryOf(o.pid)).Now
	}
	fmt.Fprintf(progress, "%d streams for %v\n", o.streams, o.length)
	start := time.Now()
	load1(ctx, o, c, asks, want, o.length, &load)
	took := time.Since(start)
	must.Do(ctx.Err())
	if o.pid != 0 {
		rest(ctx, o.settle)
		after, err := stat.MemoryOf(o.pid)
		if err != nil {
			return nil, fmt.Errorf("the server is gone: %w", err)
		}
		out.RSSAfter = after.Now
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
