package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quern/bench/internal/stat"
)

// completer writes a token an event, each by what spoil makes of the stream of request n.
func completer(t *testing.T, spoil func(n int64, sse string) string) *httptest.Server {
	var count atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Prompt    []int
			MaxTokens int  `json:"max_tokens"`
			IgnoreEOS bool `json:"ignore_eos"`
			Stream    bool
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !in.Stream || !in.IgnoreEOS || len(in.Prompt) == 0 {
			t.Errorf("%+v, %v", in, err)
		}
		var b strings.Builder
		for range in.MaxTokens {
			b.WriteString("data: {\"choices\":[{\"text\":\"x\"}]}\n\n")
		}
		fmt.Fprintf(&b, "data: {\"choices\":[],\"usage\":{\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", in.MaxTokens)
		sse := spoil(count.Add(1), b.String())
		if sse == "" {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		if _, err := io.WriteString(w, sse); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAgainst(t *testing.T) {
	t.Parallel() // it waits
	whole := func(_ int64, sse string) string { return sse }
	c := contest{
		names: []string{"one", "other"}, urls: []string{completer(t, whole).URL, completer(t, whole).URL},
		loads: []load{{streams: 1}, {streams: 4}}, prompts: []int{3, 5}, long: 50, vocab: 100, maxTokens: 7, length: 30 * time.Millisecond, rounds: 2,
	}
	heats, err := c.against(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.problems(heats); len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
	for i := range c.loads {
		for k := range c.names {
			for _, h := range heats[i][k] {
				n := len(h.first[3]) + len(h.first[5])
				if n == 0 || h.tokens != 7*n || len(h.gaps)+len(h.during) != 6*n {
					t.Errorf("%v, %s: %d tokens, %d replies, %d gaps", c.loads[i], c.names[k], h.tokens, n, len(h.gaps)+len(h.during))
				}
			}
		}
	}
	var out bytes.Buffer
	if err := c.table(&out, heats, stat.Others{Processors: 0.7, When: "before"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5+2*2 || !strings.Contains(lines[1], "do not count") || !strings.HasPrefix(lines[0], "Prompts of 3 and 5 tokens, replies of 7;") || !strings.HasPrefix(lines[8], "| 4 | other | ") {
		t.Errorf("got\n%s", out.String())
	}
	for _, l := range lines[3:] {
		if strings.Count(l, "|") != 12 {
			t.Errorf("%d columns in %q", strings.Count(l, "|")-1, l)
		}
	}
}

// Whatever a server does wrong is a problem, and no speed.
func TestAgainstNamesProblems(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(string) string
	}{
		{"cut", "ended without [DONE]", func(s string) string { return strings.TrimSuffix(s, "data: [DONE]\n\n") }},
		{"no usage", "no usage", func(s string) string { return strings.Replace(s, "usage", "used", 1) }},
		{"too few", "3 tokens were written, not 7", func(s string) string { return strings.Replace(s, "_tokens\":7", "_tokens\":3", 1) }},
		{"error", "error in the stream", func(string) string { return "data: {\"error\":{\"message\":\"no\"}}\n\n" }},
		{"nothing", "no event has a choice", func(s string) string { return strings.ReplaceAll(s, "{\"text\":\"x\"}", "") }},
		{"busy", "status 503", func(string) string { return "" }},
		{"no JSON", "event", func(string) string { return "data: {\n\n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := contest{
				names: []string{"it"}, urls: []string{completer(t, func(_ int64, sse string) string { return tt.spoil(sse) }).URL},
				loads: []load{{streams: 1}}, prompts: []int{3}, vocab: 100, maxTokens: 7, length: 5 * time.Millisecond, rounds: 1,
			}
			heats, err := c.against(t.Context(), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			p := c.problems(heats)
			if len(p) != 1 || !strings.HasPrefix(p[0], "it: ") || !strings.Contains(p[0], tt.want) || heats[0][0][0].tokens != 0 {
				t.Errorf("problems %q, %d tokens; want %q", p, heats[0][0][0].tokens, tt.want)
			}
		})
	}
}

// TestAgainstRandom: requests come when they would, whatever became of those before; what a server
// refuses is counted, and one that answers nothing while they come is told from one that keeps up.
func TestAgainstRandom(t *testing.T) {
	var answered, asked, most atomic.Int64
	c := contest{names: []string{"it"}, prompts: []int{3, 5}, vocab: 100, maxTokens: 7, length: 100 * time.Millisecond, rounds: 1, seed: 5}
	run := func(streams int, spoil func(n int64, sse string) string) (h heat, row string) {
		c.urls, c.loads = []string{completer(t, spoil).URL}, []load{{streams, 1000}}
		heats, err := c.against(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if p := c.problems(heats); len(p) > 0 {
			t.Errorf("problems: %q", p)
		}
		var out bytes.Buffer
		if err := c.table(&out, heats, stat.Others{Processors: -1}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, l := range lines[3:] {
			if strings.Count(l, "|") != 18 {
				t.Errorf("%d columns in %q", strings.Count(l, "|")-1, l)
			}
		}
		if want := fmt.Sprintf("at most %d open", streams); len(lines) != 6 || !strings.Contains(lines[0], want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
		return heats[0][0][0], lines[5]
	}
	half, row := run(3, func(n int64, sse string) string {
		most.Store(max(most.Load(), asked.Add(1)-answered.Load()))
		defer answered.Add(1)
		if n%2 == 0 {
			return ""
		}
		return sse
	})
	if half.came < fewArrivals || half.refused != half.came/2 || half.completed != half.came-half.refused || len(half.open) != half.came || most.Load() > 3 {
		t.Errorf("%d came, %d were completed, %d refused, %d seen, %d at a time", half.came, half.completed, half.refused, len(half.open), most.Load())
	}
	if want := fmt.Sprintf("| 1000 | it | %d | %d | %d | ", half.came, half.completed, half.refused); !strings.HasPrefix(row, want) {
		t.Errorf("got %q, want %q", row, want)
	}
	all := make(chan struct{})
	stuck, row := run(1000, func(n int64, sse string) string {
		if n == int64(half.came) { // the seed is the same
			close(all)
		}
		<-all
		return sse
	})
	if stuck.came != half.came || stuck.completed != half.came || stuck.growth() != 1 || !strings.Contains(row, "| yes: the queue grew by 100 % of what came |") {
		t.Errorf("stuck: %d came, %d were completed, the queue grew by %v\n%s", stuck.came, stuck.completed, stuck.growth(), row)
	}
}

// TestGrowth tells loads by the requests that were open at each arrival.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		open func(i int) int
		want string
	}{
		{"few", 15, func(i int) int { return i }, "too few came to tell"},
		{"steady", 100, func(i int) int { return min(i, 8) }, "no"},
		{"up and down", 100, func(i int) int { return i % 9 }, "no"},
		{"nothing is answered", 100, func(i int) int { return i }, "yes: the queue grew by 100 % of what came"},
		{"a fifth is left", 100, func(i int) int { return i / 5 }, "yes: the queue grew by 20 % of what came"},
		{"late by a few", 100, func(i int) int { return min(i, 20) - min(max(i-60, 0), 10) }, "no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h heat
			for i := range tt.n {
				h.open = append(h.open, tt.open(i))
			}
			if got := saturated([]heat{h}); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestSchedule: the same seed has the same prompts come in the same order at every server.
func TestSchedule(t *testing.T) {
	var mu sync.Mutex
	var seen [2][]string
	var urls []string
	for k := range seen {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			seen[k] = append(seen[k], string(text))
			mu.Unlock()
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		defer s.Close()
		urls = append(urls, s.URL)
	}
	c := contest{names: []string{"a", "b"}, urls: urls, loads: []load{{1, 500}}, prompts: []int{2, 3}, vocab: 1000, maxTokens: 1, length: 50 * time.Millisecond, rounds: 1, seed: 5}
	if _, err := c.against(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	slices.Sort(seen[0]) // one that waited may have been overtaken
	slices.Sort(seen[1])
	if len(seen[0]) == 0 || !slices.Equal(seen[0], seen[1]) {
		t.Errorf("%d and %d requests:\n%q\n%q", len(seen[0]), len(seen[1]), seen[0], seen[1])
	}
}
