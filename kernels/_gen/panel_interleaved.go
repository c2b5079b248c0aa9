package main

// A dwordOrder is where the dwords of a block are when rows are interleaved, as orderOf of
// kernels/dot has it.
type dwordOrder struct {
	half     int // bytes of each row's half that come first, 0 or 2
	from, to int // the dwords in the file
	first    int // the one that comes first
}

func orderOf(block, first int, super bool) *dwordOrder {
	o := &dwordOrder{half: block % 4, to: block, first: first}
	if super { // a half that makes no dword is the block's last
		o.to -= o.half
	} else {
		o.from, o.first = o.half, o.half
	}
	return o
}

// at is where the dword at disp of the block is, of sixteen rows.
func (o *dwordOrder) at(disp int) int {
	if disp < o.first {
		disp += o.to - o.from
	}
	return 16 * (o.half + disp - o.first)
}

// column loads the dword at disp of each of the interleaved rows to register r.
func (p *pack) column(disp, r int) {
	p.fetchSome(1)
	p.a.f("VMOVDQU64 %d({rows0}), %s", p.order.at(disp), p.v(r))
}

// halves makes floats in register r of the halves that interleaved blocks begin with.
func (p *pack) halves(r int) { p.a.f("VCVTPH2PS ({rows0}), %s", z(r)) }

// genInterleavedPanels writes the pack functions of rows that are interleaved, for the tiles of genPanels.
func genInterleavedPanels(a *file) {
	p := pack{a: a, level: "AVX512", lanes: 16, v: z}
	for _, t := range packs256 {
		p := p
		p.order = orderOf(t.bytes, t.first, true)
		p.begin(t.name)
		t.gen(&p)
	}
	for _, t := range blocks32 {
		if t.e8 { // is not interleaved
			continue
		}
		p := p
		p.order = orderOf(t.bytes, 0, false)
		p.begin(t.name)
		t.pack(&p)
	}
}
