package opus_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	pion "github.com/pion/opus"

	"quern/codecs/internal/audiotest"
	"quern/codecs/opus"
)

// speechLike returns n frames of a tone that glides, with noise.
func speechLike(n, channels int) []float32 {
	x := make([]float32, 0, n*channels)
	seed := uint32(1)
	for i := range n {
		t := float64(i) / opus.Rate
		seed = seed*1664525 + 1013904223
		v := .4*math.Sin(2*math.Pi*(200*t+300*t*t)) + .02*(float64(seed>>8)/(1<<23)-1)
		for c := range channels {
			x = append(x, float32(v*(1-.3*float64(c))))
		}
	}
	return x
}

func packets(t testing.TB, x []float32, channels, bitrate int, app opus.Application) [][]byte {
	t.Helper()
	e, err := opus.NewEncoder(channels, bitrate, app)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for size := opus.FrameSize * channels; len(x) >= size; x = x[size:] {
		p, err := e.Encode(nil, x[:size])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Two independent decoders must agree: they do within 117 dB in CELT, and within
// 59 dB in the modes for speech, where pion's resampler is another.
func TestAgainstPion(t *testing.T) {
	for _, tt := range []struct {
		name              string
		channels, bitrate int
		app               opus.Application
		snr               float64
	}{
		{"CELT mono", 1, 96000, opus.Audio, 110},
		{"CELT stereo", 2, 128000, opus.Audio, 110},
		{"SILK mono", 1, 12000, opus.VoIP, 55},
		{"hybrid mono", 1, 28000, opus.VoIP, 55},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := opus.Head{Channels: tt.channels, InputRate: opus.Rate}.Append(nil)
			d, err := opus.NewDecoder(head)
			if err != nil {
				t.Fatal(err)
			}
			p, err := pion.NewDecoderWithOutput(opus.Rate, tt.channels)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []float32
			buf := make([]float32, 5760*tt.channels)
			for _, packet := range packets(t, speechLike(opus.Rate, tt.channels), tt.channels, tt.bitrate, tt.app) {
				if got, err = d.Decode(got, packet); err != nil {
					t.Fatal(err)
				}
				n, err := p.DecodeToFloat32(packet, buf)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, buf[:n*tt.channels]...)
			}
			snr := audiotest.SNR(got, want)
			t.Logf("%.1f dB", snr)
			if snr < tt.snr || len(got) != len(want) {
				t.Errorf("%d samples %.1f dB from pion's %d, want %.0f", len(got), snr, len(want), tt.snr)
			}
		})
	}
}

func TestGain(t *testing.T) {
	p := packets(t, speechLike(opus.Rate/5, 1), 1, 64000, opus.Audio)
	level := func(gain int) (e float64) {
		d, err := opus.NewDecoder(opus.Head{Channels: 1, Gain: gain}.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		var x []float32
		for _, packet := range p {
			if x, err = d.Decode(x, packet); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range x {
			e += float64(v) * float64(v)
		}
		return 10 * math.Log10(e)
	}
	if got := level(-6*256) - level(0); math.Abs(got+6) > 0.01 {
		t.Errorf("a gain of -6 dB makes %.2f dB", got)
	}
}

func TestParseHead(t *testing.T) {
	mono := opus.Head{Channels: 1, PreSkip: 312, InputRate: 24000, Gain: -256}.Append(nil)
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"mono", mono, nil},
		{"without magic", mono[8:], nil},
		{"5.1", append([]byte("OpusHead\x01\x06\x38\x01\x80\xbb\x00\x00\x00\x00\x01\x04\x02"), 0, 4, 1, 2, 3, 5), nil},
		{"empty", nil, opus.ErrFormat},
		{"cut off", mono[:18], opus.ErrFormat},
		{"no channels", []byte("OpusHead\x01\x00\x38\x01\x80\xbb\x00\x00\x00\x00\x00"), opus.ErrFormat},
		{"three in family 0", []byte("OpusHead\x01\x03\x38\x01\x80\xbb\x00\x00\x00\x00\x00"), opus.ErrFormat},
		{"family 3", []byte("OpusHead\x01\x04\x38\x01\x80\xbb\x00\x00\x00\x00\x03"), opus.ErrUnsupported},
		{"version 16", []byte("OpusHead\x10\x01\x38\x01\x80\xbb\x00\x00\x00\x00\x00"), opus.ErrUnsupported},
		{"mapping out of range", append([]byte("OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x01\x01\x01"), 0, 2), opus.ErrFormat},
		{"255 streams", append([]byte("OpusHead\x01\x01\x38\x01\x80\xbb\x00\x00\x00\x00\xff\xff\x00"), 0), opus.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := opus.NewDecoder(tt.b); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	h, err := opus.ParseHead(mono)
	if err != nil || h.PreSkip != 312 || h.InputRate != 24000 || h.Gain != -256 || !bytes.Equal(h.Append(nil), mono) {
		t.Errorf("got %+v, %v", h, err)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, p := range [][][]byte{
		packets(f, speechLike(opus.Rate/10, 1), 1, 12000, opus.VoIP),
		packets(f, speechLike(opus.Rate/10, 2), 2, 28000, opus.VoIP),
		packets(f, speechLike(opus.Rate/10, 2), 2, 96000, opus.Audio),
	} {
		f.Add([]byte("\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"), p[0], p[1])
		f.Add([]byte("\x01\x03\x38\x01\x80\xbb\x00\x00\x00\x00\x01\x02\x01\x00\x01\x02"), p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, head, first, second []byte) {
		d, err := opus.NewDecoder(head)
		if err != nil {
			if !errors.Is(err, opus.ErrFormat) && !errors.Is(err, opus.ErrUnsupported) {
				t.Fatalf("error %v wraps neither sentinel", err)
			}
			return
		}
		for _, p := range [][]byte{first, second, first} {
			x, err := d.Decode(nil, p)
			if err != nil && !errors.Is(err, opus.ErrFormat) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			if len(x)%d.Channels() != 0 || len(x) > 5760*d.Channels() {
				t.Fatalf("%d samples of %d channels", len(x), d.Channels())
			}
		}
	})
}
