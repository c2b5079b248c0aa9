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

// fuzzed are the endpoints whose bodies are JSON, in each dialect, with bodies to begin from.
var fuzzed = []struct{ path, body string }{
	{"/v1/completions", `{"prompt":["a",""],"suffix":"b","logprobs":2,"best_of":3,"n":2,"logit_bias":[[1,false]],"stop":["x"]}`},
	{"/v1/embeddings", `{"input":[[1,2],[3]],"encoding_format":"base64","dimensions":4}`},
	{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"store":false,"reasoning":{"effort":"low"},"text":{"format":{"type":"json_object"}}}`},
	{"/v1/messages", `{"max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t","content":"x"}]}],"thinking":{"type":"enabled","budget_tokens":9},"tools":[{"name":"f","input_schema":{"type":"object"}}]}`},
	{"/v1/messages/count_tokens", `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`},
	{"/api/chat", `{"model":"stub-chat","messages":[{"role":"user","content":"a","images":[]}],"options":{"num_predict":2,"stop":["x"],"mirostat":0},"format":{"type":"object"},"think":"low","keep_alive":"5m"}`},
	{"/api/generate", `{"model":"stub-chat","prompt":"a","suffix":"b","raw":true,"stream":false}`},
	{"/api/embed", `{"model":"stub-embed","input":["a","b"],"truncate":false}`},
	{"/api/show", `{"name":"stub-chat:latest"}`},
	{"/completion", `{"prompt":[1,2],"n_predict":2,"samplers":["top_k","infill"],"response_fields":["a/b"],"n_probs":3,"t_max_predict_ms":1,"stream":true}`},
	{"/infill", `{"input_prefix":"a","input_suffix":"b","input_extra":[{"filename":"f","text":"t"}],"prompt":"c"}`},
	{"/apply-template", `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`},
	{"/tokenize", `{"content":"a","with_pieces":true}`},
	{"/detokenize", `{"tokens":[1]}`},
	{"/v1/score", `{"text_1":["a"],"text_2":["b","c"],"truncate_prompt_tokens":-1}`},
	{"/v1/classify", `{"input":"a","use_activation":false}`},
	{"/v1/responses/input_tokens", `{"input":[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":"x"}],"instructions":"i","tools":[{"type":"function","name":"f"}]}`},
	{"/api/embeddings", `{"model":"stub-embed","prompt":"a","keep_alive":0}`},
	{"/v2/rerank", `{"model":"stub-embed","query":"q","documents":["a","b"],"top_n":2,"max_tokens_per_doc":3,"rank_fields":[]}`},
	{"/v1/rerank", `{"query":"q","documents":["a",{"text":"b"}],"top_n":1}`},
}

// FuzzDialects sends any body to any of them: the answer is a reply, or a 4xx that is JSON and
// says why.
func FuzzDialects(f *testing.F) {
	for i, e := range fuzzed {
		f.Add(i, e.body)
		f.Add(i, `{"model":null,"stream":true}`)
	}
	e := &fake{}
	e.generate = func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		begin := engine.Event{Type: engine.Admitted, PromptTokens: 1, Constrained: true}
		if !yield(begin, nil) || !yield(engine.Event{Type: engine.PromptDone}, nil) {
			return
		}
		for i := range max(r.N, 1) {
			if !yield(engine.Event{Type: engine.Delta, Index: i, Text: "a\n"}, nil) || !yield(engine.Event{Type: engine.Finish, Index: i, Reason: engine.ReasonStop}, nil) {
				return
			}
		}
		yield(done, nil)
	}
	a := newAPI(f, httpapi.Options{Engine: e})
	f.Fuzz(func(t *testing.T, i int, body string) {
		path := fuzzed[uint(i)%uint(len(fuzzed))].path
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body)))
		switch {
		case w.Code == 200:
		case w.Code >= 400 && w.Code < 500 || w.Code == 501:
			var b struct{ Error json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || len(b.Error) < 3 {
				t.Errorf("%s: %d %s: %v", path, w.Code, w.Body, err)
			}
		default:
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	})
}
