package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
	if e["type"] == "" {
		c.t.Errorf("a failure of no type: %v", e)
	}
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
		t.Errorf("events that were not asked for: %q", c.types())
	}
	if m := e.last.Load().Prompt.Messages; len(m) != 1 || m[0].Text != "word0 word1 word2 word3" {
		t.Errorf("asked %+v", m)
	}
}

// TestRealtimeInterrupt: speech while a reply is made ends it, and the model hears no
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
