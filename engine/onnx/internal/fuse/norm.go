package fuse

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// lastMean returns what name is the mean of along the last axis, which is that
// of rank, or -1 for any.
func (g *group) lastMean(name string) (of string, rank int, ok bool) {
	n := g.take(name, "ReduceMean")
	if n == nil {
		return "", 0, false
	}
	if k := n.Attrs["keepdims"]; k != nil && k.I != 1 {
		return "", 0, false
	}
	var axes []int64
	if a := n.Attrs["axes"]; a != nil {
		axes = a.Ints
	} else if len(n.Inputs) == 2 {
		if t := g.constant(n.Inputs[1]); t != nil {
			axes = t.I
		}
	}
	if len(axes) != 1 || axes[0] < -1 {
		return "", 0, false
	}
	if axes[0] == -1 {
		return n.Inputs[0], -1, true
	}
	return n.Inputs[0], int(axes[0]) + 1, true
}

// square returns what name is the square of.
func (g *group) square(name string) (string, bool) {
	n := g.take(name, "Pow", "Mul")
	if n == nil || len(n.Inputs) != 2 {
		return "", false
	}
	if n.Op == "Pow" && g.is(n.Inputs[1], 2) || n.Op == "Mul" && n.Inputs[0] == n.Inputs[1] {
		return n.Inputs[0], true
	}
	return "", false
}

// layerNorm finds (x - mean) / √(variance + eps) · gain + bias and x / √(mean of
// squares + eps) · gain.
func (g *group) layerNorm(n *onnx.Node) bool {
	for _, add := range pair(n) {
		if !g.start(n, "Add") {
			break
		}
		scaled := g.take(add[0], "Mul")
		for _, mul := range pair(scaled) {
			g.nodes = append(g.nodes[:0], n, scaled)
			if g.normal(mul[0], mul[1], add[1]) {
				return true
			}
		}
	}
	for _, mul := range pair(n) {
		if g.start(n, "Mul") && g.normal(mul[0], mul[1], "") {
			return true
		}
	}
	return false
}

// normal is layerNorm from the quotient on.
func (g *group) normal(quotient, gain, bias string) bool {
	last := g.nodes[0]
	div := g.take(quotient, "Div", "Mul")
	if div == nil || len(div.Inputs) != 2 {
		return false
	}
	base := slices.Clone(g.nodes)
	for _, in := range pair(div) {
		g.nodes = append(g.nodes[:0], base...)
		top, below := in[0], in[1]
		if div.Op == "Mul" { // by one over the root
			r := g.take(below, "Reciprocal", "Div")
			if r == nil || r.Op == "Div" && !g.is(r.Inputs[0], 1) {
				continue
			}
			below = r.Inputs[len(r.Inputs)-1]
		} else if top != div.Inputs[0] {
			continue
		}
		root := g.take(below, "Sqrt")
		if root == nil {
			continue
		}
		sum := g.take(root.Inputs[0], "Add")
		if sum == nil {
			continue
		}
		for _, terms := range pair(sum) {
			eps, ok := g.scalar(terms[1])
			of, rank, isMean := g.lastMean(terms[0])
			if !ok || !isMean {
				continue
			}
			d, isSquare := g.square(of)
			if !isSquare {
				continue
			}
			x, simple := top, true
			if d != top || bias != "" {
				// The mean is taken off, perhaps by two nodes.
				simple = false
				a, b := g.take(top, "Sub"), g.take(d, "Sub")
				if a == nil || b == nil || len(a.Inputs) != 2 || !slices.Equal(a.Inputs, b.Inputs) {
					continue
				}
				x = a.Inputs[0]
				from, r, isMean := g.lastMean(a.Inputs[1])
				if !isMean || from != x || r != rank {
					continue
				}
			} else if g.made[d] != nil && g.made[d].Op == "Sub" {
				continue // a norm without bias, which is left alone
			}
			inputs := []string{gain}
			if bias != "" {
				inputs = append(inputs, bias)
			}
			return g.normOf(x, inputs, last.Outputs[0], rank, float32(eps), simple)
		}
	}
	return false
}

// skipNorm finds LayerNormalization of a sum.
func (g *group) skipNorm(n *onnx.Node) bool {
	if !g.start(n, "LayerNormalization") || len(n.Inputs) != 3 {
		return false
	}
	a, eps := n.Attrs["axis"], float32(1e-5)
	if e := n.Attrs["epsilon"]; e != nil {
		eps = e.F
	}
	if a != nil && a.I != -1 || g.made[n.Inputs[0]] == nil || g.made[n.Inputs[0]].Op != "Add" {
		return false
	}
	return g.normOf(n.Inputs[0], n.Inputs[1:], n.Outputs[0], -1, eps, false)
}

// normOf replaces a norm of x, together with the sum x may be.
func (g *group) normOf(x string, weights []string, out string, rank int, eps float32, simple bool) bool {
	base := slices.Clone(g.nodes)
	if add := g.take(x, "Add"); add != nil && len(add.Inputs) == 2 && add.Inputs[0] != add.Inputs[1] {
		inputs := append(slices.Clone(add.Inputs), weights...)
		for _, outputs := range [][]string{{out}, {out, x}} {
			if g.norm(inputs, outputs, &normed{2, rank, eps, simple, len(outputs) == 2}) {
				return true
			}
		}
	}
	g.nodes = append(g.nodes[:0], base...)
	if g.nodes[0].Op == "LayerNormalization" {
		return false // nothing gained
	}
	return g.norm(append([]string{x}, weights...), []string{out}, &normed{1, rank, eps, simple, false})
}

// norm replaces the group by a norm.
func (g *group) norm(inputs, outputs []string, l *normed) bool {
	last := g.nodes[0]
	ok := g.replace("norm", inputs, outputs, func(c *run.Call) []*tensor.Tensor { return l.run(c, nil) })
	if ok {
		g.norms[g.put[last]] = l
	}
	return ok
}

// A normed is a step that normalizes one input or the sum of two terms, which it
// returns, too, with sums. A simple one has no mean and no shift.
type normed struct {
	terms, rank  int
	eps          float32
	simple, sums bool
}

// run computes a norm; it returns nil where its inputs are not what it is written
// for. Then, if not nil, is called for all of the normalized rows, some at a time,
// by the worker that made them.
func (l *normed) run(c *run.Call, then func(worker int, rows []float32)) []*tensor.Tensor {
	x, w := c.In[0], c.In[l.terms]
	n := len(w.F)
	if x.Type != onnx.Float || w.Type != onnx.Float || len(x.Shape) == 0 || l.rank >= 0 && l.rank != len(x.Shape) || n == 0 || x.Shape[len(x.Shape)-1] != n || len(w.Shape) > len(x.Shape) {
		return nil
	}
	var shift, more []float32
	if !l.simple {
		b := c.In[l.terms+1]
		if shift = b.F; b.Type != onnx.Float || len(shift) != n || len(b.Shape) > len(x.Shape) {
			return nil
		}
	}
	if l.terms == 2 {
		if more = c.In[1].F; c.In[1].Type != onnx.Float || !slices.Equal(c.In[1].Shape, x.Shape) {
			return nil
		}
	}
	out := c.Reuse(0)
	res, sums := run.One(out), out
	if l.sums {
		sums = c.Blank(onnx.Float, x.Shape...)
		res = append(res, sums)
	}
	rows := len(x.F) / n
	per := max(1, run.PerChunk/(4*n))
	c.SpreadOut((rows+per-1)/per, func(worker, i int) {
		from, to := i*per*n, min((i+1)*per, rows)*n
		for at := from; at < to; at += n {
			dst, src := out.F[at:at+n], x.F[at:at+n]
			if more != nil {
				sum := sums.F[at : at+n]
				vec.Add(sum, src, more[at:at+n])
				src = sum
			}
			if l.simple {
				vec.RMSNorm(dst, src, w.F, l.eps)
			} else {
				vec.LayerNorm(dst, src, w.F, shift, l.eps)
			}
		}
		if then != nil {
			then(worker, out.F[from:to])
		}
	})
	return res
}

// A flat is a product taken apart: a constant and what it is multiplied with.
type flat struct {
	by    float64
	names []string
}

// factors takes the product that makes name apart, as far as its parts are read
// by it only.
func (g *group) factors(name string, depth int) flat {
	if v, ok := g.scalar(name); ok {
		return flat{by: v}
	}
	n := g.made[name]
	if depth == 0 || n == nil || len(n.Inputs) != 2 || n.Domain != "" || len(g.nodes) > 0 && len(g.uses[name]) != 1 {
		return flat{1, []string{name}}
	}
	switch n.Op {
	case "Div":
		if v, ok := g.scalar(n.Inputs[1]); ok && v != 0 && g.take(name, "Div") != nil {
			p := g.factors(n.Inputs[0], depth-1)
			p.by /= v
			return p
		}
	case "Mul":
		if g.take(name, "Mul") != nil {
			p, q := g.factors(n.Inputs[0], depth-1), g.factors(n.Inputs[1], depth-1)
			return flat{p.by * q.by, append(p.names, q.names...)}
		}
	case "Pow":
		if v, ok := g.scalar(n.Inputs[1]); ok && (v == 2 || v == 3) && g.take(name, "Pow") != nil {
			return flat{1, slices.Repeat(n.Inputs[:1], int(v))}
		}
	}
	return flat{1, []string{name}}
}

// only reports whether a product is by times n times x.
func (p flat) only(by float64, x string, n int) bool {
	if !near(p.by, by) || len(p.names) != n {
		return false
	}
	for _, name := range p.names {
		if name != x {
			return false
		}
	}
	return true
}

// gelu finds x/2 · (1 + erf(x/√2)) and x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))),
// however their products are bracketed.
func (g *group) gelu(n *onnx.Node) bool {
	if n.Domain != "" || n.Op != "Mul" && n.Op != "Div" || len(n.Outputs) != 1 {
		return false
	}
	p := g.factors(n.Outputs[0], 4)
	if !near(p.by, 0.5) || len(p.names) != 2 || len(g.nodes) == 0 || g.nodes[0] != n {
		return false
	}
	base := slices.Clone(g.nodes)
	for i, x := range p.names {
		g.nodes = append(g.nodes[:0], base...)
		sum := g.take(p.names[1-i], "Add")
		for _, in := range pair(sum) {
			if !g.is(in[1], 1) {
				continue
			}
			f := g.take(in[0], "Erf", "Tanh")
			if f == nil {
				continue
			}
			do, ok := vec.GELU, false
			if f.Op == "Erf" {
				ok = g.factors(f.Inputs[0], 3).only(math.Sqrt2/2, x, 1)
			} else {
				do, ok = vec.GELUTanh, g.cubic(f.Inputs[0], x)
			}
			if ok {
				ok = g.replace("gelu", []string{x}, n.Outputs, actStep(do))
				if ok {
					g.acts[g.put[n]] = do
				}
				return ok
			}
		}
	}
	return false
}

// cubic reports whether name is √(2/π)·(x + 0.044715·x³), or the same with x taken
// out of the brackets.
func (g *group) cubic(name, x string) bool {
	const root, third = 0.7978845608028654, 0.044715
	p := g.factors(name, 3)
	if !near(p.by, root) || len(p.names) == 0 || len(p.names) > 2 {
		return false
	}
	for _, inner := range p.names {
		out := len(p.names) == 2
		if out && (inner == x || !slices.Contains(p.names, x)) {
			continue
		}
		for _, in := range pair(g.take(inner, "Add")) {
			if !out && in[0] == x && g.factors(in[1], 4).only(third, x, 3) || out && g.is(in[0], 1) && g.factors(in[1], 4).only(third, x, 2) {
				return true
			}
		}
	}
	return false
}

// swish finds x · σ(x).
func (g *group) swish(n *onnx.Node) bool {
	for _, in := range pair(n) {
		if !g.start(n, "Mul") {
			return false
		}
		if of := g.take(in[1], "Sigmoid"); of == nil || of.Inputs[0] != in[0] {
			continue
		}
		if g.replace("swish", in[:1], n.Outputs, actStep(vec.SiLU)) {
			g.acts[g.put[n]] = vec.SiLU
			return true
		}
	}
	return false
}

func actStep(do func(dst, x, up []float32)) step {
	return func(c *run.Call) []*tensor.Tensor {
		x := c.In[0]
		if x.Type != onnx.Float {
			return nil
		}
		out := c.Reuse(0)
		c.ByRows(len(x.F), 8, func(from, to int) { do(out.F[from:to], x.F[from:to], nil) })
		return run.One(out)
	}
}
