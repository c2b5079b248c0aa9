// Package fuse replaces what exporters write as many nodes by one step.
package fuse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A fuser replaces groups of nodes by one step that gives the same values.
//
// Exporters write LayerNorm, GELU or attention as a dozen nodes of elementary
// arithmetic. What types and shapes their values have is only known when they
// run, so a step looks at its inputs and, where they are not what it is written
// for, runs the nodes it stands for.
type fuser struct {
	s    *run.Session
	b    *run.Body
	made map[string]*onnx.Node // by output
	uses map[string][]*onnx.Node
	out  map[string]bool // what the body returns
	at   map[*onnx.Node]int
	gone map[*onnx.Node]bool
	put  map[*onnx.Node]*onnx.Node // what stands for the last node of a group

	*steps
}

// steps are those made so far, with their facts that later ones need.
type steps struct {
	layers map[*onnx.Node]*layer
	norms  map[*onnx.Node]*normed
	acts   map[*onnx.Node]func(dst, x, up []float32)
}

// A step computes the outputs of a group from the inputs it names; nil is a
// refusal.
type step func(c *run.Call) []*tensor.Tensor

// Body looks for groups in the nodes of a body. It runs after small constants
// were folded.
func Body(s *run.Session, b *run.Body) {
	apart(b)
	known := &steps{make(map[*onnx.Node]*layer), make(map[*onnx.Node]*normed), make(map[*onnx.Node]func(dst, x, up []float32))}
	for _, pass := range [][]func(*group, *onnx.Node) bool{
		{(*group).staticLinear, (*group).staticConv, (*group).layerNorm, (*group).gelu, (*group).attention, (*group).int8Linear, (*group).int8Conv, (*group).ended, (*group).bentNorm, (*group).swish, (*group).hidden, (*group).excerpt, (*group).shift},
		{(*group).linear, (*group).skipNorm},
		{(*group).activated},
		{(*group).quantized},
	} {
		merge(b)
		f := &fuser{s: s, b: b, steps: known, gone: make(map[*onnx.Node]bool), put: make(map[*onnx.Node]*onnx.Node)}
		f.index()
		for _, find := range pass {
			for _, n := range slices.Backward(b.Nodes) { // larger groups end later
				if !f.gone[n] && f.put[n] == nil {
					find(&group{fuser: f}, n)
				}
			}
		}
		var left []*onnx.Node
		for _, n := range b.Nodes {
			if m := f.put[n]; m != nil {
				n = m
			} else if f.gone[n] {
				continue
			}
			left = append(left, n)
		}
		b.Nodes = left
	}
}

func (f *fuser) index() {
	f.made, f.uses = run.Makers(f.b.Nodes), make(map[string][]*onnx.Node)
	f.out, f.at = make(map[string]bool), make(map[*onnx.Node]int)
	for _, name := range f.b.Outputs {
		f.out[name] = true
	}
	for i, n := range f.b.Nodes {
		f.at[n] = i
		run.Reads(n, func(name string) { f.uses[name] = append(f.uses[name], n) })
	}
}

// merge leaves one of the nodes that compute the same of the shape of a value,
// which exporters ask for again and again. Others are left alone: what two
// groups share is part of neither.
func merge(b *run.Body) {
	keep := make(map[string]bool)
	for _, name := range b.Outputs {
		keep[name] = true
	}
	known, same := make(map[string]*onnx.Node), sameConstants(b)
	ofShape := make(map[string]bool)
	var left []*onnx.Node
	for _, n := range b.Nodes {
		inputs, changed := n.Inputs, false
		for i, name := range n.Inputs {
			if other := same[name]; other != "" {
				if !changed {
					inputs, changed = slices.Clone(inputs), true
				}
				inputs[i] = other
			}
		}
		if changed {
			c := *n
			c.Inputs = inputs
			n = &c
		}
		key, ok := identity(n)
		ok = ok && (n.Op == "Shape" || len(n.Inputs) > 0)
		for _, name := range n.Inputs {
			ok = ok && (n.Op == "Shape" || ofShape[name] || b.Consts[name] != nil && !slices.Contains(b.Inputs, name))
		}
		for _, name := range n.Outputs {
			ok = ok && !keep[name] && name != ""
		}
		if first := known[key]; ok && first != nil && len(first.Outputs) == len(n.Outputs) {
			for i, name := range n.Outputs {
				same[name] = first.Outputs[i]
			}
			continue
		}
		if ok {
			known[key] = n
			for _, name := range n.Outputs {
				ofShape[name] = true
			}
		}
		left = append(left, n)
	}
	// A graph inside of a node may read a name that is gone by now.
	for _, n := range left {
		if nested(n) {
			lost := false
			run.Reads(n, func(name string) { lost = lost || same[name] != "" })
			if lost {
				return
			}
		}
	}
	b.Nodes = left
}

// sameConstants returns another name for constants that are there twice, of the
// small ones.
func sameConstants(b *run.Body) map[string]string {
	same, known := make(map[string]string), make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(b.Consts)) {
		t := b.Consts[name]
		if t.S != nil || t.Seq != nil || t.Len() > 8 || slices.Contains(b.Inputs, name) || slices.Contains(b.Outputs, name) {
			continue
		}
		v := make([]uint64, t.Len())
		for i := range v {
			if v[i] = math.Float64bits(t.At(i)); t.I != nil {
				v[i] = uint64(t.I[i])
			}
		}
		key := fmt.Sprint(t.Type, t.Shape, v)
		if known[key] == "" {
			known[key] = name
		} else {
			same[name] = known[key]
		}
	}
	return same
}

func nested(n *onnx.Node) bool {
	for _, a := range n.Attrs {
		if a.G != nil {
			return true
		}
	}
	return false
}

// identity returns what two nodes that compute the same have in common. Only
// nodes that are cheap to describe are.
func identity(n *onnx.Node) (string, bool) {
	if n.Domain != "" || run.Draws[n.Op] {
		return "", false
	}
	var attrs []string
	for name, a := range n.Attrs {
		if a.T != nil || a.G != nil || a.Ref != "" || a.Tensors != nil || a.Graphs != nil || a.Sparse != nil {
			return "", false
		}
		attrs = append(attrs, fmt.Sprintf("%q=%d %v %d %q %v %v %q", name, a.Type, a.F, a.I, a.S, a.Floats, a.Ints, a.Strings))
	}
	slices.Sort(attrs)
	return fmt.Sprintf("%q %q %q", n.Op, n.Inputs, strings.Join(attrs, ";")), true
}

// A group is nodes that may become a step.
type group struct {
	*fuser
	nodes []*onnx.Node
}

// take returns the node that makes name if it is one of some operators of
// ai.onnx, and adds it to the group.
func (g *group) take(name string, ops ...string) *onnx.Node {
	n := g.made[name]
	if n == nil || n.Domain != "" || !slices.Contains(ops, n.Op) || g.gone[n] || g.put[n] != nil || len(n.Outputs) == 0 || n.Outputs[0] != name {
		return nil
	}
	if !slices.Contains(g.nodes, n) {
		g.nodes = append(g.nodes, n)
	}
	return n
}

// start makes n, if it is one of some operators, the last node of the group.
func (g *group) start(n *onnx.Node, ops ...string) bool {
	if n.Domain != "" || !slices.Contains(ops, n.Op) || len(n.Outputs) != 1 {
		return false
	}
	g.nodes = append(g.nodes[:0], n)
	return true
}

// constant returns a constant that a caller of Run cannot replace, or nil.
func (g *group) constant(name string) *tensor.Tensor {
	if slices.Contains(g.b.Inputs, name) {
		return nil
	}
	return g.b.Consts[name]
}

// scalar returns a constant of one float.
func (g *group) scalar(name string) (float64, bool) {
	t := g.constant(name)
	if t == nil || len(t.F) != 1 {
		return 0, false
	}
	return float64(t.F[0]), true
}

// is reports whether a name is a constant near v.
func (g *group) is(name string, v float64) bool {
	f, ok := g.scalar(name)
	return ok && near(f, v)
}

// near allows for constants of 16 bits.
func near(a, b float64) bool { return max(a-b, b-a) <= max(b, -b)/2048 }

// pair returns the inputs of a node with two, in both orders.
func pair(n *onnx.Node) [][2]string {
	if n == nil || len(n.Inputs) != 2 {
		return nil
	}
	return [][2]string{{n.Inputs[0], n.Inputs[1]}, {n.Inputs[1], n.Inputs[0]}}
}

// replace puts a step with inputs in place of the group, whose last node is the
// first of its list. Values that others read must be among outputs; nothing may
// read them before the step.
func (g *group) replace(name string, inputs, outputs []string, do step) bool {
	last := g.nodes[0]
	for _, n := range g.nodes {
		if nested(n) {
			return false
		}
		for _, out := range n.Outputs {
			if out == "" {
				continue
			}
			kept := slices.Contains(outputs, out)
			if g.out[out] && !kept {
				return false
			}
			for _, user := range g.uses[out] {
				if slices.Contains(g.nodes, user) {
					continue
				}
				if !kept || g.at[user] < g.at[last] {
					return false
				}
			}
		}
	}
	// The nodes in the order they run, for when the step refuses.
	nodes := slices.Clone(g.nodes)
	slices.SortFunc(nodes, func(a, b *onnx.Node) int { return g.at[a] - g.at[b] })
	if nodes[len(nodes)-1] != last {
		return false
	}
	made := make(map[string]bool)
	all := slices.Clone(inputs)
	for _, n := range nodes {
		for _, in := range n.Inputs {
			if in != "" && !made[in] && !slices.Contains(all, in) {
				all = append(all, in)
			}
		}
		for _, out := range n.Outputs {
			made[out] = true
		}
	}
	m := &onnx.Node{Name: last.Name, Inputs: all, Outputs: outputs}
	g.s.Define(m, name, func(c *run.Call) []*tensor.Tensor {
		if out := do(c); out != nil {
			return out
		}
		return c.Replay(nodes, outputs)
	})
	for _, n := range nodes {
		g.gone[n] = true
	}
	delete(g.gone, last)
	g.put[last] = m
	return true
}
