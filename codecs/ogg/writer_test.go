package ogg_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/ogg"
	"quern/codecs/opus"
)

func encode(t *testing.T, x []float32, rate, channels, bitrate int, app opus.Application) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ogg.NewOpusWriter(&b, rate, channels, bitrate, app)
	if err != nil {
		t.Fatal(err)
	}
	for len(x) > 0 {
		n := min(1234*channels, len(x))
		if err := w.Write(x[:n]); err != nil {
			t.Fatal(err)
		}
		x = x[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpusWriter(t *testing.T) {
	for _, tt := range []struct {
		src           string
		rate, ch, bps int
		app           opus.Application
	}{
		{"m24000.src.wav", 24000, 1, 24000, opus.VoIP},
		{"m48.src.wav", 48000, 1, 64000, opus.Audio},
		{"m8000.src.wav", 8000, 1, 6000, opus.VoIP},
		{"s44.src.wav", 44100, 2, 128000, opus.Audio},
		{"s48.src.wav", 48000, 2, 510000, opus.Audio},
	} {
		t.Run(fmt.Sprint(tt.src, " ", tt.bps), func(t *testing.T) {
			path := audiotest.Fixture(t, tt.src)
			x := audiotest.FFmpeg(t, path)
			b := encode(t, x, tt.rate, tt.ch, tt.bps, tt.app)
			out := filepath.Join(t.TempDir(), "x.opus")
			audiotest.WriteFile(t, out, b)
			info := string(audiotest.Run(t, "opusinfo", out))
			if strings.Contains(info, "WARNING") || strings.Contains(info, "ERROR") || !strings.Contains(info, "Playback length: 0m:03.000s") {
				t.Errorf("opusinfo: %s", info)
			}
			if bps := float64(8*len(b)) / 3; bps > 1.25*float64(tt.bps) {
				t.Errorf("%.0f bit/s, want %d", bps, tt.bps)
			}
			_, got := decode(t, b)
			want := reference(t, "Opus", out)
			if snr := audiotest.SNR(got, want); snr < 130 || len(got) != len(want) || len(got) != 144000*tt.ch {
				t.Errorf("%d samples %.1f dB from opusdec's %d", len(got), snr, len(want))
			}
			audiotest.FFmpeg(t, out)
		})
	}
}

// What comes out must be as long as what went in, and not shifted.
func TestOpusWriterLength(t *testing.T) {
	for _, rate := range []int{8000, 24000, 44100, 48000} {
		for _, n := range []int{0, 1, 311, 312, 960, 961, 12345} {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(math.Sin(2*math.Pi*500*float64(i)/float64(rate))) / 2
			}
			b := encode(t, x, rate, 1, 96000, opus.Audio)
			_, got := decode(t, b)
			if want := (n*48000 + rate - 1) / rate; len(got) != want {
				t.Errorf("%d samples at %d Hz became %d at 48 kHz, want %d", n, rate, len(got), want)
			}
			if n < 12345 {
				continue
			}
			want := make([]float32, len(got))
			for i := range want {
				want[i] = float32(math.Sin(2*math.Pi*500*float64(i)/48000)) / 2
			}
			half := len(got) / 2
			if snr := audiotest.SNR(got[half:half+4800], want[half:half+4800]); snr < 20 {
				t.Errorf("tone at %d Hz comes back at %.1f dB", rate, snr)
			}
		}
	}
}

// Packets of every length, across pages, must come back: Ogg FLAC's metadata is
// where a long packet is skipped.
func TestWriterPages(t *testing.T) {
	flac := audiotest.ReadFile(t, filepath.Join("testdata", "flac.oga"))
	_, want := decode(t, flac)
	first := flac[28 : 28+51]
	frames := flac[bytes.LastIndex(flac, []byte("OggS")):]
	lacing := frames[27 : 27+int(frames[26])]
	body := frames[27+len(lacing):]
	for _, size := range []int{0, 1, 254, 255, 256, 510, 255 * 255, 255*255 + 1, 300000, 3 << 20} {
		var b bytes.Buffer
		w := ogg.NewWriter(&b, 9)
		if err := errors.Join(w.WritePacket(first, 0), w.Flush(), w.WritePacket(make([]byte, size), 0)); err != nil {
			t.Fatal(err)
		}
		at, n := 0, 0
		for _, l := range lacing {
			n += int(l)
			if l < 255 {
				if err := w.WritePacket(body[at:at+n], int64(len(want))); err != nil {
					t.Fatal(err)
				}
				at, n = at+n, 0
			}
		}
		if err := w.Close(int64(len(want))); err != nil {
			t.Fatal(err)
		}
		_, got := decode(t, b.Bytes())
		if len(got) != len(want) || audiotest.SNR(got, want) != 200 {
			t.Errorf("behind a packet of %d bytes: %d samples, want the same %d", size, len(got), len(want))
		}
	}
}
