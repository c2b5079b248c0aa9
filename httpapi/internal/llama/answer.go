package llama

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/token"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/server"
	"quern/httpapi/internal/turn"
)

// A piece is a chunk of a stream, and the beginning of a whole answer.
type piece struct {
	Index     int           `json:"index"`
	Content   string        `json:"content"`
	Tokens    []token.ID    `json:"tokens"`
	Stop      bool          `json:"stop"`
	Slot      int           `json:"id_slot"` // none in particular
	Predicted int           `json:"tokens_predicted"`
	Evaluated int           `json:"tokens_evaluated"`
	Probs     []probability `json:"completion_probabilities,omitempty"`
}

// An answer is a whole one, and the last chunk of a stream.
type answer struct {
	piece
	Model     string   `json:"model"`
	Settings  settings `json:"generation_settings"`
	Prompt    string   `json:"prompt"`
	NewLine   bool     `json:"has_new_line"`
	Truncated bool     `json:"truncated"`
	StopType  string   `json:"stop_type"`
	StopWord  string   `json:"stopping_word"`
	Cached    int      `json:"tokens_cached"`
	Timings   timings  `json:"timings"`
}

// A probability is that of a token that was drawn.
type probability struct {
	chance
	Top []chance `json:"top_logprobs"`
}

// A chance is a token that could have been drawn.
type chance struct {
	ID token.ID `json:"id"`
	ask.Alternative
}

type timings struct {
	CacheN             int     `json:"cache_n"`
	PromptN            int     `json:"prompt_n"`
	PromptMS           float64 `json:"prompt_ms"`
	PromptPerToken     float64 `json:"prompt_per_token_ms"`
	PromptPerSecond    float64 `json:"prompt_per_second"`
	PredictedN         int     `json:"predicted_n"`
	PredictedMS        float64 `json:"predicted_ms"`
	PredictedPerToken  float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond float64 `json:"predicted_per_second"`
}

func newTimings(prompt, cached, output int, t *turn.Tally) timings {
	rate := func(n int, d time.Duration) (ms, each, second float64) {
		ms = float64(d.Microseconds()) / 1000
		if n > 0 && ms > 0 {
			each, second = ms/float64(n), float64(n)/ms*1000
		}
		return ms, each, second
	}
	out := timings{CacheN: cached, PromptN: prompt - cached, PredictedN: output}
	out.PromptMS, out.PromptPerToken, out.PromptPerSecond = rate(out.PromptN, t.Timings.Prompt)
	out.PredictedMS, out.PredictedPerToken, out.PredictedPerSecond = rate(output, t.Timings.Predict)
	return out
}

// stopTypes are the engine's reasons in the dialect's words.
var stopTypes = map[string]string{engine.ReasonStop: "eos", engine.ReasonLength: "limit"}

// ended fills in how a sequence ended. The text is all of it.
func (r *request) ended(p piece, end engine.Event, lines bool, prompt, cached int, t *turn.Tally, model string, s settings) any {
	p.Stop, p.Predicted, p.Evaluated = true, end.Tokens, prompt
	a := answer{
		piece: p, Model: model, Settings: s, Prompt: r.texts[p.Index/r.sampling.N], NewLine: lines,
		StopType: stopTypes[end.Reason], Cached: cached, Timings: newTimings(prompt, cached, end.Tokens, t),
	}
	if word, ok := end.StopReason.(string); ok {
		a.StopType, a.StopWord = "word", word
	}
	if r.fields == nil {
		return a
	}
	return pick(a, r.fields)
}

// whole is sequence j of prompt i.
func (r *request) whole(i, j int, reply *turn.Reply, t *turn.Tally, model string, s settings) any {
	q := &reply.Sequences[j]
	p := piece{Index: i*r.sampling.N + j, Slot: -1, Content: q.Text()}
	r.addTokens(&p, q.Logprobs)
	return r.ended(p, q.End, strings.Contains(p.Content, "\n"), reply.PromptTokens, reply.CachedTokens, t, model, s)
}

// addTokens adds the ids and probabilities of tokens that were asked for.
func (r *request) addTokens(p *piece, drawn []engine.Logprob) {
	p.Tokens = []token.ID{}
	for _, e := range drawn {
		if r.tokens {
			p.Tokens = append(p.Tokens, e.ID)
		}
	}
	if r.probs == 0 {
		return
	}
	for i, e := range ask.Logprobs(drawn, r.probs) {
		one := probability{chance{drawn[i].ID, ask.Alternative{Token: e.Token, Logprob: e.Logprob, Bytes: e.Bytes}}, []chance{}}
		for k, alt := range e.Top {
			one.Top = append(one.Top, chance{drawn[i].Top[k].ID, alt})
		}
		p.Probs = append(p.Probs, one)
	}
}

// pick keeps members of an answer by their paths, a/b for b in a, each under its path. Those
// that are not there are left out.
func pick(v any, paths []string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	all, err := server.Marshal(v)
	if err != nil {
		return out
	}
	for _, path := range paths {
		at := json.RawMessage(all)
		for name := range strings.SplitSeq(path, "/") {
			var members map[string]json.RawMessage
			if json.Unmarshal(at, &members) != nil {
				members = nil
			}
			if at = members[name]; at == nil {
				break
			}
		}
		if at != nil {
			out[path] = at
		}
	}
	return out
}

// Settings say how replies are drawn.
type settings struct {
	Predict          int      `json:"n_predict"`
	MaxTokens        int      `json:"max_tokens"`
	Seed             uint64   `json:"seed"`
	Temperature      float32  `json:"temperature"`
	TopK             int      `json:"top_k"`
	TopP             float32  `json:"top_p"`
	MinP             float32  `json:"min_p"`
	TypicalP         float32  `json:"typical_p"`
	RepeatLastN      int      `json:"repeat_last_n"`
	RepeatPenalty    float32  `json:"repeat_penalty"`
	PresencePenalty  float32  `json:"presence_penalty"`
	FrequencyPenalty float32  `json:"frequency_penalty"`
	Stop             []string `json:"stop"`
	IgnoreEOS        bool     `json:"ignore_eos"`
	Stream           bool     `json:"stream"`
	Probs            int      `json:"n_probs"`
	Grammar          string   `json:"grammar"`
}

// newSettings are those of a request to a model with these defaults.
func newSettings(r *request, d engine.Sampling) settings {
	var q engine.GenerateRequest
	r.sampling.Apply(&q, d)
	p := &q.Sample
	s := settings{
		Predict: r.sampling.MaxTokens, MaxTokens: r.sampling.MaxTokens, Seed: p.Seed, Temperature: p.Temperature,
		TopK: p.TopK, TopP: p.TopP, MinP: p.MinP, TypicalP: cmp.Or(p.TypicalP, 1), RepeatLastN: cmp.Or(p.RepeatLastN, 64), RepeatPenalty: p.RepeatPenalty,
		PresencePenalty: p.PresencePenalty, FrequencyPenalty: p.FrequencyPenalty, Stop: append([]string{}, q.Stop...), IgnoreEOS: q.IgnoreEOS,
		Stream: r.stream, Probs: r.probs,
	}
	if c := q.Constraint; c != nil && c.Form == engine.FormGrammar {
		s.Grammar = c.Source
	}
	return s
}
