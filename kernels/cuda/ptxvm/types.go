package ptxvm

import (
	"math"

	"quern/kernels/quant"
)

// A kind is the class of a PTX type.
type kind byte

const (
	unsigned kind = iota
	signed
	untyped
	floating
	predicate
)

// A numType is a PTX fundamental type.
type numType struct {
	kind kind
	size int // in bytes
}

var numTypes = map[string]numType{
	"u8": {unsigned, 1}, "u16": {unsigned, 2}, "u32": {unsigned, 4}, "u64": {unsigned, 8},
	"s8": {signed, 1}, "s16": {signed, 2}, "s32": {signed, 4}, "s64": {signed, 8},
	"b8": {untyped, 1}, "b16": {untyped, 2}, "b32": {untyped, 4}, "b64": {untyped, 8},
	"f16": {floating, 2}, "f32": {floating, 4}, "f64": {floating, 8},
	"pred": {predicate, 1},
}

// mask returns the bits a value of the type may have set.
func (t numType) mask() uint64 {
	if t.kind == predicate {
		return 1
	}
	return ^uint64(0) >> (64 - 8*t.size)
}

// extend returns v, held in the low bits of a register, as a whole number.
func (t numType) extend(v uint64) int64 {
	s := 64 - 8*t.size
	if t.kind == signed {
		return int64(v<<s) >> s
	}
	return int64(v << s >> s)
}

// float returns the number that v's low bits spell.
func (t numType) float(v uint64) float64 {
	switch t.size {
	case 2:
		return float64(quant.F16ToF32(uint16(v)))
	case 4:
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// bits rounds f to nearest even and spells it. A float64 that came from an
// operation on two values of the type is rounded once in effect: it has more
// than twice their bits.
func (t numType) bits(f float64) uint64 {
	switch t.size {
	case 2:
		return uint64(quant.F32ToF16(float32(f)))
	case 4:
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// fma32 is a·b + c rounded once. The product is exact in float64; the sum is
// rounded there to odd, which makes the second rounding right: Boldo &
// Melquiond, "Emulation of FMA and Correctly Rounded Sums", 2008, theorem 3.
func fma32(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := p + z
	zs := s - p
	if lost := (p - (s - zs)) + (z - zs); lost != 0 && math.Float64bits(s)&1 == 0 {
		s = math.Nextafter(s, math.Copysign(math.Inf(1), lost))
	}
	return float32(s)
}
