package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// TestStreamUsage: which events of a stream report token counts, and what they say.
func TestStreamUsage(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
		for _, ev := range []engine.Event{
			admitted,
			{Type: engine.PromptDone, CachedTokens: 1},
			{Type: engine.Delta, Text: "a", OutputTokens: 1},
			{Type: engine.Delta, Text: "b", OutputTokens: 2},
			{Type: engine.Finish, Reason: engine.ReasonStop, Tokens: 2, OutputTokens: 2},
			{Type: engine.Done, PromptTokens: 3, CachedTokens: 1, OutputTokens: 2},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	})})
	for _, tt := range []struct {
		options, want string
		text          string // completions begin without an event
	}{
		{`{}`, "absent absent absent absent", "absent absent absent"},
		{`{"continuous_usage_stats":true}`, "absent absent absent absent", "absent absent absent"},
		{`{"include_usage":true}`, "null null null null 3+2", "null null null 3+2"},
		{`{"include_usage":true,"continuous_usage_stats":true}`, "3+1 3+1 3+2 3+2 3+2", "3+1 3+2 3+2 3+2"},
	} {
		for path, want := range map[string]string{"/v1/chat/completions": tt.want, "/v1/completions": tt.text} {
			body := `"messages":[{"role":"user","content":"x"}]`
			if path == "/v1/completions" {
				body = `"prompt":"x"`
			}
			r := post(t, s, path, `{`+body+`,"stream":true,"stream_options":`+tt.options+`}`)
			var got []string
			for _, l := range lines(t, r.Body) {
				data, ok := strings.CutPrefix(l, "data: {")
				if !ok {
					continue
				}
				got = append(got, usageOf(t, "{"+data))
			}
			// The first event, with the role, leaves with the first text.
			if g := strings.Join(got, " "); g != want {
				t.Errorf("%s %s: usage is %s, want %s", path, tt.options, g, want)
			}
		}
	}
}

func usageOf(t *testing.T, event string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(event), &m); err != nil {
		t.Fatalf("%q: %v", event, err)
	}
	raw, ok := m["usage"]
	if !ok {
		return "absent"
	}
	if string(raw) == "null" {
		return "null"
	}
	var u struct {
		Prompt     json.Number `json:"prompt_tokens"`
		Completion json.Number `json:"completion_tokens"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return u.Prompt.String() + "+" + u.Completion.String()
}
