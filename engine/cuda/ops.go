package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"quern/engine/graph"
	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
	"quern/kernels/vec"
)

// supported returns an error when a Program has an op without kernels.
func supported(p *graph.Program) error {
	if p.Encodes() {
		return errors.New("cuda: no kernel takes features")
	}
	for _, s := range p.Steps {
		switch o := s.Op.(type) {
		case graph.Embed, graph.Take, graph.RMSNorm, graph.LayerNorm, graph.Linear, graph.Bias, graph.Add, graph.Scale,
			graph.SoftCap, graph.Activate, graph.Gate, graph.Weigh, graph.Rope, graph.Experts:
		case graph.Attention:
			if o.HeadDim > maxHead {
				return fmt.Errorf("cuda: no kernel for attention heads of %d", o.HeadDim)
			}
		default:
			return fmt.Errorf("cuda: no kernel for %T", s.Op)
		}
	}
	return nil
}

// weightsOf returns the weights of an op.
func weightsOf(op graph.Op) []weightKey {
	matrix := func(t *weights.Tensor) weightKey { return weightKey{t: t} }
	vector := func(t *weights.Tensor) weightKey { return weightKey{t: t, vector: true} }
	var all []weightKey
	switch o := op.(type) {
	case graph.Embed:
		all = []weightKey{matrix(o.Weight)}
	case graph.RMSNorm:
		all = []weightKey{vector(o.Weight)}
	case graph.LayerNorm:
		all = []weightKey{vector(o.Weight), vector(o.Bias)}
	case graph.Linear:
		all = []weightKey{matrix(o.Weight), vector(o.Bias)}
	case graph.Bias:
		all = []weightKey{vector(o.Vector)}
	case graph.Attention:
		all = []weightKey{vector(o.Sinks)}
	case graph.Experts:
		all = []weightKey{matrix(o.Gate), matrix(o.Up), matrix(o.Down), vector(o.GateBias), vector(o.UpBias), vector(o.DownBias)}
	}
	there := all[:0]
	for _, k := range all {
		if k.t != nil {
			there = append(there, k)
		}
	}
	return there
}

// What kernels need beside the Program's buffers, 32-bit words of each.
const (
	acts     = iota // activations as ActQ8_32
	spans           // attention, before its parts are put together
	chosen          // (rows, used) experts
	shares          // (rows, used) their weights
	gates           // (rows, used, ff)
	ups             // (rows, used, ff)
	answers         // (rows, used, out)
	portions        // products whose width is cut into parts
	arrivals        // (rows, key heads) attention's blocks, zeros between launches
	scratches
)

// x32Words is the size of rows of n values as ActQ8_32.
func x32Words(rows, n int) int { return rows * quant.ActBytes(quant.ActQ8_32, n) / 4 }

// plan lists what the part needs in device memory.
func (p *part) plan() {
	seen := make(map[weightKey]bool)
	p.need = make([]int, scratches)
	need := func(i, n int) { p.need[i] = max(p.need[i], n) }
	for _, s := range p.steps {
		for _, k := range weightsOf(s.Op) {
			if !seen[k] {
				seen[k] = true
				p.weights = append(p.weights, k)
			}
		}
		rows := p.e.p.Values[s.Out].Shape[0]
		switch o := s.Op.(type) {
		case graph.Linear:
			need(acts, max(x32Words(rows, o.Weight.Shape[1]), p.d.wideWords(rows, o.Weight.Shape[1])))
			need(portions, p.d.portionWords(rows))
		case graph.Attention:
			need(spans, p.spanWords(o, rows))
			need(arrivals, rows*o.KVHeads)
		case graph.Experts:
			n := rows * o.Used
			need(acts, max(x32Words(rows, o.Gate.Shape[2]), x32Words(n, o.Down.Shape[2])))
			need(chosen, n)
			need(shares, n)
			need(gates, n*o.Gate.Shape[1])
			need(ups, n*o.Up.Shape[1])
			need(answers, n*o.Down.Shape[1])
		}
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

// Arguments of kernels, in the low bits of a word.
func i32(n int) uint64     { return uint64(uint32(int32(n))) }
func f32(x float32) uint64 { return uint64(math.Float32bits(x)) }

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// start launches a kernel of the table.
func (p *part) start(name string, d gpu.Dims, args ...uint64) error {
	return p.startWith(name, d, 0, args...)
}

// startWith launches a kernel with so many bytes of dynamic shared memory.
func (p *part) startWith(name string, d gpu.Dims, shared int, args ...uint64) error {
	k, err := p.d.kernel(name)
	if err != nil {
		return err
	}
	if len(args) != len(k.Params) {
		panic(fmt.Sprintf("cuda: %d arguments for %s, which has %d", len(args), name, len(k.Params)))
	}
	return p.d.stream.Launch(k.handle, driver.Launch{Grid: k.Grid(d), Block: [3]int{k.Threads, 1, 1}, Shared: shared}, args)
}

// vector is where a small weight lies, 0 for none.
func (p *part) vector(t *weights.Tensor) uint64 {
	if t == nil {
		return 0
	}
	return uint64(p.d.placed[weightKey{t, true}].at)
}

// matrix is where a matrix lies, and its type there.
func (p *part) matrix(t *weights.Tensor) (uint64, quant.Type) {
	w := p.d.placed[weightKey{t: t}]
	return uint64(w.at), w.typ
}

// input is where the words of an input of the Program lie.
func (p *part) input(v int) uint64 {
	switch p.e.p.Values[v].Input {
	case "tokens":
		return p.word(tokens)
	case "positions":
		return p.word(positions)
	case "wanted":
		return p.word(wanted)
	}
	panic(fmt.Sprintf("cuda: input %q", p.e.p.Values[v].Input))
}

func (p *part) scratchAt(i int) uint64 { return uint64(p.scratch[i]) }

// lowerGroup adds the work of a group: one launch where there is one for the
// rows of a run, else those of its tasks.
func (p *part) lowerGroup(g *group) error {
	if g.start != nil {
		p.held = 0 // what is quantised here is not, when all is done at once
	}
	before := len(p.work)
	for _, part := range g.parts {
		if err := p.lowerGroup(part); err != nil {
			return err
		}
	}
	for _, t := range g.tasks {
		if g.parts != nil || g.start != nil && g.fits == nil {
			break // never needed
		}
		if o, is := t.Op.(graph.RMSNorm); is && g.quantises {
			p.normQuantise(o, t)
			continue
		}
		if err := p.lower(t.Step, t.plus); err != nil {
			return err
		}
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

// lower adds the work of a step; a product has value plus added to it unless that
// is none. A launch of no rows is none.
func (p *part) lower(s graph.Step, plus int) error {
	x := func(i int) uint64 { return uint64(p.value(s.In[i])) }
	y := uint64(p.value(s.Out))
	width := p.e.p.Values[s.Out].Width()
	add := func(f func(rows int) error) {
		p.work = append(p.work, func() error {
			if n := p.rows(s.Out); n > 0 {
				return f(n)
			}
			return nil
		})
	}
	// simple adds a kernel over all numbers or rows: args stand before their
	// count, which is that of all numbers where the kernel knows no rows.
	simple := func(name string, all bool, args []uint64, rest ...uint64) {
		add(func(rows int) error {
			n := width
			if all {
				n *= rows
			}
			list := append(append(append([]uint64{y}, args...), i32(n)), rest...)
			return p.start(name, gpu.Dims{Rows: rows, Out: width}, list...)
		})
	}
	switch o := s.Op.(type) {
	case graph.Embed:
		w, typ := p.matrix(o.Weight)
		add(func(rows int) error {
			return p.start(gpu.Name("embed", typ), gpu.Dims{Rows: rows, Out: width}, y, w, p.input(s.In[0]), i32(width))
		})
	case graph.Take:
		add(func(rows int) error {
			return p.start("take", gpu.Dims{Rows: rows, Out: width}, y, x(0), p.input(s.In[1]), i32(width))
		})
	case graph.RMSNorm:
		group := o.Weight.Shape[0]
		add(func(rows int) error {
			return p.start("rmsnorm", gpu.Dims{Rows: rows * (width / group)}, y, x(0), p.vector(o.Weight), i32(group), f32(o.Eps))
		})
	case graph.LayerNorm:
		simple("layernorm", false, []uint64{x(0), p.vector(o.Weight), p.vector(o.Bias)}, f32(o.Eps))
	case graph.Linear:
		p.linear(o, s, plus, add)
	case graph.Bias:
		simple("bias", false, []uint64{x(0), p.vector(o.Vector)})
	case graph.Add:
		simple("add", true, []uint64{x(0), x(1)})
	case graph.Scale:
		simple("scale", true, []uint64{x(0)}, f32(o.By))
	case graph.SoftCap:
		simple("softcap", true, []uint64{x(0)}, f32(o.Limit))
	case graph.Activate:
		simple("gate", true, []uint64{x(0), 0}, i32(int(o.Act)))
	case graph.Gate:
		simple("gate", true, []uint64{x(0), x(1)}, i32(int(o.Act)))
	case graph.Weigh:
		simple("weigh", false, []uint64{x(0), x(1)})
	case graph.Rope:
		t := p.ropeTable(o)
		heads := width / o.HeadDim
		add(func(rows int) error {
			return p.start("rope", gpu.Dims{Rows: rows, Heads: heads}, y, x(0), uint64(t.cos), uint64(t.sin), p.word(positions),
				i32(heads), i32(o.HeadDim), i32(len(o.Freqs)), flag(o.Interleaved))
		})
	case graph.Attention:
		add(func(rows int) error { return p.attend(o, x(0), x(1), x(2), y, rows) })
	case graph.Experts:
		p.held = 0
		add(func(rows int) error { return p.experts(o, x(0), x(1), y, rows) })
	default:
		return fmt.Errorf("cuda: no kernel for %T", s.Op)
	}
	return nil
}

// Up to how many rows products go through the kernel that reads weights once for
// eight rows, and through the one for eight-bit tensor cores, which rounds less
// than the one for more rows.
const (
	gemvRows  = 8
	gemm8Rows = 64
)

// linear multiplies by a matrix. Kernels of few rows take activations of eight
// bits, which the products of one value share.
func (p *part) linear(o graph.Linear, s graph.Step, plus int, add func(func(rows int) error)) {
	w, typ := p.matrix(o.Weight)
	out, in := o.Weight.Shape[0], o.Weight.Shape[1]
	x, y, residual := p.value(s.In[0]), p.value(s.Out), uint64(0)
	if plus != none {
		residual = uint64(p.value(plus))
	}
	small := p.d.small
	if v := s.In[0] + 1; p.held != v {
		p.held, p.quantised, p.ordered = v, false, false
	}
	if p.d.wgmma && !p.ordered {
		p.ordered = true
		add(func(rows int) error { return p.orderWide(x, in, rows) })
	}
	if gpu.Quantised(typ) && !p.quantised {
		p.quantised = true
		add(func(rows int) error {
			if !small(rows) {
				return nil
			}
			return p.start("quantize", gpu.Dims{Rows: rows, In: in}, p.scratchAt(acts), uint64(x), i32(in))
		})
	}
	add(func(rows int) error {
		if p.d.wide(rows, in) {
			return p.d.multiplyWide(typ, uint64(y), w, p.scratchAt(acts), p.vector(o.Bias), residual, p.scratchAt(portions), out, in, rows, p.d.portions(rows, out, in))
		}
		name, from := gpu.GEMVName(typ, rows), uint64(x)
		if gpu.Quantised(typ) && small(rows) {
			from = p.scratchAt(acts)
		}
		if rows > gemvRows && p.d.info.Capability >= tensorCores {
			name = gpu.Name("gemm", typ)
			if gpu.Quantised(typ) && small(rows) {
				name = gpu.Name("gemm8", typ)
			}
		}
		return p.start(name, gpu.Dims{Rows: rows, Out: out}, uint64(y), w, from, p.vector(o.Bias), residual, i32(out), i32(in), i32(rows))
	})
}

// small reports whether products of so many rows take activations of eight bits,
// where the weights are of a type that allows it.
func (d *device) small(rows int) bool {
	return rows <= gemvRows || rows <= gemm8Rows && !d.wgmma || d.info.Capability < tensorCores
}

// normQuantise norms whole rows, and quantises or orders them in the same launch for
// the products that follow, where those take ActQ8_32 or gemm90_x's order.
func (p *part) normQuantise(o graph.RMSNorm, t task) {
	n := o.Weight.Shape[0]
	p.work = append(p.work, func() error {
		rows := p.rows(t.Out)
		x, y, w := uint64(p.value(t.In[0])), uint64(p.value(t.Out)), p.vector(o.Weight)
		switch {
		case rows == 0:
			return nil
		case p.d.small(rows):
			return p.start("rmsnorm_quantize", gpu.Dims{Rows: rows}, p.scratchAt(acts), 0, x, w, i32(n), f32(o.Eps))
		}
		if p.d.wide(rows, n) {
			return p.start("gemm90_norm", gpu.Dims{Rows: rows}, p.scratchAt(acts), x, w, i32(n), f32(o.Eps))
		}
		return p.start("rmsnorm", gpu.Dims{Rows: rows}, y, x, w, i32(n), f32(o.Eps))
	})
	p.held, p.quantised, p.ordered = t.Out+1, true, true
}

// tensorCores is the compute capability the gemm kernels need.
const tensorCores = 80

// experts routes every row to some experts and adds up what they answer.
func (p *part) experts(o graph.Experts, x, router, y uint64, rows int) error {
	n, ff, in, out := o.Gate.Shape[0], o.Gate.Shape[1], o.Gate.Shape[2], o.Down.Shape[1]
	at := p.scratchAt
	if err := p.start("experts_choose", gpu.Dims{Rows: rows}, at(chosen), at(shares), router, i32(n), i32(o.Used),
		flag(o.Renormalise), flag(o.SparseMixer), f32(o.Jitter)); err != nil {
		return err
	}
	if p.heldExperts(o, rows) {
		return p.fusedExperts(o, x, y, rows)
	}
	// through sends rows of x, each to per of the experts chosen.
	quantised := uint64(0)
	through := func(t, bias *weights.Tensor, y, x uint64, xRows, in, out, per int) error {
		w, typ := p.matrix(t)
		if gpu.Quantised(typ) {
			if quantised != x {
				quantised = x
				if err := p.start("quantize", gpu.Dims{Rows: xRows, In: in}, at(acts), x, i32(in)); err != nil {
					return err
				}
			}
			x = at(acts)
		}
		return p.start(gpu.Name("expert_gemv", typ), gpu.Dims{Rows: rows * o.Used, Out: out}, y, w, x, p.vector(bias), at(chosen), i32(out), i32(in), i32(per))
	}
	if err := through(o.Gate, o.GateBias, at(gates), x, rows, in, ff, o.Used); err != nil {
		return err
	}
	if err := through(o.Up, o.UpBias, at(ups), x, rows, in, ff, o.Used); err != nil {
		return err
	}
	slots := rows * o.Used
	if err := p.start("gate", gpu.Dims{Rows: slots, Out: ff}, at(gates), at(gates), at(ups), i32(slots*ff), i32(int(o.Act))); err != nil {
		return err
	}
	if err := through(o.Down, o.DownBias, at(answers), at(gates), slots, ff, out, 1); err != nil {
		return err
	}
	return p.start("experts_combine", gpu.Dims{Rows: rows, Out: out}, y, at(answers), at(shares), i32(out), i32(o.Used))
}

// heldExperts reports whether a mixture of so many rows is done by kernels that
// hold their activations.
func (p *part) heldExperts(o graph.Experts, rows int) bool {
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

// A ropeTable holds the rotations of positions below places for one set of
// frequencies, computed as the CPU does.
type ropeTable struct {
	freqs     []float64
	magnitude float32
	places    int
	cos, sin  driver.Ptr // (places, pairs)
}

func (p *part) ropeTable(o graph.Rope) *ropeTable {
	for _, t := range p.ropes {
		if &t.freqs[0] == &o.Freqs[0] && len(t.freqs) == len(o.Freqs) && t.magnitude == o.Magnitude {
			return t
		}
	}
	t := &ropeTable{freqs: o.Freqs, magnitude: o.Magnitude}
	p.ropes = append(p.ropes, t)
	return t
}

// minPlaces is the least positions a ropeTable is made for.
const minPlaces = 4096

// reach makes every ropeTable hold positions below n. Recorded graphs know where
// the tables lay, and go.
func (p *part) reach(n int) error {
	for _, t := range p.ropes {
		if n <= t.places {
			continue
		}
		if err := p.dropGraphs(); err != nil {
			return err
		}
		places := max(minPlaces, 2*t.places)
		for places < n {
			places *= 2
		}
		if err := p.rotate(t, places); err != nil {
			return err
		}
	}
	return nil
}

// rotate makes t's tables anew, through the stages weights go through.
func (p *part) rotate(t *ropeTable, places int) error {
	for _, at := range []*driver.Ptr{&t.cos, &t.sin} {
		if *at != 0 {
			if err := p.d.ctx.Free(*at); err != nil {
				return err
			}
			*at, t.places = 0, 0
		}
	}
	pairs := len(t.freqs)
	for _, at := range []*driver.Ptr{&t.cos, &t.sin} {
		var err error
		if *at, err = p.d.alloc(4 * int64(places*pairs)); err != nil {
			return err
		}
	}
	per := min(places, stageBytes/4/pairs)
	cos, sin := make([]float32, per*pairs), make([]float32, per*pairs)
	for from := 0; from < places; from += per {
		n := min(per, places-from)
		for i := range n {
			vec.RopeTable(cos[i*pairs:(i+1)*pairs], sin[i*pairs:(i+1)*pairs], int32(from+i), t.freqs, t.magnitude)
		}
		for _, half := range []struct {
			at driver.Ptr
			x  []float32
		}{{t.cos, cos}, {t.sin, sin}} {
			if err := p.d.send(half.at+driver.Ptr(4*from*pairs), floatBytes(half.x[:n*pairs])); err != nil {
				return err
			}
		}
	}
	t.places = places
	return nil
}
