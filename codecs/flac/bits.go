package flac

import "quern/codecs/internal/bitio"

// bitWriter writes bits, the most significant first.
type bitWriter struct{ bitio.Writer }

// unary appends n zeros and a one.
func (w *bitWriter) unary(n uint32) {
	for ; n >= 32; n -= 32 {
		w.Write(0, 32)
	}
	w.Write(1, int(n)+1)
}

// crcTables are those of the frame header (x⁸+x²+x+1) and of the frame
// (x¹⁶+x¹⁵+x²+1): RFC 9639, sections 9.1.8 and 9.3.
var crc8Table, crc16Table = crcTables()

func crcTables() (t8 [256]byte, t16 [256]uint16) {
	for i := range 256 {
		c8, c16 := byte(i), uint16(i)<<8
		for range 8 {
			c8 = c8<<1 ^ 0x07*(c8>>7)
			c16 = c16<<1 ^ 0x8005*(c16>>15)
		}
		t8[i], t16[i] = c8, c16
	}
	return t8, t16
}

func crc8(b []byte) byte {
	c := byte(0)
	for _, v := range b {
		c = crc8Table[c^v]
	}
	return c
}

func crc16(b []byte) uint16 {
	c := uint16(0)
	for _, v := range b {
		c = c<<8 ^ crc16Table[byte(c>>8)^v]
	}
	return c
}
