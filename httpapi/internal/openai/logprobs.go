package openai

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/transcript"
)

// A chatLogprobs is the logprobs object of a chat choice.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal *struct{}      `json:"refusal"`
}

type tokenLogprob struct {
	Token   string        `json:"token"`
	Logprob float32       `json:"logprob"`
	Bytes   []int         `json:"bytes"` // clients join them to rebuild split characters
	Top     []alternative `json:"top_logprobs"`
}

type alternative struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// newChatLogprobs lists at most top alternatives a token.
func newChatLogprobs(entries []engine.Logprob, top int) *chatLogprobs {
	out := &chatLogprobs{Content: make([]tokenLogprob, 0, len(entries))}
	for _, e := range entries {
		t := tokenLogprob{Token: tokenText(e.Bytes), Logprob: finite(e.Logprob), Bytes: transcript.Ints(e.Bytes), Top: []alternative{}}
		for _, alt := range e.Top[:min(top, len(e.Top))] {
			t.Top = append(t.Top, alternative{tokenText(alt.Bytes), finite(alt.Logprob), transcript.Ints(alt.Bytes)})
		}
		out.Content = append(out.Content, t)
	}
	return out
}

// finite replaces what JSON has no number for: -Inf of impossible tokens.
func finite(x float32) float32 {
	if math.IsInf(float64(x), 0) || math.IsNaN(float64(x)) || x < -9999 {
		return -9999
	}
	return x
}

// tokenText spells a token. Bytes that are no whole character become \xNN.
func tokenText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			s.WriteString(`\x`)
			if b[0] < 16 {
				s.WriteByte('0')
			}
			s.WriteString(strconv.FormatUint(uint64(b[0]), 16))
		} else {
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String()
}

// A textLogprobs is the logprobs object of a choice of /v1/completions: four
// arrays of one length.
type textLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Logprob []*float32           `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offset  []int                `json:"text_offset"`
}

// A textOffsets counts the characters before each token of a text that comes
// in pieces.
type textOffsets struct {
	chars int
	tail  []byte // bytes of a character that is not whole yet
}

// next returns the offset of a token and moves past it.
func (o *textOffsets) next(b []byte) int {
	at := o.chars
	o.tail = append(o.tail, b...)
	for len(o.tail) > 0 && utf8.FullRune(o.tail) {
		_, n := utf8.DecodeRune(o.tail)
		o.tail = o.tail[n:]
		o.chars++
	}
	return at
}

// add appends generated tokens with the top best alternatives and the token
// itself.
func (l *textLogprobs) add(o *textOffsets, entries []engine.Logprob, top int) {
	for _, e := range entries {
		l.entry(e, top, o.next(e.Bytes))
	}
}

func (l *textLogprobs) entry(e engine.Logprob, top, offset int) {
	lp := finite(e.Logprob)
	m := map[string]float32{}
	better := func(b []byte, x float32) {
		s := tokenText(b)
		if old, ok := m[s]; !ok || x > old {
			m[s] = x // two tokens of one spelling: the likelier stays
		}
	}
	for _, alt := range e.Top[:min(top, len(e.Top))] {
		better(alt.Bytes, finite(alt.Logprob))
	}
	better(e.Bytes, lp)
	l.Tokens = append(l.Tokens, tokenText(e.Bytes))
	l.Logprob = append(l.Logprob, &lp)
	l.Top = append(l.Top, m)
	l.Offset = append(l.Offset, offset)
}

// addPrompt appends the tokens of an echoed prompt, whose text is given. The
// first has no probability. Tokens the text does not show, as BOS, take no
// room in it.
func (l *textLogprobs) addPrompt(o *textOffsets, entries []engine.Logprob, text string, top int) {
	rest := text
	for i, e := range entries {
		shown := string(e.Bytes)
		if !strings.HasPrefix(rest, shown) {
			// Some tokenizers put a space before the text.
			shown = strings.TrimPrefix(shown, " ")
			if !strings.HasPrefix(rest, shown) {
				shown = ""
			}
		}
		rest = rest[len(shown):]
		at := o.next([]byte(shown))
		if i > 0 {
			l.entry(e, top, at)
			continue
		}
		l.Tokens = append(l.Tokens, tokenText(e.Bytes))
		l.Logprob = append(l.Logprob, nil)
		l.Top = append(l.Top, nil)
		l.Offset = append(l.Offset, at)
	}
	// The reply starts behind the text, whatever its tokens said.
	o.chars = utf8.RuneCountInString(text)
	o.tail = nil
}
