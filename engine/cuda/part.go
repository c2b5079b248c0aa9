package cuda

import (
	"context"
	"math/bits"
	"slices"
	"unsafe"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// A part is the steps of a Program that one device runs.
type part struct {
	e      *exec
	d      *device
	layers span
	steps  []graph.Step
	in     []int // values it is handed
	out    []int // values it hands over, or the Program's results

	weights []weightKey
	groups  []*group    // the steps, in the order they run
	places  map[int]int // values and their buffers
	sizes   []int       // floats of each buffer
	buffers []driver.Ptr
	scratch []driver.Ptr // what kernels need beside, by purpose
	need    []int        // floats of each
	ropes   []*ropeTable
	lists   []*constant
	held    int // value whose activations acts has while lowering, plus one

	// Whether acts has them, by what the rows of a run call for.
	quantised, ordered bool

	work   []work
	memory int64 // bytes of buffers and scratch

	block  driver.Ptr // the inputs of a step, as batch lays them out
	words  int        // of block
	pinned []byte
	mail   []byte // pinned: what is handed over or read
	graphs map[graphKey]*replay
	ranker *ranker // nil until rows are ranked
	bare   bool    // the driver records no graphs

	// The run in progress.
	run batch
	kv  *cache
}

// work launches the kernels of a step for the part's run.
type work func() error

// A graphKey says which recorded graph fits a run: everything in a launch that
// is not read from device memory.
type graphKey struct {
	rows, stride int
	kv, states   driver.Ptr
	adapted      bool
	rank         rankBy
}

// A replay is a graph, made when its key comes for the second time.
type replay struct{ graph driver.Graph }

// place takes the device's memory and makes the part's work. What was taken
// before an error is in p and goes with Close.
func (p *part) place(ctx context.Context, done func(int64)) error {
	keys := p.weights
	p.weights = nil
	for _, k := range keys {
		if _, err := p.d.place(ctx, k, done); err != nil {
			return err
		}
		p.weights = append(p.weights, k)
	}
	if err := p.d.stream.Sync(); err != nil {
		return err
	}
	for _, n := range p.sizes {
		at, err := p.d.alloc(4 * int64(n))
		if err != nil {
			return err
		}
		p.buffers = append(p.buffers, at)
	}
	for i, n := range p.need {
		at, err := p.d.alloc(4 * int64(n))
		if err != nil {
			return err
		}
		p.scratch = append(p.scratch, at)
		if i == arrivals && n > 0 {
			if err := p.d.stream.Zero(at, 4*int64(n)); err != nil {
				return err
			}
		}
	}
	var err error
	n := 0
	for _, v := range append(p.in[:len(p.in):len(p.in)], p.out...) {
		n += 4 * p.e.p.Values[v].Shape.Elems()
	}
	if p.mail, err = p.d.ctx.Pinned(n); err != nil {
		return err
	}
	if err := p.reserve(p.column(p.near0()) + 64); err != nil {
		return err
	}
	for _, g := range p.groups {
		if err := p.lowerGroup(g); err != nil {
			return err
		}
	}
	for _, c := range p.lists {
		if c.at, err = p.d.alloc(4 * int64(len(c.x))); err != nil {
			return err
		}
		if err := p.d.send(c.at, quant.Floats(c.x)); err != nil {
			return err
		}
	}
	return nil
}

// reserve makes room for so many words of inputs. Recorded graphs contain the address where
// they lay, and go.
func (p *part) reserve(words int) error {
	if words <= p.words {
		return nil
	}
	words = 1 << bits.Len(uint(words-1))
	if err := p.dropInputs(); err != nil {
		return err
	}
	var err error
	if p.block, err = p.d.alloc(4 * int64(words)); err != nil {
		return err
	}
	if p.pinned, err = p.d.ctx.Pinned(4 * words); err != nil {
		return err
	}
	p.words = words
	return nil
}

func (p *part) dropGraphs() error {
	for k, r := range p.graphs {
		delete(p.graphs, k)
		if r.graph != nil {
			if err := r.graph.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *part) dropInputs() error {
	p.words = 0
	if err := p.dropGraphs(); err != nil {
		return err
	}
	if p.pinned != nil {
		b := p.pinned
		p.pinned = nil
		if err := p.d.ctx.FreePinned(b); err != nil {
			return err
		}
	}
	if p.block != 0 {
		at := p.block
		p.block = 0
		return p.d.ctx.Free(at)
	}
	return nil
}

func (p *part) free() error {
	if err := p.d.ctx.Enter(); err != nil {
		return err
	}
	if err := p.d.stream.Sync(); err != nil {
		return err
	}
	if err := p.dropInputs(); err != nil {
		return err
	}
	if p.mail != nil {
		if err := p.d.ctx.FreePinned(p.mail); err != nil {
			return err
		}
	}
	if p.ranker != nil {
		if err := p.ranker.free(p.d); err != nil {
			return err
		}
	}
	all := append(p.scratch, p.buffers...)
	for _, t := range p.ropes {
		all = append(all, t.cos, t.sin)
	}
	for _, c := range p.lists {
		all = append(all, c.at)
	}
	for _, at := range all {
		if at == 0 {
			continue
		}
		if err := p.d.ctx.Free(at); err != nil {
			return err
		}
	}
	for _, k := range p.weights {
		// After a plan that was never carried out nothing is placed.
		if p.d.placed[k] == nil {
			continue
		}
		if err := p.d.drop(k); err != nil {
			return err
		}
	}
	return nil
}

// runBatch takes what was handed to it through the part's steps and returns what
// it hands on, valid until the next run.
func (p *part) runBatch(in *graph.Batch, c *cache, handed [][]float32, top []int) ([][]float32, error) {
	if err := p.d.ctx.Enter(); err != nil {
		return nil, err
	}
	var recorded bool
	if p.run, recorded = p.shape(in, c); !recorded {
		p.run.stretches = stretches(in.Seq)
	}
	p.run.rank, p.run.masked = p.rank(in, top)
	p.kv = c
	words := p.inputs()
	if err := p.reserve(words); err != nil {
		return nil, err
	}
	last := slices.Max(in.Positions)
	if err := p.reach(int(last) + 1); err != nil {
		return nil, err
	}
	p.fill(in, c)
	if err := p.d.stream.Upload(p.block, p.pinned[:4*words]); err != nil {
		return nil, err
	}
	mail := 0
	for i, v := range p.in {
		n := 4 * p.e.p.Values[v].Shape[0] * p.e.p.Values[v].Width()
		x := p.mail[mail : mail+n]
		mail += n
		// Rows that fill up must be numbers too.
		got := copy(x, quant.Floats(handed[i]))
		x = x[:4*p.rows(v)*p.e.p.Values[v].Width()]
		clear(x[min(got, len(x)):])
		if err := p.d.stream.Upload(p.value(v), x); err != nil {
			return nil, err
		}
	}
	if err := p.launch(recorded); err != nil {
		return nil, err
	}
	if p.run.masked {
		if err := p.bar(in, top); err != nil {
			return nil, err
		}
		if err := p.launchRank(); err != nil {
			return nil, err
		}
	}
	var out [][]float32
	for i, v := range p.out {
		n := 4 * p.e.p.Values[v].Shape[0] * p.e.p.Values[v].Width()
		rows := in.Rows()
		if p.e.p.Values[v].Lead == graph.PerWant {
			rows = len(in.Want)
		}
		x := p.mail[mail : mail+4*rows*p.e.p.Values[v].Width()]
		mail += n
		if i == 0 && p.run.rank != unranked {
			if err := p.fetchRanked(x, top); err != nil {
				return nil, err
			}
		} else if len(x) > 0 {
			if err := p.d.stream.Download(x, p.value(v)); err != nil {
				return nil, err
			}
		}
		out = append(out, bytesFloat(x))
	}
	return out, p.d.stream.Sync()
}

// launch runs the part's work, from a recording when this shape came before.
func (p *part) launch(recorded bool) error {
	all := func() error {
		for _, w := range p.work {
			if err := w(); err != nil {
				return err
			}
		}
		if p.run.masked {
			return nil
		}
		return p.launchRank()
	}
	if !recorded || p.bare {
		return all()
	}
	key := graphKey{rows: p.run.rows, stride: p.run.stride, kv: p.cacheAt(), states: p.statesAt(), adapted: p.run.adapted, rank: p.run.rank}
	if p.run.masked {
		key.rank = unranked
	}
	r := p.graphs[key]
	if r == nil {
		p.graphs[key] = &replay{}
		return all()
	}
	if r.graph == nil {
		g, err := p.d.stream.Capture(all)
		if err != nil {
			if lost := p.d.stream.Sync(); lost != nil {
				return lost
			}
			p.bare = true
			p.e.b.log.Warn("steps are launched kernel by kernel: the driver does not record them", "err", err)
			return all()
		}
		r.graph = g
	}
	return p.d.stream.Replay(r.graph)
}

// rows is how many leading indices of value v this run has.
func (p *part) rows(v int) int {
	if p.e.p.Values[v].Lead == graph.PerWant {
		return p.run.want
	}
	return p.run.rows
}

// value is where value v lies.
func (p *part) value(v int) driver.Ptr { return p.buffers[p.places[v]] }

// slab is the cache's memory on the part's device.
func (p *part) slab() (s slab) {
	if p.kv == nil {
		return s
	}
	return p.kv.slabs[slices.Index(p.e.b.devices, p.d)]
}

// cacheAt is where the part's layers of the cache begin.
func (p *part) cacheAt() driver.Ptr { return p.slab().at }

// statesAt is where the slots of states begin.
func (p *part) statesAt() driver.Ptr { return p.slab().states }

// layerAt is where layer l of the cache lies.
func (p *part) layerAt(l int) uint64 {
	return uint64(p.cacheAt()) + uint64(p.kv.between(p.layers.from, l))
}

func bytesFloat(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
