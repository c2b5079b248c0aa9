package cuda

import (
	"context"
	"math/bits"
	"slices"
	"unsafe"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
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

// The inputs of a step lie in device memory as 32-bit words: a column for each
// of these, as long as the Program has rows, four for runs of rows where it has states, three of the rows
// wanted where those see tokens, two of adapters where it has some, one of slots for each further pool of the cache, and then the block tables, those of a sequence together. A row
// that fills up has no slot to store to and sees no tokens.
const (
	tokens = iota
	positions
	sequences // row of the tables
	ends      // how many tokens of its sequence a row sees
	slots     // where keys and values go: block · block size + place
	wanted
	columns // of every Program

	runs    = columns // four of them
	ofWants = 3       // positions, sequences and ends again, of the rows wanted
)

// A batch is how a step is launched.
type batch struct {
	rows, want     int
	tables, stride int       // blocks a table has room for
	near           int       // pools of the cache beside the first
	runs, longest  int       // of Programs with states: runs of rows, and rows of the longest
	adapted        bool      // some row has an adapter
	stretches      []stretch // how rows attend, nil for any that a recording must fit
	rank           rankBy
	masked         bool // so ranking waits for masks, and is no part of a recording
}

// maxGraphRows is how many rows a step may have to be recorded. Larger ones are
// prompts, whose kernels are long.
const maxGraphRows = 256

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
		if err := p.d.send(c.at, floatBytes(c.x)); err != nil {
			return err
		}
	}
	return nil
}

// A constant is numbers that are no tensor's, on the device.
type constant struct {
	x  []float32
	at driver.Ptr
}

// constant has x lie on the device when the part is placed; the address of none is 0.
func (p *part) constant(x []float32) *constant {
	c := &constant{x: x}
	if x != nil {
		p.lists = append(p.lists, c)
	}
	return c
}

// reserve makes room for so many words of inputs. Recorded graphs know where
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

// shape says how a batch is launched: a decode step fills up to a power of two,
// so that one recording serves many steps. Rows that are not wanted, as those of forced tokens
// before a sequence's last, count as wanted there if they are no more than those that are.
func (p *part) shape(in *graph.Batch, c *cache) (b batch, recorded bool) {
	b = batch{rows: in.Rows(), want: len(in.Want), tables: max(1, len(in.Tables)), stride: 1}
	if c != nil {
		last := int32(0)
		for _, pos := range in.Positions {
			last = max(last, pos)
		}
		b.stride = 1 << bits.Len(uint(int(last)/c.spec.BlockSize))
		b.near = len(c.spec.Near)
	}
	b.runs, b.longest = countRuns(in.Seq)
	b.adapted = slices.ContainsFunc(in.Adapters, func(a int32) bool { return a > 0 })
	if p.e.limits.Ahead || b.rows > maxGraphRows {
		return b, false
	}
	full := 1 << bits.Len(uint(b.rows-1))
	full = max(b.rows, min(full, p.e.p.Rows, p.e.p.Want))
	if b.want < b.rows && (b.rows > 2*b.want || full > min(maxRanked, p.e.p.Want)) {
		return b, false
	}
	b.rows, b.want, b.runs, b.longest = full, full, full, full
	return b, true
}

// column is where column i begins in the block, in words. Wanted rows are no more
// than rows.
func (p *part) column(i int) int { return i * max(p.e.p.Rows, p.e.p.Want) }

// word is the address of column i.
func (p *part) word(i int) uint64 { return uint64(p.block) + 4*uint64(p.column(i)) }

// wants is the first column of the rows wanted, behind those of runs.
func (p *part) wants() int {
	if p.e.limits.State > 0 {
		return runs + 4
	}
	return columns
}

// adapters is the column of the adapters of rows, before that of those wanted.
func (p *part) adapters() int {
	if p.e.asks {
		return p.wants() + ofWants
	}
	return p.wants()
}

// near0 is the column of the first pool beside the first.
func (p *part) near0() int {
	if p.e.limits.Adapters > 0 {
		return p.adapters() + 2
	}
	return p.adapters()
}

// ofRows is the address of positions, sequences or ends of the rows of a batch, or of those wanted.
func (p *part) ofRows(column int, lead graph.Lead) uint64 {
	if lead == graph.PerWant {
		column += p.wants() - positions
	}
	return p.word(column)
}

// near is the pool of layer l of the cache.
func (p *part) near(l int) int { return p.kv.spec.Layers[l].Near }

// slots is the address of where the rows go in layer l.
func (p *part) slots(l int) uint64 {
	if near := p.near(l); near > 0 {
		return p.word(p.near0() + near - 1)
	}
	return p.word(slots)
}

// tables is the address of the block tables of layer l, and how many words there are from one
// to the next.
func (p *part) tables(l int) (at uint64, stride int) {
	return p.word(p.near0()+p.run.near) + 4*uint64(p.near(l)*p.run.stride), (1 + p.run.near) * p.run.stride
}

// inputs is how many words the inputs of a run have.
func (p *part) inputs() int {
	return p.column(p.near0()+p.run.near) + p.run.tables*(1+p.run.near)*p.run.stride
}

// fill lays a batch out in pinned memory.
func (p *part) fill(in *graph.Batch, c *cache) {
	w := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(p.pinned))), p.words)
	var col [columns][]int32
	for i := range col {
		col[i] = w[p.column(i):p.column(i+1)]
	}
	pools := 1 + p.run.near
	tables := w[p.column(p.near0()+p.run.near):p.inputs()]
	clear(tables)
	for s := range in.Tables {
		for near := range pools {
			at := (s*pools + near) * p.run.stride
			copy(tables[at:at+p.run.stride], in.Table(int32(s), near))
		}
	}
	for i := len(in.Positions); i < p.run.rows; i++ {
		col[tokens][i], col[positions][i], col[sequences][i], col[ends][i], col[slots][i] = 0, 0, 0, 0, -1
	}
	for i := len(in.Positions) - 1; i >= 0; i-- {
		pos, seq := in.Positions[i], in.Seq[i]
		col[tokens][i], col[positions][i], col[sequences][i], col[ends][i], col[slots][i] = 0, pos, seq, pos+1, -1
		if in.Tokens != nil {
			col[tokens][i] = in.Tokens[i]
		}
		if p.e.limits.Ahead && i+1 < len(in.Positions) && in.Seq[i+1] == seq {
			col[ends][i] = col[ends][i+1]
		}
		if c != nil {
			size := int32(c.spec.BlockSize)
			col[slots][i] = in.Tables[seq][pos/size]*size + pos%size
		}
	}
	for near := range p.run.near {
		to, size := w[p.column(p.near0()+near):p.column(p.near0()+near+1)], int32(c.spec.BlockSize)
		for i := range p.run.rows {
			to[i] = -1
		}
		for i, pos := range in.Positions {
			to[i] = in.Table(in.Seq[i], near+1)[pos/size]*size + pos%size
		}
	}
	if p.e.limits.State > 0 {
		all := w[p.column(runs):][:4*p.run.runs]
		runsOf(unsafe.Slice((*run)(unsafe.Pointer(unsafe.SliceData(all))), p.run.runs), in, p.run.rows)
	}
	if p.run.adapted {
		of := w[p.column(p.adapters()):][:p.run.rows]
		clear(of)
		for i, seq := range in.Seq {
			of[i] = in.Adapters[seq]
		}
		wanted := w[p.column(p.adapters()+1):][:p.run.want]
		clear(wanted)
		for i, r := range in.Want {
			wanted[i] = of[r]
		}
	}
	if p.e.asks {
		for k := range ofWants {
			to := w[p.column(p.wants()+k):][:p.run.want]
			clear(to)
			for i, r := range in.Want {
				to[i] = col[positions+k][r]
			}
		}
	}
	clear(col[wanted][:p.run.want])
	copy(col[wanted], in.Want)
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
		got := copy(x, floatBytes(handed[i]))
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

func floatBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func bytesFloat(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
