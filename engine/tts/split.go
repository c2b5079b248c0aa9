package tts

import (
	"slices"

	"quern/engine/tts/g2p"
)

// A unit is the least that an utterance is made of: a word with its phonemes, a
// punctuation mark, or a pause that the text asks for.
type unit struct {
	start, end int    // bytes of the text it comes from
	said       string // the word as it is read: "twenty" for a part of 21
	symbols    []rune // phonemes, or the mark itself
	mark       rune   // 0 for a word
	space      bool   // a space follows
	pause      float64
	g2p.Delivery
}

// How long utterances are, in symbols. Long ones are rushed and very short ones
// unstable; the first is short because nothing is heard before it is done.
// SPEECH.md 1.7 has the sources of the numbers.
const (
	firstSymbols = 100
	mostSymbols  = 250
	fewSymbols   = 15
)

// ends and clauses are the marks an utterance may end at, best first.
var (
	ends    = []rune{'.', '!', '?', '…'}
	clauses = [][]rune{{';', ':', '—'}, {','}}
	closing = []rune{'”', '"', ')', '’'}
)

// An utterance is what the synthesiser renders at once.
type utterance struct {
	units   []unit
	symbols []rune
	at      [][2]int // symbols of each unit
	pause   float64  // seconds of silence the text asks for behind it
}

// length counts the symbols of units, spaces included.
func length(units []unit) int {
	n := 0
	for _, u := range units {
		n += len(u.symbols)
		if u.space {
			n++
		}
	}
	return n
}

// split cuts units into utterances of at most limit symbols.
func split(units []unit, limit int) []utterance {
	var pieces [][]unit
	for len(units) > 0 {
		n := min(sentence(units), manner(units))
		rest := units[:n]
		units = units[n:]
		for len(rest) > 0 {
			most := min(mostSymbols, limit)
			if len(pieces) == 0 {
				most = min(firstSymbols, limit)
			}
			k := piece(rest, most, limit)
			pieces = append(pieces, rest[:k])
			rest = rest[k:]
		}
	}
	var out []utterance
	for i, p := range pieces {
		if n := len(out); n > 0 {
			last := &out[n-1]
			together := length(last.units) + length(p)
			// The first utterance stays short; a stump joins its neighbour even then.
			room := n > 1 && together <= min(mostSymbols, limit)
			stump := (length(p) < fewSymbols || length(last.units) < fewSymbols) && together <= limit
			if last.pause == 0 && (room || stump) && sameManner(&last.units[0], &p[0]) {
				last.units = slices.Concat(last.units, p)
				last.pause = pauseOf(p)
				continue
			}
		}
		out = append(out, utterance{units: pieces[i], pause: pauseOf(p)})
	}
	spoken := out[:0]
	for _, u := range out {
		u.lay()
		if len(u.symbols) > 0 || u.pause > 0 {
			spoken = append(spoken, u)
		}
	}
	return spoken
}

func pauseOf(units []unit) float64 {
	if n := len(units); n > 0 {
		return units[n-1].pause
	}
	return 0
}

// lay writes the symbols of the units one behind the other.
func (u *utterance) lay() {
	for i, w := range u.units {
		from := len(u.symbols)
		u.symbols = append(u.symbols, w.symbols...)
		u.at = append(u.at, [2]int{from, len(u.symbols)})
		if w.space && i+1 < len(u.units) && u.units[i+1].pause == 0 {
			u.symbols = append(u.symbols, ' ')
		}
	}
}

// sameManner reports whether two units can be in one utterance: the synthesiser
// speaks each at one tempo and pitch.
func sameManner(a, b *unit) bool { return a.Rate == b.Rate && a.Pitch == b.Pitch }

// manner returns how many units begin in the manner of the first; marks and pauses
// take any.
func manner(units []unit) int {
	for i := range units {
		if !sameManner(&units[0], &units[i]) {
			return i
		}
	}
	return len(units)
}

// sentence returns how many units the first sentence has, its closing quotes
// and brackets included. A pause ends one too.
func sentence(units []unit) int {
	for i, u := range units {
		if u.pause > 0 {
			return i + 1
		}
		if !slices.Contains(ends, u.mark) {
			continue
		}
		n := i + 1
		for n < len(units) && (slices.Contains(closing, units[n].mark) || slices.Contains(ends, units[n].mark)) {
			n++
		}
		if n < len(units) && units[n].pause > 0 {
			n++
		}
		return n
	}
	return len(units)
}

// piece returns how many units to take off the front of a sentence: all if they
// fit in most symbols, else up to a clause's end, else, where even limit is too
// little, up to a word's.
func piece(units []unit, most, limit int) int {
	if length(units) <= most {
		return len(units)
	}
	for _, marks := range clauses {
		best, n := 0, 0
		for i, u := range units {
			n += length(units[i : i+1])
			if n > most {
				break
			}
			if slices.Contains(marks, u.mark) && n >= fewSymbols {
				best = i + 1
			}
		}
		if best > 0 {
			return best
		}
	}
	if length(units) <= limit {
		return len(units)
	}
	n := 0
	for i := range units {
		n += length(units[i : i+1])
		if n > min(mostSymbols, limit) && i > 0 {
			return i
		}
	}
	return len(units)
}
