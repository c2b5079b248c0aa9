package ask

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"time"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/body"
)

// A Sampling says how a reply is drawn. Nil means not said.
type Sampling struct {
	N         int // sequences; 0 means 1
	MaxTokens int // 0 when not said, -1 for no limit
	MinTokens int
	Stop      []string
	StopIDs   []token.ID
	IgnoreEOS bool
	NoCache   bool
	KeepAlive *time.Duration

	Constraint *engine.Constraint // nil when any reply will do

	Temperature, TopP, MinP, TypicalP, RepeatPenalty *float32
	TopK, RepeatLastN                                *int
	FrequencyPenalty, PresencePenalty                float32
	Bias                                             map[token.ID]float32
	Seed                                             uint64
}

// Apply fills a request, with the model's own values where the client said nothing.
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

// What a request may stop at.
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

// Schema reads a JSON Schema, which vLLM's clients may send as a string.
func Schema(o *body.Object, name string) *engine.Constraint {
	v, ok := o.Get(name)
	if !ok {
		return nil
	}
	c := &engine.Constraint{Form: engine.FormSchema, Param: v.Path()}
	switch v.Kind() {
	case '"':
		c.Source = v.Str()
	case '{', 't', 'f':
		c.Source = string(v.Raw)
	default:
		v.Wrong("a JSON Schema, which is an object")
		return nil
	}
	return c
}
