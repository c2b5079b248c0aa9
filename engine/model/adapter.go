package model

import (
	"fmt"
	"math"

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

// A lowRank is one change as a file has it, under the name GGUF gives the matrix.
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
	var list []lowRank
	var err error
	switch {
	case file.Source == weights.GGUF:
		list, err = ggufChanges(file, b.c.Arch)
	case file.Source == weights.SafeTensors:
		list, err = peftChanges(file, of, b)
	default:
		err = fmt.Errorf("%w: an adapter as %s; save it as SafeTensors, or convert it to GGUF", ErrUnsupported, file.Source)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the adapter changes nothing of the model", ErrFormat)
	}
	s, err := sitesOf(m, b)
	if err != nil {
		return nil, err
	}
	x := &Adapter{linear: make(map[*weights.Tensor]graph.Change), embed: make(map[*weights.Tensor]graph.Change)}
	for _, c := range list {
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

// sites are all places that can be changed, by the names of matrices.
type sites struct {
	b      *base
	linear map[string][]site
	embed  map[string]*weights.Tensor
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
	s := &sites{b, make(map[string][]site), make(map[string]*weights.Tensor)}
	seen := make(map[*weights.Tensor]bool)
	for _, step := range p.Steps {
		switch o := step.Op.(type) {
		case graph.Embed:
			s.embed[o.Weight.Name] = o.Weight
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

// shape is that of a matrix of the model, nil where it has none of that name.
func (s *sites) shape(name string) []int {
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
	if !lookup && len(s.linear[c.to]) == 0 || len(shape) != 2 {
		return fmt.Errorf("%w: %s changes %s, which is no matrix that every row is multiplied with; train or convert the adapter without it, or merge it into the model", ErrUnsupported, c.name, c.to)
	}
	if len(c.a.Shape) != 2 || len(c.b.Shape) != 2 {
		return fmt.Errorf("%w: %s is %v and %v, want two matrices", ErrFormat, c.name, c.a.Shape, c.b.Shape)
	}
	rank := c.b.Shape[1]
	want := [2][2]int{{rank, shape[1]}, {shape[0], rank}}
	switch {
	case lookup && c.turned:
		want = [2][2]int{{rank, shape[0]}, {shape[1], rank}}
	case lookup:
		want = [2][2]int{{shape[0], rank}, {shape[1], rank}}
	}
	if got := [2][2]int{{c.a.Shape[0], c.a.Shape[1]}, {c.b.Shape[0], c.b.Shape[1]}}; got != want {
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
		x.embed[w] = graph.Change{A: keep(a), B: keep(columnsOf(c.to+".lora_b", c.b, 0, shape[1], nil)), Scale: float32(c.scale)}
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
		b := keep(columnsOf(name+".lora_b", c.b, at.from, at.w.Shape[0], order))
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
	w.Later(func(dst []byte) error {
		x, err := decoded(t)
		if err == nil {
			w.Type.Layout().Encode(dst, x)
		}
		return err
	})
	return w
}

// columnsOf is n rows of t as columns, F16 where t is, else F32: those from from on in the
// order that order has, nil for that they are in.
func columnsOf(name string, t *weights.Tensor, from, n int, order []int) *weights.Tensor {
	w := floats(name, nil)
	if t.Type == quant.F16 {
		w.Type = quant.F16
	}
	cols := t.Shape[1]
	w.Shape = []int{cols, n}
	w.Later(func(dst []byte) error {
		x, err := decoded(t)
		if err != nil {
			return err
		}
		out := make([]float32, cols*n)
		for i := range n {
			row := from + i
			if order != nil {
				row = order[row]
			}
			for k := range cols {
				out[k*n+i] = x[row*cols+k]
			}
		}
		w.Type.Layout().Encode(dst, out)
		return nil
	})
	return w
}

// decoded is the numbers of t.
func decoded(t *weights.Tensor) ([]float32, error) {
	data, err := t.Read()
	if err != nil {
		return nil, err
	}
	x := make([]float32, t.Elems())
	t.Type.Layout().Decode(x, data)
	return x, nil
}
