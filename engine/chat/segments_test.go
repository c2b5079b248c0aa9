package chat

import (
	"sort"
	"strings"
)

// What a tokenizer does with a Prompt, without a vocabulary.

// A Segment is a piece of a Prompt.
type Segment struct {
	Text string
	// Control means that Text is the spelling of one control token, to be
	// encoded as that token. Other text is to be encoded with control tokens
	// not honoured.
	Control bool
}

// Controls are the spellings of a vocabulary's control tokens. Make them once
// for a model; they are safe for concurrent use.
type Controls struct {
	byFirst [256][]string // longest first
}

// NewControls returns the Controls with these spellings.
func NewControls(spellings []string) *Controls {
	c := &Controls{}
	for _, s := range spellings {
		if s != "" {
			c.byFirst[s[0]] = append(c.byFirst[s[0]], s)
		}
	}
	for _, list := range c.byFirst {
		sort.Slice(list, func(i, j int) bool { return len(list[i]) > len(list[j]) })
	}
	return c
}

// Segments cuts p at the control tokens its template printed: at each place
// the longest that starts there. No Segment is empty, and together they are
// p.Text.
func (p *Prompt) Segments(c *Controls) []Segment {
	var segs []Segment
	from := 0
	for at := 0; at < len(p.Text); {
		token := p.control(c, at)
		if token == "" {
			at++
			continue
		}
		if from < at {
			segs = append(segs, Segment{Text: p.Text[from:at]})
		}
		segs = append(segs, Segment{Text: token, Control: true})
		at += len(token)
		from = at
	}
	if from < len(p.Text) {
		segs = append(segs, Segment{Text: p.Text[from:]})
	}
	return segs
}

// control returns the longest trusted control token at offset at, or "".
func (p *Prompt) control(c *Controls, at int) string {
	for _, s := range c.byFirst[p.Text[at]] {
		if strings.HasPrefix(p.Text[at:], s) && p.Trusted(at, at+len(s)) {
			return s
		}
	}
	return ""
}
