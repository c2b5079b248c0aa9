//go:build !noasm

package dot

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// An operation computes what an instruction leaves in d.
type operation func(d, n, m [16]byte) [16]byte

// element is the lane the instructions by element take.
const element = 3

// neonTable is the meaning of every instruction of neon_arm64.h, in its order.
var neonTable = []struct {
	name string
	want operation
}{
	{"LDURQ", load(16)},
	{"LDURD", load(8)},
	{"LDURS", load(4)},
	{"LDURH", load(2)},
	{"LDURB", load(1)},
	{"ZERO", bytesOf(func(d, n, m uint8) uint8 { return 0 })},
	{"MOVIB", bytesOf(func(d, n, m uint8) uint8 { return 0xb6 })},
	{"MOVIH", halves(func(d, n, m uint16) uint16 { return 0xb6 })},
	{"MOVIS", words4(func(d, n, m uint32) uint32 { return 0xb6 })},
	{"AND", bytesOf(func(d, n, m uint8) uint8 { return n & m })},
	{"BIC", bytesOf(func(d, n, m uint8) uint8 { return n &^ m })},
	{"ORR", bytesOf(func(d, n, m uint8) uint8 { return n | m })},
	{"BIT", bytesOf(func(d, n, m uint8) uint8 { return n&m | d&^m })},
	{"BSL", bytesOf(func(d, n, m uint8) uint8 { return n&d | m&^d })},
	{"CMTST", bytesOf(func(d, n, m uint8) uint8 { return mask8(n&m != 0) })},
	{"CMHIS", words4(func(d, n, m uint32) uint32 { return mask32(n > m) })},
	{"USHRB", bytesOf(func(d, n, m uint8) uint8 { return n >> 3 })},
	{"SHLB", bytesOf(func(d, n, m uint8) uint8 { return n << 3 })},
	{"SHLS", words4(func(d, n, m uint32) uint32 { return n << 21 })},
	{"USHLB", bytesOf(func(d, n, m uint8) uint8 { return uint8(shift(uint32(n), m)) })},
	{"USHLH", halves(func(d, n, m uint16) uint16 { return uint16(shift(uint32(n), uint8(m))) })},
	{"USHLS", words4(func(d, n, m uint32) uint32 { return shift(n, uint8(m)) })},
	{"TBL", func(_, n, m [16]byte) (r [16]byte) {
		for i, k := range m {
			if k < 16 {
				r[i] = n[k]
			}
		}
		return r
	}},
	{"ZIP1B", zip(1, 0)},
	{"ZIP1H", zip(2, 0)},
	{"ZIP1S", zip(4, 0)},
	{"ZIP1D", zip(8, 0)},
	{"SXTLB", widenBytes(0, func(v uint8) uint16 { return uint16(int8(v)) })},
	{"SXTL2B", widenBytes(8, func(v uint8) uint16 { return uint16(int8(v)) })},
	{"SXTLH", widenHalves(0, func(v uint16) uint32 { return uint32(int16(v)) })},
	{"SXTL2H", widenHalves(8, func(v uint16) uint32 { return uint32(int16(v)) })},
	{"UXTLB", widenBytes(0, func(v uint8) uint16 { return uint16(uint8(v)) })},
	{"UXTL2B", widenBytes(8, func(v uint8) uint16 { return uint16(uint8(v)) })},
	{"UXTLH", widenHalves(0, func(v uint16) uint32 { return uint32(uint16(v)) })},
	{"UXTL2H", widenHalves(8, func(v uint16) uint32 { return uint32(uint16(v)) })},
	{"SHLLH", widenHalves(0, func(v uint16) uint32 { return uint32(v) << 16 })},
	{"SHLL2H", widenHalves(8, func(v uint16) uint32 { return uint32(v) << 16 })},
	{"FCVTL", widenHalves(0, func(v uint16) uint32 { return math.Float32bits(quant.F16ToF32(v)) })},
	{"FCVTL2", widenHalves(8, func(v uint16) uint32 { return math.Float32bits(quant.F16ToF32(v)) })},
	{"SCVTF", words4(func(d, n, m uint32) uint32 { return math.Float32bits(float32(int32(n))) })},
	{"SUBB", bytesOf(func(d, n, m uint8) uint8 { return n - m })},
	{"SUBH", halves(func(d, n, m uint16) uint16 { return n - m })},
	{"SUBVS", words4(func(d, n, m uint32) uint32 { return n - m })},
	{"ADDP", pairs(func(a, b uint32) uint32 { return a + b })},
	{"ADDV", func(_, n, _ [16]byte) (r [16]byte) {
		v := lanes32(n)
		put32(&r, 0, v[0]+v[1]+v[2]+v[3])
		return r
	}},
	{"SMULLB", products8(0, false)},
	{"SMLAL2B", products8(8, true)},
	{"SMULLH", products16(0, false)},
	{"SMLALH", products16(0, true)},
	{"SMLAL2H", products16(8, true)},
	{"SADDLP", pairSums(false)},
	{"SADALP", pairSums(true)},
	{"MLAE", func(d, n, m [16]byte) (r [16]byte) {
		for i := range 4 {
			put32(&r, i, lanes32(d)[i]+lanes32(n)[i]*lanes32(m)[element])
		}
		return r
	}},
	{"SDOT", func(d, n, m [16]byte) (r [16]byte) {
		for i := range 4 {
			put32(&r, i, lanes32(d)[i]+dot8(n[4*i:4*i+4], m[4*i:4*i+4]))
		}
		return r
	}},
	{"FADD", floats4(func(d, n, m float32) float32 { return n + m })},
	{"FADDP", pairs(func(a, b uint32) uint32 { return math.Float32bits(math.Float32frombits(a) + math.Float32frombits(b)) })},
	{"FSUB", floats4(func(d, n, m float32) float32 { return n - m })},
	{"FMUL", floats4(func(d, n, m float32) float32 { return n * m })},
	{"FMULE", func(_, n, m [16]byte) (r [16]byte) {
		f := math.Float32frombits(lanes32(m)[element])
		for i := range 4 {
			put32(&r, i, math.Float32bits(math.Float32frombits(lanes32(n)[i])*f))
		}
		return r
	}},
	{"FMLA", floats4(func(d, n, m float32) float32 { return float32(math.FMA(float64(n), float64(m), float64(d))) })},
	{"SCVTF7", words4(func(d, n, m uint32) uint32 { return math.Float32bits(float32(int32(n)) / 128) })},
	{"FMLS", floats4(func(d, n, m float32) float32 { return float32(math.FMA(-float64(n), float64(m), float64(d))) })},
}

// TestEncodings runs the instructions Go's assembler does not check for us.
func TestEncodings(t *testing.T) {
	header, err := os.ReadFile("neon_arm64.h")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^#define (\w+)\(`).FindAllSubmatch(header, -1)
	if len(names) != len(neonTable) {
		t.Fatalf("neon_arm64.h has %d instructions, the table %d", len(names), len(neonTable))
	}
	r := rand.New(rand.NewPCG(1, 8))
	for op, tt := range neonTable {
		if got := string(names[op][1]); got != tt.name {
			t.Fatalf("instruction %d of neon_arm64.h is %s, of the table %s", op, got, tt.name)
		}
		if tt.name == "SDOT" && isa.Host() < isa.DotProd {
			continue
		}
		for range 200 {
			var d, n, m [16]byte
			for _, v := range []*[16]byte{&d, &n, &m} {
				randomVector(r, tt.name, v)
			}
			got, want := d, tt.want(d, n, m)
			tryNEON(op, &got, &n, &m)
			if got != want {
				t.Errorf("%s of %x, %x, %x = %x, want %x", tt.name, d, n, m, got, want)
				break
			}
		}
	}
}

// randomVector fills v with what name takes: bytes, or floats that are numbers.
// Products of floats have few bits, so that math.FMA in float64 is exact.
func randomVector(r *rand.Rand, name string, v *[16]byte) {
	for i := range v {
		v[i] = byte(r.Uint32())
	}
	switch name[0] {
	case 'F':
		for i := range 4 {
			put32(v, i, math.Float32bits(float32(r.IntN(4001)-2000)/16))
		}
		if name == "FCVTL" || name == "FCVTL2" {
			for i := range 8 {
				binary.LittleEndian.PutUint16(v[2*i:], quant.F32ToF16(float32(r.NormFloat64())))
			}
		}
	case 'T':
		for i := range v {
			v[i] %= 20 // beyond 15 is zero
		}
	case 'U':
		if name[:4] == "USHL" {
			for i := range v {
				v[i] = byte(r.IntN(50) - 25)
			}
		}
	}
}

func lanes32(v [16]byte) (l [4]uint32) {
	for i := range l {
		l[i] = binary.LittleEndian.Uint32(v[4*i:])
	}
	return l
}

func lanes16(v [16]byte) (l [8]uint16) {
	for i := range l {
		l[i] = binary.LittleEndian.Uint16(v[2*i:])
	}
	return l
}

func put32(v *[16]byte, i int, x uint32) { binary.LittleEndian.PutUint32(v[4*i:], x) }

func put16(v *[16]byte, i int, x uint16) { binary.LittleEndian.PutUint16(v[2*i:], x) }

func load(size int) operation {
	return func(_, n, _ [16]byte) (r [16]byte) {
		copy(r[:size], n[:])
		return r
	}
}

func bytesOf(f func(d, n, m uint8) uint8) operation {
	return func(d, n, m [16]byte) (r [16]byte) {
		for i := range r {
			r[i] = f(d[i], n[i], m[i])
		}
		return r
	}
}

func halves(f func(d, n, m uint16) uint16) operation {
	return func(d, n, m [16]byte) (r [16]byte) {
		for i := range 8 {
			put16(&r, i, f(lanes16(d)[i], lanes16(n)[i], lanes16(m)[i]))
		}
		return r
	}
}

func words4(f func(d, n, m uint32) uint32) operation {
	return func(d, n, m [16]byte) (r [16]byte) {
		for i := range 4 {
			put32(&r, i, f(lanes32(d)[i], lanes32(n)[i], lanes32(m)[i]))
		}
		return r
	}
}

func floats4(f func(d, n, m float32) float32) operation {
	return words4(func(d, n, m uint32) uint32 {
		return math.Float32bits(f(math.Float32frombits(d), math.Float32frombits(n), math.Float32frombits(m)))
	})
}

// zip interleaves elements of size bytes from the half of n and m at from.
func zip(size, from int) operation {
	return func(_, n, m [16]byte) (r [16]byte) {
		for i := 0; i < 8; i += size {
			copy(r[2*i:2*i+size], n[from+i:])
			copy(r[2*i+size:2*i+2*size], m[from+i:])
		}
		return r
	}
}

func widenBytes(at int, f func(uint8) uint16) operation {
	return func(_, n, _ [16]byte) (r [16]byte) {
		for i := range 8 {
			put16(&r, i, f(n[at+i]))
		}
		return r
	}
}

func widenHalves(at int, f func(uint16) uint32) operation {
	return func(_, n, _ [16]byte) (r [16]byte) {
		for i := range 4 {
			put32(&r, i, f(lanes16(n)[at/2+i]))
		}
		return r
	}
}

// pairs takes neighbours of n, then of m.
func pairs(f func(a, b uint32) uint32) operation {
	return func(_, n, m [16]byte) (r [16]byte) {
		v, w := lanes32(n), lanes32(m)
		put32(&r, 0, f(v[0], v[1]))
		put32(&r, 1, f(v[2], v[3]))
		put32(&r, 2, f(w[0], w[1]))
		put32(&r, 3, f(w[2], w[3]))
		return r
	}
}

func pairSums(add bool) operation {
	return func(d, n, _ [16]byte) (r [16]byte) {
		for i := range 4 {
			v := uint32(int32(int16(lanes16(n)[2*i])) + int32(int16(lanes16(n)[2*i+1])))
			if add {
				v += lanes32(d)[i]
			}
			put32(&r, i, v)
		}
		return r
	}
}

func products8(at int, add bool) operation {
	return func(d, n, m [16]byte) (r [16]byte) {
		for i := range 8 {
			v := uint16(int16(int8(n[at+i])) * int16(int8(m[at+i])))
			if add {
				v += lanes16(d)[i]
			}
			put16(&r, i, v)
		}
		return r
	}
}

func products16(at int, add bool) operation {
	return func(d, n, m [16]byte) (r [16]byte) {
		for i := range 4 {
			v := uint32(int32(int16(lanes16(n)[at/2+i])) * int32(int16(lanes16(m)[at/2+i])))
			if add {
				v += lanes32(d)[i]
			}
			put32(&r, i, v)
		}
		return r
	}
}

func dot8(n, m []byte) (sum uint32) {
	for i := range n {
		sum += uint32(int32(int8(n[i])) * int32(int8(m[i])))
	}
	return sum
}

// shift is USHL: left by the signed count s, right if it is negative.
func shift(v uint32, s uint8) uint32 {
	if k := int8(s); k < 0 {
		return v >> -int(k)
	}
	return v << s
}

func mask8(b bool) uint8 {
	if b {
		return 0xff
	}
	return 0
}

func mask32(b bool) uint32 {
	if b {
		return 1<<32 - 1
	}
	return 0
}
