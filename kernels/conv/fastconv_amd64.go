//go:build amd64 && !noasm

package conv

import "quern/kernels/internal/isa"

// transforms are the assembly of a level and a size.
type transforms struct {
	split func(dst *float32, to *int, src *float32, from *int, scratch *float32, columns int)
	join  func(dst *float32, dstStride int, init *float32, initStride int, src *float32, from *int, scratch *float32, rows, columns int)
}

var transformsOf = [...]map[int]transforms{
	isa.Generic: nil,
	isa.AVX2:    {8: {split8AVX2, join8AVX2}, 16: {split16AVX2, join16AVX2}, 32: {split32AVX2, join32AVX2}},
	isa.AVX512:  {8: {split8AVX512, join8AVX512}, 16: {split16AVX512, join16AVX512}, 32: {split32AVX512, join32AVX512}},
}

// split is splitGo on vectors; columns is a multiple of 16 and 64 at least.
func (f *fourier) split(dst []float32, to []int, src []float32, from []int, scratch []float32, columns int) {
	t, ok := transformsOf[isa.Current()][f.size]
	if !ok {
		f.splitGo(dst, to, src, from, scratch, columns)
		return
	}
	_, _ = dst[to[3*f.size/2-2]+columns-1], src[from[f.size-1]+columns-1]
	_ = scratch[f.size*columns-1]
	t.split(&dst[0], &to[0], &src[0], &from[0], &scratch[0], columns)
}

// join is joinGo on vectors; columns is a multiple of 16 and 64 at least.
func (f *fourier) join(dst []float32, dstStride int, init []float32, initStride int, src []float32, from []int, scratch []float32, rows, columns int) {
	t, ok := transformsOf[isa.Current()][f.size]
	if !ok {
		f.joinGo(dst, dstStride, init, initStride, src, from, scratch, rows, columns)
		return
	}
	_, _ = dst[(rows-1)*dstStride+columns-1], init[(rows-1)*initStride+columns-1]
	_, _ = src[from[f.size-1]+columns-1], scratch[f.size*columns-1]
	t.join(&dst[0], dstStride, &init[0], initStride, &src[0], &from[0], &scratch[0], rows, columns)
}
