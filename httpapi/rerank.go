package httpapi

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"quern/engine"
)

// cohereAPI answers in the dialect of Cohere, and of servers that speak it.
type cohereAPI struct{ *API }

// Cohere returns the endpoints of the dialect.
func Cohere(s *API) []Route {
	a := cohereAPI{s}
	return []Route{
		{Method: "POST", Path: "/v1/rerank", Handle: a.rerank, Work: true, Bare: true},
		{Method: "POST", Path: "/v2/rerank", Handle: a.rerankV2, Work: true, Spell: spellCohere},
	}
}

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

// rerank answers in the shape Cohere's first version and Jina share: documents by
// relevance, the best first. Scores of rerankers are probabilities, those of
// embedding models cosines.
func (a cohereAPI) rerank(c *call) error {
	q, err := a.readRerank(c)
	if err != nil {
		return err
	}
	res, err := a.runRerank(c, q)
	if err != nil {
		return err
	}
	type usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
	return a.writeJSON(c, 200, struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results"`
		Usage   usage          `json:"usage"`
	}{newID("rerank-"), q.model, ordered(res.Scores, q.Documents, q.top, q.whole), usage{res.PromptTokens, res.PromptTokens}})
}

// rerankV2 answers in the shape of Cohere's second version.
func (a cohereAPI) rerankV2(c *call) error {
	q, err := a.readRerank(c)
	if err != nil {
		return err
	}
	res, err := a.runRerank(c, q)
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
	return a.writeJSON(c, 200, struct {
		ID      string         `json:"id"`
		Results []rerankResult `json:"results"`
		Meta    meta           `json:"meta"`
	}{newID("rerank-"), ordered(res.Scores, q.Documents, q.top, q.whole), meta{version{"2"}, tokens{res.PromptTokens}}})
}

// A rerankQuery is a body of either version, checked.
type rerankQuery struct {
	model string // its id, once it is known
	engine.RerankRequest
	top   int
	whole bool // results carry their documents
}

func (a cohereAPI) readRerank(c *call) (*rerankQuery, error) {
	o, err := a.readObject(c)
	if err != nil {
		return nil, err
	}
	r := &rerankQuery{}
	r.model = o.str("model")
	r.Documents, r.Truncate = readDocuments(o), o.boolean("truncate", true)
	if v, ok := o.need("query"); ok {
		if r.Query = v.str(); r.Query == "" {
			v.invalid("must not be empty")
		}
	}
	r.DocumentTokens = int(o.integer("max_tokens_per_doc", 0, 1, math.MaxInt32))
	r.top = int(o.integer("top_n", math.MaxInt32, 1, math.MaxInt32))
	r.whole = o.boolean("return_documents", false)
	r.KeepAlive = readKeepAlive(o)
	o.ignore("user", "priority")
	if err := a.finish(c, o); err != nil {
		return nil, err
	}
	logCaller(c, o)
	return r, nil
}

// runRerank has the model score the documents. It puts the model's id into q.
func (a cohereAPI) runRerank(c *call, q *rerankQuery) (engine.RerankResult, error) {
	info, err := a.prepare(c, q.model, engine.KindRerank, engine.KindEmbedding)
	if err != nil {
		return engine.RerankResult{}, err
	}
	q.model = info.ID
	res, err := inTime(a.API, c, c.lease.Rerank, q.RerankRequest)
	if err == nil {
		c.logTokens(res.PromptTokens, 0)
	}
	return res, err
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

// spellCohere is a failure as clients of either dialect read it.
func spellCohere(e *apiError, _ *http.Request) (status int, body any) {
	return e.status, struct {
		Message string `json:"message"`
		errorBody
	}{e.message, e.body()}
}
