package asr

import (
	"slices"
	"strings"

	"quern/engine/token"
)

// Repetitions that are too many to be speech. People do repeat single words, so those
// may occur more often than phrases.
const (
	phraseRepeats  = 4
	tokenRepeats   = 8
	segmentRepeats = 4
	longestPhrase  = 24 // tokens
)

// A run is count repetitions of n tokens from at on.
type run struct{ at, n, count int }

// findRun returns the first run in tokens that is too long, of those that begin
// there the one of the shortest phrase.
func findRun(tokens []token.ID) (run, bool) {
	for at := range tokens {
		for n := 1; n <= longestPhrase && at+2*n <= len(tokens); n++ {
			count := 1
			for i := at + n; i+n <= len(tokens) && slices.Equal(tokens[i:i+n], tokens[at:at+n]); i += n {
				count++
			}
			if count >= phraseRepeats && (n > 1 || count >= tokenRepeats) {
				return run{at, n, count}, true
			}
		}
	}
	return run{}, false
}

// collapse leaves one of every run of repetitions in a segment.
func (m *Model) collapse(s *Segment) {
	text := make([]token.ID, 0, len(s.Tokens))
	var head, tail []token.ID // times before and after the text
	for _, id := range s.Tokens {
		switch {
		case id < m.special.eot:
			text = append(text, id)
		case len(text) == 0:
			head = append(head, id)
		default:
			tail = append(tail, id)
		}
	}
	words := s.Words
	for {
		r, ok := findRun(text)
		if !ok {
			break
		}
		s.Repaired = true
		from, to := r.at+r.n, r.at+r.n*r.count
		text = slices.Delete(text, from, to)
		if len(s.Logprobs) >= to {
			s.Logprobs = slices.Delete(s.Logprobs, from, to)
		}
		// Words that begin within the removed text are removed too.
		at := 0
		words = slices.DeleteFunc(slices.Clone(words), func(w Word) bool {
			gone := at >= from && at < to
			at += len(w.Tokens)
			return gone
		})
	}
	if s.Repaired {
		s.Tokens = slices.Concat(head, text, tail)
		s.Text, s.Words = m.plain(text), words
	}
}

// again reports whether a segment says what the ones before it said, as often
// as only loops do.
func (c *clip) again(s *Segment) bool {
	if text := strings.TrimSpace(s.Text); text != c.lastText {
		c.lastText, c.times = text, 1
		return false
	}
	c.times++
	return c.times > segmentRepeats
}
