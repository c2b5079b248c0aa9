package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"quern/codecs"
	"quern/httpapi"
)

const speechText = "Hello there. This is a test of 3 sentences. The end"

// heard decodes a file and returns its length in seconds.
func heard(t *testing.T, file []byte, format string) float64 {
	t.Helper()
	s, err := codecs.Open(bytes.NewReader(file), codecs.Options{})
	if err != nil {
		t.Fatalf("%d bytes: %v", len(file), err)
	}
	if s.Format() != format {
		t.Errorf("the answer is %s; want %s", s.Format(), format)
	}
	n, buf := 0, make([]float32, 4096)
	for {
		k, err := s.Read(buf)
		n += k
		if err == io.EOF {
			return float64(n/s.Channels()) / float64(s.Rate())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// events returns the objects of a stream of server-sent events.
func events(t *testing.T, b []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for block := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		var v map[string]any
		if !ok || json.Unmarshal([]byte(data), &v) != nil {
			t.Fatalf("event %q", block)
		}
		out = append(out, v)
	}
	return out
}

func audio(t *testing.T, list []map[string]any, field string) []byte {
	t.Helper()
	var out []byte
	for _, e := range list {
		if s, ok := e[field].(string); ok {
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b...)
		}
	}
	return out
}

func TestSpeech(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const want = 1.1 // eleven words
	for _, tt := range []struct{ extra, mime, format string }{
		{``, "audio/mpeg", "mp3"},
		{`,"response_format":"wav"`, "audio/wav", "wav"},
		{`,"response_format":"wav","stream":true`, "audio/wav", "wav"},
		{`,"response_format":"flac"`, "audio/flac", "flac"},
		{`,"response_format":"opus"`, "audio/ogg", "ogg/opus"},
		{`,"response_format":"aac"`, "audio/aac", "aac"},
		{`,"response_format":"m4a"`, "audio/mp4", "mp4/aac-lc"},
		{`,"response_format":"m4a","stream":true`, "audio/mp4", "mp4/aac-lc"},
		{`,"speed":2,"response_format":"wav"`, "audio/wav", "wav"},
	} {
		r := post(t, s, "/v1/audio/speech", `{"input":"`+speechText+`","voice":{"id":"af_bella"}`+tt.extra+`}`)
		file := body(t, r)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != tt.mime {
			t.Fatalf("%s: %d %s %.200s", tt.extra, r.StatusCode, r.Header.Get("Content-Type"), file)
		}
		seconds := want
		if strings.Contains(tt.extra, "speed") {
			seconds /= 2
		}
		if got := heard(t, file, tt.format); math.Abs(got-seconds) > 0.12 { // an MP3 ends with a whole frame
			t.Errorf("%s: %.3f s; want %.3f", tt.extra, got, seconds)
		}
		size := binary.LittleEndian.Uint32(append(file[:8:8], 0)[4:])
		if tt.mime == "audio/wav" && (size == math.MaxUint32) != strings.Contains(tt.extra, "stream") {
			t.Errorf("%s: the header says %d bytes", tt.extra, size)
		}
	}
	r := post(t, s, "/v1/audio/speech", `{"input":"`+speechText+`","voice":"alloy","response_format":"pcm"}`)
	if b := body(t, r); len(b) != 2*want*fakeRate {
		t.Errorf("pcm of %d bytes", len(b))
	}
}

func TestSpeechEvents(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	r := post(t, s, "/v1/audio/speech", `{"input":"`+speechText+`","voice":"af_bella","stream_format":"sse"}`)
	list := events(t, body(t, r))
	if len(list) < 3 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d events of %s", len(list), r.Header.Get("Content-Type"))
	}
	last := list[len(list)-1]
	usage, _ := last["usage"].(map[string]any)
	if last["type"] != "speech.audio.done" || usage["input_tokens"] != float64(len(speechText)) || usage["output_tokens"] != 44.0 {
		t.Errorf("the last event is %v", last)
	}
	if got := heard(t, audio(t, list, "audio"), "mp3"); math.Abs(got-1.1) > 0.12 {
		t.Errorf("the events are %.3f s of sound", got)
	}
	whole := body(t, post(t, s, "/v1/audio/speech", `{"input":"`+speechText+`","voice":"af_bella"}`))
	if !bytes.Equal(whole, audio(t, list, "audio")) {
		t.Error("events and file differ")
	}
}

func TestSpeechErrors(t *testing.T) {
	s := newServer(t, httpapi.Options{SpeechChars: 20})
	for _, tt := range []struct{ body, code, param string }{
		{`{"voice":"af_bella"}`, "missing_required_parameter", "input"},
		{`{"input":"  ","voice":"af_bella"}`, "invalid_value", "input"},
		{`{"input":"` + strings.Repeat("é", 21) + `","voice":"af_bella"}`, "string_above_max_length", "input"},
		{`{"input":"x"}`, "missing_required_parameter", "voice"},
		{`{"input":"x","voice":"nobody"}`, "voice_not_found", "voice"},
		{`{"input":"x","voice":"af_bella","speed":0.49}`, "invalid_value", "speed"},
		{`{"input":"x","voice":"af_bella","speed":"1"}`, "invalid_type", "speed"},
		{`{"input":"x","voice":"af_bella","response_format":"mp4"}`, "invalid_value", "response_format"},
		{`{"input":"x","voice":"af_bella","response_format":"wav","stream_format":"sse"}`, "invalid_value", "response_format"},
		{`{"input":"x","voice":"af_bella","model":"stub-embed"}`, "model_not_supported", "model"},
		{`{"input":"?!","voice":"af_bella","lang_code":"xx"}`, "invalid_value", "lang_code"},
		{`{"input":"x","voice":"af_bella","language":"ko"}`, "invalid_value", "language"},
		{`{"input":"x","voice":"af_bella","input_type":"html"}`, "invalid_value", "input_type"},
		{`{"input":"x","voice":"af_bella","lexicon":{"x":"ʘ"}}`, "invalid_value", "lexicon"},
		{`{"input":"x","voice":"af_bella","lexicon":7}`, "invalid_type", "lexicon"},
		{`{"input":"x","voice":"af_bella","lang_code":"it"}`, "invalid_value", "lang_code"},
		{`{"input":"x","voice":"af_bella","instructions":7}`, "invalid_type", "instructions"},
		{`{"input":"x","voice":"af_bella","stream_format":"ws"}`, "invalid_value", "stream_format"},
		{`{"input":"x","voice":7}`, "invalid_type", "voice"},
		{`{"input":"x","voice":"af_bella","ssml":"yes"}`, "invalid_type", "ssml"},
		{`{"input":"x","voice":"af_bella","sample_rate":8000}`, "unsupported_parameter", "sample_rate"},
		{`{"input":"x","voice":"af_bella","normalization_options":{"normalize":false}}`, "unsupported_parameter", "normalization_options.normalize"},
		{`{"input":"x","voice":{}}`, "missing_required_parameter", "voice.id"},
	} {
		msg := wantFailure(t, post(t, s, "/v1/audio/speech", tt.body), 400, tt.code, tt.param)
		if strings.Contains(tt.body, "mp4") && msg != `response_format must be one of mp3, opus, aac, flac, wav, pcm, m4a, got "mp4"` {
			t.Errorf("message %q", msg)
		}
	}
	wantFailure(t, post(t, s, "/v1/audio/voices", `{}`), 501, "not_implemented", "")
}

// TestHowRead: what begins with <speak> is SSML unless the request says otherwise, and a
// lexicon goes with its request.
func TestHowRead(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		fields  string
		ssml    bool
		lexicon int
	}{
		{`"input":"Hi."`, false, 0},
		{`"input":" <speak>Hi.</speak>"`, true, 0},
		{`"input":"<speak>Hi.</speak>","input_type":"text"`, false, 0},
		{`"input":"Hi.","input_type":"ssml"`, true, 0},
		{`"input":"Hi.","ssml":true`, true, 0},
		{`"input":"<speak>Hi.</speak>","ssml":false`, false, 0},
		{`"input":"Hi.","input_type":"text","ssml":true`, false, 0},
		{`"input":"Hi.","lexicon":{"hi":"hoʊ","ho":"=hi"}`, false, 2},
		{`"input":"Hi.","lexicon":"hi hoʊ"`, false, 1},
	} {
		body(t, post(t, s, "/v1/audio/speech", `{`+tt.fields+`,"voice":"af_bella"}`))
		got := f.spoken.Load()
		n := 0
		if got.Lexicon != nil {
			n = got.Lexicon.Len()
		}
		if got.SSML != tt.ssml || n != tt.lexicon {
			t.Errorf("%s: SSML %v, a lexicon of %d", tt.fields, got.SSML, n)
		}
	}
	body(t, post(t, s, "/v1/text-to-speech/af_bella", `{"text":"<speak>Hi.</speak>","pronunciation_dictionary_locators":[]}`))
	if !f.spoken.Load().SSML {
		t.Error("the vendor's text is not read as SSML")
	}
	r := post(t, s, "/v1/text-to-speech/af_bella", `{"text":"Hi.","pronunciation_dictionary_locators":[{"pronunciation_dictionary_id":"a","version_id":"b"}]}`)
	if text := string(body(t, r)); r.StatusCode != 422 || !strings.Contains(text, "pronunciation_dictionary_locators") {
		t.Errorf("dictionaries of the vendor: %d %s", r.StatusCode, text)
	}
}

// TestVendorRefused: what a member of the vendor's asks for is done, has no effect that is
// told, or is refused by name before a sound, on every route.
func TestVendorRefused(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		query, member string
		status        int
		loc, name     string // "" is spoken
	}{
		{"", `"language_code":"it"`, 422, "body", "language_code"},
		{"", `"language_code":"xx"`, 422, "body", "language_code"},
		{"", `"language_code":7`, 422, "body", "language_code"},
		{"", `"apply_text_normalization":"off"`, 400, "", "apply_text_normalization"},
		{"", `"apply_text_normalization":"maybe"`, 422, "body", "apply_text_normalization"},
		{"", `"apply_text_normalization":true`, 422, "body", "apply_text_normalization"},
		{"", `"apply_language_text_normalization":"on"`, 422, "body", "apply_language_text_normalization"},
		{"", `"use_pvc_as_ivc":true`, 400, "", "use_pvc_as_ivc"},
		{"", `"use_pvc_as_ivc":"x"`, 422, "body", "use_pvc_as_ivc"},
		{"", `"pronunciation_dictionary_locators":[{"pronunciation_dictionary_id":"a"}]`, 422, "body", "pronunciation_dictionary_locators"},
		{"", `"pronunciation_dictionary_locators":"a"`, 422, "body", "pronunciation_dictionary_locators"},
		{"", `"previous_request_ids":["a","b","c","d"]`, 422, "body", "previous_request_ids"},
		{"", `"next_request_ids":[1]`, 422, "body", "next_request_ids"},
		{"", `"previous_text":1`, 422, "body", "previous_text"},
		{"", `"voice_settings":{"stability":2}`, 422, "body", "stability"},
		{"", `"voice_settings":{"use_speaker_boost":1}`, 422, "body", "use_speaker_boost"},
		{"", `"model_id":1`, 422, "body", "model_id"},
		{"", `"seed":-1`, 422, "body", "seed"},
		{"?optimize_streaming_latency=5", "", 422, "query", "optimize_streaming_latency"},
		{"?enable_logging=perhaps", "", 422, "query", "enable_logging"},
		{"?output_format=ogg", "", 422, "", "output_format"},
		{"", `"lexicon":"<lexicon>"`, 422, "body", "lexicon"},
		{"", `"lexicon":{"Hi":"haɪ"},"input_type":"text"`, 200, "", ""},
		{"", `"input_type":"html"`, 422, "body", "input_type"},
		{"", `"text":"<speak><audio/></speak>"`, 200, "", ""}, // the fake does not read SSML
		{"?optimize_streaming_latency=4&enable_logging=false", `"language_code":"EN","apply_text_normalization":"on","apply_language_text_normalization":true,"use_pvc_as_ivc":false,` +
			`"previous_text":"He said:","next_text":"No.","previous_request_ids":["a"],"next_request_ids":[],"pronunciation_dictionary_locators":null,` +
			`"voice_settings":{"stability":0.5,"similarity_boost":1,"style":0,"use_speaker_boost":true,"speed":1.2},"seed":4294967295,"model_id":"eleven_v3"`, 200, "", ""},
	} {
		for _, path := range []string{"", "/stream", "/stream/sse", "/with-timestamps", "/stream/with-timestamps"} {
			f.spoken.Store(nil)
			members := `{"text":"Hi."`
			if tt.member != "" {
				members += "," + tt.member
			}
			r := post(t, s, "/v1/text-to-speech/af_bella"+path+tt.query, members+"}")
			b := body(t, r)
			what := path + tt.query + " " + tt.member
			if r.StatusCode != tt.status || (f.spoken.Load() != nil) != (tt.status == 200) {
				t.Errorf("%s: %d %.200s, spoken %v; want %d", what, r.StatusCode, b, f.spoken.Load() != nil, tt.status)
				continue
			}
			if tt.status == 200 {
				if got, want := r.Header.Values(warningHeader), 3*strings.Count(tt.member, "previous_text"); len(got) != want {
					t.Errorf("%s: warnings %q; want %d", what, got, want)
				}
				continue
			}
			var said struct{ Detail json.RawMessage }
			if err := json.Unmarshal(b, &said); err != nil || !strings.Contains(string(said.Detail), tt.name) {
				t.Errorf("%s: %s; want it named", what, b)
			}
			if tt.loc != "" && !strings.Contains(string(said.Detail), `"loc":["`+tt.loc+`",`) {
				t.Errorf("%s: %s; want it in the %s", what, b, tt.loc)
			}
		}
	}
	r := f.spoken.Load()
	if r.Language != "EN" || r.Speed != float64(float32(1.2)) || r.Seed != 1<<32-1 {
		t.Errorf("what is spoken is %+v", r)
	}
}

// TestVendorMisplaced: what OpenAI's speech or the address has is no member of the vendor's body, which
// the answer says; how a text is read may be said as there.
func TestVendorMisplaced(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for member, want := range map[string]string{
		`"output_format":"pcm_16000"`: "?output_format=", `"response_format":"wav"`: "?output_format=", `"speed":1.2`: "voice_settings.speed",
		`"language":"en"`: "language_code", `"lang_code":"a"`: "language_code", `"voice":"af_sky"`: "path", `"speed":null`: "",
	} {
		r := post(t, s, "/v1/text-to-speech/af_bella", `{"text":"Hi.",`+member+`}`)
		if w := r.Header.Get(warningHeader); r.StatusCode != 200 || (w == "") != (want == "") || !strings.Contains(w, want) {
			t.Errorf("%s: %d, warning %q", member, r.StatusCode, w)
		}
	}
	body(t, post(t, s, "/v1/text-to-speech/af_bella", `{"text":"<speak>Hi.","input_type":"text","lexicon":{"hi":"haɪ"}}`))
	if got := f.spoken.Load(); got.SSML || got.Lexicon == nil || got.Lexicon.Len() != 1 {
		t.Errorf("read with %+v", got)
	}
}

// TestVendorModel: a model of ours has its own name, and the vendor's names mean the
// default one.
func TestVendorModel(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for name, want := range map[string]string{"": voiceModel, "eleven_v3": voiceModel, voiceModel: voiceModel, otherVoice: otherVoice, chatModel: voiceModel} {
		f.asked.Store(nil)
		body(t, post(t, s, "/v1/text-to-speech/af_bella", `{"text":"Hi.","model_id":"`+name+`"}`))
		if got := f.asked.Load(); got == nil || *got != want {
			t.Errorf("model_id %q is spoken by %v; want %s", name, got, want)
		}
		f.asked.Store(nil)
		w := write(t, s, "af_bella/stream-input?model_id="+name, nil)
		w.say(`{"text":""}`)
		if got := f.asked.Load(); got == nil || *got != want {
			t.Errorf("model_id %q of a WebSocket is spoken by %v; want %s", name, got, want)
		}
	}
}

func TestVendorSpeech(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const path = "/v1/text-to-speech/af_bella"
	say := func(path, accept, key string) *http.Response {
		t.Helper()
		req, err := http.NewRequest("POST", s.URL+path, strings.NewReader(`{"text":"`+speechText+`","model_id":"eleven_multilingual_v2","voice_settings":{"speed":9}}`))
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			req.Header.Set("Accept", accept)
		}
		if key != "" {
			req.Header.Set("xi-api-key", key)
		}
		r, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	for _, tt := range []struct{ path, accept, key, mime string }{
		{path, "", "", "audio/mpeg"},
		{path + "?output_format=pcm_16000", "", "", "audio/pcm"},
		{path + "?output_format=ulaw_8000", "", "", "audio/basic"},
		{path + "?output_format=wav_44100", "", "", "audio/wav"},
		{path + "?output_format=opus_48000_64", "", "", "audio/ogg"},
		{path + "/stream", "", "", "text/event-stream"},
		{path + "/stream", "", "k", "audio/mpeg"},
		{path + "/stream", "audio/mpeg", "", "audio/mpeg"},
		{path + "/stream", "text/event-stream", "k", "text/event-stream"},
		{path + "/stream/sse", "", "k", "text/event-stream"},
		{"/elevenlabs" + path + "/stream", "", "", "audio/mpeg"},
		{path + "/with-timestamps", "", "", "application/json"},
		{path + "/stream/with-timestamps", "", "", "application/x-ndjson"},
	} {
		r := say(tt.path, tt.accept, tt.key)
		b := body(t, r)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != tt.mime || len(b) == 0 {
			t.Errorf("%s: %d %s, %d bytes; want %s", tt.path, r.StatusCode, r.Header.Get("Content-Type"), len(b), tt.mime)
		}
	}
	list := events(t, body(t, say(path+"/stream/sse", "", "k")))
	if list[0]["isFinal"] != false || list[len(list)-1]["isFinal"] != true {
		t.Errorf("isFinal is %v first and %v last", list[0]["isFinal"], list[len(list)-1]["isFinal"])
	}
}

func TestAlignment(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, path := range []string{"/with-timestamps", "/stream/with-timestamps"} {
		r := post(t, s, "/v1/text-to-speech/bm_george"+path, `{"text":"`+speechText+`"}`)
		var text strings.Builder
		last := 0.0
		var sound []byte
		for d := json.NewDecoder(r.Body); d.More(); {
			var line struct {
				Audio     []byte `json:"audio_base64"`
				Alignment *struct {
					Characters []string  `json:"characters"`
					Starts     []float64 `json:"character_start_times_seconds"`
					Ends       []float64 `json:"character_end_times_seconds"`
				} `json:"alignment"`
			}
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			sound = append(sound, line.Audio...)
			if line.Alignment == nil {
				continue
			}
			a := line.Alignment
			if len(a.Starts) != len(a.Characters) || len(a.Ends) != len(a.Characters) {
				t.Fatalf("%s: %d characters, %d starts, %d ends", path, len(a.Characters), len(a.Starts), len(a.Ends))
			}
			for i, c := range a.Characters {
				text.WriteString(c)
				if a.Starts[i] < last-1e-9 || a.Ends[i] < a.Starts[i] {
					t.Errorf("%s: %q from %g to %g after %g", path, c, a.Starts[i], a.Ends[i], last)
				}
				last = a.Starts[i]
			}
		}
		if text.String() != speechText {
			t.Errorf("%s: the characters are %q", path, text.String())
		}
		if got := heard(t, sound, "mp3"); math.Abs(got-1.1) > 0.12 {
			t.Errorf("%s: %.3f s of sound", path, got)
		}
	}
}

// TestAlignmentNormalized: what was said has spaces between all words, also between those of two
// utterances, and lists that are empty are lists.
func TestAlignmentNormalized(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for text, want := range map[string]string{speechText: strings.TrimSpace(speechText), "🦄 a.": ""} {
		r := post(t, s, "/v1/text-to-speech/bm_george/with-timestamps", `{"text":"`+text+`"}`)
		b := string(body(t, r))
		var v struct {
			Normalized struct {
				Characters []string `json:"characters"`
			} `json:"normalized_alignment"`
		}
		if err := json.Unmarshal([]byte(b), &v); err != nil || r.StatusCode != 200 || strings.Contains(b, "null") {
			t.Fatalf("%d %v %.300s", r.StatusCode, err, b)
		}
		got := strings.Join(v.Normalized.Characters, "")
		if want != "" && strings.Count(got, " ") != len(strings.Fields(want))-1 {
			t.Errorf("%q is said as %q", text, got)
		}
	}
}

func TestVendorDialect(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	get := func(path string) (int, map[string]any) {
		t.Helper()
		r, err := s.Client().Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return r.StatusCode, v
	}
	for _, prefix := range []string{"", "/elevenlabs"} {
		if status, v := get(prefix + "/v1/voices"); status != 200 || len(v["voices"].([]any)) != 2 {
			t.Errorf("voices: %d %v", status, v)
		}
		if status, v := get(prefix + "/v2/voices?search=george"); status != 200 || v["total_count"] != 1.0 || v["has_more"] != false {
			t.Errorf("search: %d %v", status, v)
		}
		if status, v := get(prefix + "/v1/voices/bm_george"); status != 200 || v["labels"].(map[string]any)["accent"] != "british" {
			t.Errorf("voice: %d %v", status, v)
		}
		if status, v := get(prefix + "/v1/voices/bm_george/settings"); status != 200 || v["speed"] != 1.0 {
			t.Errorf("settings: %d %v", status, v)
		}
		if status, v := get(prefix + "/v1/voices/nobody"); status != 404 || v["detail"].(map[string]any)["status"] != "voice_not_found" {
			t.Errorf("no voice: %d %v", status, v)
		}
		if status, v := get(prefix + "/v1/user/subscription"); status != 200 || v["status"] != "active" {
			t.Errorf("subscription: %d %v", status, v)
		}
	}
	r := post(t, s, "/v1/text-to-speech/af_bella", `{}`)
	var missing struct {
		Detail []struct {
			Type, Msg string
			Loc       []string
		}
	}
	if err := json.Unmarshal(body(t, r), &missing); err != nil || r.StatusCode != 422 || len(missing.Detail) != 1 ||
		missing.Detail[0].Type != "missing" || strings.Join(missing.Detail[0].Loc, ".") != "body.text" {
		t.Errorf("without text: %d %+v %v", r.StatusCode, missing, err)
	}
	for _, format := range []string{"mp3_1_2", "mp3_44100", "pcm_24000_16", "mp3_44100_33", "flac_44100"} {
		if r := post(t, s, "/v1/text-to-speech/af_bella?output_format="+format, `{"text":"x"}`); r.StatusCode != 422 {
			t.Errorf("%s: %d", format, r.StatusCode)
		}
	}
}
