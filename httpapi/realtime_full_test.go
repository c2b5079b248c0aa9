package httpapi_test

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

// TestRealtimeWhole: the built-in model and the built-in voice, in text and in sound.
func TestRealtimeWhole(t *testing.T) {
	noLeaks(t) // the engine's among them, which ends before
	e, err := local.New(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), "?model=quern-tiny", nil)
	for _, mode := range []string{"text", "audio"} {
		c.say("session.update", `"session":{"output_modalities":[%q],"max_output_tokens":40}`, mode)
		c.until("session.updated")
		c.message("What is the capital of France?")
		c.say("response.create", "")
		over := c.until("response.done")
		part, _ := at(over, "response", "output", 0, "content", 0).(object)
		said, _ := part["text"].(string)
		if mode == "audio" {
			said, _ = part["transcript"].(string)
		}
		if at(over, "response", "status") != "completed" || !strings.Contains(said, "Paris") {
			t.Errorf("%s: %v", mode, over["response"])
		}
		c.say("conversation.item.delete", `"item_id":%q`, at(over, "response", "output", 0, "id"))
		c.until("conversation.item.deleted")
	}
	peak, n := 0, 0
	for _, ev := range c.seen {
		if ev["type"] != "response.output_audio.delta" {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(ev["delta"].(string))
		if err != nil {
			t.Fatal(err)
		}
		for ; len(b) > 0; b = b[2:] {
			v := int(int16(binary.LittleEndian.Uint16(b)))
			peak, n = max(peak, v, -v), n+1
		}
	}
	if n < 12000 || peak < 1000 {
		t.Errorf("%d samples, the loudest %d", n, peak)
	}
	// Nothing that listens is there: it is said by name.
	c.say("input_audio_buffer.append", `"audio":"AAAA"`)
	if code, message := c.refused(); !strings.Contains(message, "transcription") {
		t.Errorf("%s: %s", code, message)
	}
}
