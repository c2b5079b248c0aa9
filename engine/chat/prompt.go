package chat

import (
	"sort"
	"strings"

	"quern/engine/chat/internal/jinja"
)

// A Prompt is a rendered conversation that records which of its bytes a client
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
// A tokenizer asks Trusted about every control token it finds. Text between
// two control tokens must be encoded in one piece, trusted or not: cut where
// trust changes, it would give other tokens than the model was trained on.
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
