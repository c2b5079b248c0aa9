package main

import "fmt"

// packs256 are the types of blocks of 256 weights.
var packs256 = []struct {
	name  string
	bytes int // of a block
	first int // what interleaved rows have before the dwords that precede it in the file
	gen   func(*pack)
}{
	{"Q4K", 144, 0, func(p *pack) { packQ45K(p, false) }},
	{"Q5K", 176, 0, func(p *pack) { packQ45K(p, true) }},
	{"Q6K", 210, 128, packQ6K},
	{"Q3K", 110, 0, packQ3K},
	{"Q2K", 84, 0, packQ2K},
	{"IQ4XS", 136, 0, packIQ4XS},
}

// genPanels writes the pack functions of every type and the tile functions of every kind.
func genPanels(a *file) {
	for _, p := range []pack{{a: a, level: "AVX512", lanes: 16, v: z}, {a: a, level: "AVX2", lanes: 8, v: y}} {
		for _, t := range packs256 {
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

// packQ45K makes panels of Q4_K and Q5_K. The first 16 bytes of a row become four columns: d
// and dmin, and three dwords with the 6-bit scales and minimums.
func packQ45K(p *pack, fifth bool) {
	a, v := p.a, p.v
	block, qs := 144, 16
	if fifth {
		block, qs = 176, 48
	}
	a.l("block")
	p.fetch(block)
	p.columns(0, col, tmp)
	p.half(col, tmp, false)
	p.put(tmp, colD(8))
	p.half(col, tmp, true)
	p.put(tmp, colD(8)+1)
	// As scalesMins: registers 4 and 5 scales, 6 and 7 minimums.
	six, four, two := p.fill(0x3f), p.fill(0x0f), p.fill(0x03)
	top := func(s, d int) { // the upper two bits of each byte, four down
		a.f("VPSRLD $6, %s, %s", v(s), v(d))
		p.op("VPAND", two, v(d), v(d))
		a.f("VPSLLD $4, %s, %s", v(d), v(d))
	}
	p.op("VPAND", six, v(col+1), v(tmp))
	p.op("VPAND", six, v(col+2), v(tmp+2))
	top(col+1, tmp+1)
	top(col+2, tmp+3)
	p.op("VPAND", four, v(col+3), v(col))
	p.op("VPOR", v(col), v(tmp+1), v(tmp+1))
	a.f("VPSRLD $4, %s, %s", v(col+3), v(col))
	p.op("VPAND", four, v(col), v(col))
	p.op("VPOR", v(col), v(tmp+3), v(tmp+3))
	for j := range 8 {
		p.scale(tmp+j/4, col, j%4, colScale(8, j), false)
	}
	for j := range 4 {
		p.mins(tmp+2+j/2, col, j%2*2, colMins(8, j))
	}
	// A piece of 16 bytes: 16 weights low, 16 high. The pieces of one half of
	// each sub-block share the fifth bits, in registers 8 to 11.
	a.f("%s %s, %s", p.mov(), four, v(low4))
	for h := range 2 {
		if fifth {
			p.columns(16+16*h, held, col)
		}
		for g := range 4 {
			p.columns(qs+32*g+16*h, col, tmp)
			for c := range 4 {
				k := 64*g + 16*h + 4*c
				p.op("VPAND", v(low4), v(col+c), v(tmp))
				a.f("VPSRLW $4, %s, %s", v(col+c), v(tmp+1))
				p.op("VPAND", v(low4), v(tmp+1), v(tmp+1))
				if fifth {
					for j := range 2 {
						p.merge(held+c, tmp+2, tmp+j, 2*g+j, 4, 1)
					}
				}
				p.put(tmp, colWeights(8, k))
				p.put(tmp+1, colWeights(8, k+32))
			}
		}
	}
	p.end(block)
}

// packQ6K makes panels of Q6_K: scales and d lie behind the weights; a weight is four low
// bits and two of the high bits that four groups of 32 share.
func packQ6K(p *pack) {
	a := p.a
	a.l("block")
	p.fetch(210)
	if p.order != nil {
		p.halves(tmp)
	} else {
		p.columns(194, col, tmp)
		p.half(col+3, tmp, true)
	}
	p.put(tmp, colD(16))
	p.columns(192, col, tmp)
	p.signedScales(col, 5)
	for h := range 2 {
		for l := range 2 { // 16 of the 32 columns that share high bits
			p.columns(128+32*h+16*l, held, tmp)
			for g := range 2 {
				p.columns(64*h+32*g+16*l, col, tmp)
				for c := range 4 {
					k := 128*h + 32*g + 16*l + 4*c
					p.bits(col+c, tmp, 0, 0, 4)
					p.merge(held+c, tmp+1, tmp, 2*g, 4, 2)
					p.put(tmp, colWeights(16, k))
					p.bits(col+c, tmp, 4, 0, 4)
					p.merge(held+c, tmp+1, tmp, 2*g+4, 4, 2)
					p.put(tmp, colWeights(16, k+64))
				}
			}
		}
	}
	p.end(210)
}

// packQ3K makes panels of Q3_K: a weight is two bits and a third from another array, a scale
// four bits and two.
func packQ3K(p *pack) {
	a, v := p.a, p.v
	a.l("block")
	p.fetch(110)
	if p.order != nil {
		for c := range 3 {
			p.column(96+4*c, col+c)
		}
		p.halves(tmp)
	} else {
		p.rows(94, col) // two bytes of quants, the scales, d
		for i := range 4 {
			a.f("VPALIGNR $2, %s, %s, %s", v(col+i), v(col+i), v(col+i))
		}
		p.turn(col, tmp)
		p.half(col+3, tmp, false)
	}
	p.put(tmp, colD(16))
	// Dwords 0 and 1 hold the low halves, nibbles of scales 0-7 and 8-15; dword
	// 2 the upper two bits, scale 4g+i in byte i at bit 2g.
	for g := range 4 {
		p.bits(col+g%2, held+g, g/2*4, 0, 4)
		p.merge(col+2, tmp, held+g, 2*g, 4, 2)
		a.f("VPSUBB %s, %s, %s", p.fill(32), v(held+g), v(held+g))
	}
	p.signedScales(held, 2)
	for l := range 2 {
		p.columns(16*l, held, tmp) // third bits
		for h := range 2 {
			p.columns(32+32*h+16*l, col, tmp)
			for g := range 4 {
				for c := range 4 {
					p.bits(col+c, tmp, 2*g, 0, 2)
					p.merge(held+c, tmp+1, tmp, 4*h+g, 2, 1)
					p.put(tmp, colWeights(16, 128*h+32*g+16*l+4*c))
				}
			}
		}
	}
	p.end(110)
}

// packQ2K makes panels of Q2_K: a byte is a scale in its low and a minimum in its high
// nibble.
func packQ2K(p *pack) {
	a := p.a
	a.l("block")
	p.fetch(84)
	p.columns(68, col, tmp)
	p.half(col+3, tmp, false)
	p.put(tmp, colD(16))
	p.half(col+3, tmp, true)
	p.put(tmp, colD(16)+1)
	p.columns(0, col, tmp)
	for c := range 4 {
		p.bits(col+c, tmp, 0, 0, 4)
		for j := range 4 {
			p.scale(tmp, tmp+1, j, colScale(16, 4*c+j), false)
		}
		p.bits(col+c, tmp, 4, 0, 4)
		for j := range 2 {
			p.mins(tmp, tmp+1, 2*j, colMins(16, 2*c+j))
		}
	}
	for h := range 2 {
		for l := range 2 {
			p.columns(16+32*h+16*l, col, tmp)
			for g := range 4 {
				for c := range 4 {
					p.bits(col+c, tmp, 2*g, 0, 2)
					p.put(tmp, colWeights(16, 128*h+32*g+16*l+4*c))
				}
			}
		}
	}
	p.end(84)
}

// packIQ4XS makes panels of IQ4_XS: 6-bit scales less 32, weights from a table. With AVX2
// weights stay signed and scales are dwords; with AVX-512 both are raised for VPDPBUSD.
func packIQ4XS(p *pack) {
	a, v := p.a, p.v
	add := 0
	if p.wide() {
		add = 128
	}
	p.look("IQ4NL", iq4Values, add, values)
	a.f("%s %s, %s", p.mov(), p.fill(0x0f), v(low4))
	a.l("block")
	p.fetch(136)
	p.columns(0, col, tmp)
	p.half(col, tmp, false)
	p.put(tmp, colD(8))
	p.zero(tmp + 3)
	for j := range 8 {
		a.f("VPSRLD $%d, %s, %s", 4*j, v(col+1), v(tmp))
		p.op("VPAND", p.dfill(15), v(tmp), v(tmp))
		a.f("VPSRLD $%d, %s, %s", 16+2*j, v(col), v(tmp+1))
		p.op("VPAND", p.dfill(3), v(tmp+1), v(tmp+1))
		a.f("VPSLLD $4, %s, %s", v(tmp+1), v(tmp+1))
		p.op("VPOR", v(tmp+1), v(tmp), v(tmp))
		a.f("VPSUBD %s, %s, %s", p.dfill(32), v(tmp), v(tmp))
		p.put(tmp, colScale(8, j))
		if !p.wide() {
			continue
		}
		if j%2 == 0 {
			p.op("VPAND", p.dfill(0xffff), v(tmp), v(tmp+2))
			continue
		}
		a.f("VPSLLD $16, %s, %s", v(tmp), v(tmp))
		p.op("VPOR", v(tmp), v(tmp+2), v(tmp+2))
		a.f("VPSLLW $7, %s, %s", v(tmp+2), v(tmp+2))
		a.f("VPSUBW %s, %s, %s", v(tmp+2), v(tmp+3), v(tmp+2))
		p.put(tmp+2, colMins(8, j/2))
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

// pack makes panels of a type of blocks of 32: columns 0 to 7 weights, 8 d, 9 -m/128.
func (t block32) pack(p *pack) {
	a, v := p.a, p.v
	raise := t.raise(p)
	if t.table != nil {
		p.look(t.name, t.table, raise, values)
	}
	a.f("%s %s, %s", p.mov(), p.fill(0x0f), v(low4))
	a.l("block")
	p.fetch(t.bytes)
	led := p.order != nil && p.order.half > 0
	if !led {
		p.columns(0, col, tmp)
	}
	if led {
		p.halves(tmp)
	} else if t.e8 {
		p.op("VPAND", p.dfill(0xff), v(col), v(tmp))
		e8m0(a, v, tmp, tmp+1, tmp+2)
	} else {
		p.half(col, tmp, false)
	}
	p.put(tmp, 8)
	if t.min {
		p.half(col, tmp, true)
		minus := a.bytes("minus128th", f32s(16, -1.0/128))
		a.f("VMULPS %s, %s, %s", sym(minus, 0), v(tmp), v(tmp))
		p.put(tmp, 9)
	}
	switch {
	case t.high > 0 && led:
		p.column(t.high, held)
	case t.high == 2:
		a.f("VPSRLD $16, %s, %s", v(col), v(held))
		a.f("VPSLLD $16, %s, %s", v(col+1), v(col+1))
		p.op("VPOR", v(col+1), v(held), v(held))
	case t.high == 4:
		a.f("%s %s, %s", p.mov(), v(col+1), v(held))
	}
	if t.whole {
		for h := range 2 {
			p.columns(t.quants+16*h, col, tmp)
			for c := range 4 {
				if raise == 128 {
					p.op("VPXOR", p.fill(0x80), v(col+c), v(col+c))
				}
				p.put(col+c, 4*h+c)
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
			a.f("VPSHUFB %s, %s, %s", p.shuffle(k/8, k/8, k/8, k/8), v(held), v(tmp+2))
			if p.wide() {
				a.f("VPTESTMB %s, %s, {fifthSet}", mask, v(tmp+2))
				a.f("VPADDB %s, %s, {fifthSet}, %s", p.fill(16), v(r), v(r))
			} else {
				a.f("VPAND %s, %s, %s", mask, v(tmp+2), v(tmp+2))
				a.f("VPCMPEQB %s, %s, %s", mask, v(tmp+2), v(tmp+2))
				a.f("VPAND %s, %s, %s", p.fill(16), v(tmp+2), v(tmp+2))
				a.f("VPOR %s, %s, %s", v(tmp+2), v(r), v(r))
			}
		}
		if n := raise - t.add; t.table == nil && !t.min && n != 0 {
			a.f("VPADDB %s, %s, %s", p.fill(byte(n)), v(r), v(r))
		}
	})
	p.end(t.bytes)
}
