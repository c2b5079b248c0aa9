package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// FuzzChat sends any body to the chat endpoint: the answer is a reply or a
// well-formed 4xx, and nothing the engine may not get reaches it.
func FuzzChat(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}],"name":null}],"stop":["a"],"logit_bias":{"1":2},"seed":-3}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}],"n":2,"top_p":0}`,
		`{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"messages":[{"role":"tool","tool_call_id":"a","content":""}],"temperature":1e-7,"max_tokens":-1,"chat_template_kwargs":{"a":null}}`,
		`{"messages":`, `[]`, `null`, `{}`, `{"messages":[]}`, `{"messages":[null]}`, "\xff",
	} {
		f.Add(seed)
	}
	var got engine.GenerateRequest
	e := &fake{}
	e.generate = func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		got = r
		_ = yield(admitted, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	}
	a := newAPI(f, httpapi.Options{Engine: e})
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(body)))
		switch {
		case w.Code == 200:
			p := got.Sample
			if got.N < 1 || got.N > 8 || got.MaxTokens < 0 || !(p.Temperature >= 0 && p.Temperature <= 2) || !(p.TopP >= 0 && p.TopP <= 1) || len(got.Stop) > 16 || len(got.Prompt.Messages) == 0 {
				t.Errorf("accepted: %+v", got)
			}
			for _, m := range got.Prompt.Messages {
				if m.Role == "" {
					t.Errorf("message without a role: %+v", m)
				}
			}
		case w.Code >= 400 && w.Code < 500:
			var b failure
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || b.Error.Message == "" || b.Error.Code == nil {
				t.Errorf("%d %s: %v", w.Code, w.Body, err)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
