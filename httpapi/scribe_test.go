package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quern/httpapi"
)

// A scribe is a client of ElevenLabs' realtime transcription that reads all the time.
type scribe struct {
	t    *testing.T
	conn *websocket.Conn
	mu   sync.Mutex
	seen []object
	end  error
}

func scribeTo(t *testing.T, s *httptest.Server, query string) *scribe {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), s.URL+"/v1/speech-to-text/realtime?model_id=scribe_v2_realtime"+query, &websocket.DialOptions{HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	c := &scribe{t: t, conn: conn}
	go func() {
		for {
			_, b, err := conn.Read(t.Context())
			c.mu.Lock()
			if err != nil {
				c.end = err
				c.mu.Unlock()
				return
			}
			var e object
			if json.Unmarshal(b, &e) == nil {
				c.seen = append(c.seen, e)
			}
			c.mu.Unlock()
		}
	}()
	synctest.Wait()
	return c
}

// then sends a message and returns what comes until the server is quiet.
func (c *scribe) then(text string) []object {
	c.t.Helper()
	c.mu.Lock()
	n := len(c.seen)
	c.mu.Unlock()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Error(err)
	}
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]object(nil), c.seen[n:]...)
}

// speak sends tenths of seconds at 16 kHz.
func (c *scribe) speak(tenths int, loud bool) (heard []object) {
	b := make([]byte, 3200)
	if loud {
		b = noise(0.1)
	}
	for range tenths {
		heard = append(heard, c.then(`{"message_type":"input_audio_chunk","audio_base_64":"`+base64.StdEncoding.EncodeToString(b)+`","commit":false,"sample_rate":16000}`)...)
	}
	return heard
}

const commitChunk = `{"message_type":"input_audio_chunk","audio_base_64":"","commit":true,"sample_rate":16000}`

func messages(list []object, kind string) (out []object) {
	for _, m := range list {
		if m["message_type"] == kind {
			out = append(out, m)
		}
	}
	return out
}

// TestScribe: the client commits; partial transcripts grow while it speaks.
func TestScribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := scribeTo(t, newBubble(t, httpapi.Options{Engine: &fake{}}), "&include_timestamps=true&include_language_detection=true&language_code=en&keyterms=Ada&audio_format=pcm_16000")
		started := messages(c.seen, "session_started")
		if len(started) != 1 || at(started[0], "config", "sample_rate") != 16000.0 || at(started[0], "config", "commit_strategy") != "manual" || at(started[0], "config", "language_code") != "en" ||
			at(started[0], "config", "include_timestamps") != true || at(started[0], "config", "keyterms", 0) != "Ada" || at(started[0], "config", "model_id") != "scribe_v2_realtime" {
			t.Fatalf("started %v", c.seen)
		}
		at := 0.0
		for range 2 {
			during := c.speak(30, true)
			partial := messages(during, "partial_transcript")
			if len(partial) < 2 || len(partial) != len(during) {
				t.Errorf("while it speaks %v", during)
			}
			for i, m := range partial {
				if !strings.HasPrefix(m["text"].(string), "word0") || i > 0 && len(m["text"].(string)) <= len(partial[i-1]["text"].(string)) {
					t.Errorf("partial %d: %v", i, m)
				}
			}
			end := c.then(commitChunk)
			done, timed := messages(end, "committed_transcript"), messages(end, "committed_transcript_with_timestamps")
			if len(done) != 1 || len(timed) != 1 || done[0]["text"] != timed[0]["text"] || !strings.HasPrefix(done[0]["text"].(string), "word0 word1 word2 word3") || timed[0]["language_code"] != "en" {
				t.Fatalf("committed %v", end)
			}
			text := ""
			list := timed[0]["words"].([]any)
			for _, w := range list {
				text += w.(object)["text"].(string)
			}
			first := list[0].(object)
			if text != done[0]["text"] || first["type"] != "word" || math.Abs(first["start"].(float64)-at) > 0.3 {
				t.Errorf("words %v, from %v on", list, at)
			}
			at += 3
		}
	})
}

// TestScribeVAD: pauses commit.
func TestScribeVAD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := scribeTo(t, newBubble(t, httpapi.Options{Engine: &fake{}}), "&commit_strategy=vad&vad_silence_threshold_secs=0.9&vad_threshold=0.5&model_id=x")
		c.speak(10, false)
		all := c.speak(20, true)
		if len(messages(all, "partial_transcript")) == 0 {
			t.Errorf("while it speaks %v", all)
		}
		if early := c.speak(8, false); len(messages(early, "committed_transcript")) != 0 {
			t.Errorf("after 0.8 s %v", early)
		}
		if end := c.speak(4, false); len(messages(end, "committed_transcript")) != 1 || len(messages(end, "committed_transcript_with_timestamps")) != 0 {
			t.Errorf("after 1.2 s %v", end)
		}
		if quiet := c.speak(40, false); len(quiet) != 0 {
			t.Errorf("in silence %v", quiet)
		}
		if next := append(c.speak(20, true), c.then(`{"message_type":"commit"}`)...); len(messages(next, "committed_transcript")) != 1 {
			t.Errorf("the client commits: %v", next)
		}
	})
}

// TestScribeBad: errors have ElevenLabs' names, and the session goes on.
func TestScribeBad(t *testing.T) {
	for query, want := range map[string]string{
		"&audio_format=mp3":                 "audio_format must be one of",
		"&commit_strategy=never":            "commit_strategy must be manual or vad",
		"&vad_threshold=1":                  "vad_threshold must be from 0.1 to 0.9",
		"&vad_silence_threshold_secs=x":     "vad_silence_threshold_secs",
		"&language_code=klingon":            "language_code",
		"&transcript_edit=x":                "transcript_edit is not supported",
		"&entity_detection=all":             "entity_detection is not supported",
		"&no_verbatim=true":                 "no_verbatim is not supported",
		"&token=abc":                        "token is not supported",
		"&keyterms=antidisestablishmentism": "at most 20",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := scribeTo(t, newBubble(t, httpapi.Options{Engine: &fake{}}), query)
			if len(c.seen) != 1 || c.seen[0]["message_type"] != "invalid_request" || !strings.Contains(c.seen[0]["error"].(string), want) || websocket.CloseStatus(c.end) != websocket.StatusPolicyViolation {
				t.Errorf("%s: %v, %v", query, c.seen, c.end)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := scribeTo(t, newBubble(t, httpapi.Options{Engine: &fake{}, Realtime: httpapi.Realtime{Audio: 3e9}}), "")
		for _, tt := range []struct{ text, kind, want string }{
			{`{`, "input_error", "JSON"},
			{`{}`, "input_error", "message_type"},
			{`{"message_type":"x"}`, "input_error", "must be input_audio_chunk"},
			{`{"message_type":"input_audio_chunk"}`, "input_error", "audio_base_64 is required"},
			{`{"message_type":"input_audio_chunk","audio_base_64":"?"}`, "input_error", "not base64"},
			{`{"message_type":"input_audio_chunk","audio_base_64":"AA=="}`, "input_error", "2 each"},
			{`{"message_type":"input_audio_chunk","audio_base_64":"","sample_rate":8000}`, "input_error", "must be 16000"},
			{commitChunk, "commit_throttled", "100 ms"},
			{`{"message_type":"input_audio_chunk","audio_base_64":"` + base64.StdEncoding.EncodeToString(noise(4)) + `"}`, "queue_overflow", "realtime.audio"},
		} {
			if got := c.then(tt.text); len(got) != 1 || got[0]["message_type"] != tt.kind || !strings.Contains(got[0]["error"].(string), tt.want) {
				t.Errorf("%.60s: %v, want %s", tt.text, got, tt.kind)
			}
		}
		all := append(c.speak(35, true), c.then(commitChunk)...)
		if done := messages(all, "committed_transcript"); len(done) != 2 { // one when it was as long as it may be
			t.Errorf("the session goes on: %v", all)
		}
	})
}

// TestScribeLeast: 100 ms of sound can be committed at every rate.
func TestScribeLeast(t *testing.T) {
	for format, bytes := range map[string]int{"pcm_8000": 1600, "pcm_16000": 3200, "pcm_44100": 8820, "ulaw_8000": 800} {
		synctest.Test(t, func(t *testing.T) {
			c := scribeTo(t, newBubble(t, httpapi.Options{Engine: &fake{}}), "&audio_format="+format)
			for range 2 {
				all := c.then(`{"message_type":"input_audio_chunk","audio_base_64":"` + base64.StdEncoding.EncodeToString(make([]byte, bytes)) + `","commit":true}`)
				if len(messages(all, "committed_transcript")) != 1 {
					t.Errorf("%s: %v", format, all)
				}
			}
		})
	}
}

// TestScribeFails: an error of the recogniser is sent, and the session goes on; its work
// ends when the client leaves.
func TestScribeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		e := &ear{fake: &fake{}, hear: func(ctx context.Context, run int) error {
			switch run {
			case 0:
				return errors.New("broken")
			case 1:
				return nil
			}
			<-ctx.Done()
			stopped = true
			return ctx.Err()
		}}
		c := scribeTo(t, newBubble(t, httpapi.Options{Engine: e}), "")
		if got := append(c.speak(20, true), c.then(commitChunk)...); len(messages(got, "transcriber_error")) != 1 || len(messages(got, "committed_transcript")) != 0 {
			t.Errorf("broken: %v", got)
		}
		if got := append(c.speak(9, true), c.then(commitChunk)...); len(messages(got, "committed_transcript")) != 1 {
			t.Errorf("the next: %v", got)
		}
		c.speak(20, true)
		c.conn.CloseNow()
		synctest.Wait()
		if !stopped {
			t.Error("transcription goes on without a client")
		}
	})
}

// TestScribeDoor: keys, limits and clocks.
func TestScribeDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{Engine: &fake{}, Keys: []httpapi.Key{fakeKey}, Realtime: httpapi.Realtime{Sessions: 1, Idle: time.Minute}})
		dial := func(path string, h http.Header) (*websocket.Conn, int) {
			conn, r, err := websocket.Dial(t.Context(), s.URL+path, &websocket.DialOptions{HTTPClient: s.Client(), HTTPHeader: h})
			if err == nil {
				t.Cleanup(func() { conn.CloseNow() })
			}
			return conn, r.StatusCode
		}
		const path = "/v1/speech-to-text/realtime?model_id=x"
		key := http.Header{"Xi-Api-Key": {testKey}}
		if _, code := dial(path, nil); code != 401 {
			t.Errorf("without a key: %d", code)
		}
		conn, code := dial("/elevenlabs"+path, key)
		if code != 101 {
			t.Fatalf("with a key: %d", code)
		}
		if _, code := dial(path, key); code != 503 {
			t.Errorf("one too many: %d", code)
		}
		var last object
		for {
			_, b, err := conn.Read(t.Context())
			if err != nil {
				if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					t.Error(err)
				}
				break
			}
			json.Unmarshal(b, &last)
		}
		if last["message_type"] != "insufficient_audio_activity" || !strings.Contains(last["error"].(string), "realtime.idle") {
			t.Errorf("who says nothing hears %v", last)
		}
	})
	s := newServer(t, httpapi.Options{Engine: &fake{}})
	r, err := s.Client().Get(s.URL + "/v1/speech-to-text/realtime?model_id=x")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain request: %d", r.StatusCode)
	}
}
