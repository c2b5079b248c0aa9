package mp4

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quern/codecs/internal/audiotest"
)

// Files of many kinds decode to what ffmpeg decodes them to, and are as long,
// but that ffmpeg does not cut the last packet.
func TestAgainstFFmpeg(t *testing.T) {
	path := audiotest.Need(t, "ffmpeg")
	ffmpeg := func(t *testing.T, args ...string) []byte {
		out, err := exec.Command(path, append([]string{"-v", "error", "-y"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const aac = "-c:a aac -aac_pns 0 "
	for _, tt := range []struct {
		name, args string
		least      float64 // dB
	}{
		{"m4a", aac, 110},
		{"mov", aac, 110},
		{"mp4", aac + "-ac 1 -ar 16000 -movflags faststart", 110},
		{"mp4", aac + "-movflags frag_keyframe+empty_moov -frag_duration 100000", 110},
		{"m4a", "-c:a alac -sample_fmt s32p", 300},
		{"mp4", "-c:a flac -strict -2 -sample_fmt s32", 300},
		{"mp4", "-c:a libmp3lame -b:a 128k", 80},
		{"mov", "-c:a pcm_s24le", 300},
	} {
		t.Run(tt.name+" "+tt.args, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "x."+tt.name)
			args := strings.Fields("-f lavfi -i")
			args = append(args, "aevalsrc='0.3*sin(2000*t*(1+t))+0.1*random(0)|0.3*sin(3000*t)*lt(mod(t\\,0.2)\\,0.02)':s=44100:d=0.7:c=stereo")
			ffmpeg(t, append(append(args, strings.Fields(tt.args)...), name)...)
			ref := ffmpeg(t, "-i", name, "-f", "f32le", "-")
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, r, err := play(data)
			if err != nil {
				t.Fatal(err)
			}
			n := len(ref) / 4
			if extra := (n - len(got)) / r.Channels(); extra < 0 || extra > 1152 {
				t.Errorf("%d values, ffmpeg has %d", len(got), n)
			}
			var signal, noise float64
			for i, v := range got[:min(len(got), n)] {
				w := float64(math.Float32frombits(binary.LittleEndian.Uint32(ref[4*i:])))
				signal += w * w
				noise += (float64(v) - w) * (float64(v) - w)
			}
			if db := 10 * math.Log10(signal/noise); !(db > tt.least) {
				t.Errorf("%.1f dB from ffmpeg, want %v", db, tt.least)
			}
		})
	}
}
