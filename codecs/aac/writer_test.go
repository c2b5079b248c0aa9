package aac

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/codecs/internal/audiotest"
	"quern/codecs/pcm"
)

// encode returns x as an ADTS stream.
func encode(t testing.TB, x []float32, rate, channels, bitrate int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, rate, channels, bitrate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(x), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// trimmed decodes what encode made, without the delay.
func trimmed(t testing.TB, stream []byte, channels int) []float32 {
	t.Helper()
	x, _ := decode(t, stream)
	return x[EncoderDelay*channels:]
}

// plucked is n frames of strings that are plucked three times a second, with a little
// noise; the channels differ.
func plucked(n, rate, channels int) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(rate)))
	x := make([]float32, 0, n*channels)
	for i := range n {
		s := float64(i) / float64(rate)
		decay := math.Exp(-6 * math.Mod(s, 0.33))
		hiss := 0.02 * r.NormFloat64()
		for c := range channels {
			v := 0.0
			for k := range 5 {
				v += math.Sin(2*math.Pi*s*(180+float64(k*k)*110+float64(c*k))) / float64(k+2)
			}
			x = append(x, float32(decay*(0.4*v+hiss*float64(1+c))))
		}
	}
	return x
}

// Every rate and number of channels, at bit rates from the least to the most: what comes
// back is as long and as near as it should be, no bit beyond the rate is used, and no unit
// is larger than a decoder's buffer. ffmpeg, where there is one, decodes the same.
func TestEvery(t *testing.T) {
	compare := audiotest.Program("ffmpeg") != ""
	for _, rate := range rates {
		for channels := 1; channels <= 2; channels++ {
			least, most := bitrates(rate, channels)
			x := plucked(rate, rate, channels)
			last := 0.0
			for _, bitrate := range []int{least, 24000, 64000, 128000, 320000, most} {
				if bitrate < least || bitrate > most || !fixtures.Whole && (bitrate == 24000 || bitrate == 128000) {
					continue
				}
				name := fmt.Sprintf("%d Hz, %d channels, %d bit/s", rate, channels, bitrate)
				stream := encode(t, x, rate, channels, bitrate)
				y := trimmed(t, stream, channels)
				if len(y) < len(x) || len(y) >= len(x)+maxFrame*channels {
					t.Fatalf("%s: %d values of %d come back", name, len(y), len(x))
				}
				db := ratio(y[:len(x)], x)
				// A sixth of what the bits would be worth if all lines took them.
				if want := max(1, 1.0*float64(bitrate)/float64(rate*channels)); !(db > want) {
					t.Errorf("%s: %.1f dB, want %.1f", name, db, want)
				}
				if db < last-1 && bitrate >= 24000 {
					t.Errorf("%s: %.1f dB, less than the %.1f of fewer bits", name, db, last)
				}
				last = db
				checkRate(t, name, stream, rate, channels, bitrate)
				if compare && (bitrate == 24000 || bitrate == most && rate%11025 == 0) {
					z := ffmpeg(t, stream)
					if d, _ := decode(t, stream); len(z) != len(d) || !(ratio(z, d) > 110) {
						t.Errorf("%s: ffmpeg has %d values at %.1f dB from our %d", name, len(z), ratio(z[:min(len(z), len(d))], d[:min(len(z), len(d))]), len(d))
					}
				}
			}
		}
	}
}

// checkRate holds the frames of a stream to its bit rate.
func checkRate(t *testing.T, name string, stream []byte, rate, channels, bitrate int) {
	t.Helper()
	bits, frames := 0, 0
	for len(stream) > 0 {
		h, ok := parseHeader(stream)
		if !ok || h.length > len(stream) {
			t.Fatalf("%s: no frame after %d", name, frames)
		}
		bits += 8 * h.length
		frames++
		share := float64(frames) * maxFrame * float64(bitrate) / float64(rate)
		if float64(bits) > share {
			t.Fatalf("%s: %d bits in %d frames, %.0f at its rate", name, bits, frames, share)
		}
		if float64(bits) < share-float64(maxBits*channels) {
			t.Fatalf("%s: %d bits in %d frames, more than a buffer behind %.0f", name, bits, frames, share)
		}
		if 8*(h.length-headerSize) > maxBits*channels {
			t.Fatalf("%s: a unit of %d bytes", name, h.length)
		}
		stream = stream[h.length:]
	}
}

// A long stream has its bit rate to within what the reservoir holds, of whatever sound.
func TestBitrate(t *testing.T) {
	const rate, bitrate, seconds = 24000, 64000, 20
	noise := make([]float32, seconds*rate)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range noise {
		noise[i] = float32(2*r.IntN(2) - 1) // as loud as can be
	}
	for _, tt := range []struct {
		name string
		x    []float32
	}{
		{"silence", make([]float32, seconds*rate)},
		{"strings", plucked(seconds*rate, rate, 1)},
		{"noise of full scale", noise},
	} {
		stream := encode(t, tt.x, rate, 1, bitrate)
		frames := (EncoderDelay + len(tt.x) + maxFrame - 1) / maxFrame
		want := frames * maxFrame * bitrate / rate
		if got := 8 * len(stream); got > want || got < want-maxBits {
			t.Errorf("%s: %d bits, want %d less %d at most", tt.name, got, want, maxBits)
		}
		y := trimmed(t, stream, 1)
		if tt.name == "silence" && slices.ContainsFunc(y, func(v float32) bool { return v != 0 }) {
			t.Errorf("silence is not silent")
		}
		for i, v := range y {
			if !(math.Abs(float64(v)) < 4) {
				t.Fatalf("%s: sample %d is %v", tt.name, i, v)
			}
		}
	}
}

// A tone has neither gain nor delay but EncoderDelay, a loud one included.
func TestTone(t *testing.T) {
	for _, channels := range []int{1, 2} {
		for _, loud := range []float64{0.01, 0.5, 1} {
			x := make([]float32, 48000*channels)
			for i := range x {
				x[i] = float32(loud * math.Sin(float64(i/channels)*0.0567+float64(i%channels)))
			}
			y := trimmed(t, encode(t, x, 48000, channels, 160000), channels)
			var xy, xx float64
			for i, v := range x {
				xy += float64(v) * float64(y[i])
				xx += float64(v) * float64(v)
			}
			if gain := 20 * math.Log10(xy/xx); !(math.Abs(gain) < 0.005) {
				t.Errorf("%d channels at %v: gain %.4f dB", channels, loud, gain)
			}
			if db := ratio(y[:len(x)], x); !(db > 45) {
				t.Errorf("%d channels at %v: %.1f dB, want 45", channels, loud, db)
			}
		}
	}
}

// Samples beyond full scale are clipped, and few or no samples are all there is.
func TestEdges(t *testing.T) {
	x := plucked(5000, 24000, 1)
	loud, clipped := slices.Clone(x), slices.Clone(x)
	for i := range x {
		loud[i] *= 1e30
		clipped[i] = max(-1, min(1, loud[i]))
	}
	if !bytes.Equal(encode(t, loud, 24000, 1, 64000), encode(t, clipped, 24000, 1, 64000)) {
		t.Error("loud samples are not those of full scale")
	}
	if got := encode(t, nil, 24000, 1, 64000); len(got) != 0 {
		t.Errorf("no samples are %d bytes", len(got))
	}
	for _, n := range []int{1, 2, maxFrame - EncoderDelay, maxFrame - EncoderDelay + 1, 3 * maxFrame} {
		y := trimmed(t, encode(t, x[:n], 24000, 1, 64000), 1)
		if want := (EncoderDelay+n+maxFrame-1)/maxFrame*maxFrame - EncoderDelay; len(y) != want {
			t.Errorf("%d samples are %d, want %d", n, len(y), want)
		}
	}
	one := trimmed(t, encode(t, []float32{0.5}, 24000, 1, 64000), 1)
	if math.Abs(float64(one[0])-0.5) > 0.05 {
		t.Errorf("one sample of 0.5 comes back as %v", one[0])
	}
}

// The stream does not depend on the pieces it is written in.
func TestPieces(t *testing.T) {
	x := plucked(20000, 24000, 2)
	want := encode(t, x, 24000, 2, 96000)
	for _, n := range []int{1, 777, 5000} {
		var b bytes.Buffer
		w, err := NewWriter(&b, 24000, 2, 96000)
		if err != nil {
			t.Fatal(err)
		}
		for rest := x; len(rest) > 0; rest = rest[min(2*n, len(rest)):] {
			if err := w.Write(rest[:min(2*n, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("in pieces of %d another stream", n)
		}
		if err := w.Write(x[:2]); err == nil {
			t.Error("Write after Close has no error")
		}
	}
}

// A stroke after quiet is coded in short windows, so that the noise stays with it.
func TestOnset(t *testing.T) {
	const rate, at = 24000, 10000
	x := make([]float32, 2*at)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		level := 0.0002
		if i >= at {
			level = 0.4 * math.Exp(-float64(i-at)/2000)
		}
		x[i] = float32(level * r.NormFloat64())
	}
	stream := encode(t, x, rate, 1, 48000)
	y := trimmed(t, stream, 1)
	power := func(x []float32) (sum float64) {
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return 10 * math.Log10(sum/float64(len(x)))
	}
	before, after := power(y[at-600:at-150]), power(y[at:at+450])
	if !(before < after-50) {
		t.Errorf("%.1f dB before the stroke, %.1f dB in it", before, after)
	}
	_, list := units(t, stream)
	seen := map[byte]int{}
	for _, u := range list {
		seen[u[2]>>6]++ // behind element, gain and a bit
	}
	for _, s := range []byte{onlyLong, longStart, eightShort, longStop} {
		if seen[s] == 0 {
			t.Errorf("sequences %v, want all kinds", seen)
		}
	}
}

// What a level is said to cost is what its unit has.
func TestCost(t *testing.T) {
	for channels := 1; channels <= 2; channels++ {
		for _, sequence := range []int{onlyLong, eightShort} {
			e, err := NewEncoder(24000, channels, 64000, 0, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			x := plucked(3*maxFrame, 24000, channels)
			for c := range channels {
				e.in[c] = e.in[c][:3*maxFrame]
				for i := range e.in[c] {
					e.in[c][i] = x[i*channels+c]
				}
			}
			e.last = sequence
			e.analyse()
			if channels == 2 {
				e.choosePairing()
			}
			for c := range channels {
				e.pair[c].prepare(e.words)
			}
			for level := coarsest; level > -200; level -= 7 {
				bits := e.cost(level)
				e.rate.fill = bits
				e.writeUnit()
				if got := e.bits.Len(); got != (bits+7)&^7 {
					t.Fatalf("%d channels, sequence %d, level %d: %d bits, said to be %d", channels, sequence, level, got, bits)
				}
			}
		}
	}
}

// Encoding allocates nothing once it has begun.
func TestEncodeAllocs(t *testing.T) {
	w, err := NewWriter(io.Discard, 24000, 2, 96000)
	if err != nil {
		t.Fatal(err)
	}
	x := plucked(24000, 24000, 2)
	write := func() {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := testing.AllocsPerRun(3, write); n != 0 {
		t.Errorf("%v allocations a second, want 0", n)
	}
}

// The same samples are the same bytes. The hash is of one kind of machine: others may
// round products of the transform otherwise.
func TestHash(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the hash is of amd64")
	}
	h := sha256.New()
	for channels := 1; channels <= 2; channels++ {
		h.Write(encode(t, plucked(24000, 24000, channels), 24000, channels, 48000*channels))
	}
	const want = "c9fc54c676787f91"
	if got := fmt.Sprintf("%x", h.Sum(nil))[:16]; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestNewWriterRefuses(t *testing.T) {
	for _, tt := range []struct {
		rate, channels, bitrate int
		want                    string
	}{
		{44000, 1, 64000, "nearest is 44100"},
		{8000, 1, 64000, "take 8000 to 48000"},
		{96000, 2, 16000, "take 24000 to 1152000"},
		{44100, 3, 128000, "3 channels"},
		{44100, 1, -1, "take 11025 to"},
	} {
		_, err := NewWriter(io.Discard, tt.rate, tt.channels, tt.bitrate)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewWriter(%d, %d, %d): %v, want %q", tt.rate, tt.channels, tt.bitrate, err, tt.want)
		}
	}
}

// An error of the destination ends the work and stays.
func TestWriteError(t *testing.T) {
	gone := errors.New("the listener is gone")
	left := 3
	w, err := NewWriter(writerFunc(func(p []byte) (int, error) {
		if left--; left < 0 {
			return 0, gone
		}
		return len(p), nil
	}), 24000, 1, 64000)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(make([]float32, 100*maxFrame)); !errors.Is(err, gone) {
		t.Errorf("Write: %v", err)
	}
	if left != -1 {
		t.Errorf("%d writes after the error", -1-left)
	}
	if err := w.Close(); !errors.Is(err, gone) {
		t.Errorf("Close: %v", err)
	}
	x := []float32{0, float32(math.NaN())}
	w, _ = NewWriter(io.Discard, 24000, 1, 64000)
	if err := w.Write(x); !errors.Is(err, pcm.ErrSample) {
		t.Errorf("NaN: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func FuzzWriter(f *testing.F) {
	var seed []byte
	for _, v := range []float32{1e30, -2, 1e-40, 0, 1, -1, 0.5} {
		seed = binary.LittleEndian.AppendUint32(seed, math.Float32bits(v))
	}
	f.Add(seed, uint8(0))
	f.Add(bytes.Repeat(seed, 700), uint8(77))
	f.Add([]byte{}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		channels := 1 + int(kind)/13%2
		rate := rates[int(kind)%13]
		least, most := bitrates(rate, channels)
		bitrate := []int{least, most, min(64000, most)}[int(kind)/26%3]
		x := make([]float32, len(data)/4/channels*channels)
		for i := range x {
			if v := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])); v-v == 0 { // others are refused
				x[i] = v
			}
		}
		stream := encode(t, x, rate, channels, bitrate)
		checkRate(t, "fuzz", stream, rate, channels, bitrate)
		if len(x) == 0 {
			return
		}
		y := trimmed(t, stream, channels)
		if len(y) < len(x) {
			t.Fatalf("%d values of %d come back", len(y), len(x))
		}
		for i, v := range y {
			if !(math.Abs(float64(v)) < 8) {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	x := plucked(10*24000, 24000, 1)
	b.ReportAllocs()
	for b.Loop() {
		encode(b, x, 24000, 1, 64000)
	}
	b.ReportMetric(10*float64(b.N)/b.Elapsed().Seconds(), "x")
}
