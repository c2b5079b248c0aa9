package llama

import (
	"strings"

	"quern/engine"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// A spelling spells a turn as chunks, the last of each sequence with its totals.
type spelling struct {
	out      *stream.Writer
	t        *turn.Tally
	r        *request
	model    string
	settings settings
	states   map[int]*state       // by index of the sequence
	prompts  map[int]engine.Event // PromptDone of each
	ends     []turn.Event         // Finish of each, sent when the timings are known
}

// A state is what was sent of a sequence.
type state struct {
	tokens int
	lines  bool
}

// Begin implements turn.Spelling.
func (s *spelling) Begin() error { return nil }

func (s *spelling) index(ev turn.Event) int { return ev.PromptIndex*s.r.sampling.N + ev.Index }

func (s *spelling) state(i int) *state {
	if s.states[i] == nil {
		s.states[i] = &state{}
	}
	return s.states[i]
}

// Event implements turn.Spelling.
func (s *spelling) Event(ev turn.Event) error {
	switch ev.Type {
	case engine.PromptDone:
		s.prompts[ev.PromptIndex] = ev.Event
	case engine.Finish:
		s.ends = append(s.ends, ev)
	case engine.Delta:
		p := piece{Index: s.index(ev), Slot: -1, Content: ev.Text, Evaluated: s.prompts[ev.PromptIndex].PromptTokens}
		st := s.state(p.Index)
		s.r.addTokens(&p, ev.Logprobs)
		st.tokens += len(p.Tokens)
		st.lines = st.lines || strings.Contains(ev.Text, "\n")
		p.Predicted = st.tokens
		return s.out.Event(p)
	}
	return nil
}

// End implements turn.Spelling.
func (s *spelling) End() error {
	for _, ev := range s.ends {
		p := piece{Index: s.index(ev), Slot: -1}
		s.r.addTokens(&p, nil)
		prompt := s.prompts[ev.PromptIndex]
		if err := s.out.Event(s.r.ended(p, ev.Event, s.state(p.Index).lines, prompt.PromptTokens, prompt.CachedTokens, s.t, s.model, s.settings)); err != nil {
			return err
		}
	}
	return nil
}
