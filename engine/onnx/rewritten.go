package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// rewrittenOps are what ONNX Runtime's optimizers make of operators that are here
// already, mostly for GPUs.
//
// ONNX Runtime, ContribOperators.md.
func rewrittenOps() table {
	return table{
		"com.microsoft.BiasAdd":                         biasAdd,
		"com.microsoft.BiasSplitGelu":                   biasSplitGelu,
		"com.microsoft.GemmFastGelu":                    gemmFastGelu,
		"com.microsoft.GroupNorm":                       func(c *call) []*Tensor { return one(c.groupNormLast(c.x(0), c.x(1), c.x(2))) },
		"com.microsoft.SkipGroupNorm":                   skipGroupNorm,
		"com.microsoft.NhwcConv":                        func(c *call) []*Tensor { return one(c.inLayout("Conv", true)) },
		"com.microsoft.NhwcFusedConv":                   nhwcFusedConv,
		"com.microsoft.DecoderMaskedMultiHeadAttention": maskedMultiHead,
		"com.microsoft.QEmbedLayerNormalization":        quantisedEmbedNorm,
	}
}

// biasAdd is x + bias + skip, the bias being that of channels, which are last.
func biasAdd(c *call) []*Tensor {
	return one(c.again("Add", nil, c.again("Add", nil, c.x(0), c.x(1)), c.x(2)))
}

// biasSplitGelu is the left half of x + bias times the GELU of the right half.
func biasSplitGelu(c *call) []*Tensor {
	x := c.again("Add", nil, c.x(0), c.x(1))
	last := len(x.Shape) - 1
	if last < 0 || x.F == nil || x.Shape[last]%2 != 0 {
		fail("%w: halves of %v, shape %d", onnx.ErrFormat, x.Type, x.Shape)
	}
	half := x.Shape[last] / 2
	right := c.gelu(c.part(x, last, half, half), nil, vec.GELU)
	return one(c.again("Mul", nil, c.part(x, last, 0, half), right))
}

func gemmFastGelu(c *call) []*Tensor {
	return one(c.gelu(c.matMul(c.x(0), c.x(1), false, false, 1, nil), c.opt(2), vec.GELUTanh))
}

// groupNormLast normalizes groups of channels, which may be last, and may apply
// SiLU.
func (c *call) groupNormLast(x, scale, bias *Tensor) *Tensor {
	last := c.int("channels_last", 1) != 0
	if last {
		x = c.channelsFirst(x)
	}
	if len(x.Shape) < 3 || x.F == nil || len(scale.F) != x.Shape[1] || len(bias.F) != x.Shape[1] {
		fail("%w: %s of %v, shape %d, with scales of %d", onnx.ErrFormat, c.n.Op, x.Type, x.Shape, scale.Shape)
	}
	if scale.Type != x.Type {
		scale, bias = cast(scale, x.Type, castOptions{}), cast(bias, x.Type, castOptions{})
	}
	// Scales are of channels since opset 21.
	y := c.under(21).again("GroupNormalization", map[string]*onnx.Attr{
		"num_groups": {Name: "num_groups", Type: onnx.AttrInt, I: int64(c.int("groups", 0))},
		"epsilon":    {Name: "epsilon", Type: onnx.AttrFloat, F: float32(c.float("epsilon", 1e-5))},
	}, x, scale, bias)
	if c.int("activation", 0) == 1 {
		y = c.gated(y, nil, 1)
	}
	if last {
		y = c.channelsLast(y)
	}
	return y
}

// skipGroupNorm normalizes x + skip + bias, and returns that sum as well. The skip
// may be one for all of an image.
func skipGroupNorm(c *call) []*Tensor {
	x, skip := c.x(0), c.x(3)
	if len(skip.Shape) == 2 && len(x.Shape) == 4 {
		skip = skip.as(skip.Shape[0], 1, 1, skip.Shape[1])
	}
	sum := c.again("Add", nil, x, skip)
	if b := c.opt(4); b != nil {
		sum = c.again("Add", nil, sum, b)
	}
	return []*Tensor{c.groupNormLast(sum, c.x(1), c.x(2)), sum}
}

// nhwcFusedConv is fusedConv with channels last.
func nhwcFusedConv(c *call) []*Tensor {
	in := append([]*Tensor{}, c.all()...)
	in[0] = c.channelsFirst(c.x(0))
	if len(in) > 3 && in[3] != nil {
		in[3] = c.channelsFirst(in[3])
	}
	inner := c.sub(c.n.Op, c.resolved(), []string{""}, in)
	return one(c.channelsLast(fusedConv(inner)[0]))
}

// maskedMultiHead is MultiHeadAttention with its inputs in another order. With
// past_present_share_buffer past and present have room for more than what counts,
// of which the first past_sequence_length are past.
func maskedMultiHead(c *call) []*Tensor {
	in := make([]*Tensor, 8)
	for to, from := range []int{0, 1, 2, 10, 3, 4, 5, 6} {
		in[to] = c.opt(from)
	}
	if w := c.opt(8); w != nil && (w.I == nil || w.scalar().I[0] != 1) || len(c.n.Outputs) > 3 && c.n.Outputs[3] != "" {
		fail("%w: attention with beams or its products", onnx.ErrUnsupported)
	}
	buffers, before := [2]*Tensor{in[6], in[7]}, 0
	shared := c.int("past_present_share_buffer", 0) != 0 && in[6] != nil && in[7] != nil
	if shared {
		n := c.x(7)
		if n.I == nil || n.len() != 1 {
			fail("%w: past_sequence_length of %v, shape %d", onnx.ErrFormat, n.Type, n.Shape)
		}
		for i, t := range buffers {
			if len(t.Shape) != 4 || n.I[0] < 0 || n.I[0] >= int64(t.Shape[2]) {
				fail("%w: %d keys in a buffer of shape %d", onnx.ErrFormat, n.I[0], t.Shape)
			}
			before = int(n.I[0])
			in[6+i] = c.part(t, 2, 0, before)
		}
	}
	inner := c.sub(c.n.Op, c.resolved(), c.n.Outputs, in)
	out := multiHead(inner)
	if !shared || out[1] == nil {
		return out
	}
	for i, old := range buffers {
		now := out[1+i]
		room := c.blank(old.Type, old.Shape...)
		copyElems(room, 0, old, 0, old.len())
		if now.Shape[2] > old.Shape[2] || now.Type != old.Type {
			fail("%w: %d keys in a buffer of shape %d", onnx.ErrFormat, now.Shape[2], old.Shape)
		}
		width, have, most := now.Shape[3], now.Shape[2], old.Shape[2]
		for h := range now.Shape[0] * now.Shape[1] {
			copyElems(room, (h*most+before)*width, now, (h*have+before)*width, (have-before)*width)
		}
		out[1+i] = room
	}
	return out
}

// quantisedEmbedNorm is EmbedLayerNormalization with tables of 8 bits. Only rows
// that are asked for become floats.
func quantisedEmbedNorm(c *call) []*Tensor {
	ids := c.x(0)
	if len(ids.Shape) != 2 || ids.I == nil {
		fail("%w: tokens of %v, shape %d", onnx.ErrFormat, ids.Type, ids.Shape)
	}
	floats := func(i int) *Tensor {
		t := c.must(i)
		return c.asFloats(t, eights(t), c.linear(t.Type, 6+i, 11+i))
	}
	// rows are those of a table that a list names.
	rows := func(i int, list []int64) *Tensor {
		t := c.must(i)
		if len(t.Shape) != 2 {
			fail("%w: a table of shape %d", onnx.ErrFormat, t.Shape)
		}
		n, bytes, table := t.Shape[1], eights(t), c.linear(t.Type, 6+i, 11+i).numbers()
		out := c.blank(onnx.Float, len(list), n)
		for r, id := range list {
			if id < 0 || id >= int64(t.Shape[0]) {
				fail("%w: embedding %d of shape %d", onnx.ErrFormat, id, t.Shape)
			}
			for k, b := range bytes[int(id)*n:][:n] {
				out.F[r*n+k] = table[b]
			}
		}
		return out
	}
	each, places := ints(upTo(len(ids.I))...).as(ids.Shape...), ints(upTo(ids.Shape[1])...)
	in := []*Tensor{each, c.opt(1), rows(2, ids.I), rows(3, places.I), nil, floats(5), floats(6), c.opt(7)}
	if in[1] != nil && c.bare(4) != nil {
		in[4] = floats(4)
	}
	inner := c.sub(c.n.Op, c.resolved(), make([]string, 2), in)
	return embedNorm(inner)[:2]
}
