package ogg_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/ogg"
	"quern/codecs/opus"
)

func decode(t *testing.T, b []byte) (*ogg.Reader, []float32) {
	t.Helper()
	d, err := ogg.NewReader(io.MultiReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := audiotest.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, x
}

// opusdec is the reference for Opus: ffmpeg's own decoder is 6 dB from libopus
// on opus_fec_st.ogg.
func reference(t *testing.T, codec, path string) []float32 {
	if codec == "Opus" {
		return audiotest.Reference(t, "opusdec", "--quiet", "--float", "--no-dither", "--rate", "48000", path, "-")
	}
	return audiotest.FFmpeg(t, path)
}

func TestFixtures(t *testing.T) {
	for _, tt := range []struct {
		name, codec      string
		rate, ch, frames int
		snr              float64
	}{
		{"opus_celt_st.opus", "Opus", 48000, 2, 144000, 130},
		// gopus differs for a few frames where SILK and CELT alternate.
		{"opus_fec_st.ogg", "Opus", 48000, 2, 144000, 30},
		{"opus_fs10.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_fs2.5.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_fs40.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_fs5.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_fs60.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_hybrid.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_silk.opus", "Opus", 48000, 1, 144000, 130},
		{"opus_whatsapp.ogg", "Opus", 48000, 1, 144000, 130},
		{"mr_ff_opus.ogg", "Opus", 48000, 1, 287556, -1}, // silent, so there is no ratio
		{"vorbis_16k.ogg", "Vorbis", 16000, 1, 48000, 130},
		{"vorbis_q2.ogg", "Vorbis", 44100, 2, 132300, 130},
		{"flac_ogg.oga", "FLAC", 16000, 1, 48000, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := audiotest.Fixture(t, tt.name)
			d, got := decode(t, audiotest.ReadFile(t, path))
			if d.Codec() != tt.codec || d.Rate() != tt.rate || d.Channels() != tt.ch || len(got) != tt.frames*tt.ch {
				t.Errorf("got %s, %d Hz, %d channels, %d frames; want %s, %d, %d, %d",
					d.Codec(), d.Rate(), d.Channels(), len(got)/d.Channels(), tt.codec, tt.rate, tt.ch, tt.frames)
			}
			want := reference(t, tt.codec, path)
			if snr := audiotest.SNR(got, want); snr < tt.snr || len(got) != len(want) {
				t.Errorf("%d samples %.1f dB from the reference's %d, want %.0f", len(got), snr, len(want), tt.snr)
			}
		})
	}
}

// A chain must give what its links give, whatever their channels.
func TestChain(t *testing.T) {
	read := func(name string) []byte { return audiotest.ReadFile(t, filepath.Join("testdata", name)) }
	_, mono := decode(t, read("silk.opus"))
	_, stereo := decode(t, read("celt.opus"))
	_, both := decode(t, slices.Concat(read("silk.opus"), []byte("junk OggS junk"), read("celt.opus"), read("silk.opus")))
	if want := 2*len(mono) + len(stereo)/2; len(both) != want {
		t.Fatalf("%d frames, want %d", len(both), want)
	}
	if snr := audiotest.SNR(both, mono); snr != 200 {
		t.Errorf("first link %.1f dB from itself alone", snr)
	}
	mixed := make([]float32, len(stereo)/2)
	for i := range mixed {
		mixed[i] = (stereo[2*i] + stereo[2*i+1]) / 2
	}
	if snr := audiotest.SNR(both[len(mono):], mixed); snr != 200 {
		t.Errorf("second link %.1f dB from itself alone", snr)
	}
	d, err := ogg.NewReader(bytes.NewReader(slices.Concat(read("vorbis.ogg"), read("silk.opus"))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audiotest.ReadAll(d); !errors.Is(err, ogg.ErrUnsupported) {
		t.Errorf("a chain of two rates: %v, want %v", err, ogg.ErrUnsupported)
	}
}

// Goldens for machines without the fixtures: length and energy as opusdec and
// ffmpeg gave them.
func TestGoldens(t *testing.T) {
	for _, tt := range []struct {
		name         string
		rate, frames int
		rms          float64
	}{
		{"silk.opus", 48000, 14400, 0.086580},
		{"celt.opus", 48000, 9600, 0.068216},
		{"vorbis.ogg", 16000, 1600, 0.121121},
		{"flac.oga", 16000, 1600, 0.119323},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, x := decode(t, audiotest.ReadFile(t, filepath.Join("testdata", tt.name)))
			e := 0.0
			for _, v := range x {
				e += float64(v) * float64(v)
			}
			rms := math.Sqrt(e / float64(len(x)))
			if d.Rate() != tt.rate || len(x) != tt.frames*d.Channels() || math.Abs(rms-tt.rms) > 1e-5 {
				t.Errorf("got %d Hz, %d frames, RMS %.5f; want %d, %d, %.5f", d.Rate(), len(x)/d.Channels(), rms, tt.rate, tt.frames, tt.rms)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	b := audiotest.ReadFile(t, filepath.Join("testdata", "silk.opus"))
	_, whole := decode(t, b)
	second := bytes.LastIndex(b, []byte("OggS"))
	flipped := slices.Clone(b)
	flipped[second+60] ^= 1
	for _, tt := range []struct {
		name string
		b    []byte
		less bool
	}{
		{"junk in front", append([]byte("OggSjunk"), b...), false},
		{"junk behind", append(slices.Clone(b), "OggS"...), false},
		{"last page cut off", b[:len(b)-5], true},
		{"last page damaged", flipped, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ogg.NewReader(bytes.NewReader(tt.b))
			if err != nil {
				if !tt.less {
					t.Fatal(err)
				}
				return
			}
			x, err := audiotest.ReadAll(d)
			if err != nil || (len(x) < len(whole)) != tt.less || audiotest.SNR(x, whole) != 200 {
				t.Errorf("%d samples of %d: %v", len(x), len(whole), err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	b := audiotest.ReadFile(t, filepath.Join("testdata", "silk.opus"))
	page := func(packet string) []byte {
		var out bytes.Buffer
		w := ogg.NewWriter(&out, 7)
		if err := errors.Join(w.WritePacket([]byte(packet), 0), w.Flush(), w.Close(0)); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, ogg.ErrFormat},
		{"no page", []byte("OggS and nothing more"), ogg.ErrFormat},
		{"headers only", b[:bytes.LastIndex(b, []byte("OggS"))], ogg.ErrFormat},
		{"later slice", b[bytes.LastIndex(b, []byte("OggS")):], ogg.ErrUnsupported},
		{"Speex", page("Speex   1.2"), ogg.ErrUnsupported},
		{"Theora", page("\x80theora"), ogg.ErrUnsupported},
		{"unknown", page("mystery"), ogg.ErrUnsupported},
		{"bad Opus header", page("OpusHead\x01"), opus.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ogg.NewReader(bytes.NewReader(tt.b)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// A chain may not build decoders without end.
func TestManyLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a thousand decoders")
	}
	link := audiotest.ReadFile(t, filepath.Join("testdata", "vorbis.ogg"))
	d, err := ogg.NewReader(bytes.NewReader(bytes.Repeat(link, 1001)))
	if err != nil {
		t.Fatal(err)
	}
	if x, err := audiotest.ReadAll(d); !errors.Is(err, ogg.ErrUnsupported) || len(x) != 1000*1600 {
		t.Errorf("%d frames of 1001 links: %v, want %d and %v", len(x), err, 1000*1600, ogg.ErrUnsupported)
	}
}
