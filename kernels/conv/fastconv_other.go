//go:build !amd64 || noasm

package conv

func mix(dst []float32, dstStride int, init []float32, initStride int, src []float32, srcStride int, m []float32, rows, n int) {
	mixGo(dst, dstStride, init, initStride, src, srcStride, m, rows, n)
}
