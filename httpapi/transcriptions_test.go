package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/codecs/pcm"
	"quern/codecs/wav"
	"quern/httpapi"
)

// tone is a WAV file of a second.
func tone(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := wav.NewBufferedWriter(&b, 16000, 1, pcm.S16)
	x := make([]float32, 16000)
	for i := range x {
		x[i] = float32(0.5 * math.Sin(float64(i)/5))
	}
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload sends a form; fields are name=value.
func upload(t *testing.T, s *httptest.Server, path string, file []byte, fields ...string) *http.Response {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if file != nil {
		p, err := w.CreateFormFile("file", "audio.bin")
		if err != nil {
			t.Fatal(err)
		}
		p.Write(file)
	}
	w.Close()
	r, err := s.Client().Post(s.URL+path, w.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

const (
	transcribe = "/v1/audio/transcriptions"
	translate  = "/v1/audio/translations"
	earField   = "model=" + earModel
)

func TestTranscriptionFormats(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct{ format, mime, want string }{
		{"", "application/json", `{"text":"word0 word1","usage":{"type":"duration","seconds":1}}` + "\n"},
		{"text", "text/plain; charset=utf-8", "word0 word1\n"},
		{"srt", "text/plain; charset=utf-8", "1\n00:00:00,000 --> 00:00:00,500\nword0\n\n2\n00:00:00,500 --> 00:00:01,000\nword1\n\n"},
		{"vtt", "text/vtt; charset=utf-8", "WEBVTT\n\n00:00:00.000 --> 00:00:00.500\nword0\n\n00:00:00.500 --> 00:00:01.000\nword1\n\n"},
	} {
		fields := []string{earField, "language=English", "prompt=names", "keywords[]=Ada", "temperature=0.2"}
		if tt.format != "" {
			fields = append(fields, "response_format="+tt.format)
		}
		r := upload(t, s, transcribe, tone(t), fields...)
		if b := body(t, r); r.StatusCode != 200 || r.Header.Get("Content-Type") != tt.mime || string(b) != tt.want {
			t.Errorf("%s: %d %s %q; want %q", tt.format, r.StatusCode, r.Header.Get("Content-Type"), b, tt.want)
		}
	}
}

func TestTranscriptionVerbose(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	read := func(r *http.Response) map[string]any {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(body(t, r), &v); err != nil || r.StatusCode != 200 {
			t.Fatalf("%d: %v", r.StatusCode, err)
		}
		return v
	}
	v := read(upload(t, s, transcribe, tone(t), earField, "response_format=verbose_json"))
	if v["language"] != "english" || v["language_code"] != "en" || v["duration"] != 1.0 || v["task"] != "transcribe" || v["words"] != nil || len(v["segments"].([]any)) != 2 {
		t.Errorf("verbose: %v", v)
	}
	segment := v["segments"].([]any)[1].(map[string]any)
	for _, field := range []string{"id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"} {
		if segment[field] == nil {
			t.Errorf("a segment has no %s", field)
		}
	}
	v = read(upload(t, s, transcribe, tone(t), earField, "response_format=verbose_json", "timestamp_granularities[]=word"))
	if v["segments"] != nil || len(v["words"].([]any)) != 2 {
		t.Errorf("words: %v", v)
	}
	v = read(upload(t, s, transcribe, tone(t), earField, "include[]=logprobs"))
	if len(v["logprobs"].([]any)) != 2 {
		t.Errorf("logprobs: %v", v)
	}
	v = read(upload(t, s, translate, tone(t), earField, "response_format=verbose_json"))
	if v["task"] != "translate" || v["language"] != "english" {
		t.Errorf("translation: %v", v)
	}
	v = read(upload(t, s, "/v1/speech-to-text", tone(t), "model_id=scribe_v1", "timestamps_granularity=character"))
	words, _ := v["words"].([]any)
	if v["language_code"] != "en" || v["text"] != "word0 word1" || len(words) != 3 || words[1].(map[string]any)["type"] != "spacing" || len(words[0].(map[string]any)["characters"].([]any)) != 5 {
		t.Errorf("vendor: %v", v)
	}
}

// TestVendorTranscriptionFields: what ElevenLabs' documents name and is not done here is refused by name, or told;
// samples without a header have their layout.
func TestVendorTranscriptionFields(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		field, warning string
		status         int
		file           []byte
	}{
		{"use_multi_channel=true", "", 400, tone(t)},
		{"additional_formats=[{\"format\":\"srt\"}]", "", 400, tone(t)},
		{"webhook=true", "", 400, tone(t)},
		{"source_url=https://example.org/a.mp3", "", 400, nil},
		{"cloud_storage_url=https://example.org/a.mp3", "", 400, nil},
		{"entity_detection=all", "", 400, tone(t)},
		{"no_verbatim=true", "", 400, tone(t)},
		{"detect_speaker_roles=true", "", 400, tone(t)},
		{"use_multi_channel=false", "", 200, tone(t)},
		{"additional_formats=[]", "", 200, tone(t)},
		{"tag_audio_events=true", "tag_audio_events has no effect", 200, tone(t)},
		{"tag_audio_events=false", "", 200, tone(t)},
		{"file_format=pcm_s16le_16", "", 200, tone(t)[44:]},
		{"file_format=pcm_7", "", 422, tone(t)},
		{"seed=7", "", 200, tone(t)},
		{"seed=seven", "", 422, tone(t)},
		{"seed=1.5", "", 422, tone(t)},
		{"file_format=other", "", 400, tone(t)[44:]},
	} {
		r := upload(t, s, "/v1/speech-to-text", tt.file, "model_id=scribe_v1", tt.field)
		b := string(body(t, r))
		name, _, _ := strings.Cut(tt.field, "=")
		if tt.status == 400 && name == "file_format" {
			name = "cannot be decoded"
		}
		if r.StatusCode != tt.status || tt.status != 200 && !strings.Contains(b, name) || !strings.HasPrefix(r.Header.Get("X-Quern-Warning"), tt.warning) {
			t.Errorf("%s: %d %q %s", tt.field, r.StatusCode, r.Header.Get("X-Quern-Warning"), b)
		}
		if tt.field == "seed=7" && f.heard.Load().Seed != 7 {
			t.Errorf("heard with %+v", f.heard.Load())
		}
	}
}

// TestTranslationFields: a translation takes the fields of a transcription, but that what is written is
// English.
func TestTranslationFields(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct{ field, want string }{
		{"target_language=en", `"text":"word0 word1"`},
		{"to_language=English", `"text":"word0 word1"`},
		{"task=translate", `"text":"word0 word1"`},
		{"translate=true", `"text":"word0 word1"`},
		{"include[]=logprobs", `"logprobs":[{"token":" word0"`},
		{"response_format=verbose_json;timestamp_granularities[]=word", `"words":[{"word":"word0"`},
		{"stream=true", `data: {"type":"transcript.text.done","text":"word0 word1","language":"english"`},
	} {
		r := upload(t, s, translate, tone(t), append(strings.Split(tt.field, ";"), earField)...)
		if b := string(body(t, r)); r.StatusCode != 200 || !strings.Contains(b, tt.want) || !f.heard.Load().Translate || f.heard.Load().Target != "" {
			t.Errorf("%s: %d %s, %+v; want %s", tt.field, r.StatusCode, b, f.heard.Load(), tt.want)
		}
	}
	for field, code := range map[string]string{
		"target_language=de": "unsupported_parameter", "to_language=fr": "unsupported_parameter", "target_language=xx": "invalid_value",
		"task=transcribe": "unsupported_parameter", "translate=false": "unsupported_parameter", "stream=maybe": "invalid_value",
		"timestamp_granularities[]=phoneme": "invalid_value", "include[]=x": "invalid_value", "chunking_strategy=fast": "invalid_value",
	} {
		name, _, _ := strings.Cut(field, "=")
		wantFailure(t, upload(t, s, translate, tone(t), earField, field), 400, code, strings.TrimSuffix(name, "[]"))
	}
}

func TestTranscriptionStream(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	r := upload(t, s, transcribe, tone(t), earField, "stream=true")
	list := events(t, body(t, r))
	var text string
	for _, e := range list[:len(list)-1] {
		if e["type"] != "transcript.text.delta" {
			t.Errorf("event %v", e)
		}
		text += e["delta"].(string)
	}
	if last := list[len(list)-1]; last["type"] != "transcript.text.done" || last["text"] != text || text != "word0 word1" || last["language"] != "english" {
		t.Errorf("deltas %q, then %v", text, last)
	}
}

func TestTranscriptionErrors(t *testing.T) {
	s := newServer(t, httpapi.Options{Upload: 100 << 10})
	file := tone(t)
	for _, tt := range []struct {
		name   string
		file   []byte
		fields []string
		code   string
		param  string
	}{
		{"no model", file, nil, "missing_required_parameter", "model"},
		{"no file", nil, []string{earField}, "missing_required_parameter", "file"},
		{"file as text", nil, []string{earField, "file=abc"}, "invalid_value", "file"},
		{"not audio", []byte("this is not audio at all"), []string{earField}, "unsupported_audio", "file"},
		{"empty", []byte{}, []string{earField}, "unsupported_audio", "file"},
		{"header only", file[:44], []string{earField}, "unsupported_audio", "file"},
		{"format", file, []string{earField, "response_format=yaml"}, "invalid_value", "response_format"},
		{"speakers", file, []string{earField, "response_format=diarized_json"}, "unsupported_parameter", "response_format"},
		{"language", file, []string{earField, "language=klingon"}, "invalid_value", "language"},
		{"granularity", file, []string{earField, "timestamp_granularities[]=phoneme"}, "invalid_value", "timestamp_granularities"},
		{"temperature", file, []string{earField, "temperature=2"}, "invalid_value", "temperature"},
		{"stream", file, []string{earField, "stream=maybe"}, "invalid_value", "stream"},
		{"wrong kind", file, []string{"model=" + embedModel}, "model_not_supported", "model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantFailure(t, upload(t, s, transcribe, tt.file, tt.fields...), 400, tt.code, tt.param)
		})
	}
	wantFailure(t, post(t, s, transcribe, `{"model":"x"}`), 400, "invalid_value", "")
	wantFailure(t, upload(t, s, transcribe, make([]byte, 200<<10), earField), 413, "request_too_large", "")
	r, err := s.Client().Post(s.URL+transcribe, "multipart/form-data; boundary=x", strings.NewReader("--x\r\nbroken"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	wantFailure(t, r, 400, "invalid_value", "")
	io.Copy(io.Discard, r.Body)
}

// TestOthersTranscription: what clients of other servers ask of a transcription is done, refused by
// name, or named as without effect.
func TestOthersTranscription(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, name := range []string{
		"task=translate", "translate=true", "use_beam_search=true", "offset_t=1000", "duration=500", "clip_timestamps=0.2,0.8", "clip_timestamps[]=3",
	} {
		field, _, _ := strings.Cut(name, "=")
		wantFailure(t, upload(t, s, transcribe, tone(t), earField, name), 400, "unsupported_parameter", strings.TrimSuffix(field, "[]"))
	}
	wantFailure(t, upload(t, s, transcribe, tone(t), earField, "to_language=xx"), 400, "invalid_value", "to_language")
	for _, tt := range []struct{ model, field, warning string }{
		{earModel, "top_p=0.5", "top_p has no effect"},
		{earModel, "seed=3", ""},
		{whoModel, "seed=3", "seed has no effect: the model draws no tokens"},
		{whoModel, "seed=0", ""},
		{earModel, "to_language=fr", ""},
		{earModel, "task=transcribe", ""},
		{earModel, "translate=false", ""},
		{earModel, "offset_t=0", ""},
		{earModel, "duration=0.0", ""},
		{earModel, "clip_timestamps=0", ""},
	} {
		r := upload(t, s, transcribe, tone(t), "model="+tt.model, tt.field)
		if w := r.Header.Get(warningHeader); r.StatusCode != 200 || !strings.HasPrefix(w, tt.warning) || tt.warning == "" && w != "" {
			t.Errorf("%s, %s: %d, warning %q, want %q", tt.model, tt.field, r.StatusCode, w, tt.warning)
		}
		if target := f.heard.Load().Target; (target == "fr") != (tt.field == "to_language=fr") {
			t.Errorf("%s: target %q", tt.field, target)
		}
	}
}
