package run

import (
	"context"
	"fmt"
	"maps"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// A scope is a graph or function that runs.
type scope struct {
	s     *Session
	ctx   context.Context // of Run; a scope lives no longer
	up    *scope
	body  *Body
	vals  map[string]*tensor.Tensor
	attrs map[string]*onnx.Attr // of the function
	Opset int64
	depth int
}

func (sc *scope) lookup(name string) *tensor.Tensor {
	for ; sc != nil; sc = sc.up {
		if t := sc.vals[name]; t != nil {
			return t
		}
		if t := sc.body.Consts[name]; t != nil {
			return t
		}
	}
	return nil
}

// run runs the nodes of the scope, dropping values after their last use.
func (sc *scope) run() error {
	for i, n := range sc.body.Nodes {
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
	op Op
	f  *onnx.Function
}

func (s *Session) action(n *onnx.Node) action {
	if f := s.calls(n); f != nil {
		return action{f: f}
	}
	return action{op: s.with.Table[OpName(n)]}
}

// node runs one node; dies are the values it is the last to read.
func (sc *scope) node(n *onnx.Node, do action, dies []string) (err error) {
	mark := sc.s.mem.Mark()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %.100q: %w", OpName(n), n.Name, err)
		}
		sc.s.mem.Settle(mark)
	}()
	defer tensor.Rescue(&err)
	c := &Call{scope: sc, Node: n, In: make([]*tensor.Tensor, len(n.Inputs)), dies: dies}
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if c.In[i] = sc.lookup(name); c.In[i] == nil {
			tensor.Malformed("no value %.100q", name)
		}
	}
	var out []*tensor.Tensor
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
			tensor.Unsupported("output %d", i)
		}
		sc.s.mem.Adopt(out[i], c.In, mark)
		sc.bind(name, out[i])
	}
	return nil
}

func (sc *scope) bind(name string, t *tensor.Tensor) {
	t.Retain()
	sc.unbind(name)
	sc.vals[name] = t
}

func (sc *scope) unbind(name string) {
	if t := sc.vals[name]; t != nil {
		delete(sc.vals, name)
		sc.s.mem.Drop(t)
	}
}

func (sc *scope) inner(b *Body) *scope {
	if sc.depth == maxNesting {
		tensor.Unsupported("graphs nest deeper than %d", maxNesting)
	}
	return &scope{
		s: sc.s, ctx: sc.ctx, up: sc, body: b, vals: make(map[string]*tensor.Tensor),
		attrs: sc.attrs, Opset: sc.Opset, depth: sc.depth + 1,
	}
}

// finish runs a scope and returns its outputs, held by the node that runs it.
// Those of a function may be missing.
func (sc *scope) finish(must bool) []*tensor.Tensor {
	if err := sc.run(); err != nil {
		tensor.Fail(err)
	}
	out := make([]*tensor.Tensor, len(sc.body.Outputs))
	for i, name := range sc.body.Outputs {
		if out[i] = sc.lookup(name); out[i] != nil {
			sc.s.mem.Hold(out[i])
		} else if must {
			tensor.Malformed("no node makes %.100q", name)
		}
	}
	for name := range sc.vals {
		sc.unbind(name)
	}
	return out
}

// Graph runs a graph of an attribute, which sees the values around it.
func (sc *scope) Graph(g *onnx.Graph, in ...*tensor.Tensor) []*tensor.Tensor {
	if len(in) != len(g.Inputs) {
		tensor.Malformed("graph %.100q has %d inputs, want %d", g.Name, len(g.Inputs), len(in))
	}
	if err := sc.ctx.Err(); err != nil {
		tensor.Fail(err)
	}
	b := sc.inner(sc.s.bodies[g])
	for i, v := range g.Inputs {
		b.bind(v.Name, in[i])
	}
	return b.finish(true)
}

func (c *Call) function(f *onnx.Function) []*tensor.Tensor {
	b := c.inner(c.s.bodies[f])
	b.up, b.attrs = nil, maps.Clone(f.Defaults)
	if b.attrs == nil {
		b.attrs = make(map[string]*onnx.Attr)
	}
	for name := range c.Node.Attrs {
		if a := c.Attr(name); a != nil {
			b.attrs[name] = a
		}
	}
	if v, ok := f.Opsets[""]; ok {
		b.Opset = v
	}
	for i, name := range f.Inputs {
		if i < len(c.In) && c.In[i] != nil {
			b.bind(name, c.In[i])
		}
	}
	return b.finish(false)
}
