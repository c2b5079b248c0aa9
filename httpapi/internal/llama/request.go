package llama

import (
	"math"
	"time"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// A request is a body of either endpoint, checked.
type request struct {
	model    string
	prompts  []engine.EmbedInput
	texts    []string // of the prompts, for the answer
	fill     *engine.InfillRequest
	sampling ask.Sampling
	none     bool // only the prompt is read
	stream   bool
	tokens   bool          // their ids are in the answer
	probs    int           // alternatives of each token; 0 is none
	limit    time.Duration // of generating, once there is a line; 0 is none
	fields   []string      // of the answer; nil is all
}

// others are fields of llama-server's own endpoints without a counterpart here.
var others = []ask.Other{{Name: "n_indent", Off: 0.0}, {Name: "post_sampling_probs", Off: false}}

// unused are fields without effect here: about slots and caches, which are managed
// automatically, and about sampling methods that are off.
var unused = []string{"n_keep", "n_discard", "id_slot", "n_cache_reuse", "t_max_prompt_ms", "sse_ping_interval", "penalize_nl",
	"mirostat_tau", "mirostat_eta", "dynatemp_exponent", "xtc_threshold", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers",
	"user", "api_key"}

// read reads the fields that both endpoints share.
func (a api) read(c *server.Call, o *body.Object) *request {
	r := &request{
		model:    o.Str("model"),
		sampling: ask.ReadSampling(c, o),
		stream:   o.Boolean("stream", false),
		tokens:   o.Boolean("return_tokens", false),
		probs:    int(o.Integer("n_probs", 0, 0, server.MostLogprobs)),
		limit:    time.Duration(o.Integer("t_max_predict_ms", 0, math.MinInt32, math.MaxInt32)) * time.Millisecond,
	}
	r.tokens = r.tokens || r.stream
	s := &r.sampling
	s.N = int(o.Integer("n", 1, 1, int64(a.Options.MaxN)))
	s.N = int(o.Integer("n_cmpl", int64(s.N), 1, int64(a.Options.MaxN)))
	if v, ok := o.Get("seed"); !ok || string(v.Raw) == "-1" || s.Seed == anySeed {
		s.Seed = uint64(uint32(ask.Random())) % anySeed // it is in the answer, and clients' numbers have 53 bits
	}
	s.MaxTokens = -1
	for _, name := range []string{"max_tokens", "n_predict"} { // the latter counts
		if n := o.Integer(name, -1, math.MinInt32, math.MaxInt32); n >= 0 {
			s.MaxTokens, r.none = int(n), n == 0
		}
	}
	if s.Constraint = ask.Schema(o, "json_schema"); s.Constraint == nil {
		s.Constraint = ask.Grammar(o, "grammar")
	} else if ask.Grammar(o, "grammar") != nil {
		o.Refuse(engine.CodeInvalidValue, "grammar", "json_schema and grammar both say what form the reply has; send only one of them")
	}
	ask.Samplers(c, o, s)
	ask.RefuseOthers(o, others)
	for _, name := range []string{"timings_per_token", "return_progress"} {
		if o.Boolean(name, false) {
			c.Warn(name + " has no effect: the last chunk tells the timings")
		}
	}
	for v := range o.Items("response_fields") {
		if len(r.fields) == maxFields {
			v.Invalid("is one too many; name at most %d", maxFields)
			break
		}
		r.fields = append(r.fields, v.Str())
	}
	o.Ignore(unused...)
	return r
}

// maxFields bounds the fields of an answer that are asked for by name.
const maxFields = 256
