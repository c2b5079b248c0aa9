// Package run plans graphs and runs them: a Session, its bodies and scopes, and the
// Call that an operator is given.
//
// How operators are written:
//
//   - An Op is a function of its Call: c.X(i) and c.Opt(i) are its inputs, c.Int,
//     c.Float, c.Text, c.List and c.Attr its attributes. What is wrong with them
//     is told by tensor.Malformed and tensor.Unsupported, also from work on the pool
//     (c.SpreadOut, c.ByRows).
//   - c.Packed(i) may be packed (Raw set, I nil; 8 bits and less): only what reads
//     Raw asks for it. An operator may return such a tensor too (c.BlankRaw).
//   - Results come from c.Blank (contents undefined) or c.Zeros: these are drawn
//     from the Session's memory, held against its limit before they are made, and
//     recycled. t.Pick and t.To do the same. What they make must not be kept past
//     the call: caches take make or tensor.New. Scratch may come from them too: it
//     goes back when the node ends.
//   - c.Reuse(i) is c.Blank of input i's type and shape, or that very input
//     where no node reads it later: for operators that may work in place.
//   - c.View(t, base, shape, step) reads t with any steps: transpose, slice,
//     expand; NewGrid(out, shapes...).Rows(c, f) goes over broadcast operands. Both
//     use the pool and make no list of indices.
//   - A sequence is a Tensor with Seq, an optional without a value one with
//     neither Type nor Seq (t.None()).
//   - Inputs are never written to, and loops that may be long call c.Check.
//   - What an operator makes of constants is Prepared once; nothing else stays from
//     call to call, scratch aside (Kept).
package run

import (
	"math"
	"math/rand/v2"
	"reflect"

	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// An Op computes the outputs of a node.
type Op func(c *Call) []*tensor.Tensor

// One returns t as the outputs of an operator that has one.
func One(t *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{t} }

// A Call is a node that runs.
type Call struct {
	*scope
	Node *onnx.Node
	In   []*tensor.Tensor // nil where one is left out; may be packed, see Packed
	dies []string
}

// Opt returns input i or nil, X fails without it. Both unpack what is kept as
// bytes.
func (c *Call) Opt(i int) *tensor.Tensor {
	if i >= len(c.In) || c.In[i] == nil {
		return nil
	}
	c.In[i] = c.In[i].Whole()
	return c.In[i]
}

// X returns input i.
func (c *Call) X(i int) *tensor.Tensor { return present(c.Opt(i), i) }

// OptPacked returns input i as it is, perhaps as bytes only, or nil; Packed fails
// without it.
func (c *Call) OptPacked(i int) *tensor.Tensor {
	if i < len(c.In) {
		return c.In[i]
	}
	return nil
}

// Packed returns input i as it is, perhaps as bytes only.
func (c *Call) Packed(i int) *tensor.Tensor { return present(c.OptPacked(i), i) }

func present(t *tensor.Tensor, i int) *tensor.Tensor {
	if t == nil {
		tensor.Malformed("input %d is missing", i)
	}
	return t
}

// All returns every input, unpacked; those left out are nil.
func (c *Call) All() []*tensor.Tensor {
	for i := range c.In {
		c.Opt(i)
	}
	return c.In
}

// Attr returns an attribute or nil, after references to those of a function.
func (c *Call) Attr(name string) *onnx.Attr {
	a := c.Node.Attrs[name]
	if a != nil && a.Ref != "" {
		return c.attrs[a.Ref]
	}
	return a
}

// Attrs returns the attributes of a node, those of a function in place of
// references to them.
func (c *Call) Attrs() map[string]*onnx.Attr {
	attrs := make(map[string]*onnx.Attr)
	for name := range c.Node.Attrs {
		if a := c.Attr(name); a != nil {
			attrs[name] = a
		}
	}
	return attrs
}

// Int returns an attribute, missing where it is left out.
func (c *Call) Int(name string, missing int) int {
	if a := c.Attr(name); a != nil {
		return int(a.I)
	}
	return missing
}

// Float returns an attribute, missing where it is left out.
func (c *Call) Float(name string, missing float32) float64 {
	if a := c.Attr(name); a != nil {
		missing = a.F
	}
	return float64(missing)
}

// Text returns an attribute, missing where it is left out.
func (c *Call) Text(name, missing string) string {
	if a := c.Attr(name); a != nil {
		return a.S
	}
	return missing
}

// DType returns the attribute dtype, missing where it is left out.
func (c *Call) DType(missing onnx.DType) onnx.DType {
	return c.Between(onnx.DType(c.Int("dtype", int(missing))))
}

// List returns integers that are an attribute or, in later opsets, input i; no
// input where i is negative.
func (c *Call) List(name string, i int) []int {
	if i >= 0 {
		if t := c.Opt(i); t != nil {
			return t.List()
		}
	}
	a := c.Attr(name)
	if a == nil {
		return nil
	}
	v := make([]int, len(a.Ints))
	for i, d := range a.Ints {
		v[i] = int(d)
	}
	return v
}

// Subgraph returns the graph of an attribute, see Graph.
func (c *Call) Subgraph(name string) *onnx.Graph {
	a := c.Attr(name)
	if a == nil || a.G == nil || c.s.bodies[a.G] == nil {
		tensor.Malformed("no graph %s", name)
	}
	return a.G
}

// Constant returns a tensor of the model, the same at every call.
func (c *Call) Constant(f *onnx.Tensor) *tensor.Tensor {
	t, err := c.s.constant(f)
	if err != nil {
		tensor.Fail(err)
	}
	return t
}

// Blank returns a tensor from the memory of the Session, with undefined
// contents. It goes back there when the node ends, unless it, or a tensor that
// lies in it, is a result; so nothing else may keep it. Only the goroutine of
// the operator may call this, Zeros and Reuse.
func (c *Call) Blank(t onnx.DType, shape ...int) *tensor.Tensor { return c.s.mem.Blank(t, shape...) }

// BlankRaw is Blank for a tensor of an 8-bit type that has its elements in Raw.
// Operators that ask for X get it unpacked.
func (c *Call) BlankRaw(t onnx.DType, shape ...int) *tensor.Tensor { return c.s.mem.Raw(t, shape...) }

// Zeros is Blank with zeros.
func (c *Call) Zeros(t onnx.DType, shape ...int) *tensor.Tensor {
	x := c.Blank(t, shape...)
	clear(x.F)
	clear(x.D)
	clear(x.I)
	return x
}

// Reuse returns input i for writing, where no node reads it afterwards, and
// otherwise a blank tensor of its type and shape.
func (c *Call) Reuse(i int) *tensor.Tensor {
	t := c.In[i]
	if c.Mine(i) {
		return t.As(t.Shape...)
	}
	return c.Blank(t.Type, t.Shape...)
}

// Grown returns a float32 tensor of that shape, whose first elements are those of input i where
// that says so: a value that grows and grows, as in a DenseNet, is not copied each time. Only
// for an input that no node reads afterwards.
func (c *Call) Grown(i int, shape ...int) (t *tensor.Tensor, begun bool) {
	if t = c.In[i].Grown(shape...); t != nil {
		return t, true
	}
	return c.s.mem.Roomy(tensor.Count(shape), shape...), false
}

// Mine reports whether this node is the last to read input i.
func (c *Call) Mine(i int) bool {
	t := c.In[i]
	if !t.Alone() {
		return false
	}
	for _, name := range c.dies {
		if name == c.Node.Inputs[i] && c.vals[name] == t {
			return true
		}
	}
	return false
}

// Fits fails where the limit leaves no room for such a tensor.
func (c *Call) Fits(t onnx.DType, shape ...int) {
	width := int64(8)
	if tensor.IsFloat(t) {
		width = 4
	}
	c.s.mem.Fits(width * int64(tensor.Count(shape)))
}

// Charge counts bytes that an operator keeps beside tensors against the limit of
// the Session, Credit takes them back.
func (c *Call) Charge(bytes int64) { c.s.mem.Grow(bytes) }

// Credit takes back what was charged.
func (c *Call) Credit(bytes int64) { c.s.mem.Shrink(bytes) }

// Release drops a result of Graph before the node ends.
func (c *Call) Release(t *tensor.Tensor) { c.s.mem.Unhold(t) }

// Kept returns what operators keep with the Session, one value of each type, zero
// at first. Only the goroutine of the operator may call it.
func Kept[T any](c *Call) *T {
	k, ok := c.s.kept[reflect.TypeFor[T]()].(*T)
	if !ok {
		k = new(T)
		c.s.kept[reflect.TypeFor[T]()] = k
	}
	return k
}

// Prepared returns what make returns, and where fixed the same at every call with
// that key: what is laid out of constants. Each use has a type of key of its own.
// Only the goroutine of the operator may call it.
func Prepared[K comparable, T any](c *Call, key K, fixed bool, make func() T) T {
	known := Kept[map[K]T](c)
	t, ok := (*known)[key]
	if ok && fixed {
		return t
	}
	if t = make(); fixed {
		if *known == nil {
			*known = map[K]T{}
		}
		(*known)[key] = t
	}
	return t
}

// Random returns the source of an operator: one of its own where it has a seed,
// the Session's otherwise.
func (c *Call) Random() *rand.Rand {
	if a := c.Attr("seed"); a != nil {
		return rand.New(rand.NewPCG(uint64(math.Float32bits(a.F)), uint64(a.I)))
	}
	return c.s.random
}

// Pool is what work is spread over, see SpreadOut.
func (c *Call) Pool() *threads.Pool { return c.s.pool }

// Yield lets others use the pool, where an operator runs long without it.
func (c *Call) Yield() { c.s.yield() }

// Check fails when the caller of Run has gone.
func (c *Call) Check() {
	if err := c.ctx.Err(); err != nil {
		tensor.Fail(err)
	}
}

// Again runs an operator of ai.onnx on tensors, with attributes by name.
func (c *Call) Again(op string, attrs map[string]*onnx.Attr, in ...*tensor.Tensor) *tensor.Tensor {
	out := c.s.with.Table[op](c.Sub(op, attrs, []string{""}, in))
	if len(out) == 0 || out[0] == nil {
		tensor.Malformed("no result of %s", op)
	}
	return out[0]
}

// Sub returns the call of another operator, on tensors instead of names.
func (c *Call) Sub(op string, attrs map[string]*onnx.Attr, outputs []string, in []*tensor.Tensor) *Call {
	return &Call{scope: c.scope, Node: &onnx.Node{Op: op, Attrs: attrs, Inputs: make([]string, len(in)), Outputs: outputs}, In: in}
}

// Under returns the call as one of another opset.
func (c *Call) Under(opset int64) *Call {
	inner, scope := *c, *c.scope
	inner.scope, scope.Opset = &scope, opset
	return &inner
}

// Replay runs nodes one by one and returns the values of outputs.
func (c *Call) Replay(nodes []*onnx.Node, outputs []string) []*tensor.Tensor {
	for _, n := range nodes {
		if err := c.node(n, c.s.action(n), nil); err != nil {
			tensor.Fail(err)
		}
	}
	res := make([]*tensor.Tensor, len(outputs))
	for i, name := range outputs {
		res[i] = c.vals[name]
		c.s.mem.Hold(res[i])
	}
	for _, n := range nodes {
		for _, name := range n.Outputs {
			c.unbind(name)
		}
	}
	return res
}
