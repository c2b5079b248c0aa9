package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi"
)

// A responseOf is what tests look at of a response.
type responseOf struct {
	ID       string
	Status   string
	Store    bool
	Error    *struct{ Code, Message string }
	Previous *string `json:"previous_response_id"`
	Output   []itemOf

	Temperature *float32
	TopP        *float32 `json:"top_p"`
}

type itemOf struct {
	ID, Type, Role, Status, Arguments, Output string
	Name                                      string
	CallID                                    string  `json:"call_id"`
	Encrypted                                 *string `json:"encrypted_content"`
	Content                                   []struct {
		Type, Text string
		Logprobs   []json.RawMessage
	}
}

// An itemsOf is a page of items.
type itemsOf struct {
	Object  string
	Data    []itemOf
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	More    bool    `json:"has_more"`
}

func decoded[T any](t *testing.T, r *http.Response) (v T) {
	t.Helper()
	if r.StatusCode != 200 {
		t.Fatal(r.StatusCode, lines(t, r.Body))
	}
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// respond makes a response of a body's members.
func respond(t *testing.T, s *httptest.Server, members string, headers ...string) responseOf {
	t.Helper()
	return decoded[responseOf](t, ask(t, s, "POST", "/v1/responses", "{"+members+"}", headers...))
}

// prompted spells the messages of the last generation.
func prompted(f *fake) string {
	var out []string
	for _, m := range f.last.Load().Prompt.Messages {
		s := m.Role + ": " + m.Text
		for i, p := range m.Parts {
			s += fmt.Sprintf("[%d %s]", i, p.Text)
		}
		if m.Reasoning != "" {
			s += "(" + m.Reasoning + ")"
		}
		for _, c := range m.ToolCalls {
			s += fmt.Sprintf("<%s %s %s>", c.ID, c.Name, c.Arguments)
		}
		if m.Role == chat.RoleTool {
			s += " of " + m.ToolCallID
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

// says is an engine that answers with a word.
func says(word string) *fake {
	return scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta(word), nil) && yield(finish, nil) && yield(done, nil)
	})
}

// TestStoredResponses: a response is there until it is deleted, as it was answered.
func TestStoredResponses(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: says("yes")})
	for name, tt := range map[string]struct {
		members string
		stored  bool
	}{
		"plain":         {`"input":"x"`, true},
		"store is null": {`"input":"x","store":null`, true},
		"not stored":    {`"input":"x","store":false`, false},
		"streamed":      {`"input":"x","stream":true`, true},
	} {
		t.Run(name, func(t *testing.T) {
			var sent any
			r := ask(t, s, "POST", "/v1/responses", "{"+tt.members+"}")
			if strings.Contains(tt.members, "stream") {
				events := sentEvents(t, r.Body)
				sent = events[len(events)-1].data["response"]
			} else {
				sent = decoded[any](t, r)
			}
			o := sent.(map[string]any)
			path := "/v1/responses/" + o["id"].(string)
			if o["store"] != tt.stored {
				t.Errorf("store is %v", o["store"])
			}
			if !tt.stored {
				wantFailure(t, ask(t, s, "GET", path, ""), 404, "not_found", "")
				wantFailure(t, ask(t, s, "DELETE", path, ""), 404, "not_found", "")
				return
			}
			if got := decoded[any](t, ask(t, s, "GET", path, "")); jsonOf(got) != jsonOf(sent) {
				t.Errorf("got %s, want %s", jsonOf(got), jsonOf(sent))
			}
			wantFailure(t, ask(t, s, "GET", path+"?stream=true", ""), 400, "invalid_value", "stream")
			wantFailure(t, ask(t, s, "GET", path+"?stream=yes", ""), 400, "invalid_value", "stream")
			wantFailure(t, ask(t, s, "GET", path+"?starting_after=1", ""), 400, "invalid_value", "starting_after")
			wantFailure(t, ask(t, s, "POST", path+"/cancel", ""), 400, "invalid_value", "")
			gone := decoded[map[string]any](t, ask(t, s, "DELETE", path, ""))
			if gone["id"] != o["id"] || gone["object"] != "response" || gone["deleted"] != true {
				t.Errorf("deleted: %v", gone)
			}
			wantFailure(t, ask(t, s, "GET", path, ""), 404, "not_found", "")
		})
	}
}

// TestResponsesOfAnotherKey: what one key stores is not there for another, also where both
// have one name.
func TestResponsesOfAnotherKey(t *testing.T) {
	twin := httpapi.Key{Name: fakeKey.Name, SHA256: sha256.Sum256([]byte("other"))}
	s := newServer(t, httpapi.Options{Engine: says("yes"), Keys: []httpapi.Key{fakeKey, twin}})
	mine, other := []string{"Authorization", "Bearer " + testKey}, []string{"Authorization", "Bearer other"}
	r := respond(t, s, `"input":"x"`, mine...)
	path := "/v1/responses/" + r.ID
	for _, tt := range []struct{ method, path string }{
		{"GET", path}, {"GET", path + "/input_items"}, {"POST", path + "/cancel"}, {"DELETE", path},
	} {
		wantFailure(t, ask(t, s, tt.method, tt.path, "", other...), 404, "not_found", "")
	}
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+r.ID+`"}`, other...), 404, "previous_response_not_found", "previous_response_id")
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":[{"type":"item_reference","id":"`+r.Output[0].ID+`"}]}`, other...), 404, "not_found", "input[0].id")
	if got := ask(t, s, "GET", path, "", mine...); got.StatusCode != 200 {
		t.Errorf("its own key: %d", got.StatusCode)
	}
}

// TestConversations: what a request goes on from comes before what it says, and its
// instructions do not.
func TestConversations(t *testing.T) {
	f := says("yes")
	s := newServer(t, httpapi.Options{Engine: f})
	first := respond(t, s, `"input":"one","instructions":"be brief"`)
	if got := prompted(f); got != "system: be brief | user: one" {
		t.Error(got)
	}
	second := respond(t, s, `"input":"two","previous_response_id":"`+first.ID+`"`)
	if got := prompted(f); got != "user: one | assistant: yes | user: two" {
		t.Error(got)
	}
	if second.Previous == nil || *second.Previous != first.ID {
		t.Errorf("previous is %v", second.Previous)
	}
	respond(t, s, `"instructions":"be long","previous_response_id":"`+second.ID+`"`)
	if got := prompted(f); got != "system: be long | user: one | assistant: yes | user: two | assistant: yes" {
		t.Error(got)
	}
	// Two may go on from the same.
	third := respond(t, s, `"input":"other","previous_response_id":"`+first.ID+`"`)
	if got := prompted(f); got != "user: one | assistant: yes | user: other" {
		t.Error(got)
	}
	respond(t, s, `"input":[{"type":"item_reference","id":"`+first.Output[0].ID+`"},{"id":"`+third.Output[0].ID+`"},{"role":"user","content":"three"}]`)
	if got := prompted(f); got != "assistant: yes | assistant: yes | user: three" {
		t.Error(got)
	}
	ask(t, s, "DELETE", "/v1/responses/"+first.ID, "")
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+second.ID+`"}`), 404, "previous_response_not_found", "previous_response_id")

	stateless := respond(t, s, `"input":"x","store":false`)
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+stateless.ID+`"}`), 404, "previous_response_not_found", "previous_response_id")
}

// TestConversationOfCalls: thinking, words, calls and what they gave are the messages they
// are in chats, sent or stored; a call that was cut off is none.
func TestConversationOfCalls(t *testing.T) {
	end := engine.ReasonCalls
	f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		for _, e := range []engine.Event{
			admitted, {Type: engine.ReasoningDelta, Text: "hm"}, delta("look"),
			{Type: engine.CallStart, CallID: "c1", Name: "f"}, {Type: engine.CallDelta, Text: `{"a":1}`}, {Type: engine.CallEnd},
			{Type: engine.CallStart, Call: 1, CallID: "c2", Name: "g"}, {Type: engine.CallDelta, Call: 1, Text: `{"b":`},
			{Type: engine.Finish, Reason: end}, done,
		} {
			if !yield(e, nil) {
				return
			}
		}
	})
	s := newServer(t, httpapi.Options{Engine: f})
	end = engine.ReasonLength
	r := respond(t, s, `"input":"x","include":["reasoning.encrypted_content"]`)
	if r.Status != "incomplete" || len(r.Output) != 4 || r.Output[3].Status != "incomplete" || r.Output[3].Arguments != `{"b":` || r.Output[2].Status != "completed" {
		t.Fatalf("%+v", r)
	}
	const want = `user: x | assistant: look(hm)<c1 f {"a":1}> | tool: 12 of c1`
	const output = `{"type":"function_call_output","call_id":"c1","output":"12"}`
	respond(t, s, `"input":[`+output+`],"previous_response_id":"`+r.ID+`"`)
	if got := prompted(f); got != want {
		t.Errorf("stored: %s", got)
	}
	stray := `{"input":[{"role":"user","content":"y"},` + strings.Replace(output, "c1", "c9", 1) + `],"previous_response_id":"` + r.ID + `"}`
	wantFailure(t, ask(t, s, "POST", "/v1/responses", stray), 400, "invalid_value", "input[1].call_id")
	// The same, sent back by a client that keeps only what is encrypted of the thinking.
	if r.Output[0].Encrypted == nil {
		t.Fatal("thinking is not encoded")
	}
	sent := []any{
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": "x"}}},
		map[string]any{"type": "reasoning", "id": r.Output[0].ID, "summary": []any{}, "encrypted_content": *r.Output[0].Encrypted},
		map[string]any{"type": "message", "role": "assistant", "id": r.Output[1].ID, "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": "look", "annotations": []any{}}}},
		map[string]any{"type": "function_call", "call_id": "c1", "name": "f", "arguments": `{"a":1}`},
		map[string]any{"type": "function_call_output", "call_id": "c1", "output": []any{map[string]any{"type": "input_text", "text": "1"}, map[string]any{"type": "input_text", "text": "2"}}},
	}
	last := respond(t, s, `"input":`+jsonOf(sent)+`,"store":true`)
	if got := prompted(f); got != want {
		t.Errorf("sent: %s", got)
	}
	// And once more from what is stored of that.
	respond(t, s, `"input":"y","previous_response_id":"`+last.ID+`"`)
	if got := prompted(f); got != want+` | assistant: look(hm)<c1 f {"a":1}> | user: y` {
		t.Errorf("stored again: %s", got)
	}
}

// TestInputItems: what a response was made from is listed page by page, either way.
func TestInputItems(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: says("yes")})
	var input []any
	for i := range 5 {
		input = append(input, map[string]any{"id": fmt.Sprint("msg_", i), "role": "user", "content": fmt.Sprint(i)})
	}
	r := respond(t, s, `"input":`+jsonOf(input))
	for query, want := range map[string]string{
		"":                            "4 3 2 1 0 false",
		"?order=asc":                  "0 1 2 3 4 false",
		"?limit=2":                    "4 3 true",
		"?limit=5":                    "4 3 2 1 0 false",
		"?limit=2&after=msg_3":        "2 1 true",
		"?limit=2&after=msg_1":        "0 false",
		"?order=asc&after=msg_4":      "false",
		"?order=asc&before=msg_2":     "0 1 false",
		"?limit=1&before=msg_2":       "3 true",
		"?after=msg_4&before=msg_1":   "3 2 false",
		"?order=asc&limit=3&include=": "0 1 2 true",
	} {
		list := decoded[itemsOf](t, ask(t, s, "GET", "/v1/responses/"+r.ID+"/input_items"+query, ""))
		text := ""
		for _, it := range list.Data {
			text += it.Content[0].Text + " "
			if it.Type != "message" || it.Role != "user" || it.Status != "completed" || it.Content[0].Type != "input_text" {
				t.Errorf("%+v", it)
			}
		}
		if text += fmt.Sprint(list.More); text != want || list.Object != "list" {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
		if n := len(list.Data); n == 0 && (list.FirstID != nil || list.LastID != nil) || n > 0 && (*list.FirstID != list.Data[0].ID || *list.LastID != list.Data[n-1].ID) {
			t.Errorf("%s: from %v to %v", query, list.FirstID, list.LastID)
		}
	}
	for query, param := range map[string]string{"?limit=0": "limit", "?limit=101": "limit", "?limit=x": "limit", "?order=up": "order", "?after=msg_9": "after", "?before=no": "before"} {
		wantFailure(t, ask(t, s, "GET", "/v1/responses/"+r.ID+"/input_items"+query, ""), 400, "invalid_value", param)
	}
	wantFailure(t, ask(t, s, "GET", "/v1/responses/resp_no/input_items", ""), 404, "not_found", "")
	second := respond(t, s, `"input":"5","previous_response_id":"`+r.ID+`"`)
	got := decoded[itemsOf](t, ask(t, s, "GET", "/v1/responses/"+second.ID+"/input_items?order=asc", ""))
	if len(got.Data) != 7 || got.Data[0].ID != "msg_0" || got.Data[5].ID != r.Output[0].ID || got.Data[6].Content[0].Text != "5" {
		t.Errorf("of a conversation: %+v", got)
	}
}

// TestNothingKept: a server that keeps no responses says so where one is asked for.
func TestNothingKept(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: says("yes"), Responses: httpapi.Responses{Off: true}})
	r := respond(t, s, `"input":"x","store":true`)
	if r.Store {
		t.Error("store is true")
	}
	wantFailure(t, ask(t, s, "GET", "/v1/responses/"+r.ID, ""), 404, "not_found", "")
	for members, param := range map[string]string{
		`"input":"x","previous_response_id":"resp_1"`:      "previous_response_id",
		`"input":"x","background":true`:                    "background",
		`"input":[{"type":"item_reference","id":"msg_1"}]`: "input[0].id",
		`"input":[{"id":"msg_1"}]`:                         "input[0].id",
	} {
		r := ask(t, s, "POST", "/v1/responses", "{"+members+"}")
		if param == "input[0].id" {
			wantFailure(t, r, 404, "not_found", param)
			continue
		}
		if m := wantFailure(t, r, 400, "unsupported_parameter", param); !strings.Contains(m, "responses.store") {
			t.Errorf("%s: %s", members, m)
		}
	}
}

// TestLongConversation: what a request goes on from is no larger than a body may be.
func TestLongConversation(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: says("yes"), JSONBody: 8 << 10})
	said := strings.Repeat("x", 4<<10)
	first := respond(t, s, `"input":"`+said+`"`)
	second := respond(t, s, `"input":"`+said+`","previous_response_id":"`+first.ID+`"`)
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+second.ID+`"}`), 413, "request_too_large", "previous_response_id")
}

// TestChatsAndResponsesAgree: with one seed a model thinks, says and calls the same, plain
// and streamed, in both dialects.
func TestChatsAndResponsesAgree(t *testing.T) {
	s := newThinking(t, httpapi.Options{}, engine.ModelOptions{})
	for _, tools := range []struct{ chat, responses string }{
		{`"max_tokens":40`, `"max_output_tokens":40`},
		{weatherTools + `,"tool_choice":"required","parallel_tool_calls":false,"max_tokens":200`, `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}},{"type":"function","name":"get_time"}],"tool_choice":"required","parallel_tool_calls":false,"max_output_tokens":200`},
	} {
		chat := wholeAnswer(t, s, `{"messages":[{"role":"user","content":"Where is Paris?"}],"seed":7,`+tools.chat+`}`)
		want := chat.Reasoning + "|"
		if chat.Content != nil {
			want += *chat.Content
		}
		for _, c := range chat.Calls {
			want += "|" + c.Function.Name + c.Function.Arguments
		}
		spell := func(r responseOf) string {
			thought, text, calls := "", "", ""
			for _, it := range r.Output {
				switch it.Type {
				case "reasoning":
					thought += it.Content[0].Text
				case "message":
					text += it.Content[0].Text
				case "function_call":
					if it.Status == "completed" {
						calls += "|" + it.Name + it.Arguments
					}
				}
			}
			return thought + "|" + text + calls
		}
		body := `"input":"Where is Paris?","seed":7,` + tools.responses
		if got := spell(respond(t, s, body)); got != want {
			t.Errorf("plain %q, a chat %q", got, want)
		}
		events := sentEvents(t, ask(t, s, "POST", "/v1/responses", "{"+body+`,"stream":true}`).Body)
		var last struct{ Response responseOf }
		if err := json.Unmarshal([]byte(jsonOf(events[len(events)-1].data)), &last); err != nil {
			t.Fatal(err)
		}
		if got := spell(last.Response); got != want {
			t.Errorf("streamed %q, a chat %q", got, want)
		}
	}
}
