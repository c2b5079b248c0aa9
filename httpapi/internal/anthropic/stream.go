package anthropic

import (
	"encoding/json"

	"quern/engine"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// events is the framing of the dialect: each event has its type twice.
var events = stream.Framing{
	Mime: stream.ServerEvents.Mime, Before: stream.ServerEvents.Before, After: stream.ServerEvents.After,
	Idle: "event: ping\ndata: {\"type\": \"ping\"}\n\n", Fail: failed,
}

// The events of a stream.
type (
	messageStart struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}
	blockDelta struct {
		Type  string            `json:"type"`
		Index int               `json:"index"`
		Delta map[string]string `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	messageDelta struct {
		Type  string `json:"type"`
		Delta ending `json:"delta"`
		Usage any    `json:"usage"`
	}
	messageStop struct {
		Type string `json:"type"`
	}
	ending struct {
		Reason string  `json:"stop_reason"`
		Text   *string `json:"stop_sequence"`
	}
)

// A spelling spells a turn as the events of a message: blocks one after the other, each
// started, added to and stopped.
type spelling struct {
	out     *stream.Writer
	t       *turn.Tally
	message message
	hides   bool

	kind   string // of the open block; "" is none
	blocks int    // that were started
}

// Begin opens the message.
func (s *spelling) Begin() error {
	now := s.t.SoFar()
	s.message.Usage = newUsage(&now)
	return s.send("message_start", messageStart{"message_start", s.message})
}

func (s *spelling) send(kind string, v any) error { return s.out.Named(kind, v) }

// Event implements turn.Spelling.
func (s *spelling) Event(ev turn.Event) error {
	switch ev.Type {
	case engine.Delta:
		return s.add("text", ev.Text, textBlock{Type: "text"}, "text_delta", "text")
	case engine.ReasoningDelta:
		text := ev.Text
		if err := s.open("thinking", text, thinkingBlock{Type: "thinking"}); err != nil || s.hides || text == "" {
			return err
		}
		return s.delta("thinking_delta", "thinking", text)
	case engine.CallStart:
		return s.start("tool_use", useBlock{"tool_use", ev.CallID, ev.Name, json.RawMessage("{}")})
	case engine.CallDelta:
		return s.delta("input_json_delta", "partial_json", ev.Text)
	case engine.CallEnd:
		return s.stop()
	case engine.Finish:
		return s.finish(ev.Event)
	}
	return nil
}

// add adds text to the open block, which is of a kind.
func (s *spelling) add(kind, text string, empty any, delta, member string) error {
	if err := s.open(kind, text, empty); err != nil || text == "" {
		return err
	}
	return s.delta(delta, member, text)
}

// open starts a block for text, unless one of its kind is open or there is none.
func (s *spelling) open(kind, text string, empty any) error {
	if text == "" || s.kind == kind {
		return nil
	}
	return s.start(kind, empty)
}

func (s *spelling) start(kind string, empty any) error {
	if err := s.stop(); err != nil {
		return err
	}
	s.kind = kind
	s.blocks++
	return s.send("content_block_start", blockStart{"content_block_start", s.blocks - 1, empty})
}

func (s *spelling) delta(kind, member, text string) error {
	return s.send("content_block_delta", blockDelta{"content_block_delta", s.blocks - 1, map[string]string{"type": kind, member: text}})
}

// stop ends the open block, if there is one. Thinking ends with its signature.
func (s *spelling) stop() error {
	if s.kind == "" {
		return nil
	}
	if s.kind == "thinking" {
		if err := s.delta("signature_delta", "signature", ""); err != nil {
			return err
		}
	}
	s.kind = ""
	return s.send("content_block_stop", blockStop{"content_block_stop", s.blocks - 1})
}

// finish sends why the message ended, and its usage.
func (s *spelling) finish(end engine.Event) error {
	if err := s.stop(); err != nil {
		return err
	}
	reason, at := stopped(end)
	now := s.t.SoFar()
	u := newUsage(&now)
	var spelled any = struct {
		Output int `json:"output_tokens"`
	}{u.Output}
	if begun := s.message.Usage; u.Input != begun.Input || u.Cached != begun.Cached {
		spelled = u // the stream began before the prompt's usage was known
	}
	return s.send("message_delta", messageDelta{"message_delta", ending{reason, at}, spelled})
}

// End implements turn.Spelling.
func (s *spelling) End() error { return s.send("message_stop", messageStop{"message_stop"}) }
