package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/lm"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// waves records how many tokens are put together at once; the score of a pair
// is its length.
type waves struct{ tokens []int }

func (w *waves) Run(_ context.Context, texts [][]token.ID, _ [][]int64) (out [][]float32, _ error) {
	n := 0
	for _, t := range texts {
		n += len(t)
		out = append(out, []float32{float32(len(t))})
	}
	w.tokens = append(w.tokens, n)
	return out, nil
}

// builtinSet is the built-in model.
func builtinSet(t testing.TB) *weights.Set {
	t.Helper()
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// reader reads texts with the built-in vocabulary.
func reader(t testing.TB, context int) lm.Reader {
	t.Helper()
	spec, err := token.From(&builtinSet(t).Meta)
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return lm.Reader{ID: "m", Vocab: v, Tokens: v.Size(), Context: context, Texts: lm.TextBudget()}
}

// A long query stands in every pair, but not in all of them at once.
func TestRerankWaves(t *testing.T) {
	var meta weights.Meta
	meta.Set("hf.tokenizer", `{"post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}}`)
	w := &waves{}
	m, err := NewReranker(t.Context(), reader(t, 512), w, &meta, "")
	if err != nil {
		t.Fatal(err)
	}
	w.tokens = nil
	long := strings.Repeat("word ", 600)
	res, err := m.Rerank(t.Context(), engine.RerankRequest{Query: long, Documents: slices.Repeat([]string{"a", "a b"}, 2500), Truncate: true})
	if err != nil || len(res.Scores) != 5000 || res.PromptTokens != 5000*512 {
		t.Errorf("%d scores of %d tokens, %v", len(res.Scores), res.PromptTokens, err)
	}
	if len(w.tokens) != 3 || slices.Max(w.tokens) > pairWave+512 {
		t.Errorf("waves of %d tokens", w.tokens)
	}
	n := len(m.Vocab.Encode(nil, "a", false)) + len(m.Vocab.Encode(nil, long, false)) + 3
	_, err = m.Rerank(t.Context(), engine.RerankRequest{Query: "a", Documents: []string{"a", long}})
	var known *engine.Error
	if !errors.As(err, &known) || known.Code != engine.CodeContextLength || !strings.Contains(err.Error(), fmt.Sprint(n, " tokens")) {
		t.Errorf("%v; want the length of the pair in it", err)
	}
}
