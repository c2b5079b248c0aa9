package cuda

import (
	"math/bits"
	"slices"
	"unsafe"

	"quern/engine/graph"
)

// The inputs of a step lie in device memory as 32-bit words: a column for each of these, as long
// as the Program has rows, four for runs of rows where it has states, three of the rows wanted where
// those see tokens, two of adapters where it has some, one of slots for each further pool of the
// cache, and then the block tables, those of a sequence together. A row that fills up has no
// slot to store to and sees no tokens.
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
