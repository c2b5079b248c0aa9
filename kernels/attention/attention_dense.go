package attention

import (
	"fmt"
	"math"

	"quern/kernels/gemm"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// A DenseAttention computes attention of every float32 row to every key: an encoder's
// self-attention, or a decoder's cross-attention. Keys and values are packed once and
// serve any number of calls. It is not safe for concurrent use.
//
// Vaswani et al., "Attention Is All You Need", 2017, eq. 1, with the softmax
// computed over blocks of keys as in KV.Attend.
type DenseAttention struct {
	heads, dim, keys int
	k, v             []gemm.Panels // by head: (keys, dim), (dim, keys)
	scratch          []*denseScratch

	// The call in progress.
	keyRows, valueRows []float32
	kvStride           int
	dst, q             []float32
	dstStride, qStride int
	rows               int
	scale              float32
	pack, attend       threads.Region
}

// A chunk attends with up to denseRows rows to denseKeys keys at a time: their
// scores, 96 KB, stay in the second-level cache beside the keys and values.
const (
	denseRows = 48
	denseKeys = 512
)

type denseScratch struct {
	scores   [denseRows * denseKeys]float32
	top, sum [denseRows]float32
}

// NewDenseAttention prepares attention of heads of dim values.
func NewDenseAttention(heads, dim int) *DenseAttention {
	if heads <= 0 || dim <= 0 {
		panic(fmt.Sprintf("attention: attention of %d heads of %d", heads, dim))
	}
	a := &DenseAttention{heads: heads, dim: dim, k: make([]gemm.Panels, heads), v: make([]gemm.Panels, heads)}
	a.pack.F, a.attend.F = a.packHead, a.attendChunk
	return a
}

// Pack takes keys rows of k and v, stride floats apart, head h at h·dim of each.
// They may be overwritten afterwards.
func (a *DenseAttention) Pack(p *threads.Pool, k, v []float32, stride, keys int) {
	width := a.heads * a.dim
	if keys <= 0 || stride < width || len(k) < (keys-1)*stride+width || len(v) < (keys-1)*stride+width {
		panic(fmt.Sprintf("attention: packing %d keys of %d, stride %d, from %d and %d floats", keys, width, stride, len(k), len(v)))
	}
	a.keyRows, a.valueRows, a.kvStride, a.keys = k, v, stride, keys
	p.Run(a.heads, &a.pack)
	a.keyRows, a.valueRows = nil, nil
}

func (a *DenseAttention) packHead(_, h int) {
	a.k[h].Resize(a.keys, a.dim)
	a.k[h].PackRows(a.keyRows[h*a.dim:], a.kvStride)
	a.v[h].Resize(a.dim, a.keys)
	a.v[h].PackColumns(a.valueRows[h*a.dim:], a.kvStride)
}

// Run writes softmax(scale · q·Kᵀ) · V to dst for rows of q, dstStride and
// qStride floats apart, over what was packed. dst may not overlap q.
func (a *DenseAttention) Run(p *threads.Pool, dst []float32, dstStride int, q []float32, qStride, rows int, scale float32) {
	width := a.heads * a.dim
	if rows < 0 || a.keys == 0 || dstStride < width || qStride < width || rows > 0 && (len(dst) < (rows-1)*dstStride+width || len(q) < (rows-1)*qStride+width) {
		panic(fmt.Sprintf("attention: attention of %d rows of %d in %d floats, stride %d, to %d keys into %d, stride %d", rows, width, len(q), qStride, a.keys, len(dst), dstStride))
	}
	for len(a.scratch) < p.Workers() {
		a.scratch = append(a.scratch, new(denseScratch))
	}
	a.dst, a.dstStride, a.q, a.qStride, a.rows, a.scale = dst, dstStride, q, qStride, rows, scale
	p.Run((rows+denseRows-1)/denseRows*a.heads, &a.attend)
	a.dst, a.q = nil, nil
}

func (a *DenseAttention) attendChunk(worker, c int) {
	s := a.scratch[worker]
	h, r := c%a.heads, c/a.heads*denseRows
	rows, dim := min(denseRows, a.rows-r), a.dim
	dst := a.dst[r*a.dstStride+h*dim:]
	scores := gemm.Product{
		Dst: s.scores[:], DstStride: denseKeys, X: a.q[r*a.qStride+h*dim:], XStride: a.qStride, Rows: rows,
		Taps: 1, K: dim, WStride: dim * gemm.PanelWidth,
	}
	values := gemm.Product{
		Dst: dst, DstStride: a.dstStride, Init: dst, InitStride: a.dstStride, X: s.scores[:], XStride: denseKeys, Rows: rows,
		Taps: 1, WStride: a.keys * gemm.PanelWidth, N: dim,
	}
	for i := range rows {
		clear(dst[i*a.dstStride:][:dim])
		s.top[i], s.sum[i] = float32(math.Inf(-1)), 0
	}
	for at := 0; at < a.keys; at += denseKeys {
		keys := min(denseKeys, a.keys-at)
		scores.W, scores.N = a.k[h].Data()[at*dim:], keys
		scores.Run()
		for i := range rows {
			out := dst[i*a.dstStride:][:dim]
			p := s.scores[i*denseKeys:][:keys]
			softmaxBlock(p, out, &s.top[i], &s.sum[i], vec.ScaleMax(p, a.scale))
		}
		values.W, values.K = a.v[h].Data()[at*gemm.PanelWidth:], keys
		values.Run()
	}
	for i := range rows {
		out := dst[i*a.dstStride:][:dim]
		vec.Scale(out, out, 1/s.sum[i])
	}
}

// softmaxBlock replaces a block of scores, the largest of which is most, by the weights
// exp(score - top) of their values, where top becomes the largest score so far. sum and
// out, which were summed under the earlier top, are scaled to the new one.
//
// Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018,
// algorithm 3.
func softmaxBlock(scores, out []float32, top, sum *float32, most float32) {
	if most > *top {
		f := vec.ExpScalar(*top - most)
		*sum *= f
		vec.Scale(out, out, f)
		*top = most
	}
	*sum += expTop(scores, *top)
}
