package codecs_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"quern/codecs"
)

func TestRawRead(t *testing.T) {
	if _, err := codecs.RawByName("pcm_1"); err == nil {
		t.Error("a rate that is none")
	}
	data := []byte{0, 0, 0, 0x40, 0, 0x80, 1}
	for _, tt := range []struct {
		name string
		r    io.Reader
		want []float32
	}{
		{"pcm_16000", bytes.NewReader(data), []float32{0, 0.5, -1}},
		{"pcm_s16le_16", iotest.OneByteReader(bytes.NewReader(data)), []float32{0, 0.5, -1}},
		{"pcm_48000", iotest.DataErrReader(bytes.NewReader(data)), []float32{0, 0.5, -1}},
		{"ulaw_8000", bytes.NewReader([]byte{0xff, 0x80}), []float32{0, 32124.0 / 32768}},
	} {
		l, err := codecs.RawByName(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Open(tt.r, codecs.Options{})
		if err != nil || s.Rate() != l.Rate || s.Channels() != 1 || s.Format() != tt.name {
			t.Fatalf("%s: %v, %d Hz, %s", tt.name, err, s.Rate(), s.Format())
		}
		var got []float32
		for buf := make([]float32, 2); ; {
			n, err := s.Read(buf)
			got = append(got, buf[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != len(tt.want) {
			t.Fatalf("%s: %v, want %v", tt.name, got, tt.want)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		}
	}
	l, _ := codecs.RawByName("pcm_16000")
	if s, err := l.Open(bytes.NewReader(nil), codecs.Options{}); err != nil {
		t.Error(err)
	} else if _, err := s.Read(make([]float32, 1)); !errors.Is(err, codecs.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
	if s, err := l.Open(bytes.NewReader(data), codecs.Options{MaxBytes: 4}); err == nil {
		for {
			if _, err = s.Read(make([]float32, 8)); err != nil {
				break
			}
		}
		if !errors.Is(err, codecs.ErrLimit) {
			t.Errorf("more than the limit: %v", err)
		}
	}
}

// A slow reader gives what there is and fails the test that asks for more.
type slow struct {
	t *testing.T
	b []byte
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		s.t.Fatal("it waits for more than the first sound")
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

// TestOpenEarly: sound that is still made is known by its first bytes.
func TestOpenEarly(t *testing.T) {
	var wav bytes.Buffer
	kind, err := codecs.EncodingByName("wav")
	if err != nil {
		t.Fatal(err)
	}
	w, err := kind.Create(&wav, 16000, 1, codecs.EncodeOptions{Streamed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(make([]float32, 2000)); err != nil {
		t.Fatal(err)
	}
	if s, err := codecs.Open(&slow{t, wav.Bytes()}, codecs.Options{}); err != nil || s.Format() != "wav" {
		t.Errorf("WAV: %v", err)
	}
}
