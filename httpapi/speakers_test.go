package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs/pcm"
	"quern/codecs/wav"
	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

// listeners serves recognisers of the fixtures: ear and whisper know the networks that tell
// who speaks, deaf does not.
func listeners(t *testing.T) *httptest.Server {
	t.Helper()
	file := func(name ...string) string {
		return fixtures.Path(t, append([]string{"diarise", "models"}, name...)...)
	}
	d := engine.Diarizer{Segmentation: file("pyannote-seg-bands.onnx"), Embedding: file("wespeaker-emb-bands.onnx")}
	e, err := local.New(engine.Options{Models: []engine.ModelOptions{
		{Name: "ear", Path: file("parakeet-onnx-asr"), Diarize: d},
		{Name: "whisper", Path: fixtures.Path(t, "whisper", "ggml-tiny-f16.bin"), Diarize: d},
		{Name: "deaf", Path: file("parakeet-sherpa")},
		{Name: "wrong", Path: file("parakeet-sherpa"), Diarize: engine.Diarizer{Segmentation: d.Embedding, Embedding: d.Segmentation}},
	}, Defaults: map[engine.Kind]string{engine.KindTranscription: "ear"}, Threads: 2, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s := httptest.NewServer(newAPI(t, httpapi.Options{Engine: e}))
	t.Cleanup(s.Close)
	return s
}

// piece is a WAV file of a part of another, in seconds.
func piece(t *testing.T, file []byte, from, to float64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := wav.NewBufferedWriter(&b, 16000, 1, pcm.S16)
	var x []float32
	for data := file[44:][int(from*16000)*2 : int(to*16000)*2]; len(data) > 0; data = data[2:] {
		x = append(x, float32(int16(uint16(data[0])|uint16(data[1])<<8))/32768)
	}
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dataURL(wav []byte) string {
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(wav)
}

type part struct {
	Type, Text, Speaker, Delta, Speakers string
	ID                                   any // a number in verbose_json
	Start, End                           float64
	Overlap                              bool
	Words                                []part
	Segments                             []part
}

// Speakers are in the answers of OpenAI's, whisperX's and ElevenLabs' form.
func TestSpeakers(t *testing.T) {
	s := listeners(t)
	talk, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", "talk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	file := talk
	answer := func(path string, v any, fields ...string) string {
		t.Helper()
		r := upload(t, s, path, file, fields...)
		b := body(t, r)
		if r.StatusCode != 200 {
			t.Fatalf("%s %.200v: %d %s", path, fields, r.StatusCode, b)
		}
		if v != nil {
			if err := json.Unmarshal(b, v); err != nil {
				t.Fatalf("%v: %s", err, b)
			}
		}
		return string(b)
	}
	const ear, all, diarized = "model=ear", "vad=false", "response_format=diarized_json"
	names := func(list []part) (names []string) {
		for _, p := range list {
			if !slices.Contains(names, p.Speaker) {
				names = append(names, p.Speaker)
			}
		}
		return names
	}
	var d struct {
		Task, Text string
		Duration   float64
		Segments   []part
		Usage      struct{ Seconds float64 }
	}
	text := answer(transcribe, &d, ear, all, diarized, "chunking_strategy=auto")
	if d.Task != "transcribe" || d.Duration < 35 || d.Usage.Seconds < 35 || len(d.Segments) < 4 || !slices.Equal(names(d.Segments), []string{"A", "B", "C", "D"}) {
		t.Errorf("diarized_json: %s", text)
	}
	joined := ""
	for i, p := range d.Segments {
		if p.Type != "transcript.text.segment" || p.ID == nil || p.End < p.Start || i > 0 && p.Start < d.Segments[i-1].Start {
			t.Errorf("segment %+v", p)
		}
		joined += " " + p.Text
	}
	if strings.Join(strings.Fields(joined), " ") != strings.Join(strings.Fields(d.Text), " ") {
		t.Errorf("segments say %q, the text is %q", joined, d.Text)
	}

	// Only B is known: 4 s of B alone, and a voice that does not occur.
	bea := dataURL(piece(t, talk, 4, 6.7))
	answer(transcribe, &d, ear, all, diarized, "known_speaker_names[]=Bea", "known_speaker_references[]="+bea)
	if !slices.Equal(names(d.Segments), []string{"A", "Bea", "C", "D"}) {
		t.Errorf("known speakers: %q", names(d.Segments))
	}
	answer(transcribe, &d, ear, all, diarized, "num_speakers=2")
	if len(names(d.Segments)) != 2 {
		t.Errorf("two speakers: %q", names(d.Segments))
	}

	var v struct {
		Segments, Words []part
		WordSegments    []struct {
			Word, Speaker string
			Score         float64
		} `json:"word_segments"`
		Language string
	}
	text = answer(transcribe, &v, ear, all, "response_format=verbose_json", "diarize=true", "timestamp_granularities[]=word", "timestamp_granularities[]=segment")
	if !slices.Equal(names(v.Segments), []string{"SPEAKER_00", "SPEAKER_01", "SPEAKER_02", "SPEAKER_03"}) || len(v.Words) == 0 || len(names(v.Words)) != 4 {
		t.Errorf("verbose_json: %s", text)
	}
	if !slices.ContainsFunc(v.Words, func(p part) bool { return p.Overlap }) || !slices.ContainsFunc(v.Words, func(p part) bool { return !p.Overlap }) {
		t.Errorf("words with and without others: %s", text)
	}

	file = piece(t, talk, 0, 14) // two speak: enough for the shapes that follow
	text = answer(transcribe, &v, ear, all, "response_format=whisperx", "diarize=true")
	if len(v.WordSegments) == 0 || v.WordSegments[0].Speaker != "SPEAKER_00" || len(v.Segments[0].Words) == 0 || v.Segments[0].Words[0].Speaker != "SPEAKER_00" {
		t.Errorf("whisperx: %s", text)
	}
	if got := answer(transcribe, nil, ear, all, "response_format=srt", "diarize=true"); !strings.Contains(got, "\n[SPEAKER_01]: ") {
		t.Errorf("srt: %s", got)
	}
	if got := answer(transcribe, nil, ear, all, "response_format=verbose_json"); strings.Contains(got, "peaker") {
		t.Errorf("speakers that were not asked for: %s", got)
	}

	var events []part
	for _, line := range strings.Split(answer(transcribe, nil, ear, all, diarized, "stream=true"), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]" {
			var e part
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			events = append(events, e)
		}
	}
	kinds := ""
	for _, e := range events {
		kinds += strings.TrimPrefix(e.Type, "transcript.text.")[:1]
	}
	if first := events[0]; first.Speakers == "" || first.Delta != "" || strings.TrimLeft(kinds, "d") != strings.Repeat("s", strings.Count(kinds, "s"))+"d" {
		t.Errorf("events %s, the first %+v", kinds, first)
	}
	for _, e := range events {
		if e.Type == "transcript.text.segment" && e.Speaker == "" {
			t.Errorf("a segment without a speaker: %+v", e)
		}
	}

	var x struct {
		Words []struct {
			Text, Type string
			Speaker    string `json:"speaker_id"`
		}
	}
	for _, fields := range [][]string{{"diarize=true"}, {"diarize=true", "num_speakers=2"}, {"diarize=true", "diarization_threshold=0.4"}} {
		text = answer("/v1/speech-to-text", &x, append(fields, "model_id=scribe_v1")...)
		if len(x.Words) > 0 && x.Words[0].Speaker != "speaker_0" {
			t.Errorf("%v: %s", fields, text)
		}
	}
}

// Diarization works with Whisper too, and with sound of no speaker and of one.
func TestSpeakersOfWhisper(t *testing.T) {
	s := listeners(t)
	speech, err := os.ReadFile(fixtures.Path(t, "whisper", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"whisper", "ear"} {
		for name, file := range map[string][]byte{"speech": speech, "silence": piece(t, make([]byte, 44+2*16000*12), 0, 12)} {
			r := upload(t, s, transcribe, file, "model="+model, "response_format=diarized_json", "without=ratio,logprob,repeats")
			var d struct{ Segments []part }
			if model == "ear" {
				r = upload(t, s, transcribe, file, "model="+model, "response_format=diarized_json")
			}
			b := body(t, r)
			if err := json.Unmarshal(b, &d); err != nil || r.StatusCode != 200 || name == "silence" && len(d.Segments) > 0 {
				t.Errorf("%s of %s: %d %.300s", name, model, r.StatusCode, b)
			}
			for _, p := range d.Segments {
				if p.Speaker == "" {
					t.Errorf("%s of %s: no speaker of %q", name, model, p.Text)
				}
			}
		}
	}
}

// What cannot be told, or is asked wrongly, is refused by its name.
func TestSpeakersRefused(t *testing.T) {
	s := listeners(t)
	file := tone(t)
	short, mute := dataURL(file), dataURL(piece(t, make([]byte, 44+5*32000), 0, 5))
	const diarized = "response_format=diarized_json"
	for _, tt := range []struct {
		name, path string
		fields     []string
		code       int
		param      string
	}{
		{"no networks", transcribe, []string{"model=deaf", diarized}, 400, "response_format"},
		{"no networks, diarize", transcribe, []string{"model=deaf", "diarize=true"}, 400, "diarize"},
		{"no networks, streamed", transcribe, []string{"model=deaf", "diarize=true", "stream=true"}, 400, "diarize"},
		{"too many", transcribe, []string{"model=ear", diarized, "num_speakers=33"}, 400, "num_speakers"},
		{"none", transcribe, []string{"model=ear", diarized, "num_speakers=0"}, 400, "num_speakers"},
		{"a half", transcribe, []string{"model=ear", diarized, "num_speakers=1.5"}, 400, "num_speakers"},
		{"both", transcribe, []string{"model=ear", diarized, "num_speakers=2", "max_speakers=3"}, 400, "num_speakers"},
		{"bounds", transcribe, []string{"model=ear", diarized, "min_speakers=4", "max_speakers=3"}, 400, "min_speakers"},
		{"a name without voice", transcribe, []string{"model=ear", diarized, "known_speaker_names[]=a"}, 400, "known_speaker_references"},
		{"a short voice", transcribe, []string{"model=ear", diarized, "known_speaker_names[]=a", "known_speaker_references[]=" + short}, 400, "known_speaker_references"},
		{"a silent voice", transcribe, []string{"model=ear", diarized, "known_speaker_names[]=a", "known_speaker_references[]=" + mute}, 400, "it is silent"},
		{"no data URL", transcribe, []string{"model=ear", diarized, "known_speaker_names[]=a", "known_speaker_references[]=x"}, 400, "known_speaker_references"},
		{"no sound", transcribe, []string{"model=ear", diarized, "known_speaker_names[]=a", "known_speaker_references[]=data:audio/wav;base64,AAAA"}, 400, "known_speaker_references"},
		{"granularities", transcribe, []string{"model=ear", diarized, "timestamp_granularities[]=word"}, 400, "timestamp_granularities"},
		{"logprobs", transcribe, []string{"model=ear", diarized, "include[]=logprobs"}, 400, "include"},
		{"threshold without diarize", "/v1/speech-to-text", []string{"model_id=x", "diarization_threshold=0.2"}, 422, "diarization_threshold"},
		{"threshold with number", "/v1/speech-to-text", []string{"model_id=x", "diarize=true", "num_speakers=2", "diarization_threshold=0.2"}, 422, "diarization_threshold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := upload(t, s, tt.path, file, tt.fields...)
			b := string(body(t, r))
			if r.StatusCode != tt.code || !strings.Contains(b, tt.param) {
				t.Errorf("%d %s, want %d and %q", r.StatusCode, b, tt.code, tt.param)
			}
		})
	}
	// Facts about speakers that are not asked for are told to have no effect.
	for path, fields := range map[string][]string{transcribe: {"model=ear", "num_speakers=2", "known_speaker_names[]=a"}, "/v1/speech-to-text": {"model_id=x", "num_speakers=2"}} {
		r := upload(t, s, path, file, fields...)
		if got := r.Header.Values("X-Quern-Warning"); r.StatusCode != 200 || !slices.ContainsFunc(got, func(w string) bool { return strings.HasPrefix(w, "num_speakers has no effect") }) {
			t.Errorf("%s: %d, warnings %q", path, r.StatusCode, got)
		}
	}
	r := upload(t, s, transcribe, file, "model=wrong", diarized)
	if b := string(body(t, r)); r.StatusCode != 500 || !strings.Contains(b, "what tells who speaks: segmentation") {
		t.Errorf("wrong networks: %d %s", r.StatusCode, b)
	}
}
