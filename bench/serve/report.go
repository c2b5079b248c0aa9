package main

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"quern/bench/internal/must"
)

// A tally collects replies from all workers.
type tally struct {
	mu       sync.Mutex
	replies  int
	tokens   int
	first    []time.Duration
	gaps     []time.Duration
	problems []string
	more     int // problems beyond maxProblems
}

const maxProblems = 20

func (t *tally) problem(format string, args ...any) {
	if len(t.problems) == maxProblems {
		t.more++
		return
	}
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// add compares a streamed reply to prompt n with the one asked for alone.
func (t *tally) add(n int, s streamed, want reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.err != nil {
		t.problem("prompt %d: %v", n, s.err)
		return
	}
	t.replies++
	t.tokens += s.tokens
	if s.first > 0 {
		t.first = append(t.first, s.first)
	}
	t.gaps = append(t.gaps, s.gaps...)
	if s.reply != want {
		t.problem("prompt %d: got %q, %d tokens, %s; alone it was %q, %d tokens, %s",
			n, s.text, s.tokens, s.reason, want.text, want.tokens, want.reason)
	}
}

// A report is the outcome. Times are in milliseconds.
type report struct {
	Streams   int        `json:"streams"`
	Rate      float64    `json:"rate,omitempty"`
	Seconds   float64    `json:"seconds"`
	Replies   int        `json:"replies"`
	Tokens    int        `json:"tokens"`
	TokensPS  float64    `json:"tokens_per_s"`
	First     [4]float64 `json:"ttft_ms"`        // 50th, 90th, 99th percentile, maximum
	Between   [4]float64 `json:"inter_token_ms"` // likewise
	RSSBefore int64      `json:"rss_before_bytes,omitempty"`
	RSSAfter  int64      `json:"rss_after_bytes,omitempty"`
	Problems  []string   `json:"problems"`
}

func (r *report) fill(t *tally, took time.Duration) {
	r.Seconds = took.Seconds()
	r.Replies, r.Tokens = t.replies, t.tokens
	r.TokensPS = float64(t.tokens) / took.Seconds()
	r.First, r.Between = percentiles(t.first), percentiles(t.gaps)
	r.Problems = append([]string{}, t.problems...)
	if t.more > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("and %d more", t.more))
	}
}

func (r *report) print(out io.Writer) (err error) {
	defer must.Catch(&err)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "streams\treplies\ttokens\ttokens/s\tproblems\t\n%d\t%d\t%d\t%.1f\t%d\t\n\n",
		r.Streams, r.Replies, r.Tokens, r.TokensPS, len(r.Problems))
	fmt.Fprintf(w, "ms\tp50\tp90\tp99\tmax\t\n")
	for _, row := range []struct {
		name string
		p    [4]float64
	}{{"first token", r.First}, {"between tokens", r.Between}} {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t\n", row.name, row.p[0], row.p[1], row.p[2], row.p[3])
	}
	if r.RSSBefore > 0 {
		fmt.Fprintf(w, "\nserver memory\tbefore\tafter\t\nMiB\t%.1f\t%.1f\t\n", mib(r.RSSBefore), mib(r.RSSAfter))
	}
	must.Do(w.Flush())
	for _, p := range r.Problems {
		must.Get(fmt.Fprintln(out, "PROBLEM", p))
	}
	return nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
