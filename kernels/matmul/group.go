package matmul

import (
	"fmt"

	"quern/kernels/dot"
	"quern/kernels/threads"
)

// A Group multiplies the same activations with several matrices in one region: at the end of
// each region workers wait for each other, and memory for them. It is not safe for concurrent
// use, and neither are its matrices meanwhile.
type Group struct {
	all  []*MatMul
	ends []int // of each matrix, the chunk after its last one

	// The call in progress.
	x       []byte
	xStride int
	batch   int
	split   *dot.Split // x split, where some matrix wants that, or nil
	region  threads.Region
	fill    threads.Region // makes split
}

// Add adds a matrix. All take activations of the same width and type.
func (g *Group) Add(m *MatMul) {
	if !g.Takes(m) {
		panic(fmt.Sprintf("matmul: a matrix of %d columns of %v in a group of those of %d of %v", m.in, m.typ, g.all[0].in, g.all[0].typ))
	}
	if len(g.all) == 0 {
		g.region.F = g.chunk
		g.fill.F = func(_, i int) { g.split.Fill(i, g.x, g.xStride) }
	}
	g.all, g.ends = append(g.all, m), append(g.ends, 0)
}

// Takes reports whether m has the type and width of activations of the others.
func (g *Group) Takes(m *MatMul) bool {
	return len(g.all) == 0 || m.in == g.all[0].in && m.With() == g.all[0].With()
}

// Many activations pass all interleaved weights in slices (floats, of which there are more bytes to read
// again, lose 2 % by it): cachedActivations bytes of them stay in a second-level
// cache beside unpacked weights, and leastSlice rows outweigh that weights are read and unpacked again.
const (
	cachedActivations = 512 << 10
	leastSlice        = 64
)

// Run is MatMul.Run for all matrices, in the order they were added in; their results go to
// those of dst.
func (g *Group) Run(p *threads.Pool, dst [][]float32, x []byte, xStride, batch int) {
	chunks, splits, interleaved := 0, false, true
	for i, m := range g.all {
		if len(dst[i]) != batch*m.out {
			panic(fmt.Sprintf("matmul: %d×%d result in %d floats", batch, m.out, len(dst[i])))
		}
		if batch > 0 {
			chunks += m.cut(p.Workers(), batch)
			splits = splits || dot.Splits(m.typ)
		}
		interleaved = interleaved && m.interleaved != nil
		g.ends[i] = chunks
	}
	g.x, g.xStride, g.batch = x, xStride, batch
	slice := batch
	if splits {
		g.split = dot.NewSplit(g.all[0].in, batch)
		p.Run(g.split.Fills(), &g.fill)
	}
	if interleaved {
		slice = max(leastSlice, cachedActivations/xStride/leastSlice*leastSlice)
	}
	for b := 0; b < batch; b += slice {
		g.x, g.batch = x[b*xStride:], min(slice, batch-b)
		for i, m := range g.all {
			m.dst = dst[i][b*m.out:]
		}
		p.Run(chunks, &g.region)
	}
	g.x = nil
	for _, m := range g.all {
		m.dst = nil
	}
	if g.split != nil {
		g.split.Free()
		g.split = nil
	}
}

func (g *Group) chunk(_, c int) {
	first := 0
	for i, end := range g.ends {
		if c < end {
			g.all[i].chunk(g, c-first)
			return
		}
		first = end
	}
}
