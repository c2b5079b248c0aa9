package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"quern/bench/internal/must"
)

// Servers are compared by the same requests: prompts of random tokens, which no cache has
// seen, completed greedily by a fixed number of tokens. They are loaded in turn, so each
// has the machine alone, and the order turns around with every round.

// A contest is what servers are compared by.
type contest struct {
	names, urls []string
	loads       []load // in turn
	prompts     []int  // tokens, in turn
	long        int    // tokens of one more prompt, in the middle of each run; 0 for none
	vocab       int    // tokens are drawn from those below
	maxTokens   int
	length      time.Duration // in which requests start
	rounds      int
	seed        uint64 // of prompts and times
}

// A load is what is put on a server: so many streams at a time or, with a rate, requests at
// random times, of which no more are open.
type load struct {
	streams int
	rate    float64 // requests a second; 0 starts the next when one ends
}

func (l load) String() string {
	if l.rate > 0 {
		return fmt.Sprintf("%g requests a second", l.rate)
	}
	return fmt.Sprintf("%d streams", l.streams)
}

// A heat is one run against one server.
type heat struct {
	came, completed int
	refused         int   // with a rate: as the server was busy (429, 503)
	open            []int // at each arrival, those that came before and had no end yet
	tokens          int
	took            time.Duration
	first           map[int][]time.Duration // by the prompt's tokens, from when they came
	gaps            []time.Duration         // while no long prompt is read
	during          []time.Duration         // while one is
	problems        []string
}

// against runs all rounds. The heats are by load, server and round.
func (c *contest) against(ctx context.Context, progress io.Writer) (_ [][][]heat, err error) {
	defer must.Catch(&err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	defer client.CloseIdleConnections()
	out := make([][][]heat, len(c.loads))
	for i, l := range c.loads {
		out[i] = make([][]heat, len(c.urls))
		for round := range c.rounds {
			for k := range c.urls {
				if round%2 == 1 {
					k = len(c.urls) - 1 - k
				}
				h := c.run(ctx, client, c.urls[k], l, uint64(round))
				must.Do(ctx.Err())
				out[i][k] = append(out[i][k], h)
				fmt.Fprintf(progress, "%v, round %d of %d, %s: %.1f tokens/s\n", l, round+1, c.rounds, c.names[k], h.speed())
			}
		}
	}
	return out, nil
}

func (h *heat) speed() float64 { return float64(h.tokens) / h.took.Seconds() }

// growth is how many of the requests that came to the middle of a run and those to its end were
// more than the server answered: near 0 where it keeps up, and near 1 where it answers none. It is
// told by requests that are open in the second and in the last quarter, since the first begins with none.
func (h *heat) growth() float64 {
	n := len(h.open) / 4
	if n == 0 {
		return 0
	}
	sum := 0
	for i := range n {
		sum += h.open[3*n+i] - h.open[n+i]
	}
	return float64(sum) / float64(n*2*n)
}

// run puts one load on one server. The same round has the same prompts and arrivals at all.
func (c *contest) run(ctx context.Context, client *http.Client, url string, l load, round uint64) heat {
	h := heat{first: map[int][]time.Duration{}}
	var mu sync.Mutex
	var long span
	of := uint64(l.streams)
	if l.rate > 0 {
		of = math.Float64bits(l.rate)
	}
	random := rand.New(rand.NewPCG(c.seed^of, round))
	var longest []int
	if c.long > 0 {
		longest = c.prompt(random, c.long) // the generator is the feeder's from here on
	}
	start := time.Now()
	feeder, stop := context.WithTimeout(ctx, c.length)
	defer stop()
	var wg sync.WaitGroup
	var replies [][]time.Time
	places := make(chan struct{}, l.streams)
	open := 0
	send := func(prompt []int, came time.Time) {
		times, tokens, err := c.complete(ctx, client, url, prompt, c.maxTokens)
		mu.Lock()
		defer mu.Unlock()
		open--
		var busy *refusal
		switch {
		case l.rate > 0 && errors.As(err, &busy):
			h.refused++
		case err != nil:
			h.problems = append(h.problems, err.Error())
		default:
			h.completed++
			h.tokens += tokens
			h.first[len(prompt)] = append(h.first[len(prompt)], times[0].Sub(came))
			replies = append(replies, times)
		}
	}
	arrive := func() {
		mu.Lock()
		defer mu.Unlock()
		h.came++
		h.open = append(h.open, open)
		open++
	}
	wg.Go(func() {
		came := start
		for i := 0; ; i++ {
			if l.rate > 0 {
				came = came.Add(time.Duration(random.ExpFloat64() / l.rate * float64(time.Second)))
				if came.Sub(start) >= c.length || !rest(ctx, time.Until(came)) {
					return
				}
			} else if !take(feeder, places) {
				return
			} else {
				came = time.Now()
			}
			prompt, due := c.prompt(random, c.prompts[i%len(c.prompts)]), came
			arrive()
			wg.Go(func() {
				if l.rate == 0 || take(ctx, places) { // at random times it may wait for a place
					send(prompt, due)
					<-places
				}
			})
		}
	})
	if c.long > 0 {
		wg.Go(func() {
			if !rest(feeder, c.length/3) {
				return
			}
			from := time.Now()
			times, _, err := c.complete(ctx, client, url, longest, 1)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || len(times) == 0 {
				h.problems = append(h.problems, fmt.Sprintf("the long prompt: %v", err))
				return
			}
			long = span{from, times[0]}
		})
	}
	wg.Wait()
	h.took = time.Since(start)
	for _, times := range replies {
		for i := 1; i < len(times); i++ {
			gap := times[i].Sub(times[i-1])
			if long.overlaps(times[i-1], times[i]) {
				h.during = append(h.during, gap)
			} else {
				h.gaps = append(h.gaps, gap)
			}
		}
	}
	return h
}

// take waits for one of the places, and reports whether it was not disturbed.
func take(ctx context.Context, places chan<- struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case places <- struct{}{}:
		return true
	}
}

// A span is from a request to its first token.
type span struct{ from, to time.Time }

func (s span) overlaps(from, to time.Time) bool { return from.Before(s.to) && to.After(s.from) }

func (c *contest) prompt(random *rand.Rand, n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = c.vocab/8 + random.IntN(c.vocab-c.vocab/8) // control tokens come first
	}
	return p
}

// A refusal is the answer of a server that is busy.
type refusal struct{ error }

// complete has a prompt completed and returns when its events came, and its tokens.
func (c *contest) complete(ctx context.Context, client *http.Client, url string, prompt []int, n int) (times []time.Time, tokens int, err error) {
	defer must.Catch(&err)
	body := must.Get(json.Marshal(map[string]any{
		"prompt": prompt, "max_tokens": n, "temperature": 0, "ignore_eos": true,
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	}))
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(url, "/")+"/v1/completions", bytes.NewReader(body)))
	req.Header.Set("Content-Type", "application/json")
	if key := os.Getenv("QUERN_API_KEY"); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res := must.Get(client.Do(req))
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text := must.Get(io.ReadAll(io.LimitReader(res.Body, 500)))
		err := fmt.Errorf("status %d: %s", res.StatusCode, text)
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
			err = &refusal{err}
		}
		return nil, 0, err
	}
	done := false
	err = events(res.Body, func(data []byte) error {
		var k struct {
			Error   json.RawMessage   `json:"error"`
			Choices []json.RawMessage `json:"choices"`
			Usage   *struct {
				Tokens int `json:"completion_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(data, &k); err != nil {
			return fmt.Errorf("event %q: %w", data, err)
		}
		if k.Error != nil {
			return fmt.Errorf("error in the stream: %s", k.Error)
		}
		if k.Usage != nil {
			tokens, done = k.Usage.Tokens, true
		}
		if len(k.Choices) > 0 {
			times = append(times, time.Now())
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, 0, err
	case !done:
		return nil, 0, errors.New("the stream has no usage")
	case tokens != n:
		return nil, 0, fmt.Errorf("%d tokens were written, not %d", tokens, n)
	case len(times) == 0:
		return nil, 0, errors.New("no event has a choice")
	}
	return times, tokens, nil
}
