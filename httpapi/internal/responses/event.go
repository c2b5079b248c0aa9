package responses

import "quern/httpapi/internal/ask"

// The events of a stream. Each begins with its type and its number, from 0.
type (
	head struct {
		Type   string `json:"type"`
		Number int    `json:"sequence_number"`
	}
	// A place is a content of an item.
	place struct {
		ItemID  string `json:"item_id"`
		Output  int    `json:"output_index"`
		Content int    `json:"content_index"`
	}
	responseEvent struct {
		head
		Response *object `json:"response"`
	}
	itemEvent struct {
		head
		Output int `json:"output_index"`
		Item   any `json:"item"`
	}
	partEvent struct {
		head
		place
		Part any `json:"part"`
	}
	textDelta struct {
		head
		place
		Delta    string        `json:"delta"`
		Logprobs []ask.Logprob `json:"logprobs"`
	}
	textDone struct {
		head
		place
		Text     string        `json:"text"`
		Logprobs []ask.Logprob `json:"logprobs"`
	}
	thoughtDelta struct {
		head
		place
		Delta string `json:"delta"`
	}
	thoughtDone struct {
		head
		place
		Text string `json:"text"`
	}
	argumentsDelta struct {
		head
		ItemID string `json:"item_id"`
		Output int    `json:"output_index"`
		Delta  string `json:"delta"`
	}
	argumentsDone struct {
		head
		ItemID    string `json:"item_id"`
		Output    int    `json:"output_index"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	errorEvent struct {
		head
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
	}
)
