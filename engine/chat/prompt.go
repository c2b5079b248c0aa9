package chat

import (
	"sort"
	"strings"

	"quern/engine/chat/internal/jinja"
)

// A Prompt is a rendered conversation that knows which of its bytes a client
// sent.
//
// Only the template may spell control tokens: if a user writes <|im_start|>,
// the model must read those ten characters and not a new turn. A byte is
// trusted if it is the template's own text, the name of a role, or one of the
// special tokens the Template was made with. It is not trusted if it came from
// a message, a tool or an extra variable, whatever the template did to it on
// the way: marks are carried through every operation inside the template
// engine, and an operation that cannot keep them exactly marks its whole
// result. A control token counts only if all of its bytes are trusted, so one
// pieced together from template and client text does not count either.
//
// To encode a Prompt, a tokenizer that can be asked per match calls Trusted.
// Others encode Segments one after the other. Text between two control tokens
// must be encoded in one piece, trusted or not: cut where trust changes, it
// would give other tokens than the model was trained on.
type Prompt struct {
	Text string

	marks []jinja.Span
}

// Trusted reports whether no byte of Text[from:to] came from a client.
func (p *Prompt) Trusted(from, to int) bool {
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].To > from })
	return i == len(p.marks) || p.marks[i].From >= to
}

// StartsWith reports whether the template itself printed token first. A
// tokenizer that adds the same token must then not do so.
func (p *Prompt) StartsWith(token string) bool {
	return token != "" && strings.HasPrefix(p.Text, token) && p.Trusted(0, len(token))
}

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
