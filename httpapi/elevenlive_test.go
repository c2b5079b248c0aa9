package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

const livetext = "The old mill stands by the river, as it did before. Every morning the miller opens the gate, and the water begins to turn the heavy wheel. " +
	"Dr. Smith paid $3.50 for 2 of them in 1850, he said. By noon there is enough flour for the whole village. Is it so? Yes. It is."

// voices is a server with the built-in voice.
func voices(t *testing.T, o httpapi.Options) *httptest.Server {
	noLeaks(t)
	e, err := local.New(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	o.Engine = e
	return newServer(t, o)
}

// TestStreamInput: text in pieces sounds as the whole does over HTTP, and its times are
// those of the sound.
func TestStreamInput(t *testing.T) {
	s := voices(t, httpapi.Options{})
	r := post(t, s, "/v1/text-to-speech/af_bella?output_format=pcm_24000", fmt.Sprintf(`{"text":%q,"seed":5}`, livetext))
	whole, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatal(r.Status, err)
	}
	for _, n := range []int{1, 7, 40, len(livetext)} {
		w := write(t, s, "af_bella/stream-input?output_format=pcm_24000&seed=5&model_id=eleven_flash_v2_5&sync_alignment=true&language_code=en&apply_text_normalization=auto&optimize_streaming_latency=3&enable_logging=false", nil)
		w.say(`{"text":" ","voice_settings":{"stability":0.5,"similarity_boost":0.8,"use_speaker_boost":false},"generation_config":{"chunk_length_schedule":[50,120,160,290]}}`)
		for at := 0; at < len(livetext); at += n {
			w.say(`{"text":%q}`, livetext[at:min(at+n, len(livetext))])
		}
		w.say(`{"text":""}`)
		h := w.hear()
		if !bytes.Equal(h.sound, whole) {
			t.Errorf("%d bytes at a time: %d bytes of sound, over HTTP %d, or others", n, len(h.sound), len(whole))
		}
		if h.chars != " "+livetext {
			t.Errorf("%d bytes at a time: %q is aligned", n, h.chars)
		}
		if last := h.ends[len(h.ends)-1]; last > float64(len(whole))/48+1 || last < float64(len(whole))/48-300 {
			t.Errorf("%d bytes at a time: the last character ends at %v ms of %v", n, last, len(whole)/48)
		}
		for i := 1; i < len(h.ends); i++ {
			if h.ends[i] < h.ends[i-1]-2 {
				t.Errorf("%d bytes at a time: character %d ends before the one before it", n, i)
			}
		}
		if h.pieces < 2 {
			t.Errorf("%d bytes at a time: %d pieces", n, h.pieces)
		}
	}
}

// TestStreamInputHaste: sound comes while the connection waits for more.
func TestStreamInputHaste(t *testing.T) {
	s := voices(t, httpapi.Options{})
	for _, tt := range []struct {
		name, query string
		say         []string
		want        string // heard before more is sent
	}{
		{"flush", "", []string{`{"text":"Hello there, my "}`, `{"text":"friend","flush":true}`}, "Hello there, my friend"},
		{"flush alone", "", []string{`{"text":"Hello there, my friend "}`, `{"text":" ","flush":true}`}, "Hello there, my friend  "},
		{"trigger", "", []string{`{"text":"Here is the first sentence of those that we want. ","try_trigger_generation":true}`, `{"text":"And ","try_trigger_generation":true}`}, "Here is the first sentence of those that we want. "},
		{"the client of ElevenLabs for Python", "", []string{`{"text":" ","try_trigger_generation":true,"generation_config":{"chunk_length_schedule":[50]},"voice_settings":null}`,
			`{"text":"Here ","try_trigger_generation":true}`, `{"text":"is the first sentence, ","try_trigger_generation":true}`, `{"text":"of those that we want. ","try_trigger_generation":true}`},
			" Here is the first sentence, of those that we want. "},
		{"auto_mode", "auto_mode=true", []string{`{"text":"Here is the first, "}`}, "Here is the first, "},
		{"schedule", "", []string{`{"text":" ","generation_config":{"chunk_length_schedule":[50]}}`, `{"text":"Here is the first of them. And here is the second, which goes on and on until "}`}, " Here is the first of them. "},
		{"SSML", "enable_ssml_parsing=true", []string{`{"text":"Here is <break time=\"0.2s\"/> the first, "}`, `{"text":"<prosody rate=\"120%\">my friend.</prosody>","flush":true}`},
			`Here is <break time="0.2s"/> the first, <prosody rate="120%">my friend.</prosody>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := write(t, s, "af_bella/stream-input?output_format=pcm_16000&"+tt.query, nil)
			for _, m := range tt.say {
				w.say("%s", m)
			}
			var h hearing
			for len(h.chars) < len(tt.want) {
				o, err := w.next()
				if err != nil || o["error"] != nil {
					t.Fatalf("after %q: %v %v", h.chars, o, err)
				}
				h.add(t, o)
			}
			if h.chars != tt.want {
				t.Errorf("%q; want %q", h.chars, tt.want)
			}
			w.say(`{"text":"That is all."}`)
			w.say(`{"text":""}`)
			if rest := w.hear(); !strings.HasSuffix(rest.chars, "That is all.") {
				t.Errorf("then %q", rest.chars)
			}
		})
	}
	t.Run("nothing to say", func(t *testing.T) {
		w := write(t, s, "af_bella/stream-input", nil)
		w.say(`{"text":" "}`)
		w.say(`{"text":""}`)
		if h := w.hear(); len(h.sound) != 0 {
			t.Errorf("%d bytes", len(h.sound))
		}
	})
	t.Run("mp3", func(t *testing.T) {
		w := write(t, s, "af_bella/stream-input", nil)
		w.say(`{"text":%q}`, livetext)
		w.say(`{"text":""}`)
		if h := w.hear(); len(h.sound) < 50000 || h.sound[0] != 0xff && string(h.sound[:3]) != "ID3" {
			t.Errorf("%d bytes, which begin with %x", len(h.sound), h.sound[:min(4, len(h.sound))])
		}
	})
	for _, q := range []string{"mp3_44100", "mp3_22050_32", "ulaw_8000", "alaw_8000", "opus_48000_64", "pcm_44100"} {
		w := write(t, s, "21m00Tcm4TlvDq8ikWAM/stream-input?output_format="+q, nil)
		w.say(`{"text":"Hello there.","voice_settings":{"speed":1.2}}`)
		w.say(`{"text":""}`)
		if h := w.hear(); len(h.sound) < 1000 {
			t.Errorf("%s: %d bytes", q, len(h.sound))
		}
	}
}

// TestStreamInputRefused: what is not done is refused by name, before there is a
// connection where that can be.
func TestStreamInputRefused(t *testing.T) {
	s := newServer(t, httpapi.Options{SpeechChars: 100})
	for path, want := range map[string]struct {
		status int
		name   string
	}{
		"no-such-voice/stream-input":                          {404, "no-such-voice"},
		"af_bella/stream-input?output_format=ogg":             {422, "output_format"},
		"af_bella/stream-input?output_format=wav_24000":       {422, "output_format"},
		"af_bella/stream-input?inactivity_timeout=181":        {422, "inactivity_timeout"},
		"af_bella/stream-input?auto_mode=maybe":               {422, "auto_mode"},
		"af_bella/stream-input?sync_alignment=maybe":          {422, "sync_alignment"},
		"af_bella/stream-input?seed=-1":                       {422, "seed"},
		"af_bella/stream-input?optimize_streaming_latency=5":  {422, "optimize_streaming_latency"},
		"af_bella/stream-input?apply_text_normalization=off":  {400, "apply_text_normalization"},
		"af_bella/stream-input?apply_text_normalization=what": {422, "apply_text_normalization"},
		"af_bella/stream-input?language_code=it":              {422, "language_code"},
		"af_bella/stream-input?language_code=xx":              {422, "language_code"},
		"af_bella/stream-input?single_use_token=x":            {400, "single_use_token"},
		"af_bella/multi-stream-input?use_pvc_as_ivc=true":     {400, "use_pvc_as_ivc"},
	} {
		_, r, err := websocket.Dial(t.Context(), s.URL+"/v1/text-to-speech/"+path, &websocket.DialOptions{HTTPClient: s.Client()})
		if err == nil {
			t.Errorf("%s is accepted", path)
			continue
		}
		b, _ := io.ReadAll(r.Body)
		if r.StatusCode != want.status || !strings.Contains(string(b), want.name) || !strings.Contains(string(b), `"detail"`) {
			t.Errorf("%s: %s %s; want %d and %s", path, r.Status, b, want.status, want.name)
		}
	}
	if r, err := s.Client().Get(s.URL + "/v1/text-to-speech/af_bella/stream-input"); err != nil || r.StatusCode != 426 {
		t.Errorf("without an upgrade: %v %v", r.Status, err)
	} else {
		r.Body.Close()
	}
	for _, tt := range []struct {
		name string
		path string
		say  []string
		code string
		want string
	}{
		{"no JSON", "stream-input", []string{`{"text":`}, "invalid_input_message", "JSON"},
		{"no text", "stream-input", []string{`{"voice_settings":{}}`}, "invalid_input_message", "text"},
		{"text is a number", "stream-input", []string{`{"text":1}`}, "invalid_input_message", "text"},
		{"schedule", "stream-input", []string{`{"text":" ","generation_config":{"chunk_length_schedule":[0]}}`}, "invalid_value", "chunk_length_schedule"},
		{"schedule is no list", "stream-input", []string{`{"text":" ","generation_config":{"chunk_length_schedule":"x"}}`}, "invalid_input_message", "chunk_length_schedule"},
		{"dictionaries", "stream-input", []string{`{"text":" ","pronunciation_dictionary_locators":[{"pronunciation_dictionary_id":"a"}]}`}, "invalid_value", "pronunciation_dictionary_locators"},
		{"tempo changes", "stream-input", []string{`{"text":"Hello "}`, `{"text":"you","voice_settings":{"speed":1.1}}`}, "invalid_value", "speed"},
		{"too much", "stream-input", []string{`{"text":"` + strings.Repeat("word ", 30) + `"}`}, "string_above_max_length", "limits.speech_chars"},
		{"six contexts", "multi-stream-input", []string{`{"text":"a","context_id":"1"}`, `{"text":"a","context_id":"2"}`, `{"text":"a","context_id":"3"}`, `{"text":"a","context_id":"4"}`, `{"text":"a"}`, `{"text":"a","context_id":"6"}`},
			"max_active_conversations", "5 contexts"},
	} {
		w := write(t, s, "af_bella/"+tt.path, nil)
		for _, m := range tt.say {
			w.say("%s", m)
		}
		if code, message, status := w.refused(); code != tt.code || !strings.Contains(message, tt.want) || status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %s: %s, %d; want %s and %s", tt.name, code, message, status, tt.code, tt.want)
		}
	}
}

// TestStreamInputKeys: a key comes in a header, the address or the first message.
func TestStreamInputKeys(t *testing.T) {
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}})
	ends := func(path string, header http.Header, first string) {
		t.Helper()
		w := write(t, s, path, header)
		w.say("%s", first)
		w.say(`{"text":""}`)
		if h := w.hear(); len(h.sound) == 0 {
			t.Errorf("%s %v %s: nothing is heard", path, header, first)
		}
	}
	const hello = `{"text":"Hello there. "}`
	ends("af_bella/stream-input", http.Header{"Xi-Api-Key": {testKey}}, hello)
	ends("af_bella/stream-input", http.Header{"Authorization": {"Bearer " + testKey}}, hello)
	ends("af_bella/stream-input?authorization=Bearer%20"+testKey, nil, hello)
	for _, name := range []string{"xi_api_key", "xi-api-key", "authorization"} {
		ends("af_bella/stream-input", nil, fmt.Sprintf(`{"text":"Hello there. ",%q:%q}`, name, testKey))
	}
	ends("af_bella/stream-input", nil, `{"text":"Hello there. ","authorization":"Bearer `+testKey+`"}`)
	for _, first := range []string{hello, `{"text":" ","xi_api_key":"wrong"}`, `{"text":""}`} {
		w := write(t, s, "no-such-voice/stream-input", nil)
		w.say("%s", first)
		if code, _, status := w.refused(); code != "invalid_api_key" || status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %s, %d", first, code, status)
		}
	}
	w := write(t, s, "no-such-voice/stream-input", nil)
	w.say(`{"text":" ","xi_api_key":%q}`, testKey)
	if code, _, _ := w.refused(); code != "voice_not_found" {
		t.Errorf("a voice that is not there: %s", code)
	}
	for _, path := range []string{"af_bella/stream-input", "af_bella/stream-input?authorization=wrong"} {
		header := http.Header{}
		if !strings.Contains(path, "?") {
			header.Set("xi-api-key", "wrong")
		}
		if _, r, err := websocket.Dial(t.Context(), s.URL+"/v1/text-to-speech/"+path, &websocket.DialOptions{HTTPClient: s.Client(), HTTPHeader: header}); err == nil || r.StatusCode != 401 {
			t.Errorf("%s: accepted, or %v", path, r)
		}
	}
}

// TestMultiStreamInput: several texts by one connection.
func TestMultiStreamInput(t *testing.T) {
	s := voices(t, httpapi.Options{})
	w := write(t, s, "af_bella/multi-stream-input?output_format=pcm_24000", nil)
	heard := map[string]*hearing{}
	final := map[string]bool{}
	until := func(context string) {
		t.Helper()
		for !final[context] {
			o, err := w.next()
			if err != nil || o["error"] != nil {
				t.Fatal(o, err)
			}
			id, _ := o["contextId"].(string)
			if heard[id] == nil {
				heard[id] = &hearing{}
			}
			if o["isFinal"] == true {
				if o["is_final"] != true || o["audio"] != nil {
					t.Errorf("the last message of %q: %v", id, o)
				}
				final[id] = true
				continue
			}
			heard[id].add(t, o)
		}
	}
	w.say(`{"text":" ","context_id":"one","voice_settings":{"speed":1.2}}`)
	w.say(`{"text":"","context_id":"nobody"}`) // keeps alive what is not there
	w.say(`{"context_id":"nobody","flush":true}`)
	w.say(`{"text":"Hello from the first. ","context_id":"one"}`)
	w.say(`{"text":"And hello from the second. ","contextId":"two"}`)
	w.say(`{"text":"The default one speaks. "}`)
	w.say(`{"text":"This belongs to it, too. ","context_id":"one","flush":true}`)
	w.say(`{"context_id":"one","close_context":true}`)
	until("one")
	if got := heard["one"].chars; got != " Hello from the first. This belongs to it, too. " {
		t.Errorf("of the first %q", got)
	}
	w.say(`{"context_id":"two","close_context":true}`)
	until("two")
	if h := heard["two"]; h.pieces > 0 {
		t.Errorf("of the second, which was not flushed, %q", h.chars)
	}
	w.say(`{"text":"Again. ","context_id":"one","flush":true,"close_context":true}`)
	final["one"], heard["one"] = false, &hearing{}
	until("one")
	if got := heard["one"].chars; got != "Again. " {
		t.Errorf("of the first again %q", got)
	}
	w.say(`{"close_socket":true,"flush":true}`)
	until("")
	if got := heard[""].chars; got != "The default one speaks. " || len(final) != 3 {
		t.Errorf("of the default %q; contexts %v have ended", got, final)
	}
	if _, err := w.next(); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", err)
	}
}

// TestStreamInputTimes: who says nothing is not waited for.
func TestStreamInputTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := write(t, newBubble(t, httpapi.Options{}), "af_bella/stream-input?inactivity_timeout=5", nil)
		w.say(`{"text":"Hello"}`)
		time.Sleep(4 * time.Second)
		w.say(`{"text":" "}`)
		begin := time.Now()
		if code, message, status := w.refused(); code != "input_timeout_exceeded" || !strings.Contains(message, "inactivity_timeout") || status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %s, %d", code, message, status)
		}
		if took := time.Since(begin); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("it is waited for for %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := write(t, newBubble(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}}), "af_bella/stream-input", nil)
		begin := time.Now()
		if code, _, _ := w.refused(); code != "invalid_api_key" || time.Since(begin) != 10*time.Second {
			t.Errorf("%s after %v", code, time.Since(begin))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := write(t, newBubble(t, httpapi.Options{Realtime: httpapi.Realtime{Total: time.Minute}}), "af_bella/stream-input?inactivity_timeout=180", nil)
		if code, _, _ := w.refused(); code != "session_expired" {
			t.Error(code)
		}
	})
	synctest.Test(t, func(t *testing.T) { // of a socket with several texts, one may be quiet
		w := write(t, newBubble(t, httpapi.Options{}), "af_bella/multi-stream-input?inactivity_timeout=5", nil)
		w.say(`{"text":"Hello","context_id":"quiet"}`)
		for range 4 {
			w.say(`{"text":" ","context_id":"loud"}`)
			time.Sleep(3 * time.Second)
		}
		if o, err := w.next(); err != nil || o["contextId"] != "quiet" || o["isFinal"] != true {
			t.Error(o, err)
		}
	})
}

// A stuckVoice never ends what it began.
type stuckVoice struct {
	*fake
	begun, stopped chan struct{}
}

func (v stuckVoice) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (v stuckVoice) Speak(ctx context.Context, _ engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		close(v.begun)
		<-ctx.Done()
		close(v.stopped)
		yield(engine.Speech{}, ctx.Err())
	}
}

// TestStreamInputLeft: work ends with the connection, and so many may be open.
func TestStreamInputLeft(t *testing.T) {
	v := stuckVoice{&fake{}, make(chan struct{}), make(chan struct{})}
	s := newServer(t, httpapi.Options{Engine: v, Realtime: httpapi.Realtime{Sessions: 1}})
	w := write(t, s, "af_bella/stream-input", nil)
	w.say(`{"text":"Hello there. "}`)
	<-v.begun
	if _, r, err := websocket.Dial(t.Context(), s.URL+"/v1/text-to-speech/af_bella/stream-input", &websocket.DialOptions{HTTPClient: s.Client()}); err == nil || r.StatusCode != 503 {
		t.Errorf("a second connection: %v", r)
	}
	w.conn.CloseNow()
	<-v.stopped
}

// slowVoice is an engine whose voices take in a text and do not end speaking it.
type slowVoice struct{ *fake }

func (v slowVoice) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (slowVoice) Speak(ctx context.Context, _ engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		<-ctx.Done()
		yield(engine.Speech{}, ctx.Err())
	}
}

// TestClosedContexts: those that were closed and are still spoken have a bound of their own, which is
// said.
func TestClosedContexts(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: slowVoice{&fake{}}})
	w := write(t, s, "af_bella/multi-stream-input", nil)
	for i := range 16 {
		w.say(`{"text":"Hi.","context_id":"%d","flush":true}`, i)
		w.say(`{"context_id":"%d","close_context":true}`, i)
	}
	w.say(`{"text":"Hi.","context_id":"16"}`)
	if code, message, _ := w.refused(); code != "max_active_conversations" || !strings.Contains(message, "16 contexts") || !strings.Contains(message, "is_final") {
		t.Errorf("%s: %s", code, message)
	}
}
