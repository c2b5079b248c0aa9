package embed

import (
	"context"
	"fmt"
	"strings"

	"quern/engine/model"
	"quern/engine/token"
)

// A template is a prompt that a query and a document are put into. Its own text
// may have control tokens; text of a client has none.
type template struct {
	before, between, after string
	second                 bool // the document comes first
}

// templateOf reads a template, which names each text once.
func templateOf(text string) (*template, error) {
	const query, document = "{query}", "{document}"
	if strings.Count(text, query) != 1 || strings.Count(text, document) != 1 {
		return nil, fmt.Errorf("%w: the template of a reranker names %s %d times and %s %d times, want once each",
			model.ErrUnsupported, query, strings.Count(text, query), document, strings.Count(text, document))
	}
	first, then := query, document
	t := &template{second: strings.Index(text, document) < strings.Index(text, query)}
	if t.second {
		first, then = then, first
	}
	t.before, text, _ = strings.Cut(text, first)
	t.between, t.after, _ = strings.Cut(text, then)
	return t, nil
}

// encode returns the tokens of a pair.
func (t *template) encode(e token.Encoder, query, document string) ([]token.ID, error) {
	if t.second {
		query, document = document, query
	}
	// Where text of a client begins and ends, twice.
	a := len(t.before)
	b := a + len(query)
	c := b + len(t.between)
	d := c + len(document)
	return e.EncodeTrusted(nil, t.before+query+t.between+document+t.after, func(from, to int) bool {
		return to <= a || from >= b && to <= c || from >= d
	})
}

// A pairText is one text of a pair: itself and its tokens, which may be only the first.
type pairText struct {
	text string
	ids  []token.ID
	all  bool // the tokens are all
}

// head is the text of the first n tokens.
func (t *pairText) head(v *token.Vocab, n int) string {
	if t.all && n == len(t.ids) {
		return t.text
	}
	return v.Decode(t.ids[:n], token.DecodeOptions{})
}

// joined joins a pair to at most the model's context, of which the two texts have room tokens.
// Texts that are too long are cut at their ends. In a template tokens may form over the ends of
// a text, so there may be room for a few less: then param is too long, unless cut.
func (m *Model) joined(ctx context.Context, query, document *pairText, room int, cut bool, param string) ([]token.ID, []int64, error) {
	t := m.pair.template
	for {
		a, b := longestFirst(len(query.ids), len(document.ids), room)
		if t == nil {
			ids, types := m.pair.join(query.ids[:a], document.ids[:b])
			return ids, types, nil
		}
		q, d := query.head(m.Vocab, a), document.head(m.Vocab, b)
		ids, n, err := m.Alone(ctx, q+d, m.Context, true, func(e token.Encoder) ([]token.ID, error) { return t.encode(e, q, d) })
		switch {
		case err != nil:
			return nil, nil, err
		case n.Tokens <= m.Context && !n.Least:
			return ids, nil, nil
		case !cut || room == 0:
			return nil, nil, m.TooLong(param, n)
		}
		room = max(0, room-max(1, n.Tokens-m.Context))
	}
}
