package openai

import (
	"strings"
	"unicode/utf8"

	"quern/engine"
	"quern/httpapi/internal/ask"
)

// A chatLogprobs is the logprobs object of a chat choice.
type chatLogprobs struct {
	Content []ask.Logprob `json:"content"`
	Refusal *struct{}     `json:"refusal"`
}

// newChatLogprobs lists at most top alternatives a token.
func newChatLogprobs(entries []engine.Logprob, top int) *chatLogprobs {
	return &chatLogprobs{Content: ask.Logprobs(entries, top)}
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
	lp := ask.Finite(e.Logprob)
	m := map[string]float32{}
	better := func(b []byte, x float32) {
		s := ask.TokenText(b)
		if old, ok := m[s]; !ok || x > old {
			m[s] = x // two tokens of one spelling: the likelier stays
		}
	}
	for _, alt := range e.Top[:min(top, len(e.Top))] {
		better(alt.Bytes, ask.Finite(alt.Logprob))
	}
	better(e.Bytes, lp)
	l.Tokens = append(l.Tokens, ask.TokenText(e.Bytes))
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
		l.Tokens = append(l.Tokens, ask.TokenText(e.Bytes))
		l.Logprob = append(l.Logprob, nil)
		l.Top = append(l.Top, nil)
		l.Offset = append(l.Offset, at)
	}
	// The reply starts behind the text, whatever its tokens said.
	o.chars = utf8.RuneCountInString(text)
	o.tail = nil
}
