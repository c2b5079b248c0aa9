package local

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A BERT that scores pairs is the BERT that makes embeddings and two layers more
// over its first row. The tokens of the second text have another row added to
// their embedding than those of the first; they are recorded as a second half of
// the vocabulary, so that the network stays as it is.

// classifies reports whether a model was trained to score texts and not to make
// vectors or text.
func classifies(meta *weights.Meta) bool {
	var c onnxConfig
	// A config.json that is not what it should be is refused elsewhere.
	_ = json.Unmarshal([]byte(meta.String("hf.config")), &c)
	return len(c.Architectures) > 0 && strings.HasSuffix(c.Architectures[0], "ForSequenceClassification")
}

// A bertHead holds the two layers over the first row.
type bertHead struct {
	pool, poolBias, out, outBias *weights.Tensor
}

// withoutHead returns the tensors of a file of Hugging Face's that are not its
// head, and the head.
func withoutHead(file *weights.Set) (*weights.Set, *bertHead, error) {
	var c onnxConfig
	if err := json.Unmarshal([]byte(file.Meta.String("hf.config")), &c); err != nil {
		return nil, nil, fmt.Errorf("%w: config.json: %v", model.ErrFormat, err)
	}
	if c.Type != "bert" {
		return nil, nil, fmt.Errorf("%w: a classifier of model_type %q; of SafeTensors quern runs those of BERT, others as ONNX", model.ErrUnsupported, c.Type)
	}
	rest, h := &weights.Set{Source: file.Source, Meta: file.Meta}, new(bertHead)
	for t := range file.All() {
		switch strings.TrimPrefix(t.Name, "bert.") {
		case "pooler.dense.weight":
			h.pool = t
		case "pooler.dense.bias":
			h.poolBias = t
		case "classifier.weight":
			h.out = t
		case "classifier.bias":
			h.outBias = t
		default:
			if err := rest.Add(t); err != nil {
				return nil, nil, fmt.Errorf("%w: %v", model.ErrFormat, err)
			}
		}
	}
	for _, r := range file.Raws() {
		rest.AddRaw(r)
	}
	for _, t := range []*weights.Tensor{h.pool, h.poolBias, h.out, h.outBias} {
		if t == nil {
			return nil, nil, fmt.Errorf("%w: a classifier without bert.pooler.dense and classifier", model.ErrFormat)
		}
	}
	if len(h.out.Shape) != 2 {
		return nil, nil, fmt.Errorf("%w: tensor %s has shape %v", model.ErrFormat, h.out.Name, h.out.Shape)
	}
	if n := h.out.Shape[0]; n != 1 {
		return nil, nil, fmt.Errorf("%w: a classifier of %d labels; a reranker has one", model.ErrUnsupported, n)
	}
	return rest, h, nil
}

// withSecond returns set with the tokens of second texts behind those of first
// ones in its embedding.
func withSecond(set *weights.Set) (*weights.Set, error) {
	tokens, ok := set.Tensor("token_embd.weight")
	types, ok2 := set.Tensor("token_types.weight")
	if !ok || !ok2 || len(tokens.Shape) != 2 || len(types.Shape) != 2 || types.Shape[0] < 2 || types.Shape[1] != tokens.Shape[1] {
		return nil, fmt.Errorf("%w: a BERT for pairs without rows for two texts", model.ErrFormat)
	}
	both := &weights.Tensor{Name: tokens.Name, Type: quant.F32, Shape: []int{2 * tokens.Shape[0], tokens.Shape[1]}}
	both.Later(func(dst []byte) error {
		rows, err := floatsOf(tokens)
		if err != nil {
			return err
		}
		kinds, err := floatsOf(types)
		if err != nil {
			return err
		}
		width := tokens.Shape[1]
		for i := range rows { // the first row is added to all tokens
			rows = append(rows, rows[i]+kinds[width+i%width]-kinds[i%width])
		}
		quant.F32.Layout().Encode(dst, rows)
		return nil
	})
	to := &weights.Set{Source: set.Source, Meta: set.Meta}
	for t := range set.All() {
		if t == tokens {
			t = both
		}
		if err := to.Add(t); err != nil {
			return nil, fmt.Errorf("%w: %v", model.ErrFormat, err)
		}
	}
	return to, nil
}

// floatsOf reads a tensor as float32.
func floatsOf(t *weights.Tensor) ([]float32, error) {
	data, err := t.Read()
	if err != nil {
		return nil, err
	}
	x := make([]float32, t.Elems())
	t.Type.Layout().Decode(x, data)
	return x, nil
}

// A bertRanker scores pairs by a BERT and its head.
type bertRanker struct {
	*embedder
	second                       token.ID // what is added to tokens of the second text
	pool, poolBias, out, outBias []float32
}

func (m *textModel) openBertRanker() error {
	c := m.lm.Config()
	x := &bertRanker{embedder: &m.embedder, second: token.ID(c.Vocab / 2)}
	for _, p := range []struct {
		to    *[]float32
		from  *weights.Tensor
		elems int
	}{{&x.pool, m.head.pool, c.Hidden * c.Hidden}, {&x.poolBias, m.head.poolBias, c.Hidden}, {&x.out, m.head.out, c.Hidden}, {&x.outBias, m.head.outBias, 1}} {
		if p.from.Elems() != p.elems {
			return fmt.Errorf("%w: tensor %s has shape %v over rows of %d", model.ErrFormat, p.from.Name, p.from.Shape, c.Hidden)
		}
		var err error
		if *p.to, err = floatsOf(p.from); err != nil {
			return err
		}
	}
	var err error
	if m.pair, err = pairingOf(&m.file.Meta, c.Vocab/2); err != nil {
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
