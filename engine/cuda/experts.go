package cuda

import (
	"fmt"

	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
)

var expertsOp = row[graph.Experts]{
	check: func(o graph.Experts) error {
		if n := o.Up.Shape[0]; n > gpu.MaxExperts {
			return fmt.Errorf("cuda: no kernel for %d experts", n)
		}
		return known(o.Act)
	},
	weights: func(o graph.Experts) []weightKey {
		return keys(matrix(o.Gate), matrix(o.Up), matrix(o.Down), vector(o.GateBias), vector(o.UpBias), vector(o.DownBias), vector(o.Bias), vector(o.Factors))
	},
	scratch: func(o graph.Experts, p *part, rows int) {
		n := rows * o.Used
		in := o.Up.Shape[2]
		p.reserveScratch(acts, max(x32Words(rows, in), x32Words(n, o.Down.Shape[2])))
		p.reserveScratch(chosen, n)
		p.reserveScratch(shares, n)
		p.reserveScratch(gates, n*o.Up.Shape[1])
		if o.OnInput {
			p.reserveScratch(acts, x32Words(n, in))
			p.reserveScratch(factors, n)
			p.reserveScratch(inputs, n*in)
		}
		p.reserveScratch(ups, n*o.Up.Shape[1])
		p.reserveScratch(answers, n*o.Down.Shape[1])
	},
	lower: func(o graph.Experts, l lowering) {
		l.held = 0
		l.add(func(rows int) error {
			if l.heldExperts(o, rows) {
				if err := l.route(o, l.x(1), rows); err != nil {
					return err
				}
				return l.fusedExperts(o, l.x(0), l.y(), rows)
			}
			return l.mix(o, l.x(0), l.x(1), l.y(), rows, nil)
		})
	},
}

// mix routes every row to some experts and adds up what they answer. adapt, which may be nil,
// follows the products y of each of the stacks with rows of x, each of which per slots have.
func (p *part) mix(o graph.Experts, x, router, y uint64, rows int, adapt func(w *weights.Tensor, y, x uint64, in, out, per int) error) error {
	ff, in, out := o.Up.Shape[1], o.Up.Shape[2], o.Down.Shape[1]
	at := p.scratchAt
	if err := p.route(o, router, rows); err != nil {
		return err
	}
	// through sends rows of x, each to per of the experts chosen.
	quantised := uint64(0)
	through := func(t, bias *weights.Tensor, y, x uint64, xRows, in, out, per int) error {
		w, typ := p.matrix(t)
		floats := x
		if gpu.Quantised(typ) {
			if quantised != x {
				quantised = x
				if err := p.start("quantize", gpu.Dims{Rows: xRows, In: in}, at(acts), x, i32(in)); err != nil {
					return err
				}
			}
			x = at(acts)
		}
		err := p.start(gpu.Name("expert_gemv", typ), gpu.Dims{Rows: rows * o.Used, Out: out}, y, w, x, p.vector(bias), at(chosen), i32(out), i32(in), i32(per))
		if err != nil || adapt == nil {
			return err
		}
		return adapt(t, y, floats, in, out, per)
	}
	slots, xRows, per := rows*o.Used, rows, o.Used
	if o.OnInput {
		if err := p.start("experts_inputs", gpu.Dims{Rows: slots, Out: in}, at(inputs), x, at(factors), i32(in), i32(o.Used)); err != nil {
			return err
		}
		x, xRows, per = at(inputs), slots, 1
	}
	// An expert without a gate has its activation alone, of up.
	gate, up := at(gates), at(ups)
	if o.Gate == nil {
		gate, up = up, 0
	} else if err := through(o.Gate, o.GateBias, gate, x, xRows, in, ff, per); err != nil {
		return err
	}
	if err := through(o.Up, o.UpBias, at(ups), x, xRows, in, ff, per); err != nil {
		return err
	}
	if err := p.start("gate", gpu.Dims{Rows: slots, Out: ff}, at(gates), gate, up, i32(slots*ff), i32(int(o.Act))); err != nil {
		return err
	}
	if err := through(o.Down, o.DownBias, at(answers), at(gates), slots, ff, out, 1); err != nil {
		return err
	}
	return p.start("experts_combine", gpu.Dims{Rows: rows, Out: out}, y, at(answers), at(shares), i32(out), i32(o.Used))
}

// route chooses the experts of every row, and says what they weigh.
func (p *part) route(o graph.Experts, router uint64, rows int) error {
	at, n := p.scratchAt, o.Up.Shape[0]
	if o.Plain() {
		return p.start("experts_choose", gpu.Dims{Rows: rows}, at(chosen), at(shares), router, i32(n), i32(o.Used),
			flag(o.Renormalise), flag(o.SparseMixer), f32(o.Jitter))
	}
	by := uint64(0)
	if o.OnInput {
		by = at(factors)
	}
	return p.start("experts_route", gpu.Dims{Rows: rows}, at(chosen), at(shares), by, router, p.vector(o.Bias), p.vector(o.Factors), i32(n), i32(o.Used),
		flag(o.Sigmoid), i32(max(1, o.Groups)), i32(o.UsedGroups), flag(o.GroupMax), flag(o.Renormalise), f32(o.Scale))
}

// heldExperts reports whether an MoE layer of so many rows is done by kernels that
// hold their activations.
func (p *part) heldExperts(o graph.Experts, rows int) bool {
	if o.Gate == nil || o.OnInput {
		return false
	}
	gate, down := kept(o.Gate, false), kept(o.Down, false)
	return !p.e.b.apart && rows <= gemvRows && o.Used <= gpu.MaxUsed && quantised(o.Gate) == quantised(o.Up) &&
		gpu.ExpertsHeld("gated", gate, o.Used, o.Gate.Shape[2]) <= gpu.MaxHeld && gpu.ExpertsHeld("down", down, o.Used, o.Down.Shape[2]) <= gpu.MaxHeld
}

// fusedExperts does what follows the choice of experts in two launches. The rows
// share the multiprocessors, each of which runs a block.
func (p *part) fusedExperts(o graph.Experts, x, y uint64, rows int) error {
	ff, in, out := o.Gate.Shape[1], o.Gate.Shape[2], o.Down.Shape[1]
	gate, gateType := p.matrix(o.Gate)
	up, upType := p.matrix(o.Up)
	down, downType := p.matrix(o.Down)
	d := gpu.Dims{Rows: rows, Blocks: max(1, p.d.info.Processors/rows)}
	if err := p.startWith(gpu.ExpertsName("gated", gateType), d, gpu.ExpertsHeld("gated", gateType, o.Used, in),
		p.scratchAt(gates), gate, p.vector(o.GateBias), i32(gpu.TypeNumber(gateType)), up, p.vector(o.UpBias), i32(gpu.TypeNumber(upType)),
		x, p.scratchAt(chosen), i32(int(o.Act)), i32(o.Used), i32(ff), i32(in), i32(rows)); err != nil {
		return err
	}
	return p.startWith(gpu.ExpertsName("down", downType), d, gpu.ExpertsHeld("down", downType, o.Used, ff),
		y, down, p.vector(o.DownBias), i32(gpu.TypeNumber(downType)), p.scratchAt(gates), p.scratchAt(chosen), p.scratchAt(shares),
		i32(o.Used), i32(gpu.ExpertRoom), i32(out), i32(ff), i32(rows))
}
