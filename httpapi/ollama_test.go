package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi"
)

// A line is one of an answer of /api/chat or /api/generate.
type line struct {
	Model   string
	Created string `json:"created_at"`
	Message struct {
		Role, Content, Thinking string
		Calls                   []struct {
			ID       string
			Function struct {
				Index     int
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	Response, Thinking string
	Done               bool
	Reason             string `json:"done_reason"`
	Total              int64  `json:"total_duration"`
	Prompt             int    `json:"prompt_eval_count"`
	Output             int    `json:"eval_count"`
	Error              string
}

// said posts a body and returns the lines of the answer.
func said(t *testing.T, f *fake, path, body string) (int, []line) {
	t.Helper()
	s := newServer(t, httpapi.Options{Engine: f})
	r := post(t, s, path, `{"model":"`+chatModel+`",`+body+`}`)
	var out []line
	for d := json.NewDecoder(r.Body); ; {
		var l line
		err := d.Decode(&l)
		if err == io.EOF {
			return r.StatusCode, out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
}

// thinker thinks, speaks and calls.
func thinker() *fake {
	return scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		for _, ev := range []engine.Event{
			admitted, {Type: engine.ReasoningDelta, Text: "hm"}, {Type: engine.Delta, Text: "a"}, {Type: engine.Delta, Text: "b"},
			{Type: engine.CallStart, CallID: "c1", Name: "f"}, {Type: engine.CallDelta, Text: `{"x"`}, {Type: engine.CallDelta, Text: `:1}`}, {Type: engine.CallEnd},
			{Type: engine.Finish, Reason: engine.ReasonCalls, Tokens: 2}, {Type: engine.Done, PromptTokens: 3, OutputTokens: 9},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	})
}

// TestOllamaChat: lines are a stream unless that is refused, and say together what the whole
// answer says. A call comes whole.
func TestOllamaChat(t *testing.T) {
	for _, stream := range []string{"", `"stream":false,`} {
		status, lines := said(t, thinker(), "/api/chat", stream+userX)
		text, thinking := "", ""
		var calls []string
		for i, l := range lines {
			if l.Done != (i == len(lines)-1) || l.Model != chatModel || l.Created == "" || l.Message.Role != "assistant" {
				t.Errorf("line %d: %+v", i, l)
			}
			text += l.Message.Content
			thinking += l.Message.Thinking
			for _, c := range l.Message.Calls {
				calls = append(calls, c.ID+c.Function.Name+string(c.Function.Arguments))
			}
		}
		last := lines[len(lines)-1]
		if status != 200 || text != "ab" || thinking != "hm" || !slices.Equal(calls, []string{`c1f{"x":1}`}) || last.Reason != "stop" || last.Prompt != 3 || last.Output != 9 || last.Total <= 0 {
			t.Errorf("%s%q %q %q %+v", stream, text, thinking, calls, last)
		}
		if (len(lines) == 1) != (stream != "") {
			t.Errorf("%s%d lines", stream, len(lines))
		}
	}
}

// TestOllamaGenerate: a prompt is a user's message, but raw ones and those of models without
// a chat template are text.
func TestOllamaGenerate(t *testing.T) {
	user := chat.Message{Role: "user", Text: "x"}
	for body, want := range map[string]engine.Prompt{
		`"prompt":"x"`:              {Messages: []chat.Message{user}},
		`"prompt":"x","system":"s"`: {Messages: []chat.Message{{Role: "system", Text: "s"}, user}},
		`"prompt":"x","raw":true`:   {Text: "x"},
	} {
		f := &fake{}
		status, lines := said(t, f, "/api/generate", `"stream":false,`+body)
		if q := f.last.Load(); status != 200 || q == nil || !reflect.DeepEqual(q.Prompt, want) || !strings.HasPrefix(lines[0].Response, "The fox") || lines[0].Reason != "stop" {
			t.Errorf("%s: %d %+v %+v", body, status, q, lines)
		}
	}
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	if r := post(t, s, "/api/generate", `{"model":"`+baseModel+`","prompt":"x","system":"s"}`); r.StatusCode != 200 || f.last.Load().Prompt.Text != "s\n\nx" {
		t.Errorf("%d %+v", r.StatusCode, f.last.Load())
	}
}

// TestOllamaOptions: options reach the engine under its names.
func TestOllamaOptions(t *testing.T) {
	f := holding("{}")
	status, _ := said(t, f, "/api/chat", userX+`,"keep_alive":"5m","think":"high","format":{"type":"object"},"options":{"num_ctx":4096,"num_predict":7,"temperature":0.5,"top_k":3,"top_p":0.25,"min_p":0.125,"typical_p":0.75,"repeat_penalty":1.5,"repeat_last_n":9,"presence_penalty":1,"frequency_penalty":-1,"seed":5,"stop":["a"],"num_gpu":1,"mirostat":0,"tfs_z":1}`)
	q := f.last.Load()
	if status != 200 || q == nil {
		t.Fatal(status)
	}
	p := q.Sample
	if q.MaxTokens != 7 || p.Temperature != 0.5 || p.TopK != 3 || p.TopP != 0.25 || p.MinP != 0.125 || p.TypicalP != 0.75 || p.RepeatPenalty != 1.5 || p.RepeatLastN != 9 ||
		p.PresencePenalty != 1 || p.FrequencyPenalty != -1 || p.Seed != 5 || !slices.Equal(q.Stop, []string{"a"}) || q.KeepAlive == nil || q.KeepAlive.Minutes() != 5 ||
		q.Constraint == nil || q.Constraint.Form != engine.FormSchema || string(q.Prompt.Kwargs["reasoning_effort"]) != `"high"` {
		t.Errorf("%+v", q)
	}
	for body, want := range map[string]string{`"think":false`: "false", `"think":true`: "true"} {
		f := &fake{}
		said(t, f, "/api/chat", userX+","+body)
		if got := string(f.last.Load().Prompt.Kwargs["enable_thinking"]); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	f = holding("{}")
	if said(t, f, "/api/chat", userX+`,"format":"json"`); f.last.Load().Constraint.Form != engine.FormObject {
		t.Errorf("%+v", f.last.Load().Constraint)
	}
	f = &fake{}
	if said(t, f, "/api/chat", userX); f.last.Load().MaxTokens != 0 {
		t.Errorf("%d tokens without a limit", f.last.Load().MaxTokens)
	}
}

// TestOllamaMessages: what assistants called and tools found becomes a chat's.
func TestOllamaMessages(t *testing.T) {
	f := &fake{}
	said(t, f, "/api/chat", `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","tool_name":"f","content":"4"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]`)
	q := f.last.Load()
	want := []chat.Message{{Role: "user", Text: "x"},
		{Role: "assistant", NoContent: true, Reasoning: "t", ToolCalls: []chat.Call{{Name: "f", Arguments: `{"a":1}`}}},
		{Role: "tool", Name: "f", Text: "4"}}
	if !reflect.DeepEqual(q.Prompt.Messages, want) {
		t.Errorf("%+v", q.Prompt.Messages)
	}
	if got := string(q.Prompt.Tools[0].Raw); got != `{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}` {
		t.Errorf("%s", got)
	}
}

// TestOllamaRefused: what there is not is refused by name.
func TestOllamaRefused(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{"/api/chat", `"messages":[{"role":"user","content":"x","images":["aa"]}]`, "images is not supported"},
		{"/api/chat", `"messages":[{"role":"boss","content":"x"}]`, "role must be one of"},
		{"/api/chat", userX + `,"options":{"mirostat":2}`, "options.mirostat is not supported"},
		{"/api/chat", userX + `,"options":{"temperature":3}`, "options.temperature must be between"},
		{"/api/chat", userX + `,"format":"yaml"`, `format must be "json" or a JSON Schema, got "yaml"`},
		{"/api/chat", userX + `,"format":{"wrong":1}`, "format/wrong"},
		{"/api/chat", userX + `,"think":"a lot"`, "think must be one of"},
		{"/api/chat", userX + `,"logprobs":true`, "logprobs is not supported"},
		{"/api/chat", userX + `,"tools":[{"type":"function"}]`, "tools[0].function is required"},
		{"/api/generate", `"prompt":"x","suffix":"y","system":"z"`, "system has no place before a suffix"},
		{"/api/generate", `"prompt":"x","context":[1]`, "context is not supported"},
		{"/api/generate", `"prompt":"x","template":"y"`, "template is not supported"},
		{"/api/generate", `"prompt":"x","raw":true,"system":"y"`, "raw gives the model the prompt as it is"},
		{"/api/create", `"from":"x"`, "not made or copied"},
		{"/api/blobs/sha256:00", ``, "not made or copied"}, // what a create sends first
	} {
		f := &fake{}
		if status, lines := said(t, f, tt.path, tt.body); status < 400 || len(lines) != 1 || !strings.Contains(lines[0].Error, tt.want) || f.last.Load() != nil {
			t.Errorf("%s %s: %d %+v, want %q", tt.path, tt.body, status, lines, tt.want)
		}
	}
	s := newServer(t, httpapi.Options{Engine: &fake{}})
	if r := post(t, s, "/api/chat", `{`+userX+`}`); r.StatusCode != 400 {
		t.Errorf("no model: %d", r.StatusCode)
	}
	if r := post(t, s, "/api/show", `{"model":"none"}`); r.StatusCode != 404 {
		t.Errorf("no such model: %d", r.StatusCode)
	}
	if _, lines := said(t, &fake{}, "/api/chat", `"messages":[{"role":"user","content":"fail in the stream"}]`); lines[len(lines)-1].Error == "" {
		t.Errorf("%+v", lines)
	}
}

// TestOllamaLoads: a request without a prompt loads the model, or with a keep_alive of 0
// releases it.
func TestOllamaLoads(t *testing.T) {
	for _, path := range []string{"/api/chat", "/api/generate"} {
		f := &fake{}
		if _, lines := said(t, f, path, `"messages":[]`); lines[0].Reason != "load" || !lines[0].Done || *f.asked.Load() != chatModel || f.last.Load() != nil {
			t.Errorf("%s: %+v", path, lines)
		}
		if _, lines := said(t, f, path, `"keep_alive":0`); lines[0].Reason != "unload" || !slices.Equal(f.unloaded, []string{chatModel}) {
			t.Errorf("%s: %+v, unloaded %v", path, lines, f.unloaded)
		}
	}
	f := &fake{}
	for _, input := range []string{``, `,"input":""`, `,"input":[]`, `,"input":[],"keep_alive":0`} {
		b, _ := io.ReadAll(post(t, newServer(t, httpapi.Options{Engine: f}), "/api/embed", `{"model":"`+embedModel+`"`+input+`}`).Body)
		if !strings.Contains(string(b), `"embeddings":[]`) || *f.asked.Load() != embedModel || f.seen.Load() != nil {
			t.Errorf("/api/embed%s: %s", input, b)
		}
	}
	if !slices.Equal(f.unloaded, []string{embedModel}) {
		t.Errorf("unloaded %v", f.unloaded)
	}
}

// TestOllamaEmbeds: inputs become vectors, cut where they are too long.
func TestOllamaEmbeds(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	var out struct {
		Model      string
		Embeddings [][]float32
		Prompt     int `json:"prompt_eval_count"`
		Embedding  []float32
	}
	if err := json.NewDecoder(post(t, s, "/api/embed", `{"model":"`+embedModel+`:latest","input":["a b","c"],"dimensions":8}`).Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if q := f.seen.Load(); len(out.Embeddings) != 2 || len(out.Embeddings[0]) != 8 || out.Prompt != 3 || !q.Truncate || q.Raw {
		t.Errorf("%+v %+v", out, q)
	}
	if err := json.NewDecoder(post(t, s, "/api/embeddings", `{"model":"`+embedModel+`","prompt":"a b"}`).Body).Decode(&out); err != nil || len(out.Embedding) != 96 || !f.seen.Load().Raw || f.seen.Load().Param != "prompt" {
		t.Errorf("%v %+v", err, out)
	}
	for _, body := range []string{`,"prompt":""`, ``} {
		b, _ := io.ReadAll(post(t, s, "/api/embeddings", `{"model":"`+embedModel+`"`+body+`}`).Body)
		if string(b) != `{"embedding":[]}`+"\n" {
			t.Errorf("without a prompt: %s", b)
		}
	}
}

// TestOllamaModels: models are listed and described, by names with and without the tag that
// clients add.
func TestOllamaModels(t *testing.T) {
	s := newServer(t, httpapi.Options{Version: "1.2"})
	for path, want := range map[string][]string{
		"/api/tags":    {`"name":"` + chatModel + `"`, `"name":"` + embedModel + `"`, `"quantization_level":"Q4_K_M"`, `"format":"gguf"`},
		"/api/ps":      {`"name":"` + chatModel + `"`, `"context_length":8192`, `"size_vram":0`},
		"/api/version": {`{"version":"1.2"}`},
	} {
		r, err := s.Client().Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s: %s lacks %s", path, b, w)
			}
		}
		if strings.Contains(string(b), voiceModel) {
			t.Errorf("%s lists a voice: %s", path, b)
		}
	}
	for name, want := range map[string]string{embedModel: `["embedding"]`, embedModel + ":latest": `["embedding"]`, chatModel: `["completion","tools","insert","thinking"]`} {
		b, _ := io.ReadAll(post(t, s, "/api/show", `{"model":"`+name+`"}`).Body)
		if !strings.Contains(string(b), `"capabilities":`+want) {
			t.Errorf("%s: %s", name, b)
		}
	}
	for _, m := range []struct{ method, path string }{{"POST", "/api/pull"}, {"DELETE", "/api/delete"}} {
		q, _ := http.NewRequest(m.method, s.URL+m.path, strings.NewReader(`{"model":"a/b"}`))
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if r.StatusCode != 403 {
			t.Errorf("%s without a store: %d", m.path, r.StatusCode)
		}
	}
}

func FuzzOllama(f *testing.F) {
	for _, seed := range []string{
		`{"model":"` + chatModel + `",` + userX + `,"format":"json","options":{"stop":["a"],"seed":-1}}`,
		`{"model":"` + chatModel + `","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":"a"}],"stream":false}`,
		`{"model":"` + chatModel + `",` + userX + `,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"think":"low","keep_alive":"1m"}`,
		`{"name":"` + chatModel + `","messages":[]}`, `{}`, `[`,
	} {
		f.Add(seed)
	}
	fuzzDialect(f, "/api/chat", func(b []byte) bool {
		var e struct{ Error string }
		return json.Unmarshal(b, &e) == nil && e.Error != ""
	})
}

// TestOllamaHead: clients probe with HEAD what Ollama answers so.
func TestOllamaHead(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, path := range []string{"/api/tags", "/api/version"} {
		if r := ask(t, s, "HEAD", path, ""); r.StatusCode != 200 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// TestOllamaExpires: a model in memory tells when it leaves that, far away where it stays.
func TestOllamaExpires(t *testing.T) {
	for fields, far := range map[string]bool{
		`"prompt":"x","stream":false,"options":{"num_predict":1},"keep_alive":600`: false,
		`"prompt":"x","stream":false,"options":{"num_predict":1},"keep_alive":-1`:  true,
		`"keep_alive":600`: false, // only loads it
		`"keep_alive":-1`:  true,
	} {
		s := newBuiltin(t)
		post(t, s, "/api/generate", `{"model":"quern-tiny",`+fields+`}`)
		var out struct {
			Models []struct {
				Expires time.Time `json:"expires_at"`
			}
		}
		r := ask(t, s, "GET", "/api/ps", "")
		if err := json.NewDecoder(r.Body).Decode(&out); err != nil || len(out.Models) != 1 {
			t.Fatalf("%v, %+v", err, out)
		}
		if until := out.Models[0].Expires; until.IsZero() || far != (until.Year() > 2200) {
			t.Errorf("%s: until %v", fields, until)
		}
	}
}

// TestOllamaTruncate: turns are left out where the request says so, and nowhere else.
func TestOllamaTruncate(t *testing.T) {
	for field, want := range map[string]bool{"": false, `,"truncate":false`: false, `,"truncate":true,"shift":true`: true} {
		f := &fake{}
		said(t, f, "/api/chat", userX+field)
		if got := f.last.Load().Prompt.AutoShorten; got != want {
			t.Errorf("%q: %v", field, got)
		}
	}
}
