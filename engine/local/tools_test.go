package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/chat"
	"quern/engine/wire"
)

// toolTemplate shows tools, calls as Hermes does, and thinking where it is asked for.
const toolTemplate = `{% if tools %}<|im_start|>system
<tools>{% for t in tools %}{{ t | tojson }}
{% endfor %}</tools>
Write calls as <tool_call>
{"name": …, "arguments": …}
</tool_call><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>
{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking %}<think>
{% endif %}{% endif %}`

func functionTool(name, schema string, strict bool) chat.Tool {
	return chat.Tool{Raw: json.RawMessage(fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"d","parameters":%s,"strict":%t}}`, name, schema, strict))}
}

// answered collects the events of a generation with one sequence.
type answered struct {
	text, thinking string
	calls          []string // name and arguments of the whole ones
	finish, done   engine.Event
}

func converse(t *testing.T, e *Engine, r engine.GenerateRequest) (a answered, err error) {
	t.Helper()
	call := ""
	for ev, err := range e.Generate(t.Context(), "", r) {
		if err != nil {
			return a, err
		}
		switch ev.Type {
		case engine.Delta:
			a.text += ev.Text
		case engine.ReasoningDelta:
			a.thinking += ev.Text
		case engine.CallStart:
			if ev.CallID == "" || ev.Call != len(a.calls) {
				t.Errorf("call %d begins with id %q after %d", ev.Call, ev.CallID, len(a.calls))
			}
			call = ev.Name + " "
		case engine.CallDelta:
			call += ev.Text
		case engine.CallEnd:
			a.calls = append(a.calls, call)
		case engine.Finish:
			a.finish = ev
		case engine.Done:
			a.done = ev
		}
	}
	return a, nil
}

// What a request demands of calls holds, whatever the model would rather write.
func TestToolChoices(t *testing.T) {
	e := open(t, engine.Options{Defaulted: engine.ModelOptions{ChatTemplate: toolTemplate}})
	weather := functionTool("get_weather", `{"type":"object","properties":{"city":{"enum":["Oslo","Paris"]}},"required":["city"],"additionalProperties":false}`, true)
	clock := functionTool("get_time", `{"type":"object","properties":{"zone":{"const":"UTC"}},"required":["zone"],"additionalProperties":false}`, false)
	oneCall := regexp.MustCompile(`^(get_weather \{ ?"city": ?"(Oslo|Paris)" ?\}|get_time \{ ?"zone": ?"UTC" ?\})$`)
	for _, tt := range []struct {
		name   string
		choice engine.ToolChoice
		calls  func(calls []string) bool
	}{
		{"required", engine.ToolChoice{Required: true}, func(c []string) bool { return len(c) > 0 }},
		{"required, one", engine.ToolChoice{Required: true, One: true}, func(c []string) bool { return len(c) == 1 }},
		{"named", engine.ToolChoice{Required: true, Names: []string{"get_time"}, One: true}, func(c []string) bool { return len(c) == 1 && strings.HasPrefix(c[0], "get_time") }},
		{"allowed", engine.ToolChoice{Required: true, Names: []string{"get_weather"}}, func(c []string) bool {
			return len(c) > 0 && !slices.ContainsFunc(c, func(s string) bool { return strings.HasPrefix(s, "get_time") })
		}},
		{"auto", engine.ToolChoice{}, func([]string) bool { return true }},
	} {
		for seed := range uint64(4) {
			r := engine.GenerateRequest{Prompt: user("What is the weather in Paris?"), ToolChoice: tt.choice, MaxTokens: 400}
			r.Prompt.Tools = []chat.Tool{weather, clock}
			r.Sample.Temperature, r.Sample.Seed = 1.5, seed
			r.Prompt.Kwargs = map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")}
			a, err := converse(t, e, r)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if a.finish.Reason == engine.ReasonLength && len(a.calls) > 0 {
				continue // it went on calling
			}
			for _, c := range a.calls {
				var compact = strings.NewReplacer("\n", "", "  ", "").Replace(c)
				if !oneCall.MatchString(compact) {
					t.Errorf("%s, seed %d: called %q", tt.name, seed, c)
				}
			}
			if !tt.calls(a.calls) || len(a.calls) > 0 != (a.finish.Reason == engine.ReasonCalls) {
				t.Errorf("%s, seed %d: %q, calls %q, finish %s", tt.name, seed, a.text, a.calls, a.finish.Reason)
			}
		}
	}
}

// What cannot be enforced is refused where it was demanded, and let pass where the choice
// is the model's.
func TestToolsRefused(t *testing.T) {
	bad := functionTool("f", `{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`, false)
	odd := `{"type":"object","properties":{"a":{"type":"string","format":"odd"}}}`
	for _, tt := range []struct {
		name    string
		options engine.ModelOptions
		tool    chat.Tool
		choice  engine.ToolChoice
		code    engine.Code // "" when it passes
		param   string
	}{
		{"schema, auto", engine.ModelOptions{ChatTemplate: toolTemplate}, bad, engine.ToolChoice{}, "", ""},
		{"schema, required", engine.ModelOptions{ChatTemplate: toolTemplate}, bad, engine.ToolChoice{Required: true}, engine.CodeInvalidSchema, "tools[0].function.parameters/properties/a/$ref"},
		{"unknown format", engine.ModelOptions{ChatTemplate: toolTemplate}, functionTool("f", odd, false), engine.ToolChoice{Required: true}, "", ""},
		{"unknown format, strict", engine.ModelOptions{ChatTemplate: toolTemplate}, functionTool("f", odd, true), engine.ToolChoice{}, engine.CodeInvalidSchema, "tools[0].function.parameters/properties/a/format"},
		{"no tools in the template, auto", engine.ModelOptions{}, functionTool("f", `{}`, false), engine.ToolChoice{}, "", ""},
		{"turned off", engine.ModelOptions{ChatTemplate: toolTemplate, ToolFormat: "none"}, functionTool("f", `{}`, false), engine.ToolChoice{}, engine.CodeUnsupportedParam, "tools"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, engine.Options{Defaulted: tt.options})
			r := engine.GenerateRequest{Prompt: user("Hi"), ToolChoice: tt.choice, MaxTokens: 60}
			r.Prompt.Tools = []chat.Tool{tt.tool}
			_, err := converse(t, e, r)
			var refused *engine.Error
			if tt.code == "" && err != nil || tt.code != "" && (!errors.As(err, &refused) || refused.Code != tt.code || refused.Param != tt.param) {
				t.Errorf("got %+v, want %s of %s", err, tt.code, tt.param)
			}
		})
	}
}

// Thinking that the prompt opens comes before the call, and has events and a count of its own.
func TestThinkingBeforeCalls(t *testing.T) {
	e := open(t, engine.Options{Defaulted: engine.ModelOptions{ChatTemplate: toolTemplate}})
	r := engine.GenerateRequest{Prompt: user("Hi"), MaxTokens: 30}
	r.Prompt.Kwargs = map[string]json.RawMessage{"enable_thinking": json.RawMessage("true")}
	a, err := converse(t, e, r)
	if err != nil {
		t.Fatal(err)
	}
	if a.thinking == "" || a.text != "" || a.done.Reasoning == 0 || a.done.Reasoning > a.done.OutputTokens {
		t.Errorf("%q and %q, %d tokens of thinking of %d", a.thinking, a.text, a.done.Reasoning, a.done.OutputTokens)
	}
}

// A form beside tools: an answer in words is of the form, a call is one of the tools, and
// what was demanded of calls decides between them.
func TestFormBesideTools(t *testing.T) {
	e := open(t, engine.Options{Defaulted: engine.ModelOptions{ChatTemplate: toolTemplate}})
	tool := functionTool("get_time", `{"type":"object","properties":{"zone":{"const":"UTC"}},"required":["zone"],"additionalProperties":false}`, true)
	place := schemaOf(`{"type":"object","properties":{"city":{"enum":["Oslo","Paris"]}},"required":["city"],"additionalProperties":false}`)
	isPlace, isCall := regexp.MustCompile(`^(\{\s*"city"\s*:\s*"(Oslo|Paris)"\s*\}|☠)$`), regexp.MustCompile(`^get_time \{\s*"zone"\s*:\s*"UTC"\s*\}$`)
	answers, calls := 0, 0
	for _, tt := range []struct {
		name         string
		choice       engine.ToolChoice
		tools        []chat.Tool
		form         *engine.Constraint
		answer, call bool // that may come
	}{
		{"auto", engine.ToolChoice{One: true}, []chat.Tool{tool}, place, true, true},
		{"allowed", engine.ToolChoice{One: true, Names: []string{"get_time"}}, []chat.Tool{tool}, place, true, true},
		{"auto, what it would rather not say", engine.ToolChoice{One: true}, []chat.Tool{tool}, &engine.Constraint{Form: engine.FormChoice, Choices: []string{"☠"}, Param: "guided_choice"}, true, true},
		{"required", engine.ToolChoice{One: true, Required: true}, []chat.Tool{tool}, place, false, true},
		{"named", engine.ToolChoice{One: true, Required: true, Names: []string{"get_time"}}, []chat.Tool{tool}, place, false, true},
		{"none", engine.ToolChoice{}, nil, place, true, false},
	} {
		for seed := range uint64(6) {
			r := engine.GenerateRequest{Prompt: user([]string{"What time is it?", "Give me JSON with a city."}[seed%2]), ToolChoice: tt.choice, MaxTokens: 400, Constraint: tt.form}
			r.Prompt.Tools = tt.tools
			r.Prompt.Kwargs = map[string]json.RawMessage{"enable_thinking": json.RawMessage("false")}
			r.Sample.Temperature, r.Sample.Seed = 2, seed
			a, err := converse(t, e, r)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			switch {
			case len(a.calls) > 0:
				if calls++; !tt.call || a.text != "" || len(a.calls) > 1 || !isCall.MatchString(a.calls[0]) || a.finish.Reason != engine.ReasonCalls {
					t.Errorf("%s, seed %d: %q and calls %q (%s)", tt.name, seed, a.text, a.calls, a.finish.Reason)
				}
			default:
				if answers++; !tt.answer || !isPlace.MatchString(a.text) || a.finish.Reason != engine.ReasonStop {
					t.Errorf("%s, seed %d: %q (%s)", tt.name, seed, a.text, a.finish.Reason)
				}
			}
		}
	}
	t.Logf("%d answers, %d calls", answers, calls)
	if answers < 8 || calls < 14 {
		t.Errorf("%d answers, %d calls", answers, calls)
	}
}

// What is wrong with a form beside tools is refused by the form's name, and so is a form that cannot
// be distinguished from a call.
func TestFormBesideToolsRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		format string
		form   *engine.Constraint
		tool   string
		code   engine.Code
		param  string
	}{
		{"a schema", "", schemaOf(`{"type":"no"}`), `{}`, engine.CodeInvalidSchema, "schema/type"},
		{"a tool's schema", "", schemaOf(`{"type":"null"}`), `{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`, engine.CodeInvalidSchema, "tools[0].function.parameters/properties/a/$ref"},
		{"like a call", "llama3-json", &engine.Constraint{Form: engine.FormObject, Param: "response_format"}, `{}`, engine.CodeToolFormat, "response_format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, engine.Options{Defaulted: engine.ModelOptions{ChatTemplate: toolTemplate, ToolFormat: tt.format}})
			r := engine.GenerateRequest{Prompt: user("Hi"), MaxTokens: 60, Constraint: tt.form}
			r.Prompt.Tools = []chat.Tool{functionTool("f", tt.tool, false)}
			_, err := converse(t, e, r)
			var refused *engine.Error
			if !errors.As(err, &refused) || refused.Code != tt.code || refused.Param != tt.param {
				t.Errorf("got %+v, want %s of %s", err, tt.code, tt.param)
			}
		})
	}
}

// Whatever the wire format, a reply to a request with tools, a form and a budget of thinking is
// a call of the tool or a text of the form, behind no more thinking than there may be.
func TestFormBesideToolsOfEveryFormat(t *testing.T) {
	tool := functionTool("get_time", `{"type":"object","properties":{"zone":{"enum":["UTC"]}},"required":["zone"],"additionalProperties":false}`, true)
	isCall := regexp.MustCompile(`^get_time \{\s*"zone"\s*:\s*"UTC"\s*\}$`)
	answers, calls, thought, least := 0, 0, 0, 15
	if fixtures.Whole {
		least = 30
	}
	for i, name := range wire.Names() {
		f, _ := wire.Find(name)
		if len(f.Call) == 0 && f.Channel == nil || !fixtures.Whole && i%2 != 0 {
			continue
		}
		open := f.Primed
		switch {
		case f.Channel != nil:
			open = f.Channel.Start
		case f.Think.Prompt != "":
			open = f.Think.Prompt + "\n"
		case len(f.Think.Open) > 0:
			open = f.Think.Open[0]
		}
		template := strings.ReplaceAll(toolTemplate, "{% if enable_thinking %}<think>\n{% endif %}", open)
		e, err := New(engine.Options{Defaulted: engine.ModelOptions{ChatTemplate: template, ToolFormat: name}})
		if err != nil {
			t.Fatal(err)
		}
		for i, required := range []bool{false, false, true} {
			r := engine.GenerateRequest{Prompt: user("What time is it?"), MaxTokens: 300, ToolChoice: engine.ToolChoice{Required: required, One: true}}
			r.Constraint = &engine.Constraint{Form: engine.FormChoice, Choices: []string{" yes", "</think><tool_call>"}, Param: "guided_choice"}
			r.ReasoningBudget = &engine.ReasoningBudget{Tokens: 4, Param: "reasoning_budget"}
			r.Prompt.Tools = []chat.Tool{tool}
			r.Sample.Temperature, r.Sample.Seed = 1.5, uint64(i)
			a, err := converse(t, e, r)
			refused, ok := err.(*engine.Error)
			if a.done.Reasoning > 0 {
				thought++
			}
			switch {
			case ok && refused.Code == engine.CodeToolFormat && !required:
				// The second choice begins as a call does.
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case a.done.Reasoning > 4:
				t.Errorf("%s: %d tokens of thinking: %q", name, a.done.Reasoning, a.thinking)
			case len(a.calls) > 0:
				if calls++; a.text != "" || !isCall.MatchString(a.calls[0]) || a.finish.Reason != engine.ReasonCalls {
					t.Errorf("%s: %q and calls %q (%s)", name, a.text, a.calls, a.finish.Reason)
				}
			case required || a.finish.Reason != engine.ReasonStop || !slices.Contains(r.Constraint.Choices, a.text):
				t.Errorf("%s, required %v: %q behind %q (%s)", name, required, a.text, a.thinking, a.finish.Reason)
			default:
				answers++
			}
		}
		e.Close()
	}
	t.Logf("%d answers, %d calls, %d with thinking", answers, calls, thought)
	if answers < least || calls < least*4/3 || thought < least {
		t.Errorf("only %d answers, %d calls, %d with thinking", answers, calls, thought)
	}
}
