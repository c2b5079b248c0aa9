package control

import (
	"math"

	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

func ifThen(c *run.Call) []*tensor.Tensor {
	if c.X(0).Scalar().At(0) != 0 {
		return c.Graph(c.Subgraph("then_branch"))
	}
	return c.Graph(c.Subgraph("else_branch"))
}

// loop runs its body while a condition holds and the trip count lasts. Values
// that are carried on come first among the results, then the others of all
// iterations, stacked.
func loop(c *run.Call) []*tensor.Tensor {
	g := c.Subgraph("body")
	trips, on := int64(math.MaxInt64), true
	if t := c.Opt(0); t != nil {
		trips = int64(t.Scalar().List()[0])
	}
	if t := c.Opt(1); t != nil {
		on = t.Scalar().At(0) != 0
	}
	carried := max(0, len(c.In)-2)
	if len(g.Inputs) != carried+2 || len(g.Outputs) < carried+1 {
		tensor.Malformed("a loop over %d values has a body of %d inputs, %d outputs", carried, len(g.Inputs), len(g.Outputs))
	}
	args := make([]*tensor.Tensor, carried+2)
	for i := range carried {
		args[2+i] = c.X(2 + i)
	}
	rows := make([][]*tensor.Tensor, len(g.Outputs)-1-carried)
	args[1] = flag(on)
	for i := int64(0); i < trips && on; i++ {
		args[0] = tensor.New(onnx.Int64)
		args[0].I[0] = i
		out := c.Graph(g, args...)
		on = out[0].Scalar().At(0) != 0
		args[1] = out[0]
		for k := range carried {
			if i > 0 {
				c.Release(args[2+k])
			}
			args[2+k] = out[1+k]
		}
		for k := range rows {
			rows[k] = append(rows[k], out[1+carried+k])
			c.Charge(rowBytes)
		}
	}
	out := args[2:]
	for k, r := range rows {
		c.Credit(rowBytes * int64(len(r)))
		out = append(out, stackRows(c, r, 0, &g.Outputs[1+carried+k].Type))
	}
	return out
}

// rowBytes is what a small tensor that a loop keeps is counted as: their number
// is the graph's to choose.
const rowBytes = 256

// stackRows joins tensors of one shape along a new axis. Of none the type says
// what they would have been.
func stackRows(c *run.Call, rows []*tensor.Tensor, at int, of *onnx.Type) *tensor.Tensor {
	if len(rows) > 0 {
		return move.Stacked(c, rows, at)
	}
	if of.Kind != onnx.KindTensor || of.Elem.Bits() == 0 && of.Elem != onnx.String {
		tensor.Unsupported("nothing to stack, and no type for it")
	}
	shape := []int{}
	for _, d := range of.Dims {
		shape = append(shape, int(max(0, d.Size)))
	}
	at = tensor.Axis(at, len(shape)+1)
	return tensor.New(of.Elem, append(append(append([]int{}, shape[:at]...), 0), shape[at:]...)...)
}

// scan runs its body once for each element along an axis of its inputs. Up to
// opset 8 a batch goes around it, and lengths come first.
func scan(c *run.Call) []*tensor.Tensor {
	g := c.Subgraph("body")
	m := c.Int("num_scan_inputs", 0)
	if c.Opset >= 9 {
		if m < 1 || m > len(c.In) {
			tensor.Malformed("%d of %d inputs are scanned", m, len(c.In))
		}
		return scanOver(c, g, c.All(), len(c.In)-m, c.List("scan_input_directions", -1), -1)
	}
	if m < 1 || m > len(c.In)-1 {
		tensor.Malformed("%d of %d inputs are scanned", m, len(c.In)-1)
	}
	in := c.All()[1:]
	batch := -1
	for _, t := range in {
		if t == nil || len(t.Shape) == 0 || batch >= 0 && t.Shape[0] != batch {
			tensor.Malformed("batches of unlike sizes")
		}
		batch = t.Shape[0]
	}
	var results [][]*tensor.Tensor
	for b := range batch {
		one := make([]*tensor.Tensor, len(in))
		for i, t := range in {
			one[i] = move.Without(move.Part(c, t, 0, b, 1), 0)
		}
		limit := -1
		if t := c.Opt(0); t != nil {
			if n := t.List(); b < len(n) {
				limit = n[b]
			}
		}
		for i, t := range scanOver(c, g, one, len(in)-m, c.List("directions", -1), limit) {
			if b == 0 {
				results = append(results, nil)
			}
			results[i] = append(results[i], t)
		}
	}
	if batch == 0 {
		tensor.Unsupported("Scan of an empty batch")
	}
	out := make([]*tensor.Tensor, len(results))
	for i, r := range results {
		out[i] = move.Stacked(c, r, 0)
	}
	return out
}

// scanOver runs the body of a Scan over what follows the states in in. A limit of 0
// or more cuts the length.
func scanOver(c *run.Call, g *onnx.Graph, in []*tensor.Tensor, states int, directions []int, limit int) []*tensor.Tensor {
	if len(g.Inputs) != len(in) || len(g.Outputs) < states {
		tensor.Malformed("a scan of %d values has a body of %d inputs, %d outputs", len(in), len(g.Inputs), len(g.Outputs))
	}
	axes := c.List("scan_input_axes", -1)
	at := make([]int, len(in))
	length := -1
	for i := states; i < len(in); i++ {
		if in[i] == nil || in[i].Seq != nil || in[i].None() {
			tensor.Malformed("input %d is not scanned over", i)
		}
		at[i] = tensor.Axis(tensor.PickOr(axes, i-states, 0), len(in[i].Shape))
		if n := in[i].Shape[at[i]]; length >= 0 && n != length {
			tensor.Malformed("scans of length %d and %d", length, n)
		}
		length = in[i].Shape[at[i]]
	}
	if limit >= 0 {
		length = min(length, limit)
	}
	args := append([]*tensor.Tensor{}, in...)
	rows := make([][]*tensor.Tensor, len(g.Outputs)-states)
	for step := range length {
		for i := states; i < len(in); i++ {
			k := step
			if tensor.PickOr(directions, i-states, 0) != 0 {
				k = length - 1 - step
			}
			args[i] = move.Without(move.Part(c, in[i], at[i], k, 1), at[i])
		}
		out := c.Graph(g, args...)
		for i := range args {
			if i >= states || step > 0 {
				c.Release(args[i])
			}
		}
		copy(args, out[:states])
		for k := range rows {
			rows[k] = append(rows[k], out[states+k])
			c.Charge(rowBytes)
		}
	}
	out := append([]*tensor.Tensor{}, args[:states]...)
	outAxes, outDirections := c.List("scan_output_axes", -1), c.List("scan_output_directions", -1)
	for k, r := range rows {
		c.Credit(rowBytes * int64(len(r)))
		if tensor.PickOr(outDirections, k, 0) != 0 {
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
				r[i], r[j] = r[j], r[i]
			}
		}
		out = append(out, stackRows(c, r, tensor.PickOr(outAxes, k, 0), &g.Outputs[states+k].Type))
	}
	return out
}

// flag returns a scalar of bool.
func flag(v bool) *tensor.Tensor {
	t := tensor.New(onnx.Bool)
	if v {
		t.I[0] = 1
	}
	return t
}
