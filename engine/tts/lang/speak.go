package lang

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
)

// speak pronounces the items, clause by clause.
func (s *scanner) speak(ctx context.Context) ([]g2p.Token, error) {
	from := 0
	for i := 0; i <= len(s.out); i++ {
		// Words of a clause change each other; a long one is cut.
		if i < len(s.out) && s.out[i].Kind == g2p.Word && i-from < maxClause {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.clause(s.out[from:i])
		from = i
		if i < len(s.out) && s.out[i].Kind != g2p.Word {
			from++
		}
	}
	out := make([]g2p.Token, len(s.out))
	for i := range s.out {
		out[i] = s.out[i].Token
	}
	if n := len(out); n > 0 {
		out[n-1].Space = false
	}
	return out, nil
}

// maxClause bounds the words that are joined at once.
const maxClause = 64

// clause pronounces words between two pauses.
func (s *scanner) clause(items []item) {
	if len(items) == 0 {
		return
	}
	said := make([]string, len(items))
	fixed := make([]string, len(items)) // what words around do not change
	stressed := false
	for k := range items {
		t := &items[k]
		switch {
		case t.Phonemes != "":
			fixed[k] = t.Phonemes
		case t.english:
			fixed[k], t.Source = s.latin(t.Text), g2p.Guess
		case t.spell:
			said[k], t.Source = s.spell(t.Text), g2p.Spelled
		default:
			said[k], t.Source = s.pronounce(strings.ToLower(t.Text))
			if t.Source == g2p.Guess { // English
				fixed[k] = said[k]
			}
			if last := k == len(items)-1 && !s.light; s.weak[t.Text] && !(last && !stressed) {
				said[k] = plain.Replace(said[k])
			} else if s.lesser[t.Text] && !last {
				said[k] = strings.ReplaceAll(said[k], "ˈ", "ˌ")
			}
		}
		if fixed[k] != "" {
			said[k] = fixed[k]
		}
		said[k] = strings.ReplaceAll(said[k], " ", "")
		stressed = stressed || strings.ContainsRune(said[k], 'ˈ')
	}
	if s.light && !stressed {
		s.raise(items, said, fixed)
	}
	for k := 0; s.link != nil && k+1 < len(items); k++ {
		if fixed[k] == "" && !items[k].spell {
			previous := ""
			if k > 0 {
				previous = strings.ToLower(items[k-1].Text)
			}
			said[k] = s.link(previous, strings.ToLower(items[k].Text), strings.ToLower(items[k+1].Text), said[k], said[k+1])
		}
	}
	joined := s.join(said)
	for k := range items {
		t := &items[k]
		t.Phonemes = joined[k]
		if fixed[k] != "" {
			t.Phonemes = fixed[k]
		}
		if t.Phonemes == "" { // silent letters alone
			t.Phonemes = s.spell(t.Text)
		}
		if t.shift != 0 && fixed[k] == "" {
			t.Phonemes = restress(t.Phonemes, t.shift)
		}
	}
}

// raise gives the last of words that have but a secondary stress its own one, or the
// last word.
func (s *scanner) raise(items []item, said, fixed []string) {
	at := -1
	for k := range items {
		if fixed[k] == "" && (at < 0 || s.lesser[items[k].Text] || s.weak[items[at].Text]) {
			at = k
		}
	}
	if at >= 0 && !items[at].spell {
		said[at], _ = s.pronounce(strings.ToLower(items[at].Text))
	}
}

var plain = strings.NewReplacer("ˈ", "", "ˌ", "")

// restress makes a word's stress lighter, or heavier where it has only a light one.
func restress(said string, by float64) string {
	if by < 0 {
		return strings.ReplaceAll(strings.ReplaceAll(said, "ˌ", ""), "ˈ", "ˌ")
	}
	if !strings.ContainsRune(said, 'ˈ') {
		return strings.Replace(said, "ˌ", "ˈ", 1)
	}
	return said
}

// pronounce returns the sounds of a word before those around it change them. A word
// that is English by its spelling is pronounced so, as Guess.
func (s *scanner) pronounce(w string) (string, g2p.Source) {
	if said, ok := s.Language.words[w]; ok {
		return said, g2p.Lexicon
	}
	if s.English != nil && s.alien != nil && s.alien(w) {
		var b strings.Builder
		for _, t := range s.English.Phonemize(w, g2p.British) {
			if t.Kind == g2p.Word {
				b.WriteString(t.Phonemes)
			}
		}
		if b.Len() > 0 {
			return b.String(), g2p.Guess
		}
	}
	return s.Language.elided(w), g2p.Rule
}

// elided pronounces a word with what an apostrophe ties to it.
func (l *Language) elided(w string) string {
	k := strings.LastIndexAny(w, "'’")
	if k < 0 || l.words[w] != "" {
		return l.word(w)
	}
	_, n := utf8.DecodeRuneInString(w[k:])
	if k+n == len(w) {
		return plain.Replace(l.word(w))
	}
	head, tail := strings.ReplaceAll(w[:k], "’", "'")+"'", w[k+n:]
	if said, ok := l.words[head]; ok {
		return said + l.word(tail)
	}
	return plain.Replace(l.word(head)) + l.word(tail)
}

// spell says the letters of a word, the last one with the stress.
func (l *Language) spell(w string) string {
	var names []string
	for _, r := range strings.ToLower(w) {
		name := l.spelled[r]
		if name == "" {
			if d, ok := decompose(r); ok {
				name = l.spelled[d]
			}
		}
		switch {
		case name != "":
			names = append(names, l.word(name))
		case unicode.IsLetter(r):
			names = append(names, l.word(string(r)))
		}
	}
	for i := range names[:max(0, len(names)-1)] {
		names[i] = strings.ReplaceAll(names[i], "ˈ", "ˌ")
	}
	return strings.Join(names, "")
}
