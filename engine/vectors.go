package engine

import (
	"time"

	"quern/engine/token"
)

// An EmbedRequest asks for vectors.
type EmbedRequest struct {
	Inputs     []EmbedInput
	Param      string // the field of the inputs that errors name; "" means input
	InputType  string // "query" or "document" puts the model's text for it before each input; "" puts none
	Dimensions int    // 0 means the model's own; fewer only for models trained for it
	Truncate   bool   // keep the head of inputs that are too long instead of refusing them
	Raw        bool   // do not normalise to length 1

	KeepAlive *time.Duration // as GenerateRequest's
}

// An EmbedInput is text or, when Tokens is not nil, tokens.
type EmbedInput struct {
	Text   string
	Tokens []token.ID
}

// An EmbedResult holds one vector per input, in order.
type EmbedResult struct {
	Vectors      [][]float32
	PromptTokens int
}

// A RerankRequest asks how well documents answer a query.
type RerankRequest struct {
	Query     string
	Queries   []string // in place of Query, one for each document
	Documents []string
	Truncate  bool // cut inputs that are too long instead of refusing them

	DocumentTokens int // of a document no more than these are read; 0 means as many as fit

	KeepAlive *time.Duration // as GenerateRequest's
}

// QueryOf is the query of a document.
func (r *RerankRequest) QueryOf(document int) string {
	if r.Queries != nil {
		return r.Queries[document]
	}
	return r.Query
}

// A RerankResult holds one score per document, in order; higher is better.
//
// Those of a reranker are the logistic function of its one logit, 0 to 1: the
// probability it was trained to give. Those of an embedding model are the cosine
// of the vectors of query and document, −1 to 1. Scores of different models
// cannot be compared.
type RerankResult struct {
	Scores       []float32
	PromptTokens int
}

// A ClassifyRequest asks for the classes of texts.
type ClassifyRequest struct {
	Inputs   []EmbedInput
	Truncate bool // keep the head of inputs that are too long instead of refusing them
	Logits   bool // in place of probabilities

	KeepAlive *time.Duration // as GenerateRequest's
}

// A ClassifyResult holds the probabilities of all labels for each input, in order. They sum
// to 1, unless the model was trained to give texts several labels.
type ClassifyResult struct {
	Labels        []string
	Probabilities [][]float32
	PromptTokens  int
}
