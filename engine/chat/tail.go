package chat

import "quern/engine/chat/internal/jinja"

// Tail is the template's text after the last text of a client: the end of
// the last turn, and the opening of the answer (see wire.Options). Text of an answer
// that is to be continued is dots.
func (p *Prompt) Tail() string {
	from := 0
	for _, m := range p.marks {
		if m.Origin != jinja.Final {
			from = max(from, m.To)
		}
	}
	tail := []byte(p.Text[from:])
	for _, m := range p.marks {
		for i := max(from, m.From); i < m.To; i++ {
			tail[i-from] = '.'
		}
	}
	return string(tail)
}
