package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/wire"
	"quern/httpapi"
)

// speaking is an engine whose model writes text in a wire format, one byte a token, and
// is cut off after most tokens where most is not 0.
func speaking(format *wire.Format, prompt, text string, most int) *fake {
	return scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		r := wire.NewSyntax(format, nil).NewReader(wire.Options{Prompt: prompt, Random: func() uint64 { return 1 }})
		n, calls, thought := 0, 0, 0
		tell := func(events []wire.Event) bool {
			for _, e := range events {
				ev := engine.Event{Text: e.Text, Call: e.Call, CallID: e.ID, Name: e.Name, OutputTokens: n}
				switch e.Kind {
				case wire.Reasoning:
					thought++
					ev.Type = engine.ReasoningDelta
				case wire.Content:
					ev.Type = engine.Delta
				case wire.CallStart:
					ev.Type = engine.CallStart
				case wire.CallDelta:
					ev.Type = engine.CallDelta
				case wire.CallEnd:
					calls++
					ev.Type = engine.CallEnd
				}
				ev.Reasoning = thought
				if !yield(ev, nil) {
					return false
				}
			}
			return true
		}
		reason := engine.ReasonStop
		for ; n < len(text); n++ {
			if most > 0 && n == most {
				reason = engine.ReasonLength
				break
			}
			if !tell(r.Write([]byte{text[n]})) {
				return
			}
		}
		if !tell(r.Close()) {
			return
		}
		if calls > 0 && reason == engine.ReasonStop {
			reason = engine.ReasonCalls
		}
		if yield(engine.Event{Type: engine.Finish, Reason: reason, Tokens: n, OutputTokens: n, Reasoning: thought}, nil) {
			yield(engine.Event{Type: engine.Done, PromptTokens: 1, OutputTokens: n, Reasoning: thought}, nil)
		}
	})
}

// An answer is what a client has of a reply, whole or put together.
type answer struct {
	Content   *string `json:"content"`
	Reasoning string  `json:"reasoning_content"`
	Calls     []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function *struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	finish    string
	reasoning int // tokens
}

func (a *answer) String() string {
	var b strings.Builder
	if a.Content != nil {
		b.WriteString(*a.Content)
	}
	fmt.Fprintf(&b, " (%s)", a.Reasoning)
	for _, c := range a.Calls {
		fmt.Fprintf(&b, " [%s %s %s %s]", c.ID, c.Type, c.Function.Name, c.Function.Arguments)
	}
	fmt.Fprintf(&b, " %s, %d", a.finish, a.reasoning)
	return b.String()
}

const weatherTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}}},{"type":"function","function":{"name":"get_time"}}]`

// asked posts a chat request.
func asked(t *testing.T, s *httptest.Server, body string) (int, []byte) {
	t.Helper()
	r := post(t, s, "/v1/chat/completions", body)
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, b
}

// plainAnswer asks for a whole reply.
func plainAnswer(t *testing.T, s *httptest.Server) *answer {
	t.Helper()
	return wholeAnswer(t, s, `{"messages":[{"role":"user","content":"x"}],`+weatherTools+`}`)
}

func wholeAnswer(t *testing.T, s *httptest.Server, request string) *answer {
	t.Helper()
	status, body := asked(t, s, request)
	var got struct {
		Choices []struct {
			Message json.RawMessage `json:"message"`
			Finish  string          `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Details struct {
				Reasoning int `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK || len(got.Choices) != 1 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	a := &answer{}
	if err := json.Unmarshal(got.Choices[0].Message, a); err != nil {
		t.Fatal(err)
	}
	if len(a.Calls) == 0 && strings.Contains(string(got.Choices[0].Message), "tool_calls") {
		t.Errorf("tool_calls without calls: %s", got.Choices[0].Message)
	}
	if a.Content == nil && len(a.Calls) == 0 {
		t.Errorf("no content and no calls: %s", got.Choices[0].Message)
	}
	a.finish, a.reasoning = got.Choices[0].Finish, got.Usage.Details.Reasoning
	return a
}

// streamedAnswer puts a streamed reply together and checks its pieces.
func streamedAnswer(t *testing.T, s *httptest.Server) *answer {
	t.Helper()
	return piecesOf(t, s, `{"messages":[{"role":"user","content":"x"}],`+weatherTools+`}`)
}

func piecesOf(t *testing.T, s *httptest.Server, request string) *answer {
	t.Helper()
	_, body := asked(t, s, strings.TrimSuffix(request, "}")+`,"stream":true,"stream_options":{"include_usage":true}}`)
	a, content := &answer{}, ""
	for line := range strings.SplitSeq(string(body), "\n\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta  answer  `json:"delta"`
				Finish *string `json:"finish_reason"`
			} `json:"choices"`
			Usage *struct {
				Details struct {
					Reasoning int `json:"reasoning_tokens"`
				} `json:"completion_tokens_details"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if chunk.Usage != nil {
			a.reasoning = chunk.Usage.Details.Reasoning
		}
		for _, c := range chunk.Choices {
			if c.Finish != nil {
				a.finish = *c.Finish
			}
			if c.Delta.Content != nil {
				content += *c.Delta.Content
			}
			a.Reasoning += c.Delta.Reasoning
			for _, d := range c.Delta.Calls {
				switch {
				case d.Index == nil || d.Function == nil:
					t.Fatalf("a delta without index or function: %s", data)
				case *d.Index == len(a.Calls):
					if d.ID == "" || d.Type != "function" || d.Function.Name == "" || d.Function.Arguments != "" {
						t.Errorf("the first delta of a call is %s", data)
					}
					a.Calls = append(a.Calls, d)
				case *d.Index == len(a.Calls)-1:
					if d.ID != "" || d.Type != "" || d.Function.Name != "" || d.Function.Arguments == "" {
						t.Errorf("a later delta of a call is %s", data)
					}
					a.Calls[*d.Index].Function.Arguments += d.Function.Arguments
				default:
					t.Errorf("call %d after %d calls: %s", *d.Index, len(a.Calls), data)
				}
			}
		}
	}
	if content != "" || len(a.Calls) == 0 {
		a.Content = &content
	}
	return a
}

// TestToolsOfEveryFormat: a stream put together is the whole answer, in every wire format.
func TestToolsOfEveryFormat(t *testing.T) {
	tried := 0
	for _, name := range wire.Names() {
		f, _ := wire.Find(name)
		ids := []string{"abcdefghi", "abcdefghj"}
		if f.ID == wire.IDNamed {
			ids = []string{"functions.get_weather:0", "functions.get_time:1"}
		}
		text, err := f.Write([]wire.Call{
			{ID: ids[0], Name: "get_weather", Arguments: `{"city":"Zürich 🦊","days":3}`},
			{ID: ids[1], Name: "get_time", Arguments: `{"zone":"UTC"}`},
		})
		if err != nil {
			continue
		}
		prompt := ""
		switch {
		case f.Channel != nil:
			prompt = f.Channel.Start
		case len(f.Think.Open) > 0 && f.Think.Close != "":
			text = f.Think.Open[0] + "It asks for naïve things." + f.Think.Close + text
		}
		s := newServer(t, httpapi.Options{Engine: speaking(f, prompt, text, 0)})
		whole, pieces := plainAnswer(t, s), streamedAnswer(t, s)
		if len(whole.Calls) != 2 || whole.finish != "tool_calls" || whole.Calls[0].Function.Name != "get_weather" || !json.Valid([]byte(whole.Calls[1].Function.Arguments)) {
			t.Errorf("%s: %s of %q", name, whole, text)
		}
		if whole.String() != pieces.String() {
			t.Errorf("%s:\nwhole    %s\nstreamed %s", name, whole, pieces)
		}
		tried++
	}
	if tried < 35 {
		t.Errorf("only %d formats", tried)
	}
}

// TestCallCutOff: at every length the plain answer leaves an open call out and says
// length, and the stream has sent what there was.
func TestCallCutOff(t *testing.T) {
	f, _ := wire.Find("hermes-json")
	text := "<think>hm</think>Let me see.<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
	ended := strings.LastIndex(text, "}")
	for most := 1; most < len(text); most++ {
		s := newServer(t, httpapi.Options{Engine: speaking(f, "", text, most)})
		whole, pieces := plainAnswer(t, s), streamedAnswer(t, s)
		if whole.finish != "length" || pieces.finish != "length" || whole.Reasoning != pieces.Reasoning {
			t.Errorf("cut at %d: %s, streamed %s", most, whole, pieces)
		}
		if n := len(whole.Calls); n > 1 || n == 1 && most < ended || n == 0 && most > ended+1 {
			t.Errorf("cut at %d: %s", most, whole)
		}
		for _, a := range []*answer{whole, pieces} {
			if a.Content == nil {
				continue
			}
			// What may have become a marker is words after all.
			words, marker, _ := strings.Cut(*a.Content, "<")
			if !strings.HasPrefix("Let me see.", words) || !strings.HasPrefix("think>", marker) && !strings.HasPrefix("tool_call>", marker) {
				t.Errorf("cut at %d, content %q", most, *a.Content)
			}
		}
	}
}

// TestToolRequests: what a request says of tools reaches the engine.
func TestToolRequests(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		fields string
		tools  int
		choice string
	}{
		{weatherTools, 2, "{false [] false}"},
		{weatherTools + `,"tool_choice":"auto"`, 2, "{false [] false}"},
		{weatherTools + `,"tool_choice":null,"parallel_tool_calls":null`, 2, "{false [] false}"},
		{weatherTools + `,"tool_choice":"none"`, 0, "{false [] false}"},
		{`"tools":[],"parallel_tool_calls":false`, 0, "{false [] false}"},
		{weatherTools + `,"parallel_tool_calls":false`, 2, "{false [] true}"},
		{weatherTools + `,"tool_choice":"required"`, 2, "{true [] false}"},
		{weatherTools + `,"tool_choice":{"type":"function","function":{"name":"get_time"}}`, 2, "{true [get_time] false}"},
		{weatherTools + `,"tool_choice":{"type":"function","name":"get_time"}`, 2, "{true [get_time] false}"},
		{weatherTools + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"get_time"}}]}}`, 2, "{false [get_time] false}"},
		{weatherTools + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"get_time"}},{"type":"function","function":{"name":"get_weather"}}]}}`, 2, "{true [get_time get_weather] false}"},
	} {
		if status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],`+tt.fields+`}`); status != http.StatusOK {
			t.Errorf("%s: %d %s", tt.fields, status, body)
			continue
		}
		r := f.last.Load()
		if got := fmt.Sprint(r.ToolChoice); len(r.Prompt.Tools) != tt.tools || got != tt.choice {
			t.Errorf("%s: %d tools, %s; want %d, %s", tt.fields, len(r.Prompt.Tools), got, tt.tools, tt.choice)
		}
	}
}

// TestChoiceNobodyHoldsTo: a call that is demanded and that no layer enforces is an error.
func TestChoiceNobodyHoldsTo(t *testing.T) {
	loose := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("words"), nil) && yield(finish, nil) && yield(done, nil)
	})
	s := newServer(t, httpapi.Options{Engine: loose})
	for choice, want := range map[string]int{`"auto"`: 200, `"none"`: 200, `"required"`: 500, `{"type":"function","function":{"name":"get_time"}}`: 500} {
		if status, body := asked(t, s, `{"messages":[{"role":"user","content":"x"}],`+weatherTools+`,"tool_choice":`+choice+`}`); status != want {
			t.Errorf("%s: %d %s, want %d", choice, status, body, want)
		}
	}
}
