package openai

import (
	"encoding/json"

	"quern/engine"
	"quern/engine/chat"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/turn"
)

var jsonNull = json.RawMessage("null")

// A chatChunk is one event of a streamed chat reply. It never has a member
// named error: openai-go takes its mere presence for a failure.
type chatChunk struct {
	chatHead
	Choices   []chunkChoice `json:"choices"`
	Usage     any           `json:"usage,omitempty"` // absent, null or *usage
	Timings   *timings      `json:"timings,omitempty"`
	Truncated int           `json:"truncated_messages,omitempty"`
}

type chunkChoice struct {
	Index        int           `json:"index"`
	Delta        chunkDelta    `json:"delta"`
	Logprobs     *chatLogprobs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	StopReason   any           `json:"stop_reason,omitempty"`
}

type chunkDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	shownThinking
	Calls []callDelta `json:"tool_calls,omitempty"`
}

// A callDelta is a piece of a call. The first has its id, type and name; all have the
// index and the function, without which clients break.
type callDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function functionDelta `json:"function"`
}

type functionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// A chatStream spells a turn as chat chunks.
type chatStream struct {
	*eventStream
	head  chatHead
	n     int
	probs bool
	top   int
	shows server.ReasoningField
}

func newChatStream(out *eventStream, info engine.ModelInfo, r *chatRequest) *chatStream {
	s := &chatStream{out, newHead("chatcmpl-", "chat.completion.chunk", info), r.Sampling.N, r.Logprobs, r.Top, r.shows}
	s.usage = r.usage
	s.counted = func(u *usage, t *timings) any {
		return chatChunk{chatHead: s.head, Choices: []chunkChoice{}, Usage: u, Timings: t}
	}
	return s
}

func (s *chatStream) chunk(c chunkChoice, truncated int) error {
	return s.out.Event(chatChunk{chatHead: s.head, Choices: []chunkChoice{c}, Usage: s.midway(), Truncated: truncated})
}

// Begin opens every choice with its role.
func (s *chatStream) Begin() error {
	empty := ""
	for i := range s.n {
		if err := s.chunk(chunkChoice{Index: i, Delta: chunkDelta{Role: chat.RoleAssistant, Content: &empty}}, s.t.Truncated); err != nil {
			return err
		}
	}
	return nil
}

// Event implements Spelling.
func (s *chatStream) Event(ev turn.Event) error {
	switch ev.Type {
	case engine.Delta:
		if ev.Text == "" && (!s.probs || len(ev.Logprobs) == 0) {
			return nil
		}
		c := chunkChoice{Index: ev.Index, Delta: chunkDelta{Content: &ev.Text}}
		if s.probs {
			c.Logprobs = newChatLogprobs(ev.Logprobs, s.top)
		}
		return s.chunk(c, 0)
	case engine.ReasoningDelta:
		if s.shows == reasoningHidden {
			return nil
		}
		return s.chunk(chunkChoice{Index: ev.Index, Delta: chunkDelta{shownThinking: showThinking(s.shows, ev.Text)}}, 0)
	case engine.CallStart:
		return s.call(ev.Index, callDelta{Index: ev.Call, ID: ev.CallID, Type: "function", Function: functionDelta{Name: ev.Name}})
	case engine.CallDelta:
		return s.call(ev.Index, callDelta{Index: ev.Call, Function: functionDelta{Arguments: ev.Text}})
	case engine.Finish:
		return s.chunk(chunkChoice{Index: ev.Index, FinishReason: &ev.Reason, StopReason: ev.StopReason}, 0)
	}
	return nil
}

func (s *chatStream) call(choice int, d callDelta) error {
	return s.chunk(chunkChoice{Index: choice, Delta: chunkDelta{Calls: []callDelta{d}}}, 0)
}
