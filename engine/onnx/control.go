package onnx

import (
	"math"

	"quern/formats/onnx"
)

// controlTable are operators that run graphs, and lists.
func controlTable() table { return join(controlOps(), sequenceOps()) }

func controlOps() table {
	return table{"If": ifThen, "Loop": loop, "Scan": scan}
}

func ifThen(c *call) []*Tensor {
	if c.x(0).scalar().at(0) != 0 {
		return c.graph(c.subgraph("then_branch"))
	}
	return c.graph(c.subgraph("else_branch"))
}

// loop runs its body while a condition holds and the trip count lasts. Values
// that are carried on come first among the results, then the others of all
// iterations, stacked.
func loop(c *call) []*Tensor {
	g := c.subgraph("body")
	trips, on := int64(math.MaxInt64), true
	if t := c.opt(0); t != nil {
		trips = t.scalar().whole().list64()[0]
	}
	if t := c.opt(1); t != nil {
		on = t.scalar().at(0) != 0
	}
	carried := max(0, len(c.in)-2)
	if len(g.Inputs) != carried+2 || len(g.Outputs) < carried+1 {
		fail("%w: a loop over %d values has a body of %d inputs, %d outputs", onnx.ErrFormat, carried, len(g.Inputs), len(g.Outputs))
	}
	args := make([]*Tensor, carried+2)
	for i := range carried {
		args[2+i] = c.x(2 + i)
	}
	rows := make([][]*Tensor, len(g.Outputs)-1-carried)
	args[1] = flag(on)
	for i := int64(0); i < trips && on; i++ {
		args[0] = newTensor(onnx.Int64)
		args[0].I[0] = i
		out := c.graph(g, args...)
		on = out[0].scalar().at(0) != 0
		args[1] = out[0]
		for k := range carried {
			if i > 0 {
				c.release(args[2+k])
			}
			args[2+k] = out[1+k]
		}
		for k := range rows {
			rows[k] = append(rows[k], out[1+carried+k])
			c.charge(rowBytes)
		}
	}
	out := args[2:]
	for k, r := range rows {
		c.credit(rowBytes * int64(len(r)))
		out = append(out, c.stackRows(r, 0, &g.Outputs[1+carried+k].Type))
	}
	return out
}

// rowBytes is what a small tensor that a loop keeps is counted as: their number
// is the graph's to choose.
const rowBytes = 256

// stackRows joins tensors of one shape along a new axis. Of none the type says
// what they would have been.
func (c *call) stackRows(rows []*Tensor, at int, of *onnx.Type) *Tensor {
	if len(rows) > 0 {
		return c.stacked(rows, at)
	}
	if of.Kind != onnx.KindTensor || of.Elem.Bits() == 0 && of.Elem != onnx.String {
		fail("%w: nothing to stack, and no type for it", onnx.ErrUnsupported)
	}
	shape := []int{}
	for _, d := range of.Dims {
		shape = append(shape, int(max(0, d.Size)))
	}
	at = axis(at, len(shape)+1)
	return newTensor(of.Elem, append(append(append([]int{}, shape[:at]...), 0), shape[at:]...)...)
}

// scan runs its body once for each element along an axis of its inputs. Up to
// opset 8 a batch goes around it, and lengths come first.
func scan(c *call) []*Tensor {
	g := c.subgraph("body")
	m := c.int("num_scan_inputs", 0)
	if c.opset >= 9 {
		if m < 1 || m > len(c.in) {
			fail("%w: %d of %d inputs are scanned", onnx.ErrFormat, m, len(c.in))
		}
		return c.scan(g, c.all(), len(c.in)-m, c.list("scan_input_directions", -1), -1)
	}
	if m < 1 || m > len(c.in)-1 {
		fail("%w: %d of %d inputs are scanned", onnx.ErrFormat, m, len(c.in)-1)
	}
	in := c.all()[1:]
	batch := -1
	for _, t := range in {
		if t == nil || len(t.Shape) == 0 || batch >= 0 && t.Shape[0] != batch {
			fail("%w: batches of unlike sizes", onnx.ErrFormat)
		}
		batch = t.Shape[0]
	}
	var results [][]*Tensor
	for b := range batch {
		one := make([]*Tensor, len(in))
		for i, t := range in {
			one[i] = without(c.part(t, 0, b, 1), 0)
		}
		limit := -1
		if t := c.opt(0); t != nil {
			if n := t.list(); b < len(n) {
				limit = n[b]
			}
		}
		for i, t := range c.scan(g, one, len(in)-m, c.list("directions", -1), limit) {
			if b == 0 {
				results = append(results, nil)
			}
			results[i] = append(results[i], t)
		}
	}
	if batch == 0 {
		fail("%w: Scan of an empty batch", onnx.ErrUnsupported)
	}
	out := make([]*Tensor, len(results))
	for i, r := range results {
		out[i] = c.stacked(r, 0)
	}
	return out
}

// scan runs the body of a Scan over what follows the states in in. A limit of 0
// or more cuts the length.
func (c *call) scan(g *onnx.Graph, in []*Tensor, states int, directions []int, limit int) []*Tensor {
	if len(g.Inputs) != len(in) || len(g.Outputs) < states {
		fail("%w: a scan of %d values has a body of %d inputs, %d outputs", onnx.ErrFormat, len(in), len(g.Inputs), len(g.Outputs))
	}
	axes := c.list("scan_input_axes", -1)
	at := make([]int, len(in))
	length := -1
	for i := states; i < len(in); i++ {
		if in[i] == nil || in[i].Seq != nil || in[i].none() {
			fail("%w: input %d is not scanned over", onnx.ErrFormat, i)
		}
		at[i] = axis(pickOr(axes, i-states, 0), len(in[i].Shape))
		if n := in[i].Shape[at[i]]; length >= 0 && n != length {
			fail("%w: scans of length %d and %d", onnx.ErrFormat, length, n)
		}
		length = in[i].Shape[at[i]]
	}
	if limit >= 0 {
		length = min(length, limit)
	}
	args := append([]*Tensor{}, in...)
	rows := make([][]*Tensor, len(g.Outputs)-states)
	for step := range length {
		for i := states; i < len(in); i++ {
			k := step
			if pickOr(directions, i-states, 0) != 0 {
				k = length - 1 - step
			}
			args[i] = without(c.part(in[i], at[i], k, 1), at[i])
		}
		out := c.graph(g, args...)
		for i := range args {
			if i >= states || step > 0 {
				c.release(args[i])
			}
		}
		copy(args, out[:states])
		for k := range rows {
			rows[k] = append(rows[k], out[states+k])
			c.charge(rowBytes)
		}
	}
	out := append([]*Tensor{}, args[:states]...)
	outAxes, outDirections := c.list("scan_output_axes", -1), c.list("scan_output_directions", -1)
	for k, r := range rows {
		c.credit(rowBytes * int64(len(r)))
		if pickOr(outDirections, k, 0) != 0 {
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
				r[i], r[j] = r[j], r[i]
			}
		}
		out = append(out, c.stackRows(r, pickOr(outAxes, k, 0), &g.Outputs[states+k].Type))
	}
	return out
}
