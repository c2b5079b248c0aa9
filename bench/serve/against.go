package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	streams     []int // open at the same time, a table each
	rate        float64
	prompts     []int // tokens, in turn
	long        int   // tokens of one more prompt, in the middle of each run; 0 for none
	vocab       int   // tokens are drawn from those below
	maxTokens   int
	length      time.Duration // in which requests start
	rounds      int
}

// A heat is one run against one server.
type heat struct {
	tokens   int
	took     time.Duration
	first    map[int][]time.Duration // by the prompt's tokens
	gaps     []time.Duration         // while no long prompt is read
	during   []time.Duration         // while one is
	problems []string
}

// against runs all rounds. The heats are by number of streams, server and round.
func (c *contest) against(ctx context.Context, progress io.Writer) (_ [][][]heat, err error) {
	defer must.Catch(&err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	defer client.CloseIdleConnections()
	out := make([][][]heat, len(c.streams))
	for i, streams := range c.streams {
		out[i] = make([][]heat, len(c.urls))
		for round := range c.rounds {
			for k := range c.urls {
				if round%2 == 1 {
					k = len(c.urls) - 1 - k
				}
				h := c.run(ctx, client, c.urls[k], streams, uint64(round))
				must.Do(ctx.Err())
				out[i][k] = append(out[i][k], h)
				fmt.Fprintf(progress, "%d streams, round %d of %d, %s: %.1f tokens/s\n", streams, round+1, c.rounds, c.names[k], h.speed())
			}
		}
	}
	return out, nil
}

func (h *heat) speed() float64 { return float64(h.tokens) / h.took.Seconds() }

// run puts one load on one server. The same round has the same prompts and arrivals at all.
func (c *contest) run(ctx context.Context, client *http.Client, url string, streams int, round uint64) heat {
	h := heat{first: map[int][]time.Duration{}}
	var mu sync.Mutex
	var long span
	random := rand.New(rand.NewPCG(uint64(streams), round))
	var longest []int
	if c.long > 0 {
		longest = c.prompt(random, c.long) // the generator is the feeder's from here on
	}
	asks := make(chan []int)
	start := time.Now()
	feeder, stop := context.WithTimeout(ctx, c.length)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(asks)
		for i := 0; ; i++ {
			if c.rate > 0 && !rest(feeder, time.Duration(random.ExpFloat64()/c.rate*float64(time.Second))) {
				return
			}
			select {
			case asks <- c.prompt(random, c.prompts[i%len(c.prompts)]):
			case <-feeder.Done():
				return
			}
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
	var replies [][]time.Time
	for range streams {
		wg.Go(func() {
			for prompt := range asks {
				sent := time.Now()
				times, tokens, err := c.complete(ctx, client, url, prompt, c.maxTokens)
				mu.Lock()
				if err != nil {
					h.problems = append(h.problems, err.Error())
				} else if len(times) > 0 {
					h.tokens += tokens
					h.first[len(prompt)] = append(h.first[len(prompt)], times[0].Sub(sent))
					replies = append(replies, times)
				}
				mu.Unlock()
			}
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
		return nil, 0, fmt.Errorf("status %d: %s", res.StatusCode, text)
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
	}
	return times, tokens, nil
}
