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
	mark := len(sc.s.mem.held)
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
	t.buffers(func(b *buffer) { b.refs++ })
	sc.unbind(name)
	sc.vals[name] = t
}

func (sc *scope) unbind(name string) {
	if t := sc.vals[name]; t != nil {
		delete(sc.vals, name)
		t.buffers(sc.s.mem.drop)
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
		panic(failure{err})
	}
	out := make([]*Tensor, len(sc.body.outputs))
	for i, name := range sc.body.outputs {
		if out[i] = sc.lookup(name); out[i] != nil {
			out[i].buffers(sc.s.mem.hold)
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
		panic(failure{err})
	}
	b := sc.inner(sc.s.bodies[g])
	for i, v := range g.Inputs {
		b.bind(v.Name, in[i])
	}
	return b.finish(true)
}

// An op computes the outputs of a node.
type op func(c *call) []*Tensor

// A call is a node that runs.
type call struct {
	*scope
	n    *onnx.Node
	in   []*Tensor
	dies []string
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

// opt returns input i or nil, x fails without it. Both unpack what is kept as
// bytes; c.in does not.
func (c *call) opt(i int) *Tensor {
	if i >= len(c.in) || c.in[i] == nil {
		return nil
	}
	c.in[i] = c.in[i].whole()
	return c.in[i]
}

func (c *call) x(i int) *Tensor {
	t := c.opt(i)
	if t == nil {
		fail("%w: input %d is missing", onnx.ErrFormat, i)
	}
	return t
}

// all returns every input, unpacked; those left out are nil.
func (c *call) all() []*Tensor {
	for i := range c.in {
		c.opt(i)
	}
	return c.in
}

// blank returns a tensor from the memory of the Session, with undefined
// contents. It goes back there when the node ends, unless it, or a tensor that
// lies in it, is a result; so nothing else may keep it. Only the goroutine of
// the operator may call this, zeros and reuse.
func (c *call) blank(t onnx.DType, shape ...int) *Tensor { return c.s.mem.blank(t, shape...) }

// fits fails where the limit leaves no room for such a tensor.
func (c *call) fits(t onnx.DType, shape ...int) {
	width := int64(8)
	if isFloat(t) {
		width = 4
	}
	bytes := width * int64(count(shape))
	c.s.mem.grow(bytes)
	c.s.mem.live -= bytes
}

// zeros is blank with zeros.
func (c *call) zeros(t onnx.DType, shape ...int) *Tensor {
	x := c.blank(t, shape...)
	clear(x.F)
	clear(x.D)
	clear(x.I)
	return x
}

// blankRaw is blank for a tensor of an 8-bit type that has its elements in Raw.
// Operators that ask for x get it unpacked.
func (c *call) blankRaw(t onnx.DType, shape ...int) *Tensor { return c.s.mem.raw(t, shape...) }

// reuse returns input i for writing, where nobody reads it afterwards, and
// otherwise a blank tensor of its type and shape.
func (c *call) reuse(i int) *Tensor {
	t := c.in[i]
	if c.mine(i) {
		return t.as(t.Shape...)
	}
	return c.blank(t.Type, t.Shape...)
}

// mine reports whether this node is the last to read input i.
func (c *call) mine(i int) bool {
	t := c.in[i]
	if t.buf == nil || t.buf.words == nil || t.buf.refs != 1 || t.Raw != nil {
		return false
	}
	for _, name := range c.dies {
		if name == c.n.Inputs[i] && c.vals[name] == t {
			return true
		}
	}
	return false
}

// attr returns an attribute or nil, after references to those of a function.
func (c *call) attr(name string) *onnx.Attr {
	a := c.n.Attrs[name]
	if a != nil && a.Ref != "" {
		return c.attrs[a.Ref]
	}
	return a
}

func (c *call) int(name string, missing int) int {
	if a := c.attr(name); a != nil {
		return int(a.I)
	}
	return missing
}

func (c *call) float(name string, missing float32) float64 {
	if a := c.attr(name); a != nil {
		missing = a.F
	}
	return float64(missing)
}

func (c *call) text(name, missing string) string {
	if a := c.attr(name); a != nil {
		return a.S
	}
	return missing
}

// list returns integers that are an attribute or, in later opsets, input i.
func (c *call) list(name string, i int) []int {
	if i >= 0 {
		if t := c.opt(i); t != nil {
			return t.list()
		}
	}
	a := c.attr(name)
	if a == nil {
		return nil
	}
	v := make([]int, len(a.Ints))
	for i, d := range a.Ints {
		v[i] = int(d)
	}
	return v
}

func (t *Tensor) list() []int {
	t = t.whole()
	if t.F != nil || t.D != nil || t.S != nil || t.Seq != nil {
		fail("%w: integers are wanted, not %v", onnx.ErrFormat, t.Type)
	}
	v := make([]int, len(t.I))
	for i, d := range t.I {
		v[i] = int(d)
	}
	return v
}

func (t *Tensor) scalar() *Tensor {
	if t.len() != 1 {
		fail("%w: a scalar is wanted, not shape %d", onnx.ErrFormat, t.Shape)
	}
	return t
}
