package asr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs"
	"quern/engine/asr/audio"
	"quern/engine/token"
)

// The same speech in another container or at another rate says the same.
// Random weights amplify what differs, so tokens are only compared where the
// samples are nearly those of the original; elsewhere features are, by the root
// mean square of their difference, of which 0.25 is 10 dB.
func TestContainers(t *testing.T) {
	if !fixtures.Whole {
		t.Skip("QUERN_TEST_WHOLE is not set: it has ffmpeg encode eighteen files")
	}
	original := shared(t, "whisper/jfk.wav")
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg")
	}
	m := open(t, shared(t, "whisper/hf_tiny"), exact)
	want := tokensOf(t, m, wave(t, original))
	if len(want) == 0 {
		t.Fatal("no tokens")
	}
	reference := spectrogram(t, wave(t, original))
	for _, tt := range []struct {
		name  string
		args  []string
		worst float64 // difference of features
		same  bool    // tokens
	}{
		{"wav, 16 bits", []string{"-c:a", "pcm_s16le", "-f", "wav"}, 0, true},
		{"wav, 24 bits", []string{"-c:a", "pcm_s24le", "-f", "wav"}, 0, true},
		{"wav, 32 bits", []string{"-c:a", "pcm_s32le", "-f", "wav"}, 0, true},
		{"wav, float", []string{"-c:a", "pcm_f32le", "-f", "wav"}, 0, true},
		{"wav, two channels", []string{"-af", "pan=stereo|c0=c0|c1=c0", "-c:a", "pcm_s16le", "-f", "wav"}, 0, true},
		{"flac", []string{"-c:a", "flac", "-f", "flac"}, 0, true},
		{"flac in ogg", []string{"-c:a", "flac", "-f", "ogg"}, 0, true},
		{"alac", []string{"-c:a", "alac", "-f", "mp4"}, 0, true},
		{"wav, 8 bits", []string{"-c:a", "pcm_u8", "-f", "wav"}, 0.3, false},
		{"wav, 48 kHz, float", []string{"-ar", "48000", "-c:a", "pcm_f32le", "-f", "wav"}, 0.02, false},
		{"wav, 44.1 kHz, 24 bits", []string{"-ar", "44100", "-c:a", "pcm_s24le", "-f", "wav"}, 0.02, false},
		{"wav, 22.05 kHz", []string{"-ar", "22050", "-c:a", "pcm_s16le", "-f", "wav"}, 0.02, false},
		{"mp3", []string{"-c:a", "libmp3lame", "-b:a", "64k", "-f", "mp3"}, 0.2, false},
		{"m4a", []string{"-c:a", "aac", "-b:a", "64k", "-f", "mp4"}, 0.2, false},
		{"aac", []string{"-c:a", "aac", "-b:a", "64k", "-f", "adts"}, 0.2, false},
		{"vorbis", []string{"-c:a", "libvorbis", "-q:a", "5", "-f", "ogg"}, 0.2, false},
		{"opus", []string{"-ar", "48000", "-c:a", "libopus", "-b:a", "48k", "-f", "ogg"}, 0.2, false},
		{"webm", []string{"-ar", "48000", "-c:a", "libopus", "-b:a", "48k", "-f", "webm"}, 0.2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sound")
			args := append([]string{"-v", "error", "-nostdin", "-i", original}, append(tt.args, path)...)
			if errs, err := exec.Command(ffmpeg, args...).CombinedOutput(); err != nil {
				t.Skipf("this ffmpeg does not: %v, %s", err, errs)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			x, err := samplesOf(file)
			if err != nil {
				t.Fatal(err)
			}
			d := math.Inf(1)
			delay := 0
			// AAC without a container does not say by how much it is late.
			for shift := 0; shift == 0 || tt.name == "aac" && shift <= 2048; shift += 1024 {
				if e := rms(spectrogram(t, x[min(shift, len(x)):]), reference); e < d {
					d, delay = e, shift
				}
			}
			got := tokensOf(t, m, x[min(delay, len(x)):])
			distance := edits(got, want)
			t.Logf("features differ by %.4f, %d of %d tokens, %d samples late", d, distance, len(want), delay)
			if d > tt.worst {
				t.Errorf("features differ by %g, more than %g", d, tt.worst)
			}
			if tt.same && distance > 0 {
				t.Errorf("%d of %d tokens differ: %v, want %v", distance, len(want), got, want)
			}
		})
	}
}

// samplesOf decodes a file as requests are.
func samplesOf(file []byte) ([]float32, error) {
	s, err := codecs.Open(bytes.NewReader(file), codecs.Options{})
	if err != nil {
		return nil, err
	}
	mono, err := codecs.NewMono(s, audio.Rate)
	if err != nil {
		return nil, err
	}
	var out []float32
	buf := make([]float32, 4096)
	for {
		n, err := mono.Read(buf)
		out = append(out, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("after %d samples: %w", len(out), err)
		}
	}
}

// spectrogram is the features of the ten seconds all encodings have.
func spectrogram(t *testing.T, x []float32) []float32 {
	src := audio.Samples(x)
	f := audio.NewSpectrogram(audio.NewMelBank(80), audio.NewReader(&src))
	const n = 1000
	if have, err := f.Need(context.Background(), n); err != nil || have < n {
		t.Fatal(have, err)
	}
	out := make([]float32, n*80)
	f.Window(out, 0, n)
	return out
}

func rms(a, b []float32) float64 {
	var sum float64
	for i := range a {
		d := float64(a[i] - b[i])
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(a)))
}

func tokensOf(t *testing.T, m *Model, x []float32) (list []token.ID) {
	for _, s := range collect(t, m, x, Options{Language: "en", Temperatures: []float64{0}, Without: NoGuards, MaxTokens: 60}) {
		list = append(list, s.Tokens...)
	}
	return list
}

// edits is the Levenshtein distance of two lists.
func edits(a, b []token.ID) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		last := row[0]
		row[0] = i + 1
		for j := range b {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
