package main

import (
	"fmt"
	"strings"
)

// AMX's instructions, which Go's assembler does not know, are written as bytes:
//
//	C4 · R̅X̅B̅ 00010 · 0 v̅v̅v̅v̅ 0 pp · opcode · ModRM (· SIB · displacement)
//
// Tiles are numbered 0 to 7; registers have Go's names.

// encoding holds the numbers of the registers tiles are addressed with.
var encoding = map[string]int{
	"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SI": 6, "DI": 7,
	"R8": 8, "R9": 9, "R10": 10, "R11": 11, "R12": 12, "R13": 13, "R14": 14, "R15": 15,
}

// The numbers of mandatory prefixes in the field pp.
const (
	none = iota
	x66
	xF3
	xF2
)

// code emits bytes, with the instruction they encode as a comment.
func (a *file) code(what string, b ...byte) {
	var s []string
	for _, b := range b {
		s = append(s, fmt.Sprintf("BYTE $0x%02x", b))
	}
	a.f("%s // %s", strings.Join(s, "; "), what)
}

// vex returns the second and third byte of the prefix: the high bits of the three
// registers, inverted, and the tile v with the prefix number pp.
func vex(reg, index, base, v, pp int) (byte, byte) {
	return byte(0xe2 ^ reg>>3<<7 ^ index>>3<<6 ^ base>>3<<5), byte((15-v)<<3 | pp)
}

// ldtilecfg loads the 64 bytes of configuration at base.
func (a *file) ldtilecfg(base string) {
	base = a.named(base)
	r := encoding[base]
	if r&7 == 4 || r&7 == 5 {
		panic("LDTILECFG by " + base)
	}
	b1, b2 := vex(0, 0, r, 0, none)
	a.code("LDTILECFG ("+base+")", 0xc4, b1, b2, 0x49, byte(r&7))
}

// tilerelease gives the tiles' state back.
func (a *file) tilerelease() { a.code("TILERELEASE", 0xc4, 0xe2, 0x78, 0x49, 0xc0) }

// tilezero zeroes tile t.
func (a *file) tilezero(t int) {
	a.code(fmt.Sprintf("TILEZERO TMM%d", t), 0xc4, 0xe2, 0x7b, 0x49, byte(0xc0|t<<3))
}

// rows loads or stores tile t, whose rows begin at disp(base) and are stride bytes apart.
func (a *file) rows(name string, pp, t, disp int, base, stride string) {
	base, stride = a.named(base), a.named(stride)
	r, i := encoding[base], encoding[stride]
	b1, b2 := vex(0, i, r, 0, pp)
	a.code(fmt.Sprintf("%s %d(%s)(%s*1), TMM%d", name, disp, base, stride, t),
		0xc4, b1, b2, 0x4b, byte(0x84|t<<3), byte(i&7<<3|r&7), byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

// tileload loads tile t.
func (a *file) tileload(disp int, base, stride string, t int) {
	a.rows("TILELOADD", xF2, t, disp, base, stride)
}

// tilestore stores tile t.
func (a *file) tilestore(t, disp int, base, stride string) {
	a.rows("TILESTORED", xF3, t, disp, base, stride)
}

// product adds x·w to tile sum: rows of x times columns of w, four bytes or two bf16 of a
// dword at a time.
func (a *file) product(name string, opcode byte, pp, x, w, sum int) {
	b1, b2 := vex(0, 0, 0, w, pp)
	a.code(fmt.Sprintf("%s TMM%d, TMM%d, TMM%d", name, w, x, sum), 0xc4, b1, b2, opcode, byte(0xc0|sum<<3|x))
}

// tdpbssd, tdpbsud and tdpbusd multiply int8: the letter of x, then that of w, is s for
// signed and u for unsigned.
func (a *file) tdpbssd(x, w, sum int) { a.product("TDPBSSD", 0x5e, xF2, x, w, sum) }
func (a *file) tdpbsud(x, w, sum int) { a.product("TDPBSUD", 0x5e, xF3, x, w, sum) }
func (a *file) tdpbusd(x, w, sum int) { a.product("TDPBUSD", 0x5e, x66, x, w, sum) }

// tdpbf16ps multiplies bf16 and adds in float32.
func (a *file) tdpbf16ps(x, w, sum int) { a.product("TDPBF16PS", 0x5c, xF3, x, w, sum) }
