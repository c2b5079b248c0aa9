package flac_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"quern/codecs/flac"
	"quern/codecs/internal/audiotest"
	"quern/codecs/wav"
)

func decode(t *testing.T, b []byte) (*flac.Reader, []float32) {
	t.Helper()
	d, err := flac.NewReader(io.MultiReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := audiotest.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, x
}

func encode(t testing.TB, w io.Writer, x []float32, rate, channels int) {
	t.Helper()
	e, err := flac.NewWriter(w, rate, channels)
	if err != nil {
		t.Fatal(err)
	}
	for len(x) > 0 {
		n := min(1000*channels, len(x))
		if err := e.Write(x[:n]); err != nil {
			t.Fatal(err)
		}
		x = x[n:]
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func source(t *testing.T, name string) ([]float32, *wav.Reader, string) {
	path := audiotest.Fixture(t, name)
	d, err := wav.NewReader(bytes.NewReader(audiotest.ReadFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := audiotest.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return x, d, path
}

func TestFixtures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rate, ch int
		frames   int
	}{
		{"flac16.flac", 44100, 2, 132300},
		{"flac24.flac", 48000, 2, 144000},
		{"flac_unknownlen.flac", 16000, 1, 48000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := audiotest.Fixture(t, tt.name)
			d, got := decode(t, audiotest.ReadFile(t, path))
			if d.Rate() != tt.rate || d.Channels() != tt.ch || len(got) != tt.frames*tt.ch {
				t.Errorf("got %d Hz, %d channels, %d frames; want %d, %d, %d",
					d.Rate(), d.Channels(), len(got)/d.Channels(), tt.rate, tt.ch, tt.frames)
			}
			if snr := audiotest.SNR(got, audiotest.FFmpeg(t, path)); snr != 200 {
				t.Errorf("%.1f dB from ffmpeg, want no difference", snr)
			}
		})
	}
}

// The encoder must be lossless for its own decoder, flac and ffmpeg, and at
// most 5 % larger than `flac -5`.
func TestWriterFixtures(t *testing.T) {
	for _, name := range []string{"m8000.src.wav", "m16000.src.wav", "m24000.src.wav", "m48.src.wav", "s44.src.wav", "s48.src.wav"} {
		t.Run(name, func(t *testing.T) {
			x, d, src := source(t, name)
			path := filepath.Join(t.TempDir(), "x.flac")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			encode(t, f, x, d.Rate(), d.Channels())
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			var stream bytes.Buffer
			encode(t, &stream, x, d.Rate(), d.Channels())
			for _, b := range [][]byte{audiotest.ReadFile(t, path), stream.Bytes()} {
				if _, got := decode(t, b); len(got) != len(x) || audiotest.SNR(got, x) != 200 {
					t.Errorf("%d samples at %.1f dB, want the same %d", len(got), audiotest.SNR(got, x), len(x))
				}
			}
			audiotest.Run(t, "flac", "-t", "-s", path)
			if got := audiotest.FFmpeg(t, path); len(got) != len(x) || audiotest.SNR(got, x) != 200 {
				t.Errorf("ffmpeg: %d samples at %.1f dB, want the same %d", len(got), audiotest.SNR(got, x), len(x))
			}
			want := audiotest.Run(t, "flac", "-5", "-s", "-c", "--no-padding", src)
			t.Logf("%d bytes, flac -5 %d: %.2f %%", stream.Len(), len(want), 100*float64(stream.Len())/float64(len(want)))
			if stream.Len() > len(want)*105/100 {
				t.Errorf("%d bytes, flac -5 makes %d", stream.Len(), len(want))
			}
		})
	}
}

func TestWriterSignals(t *testing.T) {
	noise := func(i int) float32 { return float32(int32(uint32(i*i)*2654435761>>7)%65536) / 65536 }
	for _, s := range []struct {
		name string
		f    func(i int) float32
	}{
		{"silence", func(int) float32 { return 0 }},
		{"constant", func(int) float32 { return -1 }},
		{"full scale square", func(i int) float32 { return float32(i/50%2)*2 - 1 }},
		{"clicks", func(i int) float32 {
			if i%1000 == 500 {
				return 1
			}
			return 0
		}},
		{"tone", func(i int) float32 { return float32(math.Sin(float64(i) / 20)) }},
		{"noise", noise},
		{"quiet noise", func(i int) float32 { return noise(i) / 8192 }},
	} {
		for _, n := range []int{0, 1, 5, 33, 4095, 4096, 4097, 9000} {
			for _, channels := range []int{1, 2, 3, 8} {
				t.Run(fmt.Sprint(s.name, " ", n, " ", channels), func(t *testing.T) {
					x := make([]float32, n*channels)
					for i := range x {
						v := s.f(i/channels + i%channels)
						x[i] = float32(math.Round(float64(min(v, 32767.0/32768))*32768)) / 32768
					}
					var b bytes.Buffer
					encode(t, &b, x, 48000, channels)
					if _, got := decode(t, b.Bytes()); len(got) != len(x) || n > 0 && audiotest.SNR(got, x) != 200 {
						t.Errorf("%d samples at %.1f dB, want the same %d", len(got), audiotest.SNR(got, x), len(x))
					}
					if b.Len() > 42+2*len(x)+len(x)/50+40 {
						t.Errorf("%d samples became %d bytes", len(x), b.Len())
					}
				})
			}
		}
	}
}

// TestFrameRate: every frame says its sample rate, where it can: RFC 9639, section 9.1.2.
// Without it FFmpeg knows no times of frames, and Chromium does not play short files.
func TestFrameRate(t *testing.T) {
	x := make([]float32, 5000)
	for i := range x {
		x[i] = float32(math.Round(math.Sin(float64(i)/20)*8000)) / 32768
	}
	for rate, code := range map[int]byte{8000: 4, 16000: 5, 22050: 6, 24000: 7, 32000: 8, 44100: 9, 48000: 10, 96000: 11, 88200: 1, 176400: 2, 192000: 3,
		1: 13, 11025: 13, 65535: 13, 384000: 14, 655350: 14, 65537: 0} {
		var b bytes.Buffer
		encode(t, &b, x, rate, 1)
		const first = 42 // behind the magic and STREAMINFO
		if got := b.Bytes()[first+2] & 15; got != code {
			t.Errorf("%d Hz: code %d; want %d", rate, got, code)
		}
		if d, got := decode(t, b.Bytes()); d.Rate() != rate || len(got) != len(x) || audiotest.SNR(got, x) != 200 {
			t.Errorf("%d Hz: %d samples at %d Hz, %.1f dB", rate, len(got), d.Rate(), audiotest.SNR(got, x))
		}
	}
}

func FuzzReader(f *testing.F) {
	x := make([]float32, 600)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)/9)) / 2
	}
	for _, channels := range []int{1, 2} {
		var b bytes.Buffer
		encode(f, &b, x, 16000, channels)
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := flac.NewReader(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, flac.ErrFormat) && !errors.Is(err, flac.ErrUnsupported) {
				t.Fatalf("error %v wraps neither sentinel", err)
			}
			return
		}
		buf := make([]float32, 8192)
		for {
			n, err := d.Read(buf)
			if n%d.Channels() != 0 {
				t.Fatalf("%d samples of %d channels", n, d.Channels())
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				if !errors.Is(err, flac.ErrFormat) {
					t.Fatalf("error %v wraps no sentinel", err)
				}
				return
			}
		}
	})
}
