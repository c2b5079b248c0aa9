package formant

// A segment is one part with its length, ready to be spoken.
type segment struct {
	part   *part
	symbol int     // index of its symbol in the utterance, -1 for the silence in front
	ms     float64 // length
	target frame   // the part's, after its neighbours had their say
	pitch  accent
}

// An accent says what intonation makes of a vowel.
type accent uint8

const (
	unstressed accent = iota
	secondary
	primary
)

// A sound is one symbol with what surrounds it.
type sound struct {
	symbol       int
	r            rune
	parts        []part
	stress       accent
	long         bool
	first, last  bool // of its word
	syllables    int  // of its word
	finalVowel   bool // in the last syllable of its word
	phraseFinal  bool // in the last syllable before a pause, or after its vowel
	pause        float64
	aspirated    bool
	word, phrase int
}

func (s *sound) vowel() bool { return s.parts != nil && s.parts[0].manner == vowel }

func (s *sound) consonant() bool { return s.parts != nil && !s.vowel() }

// pauses gives the silence of a punctuation mark inside an utterance, in ms.
var pauses = map[rune]float64{
	',': 180, ';': 260, ':': 260, '—': 260, '…': 380, '.': 400, '!': 400, '?': 400, '(': 100, ')': 100,
}

const (
	leadMS = 30 // silence in front of an utterance
	tailMS = 60 // and behind it; pauses between utterances are the caller's
)

// listen splits an utterance into sounds and marks words, phrases and stress.
func listen(symbols []rune) []sound {
	var out []sound
	var pending accent
	word, phrase := 0, 0
	for i, r := range symbols {
		switch {
		case r == 'ˈ':
			pending = primary
		case r == 'ˌ':
			pending = secondary
		case r == 'ː':
			if n := len(out); n > 0 && out[n-1].vowel() {
				out[n-1].long = true
			}
		case r == 'ʰ':
			if n := len(out); n > 0 && out[n-1].consonant() {
				out[n-1].aspirated = true
			}
		case pauses[r] > 0:
			out = append(out, sound{symbol: i, r: r, pause: pauses[r], word: -1, phrase: phrase})
			word++
			phrase++
		case phones()[r] != nil:
			s := sound{symbol: i, r: r, parts: phones()[r], word: word, phrase: phrase}
			if s.vowel() {
				s.stress, pending = pending, unstressed
			}
			out = append(out, s)
		default: // spaces and what has no sound
			word++
		}
	}
	colour(out)
	markWords(out)
	markPhrases(out)
	markAspiration(out)
	return out
}

// colour gives a vowel of American English that is one sound with the [ɹ] behind it
// the tongue of [ɹ] from its beginning.
func colour(sounds []sound) {
	for i := 0; i+1 < len(sounds); i++ {
		s, next := &sounds[i], &sounds[i+1]
		if (s.r == 'ɜ' || s.r == 'ə') && next.r == 'ɹ' && next.word == s.word {
			s.parts = phones()[rcoloured[s.r]]
		}
	}
}

func markWords(sounds []sound) {
	for i := 0; i < len(sounds); {
		j, syllables, lastVowel := i, 0, -1
		for ; j < len(sounds) && sounds[j].word == sounds[i].word && sounds[i].word >= 0; j++ {
			if sounds[j].vowel() {
				syllables++
				lastVowel = j
			}
		}
		if j == i {
			i++
			continue
		}
		sounds[i].first, sounds[j-1].last = true, true
		for k := i; k < j; k++ {
			sounds[k].syllables = syllables
			sounds[k].finalVowel = k == lastVowel
		}
		i = j
	}
}

func markPhrases(sounds []sound) {
	final := true
	for i := len(sounds) - 1; i >= 0; i-- {
		s := &sounds[i]
		if s.pause > 0 {
			final = true
			continue
		}
		s.phraseFinal = final
		if s.vowel() {
			final = false
		}
	}
}

// markAspiration finds the voiceless plosives that are followed by breath: at
// the start of a word or of a stressed syllable, but not after [s].
func markAspiration(sounds []sound) {
	for i := range sounds {
		s := &sounds[i]
		if s.parts == nil || s.parts[0].manner != closure || s.parts[0].voiced || len(s.parts) < 2 || s.parts[1].manner != burst {
			continue
		}
		if i > 0 && sounds[i-1].r == 's' && sounds[i-1].word == s.word {
			continue
		}
		for j := i + 1; j < len(sounds) && j <= i+2 && sounds[j].word == s.word; j++ {
			if sounds[j].vowel() {
				s.aspirated = s.aspirated || s.first || sounds[j].stress != unstressed
				break
			}
			if m := sounds[j].parts[0].manner; m != glide && m != liquid {
				break
			}
		}
	}
}

// plan gives every sound its parts with their lengths in ms at tempo 1.
func plan(sounds []sound) []segment {
	segs := []segment{{part: &rest, symbol: -1, ms: leadMS, target: rest.target}}
	for i := range sounds {
		s := &sounds[i]
		if s.pause > 0 {
			ms := s.pause
			if i == len(sounds)-1 {
				ms = 0 // the tail follows at once
			}
			segs = append(segs, segment{part: &rest, symbol: s.symbol, ms: ms, target: rest.target})
			continue
		}
		share := stretch(sounds, i)
		for k := range s.parts {
			p := &s.parts[k]
			if p.manner == burst && i+1 < len(sounds) && sounds[i+1].consonant() && sounds[i+1].parts[0].manner == closure {
				continue // a plosive before another one is not released
			}
			ms := p.min + (p.dur-p.min)*share
			if s.vowel() && share < 0.6 {
				ms = max(p.min*(0.4+share), 22)
			}
			if s.long {
				ms *= 1.2
			}
			g := segment{part: p, symbol: s.symbol, ms: ms, target: p.target}
			if s.vowel() && k == 0 {
				g.pitch = s.stress
			}
			if s.vowel() && s.stress == unstressed {
				g.target.av -= 2
			}
			if p.manner == burst && (i+1 == len(sounds) || sounds[i+1].pause > 0) {
				g.target.af -= 6 // a last plosive is let go quietly
			}
			segs = append(segs, g)
		}
		if s.aspirated {
			segs = append(segs, segment{part: &breath, symbol: s.symbol, ms: breath.min + (breath.dur-breath.min)*share, target: breath.target})
		}
	}
	segs = append(segs, segment{part: &rest, symbol: -2, ms: tailMS, target: rest.target})
	follow(segs)
	return segs
}

// stretch is how much of its inherent length, above the shortest possible, a
// sound keeps: the product of the rules that apply.
//
// Klatt, "Linguistic uses of segmental duration in English", JASA 59, 1976, and
// its summary in Allen, Hunnicutt & Klatt, "From text to speech", 1987, ch. 9.
func stretch(sounds []sound, i int) float64 {
	s := &sounds[i]
	near := func(d int) *sound {
		if j := i + d; j >= 0 && j < len(sounds) && sounds[j].pause == 0 && sounds[j].phrase == s.phrase {
			return &sounds[j]
		}
		return nil
	}
	before, after := near(-1), near(1)
	share := 1.0
	if s.vowel() {
		if s.phraseFinal {
			share *= 1.3
		} else {
			share *= 0.7
		}
		if !s.finalVowel {
			share *= 0.85
		}
		if s.syllables > 1 {
			share *= 0.85
		}
		switch s.stress {
		case unstressed:
			if s.first || s.finalVowel {
				share *= 0.7
			} else {
				share *= 0.55
			}
		case secondary:
			share *= 0.85
		}
		if after != nil && after.word == s.word && after.consonant() {
			p := &after.parts[0]
			context := 1.0
			switch {
			case p.manner == fricative && p.voiced:
				context = 1.4
			case p.manner == closure && p.voiced:
				context = 1.15
			case p.manner == nasal:
				context = 0.9
			case (p.manner == closure || p.manner == fricative) && !p.voiced:
				context = 0.7
			}
			if !s.phraseFinal {
				context = 0.3 + 0.7*context // weaker inside a phrase
			}
			share *= context
		}
		if before != nil && before.vowel() {
			share *= 0.75
		}
		return share
	}
	if !s.first {
		share *= 0.85
	}
	if s.phraseFinal {
		share *= 1.2
	}
	if after != nil && after.vowel() && after.stress == unstressed {
		share *= 0.75
	}
	switch {
	case before != nil && before.consonant() && after != nil && after.consonant():
		share *= 0.5
	case before != nil && before.consonant(), after != nil && after.consonant():
		share *= 0.7
	}
	return share
}

// follow lets breath and velars take over formants of the nearest vowel, the
// next one first.
func follow(segs []segment) {
	open := func(i int) *frame {
		for j := i; j < len(segs) && segs[j].part.manner != silence; j++ {
			if segs[j].part.manner == vowel {
				return &segs[j].part.target
			}
		}
		for j := i; j >= 0 && segs[j].part.manner != silence; j-- {
			if segs[j].part.manner == vowel {
				return &segs[j].part.target
			}
		}
		return nil
	}
	for i := range segs {
		g := &segs[i]
		if g.part.follow == 0 {
			continue
		}
		v := open(i)
		if v == nil {
			continue
		}
		from := 1
		if g.part.manner == aspirate {
			from = 0
		}
		for k := from; k < len(v.f); k++ {
			g.target.f[k] += g.part.follow * (v.f[k] - g.target.f[k])
		}
	}
}
