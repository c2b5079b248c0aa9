package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// An Adapter is what a low-rank adapter (LoRA) changes of the matrices of one model.
//
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021.
type Adapter struct {
	Rank    int               // the highest of its changes
	Tensors []*weights.Tensor // what it holds in memory, or maps

	linear, embed map[*weights.Tensor]graph.Change
}

// maxRank bounds the rank of a change.
const maxRank = 1 << 12

// A lowRank is one change as a file has it, under the name GGUF gives the matrix. A is
// (rank, in) and B (out, rank); of a stack of experts (experts, rank, in) and (experts, out,
// rank).
type lowRank struct {
	name  string // as errors call it
	to    string // "blk.0.attn_q.weight"
	a, b  *weights.Tensor
	scale float64
	// Of a lookup of tokens: a is (vocab, rank), or with turned (rank, vocab).
	turned bool
}

// ReadAdapter reads the adapter of file for the model m, whose own file is of. Its effect is
// multiplied by scale. One that was made for another model is refused: every change has to
// fit a matrix of m.
//
// The Adapter's tensors are m's as well: before the model runs, each has its Data.
func ReadAdapter(m LM, of, file *weights.Set, scale float64) (*Adapter, error) {
	own, ok := m.(interface{ own() *base })
	if !ok {
		return nil, fmt.Errorf("%w: adapters of models of architecture %s", ErrUnsupported, m.Config().Arch)
	}
	b := own.own()
	s, err := sitesOf(m, b)
	if err != nil {
		return nil, err
	}
	var list []lowRank
	switch {
	case file.Source == weights.GGUF:
		list, err = ggufChanges(file, b.c.Arch)
	case file.Source == weights.SafeTensors:
		list, err = peftChanges(file, of, s)
	default:
		err = fmt.Errorf("%w: an adapter as %s; save it as SafeTensors, or convert it to GGUF", ErrUnsupported, file.Source)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the adapter changes nothing of the model", ErrFormat)
	}
	x := &Adapter{linear: make(map[*weights.Tensor]graph.Change), embed: make(map[*weights.Tensor]graph.Change)}
	for _, c := range list {
		if b.spares[c.to] {
			continue
		}
		if c.scale *= scale; math.IsNaN(c.scale) || math.Abs(c.scale) > math.MaxFloat32 {
			return nil, fmt.Errorf("%w: %s is multiplied by %g", ErrFormat, c.name, c.scale)
		}
		if err := x.add(s, c, b.rowOrder(c.to, file.Source)); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Changes are what the adapters of one model change, in their order.
func Changes(list []*Adapter) graph.Changes {
	all := graph.Changes{Linear: make(map[*weights.Tensor][]graph.Change), Embed: make(map[*weights.Tensor][]graph.Change)}
	put := func(to map[*weights.Tensor][]graph.Change, i int, from map[*weights.Tensor]graph.Change) {
		for w, c := range from {
			if to[w] == nil {
				to[w] = make([]graph.Change, len(list))
			}
			to[w][i] = c
		}
	}
	for i, x := range list {
		put(all.Linear, i, x.linear)
		put(all.Embed, i, x.embed)
	}
	return all
}

// A site is where a pass multiplies with a matrix of the file: all of it, or its rows from
// one on.
type site struct {
	w    *weights.Tensor
	from int
}

// sites are all places that can be changed, by the names of matrices and of stacks of them.
type sites struct {
	b      *base
	linear map[string][]site
	embed  map[string]*weights.Tensor
	stacks map[string][]int // shapes
}

// sitesOf records m to see where it uses what.
func sitesOf(m LM, b *base) (*sites, error) {
	g := graph.NewBuilder(1, 1)
	out := m.Hidden(g)
	if !b.c.Encoder {
		out = m.Logits(g, out)
	}
	p, err := g.Compile(out)
	if err != nil {
		return nil, err
	}
	s := &sites{b, make(map[string][]site), make(map[string]*weights.Tensor), make(map[string][]int)}
	seen := make(map[*weights.Tensor]bool)
	for _, step := range p.Steps {
		switch o := step.Op.(type) {
		case graph.Embed:
			if !o.Short {
				s.embed[o.Weight.Name] = o.Weight
			}
		case graph.Experts:
			s.experts(o)
		case graph.Linear:
			if seen[o.Weight] {
				continue
			}
			seen[o.Weight] = true
			at, cut := b.tensors.parts[o.Weight]
			name := at.of
			if !cut {
				name = o.Weight.Name
			}
			if o.Weight == b.embed { // tied: what changes the lookup does not change this
				name = "output.weight"
			}
			s.linear[name] = append(s.linear[name], site{o.Weight, at.from})
		}
	}
	return s, nil
}

// experts notes the stacks of o, and gate and up under the name that files have for both in
// one.
func (s *sites) experts(o graph.Experts) {
	for _, w := range []*weights.Tensor{o.Gate, o.Up, o.Down} {
		if w != nil {
			s.linear[w.Name], s.stacks[w.Name] = []site{{w, 0}}, w.Shape
		}
	}
	if o.Gate != nil {
		n, ff, in := o.Gate.Shape[0], o.Gate.Shape[1], o.Gate.Shape[2]
		both := strings.Replace(o.Gate.Name, "ffn_gate_exps", "ffn_gate_up_exps", 1)
		s.linear[both], s.stacks[both] = []site{{o.Gate, 0}, {o.Up, ff}}, []int{n, 2 * ff, in}
	}
}

// shape is that of a matrix of the model, nil where it has none of that name.
func (s *sites) shape(name string) []int {
	if shape, ok := s.stacks[name]; ok {
		return shape
	}
	if w, ok := s.b.set.Set.Tensor(name); ok {
		return w.Shape
	}
	if name == "output.weight" && s.b.embed != nil {
		return s.b.embed.Shape
	}
	return nil
}

// add checks a change against the matrix it names and puts it in place.
func (x *Adapter) add(s *sites, c lowRank, order []int) error {
	shape := s.shape(c.to)
	if shape == nil {
		return fmt.Errorf("%w: %s changes %s, which the model has not: it was made for another one", ErrFormat, c.name, c.to)
	}
	if len(shape) == 1 {
		shape = []int{1, shape[0]} // one row
	}
	w, lookup := s.embed[c.to]
	if !lookup && len(s.linear[c.to]) == 0 {
		return fmt.Errorf("%w: %s changes %s, which is no matrix that rows are multiplied with; train or convert the adapter without it, or merge it into the model", ErrUnsupported, c.name, c.to)
	}
	rank, n := c.rank(), len(shape)-2
	in, out := shape[n+1], shape[n]
	want := [2][]int{{rank, in}, {out, rank}}
	switch {
	case lookup && c.turned:
		want = [2][]int{{rank, out}, {in, rank}}
	case lookup:
		want = [2][]int{{out, rank}, {in, rank}}
	case n > 0: // experts
		want = [2][]int{{shape[0], rank, in}, {shape[0], out, rank}}
	}
	if !slices.Equal(c.a.Shape, want[0]) || !slices.Equal(c.b.Shape, want[1]) {
		return fmt.Errorf("%w: %s has shapes %v and %v; rank %d of %s %v takes %v and %v: it was made for another model",
			ErrFormat, c.name, c.a.Shape, c.b.Shape, rank, c.to, shape, want[0], want[1])
	}
	if rank < 1 || rank > maxRank {
		return fmt.Errorf("%w: %s is of rank %d, want 1 to %d", ErrFormat, c.name, rank, maxRank)
	}
	x.Rank = max(x.Rank, rank)
	keep := func(t *weights.Tensor) *weights.Tensor {
		x.Tensors = append(x.Tensors, t)
		return t
	}
	if lookup {
		if _, twice := x.embed[w]; twice {
			return fmt.Errorf("%w: two changes of %s", ErrFormat, c.to)
		}
		a := factor(c.to+".lora_a", c.a)
		if c.turned {
			a = columnsOf(c.to+".lora_a", c.a, 0, rank, nil)
		}
		x.embed[w] = graph.Change{A: keep(a), B: keep(columnsOf(c.to+".lora_b", c.b, 0, in, nil)), Scale: float32(c.scale)}
		return nil
	}
	a := keep(factor(c.to+".lora_a", c.a))
	for _, at := range s.linear[c.to] {
		if _, twice := x.linear[at.w]; twice {
			return fmt.Errorf("%w: two changes of %s", ErrFormat, c.to)
		}
		name := at.w.Name
		if at.w == s.b.embed {
			name = c.to
		}
		b := keep(columnsOf(name+".lora_b", c.b, at.from, at.w.Shape[n], order))
		x.linear[at.w] = graph.Change{A: a, B: b, Scale: float32(c.scale)}
	}
	return nil
}

// factor is t under another name, as it is where activations of float32 can be multiplied
// with its type, else as F32.
func factor(name string, t *weights.Tensor) *weights.Tensor {
	if t.Type == quant.F32 || t.Type == quant.F16 || t.Type == quant.BF16 {
		return alias(name, t)
	}
	w := floats(name, nil)
	w.Shape = t.Shape
	compute(w, t, func(x []float32) []float32 { return x })
	return w
}

// columnsOf is n rows of t as columns, F16 where t is, else F32: those from from on in the
// order that order has, nil for that they are in. Of a stack it is those of each matrix.
func columnsOf(name string, t *weights.Tensor, from, n int, order []int) *weights.Tensor {
	w := floats(name, nil)
	if t.Type == quant.F16 {
		w.Type = quant.F16
	}
	last := len(t.Shape) - 1
	rows, cols := t.Shape[last-1], t.Shape[last]
	w.Shape = append(slices.Clone(t.Shape[:last-1]), cols, n)
	compute(w, t, func(x []float32) []float32 {
		out := make([]float32, w.Elems())
		for e := range len(x) / (rows * cols) {
			matrix := x[e*rows*cols:]
			for i := range n {
				row := from + i
				if order != nil {
					row = order[row]
				}
				for k := range cols {
					out[(e*cols+k)*n+i] = matrix[row*cols+k]
				}
			}
		}
		return out
	})
	return w
}
