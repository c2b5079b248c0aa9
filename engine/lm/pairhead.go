package lm

import (
	"encoding/json"
	"fmt"
	"strings"

	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// pairConfig is what a classifier's config.json says.
type pairConfig struct {
	Architectures []string `json:"architectures"`
	Type          string   `json:"model_type"`
}

// classifies reports whether a model was trained to score texts and not to make
// vectors or text.
func classifies(meta *weights.Meta) bool {
	var c pairConfig
	// A config.json that is not what it should be is refused elsewhere.
	_ = json.Unmarshal([]byte(meta.String("hf.config")), &c)
	return len(c.Architectures) > 0 && strings.HasSuffix(c.Architectures[0], "ForSequenceClassification")
}

// A PairHead holds the two layers over the first row.
type PairHead struct {
	Pool, PoolBias, Out, OutBias *weights.Tensor
}

// withoutHead returns the tensors of a file of Hugging Face's that are not its
// head, and the head.
func withoutHead(file *weights.Set) (*weights.Set, *PairHead, error) {
	var c pairConfig
	if err := json.Unmarshal([]byte(file.Meta.String("hf.config")), &c); err != nil {
		return nil, nil, fmt.Errorf("%w: config.json: %v", model.ErrFormat, err)
	}
	if c.Type != "bert" {
		return nil, nil, fmt.Errorf("%w: a classifier of model_type %q; of SafeTensors quern runs those of BERT, others as ONNX", model.ErrUnsupported, c.Type)
	}
	rest, h := &weights.Set{Source: file.Source, Meta: file.Meta}, new(PairHead)
	for t := range file.All() {
		switch strings.TrimPrefix(t.Name, "bert.") {
		case "pooler.dense.weight":
			h.Pool = t
		case "pooler.dense.bias":
			h.PoolBias = t
		case "classifier.weight":
			h.Out = t
		case "classifier.bias":
			h.OutBias = t
		default:
			if err := rest.Add(t); err != nil {
				return nil, nil, fmt.Errorf("%w: %v", model.ErrFormat, err)
			}
		}
	}
	for _, r := range file.Raws() {
		rest.AddRaw(r)
	}
	for _, t := range []*weights.Tensor{h.Pool, h.PoolBias, h.Out, h.OutBias} {
		if t == nil {
			return nil, nil, fmt.Errorf("%w: a classifier without bert.pooler.dense and classifier", model.ErrFormat)
		}
	}
	if len(h.Out.Shape) != 2 {
		return nil, nil, fmt.Errorf("%w: tensor %s has shape %v", model.ErrFormat, h.Out.Name, h.Out.Shape)
	}
	if n := h.Out.Shape[0]; n != 1 {
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
		rows, err := Floats(tokens)
		if err != nil {
			return err
		}
		kinds, err := Floats(types)
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

// Floats reads a tensor as float32.
func Floats(t *weights.Tensor) ([]float32, error) {
	data, err := t.Read()
	if err != nil {
		return nil, err
	}
	x := make([]float32, t.Elems())
	t.Type.Layout().Decode(x, data)
	return x, nil
}
