package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi"
)

const (
	userX     = `"messages":[{"role":"user","content":"x"}]`
	cityTool  = `"tools":[{"name":"city","type":"custom","description":"d","cache_control":{"type":"ephemeral"},"input_schema":{"type":"object","properties":{"a":{"type":"string"}}}},{"name":"time","input_schema":{"type":"object"}}]`
	cityAsked = `{"type":"function","function":{"name":"city","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}`
)

// messaged is what the engine is asked for a body of /v1/messages without its model.
func messaged(t *testing.T, body string) *engine.GenerateRequest {
	t.Helper()
	f := &fake{}
	r, b := sent(t, f, "/v1/messages", []byte(`{"model":"m","max_tokens":99,`+body+`}`), false)
	if r.StatusCode != 200 {
		t.Fatalf("%s: %d %s", body, r.StatusCode, b)
	}
	return f.last.Load()
}

// TestMessagesSampling: how a reply is drawn, thinks and calls reaches the engine.
func TestMessagesSampling(t *testing.T) {
	q := messaged(t, userX+`,"temperature":0.25,"top_p":0.5,"top_k":7,"stop_sequences":["a","b"],"seed":5,"metadata":{"user_id":"u"},"betas":["x"],"service_tier":"auto"`)
	p := q.Sample
	if q.N != 1 || q.MaxTokens != 99 || p.Temperature != 0.25 || p.TopP != 0.5 || p.TopK != 7 || p.Seed != 5 || !reflect.DeepEqual(q.Stop, []string{"a", "b"}) {
		t.Errorf("%+v", q)
	}
	for body, want := range map[string]string{
		``:                                   ``,
		`,"thinking":{"type":"disabled"}`:    `{"enable_thinking":false}`,
		`,"thinking":{"type":"adaptive"}`:    `{"enable_thinking":true}`,
		`,"output_config":{"effort":"high"}`: `{"reasoning_effort":"high"}`,
		`,"thinking":{"type":"enabled","budget_tokens":1024}`: `{"enable_thinking":true,"thinking_budget":1024}`,
	} {
		q := messaged(t, userX+body)
		got := ""
		if q.Prompt.Kwargs != nil {
			b, _ := json.Marshal(q.Prompt.Kwargs)
			got = string(b)
		}
		if got != want || (q.ReasoningBudget != nil) != strings.Contains(body, "budget") {
			t.Errorf("%s: %s, %+v", body, got, q.ReasoningBudget)
		}
	}
	if b := messaged(t, userX+`,"thinking":{"type":"enabled","budget_tokens":1024}`).ReasoningBudget; b == nil || b.Tokens != 1024 || b.Param != "thinking.budget_tokens" {
		t.Errorf("%+v", b)
	}
	for _, in := range []string{`"output_config":{"format":%}`, `"output_format":%`} {
		f := holding("{}")
		sent(t, f, "/v1/messages", []byte(`{"model":"m","max_tokens":9,`+userX+`,`+strings.Replace(in, "%", `{"type":"json_schema","schema":{"type":"object"}}`, 1)+`}`), false)
		if c := f.last.Load().Constraint; c == nil || c.Form != engine.FormSchema || c.Source != `{"type":"object"}` || !strings.HasSuffix(c.Param, "format.schema") {
			t.Errorf("%s: %+v", in, c)
		}
	}
}

// holding is an engine that holds replies to a form, and says text.
func holding(text string) *fake {
	return scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		held := admitted
		held.Constrained = true
		_ = yield(held, nil) && yield(delta(text), nil) && yield(finish, nil) && yield(done, nil)
	})
}

// TestMessagesTools: tools become those of chats, without what is the vendor's.
func TestMessagesTools(t *testing.T) {
	both := []string{"city", "time"}
	for choice, want := range map[string]engine.ToolChoice{
		``: {},
		`,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`:              {One: true},
		`,"tool_choice":{"type":"any"}`:                                                {Required: true},
		`,"tool_choice":{"type":"tool","name":"time"}`:                                 {Required: true, Names: both[1:]},
		`,"tool_choice":{"type":"any","disable_parallel_tool_use":true},"stream":true`: {Required: true, One: true},
	} {
		q := messaged(t, userX+`,`+cityTool+choice)
		if !reflect.DeepEqual(q.ToolChoice, want) || len(q.Prompt.Tools) != 2 {
			t.Errorf("%s: %+v, %d tools", choice, q.ToolChoice, len(q.Prompt.Tools))
		}
		if got := string(q.Prompt.Tools[0].Raw); got != cityAsked {
			t.Errorf("a tool became %s", got)
		}
	}
	if q := messaged(t, userX+`,`+cityTool+`,"tool_choice":{"type":"none"}`); len(q.Prompt.Tools) != 0 {
		t.Errorf("tools that may not be called: %+v", q.Prompt.Tools)
	}
}

// TestMessagesConversation: blocks become messages.
func TestMessagesConversation(t *testing.T) {
	text := func(role string, parts ...string) chat.Message {
		m := chat.Message{Role: role}
		if len(parts) == 1 {
			m.Text = parts[0]
			return m
		}
		for _, p := range parts {
			m.Parts = append(m.Parts, chat.Part{Text: p})
		}
		return m
	}
	for body, want := range map[string][]chat.Message{
		`"system":"s",` + userX: {text("system", "s"), text("user", "x")},
		`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1"},{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],` + userX: {text("system", "s"), text("user", "x")},
		`"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],` + userX:                                                                             {text("system", "a", "b"), text("user", "x")},
		`"system":"",` + userX: {text("user", "x")},
		`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}]}]`: {
			{Role: "tool", ToolCallID: "1"}, {Role: "tool", ToolCallID: "2", Parts: []chat.Part{{Text: "b"}, {Text: "c"}}}, text("user", "a")},
		`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"zz"},{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"}]},{"role":"user","content":"y"}]`: {
			text("user", "x"), {Role: "assistant", Text: "a", Reasoning: "t"}, text("user", "y")},
	} {
		if q := messaged(t, body); !reflect.DeepEqual(q.Prompt.Messages, want) || q.Prompt.Continue {
			t.Errorf("%s:\n%+v, want\n%+v", body, q.Prompt.Messages, want)
		}
	}
	if q := messaged(t, `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"The answer is"}]`); !q.Prompt.Continue {
		t.Error("the last message is the assistant's, and is not continued")
	}
	if q := messaged(t, `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}]`); q.Prompt.Continue {
		t.Error("a call is continued")
	}
}

// TestMessagesRefused: what cannot be done is refused by name, before the first byte, in the
// dialect's shape.
func TestMessagesRefused(t *testing.T) {
	content := func(block string) string { return `"messages":[{"role":"user","content":[` + block + `]}]` }
	for body, want := range map[string]string{
		`"messages":[]`:                                "messages must have at least one message",
		`"max_tokens":0,` + userX:                      "max_tokens must be at least 1",
		`"temperature":1.5,` + userX:                   "temperature must be between 0 and 1",
		`"messages":[{"role":"system","content":"x"}]`: "messages[0].role must be one of user, assistant",
		content(``):                                    "messages[0].content must have at least one block",
		content(`{"type":"image","source":{}}`):        "messages[0].content[0] is of type \"image\"",
		content(`{"type":"document","source":{}}`):     "messages[0].content[0] is of type \"document\"",
		content(`{"type":"tool_result","tool_use_id":"1","content":[{"type":"image"}]}`): "messages[0].content[0].content[0] is of type \"image\"",
		content(`{"type":"tool_result"}`):                                                "messages[0].content[0].tool_use_id is required",
		`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"2"}]}]`: "messages[1].content[1].tool_use_id is \"2\"",
		content(`{"type":"tool_use","id":"1","name":"f","input":{}}`):                                                               "is of type \"tool_use\"",
		`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":"{}"}]}]`:                        "content[0].input must be an object",
		`"tools":[{"type":"web_search_20250305","name":"web_search"}],` + userX:                                                     "tools[0] is of type \"web_search_20250305\"",
		`"tools":[{"name":"f"}],` + userX:                                                                                           "tools[0].input_schema is required",
		`"tools":[{"name":"f f","input_schema":{}}],` + userX:                                                                       "tools[0].name must be 1 to 128",
		`"tools":[{"name":"` + strings.Repeat("f", 129) + `","input_schema":{}}],` + userX:                                          "tools[0].name must be 1 to 128",
		`"tools":[{"name":"f","input_schema":{}},{"name":"f","input_schema":{}}],` + userX:                                          "is the name of another tool",
		`"tools":[{"name":"f","input_schema":{"type":"array"}}],` + userX:                                                           "tools[0].input_schema.type must be \"object\"",
		`"tool_choice":{"type":"any"},` + userX:                                                                                     "tool_choice needs tools",
		`"tool_choice":{"type":"tool","name":"g"},` + cityTool + `,` + userX:                                                        "tool_choice.name must be the name of one of tools",
		`"tool_choice":{"type":"best"},` + cityTool + `,` + userX:                                                                   "tool_choice.type must be one of auto, any, tool, none",
		`"mcp_servers":[{}],` + userX:                                                                                               "mcp_servers is not supported",
		`"container":"c",` + userX:                                                                                                  "container is not supported",
		`"thinking":{},` + userX:                                                                                                    "thinking.type is required",
		`"output_config":{"format":{"type":"json_schema","schema":{}}},"output_format":{"type":"json_schema","schema":{}},` + userX: "both say what form",
		`"output_config":{"format":{"type":"json_schema","schema":{"wrong":1}}},` + userX:                                           "output_config.format.schema/wrong",
		`"stop_sequences":"a",` + userX:                                                                                             "stop_sequences must be an array of strings",
	} {
		refusedMessage(t, body, want)
	}
	// What other dialects call otherwise, or have and this one has not.
	for field, hint := range map[string]string{
		`"grammar":"root ::= \"x\""`: "send output_config.format", `"json_schema":{}`: "send output_config.format", `"guided_choice":["a"]`: "send output_config.format",
		`"regex":"a"`: "send output_config.format", `"structured_outputs":{"choice":["a"]}`: "send output_config.format",
		`"chat_template_kwargs":{"enable_thinking":false}`: "send thinking", `"enable_thinking":false`: "send thinking", `"reasoning_budget":5`: "send thinking", `"reasoning":{"effort":"low"}`: "send thinking",
		`"min_p":0.1`: "leave it out, or set it to 0", `"repeat_penalty":1.1`: "leave it out, or set it to 1", `"typical_p":0.5`: "leave it out, or set it to 1", `"mirostat":2`: "leave it out, or set it to 0",
		`"ignore_eos":true`: "leave it out, or set it to false", `"stop_token_ids":[1]`: "leave it out", `"samplers":["top_k"]`: "leave it out", `"truncation":"auto"`: "leave it out",
	} {
		name, _, _ := strings.Cut(field[1:], `"`)
		refusedMessage(t, field+`,`+userX, name+" is not supported; "+hint)
	}
	nothing := []byte(`{"model":"m","max_tokens":9,"min_p":0,"ignore_eos":false,"reasoning_budget":-1,"truncation":"disabled",` + userX + `}`)
	if r, b := sent(t, &fake{}, "/v1/messages", nothing, true); r.StatusCode != 200 {
		t.Errorf("what asks for nothing: %d %s", r.StatusCode, b)
	}
}

// refusedMessage checks that a request is refused with words, before anything is generated.
func refusedMessage(t *testing.T, body, want string) {
	t.Helper()
	if !strings.Contains(body, "max_tokens") {
		body = `"max_tokens":9,` + body
	}
	f := &fake{}
	r, b := sent(t, f, "/v1/messages", []byte(`{"model":"m",`+body+`}`), true)
	var e struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(b, &e); err != nil || r.StatusCode != 400 || e.Type != "error" || e.Error.Type != "invalid_request_error" || !strings.Contains(e.Error.Message, want) {
		t.Errorf("%s: %d %s, want %q", body, r.StatusCode, b, want)
	}
	if f.last.Load() != nil {
		t.Errorf("%s: was generated", body)
	}
}

// TestMessagesErrors: errors are of the types that clients tell apart.
func TestMessagesErrors(t *testing.T) {
	body := func(model string) string { return `{"model":"` + model + `","max_tokens":9,` + userX + `}` }
	for _, tt := range []struct {
		name, path, body string
		err              *engine.Error
		status           int
		kind             string
	}{
		{"model", "/v1/messages", body("none"), nil, 404, "not_found_error"},
		{"queue", "/v1/messages", body(chatModel), &engine.Error{Code: engine.CodeQueueFull, Message: "full"}, 503, "overloaded_error"},
		{"engine", "/v1/messages", body(chatModel), &engine.Error{Code: engine.CodeEngineFailure, Message: "no"}, 500, "api_error"},
		{"batches", "/v1/messages/batches", `{}`, nil, 501, "api_error"},
		{"json", "/v1/messages", `{`, nil, 400, "invalid_request_error"},
	} {
		f := &fake{}
		if tt.err != nil {
			f.generate = func(_ context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
				yield(engine.Event{}, tt.err)
			}
		}
		s := newServer(t, httpapi.Options{Engine: f})
		r := post(t, s, tt.path, tt.body)
		var e struct {
			Error struct{ Type string }
			ID    string `json:"request_id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.StatusCode != tt.status || e.Error.Type != tt.kind {
			t.Errorf("%s: %d %+v, want %d %s", tt.name, r.StatusCode, e, tt.status, tt.kind)
		}
		if id := r.Header.Get("request-id"); id == "" || e.ID != id {
			t.Errorf("%s: request %q, header %q", tt.name, e.ID, id)
		}
	}
}

// TestMessagesHidden: thinking that the client does not want to see is a block without it.
func TestMessagesHidden(t *testing.T) {
	f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(engine.Event{Type: engine.ReasoningDelta, Text: "secret"}, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	})
	body := []byte(`{"model":"m","max_tokens":9,"thinking":{"type":"adaptive","display":"omitted"},` + userX + `}`)
	for _, stream := range []bool{false, true} {
		if _, b := sent(t, f, "/v1/messages", body, stream); strings.Contains(string(b), "secret") || !strings.Contains(string(b), `"type":"thinking"`) || !strings.Contains(string(b), `"signature"`) {
			t.Errorf("%s", b)
		}
	}
}

// TestMessagesLate: a stream that begins before the cache was looked at tells the counts at
// its end, and is kept open by pings.
func TestMessagesLate(t *testing.T) {
	begun := make(chan struct{})
	f := scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		if !yield(engine.Event{Type: engine.Admitted, PromptTokens: 10}, nil) {
			return
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return
		}
		_ = yield(engine.Event{Type: engine.PromptDone, CachedTokens: 8}, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	})
	s := newServer(t, httpapi.Options{Engine: f, HeaderDelay: time.Millisecond, KeepAlive: time.Millisecond})
	r := post(t, s, "/v1/messages", `{"model":"`+chatModel+`","max_tokens":9,"stream":true,`+userX+`}`)
	var all strings.Builder
	buf := make([]byte, 4096)
	for pinged := false; ; {
		n, err := r.Body.Read(buf)
		all.Write(buf[:n])
		if !pinged && strings.Contains(all.String(), "event: ping\n") {
			pinged = true
			close(begun)
		}
		if err != nil {
			break
		}
	}
	text := all.String()
	start, rest, _ := strings.Cut(text, "event: ping")
	if !strings.Contains(start, `"input_tokens":10`) || !strings.Contains(rest, `"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":8`) || !strings.HasSuffix(text, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n") {
		t.Errorf("%s", text)
	}
}

// TestMessagesModels: models are described as the dialect does to its clients, page by page
// and one by one.
func TestMessagesModels(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for query, want := range map[string]string{
		"":                                `"id":"` + chatModel + `"`,
		"?limit=1":                        `"has_more":true`,
		"?limit=1&after_id=" + chatModel:  `"first_id":"stub-chat","last_id":"stub-chat"`,
		"?limit=1&before_id=stub-chat":    `"has_more":false,"first_id":"` + chatModel + `"`,
		"?limit=5&before_id=" + chatModel: `"data":[],"has_more":false,"first_id":null`,
		"?limit=0":                        `limit must be between`,
		"?after_id=none":                  `{"type":"error","error":{"type":"invalid_request_error","message":"after_id must be the id of a model`,
		"/" + chatModel:                   `{"type":"model","id":"` + chatModel + `","display_name":"` + chatModel + `","created_at":"`,
		"/none":                           `{"type":"error","error":{"type":"not_found_error","message":"model \"none\" does not exist`,
	} {
		q, err := http.NewRequest("GET", s.URL+"/v1/models"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("anthropic-version", "2023-06-01")
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v %s, want %s", query, err, b, want)
		}
	}
}

// FuzzMessages sends any body: the answer is a reply or a well-formed 4xx, and nothing the
// engine may not get reaches it.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"max_tokens":9,` + userX + `,` + cityTool + `,"tool_choice":{"type":"any"}}`,
		`{"max_tokens":9,"system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"b"}]}]}]}`,
		`{"max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""},{"type":"tool_use","id":"a","name":"f","input":{}}]}],"stream":true}`,
		`{"max_tokens":1e3,"thinking":{"type":"enabled","budget_tokens":5},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}},` + userX + `}`,
		`{"max_tokens":9,"messages":[null]}`, `{}`, `[`,
	} {
		f.Add(seed)
	}
	fuzzDialect(f, "/v1/messages", func(b []byte) bool {
		var e struct {
			Error struct{ Type, Message string }
		}
		return json.Unmarshal(b, &e) == nil && e.Error.Type != "" && e.Error.Message != ""
	})
}

// fuzzDialect sends bodies to an endpoint that generates; failed reports whether an answer is
// a failure as the dialect spells it.
func fuzzDialect(f *testing.F, path string, failed func([]byte) bool) {
	var got engine.GenerateRequest
	e := &fake{}
	e.generate = func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		got = r
		first := admitted
		first.Constrained = true
		_ = yield(first, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	}
	a := newAPI(f, httpapi.Options{Engine: e})
	f.Fuzz(func(t *testing.T, body string) {
		got = engine.GenerateRequest{}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body)))
		switch {
		case w.Code == 200 && got.N == 0: // nothing was generated
		case w.Code == 200:
			p := got.Sample
			if got.N != 1 || got.MaxTokens < 0 || !(p.Temperature >= 0 && p.Temperature <= 2) || !(p.TopP >= 0 && p.TopP <= 1) || len(got.Stop) > 16 {
				t.Errorf("accepted: %+v", got)
			}
			for _, m := range got.Prompt.Messages {
				if m.Role == "" {
					t.Errorf("message without a role: %+v", m)
				}
			}
			for _, tool := range got.Prompt.Tools {
				if !json.Valid(tool.Raw) {
					t.Errorf("tool %s", tool.Raw)
				}
			}
		case w.Code >= 400 && w.Code < 500:
			if !failed(w.Body.Bytes()) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
