package httpapi

import (
	"cmp"
	"math"
	"slices"

	"quern/engine"
)

// maxRerankDocuments bounds the documents of a request.
const maxRerankDocuments = 2048

// A rerankResult is a document's place in the order.
type rerankResult struct {
	Index    int             `json:"index"`
	Score    float32         `json:"relevance_score"`
	Document *rerankDocument `json:"document,omitempty"`
}

type rerankDocument struct {
	Text string `json:"text"`
}

// rerank answers in the shape Cohere and Jina share: documents by relevance,
// the best first. Scores of rerankers are probabilities, those of embedding
// models cosines.
func (a *API) rerank(c *call) error {
	o, err := a.readObject(c)
	if err != nil {
		return err
	}
	model := o.str("model")
	r := engine.RerankRequest{Documents: readDocuments(o), Truncate: o.boolean("truncate", true)}
	if v, ok := o.need("query"); ok {
		if r.Query = v.str(); r.Query == "" {
			v.invalid("must not be empty")
		}
	}
	top := int(o.integer("top_n", math.MaxInt32, 1, math.MaxInt32))
	whole := o.boolean("return_documents", false)
	r.KeepAlive = readKeepAlive(o)
	o.ignore("user")
	if err := a.finish(c, o); err != nil {
		return err
	}
	logCaller(c, o)
	info, err := a.prepare(c, model, engine.KindRerank, engine.KindEmbedding)
	if err != nil {
		return err
	}
	r.Model = info.ID
	res, err := inTime(a, c, a.o.Engine.Rerank, r)
	if err != nil {
		return err
	}
	logTally(c, info.ID, &tally{prompt: res.PromptTokens})
	type usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
	return a.writeJSON(c, 200, struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results"`
		Usage   usage          `json:"usage"`
	}{newID("rerank-"), info.ID, ordered(res.Scores, r.Documents, top, whole), usage{res.PromptTokens, res.PromptTokens}})
}

// ordered returns the best top documents, those of equal scores as they came.
func ordered(scores []float32, documents []string, top int, whole bool) []rerankResult {
	out := make([]rerankResult, len(scores))
	for i, s := range scores {
		out[i] = rerankResult{Index: i, Score: s}
	}
	slices.SortStableFunc(out, func(a, b rerankResult) int { return cmp.Compare(b.Score, a.Score) })
	out = out[:min(top, len(out))]
	if whole {
		for i := range out {
			out[i].Document = &rerankDocument{documents[out[i].Index]}
		}
	}
	return out
}

// readDocuments reads strings, or objects whose text is one.
func readDocuments(o *object) []string {
	v, ok := o.need("documents")
	if !ok {
		return nil
	}
	list := []string{}
	for item := range v.items() {
		switch {
		case len(list) == maxRerankDocuments:
			v.invalid("must have at most %d entries; send several requests", maxRerankDocuments)
		case item.kind() == '"':
			list = append(list, item.str())
		case item.kind() == '{':
			if d := item.object(); d != nil {
				if t, ok := d.need("text"); ok {
					list = append(list, t.str())
				}
			}
		default:
			item.wrong("a string or an object with text")
		}
	}
	if len(list) == 0 && v.p.err == nil {
		v.invalid("must not be empty")
	}
	return list
}
