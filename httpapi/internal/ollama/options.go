package ollama

import (
	"math"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
)

// machine are options about the machine that runs the model, which its operator configures.
var machine = []string{"num_batch", "num_gpu", "main_gpu", "num_thread", "use_mmap", "use_mlock", "low_vram", "numa", "f16_kv", "vocab_only",
	"num_keep", "penalize_newline", "draft_num_predict", "mirostat_tau", "mirostat_eta"}

// otherDraws are sampling methods that are not supported here.
var otherDraws = []ask.Other{{Name: "mirostat", Off: 0.0}, {Name: "tfs_z", Off: 1.0}}

// readOptions reads the object options into s. It returns the context that is asked for, 0
// where none is.
func readOptions(o *body.Object, s *ask.Sampling) (context int) {
	s.N, s.MaxTokens = 1, -1
	p := o.Object("options")
	if p == nil {
		s.Seed = ask.Seed(o)
		return 0
	}
	if n := p.Integer("num_predict", -1, math.MinInt32, math.MaxInt32); n > 0 {
		s.MaxTokens = int(n)
	}
	s.Seed = ask.Seed(p)
	s.Temperature = p.Number("temperature", 0, 2)
	s.TopP = p.Number("top_p", 0, 1)
	s.MinP = p.Number("min_p", 0, 1)
	s.TypicalP = p.Number("typical_p", 0, 1)
	s.RepeatPenalty = ask.Positive(p, "repeat_penalty")
	if p.Has("top_k") {
		s.TopK = new(int(max(p.Integer("top_k", 0, -1, math.MaxInt32), 0)))
	}
	if p.Has("repeat_last_n") {
		s.RepeatLastN = new(int(p.Integer("repeat_last_n", 0, -1, math.MaxInt32)))
	}
	if x := p.Number("presence_penalty", -2, 2); x != nil {
		s.PresencePenalty = *x
	}
	if x := p.Number("frequency_penalty", -2, 2); x != nil {
		s.FrequencyPenalty = *x
	}
	s.Stop = ask.Stop(p, "stop")
	ask.RefuseOthers(p, otherDraws)
	p.Ignore(machine...)
	return int(p.Integer("num_ctx", 0, 1, math.MaxInt32))
}

// readThink reads think: whether to, or how hard.
func readThink(o *body.Object, budgets map[string]int, p *engine.Prompt) *engine.ReasoningBudget {
	var t ask.Thinking
	if v, ok := o.Get("think"); ok {
		if v.Kind() == '"' {
			t.Effort(o.OneOf("think", "low", "medium", "high"))
		} else {
			t.Enable(v.Boolean())
		}
	}
	return t.Apply(budgets, p)
}

// readFormat reads format: "json", or a schema.
func readFormat(o *body.Object) *engine.Constraint {
	v, ok := o.Get("format")
	switch {
	case !ok:
		return nil
	case v.Kind() == '{':
		return ask.Schema(o, "format")
	case v.Kind() != '"':
		v.Wrong("\"json\" or a JSON Schema")
		return nil
	}
	switch name := v.Str(); name {
	case "json":
		return &engine.Constraint{Form: engine.FormObject, Param: v.Path()}
	case "":
	default:
		v.Invalid("must be \"json\" or a JSON Schema, got %.60q", name)
	}
	return nil
}
