package textgen

import (
	"context"
	"math"
	"slices"
	"sort"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/lm"
	"quern/engine/token"
)

// chatPrompt renders and encodes a conversation. With AutoShorten it drops the
// fewest of the oldest turns with which the rest fits, keeping system messages
// and the last user's turn.
//
// How many that are is guessed by length, at as many bytes a token as the last
// rendering had, and narrowed down until the rest fits and one turn more does
// not. Every third guess halves what is left (on a scale of magnitudes), so
// renderings are few, and few are much longer than the context.
func (m *Model) chatPrompt(ctx context.Context, p *engine.Prompt) ([]token.ID, int, *conversation, error) {
	c, err := m.converse(ctx, p)
	if err != nil {
		return nil, 0, nil, err
	}
	defer c.close()
	cuts := []int{0}
	if p.AutoShorten {
		cuts = append(cuts, turns(p.Messages)...)
	}
	var (
		weights  = restWeights(p.Messages, cuts)
		room     = m.room()
		rate     = 4.0 // bytes a token
		low      = -1  // too little is dropped at cuts up to low
		high     = len(cuts)
		ids      []token.ID // of the rest behind cuts[high]
		overlong lm.Size    // of that behind cuts[low]
	)
	for step := 1; low+1 < high; step++ {
		target := rate * float64(room)
		if step%3 == 0 {
			target = math.Sqrt(float64(weights[max(low, 0)]) * float64(weights[min(high, len(cuts)-1)]))
		}
		i := low + 1 + sort.Search(high-low-2, func(k int) bool { return float64(weights[low+1+k]) <= target })
		got, n, _, err := c.tokens(ctx, rest(p.Messages, cuts[i]), room)
		if err != nil {
			return nil, 0, nil, err
		}
		if n.Tokens > room {
			low, overlong = i, n
		} else {
			high, ids = i, got
		}
		measured := float64(weights[i]) / float64(max(n.Tokens, 1))
		if n.Least {
			measured = min(measured, rate/2)
		}
		rate = measured
	}
	if high == len(cuts) {
		return nil, 0, nil, m.TooLong(c.field, overlong)
	}
	return ids, len(p.Messages) - len(rest(p.Messages, cuts[high])), c, nil
}

// turns returns where the turns begin that may be the first: the messages of
// users but for the first message that is no system message.
func turns(list []chat.Message) (cuts []int) {
	first := slices.IndexFunc(list, isTurn)
	for i := first + 1; first >= 0 && i < len(list); i++ {
		if list[i].Role == chat.RoleUser {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

func isTurn(m chat.Message) bool { return m.Role != chat.RoleSystem }

// rest returns the messages from cut on and the system messages before.
func rest(list []chat.Message, cut int) []chat.Message {
	if cut == 0 {
		return list
	}
	kept := make([]chat.Message, 0, len(list)-cut+1)
	for _, m := range list[:cut] {
		if !isTurn(m) {
			kept = append(kept, m)
		}
	}
	return append(kept, list[cut:]...)
}

// messageWeight is the estimated bytes that templates print around a message.
const messageWeight = 32

// weightOf estimates the bytes of a message in a prompt.
func weightOf(m *chat.Message) int {
	n := messageWeight + len(m.Text) + len(m.Reasoning)
	for _, p := range m.Parts {
		n += len(p.Text)
	}
	for _, c := range m.ToolCalls {
		n += messageWeight + len(c.Name) + len(c.Arguments)
	}
	return n
}

func weigh(list []chat.Message) (n int) {
	for i := range list {
		n += weightOf(&list[i])
	}
	return n
}

// restWeights returns the weights of the rests behind cuts, which ascend.
func restWeights(list []chat.Message, cuts []int) []int {
	weights := make([]int, len(cuts))
	n := weigh(list)
	at := 0
	for k, cut := range cuts {
		for ; at < cut; at++ {
			if isTurn(list[at]) {
				n -= weightOf(&list[at])
			}
		}
		weights[k] = n
	}
	return weights
}
