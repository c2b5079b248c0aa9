package realtime

import (
	"encoding/json"

	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

// An object is JSON that is written once.
type object = map[string]any

var null = json.RawMessage("null")

// An event is what a server says. Fields that are nil or empty are left out.
type event struct {
	Type    string `json:"type"`
	EventID string `json:"event_id"`

	Session      any `json:"session,omitempty"`
	Conversation any `json:"conversation,omitempty"`
	Response     any `json:"response,omitempty"`
	Item         any `json:"item,omitempty"`
	Part         any `json:"part,omitempty"`
	Error        any `json:"error,omitempty"`

	Previous   any    `json:"previous_item_id,omitempty"` // an id, or null
	ResponseID string `json:"response_id,omitempty"`
	ID         string `json:"id,omitempty"` // of a segment
	ItemID     string `json:"item_id,omitempty"`
	Output     *int   `json:"output_index,omitempty"`
	Content    *int   `json:"content_index,omitempty"`
	CallID     string `json:"call_id,omitempty"`
	Name       string `json:"name,omitempty"`

	Delta      string  `json:"delta,omitempty"`
	Text       *string `json:"text,omitempty"`
	Transcript *string `json:"transcript,omitempty"`
	Arguments  *string `json:"arguments,omitempty"`
	Logprobs   any     `json:"logprobs,omitempty"`
	Usage      any     `json:"usage,omitempty"`

	AudioStart *int     `json:"audio_start_ms,omitempty"`
	AudioEnd   *int     `json:"audio_end_ms,omitempty"`
	Start      *float64 `json:"start,omitempty"` // seconds
	End        *float64 `json:"end,omitempty"`
	Speaker    *string  `json:"speaker,omitempty"`
}

// betaNames are the events that were called otherwise before the API was released; ""
// are those there were not.
var betaNames = map[string]string{
	"response.output_text.delta":             "response.text.delta",
	"response.output_text.done":              "response.text.done",
	"response.output_audio.delta":            "response.audio.delta",
	"response.output_audio.done":             "response.audio.done",
	"response.output_audio_transcript.delta": "response.audio_transcript.delta",
	"response.output_audio_transcript.done":  "response.audio_transcript.done",
	"conversation.item.added":                "conversation.item.created",
	"conversation.item.done":                 "",

	"conversation.item.input_audio_transcription.segment": "",
}

// betaTypes are the same of contents.
var betaTypes = map[string]string{"output_text": "text", "output_audio": "audio"}

// spell encodes the event, nil for one the client does not know.
func (e event) spell(beta bool) ([]byte, error) {
	if name, other := betaNames[e.Type]; other && beta {
		if name == "" {
			return nil, nil
		}
		e.Type = name
	}
	e.EventID = reqlog.NewID("event_")
	return server.Marshal(e)
}

// orNull is an id, or null.
func orNull(id string) any {
	if id == "" {
		return null
	}
	return id
}
