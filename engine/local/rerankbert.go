package local

import (
	"context"
	"fmt"
	"math"

	"quern/engine/lm"
	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
)

// A BERT that scores pairs is the BERT that makes embeddings and two layers more
// over its first row. The tokens of the second text have another row added to
// their embedding than those of the first; they are recorded as a second half of
// the vocabulary, so that the network stays as it is.

// A bertRanker scores pairs by a BERT and its head.
type bertRanker struct {
	*embedder
	second                       token.ID // what is added to tokens of the second text
	pool, poolBias, out, outBias []float32
}

func (m *textModel) openBertRanker() error {
	c := m.Config
	x := &bertRanker{embedder: &m.embedder, second: token.ID(c.Vocab / 2)}
	for _, p := range []struct {
		to    *[]float32
		from  *weights.Tensor
		elems int
	}{{&x.pool, m.Head.Pool, c.Hidden * c.Hidden}, {&x.poolBias, m.Head.PoolBias, c.Hidden}, {&x.out, m.Head.Out, c.Hidden}, {&x.outBias, m.Head.OutBias, 1}} {
		if p.from.Elems() != p.elems {
			return fmt.Errorf("%w: tensor %s has shape %v over rows of %d", model.ErrFormat, p.from.Name, p.from.Shape, c.Hidden)
		}
		var err error
		if *p.to, err = lm.Floats(p.from); err != nil {
			return err
		}
	}
	var err error
	if m.pair, err = pairingOf(&m.Raw.Meta, c.Vocab/2); err != nil {
		return err
	}
	m.ranker = x
	return nil
}

// scores implements ranker.
//
// Devlin et al., "BERT", 2019, §4: a classifier over what the first row becomes;
// the projection before it is that of the published code.
func (x *bertRanker) scores(ctx context.Context, texts []typedText) ([]float32, error) {
	inputs := make([][]token.ID, len(texts))
	for i, t := range texts {
		for k, id := range t.ids {
			if t.types[k] > 0 {
				id += x.second
			}
			inputs[i] = append(inputs[i], id)
		}
	}
	rows, err := x.run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(rows))
	for i, row := range rows {
		sum := float64(x.outBias[0])
		for h, w := range x.out {
			p := float64(x.poolBias[h])
			for k, v := range row {
				p += float64(x.pool[h*len(row)+k]) * float64(v)
			}
			sum += float64(w) * math.Tanh(p)
		}
		out[i] = float32(sum)
	}
	return out, nil
}
