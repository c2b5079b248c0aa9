package quantised

import (
	"encoding/binary"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/dot"
	"quern/kernels/gemm"
	"quern/kernels/matmul"
	"quern/kernels/quant"
)

// A blockKey is what a blockWeight is made of.
type blockKey struct {
	w, scale, zero    *tensor.Tensor
	n, k, bits, block int
	coarse            bool
}

// A blockWeight is a matrix that a file holds in blocks of a few bits, laid out for
// products: float32 panels or, where activations may be quantised and a
// type of package quant holds the same numbers, one of those.
type blockWeight struct {
	panels      *gemm.Panels
	typ         quant.Type
	data        []byte
	interleaved []byte // its first rows, as matmul has them faster
}

// matMulBits multiplies with a matrix of n rows whose k values lie in blocks of a few
// bits, the first lowest, each block with a scale and a zero point. With an
// accuracy_level of 4 activations may be int8, which they are here in blocks of 32
// where quantised finds a type. ONNX Runtime takes blocks as long as the weights':
// the same for 32, coarser for more; at 16, and of 8 bits with zero points, it rounds by half a
// percent where this does not.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.MatMulNBits.
func matMulBits(c *run.Call) []*tensor.Tensor {
	x, w, scale, zero, bias := c.X(0), c.Packed(1), c.X(2), c.OptPacked(3), c.Opt(5)
	n, k := c.Int("N", 0), c.Int("K", 0)
	bits, block := c.Int("bits", 4), c.Int("block_size", 0)
	if c.Opt(4) != nil {
		tensor.Unsupported("MatMulNBits with g_idx")
	}
	if bits != 2 && bits != 4 && bits != 8 || block < 16 || block > 1<<16 || n <= 0 || k <= 0 || n > tensor.MaxElems/k || len(x.Shape) == 0 || x.Shape[len(x.Shape)-1] != k || x.F == nil {
		tensor.Unsupported("product of shape %d with %d×%d in blocks of %d at %d bits", x.Shape, n, k, block, bits)
	}
	var add []float32
	if bias != nil {
		if add = bias.F; len(add) != n {
			tensor.Malformed("bias of shape %d for %d columns", bias.Shape, n)
		}
	}
	coarse := c.Int("accuracy_level", 0) == 4
	key := blockKey{w, scale, zero, n, k, bits, block, coarse}
	p := run.Prepared(c, key, tensor.Constant(w, scale, zero), func() *blockWeight {
		b := newBlocks(w, scale, zero, bits, block, n, k)
		if coarse {
			if p := b.quantised(); p != nil {
				p.interleave(c, n, k)
				return p
			}
		}
		return b.floats(c)
	})
	out := c.Blank(x.Type, append(slices.Clone(x.Shape[:len(x.Shape)-1]), n)...)
	rows := x.Len() / k
	if p.panels != nil {
		gemm.NewGemm(p.panels, add).Run(c.Pool(), out.F, n, x.F, k, rows, false)
		return run.One(tensor.Rounded(out))
	}
	m := matmul.NewMatMul(p.typ, p.data, n, k, add)
	if p.interleaved != nil {
		m.UseInterleaved(p.interleaved)
	}
	stride := quant.ActBytes(m.With(), k)
	acts := c.BlankRaw(onnx.Uint8, rows, stride).Raw
	c.ByRows(rows, k, func(from, to int) {
		quant.Quantize(acts[from*stride:to*stride], m.With(), x.F[from*k:to*k], k)
	})
	m.Run(c.Pool(), out.F, acts, stride, rows)
	return run.One(tensor.Rounded(out))
}

// blocks are n rows of k values in blocks of a few bits: data (n, count, bytes of
// a block), and scale (n, count). Zero points are bits too, each row filled up to
// bytes, or numbers, or in the middle.
type blocks struct {
	data, zeroBits     []byte
	scale, zeros       []float32
	bits, block, count int
	n, k               int
}

func newBlocks(w, scale, zero *tensor.Tensor, bits, block, n, k int) *blocks {
	b := &blocks{scale: scale.F, bits: bits, block: block, count: (k + block - 1) / block, n: n, k: k}
	ok := w.Type == onnx.Uint8 && w.Len() == n*b.count*block*bits/8 && scale.F != nil && scale.Len() == n*b.count
	if ok {
		b.data = tensor.Bytes(w)
	}
	if ok && zero != nil {
		if b.zeros = zero.F; b.zeros == nil && zero.Type == onnx.Uint8 {
			b.zeroBits = tensor.Bytes(zero)
		}
		ok = len(b.zeros) == n*b.count || b.zeros == nil && len(b.zeroBits) == n*((b.count*bits+7)/8)
	}
	if !ok {
		tensor.Malformed("%d values of %v for %d×%d in blocks of %d at %d bits", w.Len(), w.Type, n, k, block, bits)
	}
	return b
}

// bitsAt returns value i of those that begin at b[from].
func bitsAt(b []byte, from, i, bits int) int {
	return int(b[from+i*bits/8]>>(i*bits%8)) & (1<<bits - 1)
}

// of returns block j of row r: where its values begin, its scale and zero point.
func (b *blocks) of(r, j int) (from int, scale, zero float32) {
	switch {
	case b.zeros != nil:
		zero = b.zeros[r*b.count+j]
	case b.zeroBits != nil:
		zero = float32(bitsAt(b.zeroBits, r*((b.count*b.bits+7)/8), j, b.bits))
	default:
		zero = float32(int(1) << (b.bits - 1))
	}
	return (r*b.count + j) * (b.block * b.bits / 8), b.scale[r*b.count+j], zero
}

// floats returns the weights as panels of float32.
func (b *blocks) floats(c *run.Call) *blockWeight {
	w := make([]float32, b.n*b.k)
	c.ByRows(b.n, b.k, func(first, last int) {
		for r := first; r < last; r++ {
			for j := range b.count {
				from, scale, zero := b.of(r, j)
				part := w[r*b.k+j*b.block : r*b.k+min((j+1)*b.block, b.k)]
				for i := range part {
					part[i] = (float32(bitsAt(b.data, from, i, b.bits)) - zero) * scale
				}
			}
		}
	})
	p := gemm.NewPanels(b.n, b.k)
	p.PackRows(w, b.k)
	return &blockWeight{panels: p}
}

// quantised returns the weights as Q4_0, Q4_1 where zero points are not in the middle, or Q8_0,
// which have blocks of 32 and scales of 16 bits, or nil where there is none such. Scales
// are rounded by 2⁻¹¹ at most, where int8 activations are by half a percent.
func (b *blocks) quantised() *blockWeight {
	const size = 32
	if b.bits == 2 || b.block%size != 0 || b.k%b.block != 0 {
		return nil
	}
	p := &blockWeight{typ: quant.Q4_0}
	middle := float32(int(1) << (b.bits - 1))
	if b.bits == 8 {
		p.typ = quant.Q8_0
	}
	if b.zeros != nil || b.zeroBits != nil {
		for r := range b.n {
			for j := range b.count {
				if _, _, zero := b.of(r, j); zero != middle {
					p.typ = quant.Q4_1
				}
			}
		}
	}
	if p.typ == quant.Q4_1 && b.bits == 8 {
		return nil
	}
	row, _ := p.typ.Size(b.k)
	p.data = make([]byte, 0, b.n*row)
	for r := range b.n {
		for j := range b.count {
			from, scale, zero := b.of(r, j)
			h, lowest := quant.F32ToF16(scale), quant.F32ToF16(-zero*scale)
			if !near(h, scale) || p.typ == quant.Q4_1 && !near(lowest, -zero*scale) {
				return nil
			}
			for i := 0; i < b.block; i += size {
				p.data = binary.LittleEndian.AppendUint16(p.data, h)
				if p.typ == quant.Q4_1 {
					p.data = binary.LittleEndian.AppendUint16(p.data, lowest)
				}
				for l := range size * b.bits / 8 {
					if b.bits == 8 {
						p.data = append(p.data, b.data[from+i+l]^0x80)
					} else { // value l low, l+16 high
						p.data = append(p.data, byte(bitsAt(b.data, from, i+l, 4)|bitsAt(b.data, from, i+l+size/2, 4)<<4))
					}
				}
			}
		}
	}
	return p
}

// near reports whether h is v but for its last bits.
func near(h uint16, v float32) bool {
	d := quant.F16ToF32(h) - v
	return max(d, -d) <= max(v, -v)/2048
}

// interleave lays the rows out once more where they are multiplied faster so.
func (p *blockWeight) interleave(c *run.Call, n, k int) {
	rows := matmul.Interleaves(p.typ, n, k)
	if rows == 0 {
		return
	}
	p.interleaved = run.Lasting[byte](c, len(p.data)/n*rows)
	dot.Interleave(p.typ, p.interleaved, p.data, rows, k)
}

// gatherBlocks returns rows of a table whose values lie in blocks of a few bits
// along an axis.
func gatherBlocks(c *run.Call) []*tensor.Tensor {
	w, at, scale, zero := c.Packed(0), c.X(1), c.X(2), c.OptPacked(3)
	bits, block := c.Int("bits", 4), c.Int("block_size", 128)
	packed := 1 // values in an element
	if w.Type == onnx.Uint8 && bits < 8 && bits > 0 && 8%bits == 0 {
		packed = 8 / bits
	}
	if w.I == nil && w.Raw == nil || at.I == nil || scale.F == nil || len(w.Shape) == 0 || tensor.Axis(c.Int("gather_axis", 0), len(w.Shape)) != 0 || block <= 0 ||
		bits != 4 && bits != 8 {
		tensor.Unsupported("gathering rows of %v, shape %d", w.Type, w.Shape)
	}
	shape := append([]int{}, w.Shape...)
	last := len(shape) - 1
	shape[last] *= packed
	a := tensor.Axis(c.Int("quantize_axis", 1), len(shape))
	s := scaled{inner: tensor.Count(shape[a+1:]), size: shape[a], block: block, perAxis: true}
	want := append([]int{}, shape...)
	want[a] = (want[a] + block - 1) / block
	if scale.Len() != tensor.Count(want) || packed > 1 && a != last {
		tensor.Malformed("scales of shape %d for %d", scale.Shape, shape)
	}
	middle := float32(0)
	if w.Type == onnx.Uint8 {
		middle = float32(int(1) << (bits - 1))
	}
	zeros := 1 // zero points in an element
	if zero != nil && zero.Type == onnx.Uint8 && packed > 1 {
		zeros = packed
	}
	perRow := (want[last] + zeros - 1) / zeros
	if zero != nil && (zero.I == nil && zero.Raw == nil || zero.Len() != tensor.Count(want[:last])*perRow) {
		tensor.Malformed("zero points of shape %d for %d", zero.Shape, shape)
	}
	width := tensor.Count(shape[1:])
	var bytes, zeroBytes []byte
	if packed > 1 {
		bytes = tensor.Bytes(w)
	}
	if zeros > 1 {
		zeroBytes = tensor.Bytes(zero)
	}
	out := c.Zeros(scale.Type, append(append([]int{}, at.Shape...), shape[1:]...)...)
	for i, r := range at.I {
		if r < 0 {
			r += int64(shape[0])
		}
		if r < 0 || r >= int64(shape[0]) {
			tensor.Malformed("row %d of %d", r, shape[0])
		}
		for j := range width {
			e := int(r)*width + j
			v := float32(0)
			if packed > 1 {
				v = float32(bitsAt(bytes, e/packed, e%packed, bits))
			} else {
				v = float32(w.At(e))
			}
			g := s.at(e)
			z := middle
			if zero != nil && zeros > 1 {
				z = float32(bitsAt(zeroBytes, g/want[last]*perRow, g%want[last], bits))
			} else if zero != nil {
				z = float32(zero.At(g))
			}
			out.F[i*width+j] = (v - z) * scale.F[g]
		}
	}
	return run.One(tensor.Rounded(out))
}
