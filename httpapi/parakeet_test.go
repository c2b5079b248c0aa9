package httpapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs/pcm"
	"quern/codecs/wav"
	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

// parakeet serves the tiny recogniser of the fixtures.
func parakeet(t *testing.T) *httptest.Server {
	t.Helper()
	path := fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr")
	e, err := local.New(engine.Options{Models: []engine.ModelOptions{{Name: "ear", Path: path}}, Threads: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s := httptest.NewServer(newAPI(t, httpapi.Options{Engine: e}))
	t.Cleanup(s.Close)
	return s
}

// Every endpoint that transcribes takes a Parakeet as it takes a Whisper.
func TestParakeet(t *testing.T) {
	s := parakeet(t)
	file, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "pulses.wav"))
	if err != nil {
		t.Fatal(err)
	}
	const ear, all = "model=ear", "vad=false"
	answer := func(path string, file []byte, fields ...string) string {
		t.Helper()
		r := upload(t, s, path, file, fields...)
		b := string(body(t, r))
		if r.StatusCode != 200 {
			t.Fatalf("%s %v: %d %s", path, fields, r.StatusCode, b)
		}
		return b
	}
	for format, want := range map[string]string{
		"json": `{"text":"ing grain 2","usage":{"type":"duration","seconds":0.772}}` + "\n",
		"text": "ing grain 2\n",
		"srt":  "1\n00:00:00,000 --> 00:00:00,770\ning grain 2\n\n",
		"vtt":  "WEBVTT\n\n00:00:00.000 --> 00:00:00.770\ning grain 2\n\n",
	} {
		if got := answer(transcribe, file, ear, all, "response_format="+format); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	var verbose struct {
		Task, Language string
		Segments       []struct{ Text string }
		Words          []struct {
			Word       string
			Start, End float64
		}
	}
	text := answer(transcribe, file, ear, all, "response_format=verbose_json", "timestamp_granularities[]=word", "timestamp_granularities[]=segment", "beam_size=3")
	if err := json.Unmarshal([]byte(text), &verbose); err != nil || len(verbose.Words) == 0 || verbose.Words[0].Word == "" || len(verbose.Segments) != 1 || verbose.Task != "transcribe" {
		t.Errorf("verbose_json: %s", text)
	}
	if got := answer(transcribe, file, ear, all, "include[]=logprobs"); strings.Count(got, `"logprob"`) != 3 {
		t.Errorf("logprobs: %s", got)
	}
	talk, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "talk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	list := events(t, []byte(answer(transcribe, talk, ear, all, "stream=true")))
	joined := ""
	for _, e := range list[:len(list)-1] {
		joined += e["delta"].(string)
	}
	if last := list[len(list)-1]; len(list) < 4 || last["type"] != "transcript.text.done" || last["text"] != joined {
		t.Errorf("%d events, deltas %q, then %v", len(list), joined, last)
	}
	spelled, tokens := "", 0
	list = events(t, []byte(answer(transcribe, talk, ear, all, "stream=true", "include[]=logprobs")))
	for _, e := range list[:len(list)-1] {
		for _, l := range e["logprobs"].([]any) {
			spelled += l.(map[string]any)["token"].(string)
			tokens++
		}
	}
	bare := strings.NewReplacer(" ", "") // a segment's text has a space in front, its first token none
	last := list[len(list)-1]
	if end, _ := last["logprobs"].([]any); tokens == 0 || len(end) != tokens || bare.Replace(spelled) != bare.Replace(last["text"].(string)) {
		t.Errorf("%d tokens of deltas, %d at the end; they spell %.60q, the text is %.60q", tokens, len(end), spelled, last["text"])
	}
	if got := answer("/v1/speech-to-text", file, "model_id=scribe_v1"); !strings.Contains(got, `"words":[`) {
		t.Errorf("the vendor's shape: %s", got)
	}
	// Telephone sound, and a file that ends in the middle, are written down as far as they go.
	if got := answer(transcribe, slower(t, talk), ear, all, "response_format=verbose_json"); !strings.Contains(got, `"duration":35.37`) {
		t.Errorf("at 8 kHz: %.200s", got)
	}
	if got := answer(transcribe, talk[:len(talk)/2], ear, all, "response_format=verbose_json"); !strings.Contains(got, `"duration":17.68`) {
		t.Errorf("cut short: %.200s", got)
	}
	// Silence has no text.
	if got := answer(transcribe, append(bytes.Clone(talk[:44]), make([]byte, len(talk)-44)...), ear); !strings.Contains(got, `"text":""`) {
		t.Errorf("silence: %s", got)
	}
}

// slower makes telephone sound of a WAV file at 16 kHz.
func slower(t *testing.T, file []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := wav.NewBufferedWriter(&b, 8000, 1, pcm.S16)
	var x []float32
	for data := file[44:]; len(data) > 3; data = data[4:] {
		v := int16(uint16(data[0]) | uint16(data[1])<<8)
		x = append(x, float32(v)/32768)
	}
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What the model cannot do is refused by name before the first byte, streamed or not.
func TestParakeetRefuses(t *testing.T) {
	s := parakeet(t)
	for field, param := range map[string]string{
		"prompt=Ada": "prompt", "keywords[]=Ada": "keywords", "prefix=Ada": "prefix", "temperature=0.4": "temperature", "target_language=en": "target_language",
		"target_language=klingon": "target_language", "punctuation=false": "punctuation", "no_speech_threshold=0.5": "no_speech_threshold", "best_of=2": "best_of",
	} {
		for _, stream := range []string{"stream=false", "stream=true"} {
			r := upload(t, s, transcribe, tone(t), "model=ear", field, stream)
			if r.StatusCode != http.StatusBadRequest {
				t.Errorf("%s, %s: %d %s", field, stream, r.StatusCode, body(t, r))
				continue
			}
			var e struct {
				Error struct{ Param, Message string }
			}
			if err := json.Unmarshal(body(t, r), &e); err != nil || e.Error.Param != param {
				t.Errorf("%s: %+v", field, e)
			}
		}
	}
	if r := upload(t, s, "/v1/audio/translations", tone(t), "model=ear"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a translation: %d", r.StatusCode)
	}
}
