package model

import (
	"fmt"
	"strings"

	"quern/formats/weights"
)

// Kinds of encoders that config.json gives the model_type of another model. They can be
// written as a model_type as well.
const (
	gemmaEncoder = "gemma3_embedding" // a gemma3_text with use_bidirectional_attention
	jinaBert     = "jina_bert_v2"     // a bert with position_embedding_type alibi
)

// encoderKind finds those.
func (c *hfConfig) encoderKind() {
	switch {
	case c.kind == "gemma3_text" && c.flag("use_bidirectional_attention"):
		c.kind = gemmaEncoder
	case c.kind == "bert" && c.m["position_embedding_type"] == "alibi":
		c.kind = jinaBert
	}
}

// jinaNames: the first half of the first product is the gate.
var jinaNames = map[string]string{
	"mlp.gated_layers": "ffn_up",
	"mlp.wo":           "ffn_down",
	"mlp.layernorm":    "layer_output_norm",
}

// halves cuts an ffn_up whose first rows are those of ffn_gate.
func halves(w *weights.Tensor) (gate, up *weights.Tensor, err error) {
	if len(w.Shape) != 2 || w.Shape[0]%2 != 0 {
		return nil, nil, fmt.Errorf("%w: tensor %s has shape %v, want (2·width, in)", ErrFormat, w.Name, w.Shape)
	}
	half := func(name string, first int) *weights.Tensor {
		x := &weights.Tensor{Name: name, Type: w.Type, Shape: []int{w.Shape[0] / 2, w.Shape[1]}}
		x.Later(func(dst []byte) error {
			data, err := w.Read()
			if err == nil {
				copy(dst, data[first*len(data)/2:])
			}
			return err
		})
		return x
	}
	return half(strings.Replace(w.Name, "ffn_up", "ffn_gate", 1), 0), half(w.Name, 1), nil
}
