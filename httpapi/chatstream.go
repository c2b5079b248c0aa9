package httpapi

import (
	"encoding/json"

	"quern/engine"
	"quern/engine/chat"
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
}

// A chatStream spells a generation as chat chunks.
type chatStream struct {
	head  chatHead
	n     int
	usage usageWanted
	probs bool
	top   int
	t     *tally
}

func newChatStream(info engine.ModelInfo, r *chatRequest, t *tally) *chatStream {
	return &chatStream{
		head: newHead("chatcmpl-", "chat.completion.chunk", info),
		n:    r.sampling.n, usage: r.usage, probs: r.logprobs, top: r.top, t: t,
	}
}

func (s *chatStream) chunk(w *eventWriter, c chunkChoice, truncated int) error {
	return w.event(chatChunk{chatHead: s.head, Choices: []chunkChoice{c}, Usage: s.usage.midway(s.t), Truncated: truncated})
}

// begin opens every choice with its role.
func (s *chatStream) begin(w *eventWriter) error {
	empty := ""
	for i := range s.n {
		if err := s.chunk(w, chunkChoice{Index: i, Delta: chunkDelta{Role: chat.RoleAssistant, Content: &empty}}, s.t.truncated); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatStream) item(w *eventWriter, it item) error {
	switch it.Type {
	case engine.Delta:
		if it.Text == "" && (!s.probs || len(it.Logprobs) == 0) {
			return nil
		}
		c := chunkChoice{Index: it.Index, Delta: chunkDelta{Content: &it.Text}}
		if s.probs {
			c.Logprobs = newChatLogprobs(it.Logprobs, s.top)
		}
		return s.chunk(w, c, 0)
	case engine.Finish:
		return s.chunk(w, chunkChoice{Index: it.Index, FinishReason: &it.Reason, StopReason: it.StopReason}, 0)
	}
	return nil
}

func (s *chatStream) end(w *eventWriter, t *tally) error {
	if s.usage == usageNever {
		return nil
	}
	return w.event(chatChunk{chatHead: s.head, Choices: []chunkChoice{}, Usage: t.usage(), Timings: t.report()})
}
