package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/chat"
)

// A generator answers prompts. An engine.Lease is one.
type generator interface {
	Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error]
	Defaults() engine.Sampling
}

// A session is one conversation.
type session struct {
	*app
	lease   generator
	model   engine.ModelInfo
	options replyOptions

	system   string
	messages []chat.Message // of the user, of the assistant, and results of calls
	last     engine.Event   // the last answer's Done event

	interrupts chan os.Signal // Ctrl-C; nil when it ends the program
	question   questioner     // nil without a terminal to ask at
}

// maxAnswers bounds the answers to one prompt: a model may call for ever.
const maxAnswers = 16

// reply answers prompt on standard output, runs the model's calls that the user allows,
// and adds all of it to the conversation.
func (s *session) reply(ctx context.Context, prompt string) error {
	said := len(s.messages)
	s.messages = append(s.messages, chat.Message{Role: chat.RoleUser, Text: prompt})
	for range maxAnswers {
		answer, err := s.answerOnce(ctx, prompt)
		if err == nil || answer.Text != "" {
			s.messages = append(s.messages, answer)
		} else if len(s.messages) == said+1 {
			s.messages = s.messages[:said]
		}
		if err != nil || len(answer.ToolCalls) == 0 {
			return err
		}
		results, more, err := s.call(ctx, answer.ToolCalls)
		s.messages = append(s.messages, results...)
		if !more {
			return err
		}
	}
	return fmt.Errorf("the model still calls functions after %d answers; ask again to go on", maxAnswers)
}

// answerOnce prints the answer to the conversation, whose last question is prompt.
func (s *session) answerOnce(ctx context.Context, prompt string) (chat.Message, error) {
	out, flush := terminal.Breaking(s.app.out)
	if out != s.app.out {
		out = &terminal.PlainWriter{W: out}
	}
	var p engine.Prompt
	if s.model.Kind == engine.KindCompletion {
		// No chat template: the prompt is completed as raw text.
		p.Text = prompt
		fmt.Fprint(out, prompt)
	} else {
		if s.system != "" {
			p.Messages = append(p.Messages, chat.Message{Role: chat.RoleSystem, Text: s.system})
		}
		p.Messages = append(p.Messages, s.messages...)
		p.AutoShorten = true
	}
	h := printer{out: out, answer: chat.Message{Role: chat.RoleAssistant}}
	err := s.ask(ctx, p, &h)
	if bad := h.end(err); err == nil {
		err = bad
	}
	if bad := flush(); err == nil {
		err = bad
	}
	return h.answer, err
}

// ask generates the answer to p.
func (s *session) ask(ctx context.Context, p engine.Prompt, h *printer) error {
	r := engine.GenerateRequest{Prompt: p}
	s.options.apply(&r, s.lease.Defaults())
	for ev, err := range s.lease.Generate(ctx, r) {
		if err != nil {
			return err
		}
		if ev.Type == engine.Done {
			s.last = ev
		}
		if err := h.event(ev); err != nil {
			return err
		}
	}
	return nil
}

// A printer prints an answer as it comes, and keeps it.
type printer struct {
	out    io.Writer
	answer chat.Message

	text, thought, arguments strings.Builder

	call   chat.Call
	thinks bool // the text printed last is thinking
	open   bool // its line is not ended
}

func (h *printer) print(text string) error {
	if text == "" {
		return nil
	}
	h.open = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(h.out, text)
	return err
}

// endLine ends the line that was printed last.
func (h *printer) endLine() error {
	if !h.open {
		return nil
	}
	return h.print("\n")
}

func (h *printer) event(ev engine.Event) error {
	switch ev.Type {
	case engine.ReasoningDelta:
		h.thinks = true
		h.thought.WriteString(ev.Text)
		return h.print(ev.Text)
	case engine.Delta:
		h.text.WriteString(ev.Text)
		if h.thinks && ev.Text != "" {
			h.thinks = false
			ev.Text = "\n\n" + strings.TrimLeft(ev.Text, "\n")
		}
		return h.print(ev.Text)
	case engine.CallStart:
		h.call = chat.Call{ID: ev.CallID, Name: ev.Name}
		h.arguments.Reset()
	case engine.CallDelta:
		h.arguments.WriteString(ev.Text)
	case engine.CallEnd:
		h.call.Arguments = h.arguments.String()
		h.answer.ToolCalls = append(h.answer.ToolCalls, h.call)
		if err := h.endLine(); err != nil {
			return err
		}
		return showCall(h.out, h.call)
	}
	return nil
}

// end ends an answer that may have failed: its text is kept, its calls are not.
func (h *printer) end(failure error) error {
	h.answer.Text = h.text.String()
	if failure != nil {
		h.answer.ToolCalls = nil
	}
	calls := len(h.answer.ToolCalls) > 0
	if calls { // else thinking is no part of the conversation
		h.answer.Reasoning, h.answer.NoContent = h.thought.String(), h.answer.Text == ""
	}
	h.open = h.open || failure == nil && h.answer.Text == "" && !calls
	return h.endLine()
}
