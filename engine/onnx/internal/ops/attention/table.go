// Package attention has the attention operators, of ONNX and of ONNX Runtime, and
// rotary embeddings.
package attention

import (
	"quern/engine/onnx/internal/run"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"Attention":                     attention,
		"RotaryEmbedding":               rotaryEmbedding,
		"LinearAttention":               linearAttention,
		"CausalConvWithState":           causalConv,
		"ai.onnx.preview.FlexAttention": flexAttention,

		"com.microsoft.Attention":           microsoftAttention,
		"com.microsoft.MultiHeadAttention":  MultiHead,
		"com.microsoft.GroupQueryAttention": groupQuery,
		"com.microsoft.RotaryEmbedding":     microsoftRotary,
	}
}
