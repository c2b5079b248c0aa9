package codecs_test

import (
	"bytes"
	"slices"
	"testing"

	"quern/codecs"
	"quern/codecs/flac"
	"quern/codecs/internal/audiotest"
)

// TestMissing: what is said of sound that could not be read.
func TestMissing(t *testing.T) {
	var out bytes.Buffer
	e, err := flac.NewWriter(&out, 8000, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 6*4096)
	for i := range x {
		x[i] = float32(i*i*31%4001)/4001 - .5
	}
	if err := e.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	lossless := out.Bytes()
	read := func(name string) []byte { return audiotest.ReadFile(t, name) }
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 16
		return b
	}
	within := func(b []byte) []byte { return slices.Insert(bytes.Clone(b), len(b)/2, make([]byte, 3000)...) }
	webm := read("webm/testdata/opus.webm")
	block := bytes.Index(webm, []byte{0x81, 0, 0, 0x80}) // of track 1, at 0 ms
	webm[block+4] |= 3                                   // as many frames as the next byte says:
	webm[block+5] = 0
	const part = "the audio is damaged: a part of it could not be read"
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"FLAC", lossless, ""},
		{"FLAC, a damaged frame", flip(lossless, len(lossless)/2), "the audio is damaged: 0.5 s could not be read and are silent"},
		{"FLAC, the end missing", lossless[:len(lossless)*9/10], "the audio is cut short: 2.6 s could be read"},
		{"FLAC, both", flip(lossless, len(lossless)/2)[:len(lossless)*9/10], "the audio is cut short: 2.6 s could be read; the audio is damaged: 0.5 s could not be read and are silent"},
		{"AAC", read("testdata/short.aac"), ""},
		{"AAC with a hole", within(read("testdata/short.aac")), part},
		{"MP3", read("testdata/short.mp3"), ""},
		{"MP3 with a hole", within(read("testdata/short.mp3")), part},
		{"WebM", read("webm/testdata/opus.webm"), ""},
		{"WebM, a packet that does not decode", webm, part},
	} {
		s, err := codecs.Open(bytes.NewReader(tt.file), codecs.Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		play(t, s)
		if got := s.Missing(); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
