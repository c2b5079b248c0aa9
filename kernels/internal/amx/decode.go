// Package amx executes Intel's AMX instructions on tiles kept in memory, so that
// kernels can be tested on CPUs that have none. It knows AMX-TILE, AMX-INT8 and
// AMX-BF16, as volume 2 of Intel's Software Developer's Manual describes them.
package amx

import (
	"encoding/binary"
	"fmt"
)

// An Op is an instruction.
type Op uint8

const (
	LDTILECFG Op = iota
	STTILECFG
	TILELOADD
	TILELOADDT1
	TILESTORED
	TILEZERO
	TILERELEASE
	TDPBSSD
	TDPBSUD
	TDPBUSD
	TDPBUUD
	TDPBF16PS

	Ops int = iota // how many there are
)

var opNames = [...]string{
	"LDTILECFG", "STTILECFG", "TILELOADD", "TILELOADDT1", "TILESTORED", "TILEZERO", "TILERELEASE",
	"TDPBSSD", "TDPBSUD", "TDPBUSD", "TDPBUUD", "TDPBF16PS",
}

func (o Op) String() string {
	if int(o) >= len(opNames) {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return opNames[o]
}

// An Inst is one decoded instruction.
type Inst struct {
	Op  Op
	Len int // bytes
	// Tiles: of a product C += A·B, C first; loads, stores and TILEZERO have C.
	C, A, B int
	Mem     Operand
}

// An Operand is base + index<<shift + disp. Registers are numbered as they are
// encoded; none is -1. For tiles the shifted index is the stride of rows and no
// part of the address.
type Operand struct {
	Base, Index int
	Shift       uint
	Disp        int32
	RIP         bool // relative to the next instruction, instead of Base
}

// A form says what an opcode byte with a mandatory prefix stands for.
type form struct {
	opcode, prefix byte // prefix: 0 none, 1 66, 2 F3, 3 F2
	op             Op
	kind           kind
}

type kind uint8

const (
	memory   kind = iota // 64 bytes anywhere
	rows                 // a tile and memory with an SIB byte
	tile                 // one tile
	nothing              // no operand
	products             // three tiles
)

var forms = []form{
	{0x49, 0, LDTILECFG, memory},
	{0x49, 1, STTILECFG, memory},
	{0x4B, 3, TILELOADD, rows},
	{0x4B, 1, TILELOADDT1, rows},
	{0x4B, 2, TILESTORED, rows},
	{0x49, 3, TILEZERO, tile},
	{0x49, 0, TILERELEASE, nothing},
	{0x5E, 3, TDPBSSD, products},
	{0x5E, 2, TDPBSUD, products},
	{0x5E, 1, TDPBUSD, products},
	{0x5E, 0, TDPBUUD, products},
	{0x5C, 2, TDPBF16PS, products},
}

// Decode decodes the instruction code begins with. It reports false for
// everything that is no valid AMX instruction, other prefixes included.
//
// All are C4 · R̅X̅B̅ 00010 · 0 v̅v̅v̅v̅ 0 pp · opcode · ModRM, then SIB and
// displacement where ModRM says so.
func Decode(code []byte) (Inst, bool) {
	if len(code) < 5 || code[0] != 0xC4 || code[1]&0x1F != 2 || code[2]&0x84 != 0 {
		return Inst{}, false
	}
	ext := ^code[1] >> 5 // R, X and B from bit 2 down
	v := int(^code[2] >> 3 & 15)
	modrm := code[4]
	mod, reg, rm := modrm>>6, int(modrm>>3&7)|int(ext>>2&1)<<3, int(modrm&7)
	for _, f := range forms {
		if f.opcode != code[3] || f.prefix != code[2]&3 || (f.kind == memory || f.kind == rows) == (mod == 3) {
			continue
		}
		in := Inst{Op: f.op, C: reg, Len: 5}
		ok := true
		switch f.kind {
		case memory:
			ok = v == 0 && reg == 0
			in.C = 0
		case rows:
			ok = v == 0 && reg < 8 && rm == 4
		case tile:
			ok = v == 0 && reg < 8 && rm == 0
		case nothing:
			ok = v == 0 && modrm == 0xC0 && ext>>2 == 0
		case products:
			in.A, in.B = rm|int(ext&1)<<3, v
			ok = reg < 8 && in.A < 8 && v < 8
		}
		if !ok {
			return Inst{}, false
		}
		if mod != 3 {
			if in.Mem, in.Len, ok = operand(code, ext); !ok {
				return Inst{}, false
			}
		}
		return in, true
	}
	return Inst{}, false
}

// operand decodes what ModRM, at code[4], addresses, and returns the length of
// the instruction.
func operand(code []byte, ext byte) (o Operand, n int, ok bool) {
	mod, rm := code[4]>>6, code[4]&7
	o = Operand{Base: int(rm | ext&1<<3), Index: -1}
	n = 5
	if rm == 4 {
		if len(code) < 6 {
			return o, 0, false
		}
		sib := code[5]
		n++
		rm = sib & 7
		o.Base, o.Shift = int(rm|ext&1<<3), uint(sib>>6)
		if i := int(sib>>3&7 | ext>>1&1<<3); i != 4 {
			o.Index = i
		}
	} else if mod == 0 && rm == 5 {
		o.RIP = true
	}
	switch {
	case mod == 1:
		if len(code) < n+1 {
			return o, 0, false
		}
		o.Disp = int32(int8(code[n]))
		return o, n + 1, true
	case mod == 2 || mod == 0 && rm == 5:
		if mod == 0 {
			o.Base = -1
		}
		if len(code) < n+4 {
			return o, 0, false
		}
		o.Disp = int32(binary.LittleEndian.Uint32(code[n:]))
		return o, n + 4, true
	}
	return o, n, true
}
