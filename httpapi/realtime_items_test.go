package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"quern/engine"
	"quern/httpapi"
)

// TestRealtimeTools: calls are spelled as items, and what they gave goes back to the model.
func TestRealtimeTools(t *testing.T) {
	e := &fake{}
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		if len(r.Prompt.Messages) > 1 {
			_ = yield(admitted, nil) && yield(delta("Sunny."), nil) && yield(finish, nil) && yield(done, nil)
			return
		}
		_ = yield(engine.Event{Type: engine.Admitted, Constrained: true}, nil) &&
			yield(engine.Event{Type: engine.CallStart, CallID: "call_1", Name: "weather"}, nil) &&
			yield(engine.Event{Type: engine.CallDelta, Text: `{"city":`}, nil) &&
			yield(engine.Event{Type: engine.CallDelta, Text: `"Ulm"}`}, nil) &&
			yield(engine.Event{Type: engine.CallEnd}, nil) && yield(engine.Event{Type: engine.Finish, Reason: engine.ReasonCalls}, nil) && yield(done, nil)
	}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("session.update", `"session":{"output_modalities":["text"],"tool_choice":"required","tools":[{"type":"function","name":"weather","description":"d","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`)
	c.until("session.updated")
	c.message("Weather?")
	c.say("response.create", "")
	out := c.until("response.function_call_arguments.done")
	if out["arguments"] != `{"city":"Ulm"}` || out["call_id"] != "call_1" || out["name"] != "weather" {
		t.Errorf("call %v", out)
	}
	over := c.until("response.done")
	if at(over, "response", "output", 0, "type") != "function_call" || at(over, "response", "output", 0, "arguments") != `{"city":"Ulm"}` {
		t.Errorf("response %v", over["response"])
	}
	r := e.last.Load()
	want := `{"type":"function","function":{"name":"weather","description":"d","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`
	if len(r.Prompt.Tools) != 1 || string(r.Prompt.Tools[0].Raw) != want || !r.ToolChoice.Required {
		t.Errorf("asked with %s, %+v", r.Prompt.Tools, r.ToolChoice)
	}
	c.say("conversation.item.create", `"item":{"type":"function_call_output","call_id":"call_1","output":"sun"}`)
	c.until("conversation.item.done")
	c.say("response.create", `"response":{"tool_choice":"none"}`)
	c.until("response.done")
	r = e.last.Load()
	if m := r.Prompt.Messages; len(m) != 3 || len(m[1].ToolCalls) != 1 || m[2].ToolCallID != "call_1" || m[2].Text != "sun" || r.Prompt.Tools != nil {
		t.Errorf("asked %+v with %s", m, r.Prompt.Tools)
	}
}

// TestRealtimeItems: a conversation is changed item by item.
func TestRealtimeItems(t *testing.T) {
	c := talk(t, newServer(t, httpapi.Options{Engine: saying("Yes."), Realtime: httpapi.Realtime{Items: 3}}), chatQuery, nil)
	add := func(id, more string) {
		c.say("conversation.item.create", `"item":{"id":%q,"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}%s`, id, id, more)
	}
	add("a", "")
	if got := c.until("conversation.item.done")["previous_item_id"]; got != nil {
		t.Errorf("before the first is %v", got)
	}
	add("c", "")
	if got := c.until("conversation.item.done")["previous_item_id"]; got != "a" {
		t.Errorf("before the second is %v", got)
	}
	add("c", "")
	if _, message := c.refused(); !strings.Contains(message, "already") {
		t.Error(message)
	}
	add("b", `,"previous_item_id":"a"`)
	if got := c.until("conversation.item.done")["previous_item_id"]; got != "a" {
		t.Errorf("before the third is %v", got)
	}
	add("d", "")
	if _, message := c.refused(); !strings.Contains(message, "realtime.items") {
		t.Error(message)
	}
	c.say("conversation.item.delete", `"item_id":"a"`)
	c.until("conversation.item.deleted")
	c.say("conversation.item.retrieve", `"item_id":"a"`)
	if _, message := c.refused(); !strings.Contains(message, `"a"`) {
		t.Error(message)
	}
	add("d", `,"previous_item_id":"root"`)
	if got := c.until("conversation.item.done")["previous_item_id"]; got != nil {
		t.Errorf("before root's next is %v", got)
	}
	// A response that stays out of it answers what it is given.
	c.say("response.create", `"response":{"conversation":"none","output_modalities":["text"],"input":[{"type":"item_reference","id":"b"},{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`)
	over := c.until("response.done")
	if at(over, "response", "status") != "completed" || at(over, "response", "conversation_id") != nil {
		t.Errorf("response %v", over["response"])
	}
	if n := strings.Count(strings.Join(c.types(), " "), "conversation.item.added"); n != 4 {
		t.Errorf("%d items were added, want 4", n)
	}
}

// TestRealtimeRefusals: what is not supported, or wrong, is refused by name, and the
// session goes on.
func TestRealtimeRefusals(t *testing.T) {
	c := talk(t, newServer(t, httpapi.Options{Engine: saying("Yes.")}), chatQuery, nil)
	for _, tt := range []struct{ event, want string }{
		{`{`, "not valid JSON"},
		{`[]`, "must be a JSON object"},
		{`{}`, "type is required"},
		{`{"type":"x"}`, "must be one of conversation.item.create"},
		{`{"type":"session.update"}`, "session is required"},
		{`{"type":"session.update","session":[]}`, "session must be an object"},
		{`{"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"semantic_vad"}}}}}`, "semantic_vad is not supported"},
		{`{"type":"session.update","session":{"turn_detection":{"type":"server_vad","idle_timeout_ms":5000}}}`, "idle_timeout_ms is not supported"},
		{`{"type":"session.update","session":{"audio":{"input":{"turn_detection":{"threshold":2}}}}}`, "between 0 and 1"},
		{`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/opus"}}}}}`, "audio/pcm, audio/pcmu or audio/pcma"},
		{`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}}`, "must be 24000"},
		{`{"type":"session.update","session":{"audio":{"output":{"speed":9}}}}`, "between 0.5 and 2"},
		{`{"type":"session.update","session":{"temperature":3}}`, "between 0 and 2"},
		{`{"type":"session.update","session":{"output_modalities":["video"]}}`, "must be text or audio"},
		{`{"type":"session.update","session":{"tools":[{"type":"mcp","server_label":"x"}]}}`, `must be \"function\"`},
		{`{"type":"session.update","session":{"tool_choice":"required"}}`, "needs tools"},
		{`{"type":"session.update","session":{"model":"nobody"}}`, "nobody"},
		{`{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"nobody"}}}}}`, "nobody"},
		{`{"type":"session.update","session":{"audio":{"output":{"voice":"zz"}}}}`, `no voice \"zz\"`},
		{`{"type":"session.update","session":{"voice":{"id":"zz"}}}`, `no voice \"zz\"`},
		{`{"type":"session.update","session":{"audio":{"output":{"model":"nobody"}}}}`, "nobody"},
		{`{"type":"session.update","session":{"prompt":{"id":"p"}}}`, "stored prompts"},
		{`{"type":"input_audio_buffer.append"}`, "audio is required"},
		{`{"type":"input_audio_buffer.append","audio":"?"}`, "not base64"},
		{`{"type":"input_audio_buffer.append","audio":"AAAA"}`, "3 bytes"},
		{`{"type":"output_audio_buffer.clear"}`, "WebRTC"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"x"}]}}`, "input_image"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"output_text","text":"x"}]}}`, "input_text, input_audio"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[]}}`, "at least one part"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":""}]}}`, "100 at least"},
		{`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":"x"}}`, "no function_call"},
		{`{"type":"conversation.item.create","item":{"type":"mcp_call","id":"x"}}`, "MCP"},
		{`{"type":"conversation.item.truncate","item_id":"x","content_index":0,"audio_end_ms":1}`, "no item"},
		{`{"type":"response.create","response":{"input":[{"type":"item_reference","id":"x"}]}}`, "id of an item"},
	} {
		if err := c.conn.Write(t.Context(), websocket.MessageText, []byte(tt.event)); err != nil {
			t.Fatal(err)
		}
		e := c.next()
		if b, _ := json.Marshal(at(e, "error", "message")); !strings.Contains(string(b), tt.want) {
			t.Errorf("%s: %s, want %s", tt.event, b, tt.want)
		}
		if kind, _ := at(e, "error", "type").(string); kind == "" {
			t.Errorf("%s: the error has no type", tt.event)
		}
	}
	c.say("response.create", "")
	if e := c.until("response.done"); at(e, "response", "status") != "failed" || !strings.Contains(at(e, "response", "status_details", "error", "message").(string), "nothing to answer") {
		t.Errorf("an empty conversation: %v", e["response"])
	}
	c.message("Hi")
	c.say("response.create", `"event_id":"e1","response":{"audio":{"output":{"voice":"nobody"}}}`)
	if e := c.until("response.done"); at(e, "response", "status_details", "error", "code") != "voice_not_found" {
		t.Errorf("an unknown voice: %v", e["response"])
	}
	c.say("response.create", `"response":{"output_modalities":["text"]}`)
	c.until("response.done")
	// A voice of a model whose voices are not known yet is found out when it is to speak.
	c.say("session.update", `"session":{"audio":{"output":{"voice":"zz","model":"`+otherVoice+`"}}}`)
	if e := c.until("session.updated"); at(e, "session", "audio", "output", "voice") != "zz" {
		t.Errorf("an unknown voice of an unknown model: %v", e["session"])
	}
}

// TestRealtimeTranscription: such a session only writes down.
func TestRealtimeTranscription(t *testing.T) {
	c := talk(t, newServer(t, httpapi.Options{Engine: &fake{}}), "?intent=transcription", nil)
	if at(c.seen[0], "session", "type") != "transcription" {
		t.Errorf("session %v", c.seen[0])
	}
	c.say("session.update", `"session":{"type":"transcription","include":["item.input_audio_transcription.logprobs"],"audio":{"input":{"transcription":{"model":"stub-ear","language":"de"},"turn_detection":{"type":"server_vad","silence_duration_ms":200,"prefix_padding_ms":0}}}}`)
	c.until("session.updated")
	for range 2 {
		c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1, true))
		c.say("input_audio_buffer.append", `"audio":%q`, pcm24(0.5, false))
		e := c.until("conversation.item.input_audio_transcription.completed")
		if text, _ := e["transcript"].(string); !strings.HasPrefix(text, "word0 word1") || at(e, "usage", "type") != "duration" || at(e, "logprobs", 0, "token") != " word0" {
			t.Errorf("transcript %v", e)
		}
	}
	c.say("response.create", "")
	if _, message := c.refused(); !strings.Contains(message, "transcription session") {
		t.Error(message)
	}
}

// TestRealtimeBeta: clients from before the API was released get events with their names.
func TestRealtimeBeta(t *testing.T) {
	for name, open := range map[string]func(*httptest.Server) *talker{
		"header": func(s *httptest.Server) *talker {
			return talk(t, s, chatQuery, http.Header{"OpenAI-Beta": {"realtime=v1"}})
		},
		"subprotocol": func(s *httptest.Server) *talker {
			return talk(t, s, chatQuery, nil, "realtime", "openai-beta.realtime-v1")
		},
	} {
		c := open(newServer(t, httpapi.Options{Engine: saying("Yes, it is.")}))
		c.say("session.update", `"session":{"modalities":["text","audio"],"voice":"af_bella","input_audio_format":"g711_alaw","input_audio_transcription":{"model":"stub-ear"},"turn_detection":null,"max_response_output_tokens":"inf"}`)
		up := c.until("session.updated")
		if at(up, "session", "voice") != "af_bella" || at(up, "session", "input_audio_format") != "g711_alaw" || at(up, "session", "modalities", 0) != "audio" || at(up, "session", "turn_detection") != nil {
			t.Errorf("%s: session %v", name, up["session"])
		}
		c.say("conversation.item.create", `"item":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}`)
		c.until("conversation.item.created")
		c.say("response.create", "")
		c.until("response.audio_transcript.delta")
		c.until("response.audio.delta")
		c.until("response.audio.done")
		c.until("response.audio_transcript.done")
		if got := at(c.until("response.done"), "response", "output", 0, "content", 0, "type"); got != "audio" {
			t.Errorf("%s: content of type %v", name, got)
		}
		if slices.Contains(c.types(), "conversation.item.added") {
			t.Errorf("%s: names of the released API: %q", name, c.types())
		}
	}
}
