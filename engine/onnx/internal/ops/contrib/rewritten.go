package contrib

import (
	"quern/engine/onnx/internal/ops/attention"
	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// biasAdd is x + bias + skip, the bias being that of channels, which are last.
func biasAdd(c *run.Call) []*tensor.Tensor {
	return run.One(c.Again("Add", nil, c.Again("Add", nil, c.X(0), c.X(1)), c.X(2)))
}

// biasSplitGelu is the left half of x + bias times the GELU of the right half.
func biasSplitGelu(c *run.Call) []*tensor.Tensor {
	x := c.Again("Add", nil, c.X(0), c.X(1))
	last := len(x.Shape) - 1
	if last < 0 || x.F == nil || x.Shape[last]%2 != 0 {
		tensor.Malformed("halves of %v, shape %d", x.Type, x.Shape)
	}
	half := x.Shape[last] / 2
	right := gelu(c, move.Part(c, x, last, half, half), nil, vec.GELU)
	return run.One(c.Again("Mul", nil, move.Part(c, x, last, 0, half), right))
}

func gemmFastGelu(c *run.Call) []*tensor.Tensor {
	return run.One(gelu(c, product.MatMul(c, c.X(0), c.X(1), false, false, 1, nil), c.Opt(2), vec.GELUTanh))
}

// groupNormLast normalizes groups of channels, which may be last, and may apply
// SiLU.
func groupNormLast(c *run.Call, x, scale, bias *tensor.Tensor) *tensor.Tensor {
	last := c.Int("channels_last", 1) != 0
	if last {
		x = quantised.ChannelsFirst(c, x)
	}
	if len(x.Shape) < 3 || x.F == nil || len(scale.F) != x.Shape[1] || len(bias.F) != x.Shape[1] {
		tensor.Malformed("%s of %v, shape %d, with scales of %d", c.Node.Op, x.Type, x.Shape, scale.Shape)
	}
	if scale.Type != x.Type {
		scale, bias = tensor.Cast(scale, x.Type, tensor.CastOptions{}), tensor.Cast(bias, x.Type, tensor.CastOptions{})
	}
	// Scales are of channels since opset 21.
	y := c.Under(21).Again("GroupNormalization", map[string]*onnx.Attr{
		"num_groups": {Name: "num_groups", Type: onnx.AttrInt, I: int64(c.Int("groups", 0))},
		"epsilon":    {Name: "epsilon", Type: onnx.AttrFloat, F: float32(c.Float("epsilon", 1e-5))},
	}, x, scale, bias)
	if c.Int("activation", 0) == 1 {
		y = gated(c, y, nil, 1)
	}
	if last {
		y = quantised.ChannelsLast(c, y)
	}
	return y
}

// skipGroupNorm normalizes x + skip + bias, and returns that sum as well. The skip
// may be one for all of an image.
func skipGroupNorm(c *run.Call) []*tensor.Tensor {
	x, skip := c.X(0), c.X(3)
	if len(skip.Shape) == 2 && len(x.Shape) == 4 {
		skip = skip.As(skip.Shape[0], 1, 1, skip.Shape[1])
	}
	sum := c.Again("Add", nil, x, skip)
	if b := c.Opt(4); b != nil {
		sum = c.Again("Add", nil, sum, b)
	}
	return []*tensor.Tensor{groupNormLast(c, sum, c.X(1), c.X(2)), sum}
}

// nhwcFusedConv is fusedConv with channels last.
func nhwcFusedConv(c *run.Call) []*tensor.Tensor {
	in := append([]*tensor.Tensor{}, c.All()...)
	in[0] = quantised.ChannelsFirst(c, c.X(0))
	if len(in) > 3 && in[3] != nil {
		in[3] = quantised.ChannelsFirst(c, in[3])
	}
	inner := c.Sub(c.Node.Op, c.Attrs(), []string{""}, in)
	return run.One(quantised.ChannelsLast(c, fusedConv(inner)[0]))
}

// maskedMultiHead is MultiHeadAttention with its inputs in another order. With
// past_present_share_buffer past and present have room for more than what counts,
// of which the first past_sequence_length are past.
func maskedMultiHead(c *run.Call) []*tensor.Tensor {
	in := make([]*tensor.Tensor, 8)
	for to, from := range []int{0, 1, 2, 10, 3, 4, 5, 6} {
		in[to] = c.Opt(from)
	}
	if w := c.Opt(8); w != nil && (w.I == nil || w.Scalar().I[0] != 1) || len(c.Node.Outputs) > 3 && c.Node.Outputs[3] != "" {
		tensor.Unsupported("attention with beams or its products")
	}
	buffers, before := [2]*tensor.Tensor{in[6], in[7]}, 0
	shared := c.Int("past_present_share_buffer", 0) != 0 && in[6] != nil && in[7] != nil
	if shared {
		n := c.X(7)
		if n.I == nil || n.Len() != 1 {
			tensor.Malformed("past_sequence_length of %v, shape %d", n.Type, n.Shape)
		}
		for i, t := range buffers {
			if len(t.Shape) != 4 || n.I[0] < 0 || n.I[0] >= int64(t.Shape[2]) {
				tensor.Malformed("%d keys in a buffer of shape %d", n.I[0], t.Shape)
			}
			before = int(n.I[0])
			in[6+i] = move.Part(c, t, 2, 0, before)
		}
	}
	inner := c.Sub(c.Node.Op, c.Attrs(), c.Node.Outputs, in)
	out := attention.MultiHead(inner)
	if !shared || out[1] == nil {
		return out
	}
	for i, old := range buffers {
		now := out[1+i]
		room := c.Blank(old.Type, old.Shape...)
		tensor.CopyElems(room, 0, old, 0, old.Len())
		if now.Shape[2] > old.Shape[2] || now.Type != old.Type {
			tensor.Malformed("%d keys in a buffer of shape %d", now.Shape[2], old.Shape)
		}
		width, have, most := now.Shape[3], now.Shape[2], old.Shape[2]
		for h := range now.Shape[0] * now.Shape[1] {
			tensor.CopyElems(room, (h*most+before)*width, now, (h*have+before)*width, (have-before)*width)
		}
		out[1+i] = room
	}
	return out
}

// quantisedEmbedNorm is EmbedLayerNormalization with tables of 8 bits. Only rows
// that are asked for become floats.
func quantisedEmbedNorm(c *run.Call) []*tensor.Tensor {
	ids := c.X(0)
	if len(ids.Shape) != 2 || ids.I == nil {
		tensor.Malformed("tokens of %v, shape %d", ids.Type, ids.Shape)
	}
	floats := func(i int) *tensor.Tensor {
		t := c.Packed(i)
		return quantised.AsFloats(c, t, tensor.Bytes(t), quantised.Linear(c, t.Type, 6+i, 11+i))
	}
	// rows are those of a table that a list names.
	rows := func(i int, list []int64) *tensor.Tensor {
		t := c.Packed(i)
		if len(t.Shape) != 2 {
			tensor.Malformed("a table of shape %d", t.Shape)
		}
		n, bytes, table := t.Shape[1], tensor.Bytes(t), quantised.Linear(c, t.Type, 6+i, 11+i).Numbers()
		out := c.Blank(onnx.Float, len(list), n)
		for r, id := range list {
			if id < 0 || id >= int64(t.Shape[0]) {
				tensor.Malformed("embedding %d of shape %d", id, t.Shape)
			}
			for k, b := range bytes[int(id)*n:][:n] {
				out.F[r*n+k] = table[b]
			}
		}
		return out
	}
	each, places := tensor.Ints(tensor.UpTo(len(ids.I))...).As(ids.Shape...), tensor.Ints(tensor.UpTo(ids.Shape[1])...)
	in := []*tensor.Tensor{each, c.Opt(1), rows(2, ids.I), rows(3, places.I), nil, floats(5), floats(6), c.Opt(7)}
	if in[1] != nil && c.OptPacked(4) != nil {
		in[4] = floats(4)
	}
	inner := c.Sub(c.Node.Op, c.Attrs(), make([]string, 2), in)
	return embedNorm(inner)[:2]
}
