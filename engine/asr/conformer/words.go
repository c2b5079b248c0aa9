package conformer

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/asr"
	"quern/engine/asr/heard"
	"quern/engine/token"
)

// Where a segment ends beside the end of a sentence: before a pause, and before a word
// that would make it too long to read.
const (
	pauseSeconds   = 0.8
	segmentSeconds = 30.0
)

// A word is tokens from one that begins with a space, or from the first, to the next; in a
// script without spaces, each token. Punctuation is part of the word before it.
type word struct {
	text       []byte
	tokens     []spoken
	start, end float64
}

// segments makes the segments of a window, with times of the window.
func (m *Model) segments(w *window, r *request) (list []asr.Segment) {
	words := m.words(w)
	from := 0
	for i := range words {
		last := i == len(words)-1
		if last || !r.NoTimestamps && m.Kind != AED && (ends(words[i].text) || words[i+1].start-words[i].end >= pauseSeconds || words[i+1].end-words[from].start > segmentSeconds) {
			list = append(list, m.segment(words[from:i+1], r))
			from = i + 1
		}
	}
	return list
}

// closers may follow the end of a sentence.
const closers = "\"'”’»)]}"

// ends reports whether a sentence ends with a word.
func ends(text []byte) bool {
	s := strings.TrimRight(string(text), closers)
	last, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".?!…。？！", last) && last != utf8.RuneError
}

// segment makes a segment of words.
func (m *Model) segment(words []word, r *request) asr.Segment {
	s := asr.Segment{Start: words[0].start, End: words[len(words)-1].end, Language: r.Language}
	var text []byte
	sum, n := 0.0, 0
	for _, w := range words {
		text = append(text, w.text...)
		probability := 0.0
		for _, t := range w.tokens {
			s.Tokens = append(s.Tokens, token.ID(t.id))
			sum += t.logprob
			n++
			probability += math.Exp(t.logprob) / float64(len(w.tokens))
			if r.Logprobs {
				s.Logprobs = append(s.Logprobs, asr.TokenLogprob{ID: token.ID(t.id), Bytes: []byte(m.vocab.bytes[t.id]), Logprob: float32(t.logprob)})
			}
		}
		if r.Words {
			s.Words = append(s.Words, asr.Word{Text: valid(w.text), Start: w.start, End: w.end, Probability: probability, Tokens: s.Tokens[n-len(w.tokens) : n : n]})
		}
	}
	s.Text = valid(text)
	s.AvgLogprob = sum / float64(max(1, n))
	s.CompressionRatio = asr.CompressionRatio(s.Text)
	return s
}

// valid is a text whose bytes, which tokens may tell apart, are made whole.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\ufffd") }

// words puts the tokens of a window together, with times of the window. A word ends where the
// next begins, if not before: several tokens may be written at a frame. Spaces alone are none.
func (m *Model) words(w *window) (list []word) {
	seconds := m.seconds()
	long := float64(w.frames) * frameSeconds
	for i, t := range w.tokens {
		text := m.vocab.bytes[t.id]
		if text == "" {
			continue
		}
		start, end := min(float64(t.at)*seconds, long), 0.0
		switch {
		case m.Kind == AED: // it gives no times
			end = long
		case t.frames > 0:
			end = float64(t.at+t.frames) * seconds
		case i+1 < len(w.tokens) && w.tokens[i+1].at > t.at && t.frames == 0:
			end = float64(w.tokens[i+1].at) * seconds
		default:
			end = float64(t.at+1) * seconds
		}
		end = max(start, min(end, long))
		closing := closes(text)
		if closing {
			text = strings.TrimLeft(text, " ")
		}
		if len(list) == 0 || begins(text) && !closing && strings.TrimSpace(string(list[len(list)-1].text)) != "" {
			if len(list) == 0 && m.vocab.spaced && !strings.HasPrefix(text, " ") {
				text = " " + text // windows are cut in silence, where words end
			}
			list = append(list, word{start: start})
		}
		last := &list[len(list)-1]
		if strings.TrimSpace(string(last.text)) == "" {
			last.start = start
			if closing && len(list) > 1 {
				list = list[:len(list)-1] // a space alone, before punctuation
				last = &list[len(list)-1]
			}
		}
		last.text = append(last.text, text...)
		last.tokens = append(last.tokens, t)
		last.end = max(last.end, end)
	}
	if n := len(list); n > 0 && strings.TrimSpace(string(list[n-1].text)) == "" {
		list = list[:n-1]
	}
	for i := range list[:max(0, len(list)-1)] {
		list[i].end = min(list[i].end, list[i+1].start)
	}
	return list
}

// begins reports whether a word begins with a piece.
func begins(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return first == ' ' || heard.Unspaced(first)
}

// closes reports whether a piece is punctuation that belongs to the word before.
func closes(text string) bool {
	text = strings.TrimLeft(text, " ")
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune(".,?!;:…%)]}»”。，、？！", r) || unicode.IsLetter(r)
	}) < 0
}
