package dot

import (
	"fmt"

	"quern/kernels/quant"
)

// A Split holds float32 activation rows, each number as one or two bf16 pieces, in the
// order that SplitRows takes. One Split of a batch serves any number of matrices and threads.
//
// Of two pieces, rows are in groups of 16, the last one smaller. A group has for every 32
// activations a tile of upper and one of lower pieces: 16 dwords of each row, of which the i-th
// has numbers i and 16+i; see kernels/_gen/split.go. Of one piece, rows lie as they are, without
// the activations after the last whole 32.
type Split struct {
	n, batch int
	pieces   int
	data     []byte
}

// Splits reports whether weights of type t are multiplied by SplitRows rather than
// Rows at the level in force. It does not depend on the number of rows, for the
// two have different bits.
func Splits(t quant.Type) bool { return (t == quant.F16 || t == quant.BF16) && splitPieces() > 0 }

var freeSplits = make(freelist[Split], 16)

// NewSplit returns a Split for batch rows of n activations, to be filled by Fill. It is
// taken from a free list; the caller returns it with Free.
func NewSplit(n, batch int) *Split {
	if n < 0 || batch < 0 {
		panic(fmt.Sprintf("dot: a Split of %d×%d", batch, n))
	}
	s := freeSplits.take()
	s.n, s.batch, s.pieces = n, batch, splitPieces()
	size := s.rowBytes() * batch
	if cap(s.data) < size {
		s.data = make([]byte, size)
	}
	s.data = s.data[:size]
	return s
}

// Free returns s to the free list; it must not be used afterwards.
func (s *Split) Free() { freeSplits.put(s) }

// Slice returns the Split of count rows from first on, with groups of its own. It is
// filled and used like a whole one, and not freed.
func (s *Split) Slice(first, count int) Split {
	row := s.rowBytes()
	return Split{n: s.n, batch: count, pieces: s.pieces, data: s.data[first*row : (first+count)*row]}
}

const (
	splitGroup = 16 // rows of a tile
	splitStep  = 32 // weights of a tile
)

// steps is the number of tiles of a row, of which a last one that is not full is none of one piece.
func (s *Split) steps() int {
	if s.pieces == 1 {
		return s.n / splitStep
	}
	return (s.n + splitStep - 1) / splitStep
}

func (s *Split) rowBytes() int { return s.steps() * splitStep * 2 * s.pieces }

// span is the number of activations of each row that one Fill splits. A single row takes
// about a microsecond per thousand; a group of 16, which is transposed, 16 times that.
func (s *Split) span() int {
	if s.batch == 1 || s.pieces == 1 {
		return max(s.n, 1)
	}
	return 1024
}

// Fills returns the number of calls of Fill that fill s.
func (s *Split) Fills() int {
	return (s.batch + splitGroup - 1) / splitGroup * ((s.n + s.span() - 1) / s.span())
}

// group returns the number of rows of group g and its bytes.
func (s *Split) group(g int) (rows int, data []byte) {
	full := s.rowBytes()
	rows = min(splitGroup, s.batch-g*splitGroup)
	return rows, s.data[g*splitGroup*full:][:rows*full]
}

// Fill does the i-th part of splitting x, the float32 rows at multiples of xStride
// bytes. Calls may run concurrently.
func (s *Split) Fill(i int, x []byte, xStride int) {
	span := s.span()
	parts := (s.n + span - 1) / span
	g, k := i/parts, i%parts*span
	rows, data := s.group(g)
	x = x[g*splitGroup*xStride:]
	_ = x[(rows-1)*xStride+4*s.n-1]
	if s.pieces == 1 {
		roundSplit(data, x, xStride, rows, s.steps())
		return
	}
	fillSplit(data[4*k*rows:], x[4*k:], xStride, rows, min(span, s.n-k))
}

// RoundBF16 writes x to dst as bf16, ties to even; len(x) is a multiple of 32. Numbers below
// 2⁻¹²⁶ become zero. It is for CPUs whose vectors are of bf16; see isa.VectorsOfBF16.
func RoundBF16(dst []byte, x []float32) {
	if len(x)%splitStep != 0 || len(dst) < 2*len(x) {
		panic(fmt.Sprintf("dot: %d floats rounded into %d bytes", len(x), len(dst)))
	}
	if len(x) > 0 {
		roundSplit(dst, quant.Floats(x), 4*len(x), 1, len(x)/splitStep)
	}
}

// SplitRows is Rows with activations that are also split. Where those of Rows
// are added as float32, here each number is a sum of bf16 pieces, and pieces are
// multiplied exactly. Of two pieces, F16 weights are two without an error, BF16 weights one,
// activations two with an error of 2⁻¹⁷. For F16 the product of the two lower pieces
// is omitted. With n weights in s = n/32 steps, rounded up, the result is from the
// exact one at most
//
//	F16   (2⁻¹⁶ + 2⁻¹⁷ + (3s+18)·2⁻²⁴·1.02)·Σ|w·x| + 2⁻¹²⁵·(Σ|w| + 3·n)
//	BF16  (2⁻¹⁷ + (2s+18)·2⁻²⁴·1.01)·Σ|w·x| + 2⁻¹²⁵·(Σ|w| + Σ|x| + 2·n)
//
// where the last terms are for pieces, products and sums that are flushed to zero
// below 2⁻¹²⁶. llama.cpp rounds activations to the type of the weights: 2⁻¹¹ and 2⁻⁹.
//
// Of one piece (see RoundFloats), activations have an error of 2⁻⁹, and F16 weights too, unless
// they are bf16 numbers; the result is from the exact one at most
//
//	F16   (2⁻⁸ + 2⁻¹⁸ + (2s+22)·2⁻²⁴·1.02)·Σ|w·x| + 2⁻¹²⁵·(Σ|w| + Σ|x| + 2·n)
//	BF16  (2⁻⁹ + (2s+22)·2⁻²⁴·1.01)·Σ|w·x| + 2⁻¹²⁵·(Σ|w| + Σ|x| + 2·n)
//
// A result depends on its weight row and its activation row alone, not on the batch
// nor on how weight rows are cut. Infinities and NaNs have the same effect as in Rows: of two
// pieces, results that are not finite are computed again by it.
func SplitRows(t quant.Type, dst []float32, dstStride int, w []byte, rows, n int, s Split, x []byte, xStride int) {
	rowBytes, ok := t.Size(n)
	if !ok || !Splits(t) || s.n != n || rows < 0 || len(w) < rows*rowBytes ||
		rows > 0 && s.batch > 0 && (len(dst) < (s.batch-1)*dstStride+rows || len(x) < (s.batch-1)*xStride+4*n) {
		panic(fmt.Sprintf("dot: SplitRows of %d×%d %v in %d bytes with %d×%d activations in %d bytes, stride %d, into %d floats, stride %d",
			rows, n, t, len(w), s.batch, s.n, len(x), xStride, len(dst), dstStride))
	}
	if n == 0 {
		for b := range s.batch {
			clear(dst[b*dstStride:][:rows])
		}
		return
	}
	if rows > 0 && s.batch > 0 {
		dotSplit(t, dst, dstStride, w, rows, rowBytes, s, x, xStride)
	}
}
