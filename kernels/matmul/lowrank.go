package matmul

import (
	"fmt"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// A Change is one adapter's addition to the products of a matrix (out, in):
// Scale · B·(A·x). Without rows it adds nothing.
//
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, §4.1.
type Change struct {
	Rank         int
	A            []byte // (Rank, in)
	B            []byte // (Rank, out): transposed, so that a row of results is a sum of rows
	TypeA, TypeB quant.Type
	Scale        float32
}

// A Run is consecutive rows, From up to To, that have the same change, -1 for none.
type Run struct{ From, To, Change int }

// LowRank adds the changes of several adapters to the products of one matrix. It is made
// once and is not safe for concurrent use.
//
// A row's bits do not depend on the other rows: dot.Rows and dot.AddRows see to it, and
// results are cut at the same columns in any batch.
type LowRank struct {
	changes []Change
	in, out int
	rank    int // the highest

	// The call in progress.
	dst, x, low    []float32
	units          []Run // runs that have a change, in pieces of at most lowRows rows
	shrink, expand threads.Region
}

// A piece of work has so many rows, and of these so many of the rank or of the columns.
const (
	lowRows    = 16
	lowRank    = 16
	lowColumns = 1024
)

// NewLowRank prepares changes of a matrix (out, in) for runs of at most rows rows.
// Weights are kept, not copied.
func NewLowRank(out, in, rows int, changes []Change) *LowRank {
	l := &LowRank{changes: changes, in: in, out: out}
	for _, c := range changes {
		if c.Rank == 0 {
			continue
		}
		a, ok1 := c.TypeA.Size(in)
		b, ok2 := c.TypeB.Size(out)
		if !ok1 || !ok2 || c.TypeA.Layout().With != quant.F32 || len(c.A) != c.Rank*a || len(c.B) != c.Rank*b {
			panic(fmt.Sprintf("matmul: a change of a %d×%d matrix by rank %d in %d bytes of %v and %d of %v", out, in, c.Rank, len(c.A), c.TypeA, len(c.B), c.TypeB))
		}
		l.rank = max(l.rank, c.Rank)
	}
	l.units = make([]Run, 0, rows)
	l.shrink.F, l.expand.F = l.shrinkUnit, l.expandUnit
	return l
}

// Rank is the highest of the changes.
func (l *LowRank) Rank() int { return l.rank }

// Run adds to rows of dst (rows, out) the products of their changes with the same rows of x
// (rows, in). low is scratch of Rank numbers for each row.
func (l *LowRank) Run(p *threads.Pool, dst, x, low []float32, runs []Run) {
	l.units = l.units[:0]
	for _, r := range runs {
		if r.Change < 0 || l.changes[r.Change].Rank == 0 {
			continue
		}
		for ; r.From < r.To; r.From += lowRows {
			l.units = append(l.units, Run{r.From, min(r.From+lowRows, r.To), r.Change})
		}
	}
	if len(l.units) == 0 {
		return
	}
	l.dst, l.x, l.low = dst, x, low
	p.Run(len(l.units)*((l.rank+lowRank-1)/lowRank), &l.shrink)
	p.Run(len(l.units)*((l.out+lowColumns-1)/lowColumns), &l.expand)
	l.dst, l.x, l.low = nil, nil, nil
}

// shrinkUnit writes Scale · A·x of a piece for a part of the rank to low.
func (l *LowRank) shrinkUnit(_, i int) {
	parts := (l.rank + lowRank - 1) / lowRank
	u := l.units[i/parts]
	c := &l.changes[u.Change]
	r0 := i % parts * lowRank
	r1 := min(r0+lowRank, c.Rank)
	if r0 >= r1 {
		return
	}
	row, _ := c.TypeA.Size(l.in)
	dot.Rows(c.TypeA, l.low[u.From*l.rank+r0:], l.rank, c.A[r0*row:r1*row], r1-r0, l.in, quant.Floats(l.x[u.From*l.in:u.To*l.in]), 4*l.in, u.To-u.From)
	for b := u.From; b < u.To; b++ {
		part := l.low[b*l.rank+r0 : b*l.rank+r1]
		for k := range part {
			part[k] *= c.Scale
		}
	}
}

// expandUnit adds B·low of a piece to some columns of dst.
func (l *LowRank) expandUnit(_, i int) {
	parts := (l.out + lowColumns - 1) / lowColumns
	u := l.units[i/parts]
	c := &l.changes[u.Change]
	c0 := i % parts * lowColumns
	c1 := min(c0+lowColumns, l.out)
	row, _ := c.TypeB.Size(l.out)
	at, _ := c.TypeB.Size(c0)
	for b := u.From; b < u.To; b++ {
		dot.AddRows(c.TypeB, l.dst[b*l.out+c0:b*l.out+c1], c.B[at:], row, l.low[b*l.rank:b*l.rank+c.Rank])
	}
}
