package matmul

import (
	"fmt"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// A Stack is one matrix (Out, In) for each expert, one after the other.
type Stack struct {
	Type    quant.Type
	Data    []byte
	Out, In int
	Step    int       // bytes from one matrix to the next where others lie between, else 0
	Bias    []float32 // (experts, Out) or nil

	// Interleaved has the first Interleaves rows of each matrix as dot.Interleave writes them,
	// one matrix after the other, or is nil.
	Interleaved []byte
}

// sixteens is how many rows of each matrix are interleaved.
func (s *Stack) sixteens() int {
	if s.Interleaved == nil {
		return 0
	}
	return Interleaves(s.Type, s.Out, s.In)
}

func (s *Stack) rowBytes() int {
	n, _ := s.Type.Size(s.In)
	return n
}

// step is the bytes from one matrix to the next.
func (s *Stack) step() int { return max(s.Step, s.Out*s.rowBytes()) }

// ExpertsOptions describe a mixture of experts. Act combines gate and up as
// SiLUGate does. Without a Gate, whose Out is 0 then, up is nil for it.
type ExpertsOptions struct {
	Gate, Up, Down Stack
	Routing
	Act func(dst, gate, up []float32)

	// Changes of adapters to the products of a stack of n experts: that of adapter a and
	// expert x is number a·n + x. Each may be nil.
	GateChanges, UpChanges, DownChanges []Change

	Room *Room // its buffers; nil for ones of its own
}

// Experts computes a mixture of experts straight from the stacked weights: each
// row is multiplied with Used of them. Rows are grouped by expert, so an expert's weights
// are read once for all its rows, and those of an expert without rows are not read. It is
// made once and is not safe for concurrent use.
//
// A row's result does not depend on the other rows: its own experts are summed
// in the order of its router, and dot.Rows and dot.SplitRows give each row the
// same bits in any batch.
type Experts struct {
	o       ExpertsOptions
	n, rows int // experts, the most rows of a run

	*Room

	inputs [2]slotActs // for Up, and for Gate where its type takes another type of activations
	gate   *slotActs   // one of inputs
	hidden slotActs

	adapted *adaptedSlots // nil without changes

	// The run in progress.
	dst, x, router    []float32
	count             int // rows
	tile, tiles       int // weight rows a chunk takes, chunks per expert
	grain             int // rows or slots in a chunk of row-wise work
	choose, collect   threads.Region
	project, activate threads.Region
	contract, combine threads.Region

	splitting *slotActs // whose split is being filled
	fill      threads.Region
}

// slotActs are activations quantised per slot.
type slotActs struct {
	with   quant.Type
	stride int
	bytes  []byte
	split  *dot.Split // the same rows split, where dot.Splits holds, or nil
}

// newSlotActs are those of s, which will lie in room.
func newSlotActs(s *Stack, slots int, room *[]byte) slotActs {
	a := slotActs{with: s.Type.Layout().With}
	a.stride = quant.ActBytes(a.with, s.In)
	grow(room, slots*a.stride)
	return a
}

func (a *slotActs) at(slot int) []byte { return a.bytes[slot*a.stride : (slot+1)*a.stride] }

// NewExperts prepares a mixture of n experts for runs of at most rows rows.
// Weights are kept, not copied.
func NewExperts(o ExpertsOptions, n, rows int) *Experts {
	gated := o.Gate.Out > 0
	for i, s := range []*Stack{&o.Up, &o.Down, &o.Gate} {
		if i == 2 && !gated {
			break
		}
		row, ok := s.Type.Size(s.In)
		if !ok || len(s.Data) != (n-1)*s.step()+s.Out*row || s.Bias != nil && len(s.Bias) != n*s.Out || len(s.Interleaved) != n*s.sixteens()*row {
			panic(fmt.Sprintf("matmul: %d experts of %d×%d %v in %d bytes with %d biases and %d bytes interleaved", n, s.Out, s.In, s.Type, len(s.Data), len(s.Bias), len(s.Interleaved)))
		}
	}
	if o.Used < 1 || o.Used > n || rows < 1 || gated && (o.Gate.Out != o.Up.Out || o.Gate.In != o.Up.In) || o.Up.Out != o.Down.In {
		panic(fmt.Sprintf("matmul: %d of %d experts, gate %d×%d, up %d×%d, down %d×%d, for %d rows",
			o.Used, n, o.Gate.Out, o.Gate.In, o.Up.Out, o.Up.In, o.Down.Out, o.Down.In, rows))
	}
	r := o.Room
	if r == nil {
		r = new(Room)
	}
	slots := rows * o.Used
	r.reserve(&o, n, rows)
	e := &Experts{o: o, n: n, rows: rows, Room: r, hidden: newSlotActs(&o.Down, slots, &r.acts[2])}
	e.inputs[0] = newSlotActs(&o.Up, slots, &r.acts[0])
	e.gate = &e.inputs[0]
	if gated && o.Gate.Type.Layout().With != e.gate.with {
		e.inputs[1] = newSlotActs(&o.Gate, slots, &r.acts[1])
		e.gate = &e.inputs[1]
	}
	e.adapted = newAdaptedSlots(e)
	e.choose.F, e.collect.F = e.chooseChunk, e.collectChunk
	e.project.F, e.activate.F = e.projectChunk, e.activateChunk
	e.contract.F, e.combine.F = e.contractChunk, e.combineChunk
	e.fill.F = e.fillChunk
	return e
}

// Run writes the weighted sums of the experts' results for the rows of x (rows, in), routed by
// router (rows, experts), to dst (rows, out). The Change of a run of rows is the adapter they have.
func (e *Experts) Run(p *threads.Pool, dst, x, router []float32, rows int, adapters []Run) {
	if rows < 0 || rows > e.rows || len(dst) != rows*e.o.Down.Out || len(x) != rows*e.o.Up.In || len(router) != rows*e.n {
		panic(fmt.Sprintf("matmul: experts for %d rows of %d: %d floats routed by %d into %d", rows, e.rows, len(x), len(router), len(dst)))
	}
	if rows == 0 {
		return
	}
	e.dst, e.x, e.router, e.count = dst, x, router, rows
	e.inputs[0].bytes, e.inputs[1].bytes, e.hidden.bytes = e.acts[0], e.acts[1], e.acts[2]
	byRow := func(rows, width int, r *threads.Region) {
		e.grain = max(1, 8<<10/width)
		p.Run((rows+e.grain-1)/e.grain, r)
	}
	byRow(rows, e.n*e.o.Used, &e.choose)
	e.sort()
	slots := rows * e.o.Used
	adapted := e.adapted.find(e, adapters)
	byRow(rows, e.o.Up.In*e.o.Used, &e.collect)
	e.split(p, &e.inputs[0], &e.o.Up)
	if e.gated() {
		e.split(p, e.gate, &e.o.Gate)
	}
	e.cut(p, &e.o.Up)
	p.Run(len(e.active)*e.tiles, &e.project)
	e.inputs[0].release()
	e.gate.release()
	if adapted {
		e.adapted.project(p, e)
	}
	byRow(slots, e.o.Up.Out, &e.activate)
	e.split(p, &e.hidden, &e.o.Down)
	e.cut(p, &e.o.Down)
	p.Run(len(e.active)*e.tiles, &e.contract)
	e.hidden.release()
	if adapted {
		e.adapted.contract(p, e)
	}
	byRow(rows, e.o.Down.Out*e.o.Used, &e.combine)
	e.dst, e.x, e.router = nil, nil, nil
}

func (e *Experts) gated() bool { return e.o.Gate.Out > 0 }

// sort numbers the slots: every chosen expert of every row has one, ordered by expert.
func (e *Experts) sort() {
	chosen := e.chosen[:e.count*e.o.Used]
	clear(e.start[:e.n+1])
	for _, x := range chosen {
		e.start[x+1]++
	}
	e.active = e.active[:0]
	for x := range e.n {
		if e.start[x+1] > 0 {
			e.active = append(e.active, int32(x))
		}
		e.start[x+1] += e.start[x]
	}
	for i, x := range chosen { // each start advances to the end of its expert
		e.slot[i] = e.start[x]
		e.start[x]++
	}
	copy(e.start[1:], e.start[:e.n])
	e.start[0] = 0
}

// collectChunk quantises the rows of a chunk into their slots.
func (e *Experts) collectChunk(_, c int) {
	used, n := e.o.Used, e.o.Up.In
	for r := c * e.grain; r < min((c+1)*e.grain, e.count); r++ {
		slots := e.slot[r*used : (r+1)*used]
		for i := range e.inputs {
			a := &e.inputs[i]
			if a.stride == 0 {
				continue
			}
			x := e.x[r*n : (r+1)*n]
			if e.o.OnInput {
				scaled := e.scaled[r*n : (r+1)*n]
				for k, s := range slots {
					vec.Scale(scaled, x, e.weight[r*used+k])
					quant.Quantize(a.at(int(s)), a.with, scaled, n)
					e.adapted.keep(int(s), scaled)
				}
				continue
			}
			first := a.at(int(slots[0]))
			quant.Quantize(first, a.with, x, n)
			for _, s := range slots[1:] {
				copy(a.at(int(s)), first)
			}
			for _, s := range slots {
				e.adapted.keep(int(s), x)
			}
		}
		if e.o.OnInput { // the results are not weighted
			for k := range slots {
				e.weight[r*used+k] = 1
			}
		}
	}
}

// split makes the Split of a, if weights of s take one and a has none yet.
func (e *Experts) split(p *threads.Pool, a *slotActs, s *Stack) {
	if !dot.Splits(s.Type) || a.split != nil {
		return
	}
	a.split = dot.NewSplit(s.In, e.count*e.o.Used)
	e.splitting = a
	p.Run(len(e.active), &e.fill)
}

// fillChunk splits the slots of an active expert.
func (e *Experts) fillChunk(_, c int) {
	x, a := e.active[c], e.splitting
	first := int(e.start[x])
	part := a.split.Slice(first, int(e.start[x+1])-first)
	for i := range part.Fills() {
		part.Fill(i, a.bytes[first*a.stride:], a.stride)
	}
}

func (a *slotActs) release() {
	if a.split != nil {
		a.split.Free()
		a.split = nil
	}
}

// cut sets the number of weight rows in a chunk, as MatMul does, for the average number of
// slots of an expert.
func (e *Experts) cut(p *threads.Pool, s *Stack) {
	batch := (e.count*e.o.Used + len(e.active) - 1) / len(e.active)
	share := (s.Out*len(e.active) + p.Workers() - 1) / p.Workers()
	e.tile = chunkRows(s.rowBytes(), share, batch)
	if dot.Splits(s.Type) {
		e.tile = splitRows(s.rowBytes(), share, batch)
	}
	if s.Interleaved != nil || s == &e.o.Up && e.o.Gate.Interleaved != nil {
		e.tile = (e.tile + dot.Sixteen - 1) / dot.Sixteen * dot.Sixteen
	}
	e.tile = min(e.tile, s.Out)
	e.tiles = (s.Out + e.tile - 1) / e.tile
}

// multiply writes the products of one tile of one active expert with all slots
// of that expert to dst (slots, s.Out).
func (e *Experts) multiply(dst []float32, s *Stack, a *slotActs, c int) {
	x := int(e.active[c/e.tiles])
	r0 := c % e.tiles * e.tile
	r1 := min(r0+e.tile, s.Out)
	first, batch := int(e.start[x]), int(e.start[x+1]-e.start[x])
	row := s.rowBytes()
	acts, at := a.bytes[first*a.stride:], r0
	if end := min(r1, s.sixteens()); at < end {
		dot.InterleavedRows(s.Type, dst[first*s.Out+at:], s.Out, s.Interleaved[(x*s.sixteens()+at)*row:], end-at, s.In, acts, a.stride, batch)
		at = end
	}
	w := s.Data[x*s.step()+at*row : x*s.step()+r1*row]
	if a.split != nil && dot.Splits(s.Type) {
		part := a.split.Slice(first, batch)
		dot.SplitRows(s.Type, dst[first*s.Out+r0:], s.Out, w, r1-r0, s.In, part, acts, a.stride)
	} else if at < r1 {
		dot.Rows(s.Type, dst[first*s.Out+at:], s.Out, w, r1-at, s.In, acts, a.stride, batch)
	}
	if s.Bias == nil {
		return
	}
	bias := s.Bias[x*s.Out+r0 : x*s.Out+r1]
	for b := first; b < first+batch; b++ {
		out := dst[b*s.Out+r0 : b*s.Out+r1]
		for i, v := range bias {
			out[i] += v
		}
	}
}

func (e *Experts) projectChunk(_, c int) {
	if e.gated() {
		e.multiply(e.g, &e.o.Gate, e.gate, c)
	}
	e.multiply(e.u, &e.o.Up, &e.inputs[0], c)
}

func (e *Experts) activateChunk(_, c int) {
	n := e.o.Up.Out
	for s := c * e.grain; s < min((c+1)*e.grain, e.count*e.o.Used); s++ {
		u := e.u[s*n : (s+1)*n]
		if e.gated() {
			e.o.Act(u, e.g[s*n:(s+1)*n], u)
		} else {
			e.o.Act(u, u, nil)
		}
		quant.Quantize(e.hidden.at(s), e.hidden.with, u, n)
	}
}

func (e *Experts) contractChunk(_, c int) { e.multiply(e.y, &e.o.Down, &e.hidden, c) }

func (e *Experts) combineChunk(_, c int) {
	used, n := e.o.Used, e.o.Down.Out
	for r := c * e.grain; r < min((c+1)*e.grain, e.count); r++ {
		out := e.dst[r*n : (r+1)*n]
		clear(out)
		for k := r * used; k < (r+1)*used; k++ {
			w, y := e.weight[k], e.y[int(e.slot[k])*n:]
			for i, v := range y[:n] {
				out[i] += w * v
			}
		}
	}
}
