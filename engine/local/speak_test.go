package local

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/asr/audio"
	"quern/engine/transcribe"
)

// texts lists the models but for the voice that is always there.
func texts(e *Engine) []engine.ModelInfo {
	return slices.DeleteFunc(e.Models(), func(m engine.ModelInfo) bool { return m.ID == engine.VoiceName })
}

func say(ctx context.Context, e *Engine, model string, r engine.SpeakRequest) (samples []float32, chunks []engine.Speech, err error) {
	for c, err := range e.Speak(ctx, model, r) {
		if err != nil {
			return nil, nil, err
		}
		samples = append(samples, c.Samples...)
		chunks = append(chunks, c)
	}
	return samples, chunks, nil
}

const twoSentences = "Hello there. The quick brown fox jumps over the lazy dog, and then it goes home again."

// A word of a request's lexicon that cannot be said is the lexicon's fault, by which the client finds it.
func TestLexiconRefused(t *testing.T) {
	e := open(t, engine.Options{})
	l, err := engine.ParseLexicon(`{"hello":"xx"}`)
	if err != nil {
		t.Fatal(err)
	}
	_, _, spoken := say(t.Context(), e, "", engine.SpeakRequest{Text: "Hello.", Voice: "alloy", Lexicon: l})
	_, pronounced := e.Phonemize(t.Context(), engine.PhonemizeRequest{Text: "Hello.", Lexicon: l})
	for _, err := range []error{spoken, pronounced} {
		var known *engine.Error
		if !errors.As(err, &known) || known.Param != "lexicon" || !strings.HasPrefix(known.Message, "lexicon: the word \"Hello\"") {
			t.Errorf("%v", err)
		}
	}
}

// TestVoiceUnloaded: a voice is known, or known to be missing, before the model is loaded; not of one that is not
// fetched yet.
func TestVoiceUnloaded(t *testing.T) {
	e := open(t, engine.Options{VoiceAliases: map[string]string{"me": "af_bella(2)+af_sky"}, Models: []engine.ModelOptions{
		{Name: "far", Fetch: func(context.Context, func(int64, int64)) (string, error) { return "", errors.New("fetched") }},
	}})
	for _, tt := range []struct{ model, voice, refused string }{
		{"", "af_bella", ""},
		{"", "af_bella(2)+bm_lewis", ""},
		{"", "marin", ""},
		{"", "me", ""},
		{"", "zz", "zz"},
		{"", "af_bella+zz", "zz"},
		{"far", "zz", ""},
	} {
		m, err := e.Find(tt.model, engine.KindSpeech)
		if err != nil {
			t.Fatal(err)
		}
		var known *engine.Error
		err = m.CheckVoice(tt.voice)
		if refused := errors.As(err, &known) && known.Code == engine.CodeVoiceNotFound && strings.Contains(known.Message, tt.refused); refused != (tt.refused != "") || err != nil && !refused {
			t.Errorf("%s of %q: %v", tt.voice, tt.model, err)
		}
		if s := m.Info().Status; s != "unloaded" {
			t.Errorf("%q is %s", tt.model, s)
		}
	}
}

func TestFormantVoice(t *testing.T) {
	e := open(t, engine.Options{})
	r := engine.SpeakRequest{Text: twoSentences, Voice: "alloy"}
	samples, chunks, err := say(t.Context(), e, "", r)
	if err != nil {
		t.Fatal(err)
	}
	if s := float64(len(samples)) / float64(chunks[0].Rate); s < 3 || s > 12 {
		t.Errorf("%.1f s of sound", s)
	}
	at, last := 0, 0.0
	words := 0
	for _, c := range chunks {
		if c.Start != at {
			t.Errorf("a chunk begins at byte %d, the one before ended at %d", c.Start, at)
		}
		at = c.End
		for _, w := range c.Words {
			if w.From < last-1e-9 || w.To < w.From || w.Start < c.Start || w.End > c.End {
				t.Errorf("%+v after %.3f s in bytes %d to %d", w, last, c.Start, c.End)
			}
			last = w.From
			words++
		}
	}
	if at != len(r.Text) || words != len(strings.Fields(r.Text)) {
		t.Errorf("%d of %d bytes, %d words", at, len(r.Text), words)
	}
	again, _, err := say(t.Context(), e, "", r)
	if err != nil || !slices.Equal(samples, again) {
		t.Errorf("the second time it sounds different (%v)", err)
	}
	if fast, _, err := say(t.Context(), e, "", engine.SpeakRequest{Text: r.Text, Voice: "alloy", Speed: 2}); err != nil || len(fast) > len(samples)*2/3 {
		t.Errorf("at speed 2 it takes %d of %d samples (%v)", len(fast), len(samples), err)
	}
	var unknown *engine.Error
	if err := e.CheckVoice(engine.VoiceName, "nobody", ""); !errors.As(err, &unknown) || unknown.Code != engine.CodeVoiceNotFound || !strings.Contains(unknown.Message, "af_bella") {
		t.Errorf("voice nobody: %v", err)
	}
	for _, language := range []string{"fr", "ja"} {
		if err := e.CheckVoice("", "af_bella", language); !errors.As(err, &unknown) || unknown.Code != engine.CodeInvalidValue || unknown.Param != "lang_code" {
			t.Errorf("in %s: %v", language, err)
		}
	}
	if m, err := e.described("tts-1", engine.KindSpeech); err != nil || m.ID != engine.VoiceName {
		t.Errorf("tts-1 is %+v (%v)", m, err)
	}
	if m, err := e.described("whisper-1", engine.KindTranscription); err == nil {
		t.Errorf("whisper-1 is %+v without a recogniser", m)
	}
	if err := e.CheckVoice("", "af_bella(2)+bm_lewis", "en-GB"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := say(ctx, e, "", r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if v := e.Voices(); len(v) < 16 || v[0].Model != engine.VoiceName {
		t.Errorf("%d voices, the first %+v", len(v), v[0])
	}
}

// kokoroDir makes a model directory of the small network of tests.
func kokoroDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kokoro-tiny.safetensors", "config.json"} {
		data, err := os.ReadFile(filepath.Join("..", "tts", "kokoro", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "voices"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"af_bella", "bm_george"} {
		var pack []byte
		for k := range 510 * 16 {
			pack = binary.LittleEndian.AppendUint32(pack, math.Float32bits(float32(math.Sin(float64(k+i)))*0.3))
		}
		if err := os.WriteFile(filepath.Join(dir, "voices", name+".bin"), pack, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestKokoro(t *testing.T) {
	dir := kokoroDir(t)
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "kokoro", Path: dir}}})
	if m, err := e.described("", engine.KindSpeech); err != nil || m.ID != "kokoro" || m.Architecture != "kokoro" {
		t.Fatalf("the default voice is %+v (%v)", m, err)
	}
	var ids []string
	for _, v := range e.Voices() {
		if !v.Opaque {
			ids = append(ids, v.ID)
		}
	}
	if want := []string{"af_bella", "bm_george", "fable", "coral", "cedar"}; !slices.Equal(ids, want) {
		t.Errorf("voices %v; want %v", ids, want)
	}
	a, chunks, err := say(t.Context(), e, "", engine.SpeakRequest{Text: "Hi there, my friend.", Voice: "af_bella"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := say(t.Context(), e, "", engine.SpeakRequest{Text: "Hi there, my friend.", Voice: "af_bella+bm_george"})
	if err != nil || slices.Equal(a, b) || len(a) == 0 || chunks[0].Rate != 24000 {
		t.Errorf("a mixture sounds like one voice, or %v", err)
	}
	if err := e.Unload("kokoro"); err != nil {
		t.Error(err)
	}
}

// sine is a tone of n samples.
type sine struct{ n, at int }

func (s *sine) Read(dst []float32) (int, error) {
	if s.at == s.n {
		return 0, io.EOF
	}
	k := min(len(dst), s.n-s.at)
	for i := range dst[:k] {
		dst[i] = float32(0.3 * math.Sin(float64(s.at+i)*0.2))
	}
	s.at += k
	return k, nil
}

func TestTranscribe(t *testing.T) {
	dir := fixtures.Path(t, "whisper", "hf_tiny")
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "ear", Path: dir}}})
	m, err := e.described("", engine.KindTranscription)
	if err != nil || m.ID != "ear" || m.Architecture != "whisper" {
		t.Fatalf("the default recogniser is %+v (%v)", m, err)
	}
	var info engine.TranscribeInfo
	n := 0
	for _, err := range e.Transcribe(t.Context(), "", engine.TranscribeRequest{Source: &sine{n: 32000}, AllSound: true, TranscribeOptions: engine.TranscribeOptions{Info: &info}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if math.Abs(info.Duration-2) > 0.01 || info.Language == "" {
		t.Errorf("%d segments, %+v", n, info)
	}
	var wrong *engine.Error
	for _, err := range e.Transcribe(t.Context(), "", engine.TranscribeRequest{Source: new(audio.Samples), TranscribeOptions: engine.TranscribeOptions{Language: "xx"}}) {
		if !errors.As(err, &wrong) || wrong.Code != engine.CodeUnsupportedParam || wrong.Param != "language" {
			t.Errorf("language xx: %v", err)
		}
	}
	if wrong == nil {
		t.Error("language xx is accepted")
	}
}

// TestDetector: a tone is as loud as speech, but a trained detector does
// not take it for speech.
func TestDetector(t *testing.T) {
	ear, net := fixtures.Path(t, "whisper", "hf_tiny"), fixtures.Path(t, "vad", "silero-v6.2.0-ggml.bin")
	e := open(t, engine.Options{Models: []engine.ModelOptions{
		{Name: "energy", Path: ear},
		{Name: "ggml", Path: ear, Detector: net},
		{Name: "safetensors", Path: ear, Detector: fixtures.Path(t, "vad", "silero_vad_16k.safetensors")},
	}})
	for name, speech := range map[string]bool{"energy": true, "ggml": false, "safetensors": false} {
		var info engine.TranscribeInfo
		for _, err := range e.Transcribe(t.Context(), name, engine.TranscribeRequest{Source: &sine{n: 32000}, TranscribeOptions: engine.TranscribeOptions{Language: "en", Info: &info}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if (info.Speech > 1) != speech || !speech && info.Speech != 0 || math.Abs(info.Duration-2) > 0.01 {
			t.Errorf("%s: %.2f s of %.2f are speech, want speech %v", name, info.Speech, info.Duration, speech)
		}
	}
	// A detector in a folder of models is no model.
	dir := t.TempDir()
	data, err := os.ReadFile(net)
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "silero.bin", data)
	if list := open(t, engine.Options{Dirs: []string{dir}}).Models(); slices.ContainsFunc(list, func(m engine.ModelInfo) bool { return m.ID == "silero" }) {
		t.Errorf("the detector is listed as a model: %+v", list)
	}
}

// TestDetectorErrors: a file that is no detector is refused, by name where it is
// configured and without its path where clients see it.
func TestDetectorErrors(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "text.bin", []byte("lmgg\x0a\x00\x00\x00silero-16k"))
	for _, path := range []string{filepath.Join(dir, "none.bin"), filepath.Join(dir, "text.bin")} {
		if _, err := transcribe.OpenDetector(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names it", path, err)
		}
	}
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "ear", Path: fixtures.Path(t, "whisper", "hf_tiny"), Detector: filepath.Join(dir, "text.bin")}}})
	var wrong *engine.Error
	for _, err := range e.Transcribe(t.Context(), "", engine.TranscribeRequest{Source: new(audio.Samples)}) {
		if !errors.As(err, &wrong) || strings.Contains(wrong.Message, dir) || !strings.Contains(wrong.Message, "detector of speech") {
			t.Errorf("error %v; want one for clients without paths", err)
		}
	}
	if wrong == nil {
		t.Error("a broken detector is accepted")
	}
}

// TestSpeechQueue: beyond its queue a voice refuses at once, and is free again when
// a listener has gone.
func TestSpeechQueue(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "kokoro", Path: kokoroDir(t), Queue: 1}}})
	r := engine.SpeakRequest{Text: "Hi.", Voice: "af_bella"}
	hold, leave := context.WithCancel(t.Context())
	began := make(chan struct{}, 2)
	var listeners sync.WaitGroup
	for range 2 { // one speaks, one waits
		listeners.Go(func() {
			for _, err := range e.Speak(hold, "kokoro", r) {
				if err == nil {
					began <- struct{}{}
					<-hold.Done() // a client that reads slowly
				}
			}
		})
	}
	for range 2 {
		<-began
	}
	_, _, err := say(t.Context(), e, "kokoro", r)
	var full *engine.Error
	if !errors.As(err, &full) || full.Code != engine.CodeQueueFull || full.RetryAfter <= 0 {
		t.Errorf("the third request got %v, want %s with a time to come back", err, engine.CodeQueueFull)
	}
	leave()
	listeners.Wait()
	if samples, _, err := say(t.Context(), e, "kokoro", r); err != nil || len(samples) == 0 {
		t.Errorf("after both left: %d samples, %v", len(samples), err)
	}
}

// Names of the configuration stand for voices and mixtures, in requests and in the
// list; what cannot be spoken is refused at the start, by name.
func TestVoiceAliases(t *testing.T) {
	e := open(t, engine.Options{VoiceAliases: map[string]string{"alice": "bf_emma", "duo": "af_bella(2)+am_adam", "alloy": "bm_lewis"}})
	same := func(a, b string) {
		t.Helper()
		x, _, err := say(t.Context(), e, "", engine.SpeakRequest{Text: "Hello.", Voice: a})
		if err != nil {
			t.Fatal(err)
		}
		y, _, err := say(t.Context(), e, "", engine.SpeakRequest{Text: "Hello.", Voice: b})
		if err != nil || !slices.Equal(x, y) {
			t.Errorf("%s does not sound like %s (%v)", a, b, err)
		}
	}
	same("alice", "bf_emma")
	same("duo", "af_bella(2)+am_adam")
	same("alloy", "bm_lewis") // what was configured wins over names of other services
	same("JBFqnCBsd6RMkjVDRZzb", "bm_george")
	for _, name := range []string{"alice", "duo", "21m00Tcm4TlvDq8ikWAM"} {
		if err := e.CheckVoice("", name, ""); err != nil {
			t.Error(err)
		}
	}
	got := map[string]engine.Voice{}
	for _, v := range e.Voices() {
		got[v.ID] = v
	}
	if v := got["alice"]; v.AliasOf != "bf_emma" || v.Language != "en-gb" || v.Opaque {
		t.Errorf("alice is %+v", v)
	}
	if v := got["alloy"]; v.AliasOf != "bm_lewis" {
		t.Errorf("alloy is %+v", v)
	}
	if v := got["JBFqnCBsd6RMkjVDRZzb"]; v.AliasOf != "bm_george" || v.Name != "George" || !v.Opaque {
		t.Errorf("George is %+v", v)
	}
	for _, tt := range []struct{ alias, to, want string }{
		{"bob", "am_bob", `alias "bob": there is no voice "am_bob"; there is af_bella`},
		{"", "af_bella", "an alias has no name"},
		{"bob", "af_bella(2)+am_bob", "am_bob"},
		{"af_bella", "af_sky", "is a voice itself"},
	} {
		e, err := New(engine.Options{VoiceAliases: map[string]string{tt.alias: tt.to}})
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "voice_aliases") || !strings.Contains(err.Error(), tt.alias) {
			t.Errorf("%s for %s: %v", tt.alias, tt.to, err)
		}
	}
}
