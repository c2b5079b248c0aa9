package cuda

import (
	"reflect"
	"slices"

	"quern/engine/graph"
	"quern/kernels/quant"
)

// What kernels need beside the Program's buffers, 32-bit words of each.
const (
	acts     = iota // activations as ActQ8_32
	spans           // attention, before its pieces are put together
	chosen          // (rows, used) experts
	shares          // (rows, used) their weights
	gates           // (rows, used, ff)
	ups             // (rows, used, ff)
	answers         // (rows, used, out)
	portions        // products whose width is cut
	arrivals        // (rows, key heads) attention's blocks, zeros between launches
	factors         // (rows, used) of what goes into experts
	inputs          // (rows, used, in) what goes into them, multiplied by that
	lows            // (rows, highest rank) between an adapter's two matrices, of experts (rows, used, highest rank)
	changing        // (rows, used) of an adapter's changes of experts
	scratches
)

// x32Words is the size of rows of n values as ActQ8_32.
func x32Words(rows, n int) int { return rows * quant.ActBytes(quant.ActQ8_32, n) / 4 }

// reserveScratch makes room for so many words.
func (p *part) reserveScratch(i, words int) { p.need[i] = max(p.need[i], words) }

// plan lists what the part needs in device memory.
func (p *part) plan() {
	seen := make(map[weightKey]bool)
	p.need = make([]int, scratches)
	for _, s := range p.steps {
		o := ops[reflect.TypeOf(s.Op)]
		for _, k := range o.weights(s.Op) {
			if !seen[k] {
				seen[k] = true
				p.weights = append(p.weights, k)
			}
		}
		o.scratch(s.Op, p, p.e.p.Values[s.Out].Shape[0])
	}
	p.fuse()
	p.assign()
	for _, n := range p.sizes {
		p.memory += 4 * int64(n)
	}
	for _, n := range p.need {
		p.memory += 4 * int64(n)
	}
}

// lowerGroup adds the work of a group: one launch where there is one for the
// rows of a run, else those of its tasks.
func (p *part) lowerGroup(g *group) error {
	if g.start != nil {
		p.held = 0 // what is quantised here is not, when all is done at once
	}
	before := len(p.work)
	for _, g := range g.fallback {
		if err := p.lowerGroup(g); err != nil {
			return err
		}
	}
	for _, t := range g.tasks {
		if g.fallback != nil || g.start != nil && g.fits == nil {
			break // never needed
		}
		if o, is := t.Op.(graph.RMSNorm); is && g.quantises {
			p.normQuantise(o, t)
			continue
		}
		ops[reflect.TypeOf(t.Op)].lower(t.Op, lowering{p, t})
	}
	if g.start == nil {
		return nil
	}
	p.held = 0
	apart := slices.Clone(p.work[before:])
	p.work = append(p.work[:before], func() error {
		rows := p.rows(g.out())
		if rows == 0 {
			return nil
		}
		if g.fits == nil || g.fits(rows) {
			return g.start(rows)
		}
		for _, w := range apart {
			if err := w(); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}
