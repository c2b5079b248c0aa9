package onnx

import (
	"context"
	"fmt"
	"maps"

	"quern/formats/onnx"
)

// A scope is a graph or function that runs.
type scope struct {
	s     *Session
	ctx   context.Context // of Run; a scope lives no longer
	up    *scope
	body  *body
	vals  map[string]*Tensor
	attrs map[string]*onnx.Attr // of the function
	opset int64
	depth int
}

func (sc *scope) lookup(name string) *Tensor {
	for ; sc != nil; sc = sc.up {
		if t := sc.vals[name]; t != nil {
			return t
		}
		if t := sc.body.consts[name]; t != nil {
			return t
		}
	}
	return nil
}

// run runs the nodes of the scope, dropping values after their last use.
func (sc *scope) run() error {
	for i, n := range sc.body.nodes {
		sc.s.yield() // no node holds the pool here
		if err := sc.ctx.Err(); err != nil {
			return err
		}
		dies := sc.body.dies[i]
		if err := sc.node(n, sc.body.do[i], dies); err != nil {
			return err
		}
		for _, name := range dies {
			sc.unbind(name)
		}
	}
	return nil
}

// An action is what a node runs: an operator or a function.
type action struct {
	op op
	f  *onnx.Function
}

func (s *Session) action(n *onnx.Node) action {
	if f := s.calls(n); f != nil {
		return action{f: f}
	}
	return action{op: s.ops[opName(n)]}
}

// node runs one node; dies are the values it is the last to read.
func (sc *scope) node(n *onnx.Node, do action, dies []string) (err error) {
	mark := sc.s.mem.mark()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %.100q: %w", opName(n), n.Name, err)
		}
		sc.s.mem.settle(mark)
	}()
	defer rescue(&err)
	c := &call{scope: sc, n: n, in: make([]*Tensor, len(n.Inputs)), dies: dies}
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if c.in[i] = sc.lookup(name); c.in[i] == nil {
			fail("%w: no value %.100q", onnx.ErrFormat, name)
		}
	}
	var out []*Tensor
	if do.f != nil {
		out = c.function(do.f)
	} else {
		out = do.op(c)
	}
	for i, name := range n.Outputs {
		if name == "" {
			continue
		}
		if i >= len(out) || out[i] == nil {
			fail("%w: output %d", onnx.ErrUnsupported, i)
		}
		sc.s.mem.adopt(out[i], c.in, mark)
		sc.bind(name, out[i])
	}
	return nil
}

func (sc *scope) bind(name string, t *Tensor) {
	t.retain()
	sc.unbind(name)
	sc.vals[name] = t
}

func (sc *scope) unbind(name string) {
	if t := sc.vals[name]; t != nil {
		delete(sc.vals, name)
		sc.s.mem.drop(t)
	}
}

func (sc *scope) inner(b *body) *scope {
	if sc.depth == maxNesting {
		fail("%w: graphs nest deeper than %d", onnx.ErrUnsupported, maxNesting)
	}
	return &scope{
		s: sc.s, ctx: sc.ctx, up: sc, body: b, vals: make(map[string]*Tensor),
		attrs: sc.attrs, opset: sc.opset, depth: sc.depth + 1,
	}
}

// finish runs a scope and returns its outputs, held by the node that runs it.
// Those of a function may be missing.
func (sc *scope) finish(must bool) []*Tensor {
	if err := sc.run(); err != nil {
		failWith(err)
	}
	out := make([]*Tensor, len(sc.body.outputs))
	for i, name := range sc.body.outputs {
		if out[i] = sc.lookup(name); out[i] != nil {
			sc.s.mem.hold(out[i])
		} else if must {
			fail("%w: no node makes %.100q", onnx.ErrFormat, name)
		}
	}
	for name := range sc.vals {
		sc.unbind(name)
	}
	return out
}

// graph runs a graph of an attribute, which sees the values around it.
func (sc *scope) graph(g *onnx.Graph, in ...*Tensor) []*Tensor {
	if len(in) != len(g.Inputs) {
		fail("%w: graph %.100q has %d inputs, want %d", onnx.ErrFormat, g.Name, len(g.Inputs), len(in))
	}
	if err := sc.ctx.Err(); err != nil {
		failWith(err)
	}
	b := sc.inner(sc.s.bodies[g])
	for i, v := range g.Inputs {
		b.bind(v.Name, in[i])
	}
	return b.finish(true)
}

func (c *call) function(f *onnx.Function) []*Tensor {
	b := c.inner(c.s.bodies[f])
	b.up, b.attrs = nil, maps.Clone(f.Defaults)
	if b.attrs == nil {
		b.attrs = make(map[string]*onnx.Attr)
	}
	for name := range c.n.Attrs {
		if a := c.attr(name); a != nil {
			b.attrs[name] = a
		}
	}
	if v, ok := f.Opsets[""]; ok {
		b.opset = v
	}
	for i, name := range f.Inputs {
		if i < len(c.in) && c.in[i] != nil {
			b.bind(name, c.in[i])
		}
	}
	return b.finish(false)
}
