package vllm

import (
	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// sides are the names of the two sides of pairs.
var sides = [][2]string{{"text_1", "text_2"}, {"queries", "documents"}, {"queries", "items"}, {"data_1", "data_2"}}

// maxPairs bounds the pairs of a request.
const maxPairs = 2048

// others are fields that would change scores, without a counterpart here.
var others = []ask.Other{
	{Name: "add_special_tokens", Off: true}, {Name: "chat_template", Off: ask.Empty},
	{Name: "truncation_side", Off: []string{"right"}}, {Name: "instruction", Off: ask.Empty, Instead: "put it in front of the first text"},
}

type scored struct {
	Index  int     `json:"index"`
	Object string  `json:"object"`
	Score  float32 `json:"score"`
}

// score answers POST /v1/score: how well the texts of pairs match, one with each of
// several or each with its own. Scores of rerankers are probabilities, those of embedding
// models cosines.
func (a api) score(c *server.Call, o *body.Object) error {
	model := o.Str("model")
	r := engine.RerankRequest{Truncate: readTruncate(o), KeepAlive: body.KeepAlive(o)}
	readPairs(o, &r)
	if !readActivation(o) {
		o.Refuse(engine.CodeUnsupportedParam, "use_activation", "use_activation: false is not supported: scores are probabilities or cosines; leave it out")
	}
	ask.RefuseOthers(o, others)
	o.Ignore("user", "priority", "request_id")
	if err := a.Finish(c, o); err != nil {
		return err
	}
	info, err := a.Prepare(c, model, engine.KindRerank, engine.KindEmbedding)
	if err != nil {
		return err
	}
	res, err := server.InTime(a.API, c, c.Lease.Rerank, r)
	if err != nil {
		return err
	}
	c.LogTokens(res.PromptTokens, 0)
	data := make([]scored, len(res.Scores))
	for i, s := range res.Scores {
		data[i] = scored{i, "score", s}
	}
	return a.WriteJSON(c, 200, newList("score-", info.ID, data, res.PromptTokens))
}

// readPairs reads both sides, by one of their names.
func readPairs(o *body.Object, r *engine.RerankRequest) {
	names := sides[0]
	most := 0
	for _, s := range sides {
		sent := 0
		for _, name := range s {
			if o.Has(name) {
				sent++
			}
		}
		if sent > most {
			names, most = s, sent
		}
	}
	first, second := readSide(o, names[0]), readSide(o, names[1])
	switch {
	case !o.Ok():
	case len(first) == 1:
		r.Query = first[0]
	case len(first) != len(second):
		o.Refuse(engine.CodeInvalidValue, names[1], "%s has %d entries and %s %d; send one of %[3]s for all, or as many of both", names[1], len(second), names[0], len(first))
	default:
		r.Queries = first
	}
	r.Documents = second
}

// readSide reads a text, or several.
func readSide(o *body.Object, name string) []string {
	v, ok := o.Need(name)
	if !ok {
		return nil
	}
	switch v.Kind() {
	case '"':
		return []string{v.Str()}
	case '[':
	default:
		v.Wrong("a string or an array of strings")
		return nil
	}
	var out []string
	for item := range v.Items() {
		if len(out) == maxPairs {
			v.Invalid("must have at most %d entries; send several requests", maxPairs)
			break
		}
		out = append(out, item.Str())
	}
	if len(out) == 0 && v.Ok() {
		v.Invalid("must not be empty")
	}
	return out
}
