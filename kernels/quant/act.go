package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Both activation types store groups of 256 values in 320 bytes, so kernels
// for either share their strides:
//
//	ActQ8_256:  0  256 int8     q
//	     256   16 int16    sums of 16 consecutive q
//	     288    8 int16    sums of 32 consecutive q
//	     304      float32  d
//	     308   12 bytes    zero
//
//	ActQ8_32:   0  256 int8     q
//	     256    8 float32  d, one per 32 values
//	     288    8 int32    -128·Σq over the same 32
//
// The sums correct for weights that kernels make unsigned: 128 is added to signed bytes,
// and a smaller power of two needs only a shift of the sum.
//
// The value is d·q. With m the largest magnitude that shares a d, d is m/127
// and q is x·(1/d) rounded to nearest even, all in float32; so |q| ≤ 127 and
// |x − d·q| ≤ d/2 but for that arithmetic's rounding. Two cases differ:
// where d would be below 2⁻¹²⁶, whose inverse overflows, d and q are zero; and
// where an x is infinite or NaN, d is NaN and q zero, so that every dot
// product with such an activation is NaN.
const (
	GroupLen   = 256
	GroupBytes = 320

	x256Sum16 = 256
	x256Sum32 = 288
	x256Scale = 304
	x32Scale  = 256
	x32Sum    = 288
)

// A group is one group of ActQ8_32 or ActQ8_256.
type group = [GroupBytes]byte

// ActBytes returns the bytes n activations take as t, which is a Layout's With:
// F32, ActQ8_32 or ActQ8_256. A row that is not a whole number of groups is padded to one.
func ActBytes(t Type, n int) int {
	switch t {
	case F32:
		return 4 * n
	case ActQ8_32, ActQ8_256:
		return (n + GroupLen - 1) / GroupLen * GroupBytes
	}
	panic(fmt.Sprintf("quant: %v is not an activation type", t))
}

// QuantizeActQ8_32 writes src to dst with a scale for every 32 values. dst is
// ActBytes(ActQ8_32, len(src)) long; the last group is padded with zeros.
func QuantizeActQ8_32(dst []byte, src []float32) {
	checkAct(ActQ8_32, dst, len(src))
	for ; len(src) >= GroupLen; dst, src = dst[GroupBytes:], src[GroupLen:] {
		groupQ8_32((*group)(dst), (*[GroupLen]float32)(src))
	}
	if len(src) > 0 {
		v := padded(src)
		groupQ8_32((*group)(dst), &v)
	}
}

func groupQ8_32(g *group, v *[GroupLen]float32) {
	if fastQ8_32(g, v) {
		return
	}
	for j := range GroupLen / 32 {
		q := g[32*j : 32*j+32]
		putFloat(g[x32Scale+4*j:], roundInto(q, v[32*j:32*j+32]))
		var sum int32
		for _, q := range q {
			sum += int32(int8(q))
		}
		binary.LittleEndian.PutUint32(g[x32Sum+4*j:], uint32(-128*sum))
	}
}

// QuantizeActQ8_256 writes src to dst with a scale for every 256 values. dst is
// ActBytes(ActQ8_256, len(src)) long; the last group is padded with zeros.
func QuantizeActQ8_256(dst []byte, src []float32) {
	checkAct(ActQ8_256, dst, len(src))
	for ; len(src) >= GroupLen; dst, src = dst[GroupBytes:], src[GroupLen:] {
		groupQ8_256((*group)(dst), (*[GroupLen]float32)(src))
	}
	if len(src) > 0 {
		v := padded(src)
		groupQ8_256((*group)(dst), &v)
	}
}

func groupQ8_256(g *group, v *[GroupLen]float32) {
	clear(g[x256Scale+4:])
	if fastQ8_256(g, v) {
		return
	}
	putFloat(g[x256Scale:], roundInto(g[:GroupLen], v[:]))
	for j := range GroupLen / 32 {
		var lo, hi int32
		for i, q := range g[32*j : 32*j+16] {
			lo += int32(int8(q))
			hi += int32(int8(g[32*j+16+i]))
		}
		binary.LittleEndian.PutUint16(g[x256Sum16+4*j:], uint16(lo))
		binary.LittleEndian.PutUint16(g[x256Sum16+4*j+2:], uint16(hi))
		binary.LittleEndian.PutUint16(g[x256Sum32+2*j:], uint16(lo+hi))
	}
}

// padded is the last group of a row: src, which is shorter than one, and zeros.
func padded(src []float32) (v [GroupLen]float32) {
	copy(v[:], src)
	return v
}

// scaleOf returns the scale of values whose largest magnitude has the bits top, and
// its inverse: NaN where that is not finite, zeros where it is too small.
func scaleOf(top uint32) (d, id float32) {
	if top >= 0x7f800000 {
		return float32(math.NaN()), 0
	}
	if d = math.Float32frombits(top) / 127; d < 0x1p-126 {
		return 0, 0
	}
	return d, 1 / d
}

// roundInto writes v as multiples of the scale it returns.
func roundInto(q []byte, v []float32) float32 {
	d, id := scaleOf(topBits(v))
	if id == 0 {
		clear(q)
		return d
	}
	for i, x := range v {
		// Adding 1.5·2²³ leaves no bits below one: the hardware rounds to
		// nearest even and the low byte of the sum is q in two's complement.
		q[i] = byte(math.Float32bits(float32(x*id) + 0x1.8p23))
	}
	return d
}

func decodeQ8_32(dst []float32, src []byte) {
	for b := range checkDecode(ActQ8_32, len(dst), len(src), GroupLen, GroupBytes) {
		g := (*group)(src[b*GroupBytes:])
		y := (*[GroupLen]float32)(dst[b*GroupLen:])
		for i := range y {
			y[i] = getFloat(g[x32Scale+i/32*4:]) * float32(int8(g[i]))
		}
	}
}

func decodeQ8_256(dst []float32, src []byte) {
	for b := range checkDecode(ActQ8_256, len(dst), len(src), GroupLen, GroupBytes) {
		g := (*group)(src[b*GroupBytes:])
		y := (*[GroupLen]float32)(dst[b*GroupLen:])
		d := getFloat(g[x256Scale:])
		for i := range y {
			y[i] = d * float32(int8(g[i]))
		}
	}
}

// actBlock returns block b of a row of ActQ8_32: its 32 quants, scale and Σq.
func actBlock(x []byte, b int) (q *[32]byte, d float32, sum int32) {
	g := (*group)(x[b/8*GroupBytes:])
	j := b % 8
	return (*[32]byte)(g[32*j:]), getFloat(g[x32Scale+4*j:]), int32(binary.LittleEndian.Uint32(g[x32Sum+4*j:])) / -128
}

// actGroup returns group b of a row of ActQ8_256 and its scale.
func actGroup(x []byte, b int) (g *group, d float32) {
	g = (*group)(x[b*GroupBytes:])
	return g, getFloat(g[x256Scale:])
}

// sum16 and sum32 return the j-th sum of 16 or 32 quants of a group of ActQ8_256.
func sum16(g *group, j int) int32 {
	return int32(int16(binary.LittleEndian.Uint16(g[x256Sum16+2*j:])))
}

func sum32(g *group, j int) int32 {
	return int32(int16(binary.LittleEndian.Uint16(g[x256Sum32+2*j:])))
}

func getFloat(p []byte) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(p))
}

func putFloat(p []byte, f float32) {
	binary.LittleEndian.PutUint32(p, math.Float32bits(f))
}

// getHalf reads the F16 scale most blocks begin or end with.
func getHalf(p []byte) float32 {
	return F16ToF32(binary.LittleEndian.Uint16(p))
}

func checkAct(t Type, dst []byte, n int) {
	if len(dst) != ActBytes(t, n) {
		panic(fmt.Sprintf("quant: %d values as %v into %d bytes", n, t, len(dst)))
	}
}

// Quantize writes rows of n activations from src to dst as type with. Row i
// goes to i·ActBytes(with, n). F32 is copied.
func Quantize(dst []byte, with Type, src []float32, n int) {
	stride := ActBytes(with, n)
	if n == 0 || len(src)%n != 0 || len(dst) < len(src)/n*stride {
		panic(fmt.Sprintf("quant: quantising %d floats in rows of %d to %v in %d bytes", len(src), n, with, len(dst)))
	}
	for i := 0; i < len(src); i += n {
		row := dst[i/n*stride : i/n*stride+stride]
		switch with {
		case ActQ8_32:
			QuantizeActQ8_32(row, src[i:i+n])
		case ActQ8_256:
			QuantizeActQ8_256(row, src[i:i+n])
		default:
			copy(row, Floats(src[i:i+n]))
		}
	}
}

// Floats views src as the bytes that dot.Rows takes for F32 activations. They alias
// src. Machines quern runs on are little-endian, as the files are.
func Floats(src []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(src))), 4*len(src))
}
