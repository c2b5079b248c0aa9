package aac

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"testing"

	"quern/kernels/fourier"
)

// load reads a file of testdata.
func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode reads an ADTS stream to its end, a few values at a time.
func decode(t testing.TB, stream []byte) (pcm []float32, r *Reader) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]float32, 1000)
	for {
		n, err := r.Read(buf)
		pcm = append(pcm, buf[:n]...)
		if err == io.EOF {
			return pcm, r
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// golden reads 16-bit samples.
func golden(t *testing.T, name string) []float32 {
	b := load(t, name)
	x := make([]float32, len(b)/2)
	for i := range x {
		x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / (1 << 15)
	}
	return x
}

// ratio is signal to noise in dB.
func ratio(got, want []float32) float64 {
	var signal, noise float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		signal += float64(w) * float64(w)
		noise += d * d
	}
	return 10 * math.Log10(signal/noise)
}

// The streams hold all codebooks, window sequences and shapes, and noise
// shaping, both kinds of joint stereo and a channel of low frequencies. The
// references have 16 bits, which is what bounds the ratios.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name           string
		rate, channels int
		least          float64 // dB
	}{
		{"mono16", 16000, 1, 65},
		{"joint44", 44100, 2, 65},
		{"six24", 24000, 6, 65},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, r := decode(t, load(t, tt.name+".aac"))
			if r.Rate() != tt.rate || r.Channels() != tt.channels {
				t.Errorf("%d Hz, %d channels; want %d, %d", r.Rate(), r.Channels(), tt.rate, tt.channels)
			}
			if got := r.Profile(); got != "AAC-LC" || r.Core() {
				t.Errorf("profile %q, core %v; want AAC-LC, false", got, r.Core())
			}
			want := golden(t, tt.name+".pcm")
			if len(got) != len(want) {
				t.Fatalf("%d values, want %d", len(got), len(want))
			}
			if db := ratio(got, want); !(db > tt.least) {
				t.Errorf("%.1f dB from ffmpeg, want %v", db, tt.least)
			}
		})
	}
}

// Noise is another one in every decoder, but its energy is the same in every
// part of the spectrum.
func TestNoise(t *testing.T) {
	got, _ := decode(t, load(t, "noise16.aac"))
	want := golden(t, "noise16.pcm")
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	g, w := spectrum(got), spectrum(want)
	for i := range w {
		if db := 10 * math.Log10(g[i]/w[i]); !(math.Abs(db) < 1) {
			t.Errorf("part %d of %d: %+.2f dB from ffmpeg", i, len(w), db)
		}
	}
}

// spectrum is the energy of x in sixteen parts of its spectrum.
func spectrum(x []float32) (e [16]float64) {
	const n = 512
	r := fourier.NewReal[float64](n)
	var z [n]float64
	bins, scratch := make([]fourier.Complex[float64], r.Bins()), make([]fourier.Complex[float64], r.Scratch())
	for ; len(x) >= n; x = x[n/2:] {
		for i := range z {
			z[i] = float64(x[i]) * math.Sin(math.Pi*(float64(i)+0.5)/n)
		}
		r.Forward(bins, z[:], scratch)
		for i, v := range bins[:n/2] {
			e[i*len(e)/(n/2)] += v.Re*v.Re + v.Im*v.Im
		}
	}
	return e
}

// Decoding allocates nothing once a unit of each kind has been decoded.
func TestDecodeAllocs(t *testing.T) {
	d, units := units(t, load(t, "stereo44.aac"))
	var pcm []float32
	i := 0
	next := func() {
		var err error
		if pcm, err = d.Decode(pcm[:0], units[i%len(units)]); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range units {
		next()
	}
	if n := testing.AllocsPerRun(2*len(units), next); n != 0 {
		t.Errorf("%v allocations a unit, want 0", n)
	}
}

// units splits an ADTS stream without checksums, and returns a decoder of its
// units.
func units(t testing.TB, stream []byte) (d *Decoder, units [][]byte) {
	t.Helper()
	for len(stream) > 0 {
		h, ok := parseHeader(stream)
		if !ok || h.length > len(stream) {
			t.Fatal("no ADTS frame")
		}
		if d == nil {
			asc := []byte{objectLC<<3 | byte(h.rateIndex>>1), byte(h.rateIndex<<7 | h.channels<<3)}
			var err error
			if d, err = NewDecoder(asc); err != nil {
				t.Fatal(err)
			}
		}
		units = append(units, stream[h.size():h.length])
		stream = stream[h.length:]
	}
	return d, units
}

// A unit cut anywhere is refused, and the next one decodes as if it had not
// been there.
func TestCutUnits(t *testing.T) {
	d, units := units(t, load(t, "joint44.aac"))
	clean, err := NewDecoder([]byte{0x12, 0x10})
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range units {
		for n := range len(u) - 1 {
			if _, err := d.Decode(nil, u[:n]); err == nil {
				t.Fatalf("unit %d: %d of %d bytes decode", i, n, len(u))
			}
		}
		got, err := d.Decode(nil, u)
		if err != nil {
			t.Fatal(err)
		}
		want, err := clean.Decode(nil, u)
		if err != nil {
			t.Fatal(err)
		}
		if db := ratio(got, want); db < 200 {
			t.Fatalf("unit %d: %.1f dB from a clean decoder", i, db)
		}
	}
}
