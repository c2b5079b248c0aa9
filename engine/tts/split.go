package tts

import (
	"slices"
	"strings"

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
// unstable. SPEECH.md 1.7 has the sources of the numbers.
const (
	firstSymbols = 100 // of the first, where the synthesiser has no wish
	mostSymbols  = 250
	fewSymbols   = 15
	fewWords     = 4 // of the first, that ends before its sentence does
	fewerWords   = 3 // of the first that is a sentence
	// growth is how often its predecessor an utterance may be, so that what is heard
	// lasts until it is made.
	growth = 3
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

// A splitter cuts units into utterances, from left to right.
type splitter struct {
	limit int  // symbols of any
	most  int  // symbols of the next
	begun bool // the first is cut off
	hurry bool // utterances may end before a phrase while they are short
}

// newSplitter returns one for a synthesiser.
func newSplitter(s Synth) *splitter {
	first := s.First()
	if first == 0 {
		return &splitter{limit: s.Limit(), most: min(firstSymbols, s.Limit())}
	}
	return &splitter{limit: s.Limit(), most: min(first, s.Limit()), hurry: true}
}

// next returns how many units, of which there is one at least, make the next utterance,
// and whether they do whatever follows them. whole says that nothing does.
func (s *splitter) next(units []unit, whole bool) (n int, settled bool) {
	if s.begun {
		n, settled = s.piece(units, whole)
	} else {
		n, settled = s.opening(units, whole)
	}
	for settled && n < len(units) && units[n-1].pause == 0 && sameManner(&units[0], &units[n]) {
		k, known := s.piece(units[n:], whole)
		if !known {
			// It is longer than a stump already, and so whatever it grows to.
			apart := length(units[n:]) >= fewSymbols && length(units[:n]) >= fewSymbols
			return n, apart && (!s.begun || length(units[:n])+fewSymbols > s.most)
		}
		together := length(units[:n+k])
		// The first utterance stays short; a stump joins its neighbour even then.
		room := s.begun && together <= s.most
		stump := (length(units[n:n+k]) < fewSymbols || length(units[:n]) < fewSymbols) && together <= s.limit
		if !room && !stump {
			break
		}
		n += k
	}
	if n == len(units) {
		settled = whole || units[n-1].pause > 0
	}
	return n, settled
}

// cut takes the next utterance off units.
func (s *splitter) cut(units []unit, n int) (utterance, []unit) {
	u := utterance{units: units[:n], pause: units[n-1].pause}
	u.lay()
	s.begun = true
	s.most = min(growth*s.most, mostSymbols, s.limit)
	return u, units[n:]
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

// phrases are words a phrase begins with, unless the word before is one of clinging, which
// belongs to what follows it.
var (
	phrases = wordSet(`and or but because although though while when where which who whose that if unless until since than as how why what
		of in at for with without from into through between over under after before during by to on about against across behind near
		is are was were be has have had do does did will would can could shall should may might must isn't aren't wasn't weren't don't doesn't didn't won't wouldn't can't couldn't`)
	clinging = wordSet(`a an the my your his her its our their this that these those some any no every each all both more most very so too not never
		i you he she it we they who what which there here how why when where while if because although though and or but as than
		of in at for with without from into through between over under after before during by to on about against across behind near
		is are was were be been has have had do does did will would can could shall should may might must`)
)

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// phrase reports whether a phrase begins at unit i.
func phrase(units []unit, i int) bool {
	return i+1 < len(units) && units[i].mark == 0 && units[i+1].mark == 0 && units[i+1].pause == 0 &&
		phrases[strings.ToLower(units[i].said)] && !clinging[strings.ToLower(units[i-1].said)]
}

// breaks are the places an utterance may end at, best first.
const (
	atSentence = iota
	atClause
	atComma
	atPhrase
	nowhere
)

// breakAfter says what kind of place is behind the first n units.
func breakAfter(units []unit, n int) int {
	u := &units[n-1]
	for rank, marks := range clauses {
		if slices.Contains(marks, u.mark) {
			return atClause + rank
		}
	}
	if phrase(units, n) {
		return atPhrase
	}
	return nowhere
}

// opening is next for the first utterance, which ends as soon as it is worth saying:
// with a sentence, or in its first s.most symbols, at the best place and of equals the
// last, or else at the first place behind them.
func (s *splitter) opening(units []unit, whole bool) (n int, settled bool) {
	scope := len(units)
	if i := slices.IndexFunc(units, func(u unit) bool { return u.pause > 0 }); i >= 0 {
		scope = i + 1
	}
	scope = min(scope, manner(units))
	whole = whole || scope < len(units) || units[scope-1].pause > 0
	units = units[:scope]
	best, rank := 0, nowhere
	symbols, said := 0, 0
	for at := 0; at < scope; {
		end := at + sentence(units[at:])
		for n := at + 1; n <= end; n++ {
			symbols += length(units[n-1 : n])
			if units[n-1].mark == 0 {
				said++
			}
			if symbols > s.most && best > 0 {
				return best, true
			}
			if symbols > firstSymbols {
				if n == len(units) && !whole {
					return n, false // what follows says whether a phrase begins here
				}
				return s.piece(units, whole)
			}
			if n == end || symbols < fewSymbols || said < fewWords {
				continue
			}
			if r := breakAfter(units, n); r <= rank && r < nowhere && (r < atPhrase || s.hurry) {
				switch rest := length(units[n:end]); {
				case rest >= fewSymbols:
					best, rank = n, r
				case end == scope && !whole:
					return n, false // a stump may be left, or more
				}
			}
		}
		if end == scope && !whole {
			return scope, false
		}
		if symbols >= fewSymbols && said >= fewerWords {
			return end, true
		}
		at = end
	}
	return scope, whole
}

// piece returns how many units to take off the front of a sentence: all if they fit in
// s.most symbols, else up to a clause's end, else, where even the limit is too little, up
// to a word's.
func (s *splitter) piece(units []unit, whole bool) (n int, settled bool) {
	n = min(sentence(units), manner(units))
	whole = whole || n < len(units) || units[n-1].pause > 0
	units = units[:n]
	if length(units) <= s.most {
		return n, whole
	}
	if !whole && length(units[:n-1]) <= s.most {
		return n, false // what follows says whether a phrase begins at the last
	}
	best, rank := 0, nowhere
	symbols := 0
	for i := 1; i < n; i++ {
		if symbols += length(units[i-1 : i]); symbols > s.most {
			break
		}
		if r := breakAfter(units, i); symbols >= fewSymbols && r <= rank && (r < atPhrase || s.hurry && s.most < mostSymbols && r == atPhrase) {
			best, rank = i, r
		}
	}
	if best > 0 {
		return best, true
	}
	if length(units) <= s.limit {
		return n, whole
	}
	symbols = 0
	for i := range units {
		symbols += length(units[i : i+1])
		if symbols > min(mostSymbols, s.limit) && i > 0 {
			return i, true
		}
	}
	return n, whole
}
