package codecs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"quern/codecs"
	"quern/codecs/internal/audiotest"
	"quern/codecs/pcm"
)

// Every encoder refuses samples that are not finite by name, whether the rate is
// changed in front of it or not, and goes on with what is sound.
func TestSamplesThatAreNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, e := range codecs.Encodings() {
		for _, rate := range []int{24000, 48000} {
			for _, bad := range []float32{nan, inf, -inf} {
				t.Run(fmt.Sprint(e.Name, rate, bad), func(t *testing.T) {
					var b bytes.Buffer
					enc, err := e.Create(&b, 24000, 1, codecs.EncodeOptions{Rate: rate})
					if err != nil {
						t.Fatal(err)
					}
					x := sine(440, 24000, 1, 4800)
					if err := enc.Write(x); err != nil {
						t.Fatal(err)
					}
					x[7] = bad
					if err := enc.Write(x); !errors.Is(err, pcm.ErrSample) || !strings.Contains(err.Error(), "sample 7 is ") {
						t.Errorf("%v, want it refused by name", err)
					}
					x[7] = 0
					if err := errors.Join(enc.Write(x), enc.Close()); err != nil {
						t.Errorf("after that: %v", err)
					}
				})
			}
		}
	}
}

// Samples far beyond full scale are clipped: the file is whole, as loud as can
// be, and no louder.
func TestSamplesBeyondFullScale(t *testing.T) {
	formats := map[string]bool{"mp3": true, "wav": true, "flac": true, "opus": true, "aac": true, "m4a": true} // that Open reads
	for _, e := range codecs.Encodings() {
		for _, rate := range []int{24000, 48000} {
			for _, by := range []float32{1e4, 1e30, math.MaxFloat32} {
				t.Run(fmt.Sprint(e.Name, rate, by), func(t *testing.T) {
					x := sine(440, 24000, 1, 24000)
					for i, v := range x {
						x[i] = float32(max(-math.MaxFloat32, min(math.MaxFloat32, 2*float64(by)*float64(v))))
					}
					b := create(t, e.Name, x, 24000, 1, codecs.EncodeOptions{Rate: rate})
					if !formats[e.Name] {
						if len(b) < len(x) {
							t.Errorf("%d bytes of %d samples", len(b), len(x))
						}
						return
					}
					s, err := codecs.Open(bytes.NewReader(b), codecs.Options{})
					if err != nil {
						t.Fatal(err)
					}
					got, err := audiotest.ReadAll(s)
					if err != nil || len(got) < len(x) {
						t.Fatalf("%d samples of %d come back: %v", len(got), len(x), err)
					}
					loud := 0
					for i, v := range got {
						if !(v >= -2 && v <= 2) {
							t.Fatalf("sample %d is %v", i, v)
						}
						if math.Abs(float64(v)) > 0.5 {
							loud++
						}
					}
					if loud < len(got)/2 {
						t.Errorf("%d of %d samples are loud", loud, len(got))
					}
				})
			}
		}
	}
}
