package openai

import (
	"time"

	"quern/engine"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/turn"
)

type usage struct {
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	TotalTokens      int               `json:"total_tokens"`
	PromptDetails    promptDetails     `json:"prompt_tokens_details"`
	OutputDetails    completionDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

type completionDetails struct {
	ReasoningTokens int  `json:"reasoning_tokens"`
	Accepted        *int `json:"accepted_prediction_tokens,omitempty"` // with a prediction
	Rejected        *int `json:"rejected_prediction_tokens,omitempty"`
}

func newUsage(t *turn.Tally) *usage {
	details := completionDetails{ReasoningTokens: t.ReasoningTokens}
	if t.Predicted+t.Unpredicted > 0 {
		details.Accepted, details.Rejected = &t.Predicted, &t.Unpredicted
	}
	return &usage{
		PromptTokens: t.PromptTokens, CompletionTokens: t.OutputTokens, TotalTokens: t.PromptTokens + t.OutputTokens,
		PromptDetails: promptDetails{t.CachedTokens}, OutputDetails: details,
	}
}

type timings struct {
	QueueMS            float64 `json:"queue_ms"`
	LoadMS             float64 `json:"load_ms"`
	PromptMS           float64 `json:"prompt_ms"`
	PredictedMS        float64 `json:"predicted_ms"`
	PromptPerSecond    float64 `json:"prompt_per_second"`
	PredictedPerSecond float64 `json:"predicted_per_second"`
}

func newTimings(t *turn.Tally, load time.Duration) *timings {
	return &timings{
		QueueMS: millis(t.Timings.Queue), LoadMS: millis(load),
		PromptMS: millis(t.Timings.Prompt), PredictedMS: millis(t.Timings.Predict),
		PromptPerSecond:    perSecond(t.PromptTokens-t.CachedTokens, t.Timings.Prompt),
		PredictedPerSecond: perSecond(t.OutputTokens, t.Timings.Predict),
	}
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(int64(float64(n)/d.Seconds()*100+0.5)) / 100
}

// usageWanted is which events of a stream report token counts.
type usageWanted uint8

const (
	usageNever  usageWanted = iota
	usageAtEnd              // include_usage: the last, all others have null
	usageAlways             // vLLM's continuous_usage_stats: every one, as it stands
)

// streamOptions reads stream and stream_options.
func streamOptions(o *body.Object) (stream bool, u usageWanted) {
	stream = o.Boolean("stream", false)
	so := o.Object("stream_options")
	if so == nil {
		return stream, usageNever
	}
	if !stream {
		o.Refuse(engine.CodeInvalidValue, "stream_options", "stream_options is only allowed with \"stream\": true")
	}
	so.Ignore("include_obfuscation")
	always := so.Boolean("continuous_usage_stats", false)
	switch {
	case !so.Boolean("include_usage", false):
		return stream, usageNever
	case always:
		return stream, usageAlways
	}
	return stream, usageAtEnd
}

// millis is d for JSON, to a microsecond.
func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
