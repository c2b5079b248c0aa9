package amx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// What GNU as 2.40 makes of the instructions in the names.
var encodings = []struct {
	name string
	code []byte
	want Inst
}{
	{"ldtilecfg (%rax)", []byte{0xc4, 0xe2, 0x78, 0x49, 0x00}, Inst{Op: LDTILECFG, Len: 5, Mem: Operand{Base: 0, Index: -1}}},
	{"ldtilecfg 0x10(%rip)", []byte{0xc4, 0xe2, 0x78, 0x49, 0x05, 0x10, 0, 0, 0}, Inst{Op: LDTILECFG, Len: 9, Mem: Operand{Base: -1, Index: -1, Disp: 16, RIP: true}}},
	{"ldtilecfg -64(%rsp)", []byte{0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0xc0}, Inst{Op: LDTILECFG, Len: 7, Mem: Operand{Base: 4, Index: -1, Disp: -64}}},
	{"sttilecfg (%r13)", []byte{0xc4, 0xc2, 0x79, 0x49, 0x45, 0x00}, Inst{Op: STTILECFG, Len: 6, Mem: Operand{Base: 13, Index: -1}}},
	{"tileloadd (%rsi,%rcx), %tmm4", []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x24, 0x0e}, Inst{Op: TILELOADD, Len: 6, C: 4, Mem: Operand{Base: 6, Index: 1}}},
	{"tileloadd 0x400(%r9,%r12,2), %tmm7", []byte{0xc4, 0x82, 0x7b, 0x4b, 0xbc, 0x61, 0, 4, 0, 0}, Inst{Op: TILELOADD, Len: 10, C: 7, Mem: Operand{Base: 9, Index: 12, Shift: 1, Disp: 1024}}},
	{"tileloaddt1 64(%rax), %tmm1", []byte{0xc4, 0xe2, 0x79, 0x4b, 0x4c, 0x20, 0x40}, Inst{Op: TILELOADDT1, Len: 7, C: 1, Mem: Operand{Base: 0, Index: -1, Disp: 64}}},
	{"tileloadd 0x20(,%rbx), %tmm0", []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x1d, 0x20, 0, 0, 0}, Inst{Op: TILELOADD, Len: 10, Mem: Operand{Base: -1, Index: 3, Disp: 32}}},
	{"tilestored %tmm3, (%r8,%rbx)", []byte{0xc4, 0xc2, 0x7a, 0x4b, 0x1c, 0x18}, Inst{Op: TILESTORED, Len: 6, C: 3, Mem: Operand{Base: 8, Index: 3}}},
	{"tilezero %tmm5", []byte{0xc4, 0xe2, 0x7b, 0x49, 0xe8}, Inst{Op: TILEZERO, Len: 5, C: 5}},
	{"tilerelease", []byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}, Inst{Op: TILERELEASE, Len: 5}},
	{"tdpbssd %tmm7, %tmm4, %tmm2", []byte{0xc4, 0xe2, 0x43, 0x5e, 0xd4}, Inst{Op: TDPBSSD, Len: 5, C: 2, A: 4, B: 7}},
	{"tdpbsud %tmm6, %tmm4, %tmm0", []byte{0xc4, 0xe2, 0x4a, 0x5e, 0xc4}, Inst{Op: TDPBSUD, Len: 5, A: 4, B: 6}},
	{"tdpbusd %tmm6, %tmm5, %tmm1", []byte{0xc4, 0xe2, 0x49, 0x5e, 0xcd}, Inst{Op: TDPBUSD, Len: 5, C: 1, A: 5, B: 6}},
	{"tdpbuud %tmm6, %tmm5, %tmm1", []byte{0xc4, 0xe2, 0x48, 0x5e, 0xcd}, Inst{Op: TDPBUUD, Len: 5, C: 1, A: 5, B: 6}},
	{"tdpbf16ps %tmm7, %tmm5, %tmm3", []byte{0xc4, 0xe2, 0x42, 0x5c, 0xdd}, Inst{Op: TDPBF16PS, Len: 5, C: 3, A: 5, B: 7}},
}

func TestDecode(t *testing.T) {
	for _, tt := range encodings {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Decode(append(bytes.Clone(tt.code), 0x90, 0x90))
			if !ok || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, ok, tt.want)
			}
			for n := range tt.code {
				if _, ok := Decode(tt.code[:n]); ok {
					t.Errorf("the first %d bytes are an instruction", n)
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
	}{
		{"nothing", nil},
		{"ud2", []byte{0x0f, 0x0b, 0, 0, 0, 0}},
		{"vpdpbusd, map 2 but EVEX", []byte{0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc0}},
		{"W set", []byte{0xc4, 0xe2, 0xf8, 0x49, 0xc0}},
		{"L set", []byte{0xc4, 0xe2, 0x7c, 0x49, 0xc0}},
		{"map 1", []byte{0xc4, 0xe1, 0x78, 0x49, 0xc0}},
		{"tilerelease with a vvvv", []byte{0xc4, 0xe2, 0x70, 0x49, 0xc0}},
		{"tilerelease of a register", []byte{0xc4, 0xe2, 0x78, 0x49, 0xc1}},
		{"tileloadd without SIB", []byte{0xc4, 0xe2, 0x7b, 0x4b, 0x00}},
		{"tileloadd of a register", []byte{0xc4, 0xe2, 0x7b, 0x4b, 0xc0}},
		{"tilezero of tile 8", []byte{0xc4, 0x62, 0x7b, 0x49, 0xc0}},
		{"tdpbssd of tile 9", []byte{0xc4, 0xc2, 0x43, 0x5e, 0xd1}},
		{"tdpbssd by tile 8", []byte{0xc4, 0xe2, 0x3b, 0x5e, 0xd4}},
		{"tdpbssd of memory", []byte{0xc4, 0xe2, 0x43, 0x5e, 0x14}},
		{"another opcode", []byte{0xc4, 0xe2, 0x43, 0x5d, 0xd4}},
	} {
		if in, ok := Decode(tt.code); ok {
			t.Errorf("%s is %+v", tt.name, in)
		}
	}
}

// ram is memory from address 0 on.
type ram []byte

func (m ram) each(rows [][]byte, addr, stride uint64, do func(row, at []byte)) error {
	for i, row := range rows {
		at := addr + uint64(i)*stride
		if at > uint64(len(m)) || uint64(len(row)) > uint64(len(m))-at {
			return errors.New("outside")
		}
		do(row, m[at:])
	}
	return nil
}
func (m ram) Read(rows [][]byte, addr, stride uint64) error {
	return m.each(rows, addr, stride, func(row, at []byte) { copy(row, at) })
}
func (m ram) Write(rows [][]byte, addr, stride uint64) error {
	return m.each(rows, addr, stride, func(row, at []byte) { copy(at, row) })
}

// config is LDTILECFG's operand: tile i has rows[2i] rows of rows[2i+1] bytes.
func config(shapes ...int) []byte {
	c := make([]byte, 64)
	c[0] = 1
	for i := 0; i < len(shapes); i += 2 {
		c[48+i/2] = byte(shapes[i])
		binary.LittleEndian.PutUint16(c[16+i:], uint16(shapes[i+1]))
	}
	return c
}

// A cpu is a thread's state with the memory its tests use: register 1 holds a
// stride of 64, register 2 one of 80.
type cpu struct {
	t *testing.T
	State
	m ram
	r Registers
}

func newCPU(t *testing.T, shapes ...int) *cpu {
	c := &cpu{t: t, m: make(ram, 8192), r: Registers{1: 64, 2: 80}}
	copy(c.m, config(shapes...))
	c.must(Inst{Op: LDTILECFG, Mem: Operand{Base: 0, Index: -1}})
	return c
}

func (c *cpu) must(in Inst) {
	c.t.Helper()
	if f := c.Exec(in, &c.r, 0, c.m); f != nil {
		c.t.Fatalf("%+v: %v", in, f)
	}
}

func (c *cpu) load(tile, at, index int) {
	c.t.Helper()
	c.must(Inst{Op: TILELOADD, C: tile, Mem: Operand{Base: 0, Index: index, Disp: int32(at)}})
}

func (c *cpu) store(tile, at int) {
	c.t.Helper()
	c.must(Inst{Op: TILESTORED, C: tile, Mem: Operand{Base: 0, Index: 1, Disp: int32(at)}})
}

func TestLoadStore(t *testing.T) {
	c := newCPU(t, 3, 8, 16, 64)
	for i := range 1024 {
		c.m[1024+i] = byte(i)
	}
	c.load(0, 1024, 2)
	c.store(0, 4096)
	for i := range 3 * 64 {
		want := byte(0)
		if i%64 < 8 {
			want = byte(i/64*80 + i%64)
		}
		if got := c.m[4096+i]; got != want {
			t.Fatalf("byte %d stored: got %d, want %d", i, got, want)
		}
	}
	if c.m[4096+3*64] != 0 {
		t.Errorf("a fourth row was stored")
	}
	c.must(Inst{Op: TILEZERO, C: 0})
	c.store(0, 4096)
	if got := c.m[4096+64+1]; got != 0 {
		t.Errorf("after TILEZERO a byte is %d", got)
	}
	c.must(Inst{Op: STTILECFG, Mem: Operand{Base: 0, Index: 1, Disp: 192}})
	if !bytes.Equal(c.m[256:320], config(3, 8, 16, 64)) {
		t.Errorf("STTILECFG stored %x", c.m[256:320])
	}
	c.must(Inst{Op: TILERELEASE})
	c.must(Inst{Op: STTILECFG, Mem: Operand{Base: 0, Index: -1, Disp: 256}})
	if !bytes.Equal(c.m[256:320], make([]byte, 64)) || c.Configured() {
		t.Errorf("after TILERELEASE STTILECFG stored %x", c.m[256:320])
	}
}

// TestDot4 multiplies a 1×8 with an 8×2 matrix by hand:
//
//	a = 200 1 2 3 | 4 5 6 255, b's first column 1 -1 2 -2 | 3 -3 128 255 as bytes
//
// so that signs matter.
func TestDot4(t *testing.T) {
	for _, tt := range []struct {
		op   Op
		want int32
	}{
		// 200·1 - 1 + 4 - 6 + 12 - 15 - 6·128 - 255
		{TDPBUSD, 100 + 200 - 1 + 4 - 6 + 12 - 15 - 768 - 255},
		// -56·1 - 1 + 4 - 6 + 12 - 15 - 6·128 + 1
		{TDPBSSD, 100 - 56 - 1 + 4 - 6 + 12 - 15 - 768 + 1},
		// 200 + 255 + 4 + 3·254 + 12 + 5·253 + 6·128 + 255·255
		{TDPBUUD, 100 + 200 + 255 + 4 + 762 + 12 + 1265 + 768 + 65025},
		// -56 + 255 + 4 + 3·254 + 12 + 5·253 + 6·128 - 255
		{TDPBSUD, 100 - 56 + 255 + 4 + 762 + 12 + 1265 + 768 - 255},
	} {
		c := newCPU(t, 1, 8, 1, 8, 2, 8)
		copy(c.m[1024:], []byte{100, 0, 0, 0, 7, 0, 0, 0})                       // C: 100 7
		copy(c.m[2048:], []byte{200, 1, 2, 3, 4, 5, 6, 255})                     // A
		copy(c.m[3072:], []byte{1, 0xff, 2, 0xfe})                               // B, k 0 to 3, second column zero
		copy(c.m[3072+64:], []byte{3, 0xfd, 128, 255})                           // k 4 to 7
		copy(c.m[4096:], []byte{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}) // where C goes
		c.load(0, 1024, 1)
		c.load(1, 2048, 1)
		c.load(2, 3072, 1)
		c.must(Inst{Op: tt.op, C: 0, A: 1, B: 2})
		c.store(0, 4096)
		got, second := int32(binary.LittleEndian.Uint32(c.m[4096:])), c.m[4100]
		if got != tt.want || second != 7 || c.m[4104] != 9 {
			t.Errorf("%v: got %d and %d, want %d and 7", tt.op, got, second, tt.want)
		}
	}
}

// TestDotWraps: sums are taken modulo 2³².
func TestDotWraps(t *testing.T) {
	c := newCPU(t, 1, 4, 1, 4, 1, 4)
	binary.LittleEndian.PutUint32(c.m[1024:], math.MaxInt32)
	copy(c.m[2048:], []byte{1, 0, 0, 0})
	c.load(0, 1024, 1)
	c.load(1, 2048, 1)
	c.load(2, 2048, 1)
	c.must(Inst{Op: TDPBSSD, C: 0, A: 1, B: 2})
	c.store(0, 4096)
	if got := int32(binary.LittleEndian.Uint32(c.m[4096:])); got != math.MinInt32 {
		t.Errorf("got %d", got)
	}
}

func TestDotBF16(t *testing.T) {
	const tiny, small = 0x1p-130, 0x1p-80
	inf := float32(math.Inf(1))
	up := math.Nextafter32(1, 2)
	for _, tt := range []struct {
		name string
		c    float32
		a, b [4]float32 // two pairs
		want float32
	}{
		{"small integers", 10, [4]float32{1, 2, 3, 4}, [4]float32{5, -6, 7, 8}, 10 + 5 - 12 + 21 + 32},
		// First products: 2²⁴, then 1, which ties to even; seconds: 0, then 1. Were
		// all four added in turn, both ones would be lost; two together are not.
		{"halves are summed apart", 0, [4]float32{0x1p12, 0, 1, 1}, [4]float32{0x1p12, 0, 1, 1}, 0x1p24},
		{"and then to each other", 0, [4]float32{0x1p12, 1, 0, 1}, [4]float32{0x1p12, 1, 0, 1}, 0x1p24 + 2},
		{"the products of a pair come first, then c", 0x1p24, [4]float32{1, 1, 0, 0}, [4]float32{1, 1, 0, 0}, 0x1p24 + 2},
		// 1.0078125² = 1.01568603515625 has 15 bits; less 2⁻²⁴ only a fused sum keeps.
		{"products are not rounded", 0, [4]float32{0x1p-12, 0, 1.0078125, 0}, [4]float32{-0x1p-12, 0, 1.0078125, 0}, 1.01568603515625 - 0x1p-24},
		{"a product past the largest number", 0, [4]float32{-0x1p63, 0, 0x1p64, 0}, [4]float32{0x1p64, 0, 0x1p64, 0}, 0x1p127},
		{"ties to even, down", 1, [4]float32{0x1p-12, 0, 0, 0}, [4]float32{0x1p-12, 0, 0, 0}, 1},
		{"ties to even, up", up, [4]float32{0x1p-12, 0, 0, 0}, [4]float32{0x1p-12, 0, 0, 0}, 1 + 0x1p-22},
		{"subnormal c", tiny, [4]float32{}, [4]float32{}, 0},
		{"subnormal c with a small product", tiny, [4]float32{0x1p-63, 0, 0, 0}, [4]float32{0x1p-63, 0, 0, 0}, 0x1p-126},
		{"subnormal factor", 1, [4]float32{tiny, 0, 0, 0}, [4]float32{0x1p127, 0, 0, 0}, 1},
		{"subnormal product", 0, [4]float32{small, 0, 0, 0}, [4]float32{0x1p-50, 0, 0, 0}, 0},
		{"subnormal difference", 0x1p-126, [4]float32{-0x1.8p-63, 0, 0, 0}, [4]float32{0x1p-63, 0, 0, 0}, float32(math.Copysign(0, -1))},
		{"overflow", 0, [4]float32{0x1p100, 0, 0, 0}, [4]float32{0x1p100, 0, 0, 0}, inf},
		{"infinity by zero", 0, [4]float32{inf, 0, 0, 0}, [4]float32{0, 0, 0, 0}, float32(math.NaN())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCPU(t, 1, 4, 1, 8, 2, 4)
			binary.LittleEndian.PutUint32(c.m[1024:], math.Float32bits(tt.c))
			for i := range 4 {
				for at, v := range map[int]float32{2048 + 2*i: tt.a[i], 3072 + i/2*64 + i%2*2: tt.b[i]} {
					bits := math.Float32bits(v)
					if bits&0xffff != 0 && v == v {
						t.Fatalf("%g is no BF16", v)
					}
					binary.LittleEndian.PutUint16(c.m[at:], uint16(bits>>16))
				}
			}
			c.load(0, 1024, 1)
			c.load(1, 2048, 1)
			c.load(2, 3072, 1)
			c.must(Inst{Op: TDPBF16PS, C: 0, A: 1, B: 2})
			c.store(0, 4096)
			got := math.Float32frombits(binary.LittleEndian.Uint32(c.m[4096:]))
			if math.Float32bits(got) != math.Float32bits(tt.want) && (got == got || tt.want == tt.want) {
				t.Errorf("got %g (%#x), want %g", got, math.Float32bits(got), tt.want)
			}
		})
	}
}

// TestFMA holds fma to sums of any precision, of numbers whose sums are close to
// halfway between float32s.
// TestDotBF16Tile multiplies a 3×6 with a 6×5 matrix of small integers, where every
// row, column and pair has its place.
func TestDotBF16Tile(t *testing.T) {
	const rows, columns, k = 3, 5, 6
	c := newCPU(t, rows, 4*columns, rows, 2*k, k/2, 4*columns)
	a := func(m, i int) int { return (7*m+3*i+m*i)%11 - 5 }
	b := func(i, n int) int { return (5*i+2*n+i*n)%13 - 6 }
	sum := func(m, n int) int { return 10*m + n - 7 }
	bits := func(v int) uint32 { return math.Float32bits(float32(v)) }
	for m := range rows {
		for i := range k {
			binary.LittleEndian.PutUint16(c.m[2048+64*m+2*i:], uint16(bits(a(m, i))>>16))
		}
		for n := range columns {
			binary.LittleEndian.PutUint32(c.m[1024+64*m+4*n:], bits(sum(m, n)))
		}
	}
	for i := range k {
		for n := range columns {
			binary.LittleEndian.PutUint16(c.m[3072+64*(i/2)+4*n+i%2*2:], uint16(bits(b(i, n))>>16))
		}
	}
	c.load(0, 1024, 1)
	c.load(1, 2048, 1)
	c.load(2, 3072, 1)
	c.must(Inst{Op: TDPBF16PS, C: 0, A: 1, B: 2})
	c.store(0, 4096)
	for m := range rows {
		for n := range columns {
			want := sum(m, n)
			for i := range k {
				want += a(m, i) * b(i, n)
			}
			if got := math.Float32frombits(binary.LittleEndian.Uint32(c.m[4096+64*m+4*n:])); got != float32(want) {
				t.Errorf("row %d, column %d: got %g, want %d", m, n, got, want)
			}
		}
	}
}

func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		bf16 := func() float32 {
			return math.Float32frombits(uint32(r.IntN(2))<<31 | uint32(127-20+r.IntN(40))<<23 | uint32(r.IntN(128))<<16)
		}
		a, b := bf16(), bf16()
		c := math.Float32frombits(uint32(r.IntN(2))<<31 | uint32(127-20+r.IntN(40))<<23 | uint32(r.IntN(1<<23))>>r.IntN(23))
		sum := new(big.Float).SetPrec(400).SetFloat64(float64(a) * float64(b))
		want, _ := sum.Add(sum, big.NewFloat(float64(c))).Float32()
		if got := fma(a, b, c); got != want {
			t.Fatalf("fma(%b, %b, %b) = %b, want %b", a, b, c, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	memory := Operand{Base: 0, Index: 1, Disp: 1024}
	with := func(at int, v byte) []byte {
		c := config(1, 4)
		c[at] = v
		return c
	}
	for _, tt := range []struct {
		name   string
		config []byte
		in     Inst
		want   FaultKind
	}{
		{"palette 2", with(0, 2), Inst{Op: TILEZERO}, GP},
		{"reserved byte", with(15, 1), Inst{Op: TILEZERO}, GP},
		{"bytes of tile 8", with(32, 4), Inst{Op: TILEZERO}, GP},
		{"rows of tile 8", with(56, 4), Inst{Op: TILEZERO}, GP},
		{"restart", with(1, 1), Inst{Op: TILEZERO}, GP},
		{"17 rows", config(17, 64), Inst{Op: TILEZERO}, GP},
		{"65 bytes", config(16, 65), Inst{Op: TILEZERO}, GP},
		{"rows without bytes", config(16, 0), Inst{Op: TILEZERO}, GP},
		{"bytes without rows", config(0, 64), Inst{Op: TILEZERO}, GP},
		{"palette 0", make([]byte, 64), Inst{Op: TILEZERO}, UD},
		{"no such tile", config(16, 64), Inst{Op: TILEZERO, C: 1}, UD},
		{"load without a tile", config(16, 64), Inst{Op: TILELOADD, C: 1, Mem: memory}, UD},
		{"store without a tile", config(16, 64), Inst{Op: TILESTORED, C: 1, Mem: memory}, UD},
		{"product without a tile", config(16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 2}, UD},
		{"C is A", config(16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 0, B: 1}, UD},
		{"C is B", config(16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 0}, UD},
		{"A is B", config(16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 1}, UD},
		{"rows of C and A", config(15, 64, 16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 2}, UD},
		{"columns of C and B", config(16, 60, 16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 2}, UD},
		{"columns of A, rows of B", config(16, 64, 16, 60, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 2}, UD},
		{"no whole columns", config(16, 64, 16, 62, 15, 64), Inst{Op: TDPBUSD, C: 0, A: 1, B: 2}, UD},
		{"load from nowhere", config(16, 64), Inst{Op: TILELOADD, Mem: Operand{Base: 0, Index: 1, Disp: 8192 - 1023}}, PF},
		{"store to nowhere", config(16, 64), Inst{Op: TILESTORED, Mem: Operand{Base: 0, Index: 1, Disp: -1}}, PF},
		{"configuration from nowhere", config(16, 64), Inst{Op: LDTILECFG, Mem: Operand{Base: 0, Index: -1, Disp: 8129}}, PF},
		{"all well", config(16, 64, 16, 64, 16, 64), Inst{Op: TDPBSSD, C: 0, A: 1, B: 2}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cpu{m: make(ram, 8192), r: Registers{1: 64}}
			copy(c.m, tt.config)
			f := c.Exec(Inst{Op: LDTILECFG, Mem: Operand{Base: 0, Index: -1}}, &c.r, 0, c.m)
			if f == nil {
				f = c.Exec(tt.in, &c.r, 0, c.m)
			}
			var got FaultKind
			if f != nil {
				got = f.Kind
			}
			if got != tt.want {
				t.Errorf("got %v, want %q", f, tt.want)
			}
		})
	}
	var s State
	if f := s.Exec(Inst{Op: TILEZERO}, &Registers{}, 0, ram{}); f == nil || f.Kind != UD {
		t.Errorf("a tile before LDTILECFG: %v", f)
	}
}

// TestRIP: an operand relative to the next instruction, and one with an index.
func TestRIP(t *testing.T) {
	c := &cpu{t: t, m: make(ram, 8192), r: Registers{3: 100, 5: 50}}
	copy(c.m[1000:], config(1, 4))
	for _, o := range []Operand{{Base: -1, Index: -1, RIP: true, Disp: -8}, {Base: 3, Index: 5, Shift: 3, Disp: 500}} {
		c.State = State{}
		if f := c.Exec(Inst{Op: LDTILECFG, Mem: o}, &c.r, 1008, c.m); f != nil || !c.Configured() {
			t.Errorf("%+v: %v", o, f)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, tt := range encodings {
		f.Add(tt.code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, ok := Decode(code)
		if !ok {
			return
		}
		if in.Len > len(code) || max(in.C, in.A, in.B) > 7 || max(in.Mem.Base, in.Mem.Index) > 15 {
			t.Fatalf("%x: %+v", code, in)
		}
		if again, ok := Decode(code[:in.Len]); !ok || again != in {
			t.Fatalf("%x: %+v alone", code, again)
		}
		var s State
		if s.configure((*[64]byte)(config(16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64))) == nil {
			s.Exec(in, &Registers{}, 0, make(ram, 4096))
		}
	})
}
