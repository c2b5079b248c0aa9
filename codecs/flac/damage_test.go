package flac_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"quern/codecs/flac"
	"quern/codecs/internal/audiotest"
)

// block is the samples of a frame as flac.Writer makes them.
const block = 4096

// damaged is a stream of six frames of 16 bits a sample, and where they begin.
func damaged(t *testing.T, channels int) (x []float32, b []byte, starts []int) {
	t.Helper()
	x = make([]float32, 6*block*channels)
	for i := range x {
		x[i] = float32(math.Round(math.Sin(float64(i*i%9973)/20)*8000)) / 32768
	}
	var out bytes.Buffer
	encode(t, &out, x, 16000, channels)
	b = out.Bytes()
	for at := 42; at < len(b)-1; at++ {
		if b[at] == 0xff && b[at+1] == 0xf8 && int(b[at+4]) == len(starts) {
			starts = append(starts, at)
		}
	}
	if len(starts) != 6 {
		t.Fatalf("%d frames were found; want 6", len(starts))
	}
	return x, b, starts
}

// TestDamage: frames that do not decode are passed over, and silence stands for them where
// the next frame tells how much is missing.
func TestDamage(t *testing.T) {
	for _, channels := range []int{1, 2} {
		x, b, starts := damaged(t, channels)
		n := block * channels
		silent := func(frames ...int) []float32 {
			out := slices.Clone(x)
			for _, f := range frames {
				clear(out[f*n:][:n])
			}
			return out
		}
		body := func(f int) int { return starts[f] + 100 }
		for _, tt := range []struct {
			name  string
			spoil func(b []byte) []byte
			want  []float32
			lost  int64 // frames of samples that are silent
			some  bool
			cut   bool
		}{
			{"whole", func(b []byte) []byte { return b }, x, 0, false, false},
			{"a bit of a frame", func(b []byte) []byte { b[body(2)] ^= 16; return b }, silent(2), block, true, false},
			{"a header", func(b []byte) []byte { b[starts[3]+3] ^= 16; return b }, silent(3), block, true, false},
			{"the first frame", func(b []byte) []byte { b[body(0)] ^= 16; return b }, silent(0), block, true, false},
			{"two frames, apart", func(b []byte) []byte { b[body(1)] ^= 1; b[body(4)] ^= 1; return b }, silent(1, 4), 2 * block, true, false},
			{"the last frame", func(b []byte) []byte { b[body(5)] ^= 16; return b }, x[:5*n], 0, true, true},
			{"a frame of ones", func(b []byte) []byte { fill(b[starts[2]:starts[3]], 0xff); return b }, silent(2), block, true, false},
			{"a frame of zeros", func(b []byte) []byte { fill(b[body(2):starts[3]], 0); return b }, silent(2), block, true, false},
			{"all behind it", func(b []byte) []byte { fill(b[starts[4]:], 0x55); return b }, x[:4*n], 0, true, true},
			{"bytes that are missing", func(b []byte) []byte { return slices.Delete(b, body(1), body(3)) }, silent(1, 2, 3), 3 * block, true, false},
			{"a tag behind it", func(b []byte) []byte { return append(append(b, "TAG"...), make([]byte, 125)...) }, x, 0, false, false},
			{"cut off", func(b []byte) []byte { return b[:body(5)] }, x[:5*n], 0, false, true},
		} {
			d, got := decode(t, tt.spoil(slices.Clone(b)))
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, %d channels: %d values, %.1f dB; want %d", tt.name, channels, len(got), audiotest.SNR(got, tt.want), len(tt.want))
			}
			if lost, some := d.Lost(); lost != tt.lost || some != tt.some || d.Cut() != tt.cut {
				t.Errorf("%s, %d channels: %d frames lost, %v, cut %v; want %d, %v, %v", tt.name, channels, lost, some, d.Cut(), tt.lost, tt.some, tt.cut)
			}
		}
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// TestNoFrame: a stream none of whose frames decodes is an error, the first frame's.
func TestNoFrame(t *testing.T) {
	_, b, starts := damaged(t, 1)
	fill(b[starts[0]:], 0x55)
	d, err := flac.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audiotest.ReadAll(d); !errors.Is(err, flac.ErrFormat) {
		t.Errorf("got %v, want %v", err, flac.ErrFormat)
	}
}

// TestFalseNumber: a number that promises more silence than the bytes passed over could have
// held is not believed.
func TestFalseNumber(t *testing.T) {
	var head, far bytes.Buffer
	x := make([]float32, block)
	encode(t, &head, x, 16000, 1)
	encode(t, &far, make([]float32, 3000*block), 16000, 1)
	behind := far.Bytes()
	behind = behind[bytes.LastIndex(behind, []byte{0xff, 0xf8}):] // a frame with the number 2999
	d, got := decode(t, slices.Concat(head.Bytes(), []byte("junk"), behind))
	lost, some := d.Lost()
	if len(got) != 2*block || lost != 0 || !some {
		t.Errorf("%d values, %d lost, %v; want %d and none, but told", len(got), lost, some, 2*block)
	}
}
