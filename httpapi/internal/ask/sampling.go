package ask

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A Sampling has the sampling fields of a request. Nil: not given.
type Sampling struct {
	N         int // sequences; 0 means 1
	MaxTokens int // 0 when not given, -1 for no limit
	MinTokens int
	Stop      []string
	StopIDs   []token.ID
	IgnoreEOS bool
	NoCache   bool
	KeepAlive *time.Duration

	Prediction string // the expected reply
	MaxDraft   int    // as engine.GenerateRequest's

	Constraint *engine.Constraint // nil when any reply will do

	Temperature, TopP, MinP, TypicalP, RepeatPenalty *float32
	TopK, RepeatLastN                                *int
	FrequencyPenalty, PresencePenalty                float32
	Bias                                             map[token.ID]float32
	Seed                                             uint64
}

// ReadSampling reads the sampling fields that dialects of OpenAI's share. The
// limit on tokens, n and the form are the endpoint's own.
func ReadSampling(c *server.Call, o *body.Object) Sampling {
	RefuseSampling(c, o)
	s := Sampling{
		MinTokens:     int(o.Integer("min_tokens", 0, 0, math.MaxInt32)),
		IgnoreEOS:     o.Boolean("ignore_eos", false),
		NoCache:       !o.Boolean("cache_prompt", true) || o.Str("cache_salt") != "", // cache_salt, of vLLM, asks for a cache that others cannot share
		Temperature:   o.Number("temperature", 0, 2),
		TopP:          o.Number("top_p", 0, 1),
		MinP:          o.Number("min_p", 0, 1),
		TypicalP:      o.Number("typical_p", 0, 1),
		RepeatPenalty: Positive(o, "repeat_penalty"),
		Seed:          Seed(o),
		Bias:          readBias(o),
		Stop:          Stop(o, "stop"),
		KeepAlive:     body.KeepAlive(o),
	}
	if o.Has("speculative.n_max") { // llama-server's
		if s.MaxDraft = int(o.Integer("speculative.n_max", 0, 0, math.MaxInt32)); s.MaxDraft == 0 {
			s.MaxDraft = -1
		}
	}
	if p := Positive(o, "repetition_penalty"); s.RepeatPenalty == nil {
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
	if v, ok := o.Get("stop_token_ids"); ok {
		s.StopIDs = v.IDs()
	}
	return s
}

// Apply fills a request, with the model's own values where the client gave none.
func (s Sampling) Apply(r *engine.GenerateRequest, d engine.Sampling) {
	r.N = max(s.N, 1)
	r.MaxTokens = max(s.MaxTokens, 0)
	r.MinTokens = s.MinTokens
	r.Stop = s.Stop
	r.StopIDs = s.StopIDs
	r.IgnoreEOS = s.IgnoreEOS
	r.Constraint = s.Constraint
	r.KeepAlive = s.KeepAlive
	r.NoPromptCache = s.NoCache
	r.Prediction, r.MaxDraft = s.Prediction, s.MaxDraft

	p := &r.Sample
	p.Temperature = or(s.Temperature, or(d.Temperature, engine.DefaultTemperature))
	p.TopP = or(s.TopP, or(d.TopP, 1))
	p.TopK = or(s.TopK, or(d.TopK, 0))
	p.MinP = or(s.MinP, or(d.MinP, 0))
	p.TypicalP = or(s.TypicalP, 0)
	p.RepeatPenalty = or(s.RepeatPenalty, or(d.RepeatPenalty, 1))
	if s.RepeatLastN != nil {
		p.RepeatLastN = *s.RepeatLastN
		if p.RepeatLastN == 0 {
			p.RepeatPenalty = 1 // nothing to look at; 0 means 64 to the sampler
		}
	}
	p.FrequencyPenalty = s.FrequencyPenalty
	p.PresencePenalty = s.PresencePenalty
	p.Bias = s.Bias
	p.Seed = s.Seed
	if s.TopP != nil && *s.TopP == 0 {
		p.Temperature = 0 // no mass at all: only the likeliest token is left
	}
}

func or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}

// Positive reads a number greater than 0; nil when absent.
func Positive(o *body.Object, name string) *float32 {
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

// Seed reads seed; one that is absent or negative is drawn.
func Seed(o *body.Object) uint64 {
	if v, ok := o.Get("seed"); ok {
		if n := v.Integer(math.MinInt64, math.MaxInt64); n >= 0 {
			return uint64(n)
		}
	}
	return Random()
}

// Random draws a seed.
func Random() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// readBias reads the bias of logits: OpenAI's object, or llama-server's list of pairs.
func readBias(o *body.Object) map[token.ID]float32 {
	v, ok := o.Get("logit_bias")
	if !ok {
		return nil
	}
	if v.Kind() == '[' {
		return biasPairs(v)
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

// biasPairs reads pairs of a token and its bias, false for never.
func biasPairs(v body.Value) map[token.ID]float32 {
	out := map[token.ID]float32{}
	for pair := range v.Items() {
		var parts []body.Value
		for item := range pair.Items() {
			if len(parts) == 2 {
				pair.Invalid("must be a token id and a number")
				return nil
			}
			parts = append(parts, item)
		}
		if len(parts) != 2 || parts[0].Kind() != '0' {
			pair.Invalid("must be a token id and a number; texts are not supported, so send their tokens")
			return nil
		}
		id := token.ID(parts[0].Integer(0, math.MaxInt32))
		if string(parts[1].Raw) == "false" {
			out[id] = -100
			continue
		}
		out[id] = float32(parts[1].Number(-100, 100))
	}
	return out
}

// Limits of stop texts.
const (
	maxStops     = 16
	maxStopBytes = 256
)

// Stop reads the texts a reply ends before: a string, or an array of them.
func Stop(o *body.Object, name string) []string {
	v, ok := o.Get(name)
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

// RawVectors reads embd_normalize, llama-server's norm of vectors: whether they are to be as
// long as the model makes them.
func RawVectors(o *body.Object) bool {
	switch n := o.Integer("embd_normalize", 2, -1, math.MaxInt32); n {
	case -1:
		return true
	case 2:
	default:
		o.Refuse(engine.CodeUnsupportedParam, "embd_normalize", "embd_normalize: %d is not supported; vectors have the Euclidean length 1 (2), or the model's own (-1)", n)
	}
	return false
}
