//go:build (amd64 || arm64) && !noasm

package gemm

// tileRows are the rows that tiles come in, most first.
var tileRows = [...]int{6, 4, 2, 1}

// A windowTile computes rows of Windows. Strides count bytes.
type windowTile func(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)

// tallest is the tile that comes first of that many rows. Two tiles of four take less time than
// one of six and one of two.
func tallest(rows int) (t int) {
	for tileRows[t] > rows || tileRows[t] == 6 && (rows == 8 || rows == 9) {
		t++
	}
	return t
}
