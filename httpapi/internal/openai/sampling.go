package openai

import (
	"math"
	"strconv"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// readSampling reads the fields; the limit on tokens is the endpoint's own.
func (a api) readSampling(o *body.Object) ask.Sampling {
	s := ask.Sampling{
		N:             int(o.Integer("n", 1, 1, int64(a.Options.MaxN))),
		MinTokens:     int(o.Integer("min_tokens", 0, 0, math.MaxInt32)),
		IgnoreEOS:     o.Boolean("ignore_eos", false),
		NoCache:       !o.Boolean("cache_prompt", true),
		Temperature:   o.Number("temperature", 0, 2),
		TopP:          o.Number("top_p", 0, 1),
		MinP:          o.Number("min_p", 0, 1),
		TypicalP:      o.Number("typical_p", 0, 1),
		RepeatPenalty: ask.Positive(o, "repeat_penalty"),
		Seed:          ask.Seed(o),
		Bias:          readBias(o),
	}
	if p := ask.Positive(o, "repetition_penalty"); s.RepeatPenalty == nil {
		s.RepeatPenalty = p
	}
	if o.Has("top_k") {
		k := int(max(o.Integer("top_k", 0, -1, math.MaxInt32), 0)) // -1 is vLLM's off
		s.TopK = &k
	}
	if o.Has("repeat_last_n") {
		n := int(o.Integer("repeat_last_n", 0, -1, math.MaxInt32))
		s.RepeatLastN = &n
	}
	if p := o.Number("frequency_penalty", -2, 2); p != nil {
		s.FrequencyPenalty = *p
	}
	if p := o.Number("presence_penalty", -2, 2); p != nil {
		s.PresencePenalty = *p
	}
	s.Stop = ask.Stop(o, "stop")
	if v, ok := o.Get("stop_token_ids"); ok {
		s.StopIDs = v.IDs()
	}
	// Known, and without effect here.
	o.Ignore("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
		"prompt_cache_retention", "verbosity", "prediction", "web_search_options", "moderation")
	s.KeepAlive = body.KeepAlive(o)
	s.Constraint = readConstraint(o)
	return s
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

func readBias(o *body.Object) map[token.ID]float32 {
	v, ok := o.Get("logit_bias")
	if !ok {
		return nil
	}
	bias := v.Object()
	if bias == nil {
		return nil
	}
	out := map[token.ID]float32{}
	for v := range bias.Members() {
		id, err := strconv.ParseInt(v.Name, 10, 32)
		switch {
		case string(v.Raw) == "null":
			delete(out, token.ID(id))
			continue
		case err != nil || id < 0 || strconv.FormatInt(id, 10) != v.Name:
			o.Refuse(engine.CodeInvalidValue, "logit_bias", "logit_bias needs decimal token ids as keys, got %.40q", v.Name)
			return nil
		}
		out[token.ID(id)] = float32(v.Number(-100, 100))
	}
	return out
}
