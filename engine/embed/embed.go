// Package embed makes vectors of texts and scores documents, with a loaded model.
package embed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/token"
)

// An Encoder turns texts, each at least one token, into one vector each. types, where it
// is not nil, says which text of a pair the tokens belong to.
type Encoder interface {
	Run(ctx context.Context, texts [][]token.ID, types [][]int64) ([][]float32, error)
}

// A Model is a loaded model that makes vectors of texts; with a pairing it scores pairs of
// them, and its vectors have one number; with labels it classifies them, and its vectors
// have a logit for each.
type Model struct {
	lm.Reader
	Training
	encoder Encoder
	width   int      // numbers of a vector
	pair    *pairing // nil: no reranker
	labels  []string // nil: no classifier
	many    bool     // a text may have several labels

	asked *atomic.Int64 // requests whose texts are encoded, or wait for that
}

// New makes a model of vectors with width numbers; 0: one text is encoded to find it.
func New(ctx context.Context, r lm.Reader, t Training, x Encoder, width int) (*Model, error) {
	m := newModel(r, x, width)
	m.Training = t
	if width == 0 {
		var err error
		if m.width, err = m.probe(ctx); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func newModel(r lm.Reader, x Encoder, width int) *Model {
	return &Model{Reader: r, encoder: x, width: width, asked: new(atomic.Int64)}
}

// probe is how many numbers the vector of a short text has.
func (m *Model) probe(ctx context.Context) (int, error) {
	v, err := m.encode(ctx, [][]token.ID{m.Vocab.EncodeSequence("a", false)}, nil)
	if err != nil {
		return 0, err
	}
	return len(v[0]), nil
}

// encode turns texts into vectors, and counts the request in asked meanwhile.
func (m *Model) encode(ctx context.Context, texts [][]token.ID, types [][]int64) ([][]float32, error) {
	m.asked.Add(1)
	defer m.asked.Add(-1)
	return m.encoder.Run(ctx, texts, types)
}

// Load is how many requests wait for the encoder, and how many it runs: all, unless it
// has a count of its own.
func (m *Model) Load() (waiting, running int) {
	n := int(m.asked.Load())
	if x, ok := m.encoder.(interface{ Running() int }); ok {
		running = min(n, x.Running())
		return n - running, running
	}
	return 0, n
}

// Embed turns texts into vectors.
func (m *Model) Embed(ctx context.Context, r engine.EmbedRequest) (engine.EmbedResult, error) {
	if r.InputType != "" && !m.Known {
		return engine.EmbedResult{}, engine.Errorf(engine.CodeUnsupportedParam, "input_type", "what model %q wants before a %s is not known; configure query_prefix and document_prefix, or put it in front of the input", m.ID, r.InputType)
	}
	field := cmp.Or(r.Param, "input")
	return m.vectors(ctx, &r, m.prefix(r.InputType), func(i int) string {
		if len(r.Inputs) > 1 {
			return fmt.Sprintf("%s[%d]", field, i)
		}
		return field
	})
}

// vectors turns texts, with prefix before each, into vectors, and checks the fields of r.
// name is the request's field of input i.
func (m *Model) vectors(ctx context.Context, r *engine.EmbedRequest, prefix string, name func(i int) string) (res engine.EmbedResult, err error) {
	switch {
	case r.Dimensions == 0 || r.Dimensions == m.width:
	case !m.Matryoshka:
		return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, "dimensions", "model %q makes vectors of %d dimensions and was not trained for others (matryoshka: true says it was)", m.ID, m.width)
	case r.Dimensions > m.width || r.Dimensions < 0:
		return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, "dimensions", "model %q makes vectors of at most %d dimensions, not %d", m.ID, m.width, r.Dimensions)
	}
	inputs := make([][]token.ID, len(r.Inputs))
	for i, in := range r.Inputs {
		param := name(i)
		ids, n := in.Tokens, lm.Size{Tokens: len(in.Tokens)}
		if ids == nil {
			text := prefix + in.Text
			ids, n, err = m.Alone(ctx, text, m.Context, r.Truncate, func(e token.Encoder) ([]token.ID, error) {
				return e.EncodeSequence(text, false)
			})
			if err != nil {
				return engine.EmbedResult{}, err
			}
		} else if prefix != "" && r.InputType != "" {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, param, "%s is tokens, before which input_type cannot put a text", param)
		} else if err := m.Check(ids, param); err != nil {
			return engine.EmbedResult{}, err
		}
		if n.Tokens == 0 {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeInvalidValue, param, "%s has no tokens", param)
		}
		if n.Tokens > m.Context {
			if !r.Truncate {
				return engine.EmbedResult{}, m.TooLong(param, n)
			}
			ids = ids[:m.Context]
		}
		inputs[i] = ids
		res.PromptTokens += len(ids)
	}
	if res.Vectors, err = m.encode(ctx, inputs, nil); err != nil {
		return engine.EmbedResult{}, engine.Stopped(ctx, err)
	}
	for i, v := range res.Vectors {
		if !finite(v) {
			return engine.EmbedResult{}, engine.Errorf(engine.CodeEngineFailure, "", "the vector of input %d is not finite", i)
		}
		if r.Dimensions > 0 {
			v = v[:r.Dimensions]
			res.Vectors[i] = v
		}
		if !r.Raw {
			normalise(v)
		}
	}
	return res, nil
}

func finite(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) })
}

// normalise scales v to length 1. A zero vector stays.
func normalise(v []float32) {
	var ss float64
	for _, x := range v {
		ss += float64(x) * float64(x)
	}
	if ss == 0 {
		return
	}
	f := float32(1 / math.Sqrt(ss))
	for i := range v {
		v[i] *= f
	}
}
