package cuda

import (
	"math"

	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
)

// Ops with adapters are those without, and add to the rows that have one what it says. A step
// none of whose rows has one does not launch that.

var adaptedLinearOp = row[graph.AdaptedLinear]{
	weights: func(o graph.AdaptedLinear) []weightKey {
		return append(linearOp.weights(o.Linear), changed(o.Changes)...)
	},
	scratch: func(o graph.AdaptedLinear, p *part, rows int) {
		linearOp.scratch(o.Linear, p, rows)
		p.reserveScratch(lows, rows*highest(o.Changes))
	},
	lower: func(o graph.AdaptedLinear, l lowering) {
		multiply(o.Linear, l)
		changes, rank, in := l.changes(o.Changes), highest(o.Changes), o.Weight.Shape[1]
		l.adapt(rank, func(rows int, adapters uint64) error {
			low := l.scratchAt(lows)
			if err := l.start("adapt_down", gpu.Dims{Rows: rows, Out: rank}, low, l.x(0), uint64(changes.at), adapters, i32(in), i32(rank), i32(1)); err != nil {
				return err
			}
			return l.start("adapt_up", gpu.Dims{Rows: rows, Out: l.width()}, l.y(), low, uint64(changes.at), adapters, 0, i32(l.width()), i32(rank))
		})
	},
}

var adaptedEmbedOp = row[graph.AdaptedEmbed]{
	weights: func(o graph.AdaptedEmbed) []weightKey {
		return append(embedOp.weights(o.Embed), changed(o.Changes)...)
	},
	lower: func(o graph.AdaptedEmbed, l lowering) {
		embedOp.lower(o.Embed, l)
		changes := l.changes(o.Changes)
		l.adapt(highest(o.Changes), func(rows int, adapters uint64) error {
			return l.start("adapt_up", gpu.Dims{Rows: rows, Out: l.width()}, l.y(), 0, uint64(changes.at), adapters, l.input(l.In[0]), i32(l.width()), 0)
		})
	},
}

// adaptedExpertsOp numbers what changes each row at each of its experts, and adds that behind
// each of the three products. Rows without an adapter are not done by other kernels where some
// have one, so that their bits are the same.
var adaptedExpertsOp = row[graph.AdaptedExperts]{
	check: func(o graph.AdaptedExperts) error { return expertsOp.check(o.Experts) },
	weights: func(o graph.AdaptedExperts) []weightKey {
		list := expertsOp.weights(o.Experts)
		for _, changes := range [][]graph.Change{o.GateChanges, o.UpChanges, o.DownChanges} {
			list = append(list, changed(changes)...)
		}
		return list
	},
	scratch: func(o graph.AdaptedExperts, p *part, rows int) {
		expertsOp.scratch(o.Experts, p, rows)
		p.reserveScratch(changing, rows*o.Used)
		p.reserveScratch(lows, rows*o.Used*max(highest(o.GateChanges), highest(o.UpChanges), highest(o.DownChanges)))
	},
	lower: func(o graph.AdaptedExperts, l lowering) {
		l.held = 0
		n := o.Up.Shape[0]
		type stack struct {
			changes *constant
			rank    int
		}
		stacks := make(map[*weights.Tensor]stack)
		for _, of := range []struct {
			w       *weights.Tensor
			changes []graph.Change
		}{{o.Gate, o.GateChanges}, {o.Up, o.UpChanges}, {o.Down, o.DownChanges}} {
			if rank := highest(of.changes); rank > 0 {
				stacks[of.w] = stack{l.changesOf(of.changes, n), rank}
			}
		}
		column := l.adapters()
		if l.e.p.Values[l.Out].Lead == graph.PerWant {
			column++
		}
		l.add(func(rows int) error {
			if !l.run.adapted {
				return l.mix(o.Experts, l.x(0), l.x(1), l.y(), rows, nil)
			}
			slots := rows * o.Used
			numbered := false
			return l.mix(o.Experts, l.x(0), l.x(1), l.y(), rows, func(w *weights.Tensor, y, x uint64, in, out, per int) error {
				c, ok := stacks[w]
				if !ok {
					return nil
				}
				of, low := l.scratchAt(changing), l.scratchAt(lows)
				if !numbered {
					numbered = true
					if err := l.start("adapt_experts", gpu.Dims{Rows: slots}, of, l.word(column), l.scratchAt(chosen), i32(n), i32(o.Used), i32(slots)); err != nil {
						return err
					}
				}
				if err := l.start("adapt_down", gpu.Dims{Rows: slots, Out: c.rank}, low, x, uint64(c.changes.at), of, i32(in), i32(c.rank), i32(per)); err != nil {
					return err
				}
				return l.start("adapt_up", gpu.Dims{Rows: slots, Out: out}, y, low, uint64(c.changes.at), of, 0, i32(out), i32(c.rank))
			})
		})
	},
}

// adapt adds launches for steps that have adapters, unless no change has a rank.
func (l lowering) adapt(rank int, f func(rows int, adapters uint64) error) {
	if rank == 0 {
		return
	}
	column := l.adapters()
	if l.e.p.Values[l.Out].Lead == graph.PerWant {
		column++
	}
	l.add(func(rows int) error {
		if !l.run.adapted {
			return nil
		}
		return f(rows, l.word(column))
	})
}

// changed are the matrices of changes.
func changed(changes []graph.Change) (list []weightKey) {
	for _, c := range changes {
		if c.A != nil {
			list = append(list, vector(c.A), vector(c.B))
		}
	}
	return list
}

// highest is the highest rank of changes.
func highest(changes []graph.Change) (rank int) {
	for _, c := range changes {
		if c.A != nil {
			rank = max(rank, c.B.Shape[len(c.B.Shape)-2])
		}
	}
	return rank
}

// changes lists changes for the kernels, in words of 32 bits.
func (p *part) changes(list []graph.Change) *constant { return p.changesOf(list, 1) }

// changesOf lists changes of stacks of n matrices, those of one adapter after the other.
func (p *part) changesOf(list []graph.Change, n int) *constant {
	x := make([]float32, 0, gpu.ChangeWords*len(list)*n)
	for _, c := range list {
		if c.A == nil {
			x = append(x, make([]float32, gpu.ChangeWords*n)...)
			continue
		}
		rank := c.B.Shape[len(c.B.Shape)-2]
		a, b := p.vector(c.A), p.vector(c.B)
		for range n {
			for _, w := range []uint32{uint32(a), uint32(a >> 32), uint32(b), uint32(b >> 32), uint32(rank), math.Float32bits(c.Scale)} {
				x = append(x, math.Float32frombits(w))
			}
			a, b = a+4*uint64(c.A.Elems()/n), b+4*uint64(c.B.Elems()/n)
		}
	}
	return p.constant(x)
}
