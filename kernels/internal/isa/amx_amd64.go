package isa

// vectors returns the level whose vector kernels serve at l: AVX512 at AMX.
func vectors(l Level) Level { return min(l, AVX512) }

// Tiles reports whether AMX is in force.
func Tiles() bool { return InForce() == AMX }

// TileConfig is what LDTILECFG loads: bytes 0 palette, 16+2i (words) bytes of a row
// of tile i, 48+i its rows.
type TileConfig [64]byte

// Set configures tiles for products of rows of k bytes, a multiple of four up to
// 64: tile 4 has rows4 of activations and tile 5 rows5, up to 16 each; 6 and 7 have
// k/4 rows of weights of 16 columns; 0 and 1 are sums for tile 4, 2 and 3 for tile 5.
func (c *TileConfig) Set(rows4, rows5, k int) {
	*c = TileConfig{0: 1}
	for i, rows := range [...]int{rows4, rows4, rows5, rows5, rows4, rows5, k / 4, k / 4} {
		c[48+i], c[16+2*i] = byte(rows), 64
	}
	c[16+2*4], c[16+2*5] = byte(k), byte(k)
}
