package local

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"quern/engine"
	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
)

// A ranker scores texts, one number each.
type ranker interface {
	scores(ctx context.Context, texts []typedText) ([]float32, error)
}

// Rerank implements engine.Lease.
func (l *lease) Rerank(ctx context.Context, r engine.RerankRequest) (engine.RerankResult, error) {
	m, done, err := use[*textModel](l, "", r.KeepAlive)
	if err != nil {
		return engine.RerankResult{}, err
	}
	defer done()
	if m.ranker == nil {
		if m.encoder == nil || m.sched != nil {
			return engine.RerankResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q makes text; reranking needs a reranker or an embedding model", m.ID)
		}
		return m.cosines(ctx, &r)
	}
	return m.pairs(ctx, &r)
}

// pairWave is the tokens of pairs that are put together before they are scored:
// a long query stands in every pair.
const pairWave = 1 << 20

// pairs scores documents with a reranker.
func (m *textModel) pairs(ctx context.Context, r *engine.RerankRequest) (res engine.RerankResult, err error) {
	room := max(0, m.Context-m.pair.special)
	query, nq, err := m.part(ctx, r.Query, room, r.Truncate)
	if err != nil {
		return engine.RerankResult{}, err
	}
	documents := make([][]token.ID, len(r.Documents))
	for i, d := range r.Documents {
		most, head := room, r.Truncate
		if k := r.DocumentTokens; k > 0 && k < room {
			most, head = k, true
		}
		ids, n, err := m.part(ctx, d, most, head)
		if err != nil {
			return engine.RerankResult{}, err
		}
		if most < room {
			ids = ids[:min(most, len(ids))]
			n = size{len(ids), false}
		}
		if n := (size{nq.tokens + n.tokens + m.pair.special, nq.least || n.least}); n.tokens > m.Context && !r.Truncate {
			return engine.RerankResult{}, m.tooLong(fmt.Sprintf("documents[%d]", i), n)
		}
		documents[i] = ids
	}
	for done := 0; done < len(documents); done = len(res.Scores) {
		var texts []typedText
		for n := 0; done+len(texts) < len(documents) && n < pairWave; {
			d := documents[done+len(texts)]
			a, b := longestFirst(len(query), len(d), room)
			t := m.pair.join(query[:a], d[:b])
			texts = append(texts, t)
			n += len(t.ids)
			res.PromptTokens += len(t.ids)
		}
		scores, err := m.ranker.scores(ctx, texts)
		if err != nil {
			if ctx.Err() != nil {
				return engine.RerankResult{}, ctx.Err()
			}
			return engine.RerankResult{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "the model stopped unexpectedly", Err: err}
		}
		res.Scores = append(res.Scores, scores...)
	}
	if !finite(res.Scores) {
		return engine.RerankResult{}, engine.Errorf(engine.CodeEngineFailure, "", "a score is not finite")
	}
	for i, x := range res.Scores {
		res.Scores[i] = float32(1 / (1 + math.Exp(-float64(x))))
	}
	return res, nil
}

// part encodes one text of a pair.
func (m *textModel) part(ctx context.Context, text string, room int, head bool) ([]token.ID, size, error) {
	return m.alone(ctx, text, room, head, func(e token.Encoder) ([]token.ID, error) { return e.Encode(nil, text, false) })
}

// cosines scores documents by their vectors, each with the text before it that
// the model was trained with.
func (m *textModel) cosines(ctx context.Context, r *engine.RerankRequest) (engine.RerankResult, error) {
	inputs := []engine.EmbedInput{{Text: m.embed.query + r.Query}}
	for _, d := range r.Documents {
		if n := r.DocumentTokens; n > 0 {
			ids, all, err := m.part(ctx, d, n, true)
			if err != nil {
				return engine.RerankResult{}, err
			}
			if len(ids) > n || all.least {
				d = m.Vocab.Decode(ids[:min(n, len(ids))], token.DecodeOptions{})
			}
		}
		inputs = append(inputs, engine.EmbedInput{Text: m.embed.document + d})
	}
	res, err := m.vectors(ctx, &engine.EmbedRequest{Inputs: inputs, Truncate: r.Truncate}, func(i int) string {
		if i == 0 {
			return "query"
		}
		return fmt.Sprintf("documents[%d]", i-1)
	})
	if err != nil {
		return engine.RerankResult{}, err
	}
	out := engine.RerankResult{PromptTokens: res.PromptTokens}
	for _, v := range res.Vectors[1:] {
		var dot float64
		for i, x := range v {
			dot += float64(x) * float64(res.Vectors[0][i])
		}
		out.Scores = append(out.Scores, float32(dot))
	}
	return out, nil
}

// longestFirst returns how much of two texts is kept so that both fit n tokens:
// the longer loses first, then both get half.
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

// A pairing says how a tokenizer puts two texts together.
type pairing struct {
	pieces  []pairPiece
	special int // tokens that are of neither text
}

// A pairPiece is special tokens, or one of the two texts.
type pairPiece struct {
	ids  []token.ID
	text int // 1 or 2; 0 where it is tokens
	kind int64
}

// join puts two texts together.
func (p *pairing) join(first, second []token.ID) (t typedText) {
	for _, x := range p.pieces {
		ids := [][]token.ID{x.ids, first, second}[x.text]
		t.ids = append(t.ids, ids...)
		for range ids {
			t.types = append(t.types, x.kind)
		}
	}
	return t
}

// A pairFile is what tokenizer.json says of pairs.
type pairFile struct {
	Type       string      `json:"type"`
	Processors []*pairFile `json:"processors"`
	Pair       []struct {
		Special *pairName `json:"SpecialToken"`
		Text    *pairName `json:"Sequence"`
	} `json:"pair"`
	Tokens map[string]struct {
		IDs []token.ID `json:"ids"`
	} `json:"special_tokens"`
	CLS []json.RawMessage `json:"cls"` // its text and its number
	SEP []json.RawMessage `json:"sep"`
}

type pairName struct {
	ID   string `json:"id"`
	Kind int64  `json:"type_id"`
}

// pairingOf reads how pairs are put together from the tokenizer's
// post-processor, whose tokens must be below vocab.
//
// Hugging Face, tokenizers, "Post-processors".
func pairingOf(meta *weights.Meta, vocab int) (pairing, error) {
	var file struct {
		Post *pairFile `json:"post_processor"`
	}
	if err := json.Unmarshal([]byte(meta.String("hf.tokenizer")), &file); err != nil {
		return pairing{}, fmt.Errorf("%w: tokenizer.json: %v", model.ErrFormat, err)
	}
	var p pairing
	parts := []*pairFile{file.Post}
	if file.Post != nil && file.Post.Type == "Sequence" {
		parts = file.Post.Processors
	}
	for _, f := range parts {
		if f != nil {
			if err := p.read(f); err != nil {
				return pairing{}, err
			}
		}
	}
	seen := [3]int{}
	for _, x := range p.pieces {
		seen[x.text]++
		p.special += len(x.ids)
		for _, id := range x.ids {
			if id < 0 || int(id) >= vocab {
				return pairing{}, fmt.Errorf("%w: tokenizer.json puts token %d of %d between two texts", model.ErrFormat, id, vocab)
			}
		}
	}
	if seen[1] != 1 || seen[2] != 1 {
		return pairing{}, fmt.Errorf("%w: tokenizer.json does not say how a query and a document are put together", model.ErrUnsupported)
	}
	return p, nil
}

func (p *pairing) read(f *pairFile) error {
	switch f.Type {
	case "TemplateProcessing":
		p.pieces = nil
		for _, x := range f.Pair {
			switch {
			case x.Special != nil:
				p.pieces = append(p.pieces, pairPiece{ids: f.Tokens[x.Special.ID].IDs, kind: x.Special.Kind})
			case x.Text != nil && x.Text.ID == "A":
				p.pieces = append(p.pieces, pairPiece{text: 1, kind: x.Text.Kind})
			case x.Text != nil && x.Text.ID == "B":
				p.pieces = append(p.pieces, pairPiece{text: 2, kind: x.Text.Kind})
			}
		}
	case "BertProcessing", "RobertaProcessing":
		var cls, sep token.ID
		for _, x := range []struct {
			from []json.RawMessage
			to   *token.ID
		}{{f.CLS, &cls}, {f.SEP, &sep}} {
			if len(x.from) != 2 || json.Unmarshal(x.from[1], x.to) != nil {
				return fmt.Errorf("%w: tokenizer.json: %s without its tokens", model.ErrFormat, f.Type)
			}
		}
		p.pieces = []pairPiece{{ids: []token.ID{cls}}, {text: 1}, {ids: []token.ID{sep}}}
		if f.Type == "RobertaProcessing" {
			p.pieces = append(p.pieces, pairPiece{ids: []token.ID{sep}}, pairPiece{text: 2}, pairPiece{ids: []token.ID{sep}})
		} else {
			p.pieces = append(p.pieces, pairPiece{text: 2, kind: 1}, pairPiece{ids: []token.ID{sep}, kind: 1})
		}
	}
	return nil
}

// scores implements ranker.
func (x *onnxEncoder) scores(ctx context.Context, texts []typedText) ([]float32, error) {
	out := make([]float32, len(texts))
	var wrong error
	err := x.each(ctx, texts, func(i, width int, row []float32) {
		if width != 1 && wrong == nil {
			wrong = fmt.Errorf("%w: the reranker gives %d numbers for a pair", model.ErrUnsupported, width)
		}
		out[i] = row[0]
	})
	if err == nil {
		err = wrong
	}
	return out, err
}

func (m *textModel) openONNXRanker(ctx context.Context, e *Engine, n *entry, h *onnxHead, g *onnxGraph) error {
	x, err := newONNXEncoder(g, h, m, n.o.Defaulted().Batch)
	if err != nil {
		return err
	}
	if m.pair, err = pairingOf(&m.Raw.Meta, m.Config.Vocab); err != nil {
		return err
	}
	if m.Context <= m.pair.special {
		return fmt.Errorf("%w: a context of %d tokens for pairs with %d of their own", model.ErrUnsupported, m.Context, m.pair.special)
	}
	if _, err := x.scores(ctx, []typedText{m.pair.join(nil, nil)}); err != nil {
		return err
	}
	m.ranker = x
	return nil
}
