package responses

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"quern/engine/chat"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

// The kinds of items.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemOutput    = "function_call_output"
	itemReference = "item_reference"
)

// prefixes begin the ids of items.
var prefixes = map[string]string{itemMessage: "msg_", itemReasoning: "rs_", itemCall: "fc_", itemOutput: "fco_"}

// Statuses of items and responses.
const (
	queued     = "queued"
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
	cancelled  = "cancelled"
)

// An item is a piece of a conversation.
type item struct {
	id, kind, status string

	role    string   // of a message
	parts   []part   // of a message
	summary []string // of thinking, as clients sent it: none is made here

	callID, name string // of calls and their outputs
	text         string // a call's arguments, an output, thinking
	sealed       bool   // thinking shows its text encoded
}

// A part is a content of a message.
type part struct {
	kind     string // input_text, output_text or refusal
	text     string
	logprobs []ask.Logprob
}

// newItem makes an item; id "" is a new one.
func newItem(id, kind string) *item {
	if id == "" {
		id = reqlog.NewID(prefixes[kind])
	}
	return &item{id: id, kind: kind, status: completed}
}

// Items in JSON. Members are in OpenAI's order.
type (
	messageItem struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	reasoningItem struct {
		ID        string     `json:"id"`
		Type      string     `json:"type"`
		Status    string     `json:"status"`
		Summary   []textPart `json:"summary"`
		Content   []textPart `json:"content"`
		Encrypted *string    `json:"encrypted_content,omitempty"`
	}
	callItem struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Status    string `json:"status"`
	}
	outputItem struct {
		ID     string `json:"id"`
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
		Status string `json:"status"`
	}
	textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	outputText struct {
		textPart
		Annotations []struct{}    `json:"annotations"`
		Logprobs    []ask.Logprob `json:"logprobs"`
	}
	refusalPart struct {
		Type    string `json:"type"`
		Refusal string `json:"refusal"`
	}
)

// spell is the item as clients see it.
func (it *item) spell() any {
	switch it.kind {
	case itemMessage:
		m := messageItem{it.id, it.kind, it.status, it.role, make([]any, len(it.parts))}
		for i := range it.parts {
			m.Content[i] = it.parts[i].spell()
		}
		return m
	case itemReasoning:
		r := reasoningItem{ID: it.id, Type: it.kind, Status: it.status, Summary: []textPart{}, Content: []textPart{}}
		for _, s := range it.summary {
			r.Summary = append(r.Summary, textPart{"summary_text", s})
		}
		if it.text != "" {
			r.Content = append(r.Content, textPart{"reasoning_text", it.text})
		}
		if it.sealed {
			text := seal(it.text)
			r.Encrypted = &text
		}
		return r
	case itemCall:
		return callItem{it.id, it.kind, it.callID, it.name, it.text, it.status}
	}
	return outputItem{it.id, it.kind, it.callID, it.text, it.status}
}

func (p *part) spell() any {
	switch p.kind {
	case "output_text":
		return outputText{textPart{p.kind, p.text}, []struct{}{}, orEmpty(p.logprobs)}
	case "refusal":
		return refusalPart{p.kind, p.text}
	}
	return textPart{p.kind, p.text}
}

// orEmpty makes nil an empty array in JSON.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// sealPrefix begins thinking that is encoded here. It is no secret, as the item's content
// has it in plain words; clients that only send encrypted_content back keep it so.
const sealPrefix = "quern1."

func seal(text string) string { return sealPrefix + base64.RawURLEncoding.EncodeToString([]byte(text)) }

// unseal is the inverse of seal.
func unseal(sealed string) (text string, ok bool) {
	code, ok := strings.CutPrefix(sealed, sealPrefix)
	if !ok {
		return "", false
	}
	b, err := base64.RawURLEncoding.DecodeString(code)
	return strings.ToValidUTF8(string(b), "\uFFFD"), err == nil
}

// keep encodes the item to be stored.
func (it *item) keep() kept {
	raw, _ := server.Marshal(it.spell()) // strings and numbers
	return kept{it.id, raw}
}

// messages spell items as a prompt.
func messages(instructions string, items []*item) []chat.Message {
	var c ask.Conversation
	if instructions != "" {
		c.Say(chat.Message{Role: chat.RoleSystem, Text: instructions})
	}
	for _, it := range items {
		switch it.kind {
		case itemMessage:
			m := chat.Message{Role: it.role}
			if m.Role == "developer" {
				m.Role = chat.RoleSystem
			}
			if len(it.parts) == 1 {
				m.Text = it.parts[0].text
			} else {
				for _, p := range it.parts {
					m.Parts = append(m.Parts, chat.Part{Text: p.text})
				}
			}
			c.Say(m)
		case itemReasoning:
			if it.text != "" {
				c.Think(it.text)
			}
		case itemCall:
			if it.status != incomplete { // one that was cut off is no call
				c.Call(chat.Call{ID: it.callID, Name: it.name, Arguments: it.text})
			}
		case itemOutput:
			c.Output(it.callID, it.text)
		}
	}
	return slices.Clip(c.Messages)
}

// A kept item is one as it is stored, and shown.
type kept struct {
	id  string
	raw json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (k kept) MarshalJSON() ([]byte, error) { return k.raw, nil }

// UnmarshalJSON implements json.Unmarshaler.
func (k *kept) UnmarshalJSON(b []byte) error {
	var named struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(b, &named)
	k.id, k.raw = named.ID, bytes.Clone(b)
	return err
}
