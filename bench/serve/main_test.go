package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fake answers like a server; spoil may change the stream of the nth request.
func fake(t *testing.T, spoil func(n int64, sse string) string) *httptest.Server {
	var count atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []message
			Stream   bool
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		words := strings.SplitAfter("You said: "+in.Messages[len(in.Messages)-1].Content, " ")
		if !in.Stream {
			text, err := json.Marshal(strings.Join(words, ""))
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"completion_tokens":%d}}`, text, len(words))
			return
		}
		var b strings.Builder
		b.WriteString(": hello\n\n")
		for _, word := range words {
			text, err := json.Marshal(word)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", text)
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		fmt.Fprintf(&b, "data: {\"choices\":[],\"usage\":{\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", len(words))
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

func TestRun(t *testing.T) {
	t.Parallel() // it waits
	third := func(f func(string) string) func(int64, string) string {
		return func(n int64, sse string) string {
			if n == 3 {
				return f(sse)
			}
			return sse
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func(int64, string) string
		want  string // part of the only problem; "" for none
	}{
		{"good", func(_ int64, s string) string { return s }, ""},
		{"lost token", third(func(s string) string { return strings.Replace(s, "said: ", "", 1) }), "alone it was"},
		{"token twice", third(func(s string) string { return strings.Replace(s, "said: ", "said: said: ", 1) }), "alone it was"},
		{"wrong count", third(func(s string) string { return strings.Replace(s, `"completion_tokens":`, `"completion_tokens":9`, 1) }), "alone it was"},
		{"other reason", third(func(s string) string { return strings.Replace(s, `"stop"`, `"length"`, 1) }), "alone it was"},
		{"no reason", third(func(s string) string { return strings.Replace(s, `"stop"`, `null`, 1) }), "no finish_reason"},
		{"no usage", third(func(s string) string { return strings.Replace(s, `"usage"`, `"other"`, 1) }), "no usage"},
		{"cut", third(func(s string) string { return s[:len(s)/2] }), ""},
		{"no end", third(func(s string) string { return strings.Replace(s, "data: [DONE]", ":", 1) }), "without [DONE]"},
		{"error event", third(func(string) string { return "data: {\"error\":{\"message\":\"x\"}}\n\n" }), "error in the stream"},
		{"status", third(func(string) string { return "" }), "status 503: busy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fake(t, tt.spoil)
			o := options{url: s.URL + "/", streams: 4, length: 50 * time.Millisecond, prompts: 20, maxTokens: 9}
			r, err := run(t.Context(), o, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "good" {
				if len(r.Problems) != 0 || r.Replies == 0 || r.Tokens == 0 || r.First[0] <= 0 {
					t.Errorf("%+v", r)
				}
				return
			}
			if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], tt.want) {
				t.Errorf("problems %q; want one with %q", r.Problems, tt.want)
			}
			var b strings.Builder
			if err := r.print(&b); err != nil || !strings.Contains(b.String(), "PROBLEM ") {
				t.Errorf("printed %q, %v", b.String(), err)
			}
		})
	}
}

func TestRate(t *testing.T) {
	t.Parallel() // it waits
	s := fake(t, func(_ int64, sse string) string { return sse })
	o := options{url: s.URL, streams: 8, length: 500 * time.Millisecond, rate: 40, prompts: 3, maxTokens: 9}
	r, err := run(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	// 20 are expected; far fewer and far more are wrong.
	if r.Replies < 3 || r.Replies > 60 {
		t.Errorf("%d replies in half a second at 40 a second", r.Replies)
	}
}

func TestMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc")
	}
	s := fake(t, func(_ int64, sse string) string { return sse })
	o := options{url: s.URL, streams: 1, length: 10 * time.Millisecond, prompts: 1, maxTokens: 9, pid: os.Getpid(), growth: -1 << 40}
	r, err := run(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.RSSBefore <= 0 || r.RSSAfter <= 0 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "memory grew") {
		t.Errorf("%+v", r)
	}
	o.pid = 1 << 30
	if _, err := run(t.Context(), o, io.Discard); err == nil {
		t.Error("a process that does not exist is no error")
	}
}

func TestPercentiles(t *testing.T) {
	var d []time.Duration
	for i := 100; i > 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	if got, want := percentiles(d), [4]float64{50, 90, 99, 100}; got != want {
		t.Errorf("got %v; want %v", got, want)
	}
	if got, want := percentiles(d[:1]), [4]float64{1, 1, 1, 1}; got != want {
		t.Errorf("got %v; want %v", got, want)
	}
	if got := percentiles(nil); got != [4]float64{} {
		t.Errorf("got %v; want zeros", got)
	}
}

func TestPromptsDiffer(t *testing.T) {
	seen := map[string]int{}
	for i, p := range prompts(200) {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[string(b)]; ok {
			t.Errorf("prompts %d and %d are equal: %s", j, i, b)
		}
		seen[string(b)] = i
	}
}
