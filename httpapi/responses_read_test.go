package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

const flatTools = `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}},{"type":"function","name":"get_time","strict":true}]`

// TestBadResponses: what cannot be done, or makes no sense, is refused by name.
func TestBadResponses(t *testing.T) {
	s := newServer(t, httpapi.Options{Responses: httpapi.Responses{OwnTools: true}})
	labels := map[string]string{}
	for i := range 17 {
		labels[fmt.Sprint(i)] = "x"
	}
	tool := func(kind string) string { return `"input":"x","tools":[{"type":"` + kind + `","name":"t"}]` }
	for _, tt := range []struct{ members, code, param string }{
		{`"model":"` + chatModel + `"`, "missing_required_parameter", "input"},
		{`"input":null`, "missing_required_parameter", "input"},
		{`"input":[]`, "invalid_value", "input"},
		{`"input":1`, "invalid_type", "input"},
		{`"input":["x"]`, "invalid_type", "input[0]"},
		{`"input":[{}]`, "missing_required_parameter", "input[0].role"},
		{`"input":[{"role":"user"}]`, "missing_required_parameter", "input[0].content"},
		{`"input":[{"role":"tool","content":"x"}]`, "invalid_value", "input[0].role"},
		{`"input":[{"role":"user","content":1}]`, "invalid_type", "input[0].content"},
		{`"input":[{"role":"user","content":[]}]`, "invalid_value", "input[0].content"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]`, "unsupported_content", "input[0].content[0]"},
		{`"input":[{"role":"user","content":[{"type":"input_file","file_id":"x"}]}]`, "unsupported_content", "input[0].content[0]"},
		{`"input":[{"role":"user","content":[{"type":"refusal","refusal":"x"}]}]`, "invalid_value", "input[0].content[0].type"},
		{`"input":[{"role":"user","content":[{"type":"input_text"}]}]`, "missing_required_parameter", "input[0].content[0].text"},
		{`"input":[{"type":"web_search_call","id":"ws_1","status":"completed"}]`, "unsupported_content", "input[0].type"},
		{`"input":[{"type":"custom_tool_call","call_id":"c","name":"n","input":"x"}]`, "unsupported_content", "input[0].type"},
		{`"input":[{"type":"mcp_list_tools"}]`, "unsupported_content", "input[0].type"},
		{`"input":[{"type":"function_call","name":"f","arguments":"{}"}]`, "missing_required_parameter", "input[0].call_id"},
		{`"input":[{"type":"function_call","call_id":"c","arguments":"{}"}]`, "missing_required_parameter", "input[0].name"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f"}]`, "missing_required_parameter", "input[0].arguments"},
		{`"input":[{"type":"function_call_output","call_id":"c"}]`, "missing_required_parameter", "input[0].output"},
		{`"input":[{"type":"function_call_output","call_id":"c","output":1}]`, "invalid_type", "input[0].output"},
		{`"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image"}]}]`, "unsupported_content", "input[0].output[0]"},
		{`"input":[{"type":"function_call_output","call_id":"c","output":"1"}]`, "invalid_value", "input[0].call_id"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"d","output":"1"}]`, "invalid_value", "input[1].call_id"},
		{`"input":[{"type":"function_call_output","call_id":"c","output":"1"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`, "invalid_value", "input[0].call_id"},
		{`"input":[{"role":"user","content":"x","id":"` + strings.Repeat("x", 129) + `"}]`, "string_above_max_length", "input[0].id"},
		{`"input":[{"role":"user","content":"x","status":"done"}]`, "invalid_value", "input[0].status"},
		{`"input":[{"type":"reasoning","id":"rs_1","summary":[]}]`, "invalid_value", "input"},
		{`"input":"x","instructions":1`, "invalid_type", "instructions"},
		{`"input":"x","conversation":"conv_1"`, "unsupported_parameter", "conversation"},
		{`"input":"x","conversation":{"id":"conv_1"}`, "unsupported_parameter", "conversation"},
		{`"input":"x","prompt":{"id":"pmpt_1"}`, "unsupported_parameter", "prompt"},
		{`"input":"x","context_management":[{"type":"compaction"}]`, "unsupported_parameter", "context_management"},
		{`"input":"x","moderation":{"model":"m"}`, "unsupported_parameter", "moderation"},
		{`"input":"x","n_predict":5`, "unsupported_parameter", "n_predict"},
		{`"input":"x","stop_sequences":["a"]`, "unsupported_parameter", "stop_sequences"},
		{`"input":"x","guided_choice":["a"]`, "unsupported_parameter", "guided_choice"},
		{`"input":"x","include_reasoning":false`, "unsupported_parameter", "include_reasoning"},
		{`"input":"x","reasoning_format":"none"`, "unsupported_parameter", "reasoning_format"},
		{`"input":"x","reasoning":{"exclude":true}`, "unsupported_parameter", "reasoning.exclude"},
		{`"input":"x","thinking_budget":1,"reasoning":{"max_tokens":2}`, "invalid_value", "thinking_budget"},
		{`"input":"x","background":true,"store":false`, "unsupported_parameter", "background"},
		{`"input":"x","background":"yes"`, "invalid_type", "background"},
		{`"input":"x","include":["everything"]`, "invalid_value", "include[0]"},
		{`"input":"x","include":"x"`, "invalid_type", "include"},
		{`"input":"x","truncation":"some"`, "invalid_value", "truncation"},
		{`"input":"x","max_output_tokens":0`, "invalid_value", "max_output_tokens"},
		{`"input":"x","max_tool_calls":0`, "invalid_value", "max_tool_calls"},
		{`"input":"x","top_logprobs":21`, "invalid_value", "top_logprobs"},
		{`"input":"x","temperature":3`, "invalid_value", "temperature"},
		{`"input":"x","reasoning":{"effort":"huge"}`, "invalid_value", "reasoning.effort"},
		{`"input":"x","reasoning":{"summary":"long"}`, "invalid_value", "reasoning.summary"},
		{`"input":"x","text":{"format":{}}`, "missing_required_parameter", "text.format.type"},
		{`"input":"x","text":{"format":{"type":"xml"}}`, "invalid_value", "text.format.type"},
		{`"input":"x","text":{"format":{"type":"json_schema","name":"n"}}`, "missing_required_parameter", "text.format.schema"},
		{`"input":"x","text":{"format":{"type":"json_schema","schema":{}}}`, "missing_required_parameter", "text.format.name"},
		{`"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{"wrong":1}}}`, "invalid_schema", "text.format.schema/wrong"},
		{`"input":"x","text":{"verbosity":"none"}`, "invalid_value", "text.verbosity"},
		{`"input":"x","metadata":{"a":1}`, "invalid_type", "metadata.a"},
		{`"input":"x","metadata":[]`, "invalid_type", "metadata"},
		{`"input":"x","metadata":` + jsonOf(labels), "invalid_value", "metadata"},
		{`"input":"x","metadata":{"` + strings.Repeat("é", 65) + `":"x"}`, "invalid_value", "metadata"},
		{`"input":"x","metadata":{"a":"` + strings.Repeat("é", 513) + `"}`, "invalid_value", "metadata.a"},
		{`"input":"x","safety_identifier":"` + strings.Repeat("x", 65) + `"`, "invalid_value", "safety_identifier"},
		{`"input":"x","service_tier":"best"`, "invalid_value", "service_tier"},
		{tool("web_search"), "unsupported_parameter", "tools[0].type"},
		{tool("web_search_preview"), "unsupported_parameter", "tools[0].type"},
		{tool("file_search"), "unsupported_parameter", "tools[0].type"},
		{tool("code_interpreter"), "unsupported_parameter", "tools[0].type"},
		{tool("image_generation"), "unsupported_parameter", "tools[0].type"},
		{tool("computer_use_preview"), "unsupported_parameter", "tools[0].type"},
		{tool("mcp"), "unsupported_parameter", "tools[0].type"},
		{tool("custom"), "unsupported_parameter", "tools[0].type"},
		{tool("local_shell"), "unsupported_parameter", "tools[0].type"},
		{tool("namespace"), "unsupported_parameter", "tools[0].type"},
		{`"input":"x","tools":[{"name":"t"}]`, "missing_required_parameter", "tools[0].type"},
		{`"input":"x","tools":[{"type":"function"}]`, "missing_required_parameter", "tools[0].name"},
		{`"input":"x","tools":[{"type":"function","function":{"name":"t"}}]`, "missing_required_parameter", "tools[0].name"},
		{`"input":"x","tools":[{"type":"function","name":"a b"}]`, "invalid_value", "tools[0].name"},
		{`"input":"x","tools":[{"type":"function","name":"a"},{"type":"function","name":"a"}]`, "invalid_value", "tools[1].name"},
		{`"input":"x","tools":[{"type":"function","name":"a","parameters":{"type":"string"}}]`, "invalid_value", "tools[0].parameters.type"},
		{`"input":"x","tool_choice":"required"`, "invalid_value", "tool_choice"},
		{`"input":"x",` + flatTools + `,"tool_choice":"any"`, "invalid_value", "tool_choice"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"web_search"}`, "unsupported_parameter", "tool_choice.type"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"function"}`, "missing_required_parameter", "tool_choice.name"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"function","name":"no"}`, "invalid_value", "tool_choice.name"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"allowed_tools","tools":[]}`, "missing_required_parameter", "tool_choice.mode"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, "invalid_value", "tool_choice.tools"},
		{`"input":"x",` + flatTools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","name":"get_time"}]}`, "unsupported_parameter", "tool_choice.tools[0].type"},
	} {
		r := ask(t, s, "POST", "/v1/responses", "{"+tt.members+"}")
		if r.StatusCode == 200 {
			t.Errorf("%s is taken", tt.members)
			continue
		}
		wantFailure(t, r, 400, tt.code, tt.param)
	}
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","model":"no"}`), 404, "model_not_found", "model")
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","model":"no","background":true}`), 404, "model_not_found", "model")
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"resp_no"}`), 404, "previous_response_not_found", "previous_response_id")
	wantFailure(t, ask(t, s, "POST", "/v1/responses/compact", `{}`), 501, "not_implemented", "")
	wantFailure(t, ask(t, s, "POST", "/v1/responses/resp_1", `{}`), 404, "unknown_url", "")
}

// TestResponsesToEngine: a request's fields are passed to the engine, and are in the response.
func TestResponsesToEngine(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	asked := func(members string) *engine.GenerateRequest {
		t.Helper()
		if r := ask(t, s, "POST", "/v1/responses", `{"input":"x",`+members+`}`); r.StatusCode != 200 {
			b, _ := io.ReadAll(r.Body)
			t.Fatalf("%s: %d %s", members, r.StatusCode, b)
		}
		return f.last.Load()
	}
	for members, want := range map[string]string{
		flatTools: "2 {false [] false}",
		flatTools + `,"tool_choice":"auto","parallel_tool_calls":false`:                                                     "2 {false [] true}",
		flatTools + `,"tool_choice":"none"`:                                                                                 "0 {false [] false}",
		flatTools + `,"tool_choice":"required"`:                                                                             "2 {true [] false}",
		flatTools + `,"tool_choice":{"type":"function","name":"get_time"}`:                                                  "2 {true [get_time] false}",
		flatTools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"get_time"}]}`: "2 {false [get_time] false}",
		flatTools + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"get_time"},{"type":"function","name":"get_weather"}]}`: "2 {true [get_time get_weather] false}",
		`"tools":[],"tool_choice":"auto"`: "0 {false [] false}",
	} {
		r := asked(members)
		if got := fmt.Sprint(len(r.Prompt.Tools), " ", r.ToolChoice); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
	r := asked(flatTools)
	if got := string(r.Prompt.Tools[1].Raw); got != `{"type":"function","function":{"name":"get_time","strict":true}}` {
		t.Errorf("a tool is %s", got)
	}
	r = asked(`"temperature":0.5,"top_p":0.25,"top_k":7,"seed":11,"max_output_tokens":9,"stop":["a"],"truncation":"auto","presence_penalty":1`)
	if p := r.Sample; p.Temperature != 0.5 || p.TopP != 0.25 || p.TopK != 7 || p.Seed != 11 || p.PresencePenalty != 1 || r.MaxTokens != 9 || len(r.Stop) != 1 || !r.Prompt.AutoShorten || r.N != 1 {
		t.Errorf("%+v", r)
	}
	if r = asked(`"reasoning":{"effort":"low","summary":"auto"}`); string(r.Prompt.Kwargs["reasoning_effort"]) != `"low"` {
		t.Errorf("%s", r.Prompt.Kwargs)
	}
	for _, off := range []string{`"thinking":{"type":"disabled"}`, `"enable_thinking":false`, `"reasoning":{"enabled":false}`, `"thinking_budget":0`, `"reasoning":{"max_tokens":0}`} {
		if r = asked(off); string(r.Prompt.Kwargs["enable_thinking"]) != "false" {
			t.Errorf("%s: %s", off, r.Prompt.Kwargs)
		}
	}
	for _, bound := range []string{`"reasoning_budget":3`, `"thinking":{"type":"enabled","budget_tokens":3}`, `"reasoning":{"max_tokens":3,"exclude":false}`, `"thinking_token_budget":3,"include_reasoning":true`} {
		if r = asked(bound); r.ReasoningBudget == nil || r.ReasoningBudget.Tokens != 3 {
			t.Errorf("%s: %+v", bound, r.ReasoningBudget)
		}
	}
	if r = asked(`"samplers":["top_k"],"top_k":5,"min_p":0.5`); r.Sample.TopK != 5 || r.Sample.MinP != 0 {
		t.Errorf("%+v", r.Sample)
	}
	if r = asked(`"reasoning":{"effort":"none"}`); string(r.Prompt.Kwargs["enable_thinking"]) != "false" {
		t.Errorf("%s", r.Prompt.Kwargs)
	}
	if r = asked(`"include":["message.output_text.logprobs"],"top_logprobs":3`); !r.Sample.Logprobs || r.Sample.Top != 3 {
		t.Errorf("%+v", r.Sample)
	}
	bound := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		held := admitted
		held.Constrained = true
		_ = yield(held, nil) && yield(delta("{}"), nil) && yield(finish, nil) && yield(done, nil)
	})
	s = newServer(t, httpapi.Options{Engine: bound})
	for format, want := range map[string]string{
		`{"type":"json_object"}`: "{json_object  [] false text.format}",
		`{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}`: `{json_schema {"type":"object"} [] true text.format.schema}`,
	} {
		got := decoded[struct {
			Text struct{ Format json.RawMessage }
		}](t, ask(t, s, "POST", "/v1/responses", `{"input":"x","text":{"format":`+format+`}}`))
		if k := bound.last.Load().Constraint; k == nil || fmt.Sprint(*k) != want {
			t.Errorf("%s: %v, want %s", format, k, want)
		}
		if string(got.Text.Format) != format {
			t.Errorf("told %s of %s", got.Text.Format, format)
		}
	}
}

// TestOtherTools: tools that OpenAI runs are left out, with a warning.
func TestOtherTools(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f, Responses: httpapi.Responses{}})
	r := ask(t, s, "POST", "/v1/responses", `{"input":"x","tools":[{"type":"web_search"},{"type":"function","name":"get_time"}]}`)
	if r.StatusCode != 200 || len(f.last.Load().Prompt.Tools) != 1 || !strings.Contains(r.Header.Get("x-quern-warning"), "web_search") {
		t.Errorf("%d, %d tools, warning %q", r.StatusCode, len(f.last.Load().Prompt.Tools), r.Header.Get("x-quern-warning"))
	}
}

// TestLogprobsOfResponses: log-probabilities come with the text they belong to.
func TestLogprobsOfResponses(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const body = `{"input":"x","include":["message.output_text.logprobs"],"top_logprobs":2,"max_output_tokens":5`
	whole := decoded[responseOf](t, ask(t, s, "POST", "/v1/responses", body+"}"))
	var text string
	for _, raw := range whole.Output[0].Content[0].Logprobs {
		var l struct {
			Token string
			Top   []any `json:"top_logprobs"`
		}
		if err := json.Unmarshal(raw, &l); err != nil || len(l.Top) != 2 {
			t.Errorf("%s: %v", raw, err)
		}
		text += l.Token
	}
	if want := whole.Output[0].Content[0].Text; text != want || want == "" {
		t.Errorf("of %q, want %q", text, want)
	}
	var pieces []any
	for _, e := range sentEvents(t, ask(t, s, "POST", "/v1/responses", body+`,"stream":true}`).Body) {
		switch e.name {
		case "response.output_text.delta":
			pieces = append(pieces, e.data["logprobs"].([]any)...)
		case "response.output_text.done":
			if jsonOf(e.data["logprobs"]) != jsonOf(pieces) || len(pieces) != 5 {
				t.Errorf("%d pieces, and in all %v", len(pieces), e.data["logprobs"])
			}
		}
	}
}

// TestLogprobsBesideItems: a request for log-probabilities gets the same items, and those of the
// text spell it.
func TestLogprobsBesideItems(t *testing.T) {
	s := newThinking(t, httpapi.Options{ReasoningBudgets: map[string]int{"low": 9}}, engine.ModelOptions{})
	const ping = `"tools":[{"type":"function","name":"ping","parameters":{"type":"object","properties":{"a":{"enum":["one","two"]}},"required":["a"],"additionalProperties":false}}],"tool_choice":"required","parallel_tool_calls":false`
	for _, tt := range []struct{ members, kinds string }{
		{`"reasoning":{"effort":"none"},"max_output_tokens":12`, "message"},
		{`"reasoning":{"effort":"low"},"max_output_tokens":60,"text":{"format":{"type":"json_schema","name":"n","schema":{"enum":["so it is"]}}}`, "reasoning message"},
		{`"reasoning":{"effort":"low"},"max_output_tokens":200,` + ping, "reasoning function_call"},
	} {
		body := `"input":"Where is Paris?","seed":7,"temperature":0,` + tt.members
		const logprobs = `,"include":["message.output_text.logprobs"],"top_logprobs":1`
		spell := func(r responseOf) (items, spelled string) {
			for _, it := range r.Output {
				items += it.Type + " " + it.Status + " " + it.Arguments
				for _, p := range it.Content {
					items += p.Text
					for _, raw := range p.Logprobs {
						var l struct{ Token string }
						if err := json.Unmarshal(raw, &l); err != nil {
							t.Fatal(err)
						}
						spelled += l.Token
					}
				}
				items += "|"
			}
			return items, spelled
		}
		kinds, text := "", ""
		plain := respond(t, s, body)
		for _, it := range plain.Output {
			if kinds += " " + it.Type; it.Type == "message" {
				text += it.Content[0].Text
			}
		}
		want, _ := spell(plain)
		if kinds != " "+tt.kinds {
			t.Errorf("%s: %s", tt.members, want)
		}
		events := sentEvents(t, ask(t, s, "POST", "/v1/responses", "{"+body+logprobs+`,"stream":true}`).Body)
		var last struct{ Response responseOf }
		if err := json.Unmarshal([]byte(jsonOf(events[len(events)-1].data)), &last); err != nil {
			t.Fatal(err)
		}
		for how, r := range map[string]responseOf{"plain": respond(t, s, body+logprobs), "streamed": last.Response} {
			if got, spelled := spell(r); got != want || spelled != text {
				t.Errorf("%s, %s: %s, want %s; the log-probabilities are of %q, want %q", tt.members, how, got, want, spelled, text)
			}
		}
	}
}

// TestEarlyLogprobs: log-probabilities that come before their words begin no item.
func TestEarlyLogprobs(t *testing.T) {
	f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		for _, e := range []engine.Event{
			admitted,
			{Type: engine.Delta, Logprobs: []engine.Logprob{{Bytes: []byte("hm"), Aside: true}, {Bytes: []byte("so")}}},
			{Type: engine.ReasoningDelta, Text: "hm"}, {Type: engine.Delta, Text: "so", Logprobs: []engine.Logprob{{Bytes: []byte(" it")}}}, delta(" it"),
			{Type: engine.Delta, Logprobs: []engine.Logprob{{Bytes: []byte("{}"), Aside: true}}},
			{Type: engine.CallStart, CallID: "c1", Name: "f"}, {Type: engine.CallDelta, Text: `{}`}, {Type: engine.CallEnd},
			{Type: engine.Finish, Reason: engine.ReasonCalls}, done,
		} {
			if !yield(e, nil) {
				return
			}
		}
	})
	s := newServer(t, httpapi.Options{Engine: f})
	r := respond(t, s, `"input":"x","include":["message.output_text.logprobs"]`)
	if len(r.Output) != 3 || r.Output[0].Type != "reasoning" || r.Output[1].Content[0].Text != "so it" || len(r.Output[1].Content[0].Logprobs) != 2 || r.Output[2].Arguments != "{}" || r.Output[2].Status != "completed" {
		t.Errorf("%+v", r)
	}
}

// TestBrokenCall: a call that went wrong is incomplete, whatever follows it, and its arguments
// are never told to be whole.
func TestBrokenCall(t *testing.T) {
	f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		for _, e := range []engine.Event{
			admitted,
			{Type: engine.CallStart, CallID: "c1", Name: "f"}, {Type: engine.CallDelta, Text: `{"a":`},
			{Type: engine.CallStart, Call: 1, CallID: "c2", Name: "g"}, {Type: engine.CallDelta, Call: 1, Text: `{}`}, {Type: engine.CallEnd, Call: 1},
			{Type: engine.CallStart, Call: 2, CallID: "c3", Name: "h"}, {Type: engine.CallDelta, Call: 2, Text: `{"b"`},
			delta("words"), {Type: engine.Finish, Reason: engine.ReasonCalls}, done,
		} {
			if !yield(e, nil) {
				return
			}
		}
	})
	s := newServer(t, httpapi.Options{Engine: f})
	r := respond(t, s, `"input":"x"`)
	got := r.Status
	for _, it := range r.Output {
		got += " " + it.Name + it.Status
	}
	if want := "completed fincomplete gcompleted hincomplete completed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, e := range sentEvents(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","stream":true}`).Body) {
		if e.name == "response.function_call_arguments.done" && e.data["name"] != "g" {
			t.Errorf("told to be whole: %v", e.data)
		}
	}
}

// TestCountInput: the tokens of a request are counted without a reply.
func TestCountInput(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	got := decoded[map[string]any](t, ask(t, s, "POST", "/v1/responses/input_tokens", `{"input":"one two three"}`))
	if got["object"] != "response.input_tokens" || got["input_tokens"].(float64) < 3 || f.last.Load() != nil {
		t.Errorf("%v", got)
	}
	wantFailure(t, ask(t, s, "POST", "/v1/responses/input_tokens", `{}`), 400, "missing_required_parameter", "input")
}

// FuzzResponses: no body makes the decoder fail otherwise than with a failure, nor lets
// anything past that the engine must not see.
func FuzzResponses(f *testing.F) {
	for _, seed := range []string{
		`{"input":"x"}`, `{"input":[{"role":"user","content":"x"}],"instructions":"y","stream":true}`,
		`{"input":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}],"id":"msg_1"}]}`,
		`{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"o"}]}]}`,
		`{"input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"quern1.aG0"},{"id":"msg_1"},{"type":"item_reference","id":"x"}]}`,
		`{"input":"x",` + flatTools + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"get_time"}]},"parallel_tool_calls":false}`,
		`{"input":"x","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true},"verbosity":"low"}}`,
		`{"input":"x","previous_response_id":"resp_1"}`, `{"input":"x","store":false,"include":["reasoning.encrypted_content","message.output_text.logprobs"],"top_logprobs":3}`,
		`{"input":"x","metadata":{"a":"b"},"reasoning":{"effort":"high","summary":"auto"},"truncation":"auto","max_output_tokens":16,"max_tool_calls":1,"service_tier":"flex","user":"u","safety_identifier":"s","prompt_cache_key":"p"}`,
		`{"input":"x","temperature":0.5,"top_p":1,"top_k":3,"seed":-1,"stop":"a","logit_bias":{"1":1}}`, `{"input":[]}`, `{}`, `null`, "\xff",
	} {
		f.Add(seed)
	}
	var got engine.GenerateRequest
	e := &fake{generate: func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		got = r
		held := admitted
		held.Constrained = true
		_ = yield(held, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
	}}
	a := newAPI(f, httpapi.Options{Engine: e, Responses: httpapi.Responses{Count: 20}})
	var previous string
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, `"background"`) {
			t.Skip() // it is not over when it is answered
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/responses", strings.NewReader(strings.ReplaceAll(body, "resp_1", previous))))
		switch {
		case w.Code == 200:
			if len(got.Prompt.Messages) == 0 || got.N != 1 || got.MaxTokens < 0 {
				t.Errorf("accepted: %+v", got)
			}
			for _, m := range got.Prompt.Messages {
				if m.Role == "" {
					t.Errorf("message without a role: %+v", m)
				}
			}
			if bytes.HasPrefix(w.Body.Bytes(), []byte("event: ")) {
				return
			}
			var r struct{ ID string }
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || r.ID == "" {
				t.Errorf("%s: %v", w.Body, err)
			}
			previous = r.ID
			// What was stored can be listed.
			list := httptest.NewRecorder()
			a.ServeHTTP(list, httptest.NewRequest("GET", "http://localhost/v1/responses/"+r.ID+"/input_items", nil))
			if list.Code == 200 && !json.Valid(list.Body.Bytes()) || list.Code != 200 && list.Code != 404 {
				t.Errorf("listed: %d %s", list.Code, list.Body)
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
