package embed

import (
	"context"
	"fmt"
	"math"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/model"
)

// NewClassifier makes a model that classifies texts: x gives a logit for each label. many:
// a text may have several.
func NewClassifier(ctx context.Context, r lm.Reader, x Encoder, labels []string, many bool) (*Model, error) {
	m := newModel(r, x, len(labels))
	m.labels, m.many = labels, many
	if n, err := m.probe(ctx); err != nil {
		return nil, err
	} else if n != m.width {
		return nil, fmt.Errorf("%w: the classifier gives %d numbers for %d labels", model.ErrFormat, n, m.width)
	}
	return m, nil
}

// Classify returns the probabilities of labels for texts.
func (m *Model) Classify(ctx context.Context, r engine.ClassifyRequest) (engine.ClassifyResult, error) {
	if m.labels == nil {
		return engine.ClassifyResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", "model %q is no classifier", m.ID)
	}
	res, err := m.Embed(ctx, engine.EmbedRequest{Inputs: r.Inputs, Truncate: r.Truncate, Raw: true})
	if err != nil {
		return engine.ClassifyResult{}, err
	}
	for _, v := range res.Vectors {
		switch {
		case r.Logits:
		case m.many:
			for i, x := range v {
				v[i] = sigmoid(x)
			}
		default:
			softmax(v)
		}
	}
	return engine.ClassifyResult{Labels: m.labels, Probabilities: res.Vectors, PromptTokens: res.PromptTokens}, nil
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// softmax makes probabilities of finite logits.
func softmax(v []float32) {
	most := v[0]
	for _, x := range v {
		most = max(most, x)
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(float64(x) - float64(most))
	}
	for i, x := range v {
		v[i] = float32(math.Exp(float64(x)-float64(most)) / sum)
	}
}
