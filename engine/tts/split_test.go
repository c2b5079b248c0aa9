package tts

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// An eager synthesiser wants its first utterance short.
type eager struct{ plain }

func (eager) First() int { return 32 }

// The first utterance of a synthesiser that takes its time is a clause or a phrase of
// four words at least; those behind it grow, so that sound lasts until more is made.
func TestOpening(t *testing.T) {
	rest := strings.Repeat("abcde ", 9) + "abcde. "
	for _, tt := range []struct{ name, text, want string }{
		{"a short sentence", "Here is what you want. " + rest, "Here is what you want ."},
		{"a comma", "Here is what you want, and it is good. " + rest, "Here is what you want ,"},
		{"the last of two commas", "Here is what we say, all of us, and it is good. " + rest, "Here is what we say , all of us ,"},
		{"a clause before a comma", "Here is what we say; all of it, and it is good. " + rest, "Here is what we say ;"},
		{"a phrase", "The miller opens the gate and the water turns the wheel. " + rest, "The miller opens the gate"},
		{"no phrase before a mark", "The miller opens the gate in, my friend of mine. " + rest, "The miller opens the gate in ,"},
		{"too few words", "Sure! Here is what you want to have of all of it. " + rest, "Sure ! Here is what you want"},
		{"two stumps", "Yes. No. Here is what you want. " + rest, "Yes . No . Here is what you want ."},
		{"one word", "Yes.", "Yes ."},
		{"no stump behind", "The miller opens the gate for us. " + rest, "The miller opens the gate for us ."},
		{"a comma behind", "Although no miller nobody knew opened the gate, the water came. " + rest, "Although no miller nobody knew opened the gate ,"},
		{"a verb behind its subject", "Although none of the millers had opened the gate, the water came. " + rest, "Although none of the millers"},
		{"no phrase that clings", "None of all the many tall old millers was the one we know. " + rest, "None of all the many tall old millers"},
		{"nowhere", strings.Repeat("abcde ", 30) + "abc.", strings.Repeat("abcde ", 30) + "abc ."},
	} {
		all := split(eager{plain{400}}, words(tt.text))
		var got []string
		for _, u := range all[0].units {
			if u.mark != 0 {
				got = append(got, string(u.mark))
			} else {
				got = append(got, u.said)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
		for i := 1; i < len(all); i++ {
			if n, before := len(all[i].symbols), len(all[i-1].symbols); n > growth*max(before, 32)+10 {
				t.Errorf("%s: %d symbols behind %d", tt.name, n, before)
			}
		}
	}
}

// What is settled stays, whatever follows, and all of it is settled in the end.
func TestSettled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	early := 0
	for range 300 {
		var text strings.Builder
		for range 1 + rng.IntN(150) {
			text.WriteString([]string{"a", "and", "water", "of", "Although", "hippopotamus", "to"}[rng.IntN(7)])
			if rng.IntN(3) == 0 {
				text.WriteString([]string{",", ".", "!", ";", "?"}[rng.IntN(5)][:rng.IntN(2)])
			}
			text.WriteString(" ")
		}
		units := words(text.String())
		for i := range units {
			if rng.IntN(60) == 0 {
				units[i] = unit{pause: 0.5}
			}
			if i > len(units)/2 {
				units[i].Rate = 2
			}
		}
		for _, s := range []Synth{plain{400}, plain{100}, eager{plain{400}}} {
			var want []int
			for _, u := range split(s, units) {
				want = append(want, len(u.units))
			}
			var got []int
			c, at := newSplitter(s), 0
			for known := 1; known <= len(units); known++ {
				for at < known {
					n, settled := c.next(units[at:known], known == len(units))
					if !settled {
						break
					}
					c.cut(units[at:known], n)
					if known < len(units) {
						early++
					}
					got, at = append(got, n), at+n
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q, as it comes: %v; want %v", text.String(), got, want)
			}
		}
	}
	if early < 1000 {
		t.Errorf("%d utterances were settled before the end", early)
	}
}
