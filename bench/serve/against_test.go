package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
		if _, err := io.WriteString(w, spoil(count.Add(1), b.String())); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAgainst(t *testing.T) {
	whole := func(_ int64, sse string) string { return sse }
	c := contest{
		names: []string{"one", "other"}, urls: []string{completer(t, whole).URL, completer(t, whole).URL},
		streams: []int{1, 4}, prompts: []int{3, 5}, long: 50, vocab: 100, maxTokens: 7, length: 30 * time.Millisecond, rounds: 2,
	}
	heats, err := c.against(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.problems(heats); len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
	for i := range c.streams {
		for k := range c.names {
			for _, h := range heats[i][k] {
				n := len(h.first[3]) + len(h.first[5])
				if n == 0 || h.tokens != 7*n || len(h.gaps)+len(h.during) != 6*n {
					t.Errorf("%d streams, %s: %d tokens, %d replies, %d gaps", c.streams[i], c.names[k], h.tokens, n, len(h.gaps)+len(h.during))
				}
			}
		}
	}
	var out bytes.Buffer
	if err := c.table(&out, heats); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4+2*2 || !strings.HasPrefix(lines[0], "Prompts of 3 and 5 tokens, replies of 7;") || !strings.HasPrefix(lines[7], "| 4 | other | ") {
		t.Errorf("got\n%s", out.String())
	}
	for _, l := range lines[2:] {
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
		{"no JSON", "event", func(string) string { return "data: {\n\n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := contest{
				names: []string{"it"}, urls: []string{completer(t, func(_ int64, sse string) string { return tt.spoil(sse) }).URL},
				streams: []int{1}, prompts: []int{3}, vocab: 100, maxTokens: 7, length: 5 * time.Millisecond, rounds: 1,
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
