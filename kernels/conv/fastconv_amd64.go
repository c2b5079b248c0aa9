//go:build amd64 && !noasm

package conv

import "quern/kernels/internal/isa"

var mixes = [...]func(dst *float32, dstStride int, init *float32, initStride int, src *float32, srcStride int, m *float32, rows, n int){
	isa.AVX2:   mixAVX2,
	isa.AVX512: mixAVX512,
}

// mix is mixGo on vectors; n is a multiple of 16.
func mix(dst []float32, dstStride int, init []float32, initStride int, src []float32, srcStride int, m []float32, rows, n int) {
	f := mixes[isa.Current()]
	if f == nil {
		mixGo(dst, dstStride, init, initStride, src, srcStride, m, rows, n)
		return
	}
	_, _ = dst[(rows-1)*dstStride+n-1], init[(rows-1)*initStride+n-1]
	_, _ = src[(fastPoints-1)*srcStride+n-1], m[rows*fastPoints-1]
	f(&dst[0], dstStride, &init[0], initStride, &src[0], srcStride, &m[0], rows, n)
}
