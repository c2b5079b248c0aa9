package fuse

import (
	"slices"

	"quern/engine/onnx/internal/ops/attention"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A scaler is a value scores are multiplied with or divided by.
type scaler struct {
	name   string
	divide bool
}

// scaled returns what name is without the products and quotients by values of one
// element that made it of that.
func (g *group) scaled(name string, by *[]scaler) string {
	for range 2 {
		n := g.made[name]
		if n == nil || len(n.Inputs) != 2 || len(g.uses[name]) != 1 || n.Op != "Mul" && n.Op != "Div" || g.take(name, n.Op) == nil {
			return name
		}
		switch {
		case g.single(n.Inputs[1]):
			*by = append(*by, scaler{n.Inputs[1], n.Op == "Div"})
			name = n.Inputs[0]
		case n.Op == "Mul" && g.single(n.Inputs[0]):
			*by = append(*by, scaler{n.Inputs[0], false})
			name = n.Inputs[1]
		default:
			g.nodes = g.nodes[:len(g.nodes)-1]
			return name
		}
	}
	return name
}

// single reports whether a value surely has one element: a constant, or what is
// computed of a shape by nodes that leave it one.
func (g *group) single(name string) bool {
	for range 8 {
		if t := g.constant(name); t != nil {
			return t.Len() == 1
		}
		n := g.made[name]
		if n == nil || n.Domain != "" || len(n.Inputs) == 0 {
			return false
		}
		switch n.Op {
		case "Sqrt", "Cast", "Reciprocal", "Squeeze", "Unsqueeze":
			name = n.Inputs[0]
		case "Div", "Mul", "Pow":
			if t := g.constant(n.Inputs[1]); t != nil && t.Len() == 1 {
				name = n.Inputs[0]
			} else if t := g.constant(n.Inputs[0]); t != nil && t.Len() == 1 {
				name = n.Inputs[1]
			} else {
				return false
			}
		case "Gather":
			t := g.constant(n.Inputs[1])
			return t != nil && t.Len() == 1 && g.made[n.Inputs[0]] != nil && g.made[n.Inputs[0]].Op == "Shape"
		case "Slice":
			if s := g.made[n.Inputs[0]]; s == nil || s.Op != "Shape" || len(n.Inputs) < 3 {
				return false
			}
			from, to := g.constant(n.Inputs[1]), g.constant(n.Inputs[2])
			if from == nil || to == nil || len(from.I) != 1 || len(to.I) != 1 {
				return false
			}
			return to.I[0] == from.I[0]+1 || from.I[0] == -1
		default:
			return false
		}
	}
	return false
}

// turned returns what name is the transpose of, if it is, by perm, and nothing
// else reads it.
func (g *group) turned(name string, perm ...int64) (string, bool) {
	n := g.made[name]
	if n == nil || n.Op != "Transpose" || len(g.uses[name]) != 1 || n.Attrs["perm"] == nil || !slices.Equal(n.Attrs["perm"].Ints, perm) || g.take(name, "Transpose") == nil {
		return name, false
	}
	return n.Inputs[0], true
}

// uncast returns what name is without casts to float of it alone. Where the
// values a step begins with are floats, such casts do nothing.
func (g *group) uncast(name string) string {
	for range 2 {
		n := g.made[name]
		if n == nil || n.Op != "Cast" || len(g.uses[name]) != 1 || n.Attrs["to"] == nil || n.Attrs["to"].I != int64(onnx.Float) || g.take(name, "Cast") == nil {
			break
		}
		name = n.Inputs[0]
	}
	return name
}

// rows says for queries, keys, values and results whether they lie as (batch,
// rows, heads, dim) instead of (batch, heads, rows, dim).
// flat says that they lie as (batch, rows, dim), kFirst that keys do as (rows,
// batch, dim) then, as PyTorch's MultiheadAttention has them.
type rows struct{ q, k, v, out, flat, kFirst bool }

// attention finds softmax(q·kᵀ·scale + mask)·v with the transposes around it.
func (g *group) attention(n *onnx.Node) bool {
	if !g.start(n, "MatMul") || len(n.Inputs) != 2 {
		return false
	}
	var lie rows
	end := n
	// What it is turned to afterwards, if nothing else is done with it.
	if users := g.uses[n.Outputs[0]]; len(users) == 1 {
		if t := users[0]; t.Op == "Transpose" && t.Domain == "" && t.Attrs["perm"] != nil && slices.Equal(t.Attrs["perm"].Ints, []int64{0, 2, 1, 3}) {
			end, lie.out = t, true
			g.nodes = append(g.nodes[:0], t, n)
		}
	}
	weights := g.uncast(n.Inputs[0])
	// Newer exporters write zeros where a row is hidden whole.
	safe := false
	if w := g.take(weights, "Where"); w != nil {
		nan := g.take(w.Inputs[0], "IsNaN")
		if nan == nil || !g.isZero(w.Inputs[1]) || nan.Inputs[0] != w.Inputs[2] {
			return false
		}
		weights, safe = w.Inputs[2], true
	}
	soft := g.take(weights, "Softmax")
	if soft == nil {
		return false
	}
	along := int64(-1)
	if a := soft.Attrs["axis"]; a != nil {
		along = a.I
	} else if g.s.Opset < 13 {
		along = 1
	}
	var by []scaler
	scores, mask := g.uncast(soft.Inputs[0]), ""
	if add := g.take(scores, "Add"); add != nil {
		base := slices.Clone(g.nodes)
		found := false
		for _, in := range pair(add) {
			g.nodes, by = append(g.nodes[:0], base...), nil
			s := g.scaled(in[0], &by)
			if m := g.made[s]; m != nil && m.Op == "MatMul" {
				scores, mask, found = s, in[1], true
				break
			}
		}
		if !found {
			return false
		}
	} else {
		scores = g.scaled(scores, &by)
	}
	product := g.take(scores, "MatMul")
	if product == nil {
		return false
	}
	q := g.scaled(product.Inputs[0], &by)
	k := g.scaled(product.Inputs[1], &by)
	q, lie.q = g.turned(q, 0, 2, 1, 3)
	if !lie.q {
		q = g.scaled(q, &by)
		q, lie.q = g.turned(q, 0, 2, 1, 3)
	}
	if whole, ok := g.turned(k, 0, 2, 3, 1); ok {
		k, lie.k = whole, true
	} else if part, ok := g.turned(k, 0, 1, 3, 2); ok {
		k = g.scaled(part, &by)
		k, lie.k = g.turned(k, 0, 2, 1, 3)
	} else if part, ok := g.turned(k, 0, 2, 1); ok && !lie.q && !lie.out {
		k, lie.flat = g.scaled(part, &by), true
	} else if part, ok := g.turned(k, 1, 2, 0); ok && !lie.q && !lie.out {
		k, lie.flat, lie.kFirst = part, true, true
	} else {
		return false
	}
	if along != -1 && (along != 3 || lie.flat) && (along != 2 || !lie.flat) {
		return false
	}
	v := n.Inputs[1]
	if !lie.flat {
		v, lie.v = g.turned(v, 0, 2, 1, 3)
	}
	inputs := []string{q, k, v, mask}
	for _, s := range by {
		inputs = append(inputs, s.name)
	}
	return g.replace("attention", inputs, end.Outputs, attentionStep(lie, by, safe))
}

// isZero reports whether a name is a constant zero.
func (g *group) isZero(name string) bool {
	v, ok := g.scalar(name)
	return ok && v == 0
}

func attentionStep(lie rows, by []scaler, safe bool) step {
	return func(c *run.Call) []*tensor.Tensor {
		q, k, v, m := c.In[0], c.In[1], c.In[2], c.In[3]
		rank := 4
		if lie.flat {
			rank = 3
		}
		for _, t := range []*tensor.Tensor{q, k, v} {
			if t.Type != onnx.Float || len(t.Shape) != rank || t.Len() == 0 {
				return nil
			}
		}
		if m != nil && (m.Type != onnx.Float || len(m.Shape) > rank) {
			return nil
		}
		shape := []int{q.Shape[0], q.Shape[1], v.Shape[2]}
		if lie.flat { // one head
			q, k, v = oneHead(q), oneHead(k), oneHead(v)
			if m != nil && len(m.Shape) == 3 {
				m = oneHead(m)
			}
		}
		// sizes returns batch, heads, rows and dim of t, and where they lie.
		sizes := func(t *tensor.Tensor, rows bool) ([4]int, attention.Heads) {
			d := [4]int(t.Shape)
			if rows {
				return [4]int{d[0], d[2], d[1], d[3]}, attention.Heads{F: t.F, Batch: d[1] * d[2] * d[3], Head: d[3], Row: d[2] * d[3]}
			}
			return d, attention.HeadsOf(t)
		}
		a := attention.Attend{Scale: 1, Nan: !safe}
		var dq, dk, dv [4]int
		dq, a.Q = sizes(q, lie.q)
		dk, a.K = sizes(k, lie.k)
		dv, a.V = sizes(v, lie.v)
		if lie.kFirst {
			dk = [4]int{dk[2], 1, dk[0], dk[3]}
			a.K = attention.Heads{F: k.F, Batch: dk[3], Row: dk[0] * dk[3]}
		}
		if dq[0] != dk[0] || dq[1] != dk[1] || dq[3] != dk[3] || dv[0] != dk[0] || dv[1] != dk[1] || dv[2] != dk[2] {
			return nil
		}
		a.Batch, a.Heads, a.KvHeads = dq[0], dq[1], dq[1]
		a.Rows, a.Keys, a.Dim, a.VDim = dq[2], dk[2], dq[3], dv[3]
		for i, s := range by {
			t := c.In[4+i]
			if t.Type != onnx.Float || len(t.F) != 1 || len(t.Shape) > 4 {
				return nil
			}
			if s.divide {
				a.Scale /= t.F[0]
			} else {
				a.Scale *= t.F[0]
			}
		}
		if m != nil {
			if len(m.Shape) == 0 || m.Shape[len(m.Shape)-1] != a.Keys || m.Len() == 0 {
				return nil
			}
			for i, d := range m.Shape[:len(m.Shape)-1] {
				if want := []int{a.Batch, a.Heads, a.Rows}[3-(len(m.Shape)-1)+i]; d != 1 && d != want {
					return nil
				}
			}
			a.Bias, a.Width = attention.Mask(m, a.Batch, a.Heads, a.Rows, 0)
		}
		var out *tensor.Tensor
		if lie.out {
			out = c.Blank(onnx.Float, a.Batch, a.Rows, a.Heads, a.VDim)
		} else {
			out = c.Blank(onnx.Float, a.Batch, a.Heads, a.Rows, a.VDim)
		}
		_, a.Dst = sizes(out, lie.out)
		a.Run(c)
		if lie.flat {
			out = out.As(shape...)
		}
		return run.One(out)
	}
}

// oneHead returns t (batch, rows, dim) as (batch, 1, rows, dim).
func oneHead(t *tensor.Tensor) *tensor.Tensor { return t.As(t.Shape[0], 1, t.Shape[1], t.Shape[2]) }
