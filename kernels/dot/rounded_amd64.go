//go:build amd64 && !noasm

package dot

import "quern/kernels/quant"

func roundSplit(dst, x []byte, xStride, rows, steps int) {
	if steps == 0 {
		return
	}
	for r := range rows {
		roundF32(&dst[r*steps*splitStep*2], &x[r*xStride], steps*splitStep)
	}
}

// A roundedDot multiplies weight rows with one row of activations.
type roundedDot func(w *byte, wStride, steps, rows int, x *byte, out *float32)

var roundedDots = [quant.Count]roundedDot{quant.F16: dotRoundedF16, quant.BF16: dotRoundedBF16}

var roundedTiles = []sizedTile{{6, tileRoundedx6}, {4, tileRoundedx4}, {2, tileRoundedx2}, {1, tileRoundedx1}}

// roundedBytes is the most bytes of a block of weights, which stays in the second-level cache; a
// block has four rows at least.
const roundedBytes = 128 << 10

// A roundedBuffer holds rounded weights.
type roundedBuffer struct{ data []byte }

var roundedBuffers = make(freelist[roundedBuffer], 64)

// dotRounded is SplitRows of one piece. Weights in BF16 are multiplied where they lie, those in
// F16 are rounded first, block by block. All rows of a block are multiplied with the activation rows of
// one tile before those of the next, as in floatRows.
func dotRounded(t quant.Type, dst []float32, dstStride int, w []byte, rows, rowBytes int, s Split, x []byte, xStride int) {
	steps, one := s.steps(), roundedDots[t]
	switch {
	case steps == 0:
		for b := range s.batch {
			clear(dst[b*dstStride:][:rows])
		}
	case s.batch == 1:
		one(&w[0], rowBytes, steps, rows, &s.data[0], &dst[0])
	default:
		p := roundedProduct{t: t, dst: dst, dstStride: dstStride, split: s, steps: steps}
		p.run(w, rows&^3, rowBytes)
		for r := rows &^ 3; r < rows; r++ { // they do not fill a tile
			for b := range s.batch {
				one(&w[r*rowBytes], rowBytes, steps, 1, &s.data[b*s.rowBytes()], &dst[b*dstStride+r])
			}
		}
	}
	if rest := s.n % splitStep; rest > 0 {
		dot, head := t.Layout().Dot, 2*(s.n-rest)
		for b := range s.batch {
			xb := x[b*xStride+4*(s.n-rest):][:4*rest]
			for r := range rows {
				dst[b*dstStride+r] += dot(rest, w[r*rowBytes+head:(r+1)*rowBytes], xb)
			}
		}
	}
}

// A roundedProduct multiplies rows in multiples of four with two activation rows or more.
type roundedProduct struct {
	t         quant.Type
	dst       []float32
	dstStride int
	split     Split
	steps     int
}

func (p *roundedProduct) run(w []byte, rows, rowBytes int) {
	row := 2 * p.steps * splitStep
	most := max(4, roundedBytes/row&^3)
	if p.t == quant.BF16 {
		for r := 0; r < rows; r += most {
			p.block(w[r*rowBytes:], r, min(most, rows-r), rowBytes)
		}
		return
	}
	buf := roundedBuffers.take()
	if size := min(most, rows) * row; cap(buf.data) < size {
		buf.data = make([]byte, size)
	}
	data := buf.data[:cap(buf.data)]
	for r := 0; r < rows; r += most {
		count := min(most, rows-r)
		for i := range count {
			roundF16(&data[i*row], &w[(r+i)*rowBytes], p.steps*splitStep)
		}
		p.block(data, r, count, row)
	}
	roundedBuffers.put(buf)
}

// block multiplies the rows at w, which are bf16 and rows from r0 on of the product.
func (p *roundedProduct) block(w []byte, r0, rows, rowBytes int) {
	b, xStride := 0, p.split.rowBytes()
	for _, tile := range roundedTiles {
		for ; b+tile.rows <= p.split.batch; b += tile.rows {
			for r := 0; r < rows; r += 4 {
				tile.f(&w[r*rowBytes], rowBytes, p.steps, &p.split.data[b*xStride], xStride, &p.dst[b*p.dstStride+r0+r], 4*p.dstStride)
			}
		}
	}
}
