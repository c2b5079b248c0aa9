package lm

import (
	"fmt"
	"slices"
	"strings"

	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// Published is the use of a model of Hugging Face's in config.json beside it.
type Published struct {
	Type          string            `json:"model_type"`
	Architectures []string          `json:"architectures"`
	Labels        map[string]string `json:"id2label"`
	Problem       string            `json:"problem_type"`
}

// Made reports whether the model was made for one of these uses, such as "ForCausalLM".
func (p *Published) Made(uses ...string) bool {
	return len(p.Architectures) > 0 && slices.ContainsFunc(uses, func(use string) bool { return strings.HasSuffix(p.Architectures[0], use) })
}

// Scores is the use of models that score texts and make neither vectors nor text.
const Scores = "ForSequenceClassification"

// pairsTexts reports whether set is a BERT that scores pairs and distinguishes first and second
// texts by a row that is added to their tokens: WordPiece's pairs are put together so.
func pairsTexts(raw, set *weights.Set) bool {
	pooling, _ := set.Meta.Int("bert.pooling_type")
	types, ok := set.Tensor("token_types.weight")
	tokenizer := raw.Meta.String("tokenizer.ggml.model")
	if out, ok := set.Tensor("cls.output.weight"); ok && len(out.Shape) == 2 && out.Shape[0] > 1 {
		return false // it classifies texts
	}
	return pooling == int64(model.PoolRank) && ok && len(types.Shape) == 2 && types.Shape[0] > 1 && (tokenizer == "" || tokenizer == "bert")
}

// withSecond returns set with the tokens of second texts behind those of first
// ones in its embedding.
func withSecond(set *weights.Set) (*weights.Set, error) {
	tokens, ok := set.Tensor("token_embd.weight")
	types, ok2 := set.Tensor("token_types.weight")
	if !ok || !ok2 || len(tokens.Shape) != 2 || types.Shape[1] != tokens.Shape[1] {
		return nil, fmt.Errorf("%w: a BERT for pairs without rows for two texts", model.ErrFormat)
	}
	both := &weights.Tensor{Name: tokens.Name, Type: quant.F32, Shape: []int{2 * tokens.Shape[0], tokens.Shape[1]}}
	both.Later(func(dst []byte) error {
		rows, err := tokens.Floats()
		if err != nil {
			return err
		}
		kinds, err := types.Floats()
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
	to.Meta.Set(model.SecondTexts, true)
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
