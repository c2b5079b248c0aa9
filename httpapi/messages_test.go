package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi"
)

// A goldenMessage is a case of testdata/messages/golden.json, which is quern's own: what the
// engine makes, and what a client of Messages gets.
type goldenMessage struct {
	Name       string
	Path       string
	Status     int
	Request    json.RawMessage
	Generation [][]any // kind, name of a tool, pieces
	Response   any
	Events     []struct {
		Event string
		Data  any
	}
	Chat []struct {
		Role      string
		Content   *string
		Reasoning string `json:"reasoning_content"`
		CallID    string `json:"tool_call_id"`
		Calls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
}

func goldenMessages(t *testing.T) []goldenMessage {
	data, err := os.ReadFile("testdata/messages/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []goldenMessage
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// number is a member of nested objects that is a whole number.
func number(v any, path ...string) int {
	for _, p := range path {
		v = v.(map[string]any)[p]
	}
	return int(v.(float64))
}

// engine makes what the case says was generated, with its counts of tokens.
func (g *goldenMessage) engine() *fake {
	f := &fake{}
	f.generate = func(_ context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		start := g.Events[0].Data
		end := g.Events[len(g.Events)-2].Data
		cached := number(start, "message", "usage", "cache_read_input_tokens")
		prompt := cached + number(start, "message", "usage", "input_tokens")
		output := number(end, "usage", "output_tokens")
		if !yield(engine.Event{Type: engine.Admitted, PromptTokens: prompt, Constrained: true}, nil) ||
			!yield(engine.Event{Type: engine.PromptDone, CachedTokens: cached}, nil) {
			return
		}
		ending := end.(map[string]any)["delta"].(map[string]any)
		cut := ending["stop_reason"] == "max_tokens"
		call := -1
		for i, part := range g.Generation {
			kind, pieces := part[0], part[len(part)-1].([]any)
			typ := map[any]engine.EventType{"text": engine.Delta, "thinking": engine.ReasoningDelta, "tool": engine.CallDelta}[kind]
			if kind == "tool" {
				call++
				if !yield(engine.Event{Type: engine.CallStart, Call: call, CallID: "toolu_x", Name: part[1].(string)}, nil) {
					return
				}
			}
			for _, p := range pieces {
				if !yield(engine.Event{Type: typ, Call: call, Text: p.(string)}, nil) {
					return
				}
			}
			if kind == "tool" && !(cut && i == len(g.Generation)-1) && !yield(engine.Event{Type: engine.CallEnd, Call: call}, nil) {
				return
			}
		}
		finish := engine.Event{Type: engine.Finish, Reason: engine.ReasonStop, OutputTokens: output, Tokens: output}
		switch ending["stop_reason"] {
		case "max_tokens":
			finish.Reason = engine.ReasonLength
		case "tool_use":
			finish.Reason = engine.ReasonCalls
		case "stop_sequence":
			finish.StopReason = ending["stop_sequence"]
		}
		if yield(finish, nil) {
			yield(engine.Event{Type: engine.Done, PromptTokens: prompt, CachedTokens: cached, OutputTokens: output}, nil)
		}
	}
	return f
}

var ids = regexp.MustCompile(`"id":\s*"(msg|toolu)_[0-9a-zA-Z]+"`)

// settled is JSON whose ids are those of no run.
func settled(t *testing.T, v any) any {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		b, _ = json.Marshal(v)
	}
	var out any
	if err := json.Unmarshal(ids.ReplaceAll(b, []byte(`"id":"$1"`)), &out); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if m, ok := out.(map[string]any); ok && m["model"] != nil {
		m["model"] = "m"
	} else if ok && m["message"] != nil {
		m["message"].(map[string]any)["model"] = "m"
	}
	return out
}

// sent posts a body for a model.
func sent(t *testing.T, f *fake, path string, body []byte, stream bool) (*http.Response, []byte) {
	t.Helper()
	text := strings.Replace(string(body), `"m"`, `"`+chatModel+`"`, 1)
	if stream {
		text = strings.Replace(text, "{", `{"stream":true,`, 1)
	}
	s := newServer(t, httpapi.Options{Engine: f})
	r := post(t, s, path, text)
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

// TestMessagesGolden: answers, whole and streamed, and errors are those of Messages to the
// member, and conversations become those of chats.
func TestMessagesGolden(t *testing.T) {
	for _, g := range goldenMessages(t) {
		t.Run(g.Name, func(t *testing.T) {
			switch {
			case g.Request == nil:
				f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
					_ = yield(engine.Event{Type: engine.Delta, Text: "a"}, nil) &&
						yield(engine.Event{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "the model stopped unexpectedly"})
				})
				_, b := sent(t, f, "/v1/messages", []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`), true)
				events := namedEvents(t, b)
				last := events[len(events)-1]
				if last.name != "error" || !reflect.DeepEqual(settled(t, last.data), settled(t, g.Events[0].Data)) {
					t.Errorf("got %s %s, want %v", last.name, last.data, g.Events[0].Data)
				}
			case g.Chat != nil:
				f := &fake{}
				if r, b := sent(t, f, "/v1/messages", g.Request, false); r.StatusCode != 200 {
					t.Fatalf("%d %s", r.StatusCode, b)
				}
				sameChat(t, f.last.Load().Prompt.Messages, &g)
			case g.Generation == nil:
				path := "/v1/messages"
				if g.Path != "" {
					path = g.Path
				}
				r, b := sent(t, &fake{}, path, g.Request, false)
				if path != "/v1/messages" {
					g.Response = map[string]int{"input_tokens": 4} // words to the fake
				}
				got, want := settled(t, b), settled(t, g.Response)
				if m, ok := got.(map[string]any); ok && m["error"] != nil {
					delete(m, "request_id") // of this run
				}
				if r.StatusCode != cmp.Or(g.Status, 200) || !reflect.DeepEqual(got, want) {
					t.Errorf("got %d %v, want %v", r.StatusCode, got, want)
				}
			default:
				_, b := sent(t, g.engine(), "/v1/messages", g.Request, true)
				events := namedEvents(t, b)
				if len(events) != len(g.Events) {
					t.Fatalf("%d events, want %d:\n%s", len(events), len(g.Events), b)
				}
				for i, e := range events {
					if e.name != g.Events[i].Event || !reflect.DeepEqual(settled(t, e.data), settled(t, g.Events[i].Data)) {
						t.Errorf("event %d: %s %s, want %v", i, e.name, e.data, g.Events[i].Data)
					}
				}
				if g.Response == nil {
					return
				}
				if _, b := sent(t, g.engine(), "/v1/messages", g.Request, false); !reflect.DeepEqual(settled(t, b), settled(t, g.Response)) {
					t.Errorf("got %s, want %v", b, g.Response)
				}
			}
		})
	}
}

type namedEvent struct {
	name string
	data []byte
}

// namedEvents are the events of a stream, which all have names.
func namedEvents(t *testing.T, stream []byte) (out []namedEvent) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(part, "\n")
		if !ok || !strings.HasPrefix(name, "event: ") || !strings.HasPrefix(data, "data: ") || strings.Contains(data, "\n") {
			t.Fatalf("no event: %q", part)
		}
		out = append(out, namedEvent{name[len("event: "):], []byte(data[len("data: "):])})
	}
	return out
}

// sameChat compares messages with those of a case.
func sameChat(t *testing.T, got []chat.Message, g *goldenMessage) {
	t.Helper()
	if len(got) != len(g.Chat) {
		t.Fatalf("%d messages, want %d: %+v", len(got), len(g.Chat), got)
	}
	for i, want := range g.Chat {
		m := got[i]
		text := &m.Text
		if m.NoContent {
			text = nil
		}
		if m.Role != want.Role || !reflect.DeepEqual(text, want.Content) || m.Reasoning != want.Reasoning || m.ToolCallID != want.CallID || len(m.ToolCalls) != len(want.Calls) {
			t.Errorf("message %d: %+v, want %+v", i, m, want)
			continue
		}
		for j, c := range want.Calls {
			call := m.ToolCalls[j]
			var a, b any
			if call.ID != c.ID || call.Name != c.Function.Name || json.Unmarshal([]byte(call.Arguments), &a) != nil ||
				json.Unmarshal([]byte(c.Function.Arguments), &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("call %d of message %d: %+v, want %+v", j, i, call, c)
			}
		}
	}
}
