package httpapi

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"quern/engine"
	"quern/engine/token"
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

	temperature, topP, minP, typicalP, repeatPenalty *float32
	topK, repeatLastN                                *int
	frequencyPenalty, presencePenalty                float32
	bias                                             map[token.ID]float32
	seed                                             uint64
}

// readSampling reads the fields; the limit on tokens is the endpoint's own.
func (a *API) readSampling(o *object) sampling {
	s := sampling{
		n:             int(o.integer("n", 1, 1, int64(a.o.MaxN))),
		minTokens:     int(o.integer("min_tokens", 0, 0, math.MaxInt32)),
		ignoreEOS:     o.boolean("ignore_eos", false),
		noCache:       !o.boolean("cache_prompt", true),
		temperature:   o.number("temperature", 0, 2),
		topP:          o.number("top_p", 0, 1),
		minP:          o.number("min_p", 0, 1),
		typicalP:      o.number("typical_p", 0, 1),
		repeatPenalty: positive(o, "repeat_penalty"),
		seed:          readSeed(o),
		bias:          readBias(o),
	}
	if p := positive(o, "repetition_penalty"); s.repeatPenalty == nil {
		s.repeatPenalty = p
	}
	if o.has("top_k") {
		k := int(max(o.integer("top_k", 0, -1, math.MaxInt32), 0)) // -1 is vLLM's off
		s.topK = &k
	}
	if o.has("repeat_last_n") {
		n := int(o.integer("repeat_last_n", 0, -1, math.MaxInt32))
		s.repeatLastN = &n
	}
	if p := o.number("frequency_penalty", -2, 2); p != nil {
		s.frequencyPenalty = *p
	}
	if p := o.number("presence_penalty", -2, 2); p != nil {
		s.presencePenalty = *p
	}
	s.stop = readStop(o)
	for v := range o.items("stop_token_ids") {
		s.stopIDs = append(s.stopIDs, token.ID(v.integer(0, math.MaxInt32)))
	}
	// Known, and without effect here.
	o.ignore("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options",
		"prompt_cache_retention", "verbosity", "prediction", "web_search_options", "moderation")
	s.keepAlive = readKeepAlive(o)
	// These ask for a reply of a certain form. A reply of any form would be
	// worse than none.
	for _, name := range []string{"grammar", "json_schema", "regex", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"} {
		if o.has(name) {
			o.p.set(fail(codeUnsupported, name, "%s is not supported yet; leave it out and check the reply yourself", name))
		}
	}
	return s
}

// readKeepAlive reads how long the model stays loaded after the request: seconds
// as a number, or a duration as "5m". Negative means for ever, 0 not at all.
func readKeepAlive(o *object) *time.Duration {
	v, ok := o.get("keep_alive")
	if !ok {
		return nil
	}
	var d time.Duration
	if len(v.raw) > 0 && v.raw[0] == '"' {
		var err error
		if d, err = time.ParseDuration(v.str()); err != nil {
			v.invalid("must be seconds or a duration such as \"5m\", got %.40s", v.raw)
			return nil
		}
	} else {
		d = time.Duration(v.number(-1, 1e9) * float64(time.Second))
	}
	return &d
}

// maxTokensField reads a limit of at least lo, or -1 for as many as the context holds,
// as llama.cpp's clients write it. More than there is room for is no mistake.
func maxTokensField(o *object, name string, lo int64) (n int, said bool) {
	v, ok := o.get(name)
	if !ok {
		return 0, false
	}
	x := v.integer(math.MinInt64, math.MaxInt64)
	if x < lo && x != -1 && o.p.err == nil {
		v.invalid("must be at least %d, or -1 for as many as the context holds, got %d", lo, x)
	}
	return int(min(x, math.MaxInt32)), true
}

func positive(o *object, name string) *float32 {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	x := float32(v.number(-math.MaxFloat64, math.MaxFloat64))
	if !(x > 0) || math.IsInf(float64(x), 0) {
		v.invalid("must be a number greater than 0, got %.40s", v.raw)
	}
	return &x
}

func readSeed(o *object) uint64 {
	if v, ok := o.get("seed"); ok {
		if n := v.integer(math.MinInt64, math.MaxInt64); n >= 0 {
			return uint64(n)
		}
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func readBias(o *object) map[token.ID]float32 {
	v, ok := o.get("logit_bias")
	if !ok {
		return nil
	}
	bias := v.object()
	if bias == nil {
		return nil
	}
	out := make(map[token.ID]float32, len(bias.fields))
	for key := range bias.fields {
		v, ok := bias.get(key)
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 || strconv.FormatInt(id, 10) != key {
			o.p.set(fail(codeInvalidValue, "logit_bias", "logit_bias needs decimal token ids as keys, got %.40q", key))
			return nil
		}
		out[token.ID(id)] = float32(v.number(-100, 100))
	}
	return out
}

func readStop(o *object) []string {
	v, ok := o.get("stop")
	if !ok {
		return nil
	}
	var stop []string
	one := func(v value) {
		s := v.str()
		if len(s) == 0 || len(s) > maxStopBytes {
			v.invalid("must be 1 to %d bytes long, got %d", maxStopBytes, len(s))
		}
		stop = append(stop, s)
	}
	switch v.kind() {
	case '"':
		one(v)
	case '[':
		for item := range v.items() {
			if len(stop) == maxStops {
				v.invalid("must have at most %d entries", maxStops)
				break
			}
			one(item)
		}
	default:
		v.wrong("a string or an array of strings")
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

// usageWanted says which events of a stream report token counts.
type usageWanted uint8

const (
	usageNever  usageWanted = iota
	usageAtEnd              // include_usage: the last, all others have null
	usageAlways             // vLLM's continuous_usage_stats: every one, as it stands
)

// streamOptions reads stream and stream_options.
func streamOptions(o *object) (stream bool, u usageWanted) {
	stream = o.boolean("stream", false)
	so := o.object("stream_options")
	if so == nil {
		return stream, usageNever
	}
	if !stream {
		o.p.set(fail(codeInvalidValue, "stream_options", "stream_options is only allowed with \"stream\": true"))
	}
	so.ignore("include_obfuscation")
	always := so.boolean("continuous_usage_stats", false)
	switch {
	case !so.boolean("include_usage", false):
		return stream, usageNever
	case always:
		return stream, usageAlways
	}
	return stream, usageAtEnd
}

// midway is what an event before the last has in its place for usage.
func (u usageWanted) midway(t *tally) any {
	switch u {
	case usageAtEnd:
		return jsonNull
	case usageAlways:
		return t.soFar()
	}
	return nil
}

// millis is d for JSON, to a microsecond.
func millis(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
