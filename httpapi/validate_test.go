package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"quern/httpapi"
)

// failure is an error answer as clients see it.
type failure struct {
	Error struct {
		Message string
		Type    string
		Param   *string
		Code    *string
	}
}

func wantFailure(t *testing.T, r *http.Response, status int, code, param string) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var f failure
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("body %.200q: %v", b, err)
	}
	got := ""
	if f.Error.Param != nil {
		got = *f.Error.Param
	}
	if r.StatusCode != status || f.Error.Code == nil || *f.Error.Code != code || got != param {
		t.Errorf("got %d %s, want %d, code %s, param %q", r.StatusCode, b, status, code, param)
	}
	if f.Error.Message == "" || f.Error.Type == "" {
		t.Errorf("message or type is missing: %s", b)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	if r.Header.Get("x-request-id") == "" {
		t.Error("no x-request-id")
	}
	return f.Error.Message
}

// Objects of a body are read up to a number.
func TestManyObjects(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	list := strings.Repeat(`{"role":"user","content":"a"},`, 100_000)
	b, _ := io.ReadAll(post(t, s, "/v1/chat/completions", `{"messages":[`+list[:len(list)-1]+`],"max_tokens":1}`).Body)
	if !strings.Contains(string(b), "context_length_exceeded") {
		t.Errorf("100,000 messages: %s", b)
	}
	wantFailure(t, post(t, s, "/v1/chat/completions", `{"messages":[`+list+`{"role":"user"}]}`), 400, "invalid_value", "messages[100000]")
	parts := strings.Repeat(`{"type":"text","text":"a"},`, 100_000)
	wantFailure(t, post(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":[`+parts[:len(parts)-1]+`]}]}`), 400, "invalid_value", "messages[0].content[99999]")
}

// tool is a function of a name.
func tool(name string) string { return `{"type":"function","function":{"name":"` + name + `"}}` }

// tools are n of them.
func tools(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = tool(fmt.Sprint("f", i))
	}
	return strings.Join(list, ",")
}

func TestValidation(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const (
		chat  = "/v1/chat/completions"
		text  = "/v1/completions"
		embed = "/v1/embeddings"
	)
	msg := func(rest string) string { return `{"messages":[{"role":"user","content":"hi"}]` + rest + `}` }
	conv := func(messages string) string { return `{"messages":[` + messages + `]}` }
	for _, tt := range []struct {
		name, path, body string
		status           int
		code, param      string
	}{
		{"empty body", chat, ``, 400, "invalid_json", ""},
		{"cut JSON", chat, `{"model": `, 400, "invalid_json", ""},
		{"array", chat, `[]`, 400, "invalid_json", ""},
		{"null", chat, `null`, 400, "invalid_json", ""},
		{"trailing garbage", chat, msg("") + " x", 400, "invalid_json", ""},
		{"two objects", chat, msg("") + msg(""), 400, "invalid_json", ""},
		{"bad UTF-8", chat, "{\"model\":\"\xff\"}", 400, "invalid_json", ""},
		{"nested too deep", chat, `{"x":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`, 400, "invalid_json", ""},

		{"no messages", chat, `{}`, 400, "missing_required_parameter", "messages"},
		{"messages null", chat, `{"messages":null}`, 400, "missing_required_parameter", "messages"},
		{"messages empty", chat, `{"messages":[]}`, 400, "invalid_value", "messages"},
		{"messages a string", chat, `{"messages":"hi"}`, 400, "invalid_type", "messages"},
		{"message a string", chat, `{"messages":["hi"]}`, 400, "invalid_type", "messages[0]"},
		{"no role", chat, conv(`{"content":"x"}`), 400, "missing_required_parameter", "messages[0].role"},
		{"bad role", chat, conv(`{"role":"robot","content":"x"}`), 400, "invalid_value", "messages[0].role"},
		{"no content", chat, conv(`{"role":"user"}`), 400, "missing_required_parameter", "messages[0].content"},
		{"content a number", chat, conv(`{"role":"user","content":5}`), 400, "invalid_type", "messages[0].content"},
		{"content empty array", chat, conv(`{"role":"user","content":[]}`), 400, "invalid_value", "messages[0].content"},
		{"part without type", chat, conv(`{"role":"user","content":[{"text":"x"}]}`), 400, "missing_required_parameter", "messages[0].content[0].type"},
		{"part without text", chat, conv(`{"role":"user","content":[{"type":"text"}]}`), 400, "missing_required_parameter", "messages[0].content[0].text"},
		{"image", chat, conv(`{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:,"}}]}`), 400, "unsupported_content", "messages[1].content[1]"},
		{"audio part", chat, conv(`{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}`), 400, "unsupported_content", "messages[0].content[0]"},
		{"unknown part", chat, conv(`{"role":"user","content":[{"type":"smell"}]}`), 400, "invalid_value", "messages[0].content[0].type"},
		{"tool without id", chat, conv(`{"role":"tool","content":"x"}`), 400, "missing_required_parameter", "messages[0].tool_call_id"},
		{"result of no call", chat, conv(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"x"}`), 400, "invalid_value", "messages[1].tool_call_id"},
		{"call without name", chat, conv(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"arguments":"{}"}}]}`), 400, "missing_required_parameter", "messages[0].tool_calls[0].function.name"},
		{"custom call", chat, conv(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"custom","function":{"name":"f"}}]}`), 400, "unsupported_content", "messages[0].tool_calls[0]"},

		{"model a number", chat, msg(`,"model":5`), 400, "invalid_type", "model"},
		{"unknown model", chat, msg(`,"model":"no/such"`), 404, "model_not_found", "model"},
		{"wrong kind", chat, msg(`,"model":"stub-embed"`), 400, "model_not_supported", "model"},
		{"no chat template", chat, msg(`,"model":"stub-base"`), 400, "model_not_supported", "model"},
		{"temperature a string", chat, msg(`,"temperature":"1"`), 400, "invalid_type", "temperature"},
		{"temperature high", chat, msg(`,"temperature":3`), 400, "invalid_value", "temperature"},
		{"temperature low", chat, msg(`,"temperature":-0.1`), 400, "invalid_value", "temperature"},
		{"temperature huge", chat, msg(`,"temperature":1e999`), 400, "invalid_value", "temperature"},
		{"top_p", chat, msg(`,"top_p":1.5`), 400, "invalid_value", "top_p"},
		{"min_p", chat, msg(`,"min_p":-1`), 400, "invalid_value", "min_p"},
		{"top_k", chat, msg(`,"top_k":-2`), 400, "invalid_value", "top_k"},
		{"top_k fraction", chat, msg(`,"top_k":1.5`), 400, "invalid_type", "top_k"},
		{"repeat_penalty", chat, msg(`,"repeat_penalty":0`), 400, "invalid_value", "repeat_penalty"},
		{"repetition_penalty", chat, msg(`,"repetition_penalty":-1`), 400, "invalid_value", "repetition_penalty"},
		{"n", chat, msg(`,"n":0`), 400, "invalid_value", "n"},
		{"n above max", chat, msg(`,"n":9`), 400, "invalid_value", "n"},
		{"max_tokens", chat, msg(`,"max_tokens":0`), 400, "invalid_value", "max_tokens"},
		{"max_tokens -2", chat, msg(`,"max_tokens":-2`), 400, "invalid_value", "max_tokens"},
		{"max_completion_tokens -2", chat, msg(`,"max_completion_tokens":-2`), 400, "invalid_value", "max_completion_tokens"},
		{"max_tokens of text -2", text, `{"prompt":"a","max_tokens":-2,"echo":true}`, 400, "invalid_value", "max_tokens"},
		{"max_tokens half", chat, msg(`,"max_tokens":1.5`), 400, "invalid_type", "max_tokens"},
		{"kwargs that are none", chat, msg(`,"chat_template_kwargs":["enable_thinking"]`), 400, "invalid_type", "chat_template_kwargs"},
		{"budget", chat, msg(`,"reasoning_budget":-2`), 400, "invalid_value", "reasoning_budget"},
		{"budget in words", chat, msg(`,"thinking_token_budget":"low"`), 400, "invalid_type", "thinking_token_budget"},
		{"budget of thinking", chat, msg(`,"thinking":{"type":"enabled","budget_tokens":1.5}`), 400, "invalid_type", "thinking.budget_tokens"},
		{"two budgets", chat, msg(`,"thinking":{"type":"enabled","budget_tokens":5},"thinking_budget":6`), 400, "invalid_value", "thinking_budget"},
		{"max_completion_tokens", chat, msg(`,"max_completion_tokens":0`), 400, "invalid_value", "max_completion_tokens"},
		{"frequency_penalty", chat, msg(`,"frequency_penalty":2.1`), 400, "invalid_value", "frequency_penalty"},
		{"presence_penalty", chat, msg(`,"presence_penalty":-3`), 400, "invalid_value", "presence_penalty"},
		{"logit_bias key", chat, msg(`,"logit_bias":{"x":1}`), 400, "invalid_value", "logit_bias"},
		{"logit_bias value", chat, msg(`,"logit_bias":{"7":101}`), 400, "invalid_value", "logit_bias.7"},
		{"top_logprobs", chat, msg(`,"logprobs":true,"top_logprobs":21`), 400, "invalid_value", "top_logprobs"},
		{"top_logprobs alone", chat, msg(`,"top_logprobs":2`), 400, "invalid_value", "top_logprobs"},
		{"stop empty", chat, msg(`,"stop":""`), 400, "invalid_value", "stop"},
		{"stop number", chat, msg(`,"stop":1`), 400, "invalid_type", "stop"},
		{"stop item", chat, msg(`,"stop":["a",2]`), 400, "invalid_type", "stop[1]"},
		{"stop many", chat, msg(`,"stop":[` + strings.Repeat(`"a",`, 16) + `"a"]`), 400, "invalid_value", "stop"},
		{"stop long", chat, msg(`,"stop":"` + strings.Repeat("a", 257) + `"`), 400, "invalid_value", "stop"},
		{"stream a string", chat, msg(`,"stream":"yes"`), 400, "invalid_type", "stream"},
		{"stream_options", chat, msg(`,"stream_options":{"include_usage":true}`), 400, "invalid_value", "stream_options"},
		{"include_usage", chat, msg(`,"stream":true,"stream_options":{"include_usage":1}`), 400, "invalid_type", "stream_options.include_usage"},
		{"truncation", chat, msg(`,"truncation":"yes"`), 400, "invalid_value", "truncation"},
		{"reasoning_effort", chat, msg(`,"reasoning_effort":"huge"`), 400, "invalid_value", "reasoning_effort"},
		{"continue", chat, msg(`,"continue_final_message":true`), 400, "invalid_value", "continue_final_message"},
		{"tool without function", chat, msg(`,"tools":[{"type":"function"}]`), 400, "missing_required_parameter", "tools[0].function"},
		{"tool without type", chat, msg(`,"tools":[{"function":{"name":"f"}}]`), 400, "missing_required_parameter", "tools[0].type"},
		{"other tool", chat, msg(`,"tools":[{"type":"web_search"}]`), 400, "unsupported_parameter", "tools[0].type"},
		{"tool without name", chat, msg(`,"tools":[{"type":"function","function":{}}]`), 400, "missing_required_parameter", "tools[0].function.name"},
		{"tool with a bad name", chat, msg(`,"tools":[{"type":"function","function":{"name":"get weather"}}]`), 400, "invalid_value", "tools[0].function.name"},
		{"tool with a long name", chat, msg(`,"tools":[{"type":"function","function":{"name":"` + strings.Repeat("f", 65) + `"}}]`), 400, "invalid_value", "tools[0].function.name"},
		{"tool twice", chat, msg(`,"tools":[` + tool("f") + `,` + tool("g") + `,` + tool("f") + `]`), 400, "invalid_value", "tools[2].function.name"},
		{"too many tools", chat, msg(`,"tools":[` + tools(129) + `]`), 400, "invalid_value", "tools"},
		{"parameters no schema", chat, msg(`,"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`), 400, "invalid_type", "tools[0].function.parameters"},
		{"parameters no object", chat, msg(`,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"string"}}}]`), 400, "invalid_value", "tools[0].function.parameters.type"},
		{"strict no bool", chat, msg(`,"tools":[{"type":"function","function":{"name":"f","strict":"yes"}}]`), 400, "invalid_type", "tools[0].function.strict"},
		{"parallel no bool", chat, msg(`,"parallel_tool_calls":1`), 400, "invalid_type", "parallel_tool_calls"},
		{"tool_choice without tools", chat, msg(`,"tool_choice":"required"`), 400, "invalid_value", "tool_choice"},
		{"tool_choice of no tool", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"function","function":{"name":"g"}}`), 400, "invalid_value", "tool_choice.function.name"},
		{"tool_choice without name", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"function","function":{}}`), 400, "missing_required_parameter", "tool_choice.function.name"},
		{"tool_choice of nothing", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"function"}`), 400, "missing_required_parameter", "tool_choice.function"},
		{"tool_choice of another type", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"custom"}`), 400, "invalid_value", "tool_choice.type"},
		{"allowed tools missing", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"allowed_tools"}`), 400, "missing_required_parameter", "tool_choice.allowed_tools"},
		{"allowed tools without mode", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[]}}`), 400, "missing_required_parameter", "tool_choice.allowed_tools.mode"},
		{"allowed tools none", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`), 400, "invalid_value", "tool_choice.allowed_tools.tools"},
		{"allowed tool unknown", chat, msg(`,"tools":[` + tool("f") + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + tool("g") + `]}}`), 400, "invalid_value", "tool_choice.allowed_tools.tools[0].function.name"},
		{"tool_choice bad", chat, msg(`,"tool_choice":"maybe"`), 400, "invalid_value", "tool_choice"},
		{"functions", chat, msg(`,"functions":[]`), 400, "unsupported_parameter", "functions"},
		{"function_call", chat, msg(`,"function_call":"auto"`), 400, "unsupported_parameter", "function_call"},
		{"no schema", chat, msg(`,"response_format":{"type":"json_schema","json_schema":{}}`), 400, "missing_required_parameter", "response_format.json_schema.schema"},
		{"no json_schema", chat, msg(`,"response_format":{"type":"json_schema"}`), 400, "missing_required_parameter", "response_format.json_schema"},
		{"null schema", text, `{"prompt":"a","response_format":{"type":"json_schema","json_schema":{"schema":null}}}`, 400, "missing_required_parameter", "response_format.json_schema.schema"},
		{"schema of a list", chat, msg(`,"json_schema":[1]`), 400, "invalid_type", "json_schema"},
		{"schema's name", chat, msg(`,"response_format":{"type":"json_schema","json_schema":{"name":1,"schema":{}}}`), 400, "invalid_type", "response_format.json_schema.name"},
		{"strict", chat, msg(`,"response_format":{"type":"json_schema","json_schema":{"strict":"yes","schema":{}}}`), 400, "invalid_type", "response_format.json_schema.strict"},
		{"response_format", chat, msg(`,"response_format":{"type":"yaml"}`), 400, "invalid_value", "response_format.type"},
		{"response_format of none", chat, msg(`,"response_format":{}`), 400, "missing_required_parameter", "response_format.type"},
		{"response_format as text", chat, msg(`,"response_format":"json"`), 400, "invalid_type", "response_format"},
		{"grammar", chat, msg(`,"grammar":7`), 400, "invalid_type", "grammar"},
		{"regex", chat, msg(`,"guided_regex":["a"]`), 400, "invalid_type", "guided_regex"},
		{"choice", chat, msg(`,"guided_choice":[]`), 400, "invalid_value", "guided_choice"},
		{"choices", chat, msg(`,"guided_choice":["a",1]`), 400, "invalid_type", "guided_choice[1]"},
		{"two forms", chat, msg(`,"grammar":"root ::= \"x\"","json_schema":{}`), 400, "invalid_value", "grammar"},
		{"two forms of text", text, `{"prompt":"a","response_format":{"type":"json_object"},"structured_outputs":{"regex":"a"}}`, 400, "invalid_value", "structured_outputs"},
		{"two structured outputs", chat, msg(`,"structured_outputs":{"regex":"a","choice":["b"]}`), 400, "invalid_value", "structured_outputs.choice"},
		{"no structured output", chat, msg(`,"structured_outputs":{"json_object":false}`), 400, "invalid_value", "structured_outputs"},
		{"structural_tag", chat, msg(`,"structured_outputs":{"structural_tag":"{}"}`), 400, "unsupported_parameter", "structured_outputs.structural_tag"},
		{"lazy grammar", chat, msg(`,"grammar":"root ::= \"x\"","grammar_lazy":true`), 400, "unsupported_parameter", "grammar_lazy"},
		{"refused by the model", chat, msg(`,"json_schema":{"wrong":1}`), 400, "invalid_schema", "json_schema/wrong"},
		{"refused in a stream", chat, msg(`,"stream":true,"response_format":{"type":"json_object","schema":{"wrong":1}}`), 400, "invalid_schema", "response_format.schema/wrong"},
		{"form ignored by the engine", chat, msg(`,"json_schema":{}`), 500, "engine_failure", ""},
		{"form ignored in a stream", chat, msg(`,"stream":true,"guided_choice":["a"]`), 500, "engine_failure", ""},
		{"form ignored in a completion", text, `{"prompt":["a","b"],"guided_json":"{}"}`, 500, "engine_failure", ""},
		{"modalities", chat, msg(`,"modalities":["text","audio"]`), 400, "unsupported_parameter", "modalities"},
		{"audio", chat, msg(`,"audio":{}`), 400, "unsupported_parameter", "audio"},
		{"stream fails early", chat, msg(`,"stream":true,"temperature":9`), 400, "invalid_value", "temperature"},
		{"stream of no model", chat, msg(`,"stream":true,"model":"nope"`), 404, "model_not_found", "model"},
		{"prompt too long", chat, conv(`{"role":"user","content":"` + strings.Repeat("a ", 9000) + `"}`), 400, "context_length_exceeded", "messages"},

		{"input too long", "/v1/responses", `{"input":"` + strings.Repeat("a ", 9000) + `"}`, 400, "context_length_exceeded", "input"},

		{"no prompt", text, `{}`, 400, "missing_required_parameter", "prompt"},
		{"prompt an object", text, `{"prompt":{}}`, 400, "invalid_type", "prompt"},
		{"prompt empty", text, `{"prompt":[]}`, 400, "invalid_value", "prompt"},
		{"prompt mixed", text, `{"prompt":["a",1]}`, 400, "invalid_type", "prompt[1]"},
		{"prompt mixed arrays", text, `{"prompt":[[1],"a"]}`, 400, "invalid_type", "prompt[1]"},
		{"prompt token text", text, `{"prompt":[1,"a"]}`, 400, "invalid_type", "prompt[1]"},
		{"prompt token negative", text, `{"prompt":[[1],[-1]]}`, 400, "invalid_value", "prompt[1][0]"},
		{"prompt no tokens", text, `{"prompt":[[]]}`, 400, "invalid_value", "prompt[0]"},
		{"too many prompts", text, `{"prompt":[` + strings.Repeat(`"a",`, 2048) + `"a"]}`, 400, "invalid_value", "prompt"},
		{"max_tokens 0 without echo", text, `{"prompt":"a","max_tokens":0}`, 400, "invalid_value", "max_tokens"},
		{"best_of below n", text, `{"prompt":"a","n":3,"best_of":2}`, 400, "invalid_value", "best_of"},
		{"best_of above max", text, `{"prompt":"a","best_of":17}`, 400, "invalid_value", "best_of"},
		{"best_of streamed", text, `{"prompt":"a","best_of":2,"stream":true}`, 400, "invalid_value", "best_of"},
		{"logprobs", text, `{"prompt":"a","logprobs":6}`, 400, "invalid_value", "logprobs"},
		{"logprobs a boolean", text, `{"prompt":"a","logprobs":true}`, 400, "invalid_type", "logprobs"},
		{"suffix", text, `{"prompt":"a","suffix":"b","model":"stub-base"}`, 400, "unsupported_parameter", "suffix"},
		{"suffix and echo", text, `{"prompt":"a","suffix":"b","echo":true}`, 400, "invalid_value", "echo"},
		{"suffix behind tokens", text, `{"prompt":[1,2],"suffix":"b","model":"stub-chat"}`, 400, "invalid_value", "prompt"},
		{"embedding model", text, `{"prompt":"a","model":"stub-embed"}`, 400, "model_not_supported", "model"},

		{"no input", embed, `{}`, 400, "missing_required_parameter", "input"},
		{"input empty", embed, `{"input":""}`, 400, "invalid_value", "input"},
		{"input no items", embed, `{"input":[]}`, 400, "invalid_value", "input"},
		{"input item empty", embed, `{"input":["a",""]}`, 400, "invalid_value", "input[1]"},
		{"input mixed", embed, `{"input":["a",[1]]}`, 400, "invalid_type", "input[1]"},
		{"input 2049", embed, `{"input":[` + strings.Repeat(`"a",`, 2048) + `"a"]}`, 400, "invalid_value", "input"},
		{"encoding_format", embed, `{"input":"a","encoding_format":"hex"}`, 400, "invalid_value", "encoding_format"},
		{"dimensions", embed, `{"input":"a","dimensions":0}`, 400, "invalid_value", "dimensions"},
		{"input_type", embed, `{"input":"a","input_type":"query"}`, 400, "unsupported_parameter", "input_type"},
		{"chat model", embed, `{"input":"a","model":"stub-chat"}`, 400, "model_not_supported", "model"},

		{"tokenize nothing", "/tokenize", `{}`, 400, "missing_required_parameter", "prompt"},
		{"detokenize nothing", "/v1/detokenize", `{}`, 400, "missing_required_parameter", "tokens"},
		{"detokenize text", "/detokenize", `{"tokens":"x"}`, 400, "invalid_type", "tokens"},
		{"load nothing", "/v1/models/load", `{}`, 400, "missing_required_parameter", "model"},
		{"unload nothing", "/v1/models/unload", `{}`, 400, "missing_required_parameter", "model"},
		{"unload unknown", "/v1/models/unload", `{"model":"x"}`, 404, "model_not_found", "model"},
		{"load unknown", "/v1/models/load", `{"model":"x"}`, 404, "model_not_found", "model"},
		{"unknown path", "/v1/nope", `{}`, 404, "unknown_url", ""},
		{"unknown root path", "/nope", `{}`, 404, "unknown_url", ""},
		{"wrong method", "/health", `{}`, 405, "method_not_allowed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantFailure(t, post(t, s, tt.path, tt.body), tt.status, tt.code, tt.param)
		})
	}
}

func TestMessagesNameBothNumbers(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct{ field, value, want string }{
		{"temperature", "3", "temperature must be between 0 and 2, got 3"},
		{"top_k", "-2", "top_k must be at least -1, got -2"},
		{"top_k", "4000000000", "top_k must be between -1 and 2147483647, got 4000000000"},
	} {
		got := wantFailure(t, post(t, s, "/v1/chat/completions", `{`+userX+`,"`+tt.field+`":`+tt.value+`}`), 400, "invalid_value", tt.field)
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestAccepted(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct{ name, path, body string }{
		{"nulls", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x","name":null}],"model":null,"temperature":null,"top_p":null,"stop":null,"tools":null,"response_format":null,"stream":null,"n":null,"seed":null,"max_tokens":4,"logit_bias":null,"user":null,"stream_options":null,"tool_choice":null,"functions":null,"grammar":null,"json_schema":null,"guided_choice":null,"structured_outputs":null,"audio":null,"modalities":null,"reasoning_effort":null}`},
		{"unknown fields", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x","cache_control":{}}],"from_the_future":[1,{"a":2}]}`},
		{"duplicate keys", "/v1/chat/completions", `{"temperature":9,"messages":[{"role":"user","content":"x"}],"temperature":1}`},
		{"BOM", "/v1/chat/completions", "\xef\xbb\xbf" + `{"messages":[{"role":"user","content":"x"}]}`},
		{"no limit", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"max_tokens":-1}`},
		{"whole float", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"max_tokens":4.0}`},
		{"without prefix", "/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`},
		{"trailing slash", "/v1/chat/completions/", `{"messages":[{"role":"user","content":"x"}]}`},
		{"tools not to be used", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}],"tool_choice":"none"}`},
		{"no tools", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tools":[],"tool_choice":"auto"}`},
		{"no form", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"text"},"grammar":"","grammar_lazy":false,"grammar_triggers":[],"guided_decoding_backend":"auto"}`},
		{"text format", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"text"},"modalities":["text"]}`},
		{"earlier calls", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"21"}]}]}`},
		{"a result of nothing", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":[]}]}`},
		{"results without their calls at the beginning", "/v1/chat/completions", `{"messages":[{"role":"system","content":"x"},{"role":"tool","tool_call_id":"a","content":"21"},{"role":"user","content":"x"}]}`},
		{"calls without results", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}]}`},
		{"calls without ids", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"21"}]}`},
		{"tokens of nothing", "/v1/detokenize", `{"tokens":[]}`},
		{"function role", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"21"}]}`},
		{"null prompt", "/v1/completions", `{"prompt":null}`},
		{"empty suffix", "/v1/completions", `{"prompt":"a","suffix":"","model":"stub-base"}`},
		{"completions bare", "/completions", `{"prompt":["a","b"],"stop":[]}`},
		{"embeddings bare", "/embeddings", `{"input":[1,2,3]}`},
		{"embeddings by capability", "/v1/embeddings", `{"input":"a","model":"stub-base"}`},
		{"tokenize", "/v1/tokenize", `{"content":"a b"}`},
		{"load", "/v1/models/load", `{"model":"stub-chat"}`},
		{"unload", "/v1/models/unload", `{"model":"stub-chat"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := post(t, s, tt.path, tt.body)
			if b, _ := io.ReadAll(r.Body); r.StatusCode != 200 {
				t.Errorf("got %d %s", r.StatusCode, b)
			}
		})
	}
}

// A body of many small items must not cost many times its size.
func TestManyItems(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f, JSONBody: 8 << 20})
	ids := strings.Repeat("7,", 2<<18) + "8"
	post(t, s, "/v1/embeddings", `{"input":[`+ids+`]}`)
	if n := len(f.seen.Load().Inputs[0].Tokens); n != 2<<18+1 {
		t.Errorf("%d tokens", n)
	}
	wantFailure(t, post(t, s, "/v1/completions", `{"prompt":[[`+ids+`,"x"]]}`), 400, "invalid_type", "prompt[0][524289]")
	wantFailure(t, post(t, s, "/v1/completions", `{"prompt":[`+strings.Repeat(`"",`, 1<<20)+`"x"]}`), 400, "invalid_value", "prompt")
}

func TestAwkwardArrays(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	post(t, s, "/v1/embeddings", `{"input" : [ "a]\\", "\"[,{" , "x\ty" ] }`)
	var got []string
	for _, in := range f.seen.Load().Inputs {
		got = append(got, in.Text)
	}
	if want := "a]\\|\"[,{|x\ty"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	post(t, s, "/v1/embeddings", `{"input":[ [ 1 , 2 ] , [3] ]}`)
	if in := f.seen.Load().Inputs; len(in) != 2 || len(in[0].Tokens) != 2 || in[1].Tokens[0] != 3 {
		t.Errorf("got %+v", in)
	}
}
