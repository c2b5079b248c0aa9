package openai

import (
	"math"
	"strings"

	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// others are fields of chats and completions of llama-server without a counterpart here.
var others = []ask.Other{
	{Name: "post_sampling_probs", Off: false}, {Name: "n_indent", Off: 0.0}, {Name: "return_tokens", Off: false},
	{Name: "n_probs", Off: 0.0, Instead: "send logprobs"}, {Name: "n_cmpl", Off: 1.0, Instead: "send n"},
	{Name: "t_max_predict_ms", Off: 0.0, Instead: "bound the reply with max_tokens, or ask /completion"},
}

// idle are fields that change no reply here, though clients may expect a change.
var idle = []ask.Other{
	{Name: "store", Off: false, Instead: "chats and completions are not kept; /v1/responses keeps what it answers"},
	{Name: "verbosity", Off: []string{"medium"}, Instead: "models are not told how long to answer; say so in a message"},
	{Name: "web_search_options", Instead: "nothing is searched"}, {Name: "moderation", Instead: "nothing is moderated"},
	{Name: "timings_per_token", Off: false, Instead: "the end of a reply tells the timings"},
	{Name: "return_progress", Off: false, Instead: "the end of a reply tells the timings"},
}

// readSampling reads the fields; the limit on tokens is the endpoint's own.
func (a api) readSampling(c *server.Call, o *body.Object) ask.Sampling {
	s := ask.ReadSampling(c, o)
	ask.Samplers(c, o, &s)
	s.N = int(o.Integer("n", 1, 1, int64(a.Options.MaxN)))
	ask.RefuseOthers(o, others)
	ask.WarnOthers(c, o, idle)
	// Known, and without effect here.
	o.Ignore("user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
		"id_slot", "request_id")
	s.Constraint = readConstraint(o)
	s.Prediction = readPrediction(o)
	return s
}

// readPrediction reads the expected reply: a text, or parts that are text.
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
