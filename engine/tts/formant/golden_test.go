package formant

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden of our own voices")

// A golden holds every so many samples of what the voices say, in 1/8192 of full scale.
const (
	goldenEvery = 503
	goldenScale = 8192
)

// goldenText has every kind of sound there is, words, a comma, a question and an end.
const goldenText = "ðə kwˈɪk ʤˈʌʤ ˈæskt, wˈʌt vˈɪʒᵊn? mˈI ʃˈɑɹp θˈɪŋ hˈɛdz fɔɹ ðə ʧˈɜɹʧ jˈɑɹd, lˈW ænd bˈɔɪz."

// TestGolden: what all voices say, and a mixture, is what it was. Samples are not bound to
// their last bit: a compiler may fuse a product and a sum, and math.Exp2 is not the same
// on every machine. Of 1.39 million samples made on amd64, GOAMD64=v3, 386, arm64 and wasm
// 8 at most differed, by 7e-9, and none as 16 bits; lengths are exact.
func TestGolden(t *testing.T) {
	voices := append(Voices[:len(Voices):len(Voices)], *Mix([]*Voice{&Voices[0], &Voices[5]}, []float64{0.7, 0.3}))
	voices[len(Voices)].ID = "af_bella(0.7)+am_michael(0.3)"
	path := filepath.Join("testdata", "golden.txt")
	said := func(v *Voice) []float32 {
		samples, _, err := v.Speak(t.Context(), []rune(goldenText), 1, 7)
		if err != nil {
			t.Fatal(err)
		}
		Floor(samples, 0, 7)
		return samples
	}
	if *update {
		var out bytes.Buffer
		for i := range voices {
			samples := said(&voices[i])
			fmt.Fprintf(&out, "%s %d", voices[i].ID, len(samples))
			for k := 0; k < len(samples); k += goldenEvery {
				fmt.Fprintf(&out, " %d", int(math.Round(goldenScale*float64(samples[k]))))
			}
			out.WriteByte('\n')
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(bytes.NewReader(data))
	for i := range voices {
		var id string
		var n int
		if _, err := fmt.Fscan(in, &id, &n); err != nil {
			t.Fatal(err)
		}
		samples := said(&voices[i])
		if id != voices[i].ID || n != len(samples) {
			t.Errorf("%s has %d samples; want %s with %d", voices[i].ID, len(samples), id, n)
		}
		worst, at := 0.0, 0
		for k := 0; k < n; k += goldenEvery {
			var want float64
			if _, err := fmt.Fscan(in, &want); err != nil {
				t.Fatal(err)
			}
			if k >= len(samples) {
				continue
			}
			if d := math.Abs(goldenScale*float64(samples[k]) - want); d > worst {
				worst, at = d, k
			}
		}
		if worst > 0.51 { // half of it is rounding
			t.Errorf("%s: sample %d is %.2f/%d away from what it was; -update writes the golden anew if that is meant", id, at, worst, goldenScale)
		}
	}
}
