package embed

import (
	"context"
	"fmt"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
)

// NewReranker makes a model that scores pairs of texts. They are put into prompt where it
// is not empty, with {query} and {document} for them, else together as the tokenizer in
// meta says.
func NewReranker(ctx context.Context, r lm.Reader, x Encoder, meta *weights.Meta, prompt string) (*Model, error) {
	m := newModel(r, x, 1)
	p, err := pairingOf(meta, m.Vocab, m.Tokens, prompt)
	if err != nil {
		return nil, err
	}
	if m.Context <= p.special {
		return nil, fmt.Errorf("%w: a context of %d tokens for pairs with %d of their own", model.ErrUnsupported, m.Context, p.special)
	}
	m.pair = &p
	ids, types, err := m.joined(ctx, &pairText{all: true}, &pairText{all: true}, 0, false, "")
	if err != nil {
		return nil, err
	}
	probe, err := m.encode(ctx, [][]token.ID{ids}, [][]int64{types})
	if err != nil {
		return nil, err
	}
	if n := len(probe[0]); n != 1 {
		return nil, fmt.Errorf("%w: the reranker gives %d numbers for a pair", model.ErrUnsupported, n)
	}
	return m, nil
}

// Rerank scores documents by a query.
func (m *Model) Rerank(ctx context.Context, r engine.RerankRequest) (engine.RerankResult, error) {
	if m.pair != nil {
		return m.pairs(ctx, &r)
	}
	return m.cosines(ctx, &r)
}

// pairWave is the tokens of pairs that are put together before they are scored:
// a long query stands in every pair.
const pairWave = 1 << 20

// pairs scores documents with a reranker.
func (m *Model) pairs(ctx context.Context, r *engine.RerankRequest) (res engine.RerankResult, err error) {
	room := max(0, m.Context-m.pair.special)
	var nq lm.Size
	firsts := make([]*pairText, len(r.Documents))
	documents := make([]*pairText, len(r.Documents))
	for i, d := range r.Documents {
		if q := r.QueryOf(i); i > 0 && q == firsts[i-1].text {
			firsts[i] = firsts[i-1]
		} else {
			var query []token.ID
			if query, nq, err = m.part(ctx, q, room, r.Truncate); err != nil {
				return engine.RerankResult{}, err
			}
			firsts[i] = &pairText{q, query, !nq.Least}
		}
		most, head := room, r.Truncate
		if k := r.DocumentTokens; k > 0 && k < room {
			most, head = k, true
		}
		ids, n, err := m.part(ctx, d, most, head)
		if err != nil {
			return engine.RerankResult{}, err
		}
		all := true
		if most < room {
			all = len(ids) <= most && !n.Least
			ids = ids[:min(most, len(ids))]
			n = lm.Size{Tokens: len(ids)}
		}
		if n := (lm.Size{Tokens: nq.Tokens + n.Tokens + m.pair.special, Least: nq.Least || n.Least}); n.Tokens > m.Context && !r.Truncate {
			return engine.RerankResult{}, m.TooLong(fmt.Sprintf("documents[%d]", i), n)
		}
		documents[i] = &pairText{d, ids, all && !n.Least}
	}
	for done := 0; done < len(documents); done = len(res.Scores) {
		var texts [][]token.ID
		var types [][]int64
		for n := 0; done+len(texts) < len(documents) && n < pairWave; {
			i := done + len(texts)
			t, of, err := m.joined(ctx, firsts[i], documents[i], room, r.Truncate, fmt.Sprintf("documents[%d]", i))
			if err != nil {
				return engine.RerankResult{}, err
			}
			texts, types = append(texts, t), append(types, of)
			n += len(t)
			res.PromptTokens += len(t)
		}
		scores, err := m.encode(ctx, texts, types)
		if err != nil {
			return engine.RerankResult{}, engine.Stopped(ctx, err)
		}
		for _, x := range scores {
			res.Scores = append(res.Scores, x[0])
		}
	}
	if !finite(res.Scores) {
		return engine.RerankResult{}, engine.Errorf(engine.CodeEngineFailure, "", "a score is not finite")
	}
	for i, x := range res.Scores {
		res.Scores[i] = sigmoid(x)
	}
	return res, nil
}

// part encodes one text of a pair.
func (m *Model) part(ctx context.Context, text string, room int, head bool) ([]token.ID, lm.Size, error) {
	return m.Alone(ctx, text, room, head, func(e token.Encoder) ([]token.ID, error) { return e.Encode(nil, text, false) })
}

// cosines scores documents by their vectors, each with the text before it that
// the model was trained with.
func (m *Model) cosines(ctx context.Context, r *engine.RerankRequest) (engine.RerankResult, error) {
	var inputs []engine.EmbedInput
	queries := map[string]int{} // where each is among inputs
	for i := range r.Documents {
		if q := r.QueryOf(i); !has(queries, q) {
			queries[q] = len(inputs)
			inputs = append(inputs, engine.EmbedInput{Text: m.query + q})
		}
	}
	first := len(inputs) // of the documents
	for _, d := range r.Documents {
		if n := r.DocumentTokens; n > 0 {
			ids, all, err := m.part(ctx, d, n, true)
			if err != nil {
				return engine.RerankResult{}, err
			}
			if len(ids) > n || all.Least {
				d = m.Vocab.Decode(ids[:min(n, len(ids))], token.DecodeOptions{})
			}
		}
		inputs = append(inputs, engine.EmbedInput{Text: m.document + d})
	}
	res, err := m.vectors(ctx, &engine.EmbedRequest{Inputs: inputs, Truncate: r.Truncate}, "", func(i int) string {
		if i < first {
			return "query"
		}
		return fmt.Sprintf("documents[%d]", i-first)
	})
	if err != nil {
		return engine.RerankResult{}, err
	}
	out := engine.RerankResult{PromptTokens: res.PromptTokens}
	for i, v := range res.Vectors[first:] {
		query := res.Vectors[queries[r.QueryOf(i)]]
		var dot float64
		for i, x := range v {
			dot += float64(x) * float64(query[i])
		}
		out.Scores = append(out.Scores, float32(dot))
	}
	return out, nil
}

func has(m map[string]int, key string) bool {
	_, ok := m[key]
	return ok
}

// longestFirst returns how much of two texts is kept so that both fit n tokens:
// the longer is cut first, then both get half.
//
// Hugging Face, tokenizers, "Truncation": longest_first.
func longestFirst(a, b, n int) (int, int) {
	switch short := min(a, b); {
	case a+b <= n:
		return a, b
	case 2*short > n:
		if a <= b {
			return n / 2, n - n/2
		}
		return n - n/2, n / 2
	case a <= b:
		return a, n - a
	}
	return n - b, b
}
