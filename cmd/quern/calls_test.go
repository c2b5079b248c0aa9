package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/chzyer/readline"

	"quern/engine"
	"quern/engine/chat"
)

// caller answers by the prompt: a line "name arguments" is a call, another one is text.
// Then it says what results came back.
type caller struct {
	answers []string // nil at the end calls for ever what came last
	forever bool
	fail    error // after the first answer
	asked   []engine.GenerateRequest
}

func (c *caller) Defaults() engine.Sampling { return engine.Sampling{} }

func (c *caller) Generate(_ context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	c.asked = append(c.asked, r)
	return func(yield func(engine.Event, error) bool) {
		if c.fail != nil && len(c.asked) > 1 {
			yield(engine.Event{}, c.fail)
			return
		}
		answer := "done"
		if len(c.answers) > 0 {
			answer = c.answers[0]
			if !c.forever {
				c.answers = c.answers[1:]
			}
		}
		call := 0
		for line := range strings.Lines(answer) {
			name, arguments, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " {")
			switch {
			case strings.HasPrefix(line, "think:"):
				yield(engine.Event{Type: engine.ReasoningDelta, Text: line[6:]}, nil)
			case ok:
				yield(engine.Event{Type: engine.CallStart, Call: call, CallID: fmt.Sprint("id", call), Name: name}, nil)
				yield(engine.Event{Type: engine.CallDelta, Call: call, Text: "{"}, nil)
				yield(engine.Event{Type: engine.CallDelta, Call: call, Text: arguments}, nil)
				if !strings.HasSuffix(arguments, "…") { // else it is cut off
					yield(engine.Event{Type: engine.CallEnd, Call: call}, nil)
				}
				call++
			default:
				yield(engine.Event{Type: engine.Delta, Text: line}, nil)
			}
		}
		yield(engine.Event{Type: engine.Done}, nil)
	}
}

// TestToolCommand is no test: it is the command of the tools of those below.
func TestToolCommand(t *testing.T) {
	what := os.Getenv("QUERN_TEST_TOOL")
	if what == "" {
		t.Skip("runs as the command of a tool")
	}
	b, _ := io.ReadAll(os.Stdin)
	if what == "fail" {
		os.Exit(3)
	}
	fmt.Printf("result of %s", b)
	os.Exit(0)
}

// toolFile writes a file of tools: get_weather and get_time have a command, add has none.
func toolFile(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, _ := json.Marshal([]string{self, "-test.run=^TestToolCommand$"})
	write(t, "tools.json", fmt.Sprintf(`[
		{"type":"function","command":%[1]s,"function":{"name":"get_weather"}},
		{"type":"function","command":%[1]s,"function":{"name":"get_time"}},
		{"type":"function","function":{"name":"add"}}]`, command))
	t.Setenv("QUERN_TEST_TOOL", "answer")
	return "tools.json"
}

func TestCalls(t *testing.T) {
	const oslo, rome = `get_weather {"city": "Oslo"}`, `get_weather {"city": "Rome"}`
	refused, ignored := failed("the user does not allow this call"), failed(notRun)
	for _, tt := range []struct {
		name    string
		answers []string
		allow   []string
		lines   []any // the user's answers; nil where there is no terminal
		tool    string

		results []string // of the calls
		asked   int      // answers of the model
		out     []string // parts, in order
		errs    string   // a part
		err     string
	}{
		{name: "no terminal", answers: []string{oslo}, results: []string{ignored}, asked: 1,
			out: []string{"get_weather {\"city\":\"Oslo\"}\n"}, errs: "--allow get_weather"},
		{name: "allowed before", answers: []string{oslo, "It is warm."}, allow: []string{"get_weather"}, asked: 2,
			results: []string{`result of {"city": "Oslo"}`}, out: []string{"get_weather {\"city\":\"Oslo\"}\n", "It is warm.\n"}},
		{name: "one of two is allowed", answers: []string{oslo + "\n" + `get_time {}`}, allow: []string{"get_weather"}, asked: 1,
			results: []string{ignored, ignored}, errs: "--allow get_time"},
		{name: "no command", answers: []string{oslo + "\n" + `add {"a":1}`}, allow: []string{"get_weather"}, lines: []any{"y"}, asked: 1,
			results: []string{ignored, ignored}, out: []string{"get_weather ", `add {"a":1}`}},
		{name: "a tool that is not there", answers: []string{`remove {"all":true}`}, lines: []any{"y"}, asked: 1, results: []string{ignored}},
		{name: "yes", answers: []string{oslo}, lines: []any{"y"}, asked: 2, results: []string{`result of {"city": "Oslo"}`},
			out: []string{"get_weather {\"city\":\"Oslo\"}\n", "done\n"}},
		{name: "no", answers: []string{oslo}, lines: []any{"No"}, asked: 2, results: []string{refused}, out: []string{"done\n"}},
		{name: "yes once is not always", answers: []string{oslo, rome}, lines: []any{"yes", "n"}, asked: 3,
			results: []string{`result of {"city": "Oslo"}`, refused}},
		{name: "always", answers: []string{oslo, rome}, lines: []any{"a"}, asked: 3,
			results: []string{`result of {"city": "Oslo"}`, `result of {"city": "Rome"}`}},
		{name: "always is of one tool", answers: []string{oslo, `get_time {}`}, lines: []any{"always", "n"}, asked: 3,
			results: []string{`result of {"city": "Oslo"}`, refused}},
		{name: "each call is asked for", answers: []string{oslo + "\n" + rome}, lines: []any{"n", "y"}, asked: 2,
			results: []string{refused, `result of {"city": "Rome"}`}},
		{name: "an empty line is no answer", answers: []string{oslo}, lines: []any{"", "yes please", "y"}, asked: 2,
			results: []string{`result of {"city": "Oslo"}`}},
		{name: "nonsense is no", answers: []string{oslo}, lines: []any{"", "", "", "y"}, asked: 2, results: []string{refused}},
		{name: "the end of the input is no", answers: []string{oslo}, lines: []any{}, asked: 2, results: []string{refused}},
		{name: "Ctrl-C ends the reply", answers: []string{oslo + "\n" + rome}, lines: []any{readline.ErrInterrupt}, asked: 1,
			results: []string{refused, ignored}, err: context.Canceled.Error()},
		{name: "a command that fails", answers: []string{oslo}, lines: []any{"y"}, tool: "fail", asked: 2,
			results: []string{failed("exit status 3")}, errs: "exit status 3"},
		{name: "arguments that are none", answers: []string{`get_weather {"city": }`}, allow: []string{"get_weather"}, asked: 2,
			results: []string{failed("the arguments are no JSON")}, out: []string{"get_weather {\"city\": }\n"}},
		{name: "a call that is cut off", answers: []string{"Let me see." + "\n" + `get_weather {"city": "Os…`}, allow: []string{"get_weather"}, asked: 1,
			out: []string{"Let me see.\n"}},
		{name: "words and thinking before a call", answers: []string{"think:Hm.\nLet me see.\n" + oslo}, allow: []string{"get_weather"}, asked: 2,
			results: []string{`result of {"city": "Oslo"}`}, out: []string{"Hm.\n", "Let me see.\n", "get_weather "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := replyOptions{toolFile: toolFile(t), allow: tt.allow}
			if err := o.readTools(); err != nil {
				t.Fatal(err)
			}
			if tt.tool != "" {
				t.Setenv("QUERN_TEST_TOOL", tt.tool)
			}
			var out, errs bytes.Buffer
			c := &caller{answers: tt.answers}
			s := &session{app: &app{out: &out, err: &errs}, lease: c, model: engine.ModelInfo{ID: "m", Kind: engine.KindChat}, options: o}
			if tt.lines != nil {
				s.question = s.questioner(&script{lines: tt.lines})
			}
			err := s.reply(t.Context(), "How is it?")
			if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %v; want %q", err, tt.err)
			}
			var results []string
			open := map[string]bool{} // calls without a result
			for _, m := range s.messages {
				for _, c := range m.ToolCalls {
					open[c.ID] = true
				}
				if m.Role == chat.RoleTool {
					results = append(results, m.Text)
					delete(open, m.ToolCallID)
				}
			}
			if !reflect.DeepEqual(results, tt.results) || len(open) > 0 {
				t.Errorf("results %q, none of %v; want %q", results, open, tt.results)
			}
			if len(c.asked) != tt.asked {
				t.Errorf("the model was asked %d times; want %d", len(c.asked), tt.asked)
			}
			rest := out.String()
			for _, part := range tt.out {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Errorf("printed %q; want %q in %q", out.String(), part, rest)
				}
				rest = after
			}
			if !strings.Contains(errs.String(), tt.errs) || tt.errs == "" && errs.Len() > 0 {
				t.Errorf("stderr %q; want %q", errs.String(), tt.errs)
			}
		})
	}
}

// The model sees the tools, its calls and their results.
func TestCallsGoBack(t *testing.T) {
	o := replyOptions{toolFile: toolFile(t), allow: []string{"get_weather"}}
	if err := o.readTools(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &caller{answers: []string{"think:Hm.\nLet me see.\n" + `get_weather {"city": "Oslo"}`, "It is warm."}}
	s := &session{app: &app{out: &out, err: &out}, lease: c, model: engine.ModelInfo{ID: "m", Kind: engine.KindChat}, options: o}
	if err := s.reply(t.Context(), "How is it?"); err != nil {
		t.Fatal(err)
	}
	if n := len(c.asked[0].Prompt.Tools); n != 3 {
		t.Fatalf("the model was shown %d tools; want 3", n)
	}
	if raw := string(c.asked[1].Prompt.Tools[0].Raw); strings.Contains(raw, "command") || !strings.Contains(raw, "get_weather") {
		t.Errorf("the model is shown %s", raw)
	}
	want := []chat.Message{
		{Role: chat.RoleUser, Text: "How is it?"},
		{Role: chat.RoleAssistant, Text: "Let me see.\n", Reasoning: "Hm.\n",
			ToolCalls: []chat.Call{{ID: "id0", Name: "get_weather", Arguments: `{"city": "Oslo"}`}}},
		{Role: chat.RoleTool, Name: "get_weather", ToolCallID: "id0", Text: `result of {"city": "Oslo"}`},
	}
	if got := c.asked[1].Prompt.Messages; !reflect.DeepEqual(got, want) {
		t.Errorf("the model was sent\n%+v; want\n%+v", got, want)
	}
	want = append(want, chat.Message{Role: chat.RoleAssistant, Text: "It is warm."})
	if !reflect.DeepEqual(s.messages, want) {
		t.Errorf("the conversation is\n%+v; want\n%+v", s.messages, want)
	}
	// Asked again, the question is that of the user.
	if question, _ := s.command("/retry"); question != "How is it?" || len(s.messages) != 0 {
		t.Errorf("/retry asks %q after %+v", question, s.messages)
	}
}

func TestCallsForEver(t *testing.T) {
	o := replyOptions{toolFile: toolFile(t), allow: []string{"get_weather"}}
	if err := o.readTools(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUERN_TEST_TOOL", "fail")
	var out bytes.Buffer
	c := &caller{answers: []string{`get_weather {}`}, forever: true}
	s := &session{app: &app{out: &out, err: &out}, lease: c, model: engine.ModelInfo{ID: "m", Kind: engine.KindChat}, options: o}
	if err := s.reply(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "still calls") {
		t.Errorf("error %v", err)
	}
	if len(c.asked) != maxAnswers {
		t.Errorf("the model was asked %d times; want %d", len(c.asked), maxAnswers)
	}
}

// A failure after calls keeps what was done.
func TestCallsThenFailure(t *testing.T) {
	o := replyOptions{toolFile: toolFile(t), allow: []string{"get_weather"}}
	if err := o.readTools(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &caller{answers: []string{`get_weather {}`}, fail: io.ErrUnexpectedEOF}
	s := &session{app: &app{out: &out, err: &out}, lease: c, model: engine.ModelInfo{ID: "m", Kind: engine.KindChat}, options: o}
	if err := s.reply(t.Context(), "x"); err != io.ErrUnexpectedEOF {
		t.Errorf("error %v", err)
	}
	if len(s.messages) != 3 {
		t.Errorf("the conversation is %+v; want the question, the call and its result", s.messages)
	}
}

func TestToolFlags(t *testing.T) {
	file := toolFile(t)
	write(t, "bad.json", `[{"type":"function","comand":["x"],"function":{"name":"a"}}]`)
	for _, tt := range []struct {
		file  string
		allow []string
		want  string
	}{
		{"none.json", nil, "--tools: open none.json"},
		{"bad.json", nil, `--tools: bad.json: tools[0]: `},
		{"", []string{"get_weather"}, "--allow has no effect without --tools"},
		{file, []string{"get_weather", "add"}, `--allow: tools.json has no tool "add" with a command`},
		{file, []string{"x"}, `has no tool "x"`},
	} {
		o := replyOptions{toolFile: tt.file, allow: tt.allow}
		if err := o.readTools(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %q: %v; want %q", tt.file, tt.allow, err, tt.want)
		}
	}
}

// In a chat questions are asked between its lines, and Ctrl-C at one ends the reply alone.
func TestTalkCalls(t *testing.T) {
	o := replyOptions{toolFile: toolFile(t)}
	if err := o.readTools(); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := &caller{answers: []string{`get_weather {"city": "Oslo"}`, `get_weather {"city": "Rome"}`, "It is warm."}}
	s := &session{app: &app{out: &out, err: &errs}, lease: c, model: engine.ModelInfo{ID: "m", Kind: engine.KindChat}, options: o, interrupts: make(chan os.Signal, 1)}
	in := &script{lines: []any{"Oslo?", readline.ErrInterrupt, "Rome?", "y", "Thanks"}}
	if err := s.loop(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	rest := out.String()
	for _, part := range []string{`{"city":"Oslo"}` + "\nRun ", ` for get_weather {"city":"Oslo"}` + "\n", "(stopped)\n", ` for get_weather {"city":"Rome"}` + "\n", "It is warm.\n", "done\n"} {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("printed %q; want %q in %q", out.String(), part, rest)
		}
		rest = after
	}
	if errs.Len() > 0 {
		t.Errorf("stderr %q", errs.String())
	}
	for i, p := range in.prompts {
		if i > 0 && p != prompt && in.prompts[i-1] != prompt {
			t.Errorf("the prompts are %q; want the chat's back after each question", in.prompts)
		}
	}
}
