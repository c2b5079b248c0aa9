package openai

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/body"
)

// A sampling is what chat and completions requests say alike about how a reply
// is drawn. Nil means not said.
type sampling struct {
	n         int
	maxTokens int // 0 when not said, -1 for no limit
	minTokens int
	stop      []string
	stopIDs   []token.ID
	ignoreEOS bool
	noCache   bool
	keepAlive *time.Duration

	constraint *engine.Constraint // nil when any reply will do

	temperature, topP, minP, typicalP, repeatPenalty *float32
	topK, repeatLastN                                *int
	frequencyPenalty, presencePenalty                float32
	bias                                             map[token.ID]float32
	seed                                             uint64
}

// readSampling reads the fields; the limit on tokens is the endpoint's own.
func (a api) readSampling(o *body.Object) sampling {
	s := sampling{
		n:             int(o.Integer("n", 1, 1, int64(a.Options.MaxN))),
		minTokens:     int(o.Integer("min_tokens", 0, 0, math.MaxInt32)),
		ignoreEOS:     o.Boolean("ignore_eos", false),
		noCache:       !o.Boolean("cache_prompt", true),
		temperature:   o.Number("temperature", 0, 2),
		topP:          o.Number("top_p", 0, 1),
		minP:          o.Number("min_p", 0, 1),
		typicalP:      o.Number("typical_p", 0, 1),
		repeatPenalty: positive(o, "repeat_penalty"),
		seed:          readSeed(o),
		bias:          readBias(o),
	}
	if p := positive(o, "repetition_penalty"); s.repeatPenalty == nil {
		s.repeatPenalty = p
	}
	if o.Has("top_k") {
		k := int(max(o.Integer("top_k", 0, -1, math.MaxInt32), 0)) // -1 is vLLM's off
		s.topK = &k
	}
	if o.Has("repeat_last_n") {
		n := int(o.Integer("repeat_last_n", 0, -1, math.MaxInt32))
		s.repeatLastN = &n
	}
	if p := o.Number("frequency_penalty", -2, 2); p != nil {
		s.frequencyPenalty = *p
	}
	if p := o.Number("presence_penalty", -2, 2); p != nil {
		s.presencePenalty = *p
	}
	s.stop = readStop(o)
	if v, ok := o.Get("stop_token_ids"); ok {
		s.stopIDs = v.IDs()
	}
	// Known, and without effect here.
	o.Ignore("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
		"prompt_cache_retention", "verbosity", "prediction", "web_search_options", "moderation")
	s.keepAlive = body.KeepAlive(o)
	s.constraint = readConstraint(o)
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

func positive(o *body.Object, name string) *float32 {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	x := float32(v.Number(-math.MaxFloat64, math.MaxFloat64))
	if !(x > 0) || math.IsInf(float64(x), 0) {
		v.Invalid("must be a number greater than 0, got %.40s", v.Raw)
	}
	return &x
}

func readSeed(o *body.Object) uint64 {
	if v, ok := o.Get("seed"); ok {
		if n := v.Integer(math.MinInt64, math.MaxInt64); n >= 0 {
			return uint64(n)
		}
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
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

// What a request may stop at.
const (
	maxStops     = 16
	maxStopBytes = 256
)

func readStop(o *body.Object) []string {
	v, ok := o.Get("stop")
	if !ok {
		return nil
	}
	var stop []string
	one := func(v body.Value) {
		s := v.Str()
		if len(s) == 0 || len(s) > maxStopBytes {
			v.Invalid("must be 1 to %d bytes long, got %d", maxStopBytes, len(s))
		}
		stop = append(stop, s)
	}
	switch v.Kind() {
	case '"':
		one(v)
	case '[':
		for item := range v.Items() {
			if len(stop) == maxStops {
				v.Invalid("must have at most %d entries", maxStops)
				break
			}
			one(item)
		}
	default:
		v.Wrong("a string or an array of strings")
	}
	return stop
}

// apply fills a request, with the model's own values where the client said
// nothing.
func (s sampling) apply(r *engine.GenerateRequest, d engine.Sampling) {
	r.N = s.n
	r.MaxTokens = max(s.maxTokens, 0)
	r.MinTokens = s.minTokens
	r.Stop = s.stop
	r.StopIDs = s.stopIDs
	r.IgnoreEOS = s.ignoreEOS
	r.Constraint = s.constraint
	r.KeepAlive = s.keepAlive
	r.NoPromptCache = s.noCache

	p := &r.Sample
	p.Temperature = or(s.temperature, or(d.Temperature, engine.DefaultTemperature))
	p.TopP = or(s.topP, or(d.TopP, 1))
	p.TopK = or(s.topK, or(d.TopK, 0))
	p.MinP = or(s.minP, or(d.MinP, 0))
	p.TypicalP = or(s.typicalP, 0)
	p.RepeatPenalty = or(s.repeatPenalty, or(d.RepeatPenalty, 1))
	if s.repeatLastN != nil {
		p.RepeatLastN = *s.repeatLastN
		if p.RepeatLastN == 0 {
			p.RepeatPenalty = 1 // nothing to look at; 0 means 64 to the sampler
		}
	}
	p.FrequencyPenalty = s.frequencyPenalty
	p.PresencePenalty = s.presencePenalty
	p.Bias = s.bias
	p.Seed = s.seed
	if s.topP != nil && *s.topP == 0 {
		p.Temperature = 0 // no mass at all: only the likeliest token is left
	}
}

func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}
