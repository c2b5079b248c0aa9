package main

import (
	"bytes"
	"fmt"
)

// A panel holds one stretch of 16 weight rows (8 with AVX2), unpacked and
// transposed: a column is the same four weights of every row, a dword a row. One
// vector instruction (VPDPBUSD) multiplies a column with four activations broadcast
// from memory and adds to one sum per row, so that no sum is spread over lanes.
// With V the bytes of a vector, each block of the stretch is
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
// It prefetches as many bytes as it reads, from w+ahead on, where the next rows are: read
// without that, they would be sixteen streams of a few lines each, which is slow from
// memory.
//
// Rows that are interleaved (see interleaved.go) are columns already: there w is the first
// block of the sixteen, the next one follows it, and rowBytes is not used.
const packParams = "panel, w *byte, rowBytes, blocks, ahead int"

// The vectors of a pack function. Pieces take their numbers, since they serve both
// widths and move through groups of four.
const (
	col    = 0  // to 3: the columns read last
	tmp    = 4  // to 7: scratch, and what is made of them
	held   = 8  // to 11: columns needed for longer: scales, or further bits of weights
	low4   = 12 // 0x0f in every byte
	values = 13 // a type's table of weights
)

// A pack emits a pack function.
type pack struct {
	a     *file
	level string
	lanes int
	order *dwordOrder // of interleaved rows, nil for rows as they are in the file
	v     func(int) string
	at    int // offset of the next column in the panel

	todo, fetched int // bytes to fetch in a block, and those done
}

// wide says whether vectors are those of AVX-512.
func (p *pack) wide() bool { return p.lanes == 16 }

// bytes is the bytes of a vector.
func (p *pack) bytes() int { return 4 * p.lanes }

var packBases = []string{"rows0", "rows4", "rows8", "rows12"}

// begin starts a pack function of type t and loads its arguments.
func (p *pack) begin(t string) {
	a := p.a
	fn, rows := "pack"+t+p.level, "rows"
	if p.order != nil {
		fn, rows = "packInterleaved"+t+p.level, "interleaved rows"
	}
	a.function(fn, packParams, fmt.Sprintf("%s makes a panel of %d %s of %s.", fn, p.lanes, rows, t))
	a.use(
		"panel", "DI",
		"blocks", "CX", // left
		"ahead", "R13", // what to prefetch
		"fifthSet", "K2", // which weights have their fifth bit
	)
	a.load("panel", "blocks", "ahead")
	if p.order != nil {
		a.use("rows0", "SI") // this block
		a.load("w=rows0")
	} else {
		p.bases("w")
	}
	a.f("ADDQ {rows0}, {ahead}")
}

// bases loads the address of the first row from param, and rowBytes.
func (p *pack) bases(param string) {
	a := p.a
	a.use(
		"rows0", "SI", // this block of rows 0 to 3
		"rows4", "R10", // and so on
		"rows8", "R11", "rows12", "R12", "rowBytes", "R8",
		"rowBytes3", "R9", // three times that
	)
	a.load(param+"=rows0", "rowBytes")
	a.f("LEAQ ({rowBytes})({rowBytes}*2), {rowBytes3}")
	for i := 1; i < p.lanes/4; i++ {
		a.f("LEAQ ({%s})({rowBytes}*4), {%s}", packBases[i-1], packBases[i])
	}
}

// forward moves on by n bytes in every row.
func (p *pack) forward(n int) {
	if p.order != nil {
		p.a.f("ADDQ $%d, {rows0}", p.lanes*n)
		return
	}
	for i := range p.lanes / 4 {
		p.a.f("ADDQ $%d, {%s}", n, packBases[i])
	}
}

// end moves on by a block of so many bytes in every row, or returns.
func (p *pack) end(block int) {
	a := p.a
	p.fetchSome(p.todo)
	a.f("ADDQ $%d, {ahead}", p.todo)
	p.forward(block)
	a.f("ADDQ $%d, {panel}", p.at)
	a.f("DECQ {blocks}")
	a.f("JNZ block")
	finish(a)
}

// row addresses disp bytes into the block of row 4l+i.
func (p *pack) row(l, i, disp int) string { return upTo4(i, disp, packBases[l], "rowBytes") }

// fetch starts a block: as many bytes as it has are prefetched, spread over the
// calls of rows.
func (p *pack) fetch(block int) { p.todo, p.fetched = p.lanes*block, 0 }

// fetchSome prefetches n lines of {ahead}, or those that remain of the block.
func (p *pack) fetchSome(n int) {
	for ; n > 0 && p.fetched < p.todo; n-- {
		p.a.f("PREFETCHT1 %d({ahead})", p.fetched)
		p.fetched += 64
	}
}

// rows loads the 16 bytes at disp of each row: row 4l+i goes to 128-bit lane l of
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

// turn transposes what rows loaded: register r+c becomes dword c of every row, in
// order of rows. t to t+3 are scratch.
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

// columns loads the 16 bytes at disp of each row: register r+c becomes dword c of every row. t
// to t+3 are scratch.
func (p *pack) columns(disp, r, t int) {
	if p.order != nil {
		for c := range 4 {
			p.column(disp+4*c, r+c)
		}
		return
	}
	p.rows(disp, r)
	p.turn(r, t)
}

// put stores register r at column c of the block's panel.
func (p *pack) put(r, c int) {
	p.a.f("%s %s, %d({panel})", p.mov(), p.v(r), c*p.bytes())
	p.at = max(p.at, (c+1)*p.bytes())
}

// mov is the instruction that moves a vector of integers.
func (p *pack) mov() string {
	if p.wide() {
		return "VMOVDQU64"
	}
	return "VMOVDQU"
}

// op emits a bitwise instruction, whose name AVX-512 ends with the size of elements.
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

// The columns of a block of 256 in its panel.

func colScale(subs, j int) int { return j * (1 + 64/subs) }
func colMins(subs, j int) int  { return 64 + subs + j }
func colD(subs int) int        { return 64 + subs + subs/2 }
func colWeights(subs, k int) int { // of weights k to k+3
	per := 256 / subs
	return colScale(subs, k/per) + 1 + k%per/4
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

// signedScales stores the 16 signed scales in the dwords of registers s to s+3, and the
// offsets that correct for weights made unsigned by adding 1<<shift.
func (p *pack) signedScales(s, shift int) {
	p.zero(tmp + 2)
	for j := range 16 {
		p.scale(s+j/4, tmp, j%4, colScale(16, j), true)
	}
	for j := range 8 {
		p.offsets(s+j/2, tmp, j%2*2, colMins(16, j), shift, tmp+2)
	}
}

// zero clears register r, all of it.
func (p *pack) zero(r int) { p.a.f("VPXOR %s, %s, %s", y(r), y(r), y(r)) } // clears all of it

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

// nibbles stores the 32 weights of the 16 bytes at disp, low nibbles first, from column to
// on; with table they are looked up in values. fix may change each, given its register and
// first weight. low4 holds 0x0f.
func (p *pack) nibbles(disp, to int, table bool, fix func(r, k int)) {
	a, v := p.a, p.v
	p.columns(disp, col, tmp)
	for c := range 4 {
		p.op("VPAND", v(low4), v(col+c), v(tmp))
		a.f("VPSRLW $4, %s, %s", v(col+c), v(tmp+1))
		p.op("VPAND", v(low4), v(tmp+1), v(tmp+1))
		for j := range 2 {
			if table {
				a.f("VPSHUFB %s, %s, %s", v(tmp+j), v(values), v(tmp+j))
			}
			if fix != nil {
				fix(tmp+j, 16*j+4*c)
			}
			p.put(tmp+j, to+4*j+c)
		}
	}
}
