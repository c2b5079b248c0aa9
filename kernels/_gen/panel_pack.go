package main

import (
	"bytes"
	"fmt"
)

// A panel holds one stretch of 16 weight rows (8 with AVX2), unpacked and
// turned: a column is the same four weights of every row, a dword a row. One
// vector instruction multiplies a column with four activations broadcast from
// memory and adds to one sum per row, so that nothing is left to add up across
// lanes. With V the bytes of a vector, blocks lie one after the other as
//
//	blocks of 256, subs sub-blocks:  subs · (scale V, 256/subs/4 columns of V)
//	                                 subs/2 · V of minimums, two words a row
//	                                 d V, where minimums are floats dmin V
//	blocks of 32:                    8 columns of V, d V, where there are
//	                                 minimums -m/128 V
//
// A pack function makes one from rows of the file:
//
//	func name(panel, w *byte, rowBytes, blocks, ahead int)
//
// While it works it fetches as many bytes as it reads, from ahead bytes beyond w
// on, so that the next rows are near when their turn comes: row by row they would
// be sixteen streams of a few lines each, which no memory likes.
const packParams = "panel, w *byte, rowBytes, blocks, ahead int"

// A pack is a pack function in the making. Registers: SI, R10, R11 and R12 rows
// 0, 4, 8 and 12 at the next block, R8 a row's bytes, R9 three times that, DI
// the panel, CX blocks left, R13 what to fetch.
type pack struct {
	a     *file
	level string
	lanes int
	v     func(int) string
	at    int // offset of the next column in the panel

	todo, fetched int // bytes to fetch in a block, and those done
}

// wide says whether vectors are those of AVX-512.
func (p *pack) wide() bool { return p.lanes == 16 }

func (p *pack) bytes() int { return 4 * p.lanes }

var packBases = []string{"rows0", "rows4", "rows8", "rows12"}

func (p *pack) begin(t string) {
	a := p.a
	fn := "pack" + t + p.level
	a.function(fn, packParams, 40, fmt.Sprintf("%s makes a panel of %d rows of %s.", fn, p.lanes, t))
	a.use(
		"panel", "DI",
		"rows0", "SI", // this block of rows 0 to 3
		"rows4", "R10", // and so on
		"rows8", "R11",
		"rows12", "R12",
		"rowBytes", "R8",
		"rowBytes3", "R9", // three times that
		"blocks", "CX", // left
		"ahead", "R13", // what to prefetch
		"fifthSet", "K2", // which weights have their fifth bit
	)
	a.f("MOVQ panel+0(FP), {panel}")
	a.f("MOVQ w+8(FP), {rows0}")
	a.f("MOVQ rowBytes+16(FP), {rowBytes}")
	a.f("MOVQ blocks+24(FP), {blocks}")
	a.f("MOVQ ahead+32(FP), {ahead}")
	a.f("ADDQ {rows0}, {ahead}")
	a.f("LEAQ ({rowBytes})({rowBytes}*2), {rowBytes3}")
	for i := 1; i < p.lanes/4; i++ {
		a.f("LEAQ ({%s})({rowBytes}*4), {%s}", packBases[i-1], packBases[i])
	}
}

// end goes on by a block of the file, ahead bytes of which are fetched early.
func (p *pack) end(block int) {
	a := p.a
	p.fetchSome(p.todo)
	a.f("ADDQ $%d, {ahead}", p.todo)
	for i := range p.lanes / 4 {
		a.f("ADDQ $%d, {%s}", block, packBases[i])
	}
	a.f("ADDQ $%d, {panel}", p.at)
	a.f("DECQ {blocks}")
	a.f("JNZ block")
	a.f("VZEROUPPER")
	a.f("RET")
}

// row addresses disp bytes into the block of row 4l+i.
func (p *pack) row(l, i, disp int) string { return upTo4(i, disp, packBases[l], "rowBytes") }

// fetch starts a block: as many bytes as it has are prefetched, spread over the
// calls of rows.
func (p *pack) fetch(block int) { p.todo, p.fetched = p.lanes*block, 0 }

// fetchSome prefetches n lines, or what is left of them.
func (p *pack) fetchSome(n int) {
	for ; n > 0 && p.fetched < p.todo; n-- {
		p.a.f("PREFETCHT1 %d({ahead})", p.fetched)
		p.fetched += 64
	}
}

// rows loads the 16 bytes at disp of each row: row 4l+i goes to lane l of
// register r+i.
func (p *pack) rows(disp, r int) {
	a := p.a
	for i := range 4 {
		p.fetchSome(1)
		a.f("VMOVDQU %s, %s", p.row(0, i, disp), x(r+i))
		if !p.wide() {
			a.f("VINSERTI128 $1, %s, %s, %s", p.row(1, i, disp), y(r+i), y(r+i))
			continue
		}
		a.f("VINSERTI128 $1, %s, %s, %s", p.row(1, i, disp), y(r+i), y(r+i))
		a.f("VINSERTI32X4 $2, %s, %s, %s", p.row(2, i, disp), z(r+i), z(r+i))
		a.f("VINSERTI32X4 $3, %s, %s, %s", p.row(3, i, disp), z(r+i), z(r+i))
	}
}

// turn makes columns of what rows loaded: register r+c gets dword c of every
// row, in order. t to t+3 are scratch.
func (p *pack) turn(r, t int) {
	a, v := p.a, p.v
	a.f("VPUNPCKLDQ %s, %s, %s", v(r+1), v(r), v(t))
	a.f("VPUNPCKHDQ %s, %s, %s", v(r+1), v(r), v(t+1))
	a.f("VPUNPCKLDQ %s, %s, %s", v(r+3), v(r+2), v(t+2))
	a.f("VPUNPCKHDQ %s, %s, %s", v(r+3), v(r+2), v(t+3))
	a.f("VPUNPCKLQDQ %s, %s, %s", v(t+2), v(t), v(r))
	a.f("VPUNPCKHQDQ %s, %s, %s", v(t+2), v(t), v(r+1))
	a.f("VPUNPCKLQDQ %s, %s, %s", v(t+3), v(t+1), v(r+2))
	a.f("VPUNPCKHQDQ %s, %s, %s", v(t+3), v(t+1), v(r+3))
}

// columns is rows and turn.
func (p *pack) columns(disp, r, t int) {
	p.rows(disp, r)
	p.turn(r, t)
}

// put stores register r at column c of the block's panel.
func (p *pack) put(r, c int) {
	p.a.f("%s %s, %d({panel})", p.mov(), p.v(r), c*p.bytes())
	p.at = max(p.at, (c+1)*p.bytes())
}

func (p *pack) mov() string {
	if p.wide() {
		return "VMOVDQU64"
	}
	return "VMOVDQU"
}

// op is a bitwise instruction: AVX-512 wants a size in its name.
func (p *pack) op(name, s1, s2, d string) {
	if p.wide() {
		name += "D"
	}
	p.a.f("%s %s, %s, %s", name, s1, s2, d)
}

// fill declares a vector of the same byte.
func (p *pack) fill(b byte) string {
	return sym(p.a.bytes(fmt.Sprintf("fill%02x", b), bytes.Repeat([]byte{b}, 64)), 0)
}

// shuffle declares a shuffle of the bytes of each dword; -1 is zero.
func (p *pack) shuffle(b0, b1, b2, b3 int) string {
	var d []byte
	name := "pick"
	for i := range 16 {
		for _, b := range []int{b0, b1, b2, b3} {
			if b < 0 {
				d = append(d, 0x80)
			} else {
				d = append(d, byte(4*(i%4)+b))
			}
		}
	}
	for _, b := range []int{b0, b1, b2, b3} {
		if b < 0 {
			name += "x"
		} else {
			name += fmt.Sprint(b)
		}
	}
	return sym(p.a.bytes(name, d), 0)
}

// half makes floats in register r of the low (or high) half of each dword of
// register s.
func (p *pack) half(s, r int, high bool) {
	a := p.a
	if p.wide() {
		if high {
			a.f("VPSRLD $16, %s, %s", z(s), z(r))
			s = r
		}
		a.f("VPMOVDW %s, %s", z(s), y(r))
		a.f("VCVTPH2PS %s, %s", y(r), z(r))
		return
	}
	lo := make([]byte, 32) // a lane's four halves to its low end
	name := "halfLow"
	off := 0
	if high {
		name, off = "halfHigh", 2
	}
	for i := range lo {
		lo[i] = byte(i%8/2*4 + i%2 + off)
	}
	a.f("VPSHUFB %s, %s, %s", sym(a.bytes(name, lo), 0), y(s), y(r))
	a.f("VPERMQ $0x08, %s, %s", y(r), y(r))
	a.f("VCVTPH2PS %s, %s", x(r), y(r))
}

// scale stores byte b of each dword of register s as the scale of a sub-block,
// in column c: a dword, with AVX2 the same word twice. r is scratch.
func (p *pack) scale(s, r, b, c int, signed bool) {
	a := p.a
	var pick string
	switch {
	case p.wide() && signed:
		pick = p.shuffle(-1, -1, -1, b)
	case p.wide():
		pick = p.shuffle(b, -1, -1, -1)
	case signed:
		pick = p.shuffle(-1, b, -1, b)
	default:
		pick = p.shuffle(b, -1, b, -1)
	}
	a.f("VPSHUFB %s, %s, %s", pick, p.v(s), p.v(r))
	if signed && p.wide() {
		a.f("VPSRAD $24, %s, %s", p.v(r), p.v(r))
	} else if signed {
		a.f("VPSRAW $8, %s, %s", p.v(r), p.v(r))
	}
	p.put(r, c)
}

// mins stores bytes b and b+1 of each dword of register s as words in column c.
func (p *pack) mins(s, r, b, c int) {
	p.a.f("VPSHUFB %s, %s, %s", p.shuffle(b, -1, b+1, -1), p.v(s), p.v(r))
	p.put(r, c)
}

// offsets stores bytes b and b+1 of each dword of register s, signed scales,
// times -(1<<shift) in column c; zero is a register of zeros.
func (p *pack) offsets(s, r, b, c, shift, zero int) {
	a := p.a
	a.f("VPSHUFB %s, %s, %s", p.shuffle(-1, b, -1, b+1), p.v(s), p.v(r))
	a.f("VPSRAW $%d, %s, %s", 8-shift, p.v(r), p.v(r))
	a.f("VPSUBW %s, %s, %s", p.v(r), p.v(zero), p.v(r))
	p.put(r, c)
}

// Where a block of 256 keeps things in its panel, in columns.

func colScale(subs, j int) int { return j * (1 + 64/subs) }
func colMins(subs, j int) int  { return 64 + subs + j }
func colD(subs int) int        { return 64 + subs + subs/2 }
func colWeights(subs, k int) int { // of weights k to k+3
	per := 256 / subs
	return colScale(subs, k/per) + 1 + k%per/4
}

func genPanels(a *file) {
	for _, p := range []pack{{a: a, level: "AVX512", lanes: 16, v: z}, {a: a, level: "AVX2", lanes: 8, v: y}} {
		for _, t := range []struct {
			name string
			gen  func(*pack)
		}{
			{"Q4K", func(p *pack) { packQ45K(p, false) }},
			{"Q5K", func(p *pack) { packQ45K(p, true) }},
			{"Q6K", packQ6K},
			{"Q3K", packQ3K},
			{"Q2K", packQ2K},
			{"IQ4XS", packIQ4XS},
		} {
			p := p
			p.begin(t.name)
			t.gen(&p)
		}
		for _, t := range blocks32 {
			p := p
			p.begin(t.name)
			t.pack(&p)
		}
	}
	for _, t := range panelTiles {
		t.gen(a)
	}
}

// packQ45K: the head's 16 bytes turn into d and dmin, and the three dwords the
// scales are kept in.
func packQ45K(p *pack, fifth bool) {
	a, v := p.a, p.v
	block, qs := 144, 16
	if fifth {
		block, qs = 176, 48
	}
	a.l("block")
	p.fetch(block)
	p.columns(0, 0, 4)
	p.half(0, 4, false)
	p.put(4, colD(8))
	p.half(0, 4, true)
	p.put(4, colD(8)+1)
	// As scalesMins: registers 4 and 5 scales, 6 and 7 minimums.
	six, four, two := p.fill(0x3f), p.fill(0x0f), p.fill(0x03)
	top := func(s, d int) { // the upper two bits of each byte, four down
		a.f("VPSRLD $6, %s, %s", v(s), v(d))
		p.op("VPAND", two, v(d), v(d))
		a.f("VPSLLD $4, %s, %s", v(d), v(d))
	}
	p.op("VPAND", six, v(1), v(4))
	p.op("VPAND", six, v(2), v(6))
	top(1, 5)
	top(2, 7)
	p.op("VPAND", four, v(3), v(0))
	p.op("VPOR", v(0), v(5), v(5))
	a.f("VPSRLD $4, %s, %s", v(3), v(0))
	p.op("VPAND", four, v(0), v(0))
	p.op("VPOR", v(0), v(7), v(7))
	for j := range 8 {
		p.scale(4+j/4, 0, j%4, colScale(8, j), false)
	}
	for j := range 4 {
		p.mins(6+j/2, 0, j%2*2, colMins(8, j))
	}
	// A piece of 16 bytes: 16 weights low, 16 high. The pieces of one half of
	// each sub-block share the fifth bits, in registers 8 to 11.
	a.f("%s %s, %s", p.mov(), four, v(12))
	for h := range 2 {
		if fifth {
			p.columns(16+16*h, 8, 0)
		}
		for g := range 4 {
			p.columns(qs+32*g+16*h, 0, 4)
			for c := range 4 {
				k := 64*g + 16*h + 4*c
				p.op("VPAND", v(12), v(c), v(4))
				a.f("VPSRLW $4, %s, %s", v(c), v(5))
				p.op("VPAND", v(12), v(5), v(5))
				if fifth {
					for j := range 2 {
						p.merge(8+c, 6, 4+j, 2*g+j, 4, 1)
					}
				}
				p.put(4, colWeights(8, k))
				p.put(5, colWeights(8, k+32))
			}
		}
	}
	p.end(block)
}

// merge adds n bits of each byte of register s, moved from bit from to bit to, to
// register d, where they are zero. r is scratch.
func (p *pack) merge(s, r, d, from, to, n int) {
	if !p.wide() {
		p.bits(s, r, from, to, n)
		p.op("VPOR", p.v(r), p.v(d), p.v(d))
		return
	}
	src := p.v(s)
	switch {
	case from > to:
		p.a.f("VPSRLW $%d, %s, %s", from-to, src, p.v(r))
		src = p.v(r)
	case to > from:
		p.a.f("VPSLLW $%d, %s, %s", to-from, src, p.v(r))
		src = p.v(r)
	}
	p.a.f("VPTERNLOGD $0xf8, %s, %s, %s", p.fill(byte((1<<n-1)<<to)), src, p.v(d))
}

// bits moves n bits of each byte of register s from bit from to bit to, in
// register r.
func (p *pack) bits(s, r, from, to, n int) {
	src := p.v(s)
	if from > to {
		p.a.f("VPSRLW $%d, %s, %s", from-to, src, p.v(r))
		src = p.v(r)
	} else if to > from {
		p.a.f("VPSLLW $%d, %s, %s", to-from, src, p.v(r))
		src = p.v(r)
	}
	p.op("VPAND", p.fill(byte((1<<n-1)<<to)), src, p.v(r))
}

func packQ6K(p *pack) {
	a := p.a
	a.l("block")
	p.fetch(210)
	p.columns(194, 0, 4)
	p.half(3, 4, true)
	p.put(4, colD(16))
	p.columns(192, 0, 4)
	p.signedScales(0, 5)
	for h := range 2 {
		for l := range 2 { // 16 of the 32 columns that share high bits
			p.columns(128+32*h+16*l, 8, 4)
			for g := range 2 {
				p.columns(64*h+32*g+16*l, 0, 4)
				for c := range 4 {
					k := 128*h + 32*g + 16*l + 4*c
					p.bits(c, 4, 0, 0, 4)
					p.merge(8+c, 5, 4, 2*g, 4, 2)
					p.put(4, colWeights(16, k))
					p.bits(c, 4, 4, 0, 4)
					p.merge(8+c, 5, 4, 2*g+4, 4, 2)
					p.put(4, colWeights(16, k+64))
				}
			}
		}
	}
	p.end(210)
}

// signedScales stores the 16 scales in registers s to s+3, and what weights
// made unsigned by adding 1<<shift need.
func (p *pack) signedScales(s, shift int) {
	p.zero(6)
	for j := range 16 {
		p.scale(s+j/4, 4, j%4, colScale(16, j), true)
	}
	for j := range 8 {
		p.offsets(s+j/2, 4, j%2*2, colMins(16, j), shift, 6)
	}
}

func (p *pack) zero(r int) { p.a.f("VPXOR %s, %s, %s", y(r), y(r), y(r)) } // clears all of it

func packQ3K(p *pack) {
	a, v := p.a, p.v
	a.l("block")
	p.fetch(110)
	p.rows(94, 0) // two bytes of quants, the scales, d
	for i := range 4 {
		a.f("VPALIGNR $2, %s, %s, %s", v(i), v(i), v(i))
	}
	p.turn(0, 4)
	p.half(3, 4, false)
	p.put(4, colD(16))
	// Dwords 0 and 1 hold the low halves, nibbles of scales 0-7 and 8-15; dword
	// 2 the upper two bits, scale 4g+i in byte i at bit 2g.
	for g := range 4 {
		p.bits(g%2, 8+g, g/2*4, 0, 4)
		p.merge(2, 4, 8+g, 2*g, 4, 2)
		a.f("VPSUBB %s, %s, %s", p.fill(32), v(8+g), v(8+g))
	}
	p.signedScales(8, 2)
	for l := range 2 {
		p.columns(16*l, 8, 4) // third bits
		for h := range 2 {
			p.columns(32+32*h+16*l, 0, 4)
			for g := range 4 {
				for c := range 4 {
					p.bits(c, 4, 2*g, 0, 2)
					p.merge(8+c, 5, 4, 4*h+g, 2, 1)
					p.put(4, colWeights(16, 128*h+32*g+16*l+4*c))
				}
			}
		}
	}
	p.end(110)
}

func packQ2K(p *pack) {
	a := p.a
	a.l("block")
	p.fetch(84)
	p.columns(68, 0, 4)
	p.half(3, 4, false)
	p.put(4, colD(16))
	p.half(3, 4, true)
	p.put(4, colD(16)+1)
	p.columns(0, 0, 4)
	for c := range 4 {
		p.bits(c, 4, 0, 0, 4)
		for j := range 4 {
			p.scale(4, 5, j, colScale(16, 4*c+j), false)
		}
		p.bits(c, 4, 4, 0, 4)
		for j := range 2 {
			p.mins(4, 5, 2*j, colMins(16, 2*c+j))
		}
	}
	for h := range 2 {
		for l := range 2 {
			p.columns(16+32*h+16*l, 0, 4)
			for g := range 4 {
				for c := range 4 {
					p.bits(c, 4, 2*g, 0, 2)
					p.put(4, colWeights(16, 128*h+32*g+16*l+4*c))
				}
			}
		}
	}
	p.end(84)
}

// dfill declares a vector of the same dword.
func (p *pack) dfill(d uint32) string {
	return sym(p.a.bytes(fmt.Sprintf("dfill%x", d), dwords(16, func(int) uint32 { return d })), 0)
}

// look loads a type's table to register r: signed, or raised by add.
func (p *pack) look(name string, table []int8, add, r int) {
	var b []byte
	for range 4 {
		for _, v := range table {
			b = append(b, byte(int(v)+add))
		}
	}
	p.a.f("%s %s, %s", p.mov(), sym(p.a.bytes(fmt.Sprintf("table%s%d", name, add), b), 0), p.v(r))
}

// nibbles stores the 32 weights of the 16 bytes at disp, low nibbles first, from
// column col on. Registers 12 holds 0x0f, 13 a table or nothing. Each goes
// through fix, given the register and its first weight.
func (p *pack) nibbles(disp, col int, table bool, fix func(r, k int)) {
	a, v := p.a, p.v
	p.columns(disp, 0, 4)
	for c := range 4 {
		p.op("VPAND", v(12), v(c), v(4))
		a.f("VPSRLW $4, %s, %s", v(c), v(5))
		p.op("VPAND", v(12), v(5), v(5))
		for j := range 2 {
			if table {
				a.f("VPSHUFB %s, %s, %s", v(4+j), v(13), v(4+j))
			}
			if fix != nil {
				fix(4+j, 16*j+4*c)
			}
			p.put(4+j, col+4*j+c)
		}
	}
}

// packIQ4XS: with AVX2 weights stay signed and scales are dwords.
func packIQ4XS(p *pack) {
	a, v := p.a, p.v
	add := 0
	if p.wide() {
		add = 128
	}
	p.look("IQ4NL", iq4Values, add, 13)
	a.f("%s %s, %s", p.mov(), p.fill(0x0f), v(12))
	a.l("block")
	p.fetch(136)
	p.columns(0, 0, 4)
	p.half(0, 4, false)
	p.put(4, colD(8))
	p.zero(7)
	for j := range 8 {
		a.f("VPSRLD $%d, %s, %s", 4*j, v(1), v(4))
		p.op("VPAND", p.dfill(15), v(4), v(4))
		a.f("VPSRLD $%d, %s, %s", 16+2*j, v(0), v(5))
		p.op("VPAND", p.dfill(3), v(5), v(5))
		a.f("VPSLLD $4, %s, %s", v(5), v(5))
		p.op("VPOR", v(5), v(4), v(4))
		a.f("VPSUBD %s, %s, %s", p.dfill(32), v(4), v(4))
		p.put(4, colScale(8, j))
		if !p.wide() {
			continue
		}
		if j%2 == 0 {
			p.op("VPAND", p.dfill(0xffff), v(4), v(6))
			continue
		}
		a.f("VPSLLD $16, %s, %s", v(4), v(4))
		p.op("VPOR", v(4), v(6), v(6))
		a.f("VPSLLW $7, %s, %s", v(6), v(6))
		a.f("VPSUBW %s, %s, %s", v(6), v(7), v(6))
		p.put(6, colMins(8, j/2))
	}
	for j := range 8 {
		p.nibbles(8+16*j, colScale(8, j)+1, true, nil)
	}
	p.end(136)
}

// raise is what the panel's weights are too large by: 128 for VPDPBUSD, what
// makes them unsigned for AVX2, or nothing where they stay signed there.
func (t block32) raise(p *pack) int {
	switch {
	case t.min || !p.wide() && (t.whole || t.name == "IQ4NL"):
		return 0
	case p.wide():
		return 128
	case t.table != nil:
		return 16
	}
	return t.add
}

func (t block32) pack(p *pack) {
	a, v := p.a, p.v
	raise := t.raise(p)
	if t.table != nil {
		p.look(t.name, t.table, raise, 13)
	}
	a.f("%s %s, %s", p.mov(), p.fill(0x0f), v(12))
	a.l("block")
	p.fetch(t.bytes)
	p.columns(0, 0, 4)
	switch {
	case t.e8:
		p.op("VPAND", p.dfill(0xff), v(0), v(4))
		e8m0(a, v, 4, 5, 6)
	default:
		p.half(0, 4, false)
	}
	p.put(4, 8)
	if t.min {
		p.half(0, 4, true)
		minus := a.bytes("minus128th", f32s(-1.0/128))
		a.f("VMULPS %s, %s, %s", sym(minus, 0), v(4), v(4))
		p.put(4, 9)
	}
	switch t.high {
	case 2:
		a.f("VPSRLD $16, %s, %s", v(0), v(8))
		a.f("VPSLLD $16, %s, %s", v(1), v(1))
		p.op("VPOR", v(1), v(8), v(8))
	case 4:
		a.f("%s %s, %s", p.mov(), v(1), v(8))
	}
	if t.whole {
		for h := range 2 {
			p.columns(t.quants+16*h, 0, 4)
			for c := range 4 {
				if raise == 128 {
					p.op("VPXOR", p.fill(0x80), v(c), v(c))
				}
				p.put(c, 4*h+c)
			}
		}
		p.end(t.bytes)
		return
	}
	p.nibbles(t.quants, 0, t.table != nil, func(r, k int) {
		if t.high > 0 {
			bit := make([]byte, 64)
			for i := range bit {
				bit[i] = 1 << (k%8 + i%4)
			}
			mask := sym(a.bytes(fmt.Sprintf("bits%d", k%8), bit), 0)
			a.f("VPSHUFB %s, %s, %s", p.shuffle(k/8, k/8, k/8, k/8), v(8), v(6))
			if p.wide() {
				a.f("VPTESTMB %s, %s, {fifthSet}", mask, v(6))
				a.f("VPADDB %s, %s, {fifthSet}, %s", p.fill(16), v(r), v(r))
			} else {
				a.f("VPAND %s, %s, %s", mask, v(6), v(6))
				a.f("VPCMPEQB %s, %s, %s", mask, v(6), v(6))
				a.f("VPAND %s, %s, %s", p.fill(16), v(6), v(6))
				a.f("VPOR %s, %s, %s", v(6), v(r), v(r))
			}
		}
		if n := raise - t.add; t.table == nil && !t.min && n != 0 {
			a.f("VPADDB %s, %s, %s", p.fill(byte(n)), v(r), v(r))
		}
	})
	p.end(t.bytes)
}
