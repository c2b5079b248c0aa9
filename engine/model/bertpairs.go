package model

import "quern/engine/graph"

// ScoresPairs is the key of a BERT that scores pairs of texts. No GGUF file has it:
// the opener of the published files of such a model sets it.
const ScoresPairs = "bert." + scoresPairs

const scoresPairs = "scores_pairs"

// bertPairs is a BERT that scores pairs of texts by two layers more over the first row.
// The tokens of the second text have another row added to their embedding than those of
// the first; they are a second half of the table of embeddings.
//
// Devlin et al., "BERT", 2019, §4: a classifier over what the first row becomes; the
// projection before it is that of the published code.
type bertPairs struct {
	*bert
	pool, out linear
}

func newBertPairs(m *bert) (LM, error) {
	c, t := &m.c, &m.tensors
	p := &bertPairs{m, t.linear("cls", c.Hidden, c.Hidden), t.linear("cls.output", 1, c.Hidden)}
	c.Pairs, c.Vocab, c.Pooling = true, c.Vocab/2, PoolCLS
	return p, m.err()
}

// Logits records the score of pairs, shape (want, 1).
func (m *bertPairs) Logits(b *graph.Builder, hidden graph.Value) graph.Value {
	return m.out.of(b, b.SoftCap(m.pool.of(b, hidden), 1)) // 1·tanh(x/1)
}
