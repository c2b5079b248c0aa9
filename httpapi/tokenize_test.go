package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi"
)

// A wordy engine gives every text as many tokens, and every token its text.
type wordy struct {
	fake
	tokens []token.ID
	piece  func(token.ID) []byte
}

func (w *wordy) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return w.lend(ctx, w, name, kinds)
}

func (w *wordy) Tokenize(context.Context, engine.TokenizeRequest) (engine.TokenizeResult, error) {
	return engine.TokenizeResult{Tokens: w.tokens, Bytes: w.piece, Context: fakeContext}, nil
}

func (w *wordy) Detokenize(context.Context, []token.ID) (iter.Seq[[]byte], error) {
	return func(yield func([]byte) bool) {
		for _, id := range w.tokens {
			if !yield(w.piece(id)) {
				return
			}
		}
	}, nil
}

// What is answered is what the engine said, whatever bytes it has.
func TestTokensAreSpelled(t *testing.T) {
	pieces := []string{"a", " \"b\\", "\x00\n\r\t\x1f\x7f", "<&>", "\u00e4\u2028\U0001f600", "", "\xe4\xb8", "\ufffd"}
	w := &wordy{piece: func(id token.ID) []byte { return []byte(pieces[id]) }}
	a := newAPI(t, httpapi.Options{Engine: w})
	for n := range len(pieces) + 1 {
		w.tokens = make([]token.ID, n)
		for i := range w.tokens {
			w.tokens[i] = token.ID(i)
		}
		var got struct {
			Tokens  []token.ID
			Count   int
			Context int      `json:"max_model_len"`
			Strings []string `json:"token_strs"`
		}
		tokensOf(t, a, "/tokenize", `{"prompt":"x","return_token_strs":true}`, &got)
		want := slices.Clone(pieces[:n])
		if n > 6 {
			want[6] = `\xe4\xb8` // bytes that are no text
		}
		if !slices.Equal(got.Tokens, w.tokens) || got.Count != n || got.Context != fakeContext || got.Tokens == nil || !slices.Equal(got.Strings, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
		if n > 6 {
			continue // text that the engine makes is valid
		}
		var text struct{ Prompt, Content string }
		tokensOf(t, a, "/detokenize", `{"tokens":[1]}`, &text)
		if all := strings.Join(pieces[:n], ""); text.Prompt != all || text.Content != all {
			t.Errorf("got %+v, want %q", text, all)
		}
	}
}

// tokensOf posts a body and reads the answer, whose length has to be what was announced.
func tokensOf(t *testing.T, h *httpapi.API, path, body string, v any) {
	t.Helper()
	w := onTape(t, h, jsonRequest(path, body))
	if w.Code != 200 || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Fatalf("%d, %s of %d bytes: %s", w.Code, w.Header().Get("Content-Length"), w.Body.Len(), w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
}

// A sink is a client of whom nothing is kept.
type sink struct {
	h http.Header
	n int
}

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { s.n += len(p); return len(p), nil }

// A short body may ask for an answer of many megabytes, and so may many at once: none
// of it is held.
func TestTokensAreNotHeld(t *testing.T) {
	const n = 1 << 20
	word := []byte("eight by")
	w := &wordy{tokens: make([]token.ID, n), piece: func(token.ID) []byte { return word }}
	a := newAPI(t, httpapi.Options{Engine: w})
	for path, body := range map[string]string{
		"/tokenize":   `{"prompt":"x","return_token_strs":true}`,
		"/detokenize": `{"tokens":[1]}`,
	} {
		var before, after runtime.MemStats
		s := &sink{h: http.Header{}}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+path, strings.NewReader(body))
		runtime.ReadMemStats(&before)
		a.ServeHTTP(s, r)
		runtime.ReadMemStats(&after)
		if got := fmt.Sprint(s.n); s.n < n*len(word) || s.h.Get("Content-Length") != got {
			t.Errorf("%s: %s bytes of %s", path, got, s.h.Get("Content-Length"))
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d bytes allocated for an answer of %d", path, took, s.n)
		}
	}
}

// A prompt is echoed as often as there are choices.
func TestEchoIsBoundedByChoices(t *testing.T) {
	w := &wordy{tokens: make([]token.ID, 1<<20), piece: func(token.ID) []byte { return []byte("eight by") }}
	s := newServer(t, httpapi.Options{Engine: w})
	for _, prompt := range []string{`[[1],[2]]`, `"` + strings.Repeat("a", 9<<20) + `"`} {
		r := post(t, s, "/v1/completions", `{"prompt":`+prompt+`,"echo":true,"n":8}`)
		if r.StatusCode != 400 { // not shown, it would be long
			r.Body.Close()
			t.Errorf("status %d for %.9s", r.StatusCode, prompt)
			continue
		}
		wantFailure(t, r, 400, "invalid_value", "echo")
	}
}

// TestTokenizeTools: the tokens of messages are those of the prompt that a chat with the same tools
// has.
func TestTokenizeTools(t *testing.T) {
	s := newBuiltin(t)
	counted := func(path, body string) (n int) {
		t.Helper()
		var got struct{ Count int }
		r := post(t, s, path, body)
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != 200 {
			t.Fatalf("%s: %d, %v", path, r.StatusCode, err)
		}
		return got.Count
	}
	plain := counted("/tokenize", `{`+userX+`}`)
	for _, choice := range []string{"auto", "none"} {
		body := `{` + userX + `,` + weatherTools + `,"tool_choice":"` + choice + `"}`
		got, want := counted("/tokenize", body), counted("/v1/chat/completions/render", body)
		if got != want || (got > plain) != (choice == "auto") {
			t.Errorf("tool_choice %s: %d tokens, the prompt has %d, without tools %d", choice, got, want, plain)
		}
	}
}
