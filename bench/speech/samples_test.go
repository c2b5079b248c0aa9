package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quern/codecs"
	"quern/engine/tts"
)

// seconds is how long the sound of a data URL is. Samples without a header are counted.
func seconds(t *testing.T, mime, data string) float64 {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	switch mime {
	case "audio/pcm":
		return float64(len(b)) / 2 / 24000
	case "audio/basic", "audio/x-alaw-basic":
		return float64(len(b)) / 8000
	}
	s, err := codecs.Open(bytes.NewReader(b), codecs.Options{})
	if err != nil {
		t.Fatalf("%s: %v", mime, err)
	}
	n := 0
	for block := make([]float32, 4096); ; {
		k, err := s.Read(block)
		n += k
		if err == io.EOF {
			return float64(n/s.Channels()) / float64(s.Rate())
		}
		if err != nil {
			t.Fatalf("%s: %v", mime, err)
		}
	}
}

// TestSamplesPage: the page in docs has every built-in voice and every encoding there is,
// as long as they are today, and is small.
func TestSamplesPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "voice", "samples.html"))
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > mostPage {
		t.Errorf("%d bytes; want at most %d", len(page), mostPage)
	}
	sounds := regexp.MustCompile(`"data:(audio/[a-z0-9-]+);base64,([A-Za-z0-9+/=]+)"`).FindAllStringSubmatch(strings.ReplaceAll(string(page), "&#43;", "+"), -1)
	synth := tts.Formant()
	voices, encodings := synth.Voices(), codecs.Encodings()
	if len(sounds) != len(voices)+len(encodings) {
		t.Fatalf("%d sounds; want %d voices and %d encodings", len(sounds), len(voices), len(encodings))
	}
	reader, err := tts.NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	said := func(text, voice string) float64 {
		n := 0
		for c, err := range tts.Speak(t.Context(), synth, reader, tts.Request{Text: text, Voice: voice, Speed: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			n += len(c.Samples)
		}
		return float64(n) / float64(synth.Rate())
	}
	for i, v := range voices {
		if got, want := seconds(t, sounds[i][1], sounds[i][2]), said(lines[v.ID], v.ID); math.Abs(got-want) > 0.1 || !strings.Contains(string(page), v.ID) {
			t.Errorf("%s speaks for %.2f s; today it takes %.2f: go run ./bench/speech -samples docs/voice/samples.html", v.ID, got, want)
		}
	}
	want := said(short, voices[0].ID)
	for i, f := range formatted {
		e, err := codecs.EncodingByName(f.name)
		if err != nil {
			t.Fatal(err)
		}
		s := sounds[len(voices)+i]
		if got := seconds(t, s[1], s[2]); s[1] != e.MIME || math.Abs(got-want) > 0.12 { // frames of AAC are 43 ms
			t.Errorf("%s is %s of %.2f s; want %s of %.2f", f.name, s[1], got, e.MIME, want)
		}
	}
}
