package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"quern/httpapi"
)

// A prompt is read as a chat or a text has it, and nothing is generated.
func TestWarm(t *testing.T) {
	f := &fake{}
	a := newAPI(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"messages", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"messages":[{"role":"system","content":"one two three four"}],"temperature":0.3,"max_tokens":9,"n":3}`, 200, `"object":"cache.warm"`},
		{"without /v1", "/models/stub/chat:Q4_K_M/cache/warm", `{"messages":[{"role":"system","content":"one"}]}`, 200, `"cached_tokens":`},
		{"tools", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"messages":[{"role":"system","content":"one"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"}`, 200, `"disk":false`},
		{"a text", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"prompt":"one two three four"}`, 200, `"model":"stub/chat:Q4_K_M"`},
		{"texts", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"prompt":["one two","three four"],"model":"stub/chat:Q4_K_M"}`, 200, `"tokens":4,"cached_tokens":2`},
		{"tokens", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"prompt":[5,6,7]}`, 200, `"tokens":3`},
		{"another model", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"prompt":"a","model":"other"}`, 400, `leave model out`},
		{"nothing", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{}`, 400, `messages`},
		{"no such model", "/v1/models/no/such/cache/warm", `{"prompt":"a"}`, 404, `no/such`},
		{"no model", "/v1/models//cache/warm", `{"prompt":"a"}`, 405, ``},
		{"an embedding model", "/v1/models/stub-embed/cache/warm", `{"prompt":"a"}`, 400, `stub-embed`},
		{"too long", "/v1/models/stub/chat:Q4_K_M/cache/warm", `{"prompt":"` + strings.Repeat("word ", fakeContext) + `"}`, 400, `context`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.last.Store(nil)
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			a.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			if q := f.last.Load(); tt.status == 200 && (q == nil || !q.NoTokens || q.N > 1 || q.ToolChoice.Required || q.NoPromptCache) {
				t.Errorf("asked %+v", q)
			}
		})
	}
}

// It needs a key like every request, and no more than that.
func TestWarmNeedsKey(t *testing.T) {
	a := newAPI(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}})
	for key, want := range map[string]int{"": 401, "wrong": 401, testKey: 200} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/v1/models/stub/chat:Q4_K_M/cache/warm", strings.NewReader(`{"prompt":"a b"}`))
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		a.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("with key %q: %d %s, want %d", key, w.Code, w.Body, want)
		}
	}
}
