package model

import (
	"fmt"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
)

// gptoss is gpt-oss: a mixture of experts with clamped SwiGLU and biases, a
// sink in every head's softmax, and a window in every other layer.
//
// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", 2025, §2.
type gptoss struct {
	*base
	layers []gptossLayer
}

type gptossLayer struct {
	attnNorm, ffnNorm norm
	attn              attention
	sinks             *weights.Tensor // (heads)
	experts           moe
}

func newGPTOSS(set *file) (LM, error) {
	m, err := newBase(set, false)
	if err != nil {
		return nil, err
	}
	c, t := &m.c, &m.tensors
	g := &gptoss{base: m}
	m.slides = m.reader.windows(c, 2, 0)
	m.reader.sameBase(c)
	for i := range c.Layers {
		g.layers = append(g.layers, gptossLayer{
			attnNorm: t.norm(blk(i, "attn_norm"), c.Hidden),
			attn:     m.attention(i),
			sinks:    t.need(blk(i, "attn_sinks.weight"), c.Heads),
			ffnNorm:  t.norm(blk(i, "post_attention_norm"), c.Hidden),
			experts:  m.moe(i, graph.SwiGLUClamped, true),
		})
	}
	return g, m.err()
}

func (m *gptoss) Hidden(b *graph.Builder) graph.Value {
	c := &m.c
	x := b.Embed(b.Tokens(), m.embed)
	for i := range m.layers {
		l := &m.layers[i]
		o := m.attn(i, m.window(i))
		o.Sinks = l.sinks
		a := l.attn.of(b, l.attnNorm.rms(b, x, c.Eps), &m.rope, c.Eps, o)
		a, x = m.wanted(b, i, a, x)
		x = b.Add(x, l.attn.o.of(b, a))
		x = b.Add(x, l.experts.of(b, l.ffnNorm.rms(b, x, c.Eps)))
	}
	return m.norm.rms(b, x, c.Eps)
}

// gptOSSNames are the names of SafeTensors files. Their experts come stacked,
// with gate and up rows alternating.
var gptOSSNames = map[string]string{
	"self_attn.sinks":               "attn_sinks",
	"post_attention_layernorm":      "post_attention_norm",
	"mlp.router":                    "ffn_gate_inp",
	"mlp.experts.gate_up_proj":      "ffn_gate_up_exps",
	"mlp.experts.gate_up_proj_bias": "ffn_gate_up_exps.bias",
	"mlp.experts.down_proj":         "ffn_down_exps",
	"mlp.experts.down_proj_bias":    "ffn_down_exps.bias",
}

func gptOSSConfig(c *hfConfig, put func(string, any)) {
	slidingWindow(c, put)
	if v := c.first("num_experts_per_tok", "experts_per_token"); v != nil {
		put("expert_used_count", v)
	}
	put("expert_feed_forward_length", c.m["intermediate_size"])
	if limit, ok := number(c.m["swiglu_limit"]); ok && limit != 7 {
		c.refuse("a SwiGLU cut at %g, want 7", limit)
	}
	types, _ := c.m["layer_types"].([]any)
	for i, v := range types {
		if (v == "sliding_attention") != (i%2 == 0) {
			c.refuse("layers of %s with another order of full and sliding attention than one by one", c.kind)
		}
	}
}

// gptOSSExperts takes gate and up apart. Weights of 16 bits are stored as (in,
// out), those of four bits as (out, in) like all others.
func (tr *translation) gptOSSExperts(t *weights.Tensor) error {
	matrix := strings.HasSuffix(t.Name, ".weight")
	if want := map[bool]int{false: 2, true: 3}[matrix]; len(t.Shape) != want {
		return fmt.Errorf("%w: tensor %s has shape %v, want %d dimensions", ErrFormat, t.Name, t.Shape, want)
	}
	if matrix && t.Type.Layout().Block == 1 {
		t = transposed(t.Name, t, 0, t.Shape[2])
	}
	if !strings.Contains(t.Name, "ffn_gate_up_exps") {
		return tr.put(t)
	}
	if t.Shape[1]%2 != 0 {
		return fmt.Errorf("%w: tensor %s has shape %v, want as many gates as ups", ErrFormat, t.Name, t.Shape)
	}
	for i, name := range []string{"ffn_gate_exps", "ffn_up_exps"} {
		part := everyOther(strings.Replace(t.Name, "ffn_gate_up_exps", name, 1), t, i)
		if err := tr.put(part); err != nil {
			return err
		}
	}
	return nil
}

// everyOther is t without every second row, of (experts, rows) or (experts,
// rows, in).
func everyOther(name string, t *weights.Tensor, first int) *weights.Tensor {
	shape := append([]int{t.Shape[0], t.Shape[1] / 2}, t.Shape[2:]...)
	part := &weights.Tensor{Name: name, Type: t.Type, Shape: shape}
	row := t.Size() / max(1, t.Shape[0]*t.Shape[1])
	rearrange(part, t, func(dst, data []byte) {
		for i := range len(dst) / max(1, row) {
			copy(dst[i*row:(i+1)*row], data[(2*i+first)*row:])
		}
	})
	return part
}
