package aac

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quern/codecs/internal/audiotest"
)

// sound is a source for ffmpeg: tones that glide, pulses and noise, as many
// channels as asked for.
func sound(channels, rate int) string {
	var x []string
	for c := range channels {
		x = append(x, fmt.Sprintf("0.2*sin(%d*t*(1+t))+0.3*lt(mod(t+%d/100\\,0.2)\\,0.01)*random(%d)+0.02*random(%d)",
			1000+700*c, c, c, c+1))
	}
	layout := []string{"", "mono", "stereo", "2.1", "4.0", "5.0", "5.1", "6.1", "7.1"}[channels]
	return fmt.Sprintf("aevalsrc='%s':s=%d:d=0.7:c=%s", strings.Join(x, "|"), rate, layout)
}

// The decoder agrees with ffmpeg's on what ffmpeg's encoder makes.
func TestAgainstFFmpeg(t *testing.T) {
	path := audiotest.Need(t, "ffmpeg")
	ffmpeg := func(t *testing.T, in []byte, args ...string) []byte {
		cmd := exec.Command(path, append([]string{"-v", "error"}, args...)...)
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tt := range []struct {
		rate, channels int
		args           string
	}{
		// Every table of bands has a rate here.
		{8000, 1, ""},
		{16000, 1, "-aac_tns 1"},
		{24000, 2, "-b:a 32k"},
		{32000, 2, "-aac_tns 1 -b:a 160k"},
		{44100, 2, "-aac_ms 1 -b:a 64k"},
		{44100, 2, "-aac_ms 0 -aac_is 1 -b:a 40k"},
		{48000, 3, ""}, // described in the stream
		{48000, 8, ""},
		{64000, 2, ""},
		{96000, 2, ""},
	} {
		t.Run(fmt.Sprintf("%d Hz, %d channels, %s", tt.rate, tt.channels, tt.args), func(t *testing.T) {
			args := append(strings.Fields("-f lavfi -i"), sound(tt.channels, tt.rate))
			args = append(args, strings.Fields("-c:a aac -aac_pns 0 "+tt.args+" -f adts -")...)
			stream := ffmpeg(t, nil, args...)
			ref := ffmpeg(t, stream, strings.Fields("-f aac -i - -f f32le -")...)
			want := make([]float32, len(ref)/4)
			for i := range want {
				want[i] = math.Float32frombits(binary.LittleEndian.Uint32(ref[4*i:]))
			}
			got, r := decode(t, stream)
			if r.Rate() != tt.rate || r.Channels() != tt.channels || len(got) != len(want) {
				t.Fatalf("%d Hz, %d channels, %d values; want %d, %d, %d",
					r.Rate(), r.Channels(), len(got), tt.rate, tt.channels, len(want))
			}
			if db := ratio(got, want); !(db > 110) {
				t.Errorf("%.1f dB from ffmpeg, want 110", db)
			}
		})
	}
}

// ffmpeg decodes a stream, and must have nothing to say.
func ffmpeg(t *testing.T, stream []byte) []float32 {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-v", "warning", "-f", "aac", "-i", "-", "-f", "f32le", "-")
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stream), &out, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("ffmpeg: %v: %s", err, said.String())
	}
	x := make([]float32, out.Len()/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(out.Bytes()[4*i:]))
	}
	return x
}

// segmental is the mean SNR of the 20 ms segments that are not silent, each between -10
// and 35 dB, as speech coding counts it.
func segmental(got, want []float32, perSecond int) float64 {
	n := perSecond / 50
	sum, count := 0.0, 0
	for i := 0; i+n <= min(len(got), len(want)); i += n {
		power := 0.0
		for _, v := range want[i : i+n] {
			power += float64(v) * float64(v)
		}
		if power < float64(n)*1e-6 {
			continue
		}
		sum += min(35, max(-10, ratio(got[i:i+n], want[i:i+n])))
		count++
	}
	return sum / float64(max(count, 1))
}

// The encoder is no more than 3 dB behind ffmpeg's at the same bit rate, in segmental SNR
// on speech; and not behind figures of its own.
func TestSpeech(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		rate, channels, bitrate int
		least                   float64 // dB
	}{
		{"m24000.src.wav", 24000, 1, 32000, 19.5},
		{"m24000.src.wav", 24000, 1, 64000, 29},
		{"m24000.src.wav", 24000, 1, 96000, 32},
		{"m24000.src.wav", 24000, 1, 128000, 33.5},
		{"m16000.src.wav", 16000, 1, 64000, 31},
		{"m48.src.wav", 48000, 1, 64000, 29},
		{"s44.src.wav", 44100, 2, 128000, 17},
	} {
		t.Run(fmt.Sprint(tt.name, tt.bitrate), func(t *testing.T) {
			path := audiotest.Fixture(t, tt.name)
			b := audiotest.ReadFile(t, path)[44:]
			x := make([]float32, len(b)/2)
			for i := range x {
				x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / 32768
			}
			n := tt.rate * tt.channels
			ours := segmental(trimmed(t, encode(t, x, tt.rate, tt.channels, tt.bitrate), tt.channels), x, n)
			if ours < tt.least {
				t.Errorf("segmental SNR %.1f dB, want %.1f", ours, tt.least)
			}
			theirs, _ := decode(t, audiotest.Run(t, "ffmpeg", "-v", "error", "-i", path, "-c:a", "aac", "-b:a", fmt.Sprint(tt.bitrate), "-f", "adts", "-"))
			peer := segmental(theirs[maxFrame*tt.channels:], x, n)
			t.Logf("segmental SNR %.1f dB, ffmpeg's %.1f", ours, peer)
			if ours < peer-3 {
				t.Errorf("segmental SNR %.1f dB, ffmpeg's encoder has %.1f", ours, peer)
			}
		})
	}
}

// FAAD2 shares no code with ffmpeg. It makes of our streams what ours makes, but that it
// leaves out the first unit.
func TestAgainstFAAD(t *testing.T) {
	for channels := 1; channels <= 2; channels++ { // at 44.1 kHz it does not guess at SBR
		const rate = 44100
		stream := encode(t, plucked(rate, rate, channels), rate, channels, 64000*channels)
		path := filepath.Join(t.TempDir(), "x.aac")
		audiotest.WriteFile(t, path, stream)
		theirs := audiotest.Reference(t, "faad", "-q", "-w", "-b", "4", "-f", "2", path)
		ours, _ := decode(t, stream)
		ours = ours[maxFrame*channels:]
		if len(theirs) == 2*len(ours) { // it doubles a channel that could be parametric stereo
			for i := range ours {
				theirs[i] = theirs[2*i]
			}
			theirs = theirs[:len(ours)]
		}
		if len(theirs) != len(ours) {
			t.Fatalf("%d channels: FAAD has %d values, want %d", channels, len(theirs), len(ours))
		}
		if db := ratio(theirs, ours); !(db > 100) {
			t.Errorf("%d channels: %.1f dB from FAAD", channels, db)
		}
	}
}
