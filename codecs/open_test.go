package codecs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quern/codecs"
	"quern/codecs/aac"
	"quern/codecs/flac"
	"quern/codecs/internal/audiotest"
	"quern/codecs/mp3"
	"quern/codecs/mp4"
	"quern/codecs/ogg"
	"quern/codecs/opus"
	"quern/codecs/vorbis"
	"quern/codecs/wav"
	"quern/codecs/webm"
)

// readerOnly hides random access.
type readerOnly struct{ io.Reader }

// testFiles lists committed files of each format.
var testFiles = []struct {
	path, format     string
	rate, ch, frames int
}{
	{"webm/testdata/opus.webm", "webm/opus", 48000, 1, 12000},
	{"webm/testdata/vorbis.webm", "webm/vorbis", 16000, 1, 2048}, // ffmpeg wrote no DiscardPadding
	{"webm/testdata/mp3.mkv", "webm/mp3", 8000, 1, 0},
	{"ogg/testdata/silk.opus", "ogg/opus", 48000, 1, 14400},
	{"ogg/testdata/celt.opus", "ogg/opus", 48000, 2, 9600},
	{"ogg/testdata/vorbis.ogg", "ogg/vorbis", 16000, 1, 1600},
	{"ogg/testdata/flac.oga", "ogg/flac", 16000, 1, 1600},
	{"testdata/short.m4a", "mp4/aac-lc", 16000, 1, 3200},
	{"testdata/short.aac", "aac", 16000, 1, 0},
	{"testdata/short.mp3", "mp3", 16000, 1, 3200},
}

func TestOpen(t *testing.T) {
	for _, tt := range testFiles {
		b := audiotest.ReadFile(t, filepath.FromSlash(tt.path))
		id3 := append([]byte("ID3\x04\x00\x00\x00\x00\x00\x10"), make([]byte, 16)...)
		id3 = append(id3, id3...)
		for _, v := range []struct {
			name string
			r    io.Reader
			ok   bool
		}{
			{"random access", bytes.NewReader(b), true},
			{"stream", readerOnly{bytes.NewReader(b)}, true},
			{"byte by byte", iotest.OneByteReader(bytes.NewReader(b)), true},
			{"behind two ID3 tags", readerOnly{io.MultiReader(bytes.NewReader(id3), bytes.NewReader(b))}, true},
			{"behind zeros", readerOnly{io.MultiReader(bytes.NewReader(make([]byte, 1000)), bytes.NewReader(b))}, tt.format == "mp3" || tt.format == "aac"},
		} {
			t.Run(tt.format+" "+v.name, func(t *testing.T) {
				s, err := codecs.Open(v.r, codecs.Options{})
				if err != nil {
					if v.ok {
						t.Fatal(err)
					}
					return
				}
				x, err := audiotest.ReadAll(s)
				if err != nil {
					t.Fatal(err)
				}
				n := len(x) / s.Channels()
				if s.Format() != tt.format || s.Rate() != tt.rate || s.Channels() != tt.ch || tt.frames > 0 && n != tt.frames || n == 0 {
					t.Errorf("got %s, %d Hz, %d channels, %d frames; want %s, %d, %d, %d",
						s.Format(), s.Rate(), s.Channels(), n, tt.format, tt.rate, tt.ch, tt.frames)
				}
			})
		}
	}
}

// Every fixture must decode to about three seconds of its source.
func TestOpenFixtures(t *testing.T) {
	dir := filepath.Dir(audiotest.Fixture(t, "README.md"))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if e := filepath.Ext(f.Name()); e == ".md" || e == ".sh" {
			continue
		}
		t.Run(f.Name(), func(t *testing.T) {
			file, err := os.Open(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			s, err := codecs.Open(file, codecs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := codecs.NewMono(s, 16000)
			if err != nil {
				t.Fatal(err)
			}
			x, err := audiotest.ReadAll(m)
			if err != nil {
				t.Fatal(err)
			}
			low, high := 48000, 51200
			switch {
			case strings.HasPrefix(f.Name(), "mr_"), strings.Contains(f.Name(), "chained"):
				low, high = 31000, 102000
			}
			if len(x) < low || len(x) > high {
				t.Errorf("%s, %d samples at 16 kHz, want %d to %d", s.Format(), len(x), low, high)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	m4a := audiotest.ReadFile(t, "testdata/short.m4a")
	ac3 := bytes.ReplaceAll(m4a, []byte("mp4a"), []byte("ac-3"))
	webm := audiotest.ReadFile(t, "webm/testdata/opus.webm")
	cluster := bytes.Index(webm, []byte("\x1f\x43\xb6\x75"))
	block := cluster + bytes.IndexByte(webm[cluster:], 0xa3)
	opus := audiotest.ReadFile(t, "ogg/testdata/silk.opus")
	for _, tt := range []struct {
		name string
		b    []byte
		kind error
		want string // part of the message
	}{
		{"empty", nil, codecs.ErrEmpty, "empty file"},
		{"ID3 only", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x04"), 0, 0, 0, 0), codecs.ErrEmpty, "ID3"},
		{"ID3 cut off", []byte("ID3\x04\x00\x00\x00\x00\x10\x04abc"), codecs.ErrFormat, "ID3"},
		{"HTML", []byte("\n<!DOCTYPE html><html><body>404</body></html>"), codecs.ErrUnsupported, "an HTML page, and no sound: not supported"},
		{"JSON", []byte(`{"error":"no such file"}`), codecs.ErrUnsupported, "a JSON file, and no sound: not supported"},
		{"text", []byte("grüße, world"), codecs.ErrUnsupported, "a text file, and no sound: not supported"},
		{"AMR", []byte("#!AMR\n\x3c\x00\x00"), codecs.ErrUnsupported, "AMR audio: not supported"},
		{"AIFF", []byte("FORM\x00\x00\x00\x10AIFFCOMM"), codecs.ErrUnsupported, "AIFF audio: not supported"},
		{"CAF", []byte("caff\x00\x01\x00\x00desc"), codecs.ErrUnsupported, "CAF audio"},
		{"WMA", []byte("\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9"), codecs.ErrUnsupported, "WMA"},
		{"AC-3", []byte("\x0b\x77\x12\x34\x14\x40\x43\xe1"), codecs.ErrUnsupported, "AC-3 audio"},
		{"AVI", []byte("RIFF\x00\x00\x00\x10AVI LIST"), codecs.ErrUnsupported, "AVI video"},
		{"FLV", []byte("FLV\x01\x05\x00\x00\x00\x09"), codecs.ErrUnsupported, "Flash"},
		{"MIDI", []byte("MThd\x00\x00\x00\x06\x00\x01"), codecs.ErrUnsupported, "MIDI"},
		{"PNG", []byte("\x89PNG\r\n\x1a\n\x00\x00"), codecs.ErrUnsupported, "PNG image"},
		{"ZIP", []byte("PK\x03\x04\x14\x00"), codecs.ErrUnsupported, "ZIP archive"},
		{"PDF", []byte("%PDF-1.7\n"), codecs.ErrUnsupported, "PDF document"},
		{"zeros", make([]byte, 100), codecs.ErrUnsupported, "zeros"},
		{"noise", bytes.Repeat([]byte{0x80, 0x01, 0x93, 0xfe}, 99), codecs.ErrUnsupported, "unknown data"},
		{"MP4 with AC-3", ac3, codecs.ErrUnsupported, "MP4 with AC-3"},
		{"MP4 cut off", m4a[:60], codecs.ErrFormat, "MP4"},
		{"WebM slice", webm[cluster:], codecs.ErrUnsupported, "WebM without a header (a later MediaRecorder slice)"},
		{"WebM slice inside a cluster", webm[block:], codecs.ErrUnsupported, "WebM without a header (a later MediaRecorder slice)"},
		{"Ogg slice", opus[bytes.LastIndex(opus, []byte("OggS")):], codecs.ErrUnsupported, "a later MediaRecorder slice"},
		{"WAV with MP3", []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x55\x00\x01\x00\x40\x1f\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00data"), codecs.ErrUnsupported, "WAV with MP3 audio: not supported"},
		{"WAV without samples", []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"), codecs.ErrEmpty, "WAV: no audio in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := codecs.Open(bytes.NewReader(tt.b), codecs.Options{})
			if err == nil {
				_, err = audiotest.ReadAll(s)
			}
			var e *codecs.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, tt.kind, tt.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	var file bytes.Buffer
	e, err := must(codecs.EncodingByName("wav")).Create(&file, 8000, 2, codecs.EncodeOptions{Streamed: true})
	if err := errors.Join(err, e.Write(make([]float32, 16000*2)), e.Close()); err != nil {
		t.Fatal(err)
	}
	m4a := audiotest.ReadFile(t, "testdata/short.m4a")
	for _, tt := range []struct {
		name string
		r    io.Reader
		o    codecs.Options
		ok   bool
	}{
		{"none", bytes.NewReader(file.Bytes()), codecs.Options{}, true},
		{"bytes, just", bytes.NewReader(file.Bytes()), codecs.Options{MaxBytes: int64(file.Len())}, true},
		{"bytes", bytes.NewReader(file.Bytes()), codecs.Options{MaxBytes: int64(file.Len()) - 1}, false},
		{"duration, just", bytes.NewReader(file.Bytes()), codecs.Options{MaxDuration: 2 * time.Second}, true},
		{"duration", bytes.NewReader(file.Bytes()), codecs.Options{MaxDuration: 1999 * time.Millisecond}, false},
		{"frames", bytes.NewReader(file.Bytes()), codecs.Options{MaxFrames: 15999}, false},
		{"channels", bytes.NewReader(file.Bytes()), codecs.Options{MaxChannels: 1}, false},
		{"memory", readerOnly{bytes.NewReader(m4a)}, codecs.Options{Memory: int64(len(m4a)) - 1}, false},
		{"memory, just", readerOnly{bytes.NewReader(m4a)}, codecs.Options{Memory: int64(len(m4a))}, true},
		{"memory not needed", bytes.NewReader(m4a), codecs.Options{Memory: 1}, true},
		{"bytes of MP4", bytes.NewReader(m4a), codecs.Options{MaxBytes: int64(len(m4a)) - 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := codecs.Open(tt.r, tt.o)
			if err == nil {
				_, err = audiotest.ReadAll(s)
			}
			if tt.ok != (err == nil) || err != nil && !errors.Is(err, codecs.ErrLimit) {
				t.Errorf("got %v; want no error: %t", err, tt.ok)
			}
		})
	}
}

// An error of the input itself is not blamed on its content.
func TestInputError(t *testing.T) {
	for _, tt := range testFiles {
		b := audiotest.ReadFile(t, filepath.FromSlash(tt.path))
		for _, n := range []int{0, 20, len(b) / 2, len(b) - 1} {
			// net/http says the second when a client leaves.
			for _, gone := range []error{errors.New("connection reset"), io.ErrUnexpectedEOF} {
				r := readerOnly{io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(gone))}
				s, err := codecs.Open(r, codecs.Options{})
				if err == nil {
					_, err = audiotest.ReadAll(s)
				}
				var e *codecs.Error
				if !errors.Is(err, gone) || errors.As(err, &e) {
					t.Errorf("%s after %d bytes: %v, want %v alone", tt.format, n, err, gone)
				}
			}
		}
	}
}

// faultyDisk is a file that cannot be read from some offset on.
type faultyDisk struct {
	*bytes.Reader
	good int64
	err  error
	hit  bool
}

func (f *faultyDisk) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.good {
		f.hit = true
		return 0, f.err
	}
	return f.Reader.ReadAt(p, off)
}

// Nor is an error of random access.
func TestInputErrorAt(t *testing.T) {
	b := audiotest.ReadFile(t, "testdata/short.m4a")
	fault := errors.New("input/output error")
	for good := range len(b) {
		disk := &faultyDisk{Reader: bytes.NewReader(b), good: int64(good), err: fault}
		s, err := codecs.Open(disk, codecs.Options{})
		if err == nil {
			_, err = audiotest.ReadAll(s)
		}
		want := fault
		if good > len(b)-100 && !disk.hit { // a box at the end that is not read
			want = nil
		}
		if err != want {
			t.Fatalf("readable up to %d of %d bytes: %v, want %v alone", good, len(b), err, want)
		}
	}
}

// FuzzOpen reads whatever comes out of Open to its end, or up to a minute.
func FuzzOpen(f *testing.F) {
	for _, tt := range testFiles {
		f.Add(audiotest.ReadFile(f, filepath.FromSlash(tt.path)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := codecs.Open(bytes.NewReader(b), codecs.Options{MaxDuration: time.Minute, MaxFrames: 1 << 22})
		if err == nil {
			var m *codecs.Mono
			if m, err = codecs.NewMono(s, 16000); err == nil {
				var x []float32
				x, err = audiotest.ReadAll(m)
				for _, v := range x {
					if v-v != 0 {
						t.Fatalf("%s gives %v", s.Format(), v)
					}
				}
			}
		}
		var e *codecs.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is no *Error", err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}

// TestKinds has the errors of packages be of the two kinds that Open and Create
// tell apart, with their names in the text.
func TestKinds(t *testing.T) {
	for _, tt := range []struct{ err, kind error }{
		{wav.ErrFormat, codecs.ErrFormat}, {flac.ErrFormat, codecs.ErrFormat}, {ogg.ErrFormat, codecs.ErrFormat},
		{opus.ErrFormat, codecs.ErrFormat}, {vorbis.ErrFormat, codecs.ErrFormat}, {webm.ErrFormat, codecs.ErrFormat},
		{mp3.ErrFormat, codecs.ErrFormat}, {mp4.ErrFormat, codecs.ErrFormat}, {aac.ErrFormat, codecs.ErrFormat},
		{wav.ErrUnsupported, codecs.ErrUnsupported}, {flac.ErrUnsupported, codecs.ErrUnsupported}, {ogg.ErrUnsupported, codecs.ErrUnsupported},
		{opus.ErrUnsupported, codecs.ErrUnsupported}, {vorbis.ErrUnsupported, codecs.ErrUnsupported}, {webm.ErrUnsupported, codecs.ErrUnsupported},
		{mp3.ErrUnsupported, codecs.ErrUnsupported}, {mp4.ErrUnsupported, codecs.ErrUnsupported}, {aac.ErrUnsupported, codecs.ErrUnsupported},
		{flac.ErrOption, codecs.ErrUnsupported}, {opus.ErrOption, codecs.ErrUnsupported},
	} {
		if !errors.Is(tt.err, tt.kind) || tt.err.Error() == tt.kind.Error() {
			t.Errorf("%q is not one of %q", tt.err, tt.kind)
		}
	}
	_, err := codecs.Open(strings.NewReader("RIFF\x00\x00\x00\x00WAVEdata\x04\x00\x00\x00abcd"), codecs.Options{})
	if err == nil || !strings.Contains(err.Error(), "malformed WAV: ") || strings.Count(err.Error(), "malformed") != 1 {
		t.Errorf("error %v, want malformed WAV, and why, once", err)
	}
}
