package mp3_test

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
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs/internal/audiotest"
	"quern/codecs/mp3"
)

// encode returns x as MP3.
func encode(t testing.TB, x []float32, rate, channels, kbps int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := mp3.NewWriter(&buf, rate, channels, kbps)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// segSNR is the mean SNR of the 20 ms segments that are not silent, each
// between -10 and 35 dB, as speech coding counts it.
func segSNR(got, want []float32, rate int) float64 {
	n := rate / 50
	sum, count := 0.0, 0
	for i := 0; i+n <= min(len(got), len(want)); i += n {
		power := 0.0
		for _, v := range want[i : i+n] {
			power += float64(v) * float64(v)
		}
		if power < float64(n)*1e-6 {
			continue
		}
		sum += min(35, max(-10, snr(got[i:i+n], want[i:i+n])))
		count++
	}
	return sum / float64(count)
}

// speech is a fixture of the given name, 16 bits a sample.
func speech(t testing.TB, name string) []float32 {
	t.Helper()
	b := audiotest.ReadFile(t, audiotest.Fixture(t, name))[44:]
	x := make([]float32, len(b)/2)
	for i := range x {
		x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / 32768
	}
	return x
}

// trimmed decodes what encode made; the tag tells the delay, which is dropped.
func trimmed(t testing.TB, data []byte) []float32 {
	t.Helper()
	y, _, _, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// align shifts x by up to a frame and scales it to be nearest to want.
func align(x, want []float32, channels int) []float32 {
	n := min(len(want), len(x)) / 2 / channels * channels
	best, top := 0, 0.0
	for lag := 0; lag < 1300*channels && lag+n <= len(x); lag += channels {
		var xw, xx float64
		for i := 0; i < n; i += 3 * channels {
			xw += float64(x[lag+i]) * float64(want[i])
			xx += float64(x[lag+i]) * float64(x[lag+i])
		}
		if v := xw * math.Abs(xw) / xx; v > top {
			best, top = lag, v
		}
	}
	x = slices.Clone(x[best:])
	var xw, xx float64
	for i, w := range want[:min(len(x), len(want))] {
		xw += float64(x[i]) * float64(w)
		xx += float64(x[i]) * float64(x[i])
	}
	for i := range x {
		x[i] *= float32(xw / xx)
	}
	return x
}

// TestEvery encodes at all rates, and every fourth bitrate or, where all is asked for, every one.
// Where they are, mpg123 and ffmpeg must decode every fourth without a warning.
func TestEvery(t *testing.T) {
	mpeg1 := []int{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	mpeg2 := []int{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	for _, rate := range []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000} {
		for channels := 1; channels <= 2; channels++ {
			x := music(rate/8, rate, channels)
			kbps := mpeg2
			if rate >= 32000 {
				kbps = mpeg1
			}
			for i, k := range kbps {
				if !fixtures.Whole && i%4 != 0 {
					continue
				}
				name := fmt.Sprintf("%d Hz, %d channels, %d kbit/s", rate, channels, k)
				data := encode(t, x, rate, channels, k)
				y := trimmed(t, data)
				if len(y) < len(x) {
					t.Errorf("%s: %d samples of %d come back", name, len(y), len(x))
				}
				v := snr(y, x)
				if want := min(2, float64(k/channels)*2000/float64(rate)); v < want {
					t.Errorf("%s: SNR %.1f dB, want %.1f", name, v, want)
				}
				if i%4 == 0 {
					quietly(t, name, data, "ffmpeg", "-v", "warning", "-f", "mp3", "-i", "-", "-f", "null", "-")
					quietly(t, name, data, "mpg123", "-q", "-e", "f32", "-s", "-")
				}
			}
		}
	}
}

// quietly runs a decoder, where there is one; it must have nothing to say.
func quietly(t *testing.T, name string, data []byte, program string, args ...string) {
	t.Helper()
	path := audiotest.Program(program)
	if path == "" {
		return
	}
	cmd := exec.Command(path, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("%s: %s: %v: %s", name, program, err, said.String())
	}
}

// TestBitrate holds the size of a stream to the bitrate where frames are padded.
func TestBitrate(t *testing.T) {
	for _, rate := range []int{44100, 22050, 11025} {
		const seconds = 20
		data := encode(t, make([]float32, seconds*rate), rate, 1, 64)
		frames := 0
		for r, _ := mp3.NewReader(bytes.NewReader(data)); ; frames++ {
			var buf [1]float32
			if _, err := r.Read(buf[:]); err != nil {
				break
			}
		}
		frames += mp3.EncoderDelay + mp3.DecoderDelay + 576 // and the tag
		if rate == 44100 {
			frames += 576
		}
		if got, want := float64(len(data)), float64(frames)*64000/8/float64(rate); math.Abs(got-want) > 2 { // the tag is not padded
			t.Errorf("%d Hz: %.0f bytes, want %.1f", rate, got, want)
		}
	}
}

// TestChunks joins what two writers wrote.
func TestChunks(t *testing.T) {
	x := music(24000, 24000, 1)
	one := encode(t, x, 24000, 1, 64)
	got, _, _, err := decode(append(slices.Clone(one), one...))
	if err != nil {
		t.Fatal(err)
	}
	first := trimmed(t, one)
	at := len(got) - len(first)
	if v := snr(got[at:at+len(x)], first[:len(x)]); v < 60 {
		t.Errorf("the second of two joined streams has an SNR of %.1f dB", v)
	}
}

// TestTag: what is decoded begins with the first sample written, whether the writer's
// destination could seek or not, and if it could, ends with the last.
func TestTag(t *testing.T) {
	for _, tt := range []struct{ rate, channels, kbps int }{
		{24000, 1, 64}, {24000, 1, 8}, {8000, 2, 8}, {44100, 2, 128}, {48000, 1, 320},
	} {
		x := music(tt.rate, tt.rate, tt.channels)
		file, err := os.Create(filepath.Join(t.TempDir(), "x.mp3"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		w, err := mp3.NewWriter(file, tt.rate, tt.channels, tt.kbps)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(x), w.Close()); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		streamed := encode(t, x, tt.rate, tt.channels, tt.kbps)
		if len(whole) != len(streamed) {
			t.Errorf("%v: %d bytes in a file, %d in a stream", tt, len(whole), len(streamed))
		}
		y := trimmed(t, whole)
		if len(y) != len(x) {
			t.Errorf("%v: %d samples come back; want %d", tt, len(y), len(x))
		}
		z := trimmed(t, streamed)
		if len(z) < len(x) || !slices.Equal(y, z[:len(y)]) {
			t.Errorf("%v: a stream of %d samples differs from the file's %d", tt, len(z), len(y))
		}
		if r, err := mp3.NewReader(bytes.NewReader(whole)); err != nil || r.Frames() != int64(len(x)/tt.channels) {
			t.Errorf("%v: %v; the tag should promise %d samples", tt, err, len(x)/tt.channels)
		}
		if audiotest.Program("ffmpeg") == "" {
			continue
		}
		if got := audiotest.FFmpeg(t, file.Name()); len(got) != len(x) || snr(got, y) < 45 {
			t.Errorf("%v: ffmpeg finds %d samples at %.1f dB; want %d", tt, len(got), snr(got, y), len(x))
		}
		audiotest.WriteFile(t, file.Name(), streamed)
		// ffmpeg plays the tag of a stream as a frame without sound.
		got := audiotest.FFmpeg(t, file.Name())
		lead := 0
		for lead < len(got) && math.Abs(float64(got[lead])) < 0.003 {
			lead++
		}
		if ms := 1000 * lead / tt.channels / tt.rate; ms > 30 && tt.rate > 16000 {
			t.Errorf("%v: ffmpeg begins a stream with %d ms of silence", tt, ms)
		}
	}
}

// TestGain finds neither gain nor delay in a stream of high bitrate.
func TestGain(t *testing.T) {
	for _, channels := range []int{1, 2} {
		x := make([]float32, 48000*channels)
		for i := range x {
			x[i] = float32(0.5 * math.Sin(float64(i/channels)*0.0567+float64(i%channels)))
		}
		y := trimmed(t, encode(t, x, 48000, channels, 320))
		var xy, xx float64
		for i, v := range x {
			xy += float64(v) * float64(y[i])
			xx += float64(v) * float64(v)
		}
		if gain := 20 * math.Log10(xy/xx); math.Abs(gain) > 0.005 {
			t.Errorf("%d channels: gain %.4f dB", channels, gain)
		}
		if v := snr(y, x); v < 50 {
			t.Errorf("%d channels: SNR %.1f dB", channels, v)
		}
	}
}

func TestNewWriterRefuses(t *testing.T) {
	for _, tt := range []struct {
		rate, channels, kbps int
		want                 string
	}{
		{44000, 1, 64, "nearest is 44100"},
		{24000, 1, 320, "nearest is 160"},
		{44100, 2, 130, "nearest is 128"},
		{44100, 2, 8, "nearest is 32"},
		{44100, 3, 128, "3 channels"},
	} {
		_, err := mp3.NewWriter(io.Discard, tt.rate, tt.channels, tt.kbps)
		if !errors.Is(err, mp3.ErrUnsupported) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewWriter(%d, %d, %d): %v, want %q", tt.rate, tt.channels, tt.kbps, err, tt.want)
		}
	}
}

func FuzzWriter(f *testing.F) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e30, -2, 1e-40, 0, 1}
	var seed []byte
	for _, v := range odd {
		seed = binary.LittleEndian.AppendUint32(seed, math.Float32bits(v))
	}
	f.Add(seed, uint8(0))
	f.Add(bytes.Repeat(seed, 200), uint8(77))
	f.Add([]byte{}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		rates := []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000}
		channels := 1 + int(kind)/9%2
		kbps := []int{32, 64, 128, 160}[int(kind)/18%4]
		x := floats(data)
		x = x[:len(x)/channels*channels]
		for i, v := range x {
			if v-v != 0 { // refused; codecs tests that
				x[i] = 0
			}
		}
		got, _, _, err := decode(encode(t, x, rates[int(kind)%9], channels, kbps))
		if len(x) > 0 && err != nil || len(got) < len(x) {
			t.Fatalf("%d samples of %d come back: %v", len(got), len(x), err)
		}
		for i, v := range got {
			if !(math.Abs(float64(v)) < 8) {
				t.Fatalf("sample %d is %v", i, v)
			}
		}
	})
}

// TestAgainstLAME holds the encoder to within 3 dB of LAME's at the same
// bitrate, in segmental SNR on speech.
func TestAgainstLAME(t *testing.T) {
	for _, tt := range []struct {
		name           string
		rate, channels int
		kbps           int
	}{
		{"m24000.src.wav", 24000, 1, 32},
		{"m24000.src.wav", 24000, 1, 48},
		{"m24000.src.wav", 24000, 1, 64},
		{"m24000.src.wav", 24000, 1, 128},
		{"m16000.src.wav", 16000, 1, 32},
		{"m48.src.wav", 48000, 1, 64},
		{"s44.src.wav", 44100, 2, 128},
		{"s44.src.wav", 44100, 2, 192},
	} {
		t.Run(fmt.Sprint(tt.name, tt.kbps), func(t *testing.T) {
			x := speech(t, tt.name)
			ours := trimmed(t, encode(t, x, tt.rate, tt.channels, tt.kbps))
			theirs, _, _, err := decode(lame(t, x, tt.rate, tt.channels, "--cbr", "-b", fmt.Sprint(tt.kbps), "--resample", fmt.Sprint(float64(tt.rate)/1000)))
			if err != nil {
				t.Fatal(err)
			}
			n := tt.rate * tt.channels
			theirs = align(theirs, x, tt.channels)
			a, b := segSNR(ours, x, n), segSNR(theirs, x, n)
			t.Logf("segmental SNR %.1f dB, LAME %.1f; SNR %.1f, LAME %.1f", a, b, snr(ours, x), snr(theirs, x))
			if a < b-3 {
				t.Errorf("segmental SNR %.1f dB, LAME has %.1f", a, b)
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	x := music(10*24000, 24000, 1)
	b.ReportAllocs()
	for b.Loop() {
		encode(b, x, 24000, 1, 64)
	}
	b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "x")
}
