package quantised

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// bnb4 are the numbers the codes of bitsandbytes' two types of four bits stand
// for, of the largest in their block: FP4 and NF4. Those of FP4 are k/12.
//
// Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs", 2023, app. E.
var bnb4 = [2][16]float32{
	{0, 0.0625 / 12, 8. / 12, 1, 4. / 12, 6. / 12, 2. / 12, 3. / 12, 0, -0.0625 / 12, -8. / 12, -1, -4. / 12, -6. / 12, -2. / 12, -3. / 12},
	{
		-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
	},
}

type bnb4Key struct {
	w, largest        *tensor.Tensor
	n, k, block, kind int
}

// matMulBnb4 multiplies with a matrix of n rows and k columns whose values lie
// one after the other in codes of four bits, the first of a byte highest, with
// the largest of each block beside them.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.MatMulBnb4.
func matMulBnb4(c *run.Call) []*tensor.Tensor {
	x, w, largest := c.X(0), c.Packed(1), c.X(2)
	n, k, block, typ := c.Int("N", 0), c.Int("K", 0), c.Int("block_size", 0), c.Int("quant_type", 0)
	if typ < 0 || typ > 1 || n <= 0 || k <= 0 || n > tensor.MaxElems/k || block < 2 || block > tensor.MaxElems || block%2 != 0 || c.Int("transB", 1) == 0 ||
		len(x.Shape) == 0 || x.Shape[len(x.Shape)-1] != k || x.F == nil {
		tensor.Unsupported("product of shape %d with %d×%d in blocks of %d, quant_type %d", x.Shape, n, k, block, typ)
	}
	if w.Type != onnx.Uint8 || w.Len() != (n*k+1)/2 || largest.F == nil || largest.Len() != (n*k+block-1)/block {
		tensor.Malformed("%d values of %v and %d of blocks for %d×%d", w.Len(), w.Type, largest.Len(), n, k)
	}
	p := run.Prepared(c, bnb4Key{w, largest, n, k, block, typ}, tensor.Constant(w, largest), func() *gemm.Panels {
		floats, codes := make([]float32, n*k), tensor.Bytes(w)
		c.ByRows(n*k, 1, func(from, to int) {
			for i := from; i < to; i++ {
				floats[i] = bnb4[typ][codes[i/2]>>(4-i%2*4)&15] * largest.F[i/block]
			}
		})
		p := gemm.NewPanels(n, k)
		p.PackRows(floats, k)
		return p
	})
	out := c.Blank(x.Type, append(slices.Clone(x.Shape[:len(x.Shape)-1]), n)...)
	gemm.NewGemm(p, nil).Run(c.Pool(), out.F, n, x.F, k, x.Len()/k, false)
	return run.One(tensor.Rounded(out))
}
