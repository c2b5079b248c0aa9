package tts

import (
	"math"
	"slices"
	"testing"
)

// TestRoom: the built-in voice speaks in a room whose noise never stops, at -72 dBFS
// where nothing is said, and which is the same however an answer is cut.
func TestRoom(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	const text = "Here is the first sentence, and it is a long one. [pause:0.5s] Is that the second? Stop."
	for _, voice := range []string{"am_michael", "bf_emma", "af_bella+af_sky"} {
		say := func(seed uint64) (all []float32, chunks int) {
			for c, err := range Speak(t.Context(), Formant(), p, Request{Text: text, Voice: voice, Speed: 1, Seed: seed}) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, c.Samples...)
				chunks++
			}
			return all, chunks
		}
		x, chunks := say(7)
		if chunks < 2 {
			t.Fatalf("%s: %d chunks; want a text with joins", voice, chunks)
		}
		// A millisecond without sound is digital silence.
		const ms = 24
		quietest := math.Inf(1)
		for i := 0; i+ms <= len(x); i += ms {
			power := 0.0
			for _, v := range x[i : i+ms] {
				power += float64(v) * float64(v)
			}
			if power == 0 {
				t.Fatalf("%s: nothing at all at %.3f s", voice, float64(i)/24000)
			}
		}
		for i := 0; i+100*ms <= len(x); i += 10 * ms {
			power := 0.0
			for _, v := range x[i : i+100*ms] {
				power += float64(v) * float64(v)
			}
			quietest = min(quietest, 10*math.Log10(power/(100*ms)))
		}
		if math.Abs(quietest+72) > 1 {
			t.Errorf("%s: the quietest tenth of a second lies at %.1f dBFS; want -72", voice, quietest)
		}
		if again, _ := say(7); !slices.Equal(x, again) {
			t.Errorf("%s: the same request sounds different the second time", voice)
		}
		if other, _ := say(8); slices.Equal(x, other) {
			t.Errorf("%s: another seed changes nothing", voice)
		}
	}
}
