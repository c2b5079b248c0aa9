package pcm_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/pcm"
)

// Every code must survive a round trip; two of µ-law's are zero.
func TestG711RoundTrip(t *testing.T) {
	for _, f := range []pcm.Format{pcm.ALaw, pcm.MuLaw} {
		for i := range 256 {
			x := pcm.Decode(nil, []byte{byte(i)}, f, binary.LittleEndian)
			got := pcm.Encode(nil, x, f)[0]
			if got != byte(i) && !(f == pcm.MuLaw && i == 0x7f && got == 0xff) {
				t.Errorf("%s: code %#02x decodes to %v, which encodes to %#02x", f, i, x[0], got)
			}
		}
	}
}

// Codes must grow with the samples, and no sample may lie farther from its
// code's value than half the way to the next value.
func TestG711Intervals(t *testing.T) {
	codes := make([]byte, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	for _, f := range []pcm.Format{pcm.ALaw, pcm.MuLaw} {
		values := pcm.Decode(nil, codes, f, binary.LittleEndian)
		slices.Sort(values)
		values = slices.Compact(values)
		last := float32(-2)
		for v := -1 << 15; v < 1<<15; v++ {
			x := float32(v) / (1 << 15)
			got := pcm.Decode(nil, pcm.Encode(nil, []float32{x}, f), f, binary.LittleEndian)[0]
			if got < last {
				t.Fatalf("%s: %d is coded as %v, the sample before it as %v", f, v, got, last)
			}
			last = got
			i, _ := slices.BinarySearch(values, got)
			if i == 0 || i == len(values)-1 {
				continue // clipped, perhaps
			}
			gap := max(values[i+1]-got, got-values[i-1])
			if d := float32(math.Abs(float64(got - x))); d > gap/2+1.0/(1<<15) {
				t.Fatalf("%s: %v is coded as %v; the neighbours are %v away", f, x, got, gap)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	x := []float32{0, 0.5, -0.5, 0.25, -1, 127.0 / 128}
	for _, tt := range []struct {
		f    pcm.Format
		size int
	}{
		{pcm.U8, 1}, {pcm.S8, 1}, {pcm.S16, 2}, {pcm.S24, 3}, {pcm.S32, 4}, {pcm.F32, 4}, {pcm.F64, 8},
	} {
		b := pcm.Encode(nil, x, tt.f)
		if len(b) != len(x)*tt.size {
			t.Errorf("%s: %d bytes, want %d", tt.f, len(b), len(x)*tt.size)
		}
		if got := pcm.Decode(nil, b, tt.f, binary.LittleEndian); audiotest.SNR(got, x) != 200 {
			t.Errorf("%s little endian: got %v, want %v", tt.f, got, x)
		}
		for i := 0; i < len(b); i += tt.size {
			reverse(b[i : i+tt.size])
		}
		if got := pcm.Decode(nil, b, tt.f, binary.BigEndian); audiotest.SNR(got, x) != 200 {
			t.Errorf("%s big endian: got %v, want %v", tt.f, got, x)
		}
	}
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func TestClip(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	got := pcm.Encode(nil, []float32{2, -2, 1, inf, -inf, nan}, pcm.S16)
	want := []byte{0xff, 0x7f, 0, 0x80, 0xff, 0x7f, 0xff, 0x7f, 0, 0x80, 0, 0}
	if !bytes.Equal(got, want) {
		t.Errorf("s16: got %x, want %x", got, want)
	}
	b := pcm.Encode(nil, []float32{nan, inf, 3}, pcm.F32)
	x := pcm.Decode(nil, b, pcm.F32, binary.LittleEndian)
	if x[0] != 0 || x[1] != 0 || x[2] != 3 {
		t.Errorf("f32: got %v, want [0 0 3]", x)
	}
}
