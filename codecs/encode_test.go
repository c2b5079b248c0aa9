package codecs_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quern/codecs"
	"quern/codecs/internal/audiotest"
)

func sine(freq float64, rate, channels, n int) []float32 {
	x := make([]float32, 0, n*channels)
	for i := range n {
		for c := range channels {
			x = append(x, float32(.5*math.Sin(2*math.Pi*freq*float64(i)/float64(rate)))*(1-.5*float32(c)))
		}
	}
	return x
}

func create(t *testing.T, name string, x []float32, rate, channels int, o codecs.EncodeOptions) []byte {
	t.Helper()
	e, err := codecs.EncodingByName(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc, err := e.Create(&b, rate, channels, o)
	if err != nil {
		t.Fatal(err)
	}
	for len(x) > 0 {
		n := min(777*channels, len(x))
		if err := enc.Write(x[:n]); err != nil {
			t.Fatal(err)
		}
		x = x[n:]
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is encoded must come back through Open at its length and level.
func TestRoundTrip(t *testing.T) {
	const seconds = 1
	for _, tt := range []struct {
		name, format   string
		rate, channels int
		o              codecs.EncodeOptions
		outRate        int
		snr            float64
	}{
		{"wav", "wav", 24000, 1, codecs.EncodeOptions{}, 24000, 88},
		{"wav", "wav", 24000, 2, codecs.EncodeOptions{Streamed: true}, 24000, 88},
		{"wav", "wav", 24000, 1, codecs.EncodeOptions{Rate: 16000}, 16000, 88},
		{"flac", "flac", 24000, 1, codecs.EncodeOptions{}, 24000, 88},
		{"flac", "flac", 44100, 2, codecs.EncodeOptions{Rate: 48000}, 48000, 88},
		{"opus", "ogg/opus", 24000, 1, codecs.EncodeOptions{Bitrate: 96000}, 48000, 20},
		{"opus", "ogg/opus", 44100, 2, codecs.EncodeOptions{}, 48000, 20},
		{"aac", "aac", 24000, 1, codecs.EncodeOptions{}, 24000, 0},
		{"aac", "aac", 8000, 2, codecs.EncodeOptions{Rate: 44100, Bitrate: 96000}, 44100, 0},
		{"m4a", "mp4/aac-lc", 24000, 1, codecs.EncodeOptions{}, 24000, 45},
		{"m4a", "mp4/aac-lc", 24000, 2, codecs.EncodeOptions{Bitrate: 96000}, 24000, 35},
		{"m4a", "mp4/aac-lc", 8000, 1, codecs.EncodeOptions{Streamed: true}, 8000, 0},
		{"mp3", "mp3", 24000, 1, codecs.EncodeOptions{}, 24000, 0},
		{"mp3", "mp3", 44100, 2, codecs.EncodeOptions{Bitrate: 192000}, 44100, 0},
	} {
		t.Run(tt.name+" "+tt.format, func(t *testing.T) {
			b := create(t, tt.name, sine(440, tt.rate, tt.channels, tt.rate*seconds), tt.rate, tt.channels, tt.o)
			s, err := codecs.Open(bytes.NewReader(b), codecs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			x, err := audiotest.ReadAll(s)
			if err != nil {
				t.Fatal(err)
			}
			if s.Format() != tt.format || s.Rate() != tt.outRate || s.Channels() != tt.channels {
				t.Errorf("got %s, %d Hz, %d channels; want %s, %d, %d", s.Format(), s.Rate(), s.Channels(), tt.format, tt.outRate, tt.channels)
			}
			want := sine(440, tt.outRate, tt.channels, tt.outRate*seconds)
			if tt.snr == 0 {
				// Delay or padding are the stream's: only level and rough length.
				if n := len(x) / tt.channels; n < tt.outRate || n > tt.outRate+3*1152 {
					t.Errorf("%d frames, want %d and a little", n, tt.outRate)
				}
				half := len(x) / 2 / tt.channels * tt.channels
				if got, want := level(x[half:][:2000]), level(want[half:][:2000]); math.Abs(got-want) > .5 {
					t.Errorf("level %.2f dB, want %.2f", got, want)
				}
				return
			}
			if len(x) != len(want) {
				t.Errorf("%d samples, want %d", len(x), len(want))
			}
			middle := len(want) / 3 / tt.channels * tt.channels
			if snr := audiotest.SNR(x[middle:2*middle], want[middle:2*middle]); snr < tt.snr {
				t.Errorf("%.1f dB, want %.0f", snr, tt.snr)
			}
		})
	}
}

func level(x []float32) float64 {
	e := 0.0
	for _, v := range x {
		e += float64(v) * float64(v)
	}
	return 10 * math.Log10(e/float64(len(x)))
}

// Raw encodings have no header to be opened by.
func TestRaw(t *testing.T) {
	x := []float32{0, .5, -.5, 1, -1}
	for _, tt := range []struct {
		name string
		want []byte
	}{
		{"pcm", []byte{0, 0, 0, 0x40, 0, 0xc0, 0xff, 0x7f, 0, 0x80}},
		{"mulaw", []byte{0xff, 0x8f, 0x0f, 0x80, 0x00}},
		{"alaw", []byte{0xd5, 0xa5, 0x3a, 0xaa, 0x2a}},
	} {
		if got := create(t, tt.name, x, 8000, 1, codecs.EncodeOptions{}); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: got %x, want %x", tt.name, got, tt.want)
		}
	}
}

// G.711 is of 8 kHz, whatever the rate of the sound, unless another is asked for.
func TestRateOfRaw(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rate, want int // of a second of 24 kHz
	}{
		{"pcm", 0, 2 * 24000}, {"pcm", 8000, 2 * 8000},
		{"mulaw", 0, 8000}, {"mulaw", 16000, 16000},
		{"alaw", 0, 8000}, {"alaw", 16000, 16000},
	} {
		if got := len(create(t, tt.name, sine(440, 24000, 1, 24000), 24000, 1, codecs.EncodeOptions{Rate: tt.rate})); got != tt.want {
			t.Errorf("%s at %d Hz: %d bytes, want %d", tt.name, tt.rate, got, tt.want)
		}
	}
}

func TestEncodings(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range codecs.Encodings() {
		if e.Name == "" || e.MIME == "" || e.Ext == "" || seen[e.Name] {
			t.Errorf("incomplete or repeated: %+v", e)
		}
		seen[e.Name] = true
	}
	for _, tt := range []struct {
		name           string
		rate, channels int
		o              codecs.EncodeOptions
	}{
		{"aac", 24001, 1, codecs.EncodeOptions{}},
		{"aac", 24000, 1, codecs.EncodeOptions{Bitrate: 144001}},
		{"m4a", 24000, 3, codecs.EncodeOptions{}},
		{"", 24000, 1, codecs.EncodeOptions{}},
		{"opus", 24000, 6, codecs.EncodeOptions{}},
		{"opus", 24000, 1, codecs.EncodeOptions{Bitrate: 5999}},
		{"flac", 48000, 9, codecs.EncodeOptions{}},
		{"mp3", 23000, 1, codecs.EncodeOptions{}},
		{"mp3", 24000, 1, codecs.EncodeOptions{Bitrate: 65000}},
		{"wav", 24000, 1, codecs.EncodeOptions{Rate: 10}},
	} {
		e, err := codecs.EncodingByName(tt.name)
		if err == nil {
			_, err = e.Create(&bytes.Buffer{}, tt.rate, tt.channels, tt.o)
		}
		if !errors.Is(err, codecs.ErrEncoding) {
			t.Errorf("%+v: got %v, want %v", tt, err, codecs.ErrEncoding)
		}
	}
}

// Sizes in a WAV header must be true unless it is streamed.
func TestWAVSizes(t *testing.T) {
	x := sine(440, 8000, 1, 100)
	path := filepath.Join(t.TempDir(), "x.wav")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	e := must(codecs.EncodingByName("wav"))
	enc := must(e.Create(f, 8000, 1, codecs.EncodeOptions{Streamed: true}))
	if err := errors.Join(enc.Write(x), enc.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	buffered := create(t, "wav", x, 8000, 1, codecs.EncodeOptions{})
	if !bytes.Equal(audiotest.ReadFile(t, path), buffered) {
		t.Error("a file and a buffer differ")
	}
	streamed := create(t, "wav", x, 8000, 1, codecs.EncodeOptions{Streamed: true})
	if !bytes.Equal(streamed[44:], buffered[44:]) || bytes.Count(streamed, []byte{0xff, 0xff, 0xff, 0xff}) < 2 {
		t.Error("a stream has other samples, or sizes")
	}
}

// A FLAC header tells the length unless the file is streamed.
func TestFLACLength(t *testing.T) {
	x := sine(440, 24000, 1, 36000)
	path := filepath.Join(t.TempDir(), "x.flac")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	enc := must(must(codecs.EncodingByName("flac")).Create(f, 24000, 1, codecs.EncodeOptions{Streamed: true}))
	if err := errors.Join(enc.Write(x), enc.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	buffered := create(t, "flac", x, 24000, 1, codecs.EncodeOptions{})
	if !bytes.Equal(audiotest.ReadFile(t, path), buffered) {
		t.Error("a file and a buffer differ")
	}
	streamed := create(t, "flac", x, 24000, 1, codecs.EncodeOptions{Streamed: true})
	for _, tt := range []struct {
		name string
		file []byte
		want time.Duration
	}{{"buffered", buffered, 1500 * time.Millisecond}, {"streamed", streamed, 0}} {
		if got := must(codecs.Open(bytes.NewReader(tt.file), codecs.Options{})).Duration(); got != tt.want {
			t.Errorf("%s: a header of %v; want %v", tt.name, got, tt.want)
		}
	}
	if len(streamed) != len(buffered) {
		t.Errorf("%d bytes streamed, %d buffered", len(streamed), len(buffered))
	}
}

// Mono must give the same whatever the blocks it is read in, and the level of
// the mix.
func TestMono(t *testing.T) {
	file := create(t, "flac", sine(440, 44100, 2, 44100), 44100, 2, codecs.EncodeOptions{})
	read := func(block int) []float32 {
		m := must(codecs.NewMono(must(codecs.Open(bytes.NewReader(file), codecs.Options{})), 16000))
		var out []float32
		buf := make([]float32, block)
		for {
			n, err := m.Read(buf)
			out = append(out, buf[:n]...)
			if err != nil {
				return out
			}
			if n < block && len(out) != 16000 {
				t.Fatalf("%d samples in the middle, want %d", n, block)
			}
		}
	}
	want := read(16000)
	if len(want) != 16000 {
		t.Fatalf("%d samples, want 16000", len(want))
	}
	for _, block := range []int{1, 160, 4096, 20000} {
		if got := read(block); len(got) != 16000 || audiotest.SNR(got, want) != 200 {
			t.Errorf("in blocks of %d: %d samples, %.1f dB", block, len(got), audiotest.SNR(got, want))
		}
	}
	tone := sine(440, 16000, 1, 16000)
	for i := range tone {
		tone[i] *= .75 // the mean of 1 and a half
	}
	if snr := audiotest.SNR(want[1000:15000], tone[1000:15000]); snr < 85 {
		t.Errorf("%.1f dB from the mean of the channels, want 85", snr)
	}
}
