// Package cohere answers in the dialects of Cohere, and of servers that speak them.
package cohere

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"quern/engine"
	"quern/httpapi/internal/ask"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/reqlog"
	"quern/httpapi/internal/server"
)

type api struct{ *server.API }

// Routes returns the endpoints of the dialect.
func Routes(s *server.API) []server.Route {
	a := api{s}
	return []server.Route{
		{Method: "POST", Path: "/v1/rerank", Handle: a.Object(a.rerank), Work: true, Bare: true},
		{Method: "POST", Path: "/v1/reranking", Handle: a.Object(a.rerank), Work: true, Bare: true}, // llama-server's name
		{Method: "POST", Path: "/v2/rerank", Handle: a.Object(a.rerankV2), Work: true, Fail: fail},
	}
}

// maxRerankDocuments bounds the documents of a request.
const maxRerankDocuments = 2048

// others are fields of Cohere's first version, Jina's, vLLM's and Voyage's without a counterpart
// here.
var others = []ask.Other{
	{Name: "rank_fields", Off: ask.Empty, Instead: "send what is ranked as text"},
	{Name: "return_embeddings", Off: false},
	{Name: "truncate_prompt_tokens", Off: -1.0, Instead: "send max_tokens_per_doc"},
	{Name: "use_activation", Off: true}, {Name: "activation", Off: true}, {Name: "softmax", Off: true}, {Name: "raw_scores", Off: false},
	{Name: "top_k", Instead: "send top_n"}, {Name: "truncation", Off: true, Instead: "send truncate: false, which refuses what is too long"},
	{Name: "truncation_side", Off: []string{"right"}}, {Name: "instruction", Off: ask.Empty, Instead: "put it in front of the query"},
	{Name: "max_doc_length", Instead: "send max_tokens_per_doc"}, {Name: "max_query_length"}, {Name: "overlap_tokens", Off: 0.0},
}

// A rerankResult is a document's place in the order.
type rerankResult struct {
	Index    int             `json:"index"`
	Score    float32         `json:"relevance_score"`
	Document *rerankDocument `json:"document,omitempty"`
}

type rerankDocument struct {
	Text string `json:"text"`
}

// rerank answers in the shape Cohere's first version and Jina share: documents by
// relevance, the best first. Scores of rerankers are probabilities, those of
// embedding models cosines.
func (a api) rerank(c *server.Call, o *body.Object) error {
	r, err := a.rank(c, o)
	if err != nil {
		return err
	}
	type usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
	return a.WriteJSON(c, 200, struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results"`
		Usage   usage          `json:"usage"`
	}{reqlog.NewID("rerank-"), r.model, r.results, usage{r.tokens, r.tokens}})
}

// rerankV2 answers in the shape of Cohere's second version.
func (a api) rerankV2(c *server.Call, o *body.Object) error {
	r, err := a.rank(c, o)
	if err != nil {
		return err
	}
	type version struct {
		Version string `json:"version"`
	}
	type tokens struct {
		Input int `json:"input_tokens"`
	}
	type meta struct {
		API    version `json:"api_version"`
		Tokens tokens  `json:"tokens"`
	}
	return a.WriteJSON(c, 200, struct {
		ID      string         `json:"id"`
		Results []rerankResult `json:"results"`
		Meta    meta           `json:"meta"`
	}{reqlog.NewID("rerank-"), r.results, meta{version{"2"}, tokens{r.tokens}}})
}

// A ranking is the answer of both versions.
type ranking struct {
	model   string // its id
	results []rerankResult
	tokens  int
}

// rank reads a body of either version and scores its documents.
func (a api) rank(c *server.Call, o *body.Object) (*ranking, error) {
	model := o.Str("model")
	r := engine.RerankRequest{Documents: readDocuments(o), Truncate: o.Boolean("truncate", true)}
	if v, ok := o.Need("query"); ok {
		if r.Query = v.Str(); r.Query == "" {
			v.Invalid("must not be empty")
		}
	}
	r.DocumentTokens = int(o.Integer("max_tokens_per_doc", 0, 1, math.MaxInt32))
	top := int(o.Integer("top_n", math.MaxInt32, 1, math.MaxInt32))
	whole := o.Boolean("return_documents", false) // results carry their documents
	r.KeepAlive = body.KeepAlive(o)
	ask.RefuseOthers(o, others)
	if o.Has("max_chunks_per_doc") {
		c.Warn("max_chunks_per_doc has no effect: documents are not split, and are cut to what the model reads")
	}
	o.Ignore("user", "priority", "request_id")
	if err := a.Finish(c, o); err != nil {
		return nil, err
	}
	info, err := a.Prepare(c, model, engine.KindRerank, engine.KindEmbedding)
	if err != nil {
		return nil, err
	}
	res, err := server.InTime(a.API, c, c.Lease.Rerank, r)
	if err != nil {
		return nil, err
	}
	c.LogTokens(res.PromptTokens, 0)
	return &ranking{info.ID, ordered(res.Scores, r.Documents, top, whole), res.PromptTokens}, nil
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
func readDocuments(o *body.Object) []string {
	v, ok := o.Need("documents")
	if !ok {
		return nil
	}
	list := []string{}
	for item := range v.Items() {
		switch {
		case len(list) == maxRerankDocuments:
			v.Invalid("must have at most %d entries; send several requests", maxRerankDocuments)
		case item.Kind() == '"':
			list = append(list, item.Str())
		case item.Kind() == '{':
			if d := item.Object(); d != nil {
				if t, ok := d.Need("text"); ok {
					list = append(list, t.Str())
				}
			}
		default:
			item.Wrong("a string or an object with text")
		}
	}
	if len(list) == 0 && v.Ok() {
		v.Invalid("must not be empty")
	}
	return list
}

// fail is a failure in the form of either dialect.
func fail(e *fault.Error, _ *http.Request) (status int, body any) {
	return e.Status, struct {
		Message string `json:"message"`
		fault.Body
	}{e.Message, e.Body()}
}
