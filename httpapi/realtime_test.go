package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quern/engine"
	"quern/httpapi"
)

// An object is an event as a test writes and reads it.
type object = map[string]any

// A talker is a client of /v1/realtime.
type talker struct {
	t    testing.TB
	conn *websocket.Conn
	seen []object
}

// talk opens a session; query and header may be empty. It takes session.created and
// conversation.created.
func talk(t testing.TB, s *httptest.Server, query string, header http.Header, protocols ...string) *talker {
	t.Helper()
	return talkTo(t, s.URL, s.Client(), query, header, protocols...)
}

// talkTo is talk with the server at a URL.
func talkTo(t testing.TB, url string, by *http.Client, query string, header http.Header, protocols ...string) *talker {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url+"/v1/realtime"+query, &websocket.DialOptions{HTTPClient: by, HTTPHeader: header, Subprotocols: protocols})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	c := &talker{t: t, conn: conn}
	c.until("session.created")
	c.until("conversation.created")
	return c
}

// say sends an event; its fields are JSON without the braces.
func (c *talker) say(kind, fields string, args ...any) {
	c.t.Helper()
	if fields != "" {
		fields = "," + fmt.Sprintf(fields, args...)
	}
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(`{"type":"`+kind+`"`+fields+`}`)); err != nil {
		c.t.Fatal(err)
	}
}

// next reads an event.
func (c *talker) next() object {
	c.t.Helper()
	_, b, err := c.conn.Read(c.t.Context())
	if err != nil {
		c.t.Fatalf("after %s: %v", strings.Join(c.types(), " "), err)
	}
	var e object
	if err := json.Unmarshal(b, &e); err != nil {
		c.t.Fatal(err)
	}
	c.seen = append(c.seen, e)
	return e
}

// until reads up to an event of a type. An error that is not waited for fails the test.
func (c *talker) until(kind string) object {
	c.t.Helper()
	for {
		e := c.next()
		if e["type"] == kind {
			return e
		}
		if e["type"] == "error" {
			c.t.Fatalf("before %s: %v", kind, e["error"])
		}
	}
}

// types are those of the events seen so far, runs of one counted once.
func (c *talker) types() (list []string) {
	for _, e := range c.seen {
		list = append(list, e["type"].(string))
	}
	return slices.Compact(list)
}

// refused wants an error, and returns its code and message.
func (c *talker) refused() (code, message string) {
	c.t.Helper()
	e := c.until("error")["error"].(object)
	return e["code"].(string), e["message"].(string)
}

// at finds a member along a path.
func at(e any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := e.(object)
			e = m[p]
		case int:
			list, _ := e.([]any)
			if p >= len(list) {
				return nil
			}
			e = list[p]
		}
	}
	return e
}

// pcm24 is PCM16 at 24 kHz in base64: so much sound, or silence, that the detector by
// energy takes for speech, or not.
func pcm24(seconds float64, loud bool) string {
	b := make([]byte, 2*int(seconds*24000))
	for i := range len(b) / 2 {
		v := 0.0
		if loud {
			v = 8000 * math.Sin(float64(i)/6) * math.Sin(float64(i)/500)
		}
		binary.LittleEndian.PutUint16(b[2*i:], uint16(int16(v)))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// message adds a user's words.
func (c *talker) message(text string) {
	c.t.Helper()
	c.say("conversation.item.create", `"item":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`, text)
	c.until("conversation.item.done")
}

// saying is a fake that answers with these pieces.
func saying(pieces ...string) *fake {
	e := &fake{}
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		if !yield(engine.Event{Type: engine.Admitted, PromptTokens: 7}, nil) {
			return
		}
		for i, p := range pieces {
			if ctx.Err() != nil {
				yield(engine.Event{}, ctx.Err())
				return
			}
			if !yield(engine.Event{Type: engine.Delta, Text: p, OutputTokens: i + 1}, nil) {
				return
			}
		}
		_ = yield(engine.Event{Type: engine.Finish, Reason: engine.ReasonStop, Tokens: len(pieces), OutputTokens: len(pieces)}, nil) &&
			yield(engine.Event{Type: engine.Done, PromptTokens: 7, OutputTokens: len(pieces)}, nil)
	}
	return e
}

const chatQuery = "?model=stub-chat"

func TestRealtimeText(t *testing.T) {
	e := saying("Hello", " there.")
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	if got := at(c.seen[0], "session", "model"); got != "stub-chat" {
		t.Errorf("the session's model is %v", got)
	}
	c.say("session.update", `"event_id":"mine","session":{"type":"realtime","output_modalities":["text"],"instructions":"Be brief.","max_output_tokens":50,"audio":{"input":{"turn_detection":null}}}`)
	up := c.until("session.updated")
	if at(up, "session", "instructions") != "Be brief." || at(up, "session", "audio", "input", "turn_detection") != nil {
		t.Errorf("session %v", up["session"])
	}
	c.message("Hi")
	c.say("response.create", "")
	done := c.until("response.done")
	want := []string{
		"session.created", "conversation.created", "session.updated", "conversation.item.added", "conversation.item.done",
		"response.created", "response.output_item.added", "conversation.item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "conversation.item.done", "response.done",
	}
	if got := c.types(); !slices.Equal(got, want) {
		t.Errorf("events\n%q\nwant\n%q", got, want)
	}
	if at(done, "response", "status") != "completed" || at(done, "response", "output", 0, "content", 0, "text") != "Hello there." ||
		at(done, "response", "output", 0, "content", 0, "type") != "output_text" {
		t.Errorf("response %v", done["response"])
	}
	if at(done, "response", "usage", "input_tokens") != 7.0 || at(done, "response", "usage", "output_tokens") != 2.0 {
		t.Errorf("usage %v", at(done, "response", "usage"))
	}
	if _, ok := at(done, "response", "timings", "first_token_ms").(float64); !ok {
		t.Errorf("timings %v", at(done, "response", "timings"))
	}
	r := e.last.Load()
	if m := r.Prompt.Messages; len(m) != 2 || m[0].Text != "Be brief." || m[1].Text != "Hi" || r.MaxTokens != 50 || !r.Prompt.AutoShorten {
		t.Errorf("asked %+v", r)
	}
	for _, ev := range c.seen {
		if id, _ := ev["event_id"].(string); !strings.HasPrefix(id, "event_") {
			t.Errorf("%v has event_id %q", ev["type"], id)
		}
	}
	// The reply is part of the conversation.
	c.message("And?")
	c.say("response.create", "")
	c.until("response.done")
	if m := e.last.Load().Prompt.Messages; len(m) != 4 || m[2].Role != "assistant" || m[2].Text != "Hello there." {
		t.Errorf("asked %+v", m)
	}
}

func TestRealtimeSpeech(t *testing.T) {
	e := saying("It is ", "nine o'clock. ", "Good ", "morning to ", "you all, dear friends.")
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("session.update", `"session":{"audio":{"input":{"transcription":{"model":"stub-ear"}},"output":{"voice":"af_bella","speed":2}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(0.6, false))
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1, true))
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(0.7, false))
	done := c.until("response.done")
	types := c.types()
	order := []string{
		"input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed", "conversation.item.added", "conversation.item.done",
		"response.created", "conversation.item.input_audio_transcription.delta", "conversation.item.input_audio_transcription.completed",
		"response.output_item.added", "response.content_part.added", "response.output_audio_transcript.delta",
	}
	last := -1
	for _, name := range order {
		i := slices.Index(types, name)
		if i <= last && name != "conversation.item.added" && name != "conversation.item.done" {
			t.Errorf("%s came at %d, after %d: %q", name, i, last, types)
		}
		last = i
	}
	if tail := types[len(types)-6:]; !slices.Equal(tail, []string{"response.output_audio.done", "response.output_audio_transcript.done", "response.content_part.done", "response.output_item.done", "conversation.item.done", "response.done"}) {
		t.Errorf("the last events are %q", tail)
	}
	var started, stopped, committed object
	sound := 0
	said := ""
	for _, ev := range c.seen {
		switch ev["type"] {
		case "input_audio_buffer.speech_started":
			started = ev
		case "input_audio_buffer.speech_stopped":
			stopped = ev
		case "input_audio_buffer.committed":
			committed = ev
		case "response.output_audio.delta":
			b, err := base64.StdEncoding.DecodeString(ev["delta"].(string))
			if err != nil {
				t.Fatal(err)
			}
			sound += len(b) / 2
		case "response.output_audio_transcript.delta":
			said += ev["delta"].(string)
		}
	}
	// 300 ms before 0.6 s, and the silence of 500 ms after 1.6 s, in hops of 32 ms.
	if from, to := started["audio_start_ms"].(float64), stopped["audio_end_ms"].(float64); from < 250 || from > 450 || to < 2050 || to > 2250 {
		t.Errorf("speech from %v to %v ms", from, to)
	}
	if started["item_id"] != committed["item_id"] || stopped["item_id"] != committed["item_id"] {
		t.Errorf("items %v, %v, %v", started["item_id"], stopped["item_id"], committed["item_id"])
	}
	const reply = "It is nine o'clock. Good morning to you all, dear friends."
	if said != reply || at(done, "response", "output", 0, "content", 0, "transcript") != reply {
		t.Errorf("said %q", said)
	}
	// Twelve words of 0.1 s at twice the speed, and the pause between the sentences.
	if want := 12*1200 + int(0.35*24000/2); sound != want {
		t.Errorf("%d samples, want %d", sound, want)
	}
	for _, name := range []string{"transcription_ms", "first_token_ms", "first_audio_ms", "turn_ms"} {
		if _, ok := at(done, "response", "timings", name).(float64); !ok {
			t.Errorf("timings %v lack %s", at(done, "response", "timings"), name)
		}
	}
	if m := e.last.Load().Prompt.Messages; len(m) != 1 || !strings.HasPrefix(m[0].Text, "word0 word1") {
		t.Errorf("asked %+v", m)
	}
	if r := e.spoken.Load(); r.Voice != "af_bella" || r.Speed != 2 {
		t.Errorf("spoken %+v", r)
	}
}

func TestRealtimeManual(t *testing.T) {
	e := saying("Yes.")
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("session.update", `"session":{"output_modalities":["text"],"audio":{"input":{"turn_detection":null,"format":{"type":"audio/pcmu"}}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.commit", "")
	if code, _ := c.refused(); code != "input_audio_buffer_commit_empty" {
		t.Errorf("an empty buffer: %s", code)
	}
	sound := base64.StdEncoding.EncodeToString(slices.Repeat([]byte{0x20, 0xa0}, 8000)) // 2 s
	c.say("input_audio_buffer.append", `"audio":%q`, sound)
	c.say("input_audio_buffer.clear", "")
	c.until("input_audio_buffer.cleared")
	c.say("input_audio_buffer.append", `"audio":%q`, sound)
	c.say("input_audio_buffer.commit", "")
	c.until("conversation.item.done")
	c.say("response.create", "")
	c.until("response.done")
	if slices.ContainsFunc(c.types(), func(s string) bool { return strings.Contains(s, "speech_st") || strings.Contains(s, "transcription") }) {
		t.Errorf("events nobody asked for: %q", c.types())
	}
	if m := e.last.Load().Prompt.Messages; len(m) != 1 || m[0].Text != "word0 word1 word2 word3" {
		t.Errorf("asked %+v", m)
	}
}

// TestRealtimeInterrupt: who speaks while a reply is made ends it, and the model hears no
// more of it than the client played.
func TestRealtimeInterrupt(t *testing.T) {
	e := &fake{}
	stopped := make(chan struct{})
	replies := 0
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		replies++
		if replies > 1 {
			_ = yield(admitted, nil) && yield(delta("Sorry."), nil) && yield(finish, nil) && yield(done, nil)
			return
		}
		_ = yield(admitted, nil) && yield(delta("One two three four. Five six. "), nil)
		<-ctx.Done() // before the next token
		close(stopped)
		yield(engine.Event{}, ctx.Err())
	}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.message("Count")
	c.say("response.create", "")
	sound := c.until("response.output_audio.delta")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(0.5, true))
	c.until("input_audio_buffer.speech_started")
	over := c.until("response.done")
	if at(over, "response", "status") != "cancelled" || at(over, "response", "status_details", "reason") != "turn_detected" || at(over, "response", "output", 0, "status") != "incomplete" {
		t.Errorf("response %v", over["response"])
	}
	<-stopped
	id := sound["item_id"].(string)
	c.say("conversation.item.truncate", `"item_id":%q,"content_index":0,"audio_end_ms":250`, id)
	c.until("conversation.item.truncated")
	c.say("conversation.item.retrieve", `"item_id":%q`, id)
	if got := at(c.until("conversation.item.retrieved"), "item", "content", 0, "transcript"); got != "One two" {
		t.Errorf("after 250 ms the model has said %q", got)
	}
	c.say("conversation.item.truncate", `"item_id":%q,"content_index":0,"audio_end_ms":99999`, id)
	if _, message := c.refused(); !strings.Contains(message, "audio_end_ms") {
		t.Errorf("too late a time: %s", message)
	}
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(0.7, false))
	if got := at(c.until("response.done"), "response", "status"); got != "completed" {
		t.Errorf("the next reply is %v", got)
	}
	if m := e.last.Load().Prompt.Messages; len(m) != 3 || m[1].Text != "One two" {
		t.Errorf("asked %+v", m)
	}
}

func TestRealtimeCancel(t *testing.T) {
	e := &fake{}
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("One "), nil)
		<-ctx.Done()
		yield(engine.Event{}, ctx.Err())
	}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("response.cancel", "")
	if code, _ := c.refused(); code != "response_cancel_not_active" {
		t.Errorf("nothing to cancel: %s", code)
	}
	c.message("Count")
	c.say("response.create", `"response":{"output_modalities":["text"],"metadata":{"a":"b"}}`)
	c.until("response.output_text.delta")
	c.say("response.create", "")
	if code, _ := c.refused(); code != "conversation_already_has_active_response" {
		t.Errorf("a second response: %s", code)
	}
	c.say("response.cancel", "")
	over := c.until("response.done")
	if at(over, "response", "status_details", "reason") != "client_cancelled" || at(over, "response", "metadata", "a") != "b" {
		t.Errorf("response %v", over["response"])
	}
}

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
		{`{"type":"session.update","session":{"prompt":{"id":"p"}}}`, "stored prompts"},
		{`{"type":"input_audio_buffer.append"}`, "audio is required"},
		{`{"type":"input_audio_buffer.append","audio":"?"}`, "not base64"},
		{`{"type":"input_audio_buffer.append","audio":"AAAA"}`, "3 bytes"},
		{`{"type":"output_audio_buffer.clear"}`, "WebRTC"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"x"}]}}`, "input_image"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"output_text","text":"x"}]}}`, "input_text, input_audio"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[]}}`, "at least one part"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":""}]}}`, "100 at least"},
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

// TestRealtimeBeta: clients from before the API was released hear the names they know.
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

// TestRealtimeDoor: who may open a session.
func TestRealtimeDoor(t *testing.T) {
	keyed := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, Realtime: httpapi.Realtime{Sessions: 3}})
	open := newServer(t, httpapi.Options{})
	dial := func(s *httptest.Server, query string, header http.Header, protocols ...string) int {
		conn, r, err := websocket.Dial(t.Context(), s.URL+"/v1/realtime"+query, &websocket.DialOptions{HTTPClient: s.Client(), HTTPHeader: header, Subprotocols: protocols})
		if err == nil {
			t.Cleanup(func() { conn.CloseNow() })
		}
		return r.StatusCode
	}
	key := http.Header{"Authorization": {"Bearer " + testKey}}
	for _, tt := range []struct {
		name      string
		s         *httptest.Server
		query     string
		header    http.Header
		protocols []string
		want      int
	}{
		{"no key", keyed, chatQuery, nil, nil, 401},
		{"a wrong key", keyed, chatQuery, nil, []string{"realtime", "openai-insecure-api-key.wrong"}, 401},
		{"a secret nobody made", keyed, chatQuery, http.Header{"Authorization": {"Bearer ek_0123"}}, nil, 401},
		{"a foreign page without keys", open, chatQuery, http.Header{"Origin": {"https://evil.example"}}, nil, 403},
		{"the server's own page", open, chatQuery, http.Header{"Origin": {open.URL}}, nil, 101},
		{"an unknown model", keyed, "?model=nobody", key, nil, 404},
		{"a model of another kind", keyed, "?model=stub-embed", key, nil, 400},
		{"a call", keyed, "?call_id=x", key, nil, 400},
		{"another intent", keyed, "?intent=x", key, nil, 400},
		{"a key", keyed, chatQuery, key, nil, 101},
		{"a key in a subprotocol", keyed, chatQuery, nil, []string{"realtime", "openai-insecure-api-key." + testKey}, 101},
		{"no model", keyed, "", key, nil, 101},
		{"one session too many", keyed, chatQuery, key, nil, 503},
	} {
		if got := dial(tt.s, tt.query, tt.header, tt.protocols...); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	r, err := open.Client().Get(open.URL + "/v1/realtime?model=stub-chat")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUpgradeRequired || r.Header.Get("Upgrade") != "websocket" {
		t.Errorf("a plain request: %d", r.StatusCode)
	}
	for _, path := range []string{"/v1/realtime", "/v1/realtime/calls", "/v1/realtime/calls/x/hangup", "/v1/realtime/sessions"} {
		if r := post(t, open, path, "{}"); r.StatusCode != 501 {
			t.Errorf("POST %s: %d, want 501", path, r.StatusCode)
		}
	}
}

// TestRealtimeSecret: a client secret opens sessions of its configuration, and nothing else.
func TestRealtimeSecret(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: saying("Yes."), Keys: []httpapi.Key{fakeKey}})
	ask := func(path, key, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	var made struct {
		Value   string `json:"value"`
		Expires int64  `json:"expires_at"`
		Session object `json:"session"`
	}
	if err := json.NewDecoder(ask("/v1/realtime/client_secrets", testKey, `{"expires_after":{"anchor":"created_at","seconds":60},"session":{"type":"realtime","model":"stub-chat","instructions":"Be kind.","output_modalities":["text"]}}`).Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Value, "ek_") || made.Expires == 0 || made.Session["instructions"] != "Be kind." {
		t.Errorf("secret %+v", made)
	}
	c := talk(t, s, "", nil, "realtime", "openai-insecure-api-key."+made.Value)
	if got := at(c.seen[0], "session", "instructions"); got != "Be kind." {
		t.Errorf("the session is told %v", got)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/realtime/client_secrets"} {
		if r := ask(path, made.Value, "{}"); r.StatusCode != 401 {
			t.Errorf("the secret opens %s: %d", path, r.StatusCode)
		}
	}
	for _, body := range []string{`{"expires_after":{"seconds":5}}`, `{"session":{"temperature":9}}`, `{"session":{"instructions":"` + strings.Repeat("x", 70000) + `"}}`} {
		if r := ask("/v1/realtime/client_secrets", testKey, body); r.StatusCode != 400 {
			t.Errorf("%.60s: %d", body, r.StatusCode)
		}
	}
}

// TestRealtimeLeaves: when the client leaves, all work stops before the next token.
func TestRealtimeLeaves(t *testing.T) {
	e := &fake{}
	begun, stopped := make(chan struct{}), make(chan struct{})
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("One two. "), nil)
		close(begun)
		<-ctx.Done()
		close(stopped)
		yield(engine.Event{}, ctx.Err())
	}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.message("Count")
	c.say("response.create", "")
	<-begun
	c.conn.CloseNow()
	<-stopped
}

// TestRealtimeSound: a session holds no more sound than it may.
func TestRealtimeSound(t *testing.T) {
	c := talk(t, newServer(t, httpapi.Options{Engine: saying("Yes."), Realtime: httpapi.Realtime{Audio: 2e9, Message: 1 << 20}}), chatQuery, nil)
	c.say("session.update", `"session":{"audio":{"input":{"turn_detection":null}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1.5, true))
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1, true))
	if _, message := c.refused(); !strings.Contains(message, "realtime.audio") {
		t.Error(message)
	}
	c.say("input_audio_buffer.clear", "")
	c.until("input_audio_buffer.cleared")
	// Who never pauses is answered when no more fits.
	c.say("session.update", `"session":{"output_modalities":["text"],"audio":{"input":{"turn_detection":{"type":"server_vad"}}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(2.5, true))
	c.until("input_audio_buffer.speech_stopped")
	c.until("response.done")
	// A message that is too long ends the session.
	c.say("input_audio_buffer.append", `"audio":%q`, strings.Repeat("A", 1<<20))
	for {
		if _, _, err := c.conn.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
				t.Errorf("closed with %v", err)
			}
			break
		}
	}
}

// TestRealtimeClocks: a session without an event, one that lasts for too long, and one
// whose client does not read, end.
func TestRealtimeClocks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits httpapi.Realtime
		after  time.Duration
		want   string
	}{
		{"idle", httpapi.Realtime{Idle: time.Minute, Total: -1}, time.Minute, "realtime.idle"},
		{"total", httpapi.Realtime{Idle: -1, Total: time.Hour}, time.Hour, "realtime.total"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := talk(t, newBubble(t, httpapi.Options{Realtime: tt.limits}), chatQuery, nil)
				begin := time.Now()
				code, message := c.refused()
				if took := time.Since(begin); code != "session_expired" || !strings.Contains(message, tt.want) || took != tt.after {
					t.Errorf("after %v: %s: %s", took, code, message)
				}
				if _, _, err := c.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					t.Errorf("closed with %v", err)
				}
			})
		})
	}
	t.Run("a client that does not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := &fake{}
			stopped := make(chan struct{})
			e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
				_ = yield(admitted, nil)
				for yield(delta("and on "), nil) && ctx.Err() == nil {
				}
				close(stopped)
			}
			c := talk(t, newBubble(t, httpapi.Options{Engine: e, StreamWrite: time.Minute}), chatQuery, nil)
			c.message("Talk")
			c.say("response.create", `"response":{"output_modalities":["text"]}`)
			c.until("response.output_text.delta")
			begin := time.Now()
			<-stopped
			if took := time.Since(begin); took != time.Minute {
				t.Errorf("it is waited for for %v, want 1m", took)
			}
		})
	})
}

// TestRealtimeShutdown: a session ends as the server does, once a reply under way is whole.
func TestRealtimeShutdown(t *testing.T) {
	e := &fake{}
	begun, more := make(chan struct{}), make(chan struct{})
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("One "), nil)
		close(begun)
		<-more
		_ = yield(delta("two."), nil) && yield(finish, nil) && yield(done, nil)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error)
	go func() { served <- newAPI(t, httpapi.Options{Engine: e}).Serve(ctx, ln) }()
	url := "http://" + ln.Addr().String()
	quiet, busy := talkTo(t, url, http.DefaultClient, chatQuery, nil), talkTo(t, url, http.DefaultClient, chatQuery, nil)
	busy.message("Count")
	busy.say("response.create", `"response":{"output_modalities":["text"]}`)
	<-begun
	stop()
	if code, _ := quiet.refused(); code != "shutting_down" {
		t.Errorf("the quiet one: %s", code)
	}
	close(more)
	if got := at(busy.until("response.done"), "response", "output", 0, "content", 0, "text"); got != "One two." {
		t.Errorf("the reply is %v", got)
	}
	if code, _ := busy.refused(); code != "shutting_down" {
		t.Errorf("the busy one: %s", code)
	}
	for _, c := range []*talker{quiet, busy} {
		if _, _, err := c.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("closed with %v", err)
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRealtimeMemory: where model and voice do not fit together, the reply is spoken when
// it is whole.
func TestRealtimeMemory(t *testing.T) {
	e := &tight{fake: saying("It is late. ", "Good night to all of you.")}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	if got := at(c.until("response.done"), "response", "status"); got != "completed" {
		t.Errorf("the response is %v", got)
	}
	if types := c.types(); !slices.Contains(types, "response.output_audio.delta") {
		t.Errorf("nothing is spoken: %q", types)
	}
	if e.refused.Load() != 1 {
		t.Errorf("%d models were refused", e.refused.Load())
	}
}

// A tight engine has memory for one model.
type tight struct {
	*fake
	held, refused atomic.Int64
}

type tightLease struct {
	engine.Lease
	release func()
}

func (l tightLease) Release() { l.release() }

func (e *tight) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	if e.held.Load() > 0 {
		e.refused.Add(1)
		return nil, engine.Errorf(engine.CodeOutOfMemory, "", "the models in use leave no room")
	}
	l, err := e.fake.Open(ctx, name, kinds...)
	if err != nil {
		return nil, err
	}
	e.held.Add(1)
	return tightLease{l, sync.OnceFunc(func() { e.held.Add(-1) })}, nil
}

// TestRealtimeMetrics: operators see sessions, responses and legs.
func TestRealtimeMetrics(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: saying("Yes, it is.")})
	c := talk(t, s, chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	c.until("response.done")
	r, err := s.Client().Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`realtime_sessions 1`, `realtime_responses_total{status="completed"} 1`, `realtime_leg_seconds_count{leg="first_token"} 1`,
		`realtime_leg_seconds_count{leg="first_audio"} 1`, `realtime_leg_seconds_count{leg="turn"} 1`} {
		if !strings.Contains(string(b), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// A brokenVoice is a fake whose model breaks when it is asked for what it is.
type brokenVoice struct{ *fake }

func (v brokenVoice) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (brokenVoice) CheckVoice(string, string) error { panic("broken") }

// TestRealtimePanic: a panic in work is a response that failed, the log says why, and the
// session goes on.
func TestRealtimePanic(t *testing.T) {
	var log logged
	c := talk(t, newServer(t, httpapi.Options{Engine: brokenVoice{saying("Yes.")}, Log: log.logger()}), chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	if e := c.until("response.done"); at(e, "response", "status") != "failed" || at(e, "response", "status_details", "error", "code") != "internal_error" {
		t.Errorf("response %v", e["response"])
	}
	if !strings.Contains(log.String(), "panic: broken") {
		t.Errorf("the log does not say why: %s", log.String())
	}
	c.say("response.create", `"response":{"output_modalities":["text"]}`)
	if got := at(c.until("response.done"), "response", "status"); got != "completed" {
		t.Errorf("the next is %v", got)
	}
}

// TestRealtimeItemSound: sound may come as an item, and is transcribed before it is answered.
func TestRealtimeItemSound(t *testing.T) {
	e := saying("Yes.")
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("conversation.item.create", `"item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":%q}]}`, pcm24(1, true))
	c.until("conversation.item.done")
	c.say("response.create", `"response":{"output_modalities":["text"]}`)
	c.until("response.done")
	if m := e.last.Load().Prompt.Messages; len(m) != 1 || m[0].Text != "word0 word1" {
		t.Errorf("asked %+v", m)
	}
}
