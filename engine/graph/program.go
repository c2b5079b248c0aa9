package graph

import (
	"fmt"
	"slices"
)

// A Program is a forward pass in execution order with its buffers assigned.
// It runs any number of rows up to Rows: Lead says which count a value's
// leading dimension follows.
type Program struct {
	Rows, Want int // the most rows of a batch, and the most wanted ones
	Values     []ValueInfo
	Steps      []Step
	Buffers    []int // float32 elements of each buffer at full size
	Results    []int // values Run returns
}

// A Lead is the meaning of a value's leading dimension.
type Lead uint8

// The leading dimensions.
const (
	PerRow  Lead = iota // rows of the batch
	PerWant             // wanted rows

	sameLead // of an op's type: any, but the same for all that say so
)

// A ValueInfo describes a value of a Program.
type ValueInfo struct {
	Shape  Shape // at full size
	Lead   Lead
	Buffer int    // index into Program.Buffers, -1 for inputs
	Input  string // "tokens", "positions", "wanted", "wanted positions", "features" or "given" for inputs
}

// Width returns the elements per leading index.
func (v *ValueInfo) Width() int { return Shape(v.Shape[1:]).Elems() }

// Encodes reports whether p reads features; see Builder.Features.
func (p *Program) Encodes() bool { return p.reads(inFeatures) }

// Given reports whether p reads numbers beside tokens; see Builder.Given.
func (p *Program) Given() bool { return p.reads(inGiven) }

func (p *Program) reads(name string) bool {
	return slices.ContainsFunc(p.Values, func(v ValueInfo) bool { return v.Input == name })
}

// A Step applies Op to the values In and writes value Out. Out shares no
// buffer with one of In, but see InPlace.
type Step struct {
	Op  Op
	In  []int
	Out int
}

// Compile orders the recording and assigns buffers, so that values which are
// never alive together share one. Values no result needs are dropped. No op may
// be recorded after Compile.
func (b *Builder) Compile(results ...Value) (*Program, error) {
	if b.err != nil {
		return nil, fmt.Errorf("graph: %w", b.err)
	}
	nodes, err := b.rec.sorted()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	p := &Program{Rows: b.rows, Want: b.want}
	needed := make([]bool, len(nodes))
	for i, r := range results {
		if err := b.owns(r); err != nil {
			return nil, fmt.Errorf("graph: result %d %w", i, err)
		}
		needed[r.n] = true
	}
	for _, n := range slices.Backward(nodes) {
		if needed[n.n] {
			for _, in := range n.in {
				needed[in] = true
			}
		}
	}
	value := make([]int, len(nodes)) // node → value
	for _, n := range nodes {
		if !needed[n.n] {
			continue
		}
		value[n.n] = len(p.Values)
		p.Values = append(p.Values, ValueInfo{Shape: n.shape, Lead: n.kind.lead, Buffer: -1, Input: n.name})
		if n.op == nil {
			continue
		}
		st := Step{Op: n.op, Out: value[n.n]}
		for _, in := range n.in[:n.inputs] {
			st.In = append(st.In, value[in])
		}
		p.Steps = append(p.Steps, st)
	}
	for _, r := range results {
		p.Results = append(p.Results, value[r.n])
	}
	p.gather()
	p.assign(nil)
	b.compiled = true
	return p, nil
}

// gather moves every projection behind the first one of the same value, so that backends may
// run them together. Those of an encoder's result stay where they are: a decoder has some in
// every layer, whose results would all be there at once.
func (p *Program) gather() {
	if p.Encodes() {
		return
	}
	first := make(map[int]int) // value → step that projects it first
	type placed struct {
		Step
		at int
	}
	list := make([]placed, len(p.Steps))
	for i, s := range p.Steps {
		list[i] = placed{s, i}
		if !Projects(s.Op) {
			continue
		}
		if at, ok := first[s.In[0]]; ok {
			list[i].at = at
		} else {
			first[s.In[0]] = i
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return a.at - b.at })
	for i, s := range list {
		p.Steps[i] = s.Step
	}
}

// Projects reports whether op multiplies a value with a matrix, and reads nothing else.
func Projects(op Op) bool {
	switch op.(type) {
	case Linear, AdaptedLinear:
		return true
	}
	return false
}

// InPlace returns p with other buffers: results of ops of which may is true may lie in that of an
// input of their shape which no later step reads.
func (p *Program) InPlace(may func(Op) bool) *Program {
	q := *p
	q.Values, q.Buffers = slices.Clone(p.Values), nil
	q.assign(may)
	return &q
}

// assign gives every computed value a buffer: that of an input where may, unless nil, is true of
// the op, else the smallest free one that holds it, else a new one. Results keep theirs to the end.
func (p *Program) assign(may func(Op) bool) {
	last := make([]int, len(p.Values)) // step of the last use
	for i, s := range p.Steps {
		last[s.Out] = i
		for _, v := range s.In {
			last[v] = i
		}
	}
	for _, r := range p.Results {
		last[r] = len(p.Steps)
	}
	var free []int
	// take returns a buffer for what step i makes.
	take := func(i int, s Step) int {
		shape := p.Values[s.Out].Shape
		if may != nil && may(s.Op) {
			for _, v := range s.In {
				if x := p.Values[v]; last[v] == i && x.Buffer >= 0 && x.Shape.equal(shape) {
					last[v] = -1
					return x.Buffer
				}
			}
		}
		n, best := shape.Elems(), -1
		for k, f := range free {
			if p.Buffers[f] >= n && (best < 0 || p.Buffers[f] < p.Buffers[free[best]]) {
				best = k
			}
		}
		if best < 0 {
			p.Buffers = append(p.Buffers, n)
			return len(p.Buffers) - 1
		}
		f := free[best]
		free = append(free[:best], free[best+1:]...)
		return f
	}
	for i, s := range p.Steps {
		p.Values[s.Out].Buffer = take(i, s)
		release := func(v int) {
			if last[v] == i && p.Values[v].Buffer >= 0 {
				free = append(free, p.Values[v].Buffer)
				last[v] = -1 // an input used twice is freed once
			}
		}
		for _, v := range s.In {
			release(v)
		}
		release(s.Out) // only a value that no step reads
	}
}

// WeightBytes is how many bytes of matrices one run over a single row reads.
func (p *Program) WeightBytes() int64 {
	var n int64
	for _, s := range p.Steps {
		switch o := s.Op.(type) {
		case Linear:
			n += int64(len(o.Weight.Data))
		case AdaptedLinear: // a row has an adapter or none
			n += int64(len(o.Weight.Data))
		case Experts:
			n += o.bytes()
		case AdaptedExperts:
			n += o.bytes()
		}
	}
	return n
}

// bytes are those of the matrices that a row goes through.
func (o *Experts) bytes() int64 {
	all := int64(o.Up.Size()) + int64(o.Down.Size())
	if o.Gate != nil {
		all += int64(o.Gate.Size())
	}
	return all / int64(o.Up.Shape[0]) * int64(o.Used)
}
