package aac

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/kernels/fourier"
)

// Noise is another one in every decoder, but its energy is the same in every part of the
// spectrum. The goldens are ffmpeg's, in dB; where ffmpeg is, they are held against it.
func TestNoise(t *testing.T) {
	for _, name := range []string{"noise32", "noisepair32"} {
		t.Run(name, func(t *testing.T) {
			got, r := decode(t, load(t, name+".aac"))
			want := energies(t, name)
			if len(want) != r.Channels() {
				t.Fatalf("%d channels, want %d", r.Channels(), len(want))
			}
			for c := range want {
				near(t, fmt.Sprintf("channel %d", c), spectrum(got, c, r.Channels()), want[c])
			}
			path := audiotest.Program("ffmpeg")
			if path == "" {
				return
			}
			out, err := exec.Command(path, "-v", "error", "-i", "testdata/"+name+".aac", "-f", "f32le", "-").Output()
			if err != nil {
				t.Fatal(err)
			}
			ref := make([]float32, len(out)/4)
			binary.Decode(out, binary.LittleEndian, ref)
			for c := range want {
				e := spectrum(ref, c, r.Channels())
				near(t, fmt.Sprintf("golden of channel %d", c), want[c], e)
				if os.Getenv("ENERGIES") != "" {
					t.Logf("%.2f", e)
				}
			}
		})
	}
}

// near compares energies in dB.
func near(t *testing.T, what string, got, want parts) {
	t.Helper()
	for i := range want {
		if d := got[i] - want[i]; !(math.Abs(d) < 0.5) {
			t.Errorf("%s, part %d of %d: %.2f dB, want %.2f", what, i, len(want), got[i], want[i])
		}
	}
}

// parts are the energies, in dB, of as many equal parts of a spectrum.
type parts [15]float64

// energies reads the golden of a stream: a line of parts for each channel.
func energies(t *testing.T, name string) (all []parts) {
	for line := range strings.Lines(string(load(t, name+".energies"))) {
		var p parts
		for i, s := range strings.Fields(line) {
			if _, err := fmt.Sscan(s, &p[i]); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	return all
}

// spectrum measures channel c of x up to 15 kHz of the 16 that the streams could hold: their
// encoder stopped there.
func spectrum(x []float32, c, channels int) (e parts) {
	const n = 512
	f := fourier.NewReal[float64](n)
	z, scratch := make([]fourier.Complex[float64], f.Bins()), make([]fourier.Complex[float64], f.Scratch())
	for ; len(x) >= n*channels; x = x[n/2*channels:] {
		var w [n]float64
		for i := range w {
			w[i] = float64(x[i*channels+c]) * math.Sin(math.Pi*(float64(i)+0.5)/n)
		}
		f.Forward(z, w[:], scratch)
		for i, v := range z[:n/2/16*len(e)] {
			e[i/(n/2/16)] += v.Re*v.Re + v.Im*v.Im
		}
	}
	for i := range e {
		e[i] = 10 * math.Log10(e[i])
	}
	return e
}

// A band of noise has the energy that was sent, whatever its width. Where a pair has noise in
// both channels it is the same noise if the band is coded as middle and side, and another if not.
func TestFillNoise(t *testing.T) {
	l := layout{offsets: []uint16{0, 4, 12, 44, 64}, windows: 1, groups: 1, bands: 4, width: 64}
	l.group[0] = 1
	left, right := &channel{layout: l}, &channel{layout: l}
	for i, book := range [][2]uint8{{noiseBook, noiseBook}, {noiseBook, noiseBook}, {noiseBook, 1}, {1, noiseBook}} {
		left.books[i], right.books[i] = book[0], book[1]
		left.scales[i], right.scales[i] = float32(3+i), float32(5+i)
	}
	var d Decoder
	d.fillNoise(left, right, &pairing{mode: 1, used: [maxParts]bool{true, false, true, true}})
	for i := range l.bands {
		x, y := left.coefs[l.offsets[i]:l.offsets[i+1]], right.coefs[l.offsets[i]:l.offsets[i+1]]
		for c, ch := range []*channel{left, right} {
			var got float64
			for _, v := range ch.coefs[l.offsets[i]:l.offsets[i+1]] {
				got += float64(v) * float64(v)
			}
			want := float64(ch.scales[i]) * float64(ch.scales[i])
			if ch.books[i] != noiseBook {
				want = 0 // left to others
			}
			if math.Abs(got-want) > 1e-5*want {
				t.Errorf("band %d of channel %d has the energy %g, want %g", i, c, got, want)
			}
		}
		same := true
		for j := range x {
			same = same && math.Abs(float64(x[j]*right.scales[i]-y[j]*left.scales[i])) < 1e-5
		}
		if want := i == 0; same != want {
			t.Errorf("band %d: the same noise in both channels: %v, want %v", i, same, want)
		}
	}
}
