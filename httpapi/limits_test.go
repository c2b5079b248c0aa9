package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"quern/engine"
	"quern/httpapi"
	"quern/httpapi/audit"
)

// audits collects entries.
type audits struct {
	mu   sync.Mutex
	list []audit.Entry
}

func (a *audits) Write(e audit.Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, e)
	return nil
}

// asKey sends a body as the holder of testKey.
func asKey(t *testing.T, h *httpapi.API, path, body string) *tape {
	t.Helper()
	r := jsonRequest(path, body)
	r.Header.Set("Authorization", "Bearer "+testKey)
	return onTape(t, h, r)
}

const shortChat = `{"messages":[{"role":"user","content":"secret words"}],"max_tokens":3}`

// A key's requests, tokens and answers at a time are limited, in all dialects, and told of in
// headers; every request is audited, without a word of it.
func TestKeyLimits(t *testing.T) {
	now := time.Unix(5000, 0)
	key, log := fakeKey, &audits{}
	key.Limit = httpapi.Limit{Requests: 3, Tokens: 1000}
	a := newAPI(t, httpapi.Options{Keys: []httpapi.Key{key}, Audit: log, Now: func() time.Time { return now }})
	first := asKey(t, a, "/v1/chat/completions", shortChat)
	for name, want := range map[string]string{"limit-requests": "3", "remaining-requests": "2", "reset-requests": "20s", "limit-tokens": "1000", "remaining-tokens": "1000", "reset-tokens": "0s"} {
		if got := first.Header().Get("x-ratelimit-" + name); got != want {
			t.Errorf("x-ratelimit-%s is %q, want %q", name, got, want)
		}
	}
	second := asKey(t, a, "/v1/messages", `{"model":"`+chatModel+`","max_tokens":3,"messages":[{"role":"user","content":"x"}]}`)
	if got := second.Header().Get("x-ratelimit-remaining-tokens"); second.Code != 200 || got == "1000" || got == "" {
		t.Errorf("%d, and tokens left are %q", second.Code, got)
	}
	asKey(t, a, "/v1/embeddings", `{"input":"x"}`)
	for path, want := range map[string]string{"/v1/chat/completions": `"code":"rate_limit_exceeded"`, "/v1/messages": `"rate_limit_error"`, "/api/chat": `requests a minute`} {
		w := asKey(t, a, path, shortChat)
		if w.Code != 429 || w.Header().Get("Retry-After") != "20" || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, %v: %s", path, w.Code, w.Header(), w.Body)
		}
	}
	if w := onTape(t, a, func() *http.Request {
		r := httptest.NewRequest("GET", "/v1/models", nil)
		r.Header.Set("Authorization", "Bearer "+testKey)
		return r
	}()); w.Code != 200 {
		t.Errorf("what runs no model is limited: %d", w.Code)
	}
	now = now.Add(20 * time.Second)
	if w := asKey(t, a, "/v1/chat/completions", shortChat); w.Code != 200 {
		t.Errorf("20 s later: %d", w.Code)
	}
	onTape(t, a, jsonRequest("/v1/chat/completions", shortChat))
	onTape(t, a, httptest.NewRequest("GET", "/readyz", nil))

	log.mu.Lock()
	defer log.mu.Unlock()
	var got []string
	for _, e := range log.list {
		got = append(got, strings.Join([]string{e.Who, e.Path, e.Model, http.StatusText(e.Status), e.Code}, " "))
		if e.Request == "" || e.Time.IsZero() || e.Status == 200 && e.Path == "/v1/chat/completions" && e.Prompt == 0 {
			t.Errorf("%+v", e)
		}
	}
	if len(got) != 9 || got[0] != "tester /v1/chat/completions "+chatModel+" OK " || got[8] != " /v1/chat/completions  Unauthorized invalid_api_key" {
		t.Errorf("audited:\n%s", strings.Join(got, "\n"))
	}
}

// Tokens are counted when they are used, and answers at a time while they last.
func TestKeyTokensAndStreams(t *testing.T) {
	now := time.Unix(5000, 0)
	key := fakeKey
	key.Limit = httpapi.Limit{Tokens: 2, Streams: 1}
	at, goOn := make(chan struct{}), make(chan struct{})
	f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		at <- struct{}{}
		<-goOn
		_ = yield(admitted, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	})
	a := newAPI(t, httpapi.Options{Engine: f, Keys: []httpapi.Key{key}, Now: func() time.Time { return now }})
	over := make(chan int)
	go func() { over <- asKey(t, a, "/v1/chat/completions", shortChat).Code }()
	<-at
	if w := asKey(t, a, "/v1/chat/completions", shortChat); w.Code != 429 || !strings.Contains(w.Body.String(), "answers under way") || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a second at a time: %d %s", w.Code, w.Body)
	}
	close(goOn)
	if code := <-over; code != 200 {
		t.Errorf("the first: %d", code)
	}
	w := asKey(t, a, "/v1/chat/completions", shortChat)
	if w.Code != 429 || !strings.Contains(w.Body.String(), `"type":"tokens"`) {
		t.Errorf("after all tokens are used: %d %s", w.Code, w.Body)
	}
	a.SetKeys([]httpapi.Key{fakeKey}) // without limits
	go func() { <-at }()
	if w := asKey(t, a, "/v1/chat/completions", shortChat); w.Code != 200 || w.Header().Get("x-ratelimit-limit-tokens") != "" {
		t.Errorf("without limits: %d %v", w.Code, w.Header())
	}
}
