package graph

import (
	"fmt"

	"quern/formats/weights"
)

// Ops whose results depend on the adapter of a row's sequence, see Batch.Adapters.
type (
	// AdaptedLinear is Linear, and adds to the rows of adapter n, by Changes[n-1]:
	// Scale · B·(A·x) with A (rank, in) and B (rank, out).
	// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, §4.1.
	AdaptedLinear struct {
		Linear
		Changes []Change
	}

	// AdaptedEmbed is Embed, and adds to the rows of adapter n Scale · B·A[token] with
	// A (vocab, rank) and B (rank, width) of Changes[n-1].
	AdaptedEmbed struct {
		Embed
		Changes []Change
	}

	// AdaptedExperts is Experts, and adds to the product of each expert's matrix with the rows of
	// adapter n the change n-1 of that matrix, as AdaptedLinear does, with A
	// (experts, rank, in) and B (experts, rank, out).
	AdaptedExperts struct {
		Experts
		GateChanges, UpChanges, DownChanges []Change // each of all adapters, or nil
	}
)

// A Change is of low rank. B is stored transposed. With a nil A there is none.
type Change struct {
	A, B  *weights.Tensor
	Scale float32
}

// Changes are what the adapters of a model change: for a matrix the changes of all of
// them, in their order.
type Changes struct {
	Linear map[*weights.Tensor][]Change
	Embed  map[*weights.Tensor][]Change
}

// Adapt has the ops that are recorded from here on follow the adapters of their rows.
func (b *Builder) Adapt(c Changes) { b.changes = c }

func (o AdaptedLinear) Out(in ...Shape) (Shape, error) {
	out, err := o.Linear.Out(in...)
	for i := range o.Changes {
		if err == nil {
			err = o.Changes[i].check(in[0][1], out[1], false)
		}
	}
	return out, err
}

func (o AdaptedEmbed) Out(in ...Shape) (Shape, error) {
	out, err := o.Embed.Out(in...)
	for i := range o.Changes {
		if err == nil {
			err = o.Changes[i].check(o.Weight.Shape[0], out[1], true)
		}
	}
	return out, err
}

func (o AdaptedExperts) Out(in ...Shape) (Shape, error) {
	out, err := o.Experts.Out(in...)
	if err != nil {
		return nil, err
	}
	if o.Gate == nil && o.GateChanges != nil {
		return nil, fmt.Errorf("changes of gates of experts that have none")
	}
	n := o.adapters()
	for _, of := range o.changed() {
		if of.changes != nil && len(of.changes) != n {
			return nil, fmt.Errorf("changes of %d and of %d adapters", len(of.changes), n)
		}
		for i := range of.changes {
			if err := of.changes[i].checkStack(of.w.Shape); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// A changedStack is a stack of matrices with the changes of all adapters.
type changedStack struct {
	w       *weights.Tensor
	changes []Change
}

func (o AdaptedExperts) changed() [3]changedStack {
	return [3]changedStack{{o.Gate, o.GateChanges}, {o.Up, o.UpChanges}, {o.Down, o.DownChanges}}
}

func (o AdaptedExperts) adapters() (n int) {
	for _, of := range o.changed() {
		n = max(n, len(of.changes))
	}
	return n
}

// checkStack refuses a change that does not fit a stack of matrices (n, out, in).
func (c *Change) checkStack(w []int) error {
	switch {
	case c.A == nil:
		return nil
	case c.B == nil || len(c.A.Shape) != 3 || len(c.B.Shape) != 3 || !hasShape(c.A, w[0], c.B.Shape[1], w[2]) || !hasShape(c.B, w[0], c.A.Shape[1], w[1]):
		return fmt.Errorf("a change by %s and %s of %d matrices of %d numbers into %d", describe(c.A), describe(c.B), w[0], w[2], w[1])
	}
	return nil
}

// check refuses a change that is not from in numbers to out; the A of a lookup has a row for
// each of the in.
func (c *Change) check(in, out int, lookup bool) error {
	if c.A == nil {
		return nil
	}
	if c.B == nil || len(c.A.Shape) != 2 || len(c.B.Shape) != 2 {
		return fmt.Errorf("a change by %s and %s, want two matrices", describe(c.A), describe(c.B))
	}
	rank, width := c.A.Shape[0], c.A.Shape[1]
	if lookup {
		rank, width = width, rank
	}
	if width != in || c.B.Shape[0] != rank || c.B.Shape[1] != out {
		return fmt.Errorf("a change by %s and %s of %d numbers into %d", describe(c.A), describe(c.B), in, out)
	}
	return nil
}

// adapters is how many adapters an op has changes of.
func adapters(op Op) int {
	switch o := op.(type) {
	case AdaptedLinear:
		return len(o.Changes)
	case AdaptedEmbed:
		return len(o.Changes)
	case AdaptedExperts:
		return o.adapters()
	}
	return 0
}

// checkAdapters checks the adapters of a batch.
func (l *Limits) checkAdapters(in *Batch) error {
	if len(in.Adapters) > 0 && len(in.Adapters) != len(in.Tables) {
		return fmt.Errorf("graph: %d adapters for %d sequences", len(in.Adapters), len(in.Tables))
	}
	for s, a := range in.Adapters {
		if a < 0 || int(a) > l.Adapters {
			return fmt.Errorf("graph: sequence %d has adapter %d of %d", s, a, l.Adapters)
		}
	}
	if len(in.Adapters) == 0 {
		return nil
	}
	for i, s := range in.Seq {
		if s < 0 || int(s) >= len(in.Adapters) {
			return fmt.Errorf("graph: row %d is of sequence %d of %d", i, s, len(in.Adapters))
		}
	}
	return nil
}
