package main

import "fmt"

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
