package cuda

import (
	"math"

	"quern/engine/graph"
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
			if err := l.start("adapt_down", gpu.Dims{Rows: rows, Out: rank}, low, l.x(0), uint64(changes.at), adapters, i32(in), i32(rank)); err != nil {
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
			rank = max(rank, c.B.Shape[0])
		}
	}
	return rank
}

// changes lists changes for the kernels, in words of 32 bits.
func (p *part) changes(list []graph.Change) *constant {
	x := make([]float32, gpu.ChangeWords*len(list))
	for i, c := range list {
		if c.A == nil {
			continue
		}
		a, b := p.vector(c.A), p.vector(c.B)
		for k, w := range []uint32{uint32(a), uint32(a >> 32), uint32(b), uint32(b >> 32), uint32(c.B.Shape[0]), math.Float32bits(c.Scale)} {
			x[gpu.ChangeWords*i+k] = math.Float32frombits(w)
		}
	}
	return p.constant(x)
}
