package pcm

import "math/bits"

// The decoders of ITU-T G.711, scaled to 16 bits.
var (
	alaw  = tabulate(decodeALaw)
	mulaw = tabulate(decodeMuLaw)
)

func tabulate(decode func(byte) int16) (t [256]int16) {
	for i := range t {
		t[i] = decode(byte(i))
	}
	return t
}

// decodeALaw returns the middle of the interval that b stands for. Every second
// bit is stored inverted; the sign bit is set for positive values.
func decodeALaw(b byte) int16 {
	b ^= 0x55
	v := int16(b&15)<<4 + 8
	if segment := b >> 4 & 7; segment > 0 {
		v = (v + 0x100) << (segment - 1)
	}
	if b&0x80 == 0 {
		return -v
	}
	return v
}

// decodeMuLaw returns the middle of the interval that b stands for. All bits
// are stored inverted, and 33 of 14 bits are added before the segments are cut.
func decodeMuLaw(b byte) int16 {
	b = ^b
	const bias = 33 << 2
	v := (int16(b&15)<<3+bias)<<(b>>4&7) - bias
	if b&0x80 != 0 {
		return -v
	}
	return v
}

// encodeALaw returns the code of a 16-bit sample.
func encodeALaw(v int32) byte {
	sign := byte(0x80)
	if v < 0 {
		sign, v = 0, ^v
	}
	segment := max(bits.Len32(uint32(v))-8, 0)
	code := byte(segment)<<4 | byte(v>>(max(segment, 1)+3)&15)
	return (sign | code) ^ 0x55
}

// encodeMuLaw returns the code of a 16-bit sample.
func encodeMuLaw(v int32) byte {
	const bias, clip = 33 << 2, 1<<15 - 1
	sign := byte(0)
	if v < 0 {
		sign, v = 0x80, -v
	}
	v = min(v+bias, clip)
	segment := bits.Len32(uint32(v)) - 8
	return ^(sign | byte(segment)<<4 | byte(v>>(segment+3)&15))
}
