package openai

import (
	"quern/engine"
	"quern/httpapi/internal/turn"
)

// A textStream spells a turn as chunks of /v1/completions.
type textStream struct {
	*eventStream
	head    chatHead
	r       *textRequest
	prompts [][]engine.Logprob
	seqs    map[int]*textState // by index of the choice
}

type textState struct {
	at    textOffsets
	begun bool
}

func newTextStream(out *eventStream, head chatHead, r *textRequest) *textStream {
	s := &textStream{out, head, r, make([][]engine.Logprob, len(r.prompts)), map[int]*textState{}}
	s.usage = r.usage
	s.counted = func(u *usage, t *timings) any {
		return textCompletion{chatHead: s.head, Choices: []textChoice{}, Usage: u, Timings: t}
	}
	return s
}

// Begin implements Spelling. The first events open their choices.
func (s *textStream) Begin() error { return nil }

// Event implements Spelling.
func (s *textStream) Event(ev turn.Event) error {
	c := textChoice{Index: ev.PromptIndex*s.r.sampling.N + ev.Index}
	switch ev.Type {
	case engine.PromptDone:
		s.prompts[ev.PromptIndex] = ev.Prompt
		return nil
	case engine.Delta:
		if err := s.echo(ev, c.Index); err != nil {
			return err
		}
		c.Text = ev.Text
		if s.r.logprobs >= 0 {
			c.Logprobs = newTextLogprobs()
			c.Logprobs.add(&s.seqs[c.Index].at, ev.Logprobs, s.r.logprobs)
		}
		if c.Text == "" && (c.Logprobs == nil || len(c.Logprobs.Tokens) == 0) {
			return nil
		}
	case engine.Finish:
		if err := s.echo(ev, c.Index); err != nil {
			return err
		}
		c.FinishReason, c.StopReason = &ev.Reason, ev.StopReason
	default:
		return nil
	}
	return s.chunk(c)
}

// echo opens a choice, with the prompt's text if that was asked for.
func (s *textStream) echo(ev turn.Event, index int) error {
	st := s.seqs[index]
	if st == nil {
		st = &textState{}
		s.seqs[index] = st
	}
	if st.begun || !s.r.echo {
		st.begun = true
		return nil
	}
	st.begun = true
	c := textChoice{Text: s.r.echoed[ev.PromptIndex], Index: index}
	if s.r.logprobs >= 0 {
		c.Logprobs = newTextLogprobs()
		c.Logprobs.addPrompt(&st.at, s.prompts[ev.PromptIndex], c.Text, s.r.logprobs)
	}
	return s.chunk(c)
}

func (s *textStream) chunk(c textChoice) error {
	return s.out.Event(textCompletion{chatHead: s.head, Choices: []textChoice{c}, Usage: s.midway()})
}
