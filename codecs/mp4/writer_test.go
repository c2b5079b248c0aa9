package mp4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quern/codecs/aac"
	"quern/codecs/internal/audiotest"
)

// chord is n frames of tones that differ by channel.
func chord(n, rate, channels int) []float32 {
	x := make([]float32, 0, n*channels)
	for i := range n {
		for c := range channels {
			s := float64(i) / float64(rate)
			x = append(x, float32(0.3*math.Cos(2*math.Pi*s*(300+200*float64(c)))+0.2*math.Sin(2*math.Pi*s*740)))
		}
	}
	return x
}

// written is x as a file, in pieces of n values.
func written(t testing.TB, x []float32, rate, channels, bitrate int, fragmented bool, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, rate, channels, bitrate, fragmented)
	if err != nil {
		t.Fatal(err)
	}
	for rest := x; len(rest) > 0; rest = rest[min(n, len(rest)):] {
		if err := w.Write(rest[:min(n, len(rest))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decibels(got, want []float32) float64 {
	var signal, noise float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		signal += float64(w) * float64(w)
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}

// What is played of a plain file is what was written, to the sample; a file in fragments
// ends with no more than a unit of silence. ffmpeg, where there is one, has nothing to say
// and plays the same.
func TestWriter(t *testing.T) {
	for _, tt := range []struct{ rate, channels, frames, bitrate int }{
		{24000, 1, 24000, 64000},
		{24000, 1, 1, 64000},
		{24000, 1, 448, 64000},
		{24000, 1, 449, 64000},
		{8000, 2, 5000, 24000},
		{44100, 2, 44100, 128000},
		{48000, 1, 20000, 320000 / 2},
		{96000, 2, 30000, 320000},
	} {
		for _, fragmented := range []bool{false, true} {
			name := fmt.Sprint(tt, fragmented)
			x := chord(tt.frames, tt.rate, tt.channels)
			data := written(t, x, tt.rate, tt.channels, tt.bitrate, fragmented, len(x))
			if again := written(t, x, tt.rate, tt.channels, tt.bitrate, fragmented, 700*tt.channels); !bytes.Equal(again, data) {
				t.Errorf("%s: another file in other pieces", name)
			}
			got, r, err := play(data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Rate() != tt.rate || r.Channels() != tt.channels || r.Codec() != "AAC-LC" {
				t.Errorf("%s: %s, %d Hz, %d channels", name, r.Codec(), r.Rate(), r.Channels())
			}
			if extra := len(got)/tt.channels - tt.frames; extra < 0 || extra >= unitFrames || extra > 0 && !fragmented {
				t.Fatalf("%s: %d frames come back", name, len(got)/tt.channels)
			}
			if db := decibels(got, x); !(db > 20) {
				t.Errorf("%s: %.1f dB", name, db)
			}
			length := time.Duration(float64(tt.frames) / float64(tt.rate) * 1e9)
			if d := r.Duration(); !fragmented && (d-length).Abs() > time.Microsecond || fragmented && d != 0 {
				t.Errorf("%s: a header of %v, want %v", name, d, length)
			}
			if moov := bytes.Index(data, []byte("moov")); moov < 0 || moov > 64 {
				t.Errorf("%s: the header is at %d", name, moov)
			}
			if tt.frames > unitFrames-aac.EncoderDelay { // ffmpeg plays nothing of a single unit
				ffmpegPlays(t, name, data, got, tt.channels, length, fragmented)
			}
		}
	}
}

// ffmpegPlays holds what ffmpeg makes of a file to want.
func ffmpegPlays(t *testing.T, name string, data []byte, want []float32, channels int, length time.Duration, fragmented bool) {
	t.Helper()
	ffmpeg := audiotest.Program("ffmpeg")
	if ffmpeg == "" {
		return
	}
	path := filepath.Join(t.TempDir(), "x.m4a")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	cmd := exec.Command(ffmpeg, "-v", "warning", "-i", path, "-f", "f32le", "-")
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("%s: ffmpeg: %v: %s", name, err, said.String())
	}
	theirs := make([]float32, out.Len()/4)
	for i := range theirs {
		theirs[i] = math.Float32frombits(binary.LittleEndian.Uint32(out.Bytes()[4*i:]))
	}
	if fragmented { // of which it plays the delay too, as of those it writes itself
		theirs = theirs[min(len(theirs), aac.EncoderDelay*channels):]
	}
	// It does not cut the last unit.
	if len(theirs) < len(want) || !(decibels(theirs, want) > 100) {
		t.Errorf("%s: ffmpeg plays %d values, want %d", name, len(theirs), len(want))
	}
	shown, err := exec.Command("ffprobe", "-v", "warning", "-show_entries", "format=duration", "-of", "csv=p=0", path).CombinedOutput()
	var seconds float64
	if _, err2 := fmt.Sscan(string(shown), &seconds); err != nil || err2 != nil {
		t.Fatalf("%s: ffprobe: %v, %s", name, err, shown)
	}
	// Without an end in the edit list the delay counts.
	if d := seconds - length.Seconds(); math.Abs(d) > 0.0005 && !fragmented || d < -0.0005 || d > 0.1 {
		t.Errorf("%s: ffprobe finds %v s, want %v", name, seconds, length.Seconds())
	}
}

// Fragments go out as they fill up, beginning with the header.
func TestFragmentsAsMade(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, 24000, 1, 64000, true)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{}
	for range 10 {
		if err := w.Write(chord(24000/5, 24000, 1)); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, b.Len())
	}
	if sizes[0] == 0 || sizes[9] < 10000 {
		t.Errorf("sizes after fifths of a second: %v", sizes)
	}
	// What came so far can be played.
	if got, _, err := play(b.Bytes()); err != nil || len(got) < 24000 {
		t.Errorf("%d samples of the first pieces: %v", len(got), err)
	}
	// Later writes allocate nothing.
	x := chord(24000, 24000, 1)
	w, _ = NewWriter(io.Discard, 24000, 1, 64000, true)
	write := func() {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := testing.AllocsPerRun(3, write); n != 0 {
		t.Errorf("%v allocations a second, want 0", n)
	}
}

// No samples are a file without units.
func TestNothingWritten(t *testing.T) {
	for _, fragmented := range []bool{false, true} {
		data := written(t, nil, 24000, 1, 64000, fragmented, 1)
		wantError(t, data, ErrFormat, "no samples")
	}
}

func TestNewWriterRefuses(t *testing.T) {
	for _, tt := range []struct {
		rate, channels, bitrate int
		want                    string
	}{
		{23000, 1, 64000, "nearest is 22050"},
		{24000, 1, 1000000, "8000 to 144000"},
		{24000, 6, 64000, "6 channels"},
	} {
		_, err := NewWriter(io.Discard, tt.rate, tt.channels, tt.bitrate, false)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
