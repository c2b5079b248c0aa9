package aac

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
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
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg")
	}
	if testing.Short() {
		t.Skip("runs ffmpeg many times")
	}
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
