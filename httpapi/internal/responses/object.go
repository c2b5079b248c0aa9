package responses

import (
	"encoding/json"
	"time"

	"quern/engine"
	"quern/httpapi/internal/turn"
)

// An object is a response as clients see it. Slices and pointers in it are replaced, never
// changed, so that copies can be kept.
type object struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Created          int64             `json:"created_at"`
	Completed        *int64            `json:"completed_at"`
	Status           string            `json:"status"`
	Error            *failure          `json:"error"`
	Incomplete       *reason           `json:"incomplete_details"`
	Instructions     *string           `json:"instructions"`
	MaxOutputTokens  *int              `json:"max_output_tokens"`
	MaxToolCalls     *int              `json:"max_tool_calls"`
	Model            string            `json:"model"`
	Output           []kept            `json:"output"`
	Parallel         bool              `json:"parallel_tool_calls"`
	Previous         *string           `json:"previous_response_id"`
	Reasoning        reasoning         `json:"reasoning"`
	Store            bool              `json:"store"`
	Background       bool              `json:"background"`
	ServiceTier      string            `json:"service_tier"`
	Temperature      *float32          `json:"temperature"` // of the request, until the model's own is known
	TopP             *float32          `json:"top_p"`
	PresencePenalty  float32           `json:"presence_penalty"`
	FrequencyPenalty float32           `json:"frequency_penalty"`
	TopLogprobs      int               `json:"top_logprobs"`
	Text             textConfig        `json:"text"`
	ToolChoice       json.RawMessage   `json:"tool_choice"`
	Tools            []json.RawMessage `json:"tools"`
	Truncation       string            `json:"truncation"`
	Usage            *usage            `json:"usage"`
	Metadata         map[string]string `json:"metadata"`
	SafetyIdentifier *string           `json:"safety_identifier"`
	PromptCacheKey   *string           `json:"prompt_cache_key"`
}

type (
	failure struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	reason struct {
		Reason string `json:"reason"`
	}
	// Summaries are not made, whatever was asked for.
	reasoning struct {
		Effort  *string   `json:"effort"`
		Summary *struct{} `json:"summary"`
	}
	textConfig struct {
		Format    json.RawMessage `json:"format"`
		Verbosity string          `json:"verbosity,omitempty"`
	}
	usage struct {
		Input        int           `json:"input_tokens"`
		InputDetails inputDetails  `json:"input_tokens_details"`
		Output       int           `json:"output_tokens"`
		Details      outputDetails `json:"output_tokens_details"`
		Total        int           `json:"total_tokens"`
	}
	inputDetails struct {
		Cached int `json:"cached_tokens"`
		Write  int `json:"cache_write_tokens"` // always 0: caching a prompt is not charged
	}
	outputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	}
)

func newUsage(t turn.Tally) *usage {
	return &usage{
		Input: t.PromptTokens, InputDetails: inputDetails{Cached: t.CachedTokens},
		Output: t.OutputTokens, Details: outputDetails{t.ReasoningTokens}, Total: t.PromptTokens + t.OutputTokens,
	}
}

// drawn sets the sampling values in force, with the model's own defaults.
func (o *object) drawn(q *engine.GenerateRequest) {
	p := q.Sample
	o.Temperature, o.TopP = &p.Temperature, &p.TopP
	o.PresencePenalty, o.FrequencyPenalty = p.PresencePenalty, p.FrequencyPenalty
}

// end sets how the response ended.
func (o *object) end(status string) {
	o.Status = status
	if status == completed {
		now := time.Now().Unix()
		o.Completed = &now
	}
}
