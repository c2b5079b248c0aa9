//go:build !amd64 || noasm

package conv

func (f *fourier) split(dst []float32, to []int, src []float32, from []int, scratch []float32, columns int) {
	f.splitGo(dst, to, src, from, scratch, columns)
}

func (f *fourier) join(dst []float32, dstStride int, init []float32, initStride int, src []float32, from []int, scratch []float32, rows, columns int) {
	f.joinGo(dst, dstStride, init, initStride, src, from, scratch, rows, columns)
}
