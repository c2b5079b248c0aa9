package openai

import (
	"math"
	"strings"

	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// readSampling reads the fields; the limit on tokens is the endpoint's own.
func (a api) readSampling(o *body.Object) ask.Sampling {
	s := ask.ReadSampling(o)
	s.N = int(o.Integer("n", 1, 1, int64(a.Options.MaxN)))
	// Known, and without effect here.
	o.Ignore("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
		"prompt_cache_retention", "verbosity", "web_search_options", "moderation")
	s.Constraint = readConstraint(o)
	s.Prediction = readPrediction(o)
	return s
}

// readPrediction reads what the reply is thought to be: a text, or parts that are text.
func readPrediction(o *body.Object) string {
	p := o.Object("prediction")
	if p == nil {
		return ""
	}
	p.OneOf("type", "content")
	v, ok := p.Need("content")
	if !ok || v.Kind() != '[' {
		return p.Str("content")
	}
	var text strings.Builder
	for part := range v.Items() {
		if x := part.Object(); x != nil {
			x.OneOf("type", "text")
			text.WriteString(x.Str("text"))
		}
	}
	return text.String()
}

// maxTokensField reads a limit of at least lo, or -1 for as many as the context holds,
// as llama.cpp's clients write it. More than there is room for is no mistake.
func maxTokensField(o *body.Object, name string, lo int64) (n int, said bool) {
	v, ok := o.Get(name)
	if !ok {
		return 0, false
	}
	x := v.Integer(math.MinInt64, math.MaxInt64)
	if x < lo && x != -1 && o.Ok() {
		v.Invalid("must be at least %d, or -1 for as many as the context holds, got %d", lo, x)
	}
	return int(min(x, math.MaxInt32)), true
}
