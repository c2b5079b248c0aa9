package onnx

import (
	"math"
	"math/rand/v2"
	"reflect"

	"quern/formats/onnx"
	"quern/kernels/threads"
)

// again runs an operator of ai.onnx on tensors, with attributes by name.
func (c *call) again(op string, attrs map[string]*onnx.Attr, in ...*Tensor) *Tensor {
	out := c.s.ops[op](c.sub(op, attrs, []string{""}, in))
	if len(out) == 0 || out[0] == nil {
		fail("%w: no result of %s", onnx.ErrFormat, op)
	}
	return out[0]
}

// resolved returns the attributes of a node, those of a function in place of
// references to them.
func (c *call) resolved() map[string]*onnx.Attr {
	attrs := make(map[string]*onnx.Attr)
	for name := range c.n.Attrs {
		if a := c.attr(name); a != nil {
			attrs[name] = a
		}
	}
	return attrs
}

// bare returns input i as it is, perhaps as bytes only, or nil.
func (c *call) bare(i int) *Tensor {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// must is bare of an input that may not be left out.
func (c *call) must(i int) *Tensor {
	t := c.bare(i)
	if t == nil {
		fail("%w: input %d is missing", onnx.ErrFormat, i)
	}
	return t
}

// random returns the source of an operator: one of its own where it has a seed,
// the Session's otherwise.
func (c *call) random() *rand.Rand {
	if a := c.attr("seed"); a != nil {
		return rand.New(rand.NewPCG(uint64(math.Float32bits(a.F)), uint64(a.I)))
	}
	return c.s.random
}

func (c *call) dtype(missing onnx.DType) onnx.DType {
	if a := c.attr("dtype"); a != nil {
		return onnx.DType(a.I)
	}
	return missing
}

// subgraph returns the graph of an attribute.
func (c *call) subgraph(name string) *onnx.Graph {
	a := c.attr(name)
	if a == nil || a.G == nil || c.s.bodies[a.G] == nil {
		fail("%w: no graph %s", onnx.ErrFormat, name)
	}
	return a.G
}

// An op computes the outputs of a node.
type op func(c *call) []*Tensor

// A table is operators by name, those of other domains with the domain before it.
type table map[string]op

// join returns what tables hold together. No operator may be in two of them.
func join(tables ...table) table {
	all := make(table)
	for _, t := range tables {
		for name, do := range t {
			if all[name] != nil {
				panic("onnx: two operators " + name)
			}
			all[name] = do
		}
	}
	return all
}

// A call is a node that runs.
type call struct {
	*scope
	n    *onnx.Node
	in   []*Tensor
	dies []string
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
	c.s.mem.fits(width * int64(count(shape)))
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
	if !t.alone() {
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

// pool is what work is spread over.
func (c *call) pool() *threads.Pool { return c.s.pool }

// yield lets others use the pool, where an operator runs long without it.
func (c *call) yield() { c.s.yield() }

// check fails when the caller of Run has gone.
func (c *call) check() {
	if err := c.ctx.Err(); err != nil {
		failWith(err)
	}
}

// constant returns a tensor of the model, the same at every call.
func (c *call) constant(f *onnx.Tensor) *Tensor {
	t, err := c.s.constant(f)
	if err != nil {
		failWith(err)
	}
	return t
}

// release drops a result of graph before the node ends.
func (c *call) release(t *Tensor) { c.s.mem.unhold(t) }

// charge counts bytes that an operator keeps beside tensors against the limit of
// the Session, credit takes them back.
func (c *call) charge(bytes int64) { c.s.mem.grow(bytes) }

func (c *call) credit(bytes int64) { c.s.mem.shrink(bytes) }

// kept returns what operators keep with the Session, one value of each type, zero
// at first. Only the goroutine of the operator may call it.
func kept[T any](c *call) *T {
	k, ok := c.s.kept[reflect.TypeFor[T]()].(*T)
	if !ok {
		k = new(T)
		c.s.kept[reflect.TypeFor[T]()] = k
	}
	return k
}

// sub returns the call of another operator, on tensors instead of names.
func (c *call) sub(op string, attrs map[string]*onnx.Attr, outputs []string, in []*Tensor) *call {
	return &call{scope: c.scope, n: &onnx.Node{Op: op, Attrs: attrs, Inputs: make([]string, len(in)), Outputs: outputs}, in: in}
}

// under returns the call as one of another opset.
func (c *call) under(opset int64) *call {
	inner, scope := *c, *c.scope
	inner.scope, scope.opset = &scope, opset
	return &inner
}

// replay runs nodes one by one and returns the values of outputs.
func (c *call) replay(nodes []*onnx.Node, outputs []string) []*Tensor {
	for _, n := range nodes {
		if err := c.node(n, c.s.action(n), nil); err != nil {
			failWith(err)
		}
	}
	res := make([]*Tensor, len(outputs))
	for i, name := range outputs {
		res[i] = c.vals[name]
		c.s.mem.hold(res[i])
	}
	for _, n := range nodes {
		for _, name := range n.Outputs {
			c.unbind(name)
		}
	}
	return res
}
