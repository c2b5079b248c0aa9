package cuda

import (
	"fmt"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
)

// latentOp is absorbed for prompts too, as on the processor: docs/decisions/recording.md.
var latentOp = row[graph.LatentAttention]{
	check: func(o graph.LatentAttention) error {
		if o.HeadDim > gpu.MaxLatent || o.Values > gpu.MaxLatentValues {
			return fmt.Errorf("cuda: no kernel for latent attention with keys of %d and values of %d", o.HeadDim, o.Values)
		}
		return nil
	},
	scratch: func(o graph.LatentAttention, p *part, rows int) {
		p.reserveScratch(spans, (rows*o.Heads+p.d.splitHeads()*gpu.LatentHeads)*(o.Values+2))
	},
	lower: func(o graph.LatentAttention, l lowering) {
		l.add(func(rows int) error { return l.attendLatent(o, l.x(0), l.x(1), l.y(), rows) })
	},
}

func (p *part) attendLatent(o graph.LatentAttention, q, k, y uint64, rows int) error {
	kv, typ, size := p.layerAt(o.Layer), p.kv.spec.Type, p.kv.spec.BlockSize
	if err := p.start(gpu.Name("latent_put", typ), gpu.Dims{Rows: rows, Out: o.HeadDim}, kv, k, p.slots(o.Layer), i32(o.HeadDim)); err != nil {
		return err
	}
	blocks := rows * ((o.Heads + gpu.LatentHeads - 1) / gpu.LatentHeads)
	splits := splits(blocks, p.d.splitHeads(), p.d.splitHeads(), p.run.stride*size)
	tables, stride := p.tables(o.Layer)
	if err := p.start(gpu.Name("latent_attend", typ), gpu.Dims{Rows: rows, Heads: o.Heads, Splits: splits}, p.scratchAt(spans), q, kv,
		tables, p.word(sequences), p.word(ends), i32(stride), i32(o.Heads), i32(o.HeadDim), i32(o.Values), i32(size), f32(o.Scale)); err != nil {
		return err
	}
	return p.start("attend_combine", gpu.Dims{Rows: rows, Heads: o.Heads, Out: o.Values}, y, p.scratchAt(spans), 0, i32(o.Heads), i32(o.Values), i32(splits))
}

// maxGrid is the most blocks a grid has beside its first dimension.
const maxGrid = 65535

// headLinearOp multiplies heads as experts are: a head of a row is a slot, whose matrix is the
// head's.
var headLinearOp = row[graph.HeadLinear]{
	check: func(o graph.HeadLinear) error {
		if n := o.Weight.Shape[0]; n > maxGrid {
			return fmt.Errorf("cuda: no kernel for %d heads", n)
		}
		return nil
	},
	weights: func(o graph.HeadLinear) []weightKey { return keys(matrix(o.Weight)) },
	scratch: func(o graph.HeadLinear, p *part, rows int) {
		p.reserveScratch(acts, x32Words(rows*o.Weight.Shape[0], o.Weight.Shape[2]))
	},
	lower: func(o graph.HeadLinear, l lowering) {
		heads, out, in := o.Weight.Shape[0], o.Weight.Shape[1], o.Weight.Shape[2]
		w, typ := l.matrix(o.Weight)
		l.held = 0
		l.add(func(rows int) error {
			for from := 0; from < rows; from += maxGrid / heads {
				slots := heads * min(rows-from, maxGrid/heads)
				x, y := l.x(0)+uint64(4*from*heads*in), l.y()+uint64(4*from*heads*out)
				if gpu.Quantised(typ) {
					if err := l.start("quantize", gpu.Dims{Rows: slots, In: in}, l.scratchAt(acts), x, i32(in)); err != nil {
						return err
					}
					x = l.scratchAt(acts)
				}
				if err := l.start(gpu.Name("expert_gemv", typ), gpu.Dims{Rows: slots, Out: out}, y, w, x, 0, 0, i32(out), i32(in), i32(heads)); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
