package main

import "fmt"

// A tile function multiplies a panel (see panel_pack.go) with activation rows:
//
//	func name(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int)
//
// The results of activation row t for the panel's rows are written side by side at
// out+t·outStride floats; with more not 0 they are added to what is there, which is how
// further blocks of the same rows follow. Terms are computed and added as Go's reference
// does, so a result has the bits of Dot.
//
// With AVX-512 there is another that multiplies two panels, the one second bytes behind the other,
// whose rows follow each other: what is read of an activation row serves both, and loads no longer
// bound it. Its name ends with Pair, its parameters with second int.
const panelParams = "panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int"

// The minimums of a block of 256.
const (
	noMins    = iota
	floatMins // d·Σ - dmin·Σ'
	intMins   // Σ + Σ', what makes up for unsigned weights
)

// A panelTile is a kind of panel.
type panelTile struct {
	name   string
	wide   bool // AVX-512
	subs   int  // sub-blocks of 256 weights, 0 for blocks of 32 with ActQ8_32
	mins   int
	run    int  // AVX2: how many columns' sums fit a word
	signed bool // AVX2: weights are signed bytes
	shift  int  // AVX2, blocks of 32: unsigned weights are too large by 128>>shift
}

var panelTiles = []panelTile{
	{name: "K8M", wide: true, subs: 8, mins: floatMins},
	{name: "K8O", wide: true, subs: 8, mins: intMins},
	{name: "K16M", wide: true, subs: 16, mins: floatMins},
	{name: "K16O", wide: true, subs: 16, mins: intMins},
	{name: "B", wide: true},
	{name: "BM", wide: true, mins: floatMins},
	{name: "Q4K", subs: 8, mins: floatMins, run: 8},  // 8·2·15·127 = 30,480
	{name: "Q5K", subs: 8, mins: floatMins, run: 4},  // 4·2·31·127 = 31,496
	{name: "Q6K", subs: 16, mins: intMins, run: 2},   // 2·2·63·127 = 32,004
	{name: "Q3K", subs: 16, mins: intMins, run: 4},   // 4·2·7·127 = 7,112
	{name: "Q2K", subs: 16, mins: floatMins, run: 4}, // 4·2·3·127 = 3,048
	{name: "IQ4XS", subs: 8, signed: true},           // 2·127·127 = 32,258
	{name: "Q40", run: 8, shift: 4},                  // as Q4_K
	{name: "Q41", run: 8, mins: floatMins},
	{name: "Q50", run: 4, shift: 3}, // as Q5_K
	{name: "Q51", run: 4, mins: floatMins},
	{name: "MXFP4", run: 4, shift: 3}, // 4·2·28·127 = 28,448
	{name: "Q80", signed: true},       // 2·128·127 = 32,512
}

// fn is the name of the tile function for so many panels.
func (t panelTile) fn(panels int) string {
	return "tile" + t.name + map[bool]string{false: "AVX2", true: "AVX512"}[t.wide] + []string{"", "Pair"}[panels-1]
}

// A panelCode is the code of a tile for some number of activation rows, which share every column
// that is read, and one panel or two, which share activations. A sum b is of activation row row(b)
// and panel(b). Of vectors there are sums() each of blk(b), a block's sums, sub(b), a sub-block's,
// and out(b), results; then scratch.
type panelCode struct {
	panelTile
	a      *file
	v      func(int) string
	panels int
	tokens int
}

// row and panel are what sum b is of.
func (t panelCode) row(b int) int   { return b / t.panels }
func (t panelCode) panel(b int) int { return b % t.panels }

// x addresses disp bytes into the activation row of sum b, scale what is so many bytes behind the
// scale of its block.
func (t panelCode) x(b, disp int) string     { return xmem(t.row(b), disp) }
func (t panelCode) scale(b, disp int) string { return xscale(t.row(b), disp) }

// blk is the vector of a block's sums.
func (t panelCode) blk(b int) string { return t.v(b) }

// sub is the vector of a sub-block's.
func (t panelCode) sub(b int) string { return t.v(t.sums() + b) }

// out is the vector of results.
func (t panelCode) out(b int) string { return t.v(2*t.sums() + b) }

// tmp is a scratch vector, i below 3, or 8 with AVX-512.
func (t panelCode) tmp(i int) string { return t.v(3*t.sums() + i) }

// of is a scratch vector, i below 2, of the panel of sum b: the first panel's are tmp(0) and tmp(1).
func (t panelCode) of(b, i int) string { return t.tmp(3*t.panel(b) + i) }

// sums is how many sums there are registers for.
func (t panelCode) sums() int {
	if t.wide {
		return 8
	}
	return 4
}

// most is how many activation rows those are of.
func (t panelCode) most() int { return t.sums() / t.panels }

// column is the bytes of a column.
func (t panelCode) column() int {
	if t.wide {
		return 64
	}
	return 32
}

// mov is the instruction that loads a vector of integers.
func (t panelCode) mov() string {
	if t.wide {
		return "VMOVDQU64"
	}
	return "VMOVDQU"
}

// zero clears register r.
func (t panelCode) zero(r string) {
	if t.wide {
		t.a.f("VPXORQ %s, %s, %s", r, r, r)
	} else {
		t.a.f("VPXOR %s, %s, %s", r, r, r)
	}
}

// next reads column col from {panel} on, of every panel, into its scratch vector i.
func (t panelCode) next(i, col int) {
	for p := range t.panels {
		t.a.f("%s %d({panel})%s, %s", t.mov(), col*t.column(), []string{"", "({second}*1)"}[p], t.of(p, i))
	}
}

// each calls f for every sum of the group.
func (t panelCode) each(f func(b int)) {
	for b := range t.tokens * t.panels {
		f(b)
	}
}

// gen writes the tile functions.
func (t panelTile) gen(a *file) {
	c := panelCode{panelTile: t, a: a, v: y, panels: 1}
	if t.wide {
		c.v = z
	}
	c.function()
	if t.wide {
		c.panels = 2
		c.function()
	}
}

// function writes a tile function: groups of most activation rows, then of fewer.
func (c panelCode) function() {
	a, t, fn := c.a, c.panelTile, c.fn(c.panels)
	params, many := panelParams, "a panel"
	if c.panels > 1 {
		params, many = params+", second int", "two panels"
	}
	a.function(fn, params, fmt.Sprintf("%s multiplies %s with activation rows.", fn, many))
	a.use(
		"panel", "SI", // next column
		"tokens", "DX", // left
		"x", "DI", // activations of the first of these tokens
		"xStride", "R8",
		"xStride3", "R9", // three times that
		"out", "R10",
		"outStride", "R11", // in bytes
		"blocks", "CX", // left
		"acts", "R13", // of the first token at this block
		"scales", "R14", // of an ActQ8_32 group, from this block on
	)
	if c.panels > 1 {
		a.use("second", "BX") // bytes from a panel to the second
		a.load("second")
	} else {
		a.use(
			"acts4", "BX", // acts of the fifth token
			"scales4", "R15", // scales of it
		)
	}
	if !t.wide {
		a.use("ones", "Y15") // words of one
	}
	a.load("x", "xStride")
	a.f("LEAQ ({xStride})({xStride}*2), {xStride3}")
	a.load("tokens", "out", "outStride")
	a.f("SHLQ $2, {outStride}")
	if !t.wide {
		a.f("VPCMPEQW {ones}, {ones}, {ones}")
		a.f("VPSRLW $15, {ones}, {ones}")
	}
	for n := c.most(); n > 0; n /= 2 {
		c.tokens = n
		c.group()
	}
	finish(a)
}

// group takes t.tokens activation rows at a time as long as there are that many: results
// from {out} or zero, plus the terms of every block.
func (t panelCode) group() {
	a := t.a
	label := func(s string) string { return fmt.Sprintf("%s%d", s, t.tokens) }
	a.l(label("tokens"))
	a.f("CMPQ {tokens}, $%d", t.tokens)
	a.f("JLT %s", label("done"))
	a.load("panel", "blocks")
	a.f("MOVQ {x}, {acts}")
	if t.tokens > 4 {
		a.f("LEAQ ({x})({xStride}*4), {acts4}")
	}
	t.each(func(b int) { t.zero(t.out(b)) })
	a.f("CMPQ %s, $0", a.arg("more"))
	a.f("JEQ %s", label("start"))
	a.f("MOVQ {out}, AX")
	t.each(func(b int) {
		a.f("VMOVUPS %s, %s", mem(t.column()*t.panel(b), "AX"), t.out(b))
		if t.panel(b) == t.panels-1 {
			a.f("ADDQ {outStride}, AX")
		}
	})
	a.l(label("start"))
	if t.subs > 0 {
		t.block256(label)
	} else {
		t.blocks32(label)
	}
	t.each(func(b int) {
		a.f("VMOVUPS %s, %s", t.out(b), mem(t.column()*t.panel(b), "{out}"))
		if t.panel(b) == t.panels-1 {
			a.f("ADDQ {outStride}, {out}")
		}
	})
	a.f("LEAQ ({x})({xStride}*%d), {x}", min(t.tokens, 4))
	if t.tokens == 8 {
		a.f("LEAQ ({x})({xStride}*4), {x}")
	}
	a.f("SUBQ $%d, {tokens}", t.tokens)
	if t.tokens == t.most() {
		a.f("JMP %s", label("tokens"))
	}
	a.l(label("done"))
}

// products adds n columns from col on, times the activations from disp on, to sub(b): with
// AVX-512 by VPDPBUSD. With AVX2 sums of t.run columns stay words, which are multiplied by
// scale and added to blk(b); signed weights go column by column (see block32's avx2).
func (t panelCode) products(n, disp, col int, scale string) {
	a := t.a
	w, abs := t.tmp(0), t.tmp(2)
	for k := range n {
		t.next(0, col+k)
		switch {
		case t.wide && t.panels > 1:
			t.each(func(b int) {
				x := t.tmp(6 + t.row(b)%2)
				if t.panel(b) == 0 {
					a.f("VPBROADCASTD %s, %s", t.x(b, disp+4*k), x)
				}
				a.f("VPDPBUSD %s, %s, %s", x, t.of(b, 0), t.sub(b))
			})
			continue
		case t.wide:
			t.each(func(b int) { a.f("VPDPBUSD.BCST %s, %s, %s", t.x(b, disp+4*k), w, t.sub(b)) })
			continue
		case t.signed:
			a.f("VPABSB %s, %s", w, abs)
			t.each(func(b int) {
				x := t.tmp(1)
				a.f("VPBROADCASTD %s, %s", t.x(b, disp+4*k), x)
				a.f("VPSIGNB %s, %s, %s", w, x, x)
				a.f("VPMADDUBSW %s, %s, %s", x, abs, x)
				a.f("VPMADDWD {ones}, %s, %s", x, x)
				a.f("VPADDD %s, %s, %s", x, t.sub(b), t.sub(b))
			})
			continue
		}
		first, last := k%t.run == 0, k%t.run == t.run-1
		t.each(func(b int) {
			x := t.tmp(1)
			if first {
				x = t.sub(b)
			}
			a.f("VPBROADCASTD %s, %s", t.x(b, disp+4*k), x)
			a.f("VPMADDUBSW %s, %s, %s", x, w, x)
			if !first {
				a.f("VPADDW %s, %s, %s", x, t.sub(b), t.sub(b))
			}
		})
		if last {
			t.each(func(b int) {
				a.f("VPMADDWD %s, %s, %s", scale, t.sub(b), t.sub(b))
				a.f("VPADDD %s, %s, %s", t.sub(b), t.blk(b), t.blk(b))
			})
		}
	}
}

// times multiplies d by the float at m; with is a register AVX2 broadcasts to.
func (t panelCode) times(m string, d, with string) {
	if t.wide {
		t.a.f("VMULPS.BCST %s, %s, %s", m, d, d)
		return
	}
	t.a.f("VBROADCASTSS %s, %s", m, with)
	t.a.f("VMULPS %s, %s, %s", with, d, d)
}

// block256 adds out += dx·(d·Σ scale·Σ w·x - dmin·Σ min·Σx), or with intMins without dmin,
// for every block of 256 weights.
func (t panelCode) block256(label func(string) string) {
	a := t.a
	per := 256 / t.subs
	a.l(label("block"))
	t.each(func(b int) { t.zero(t.blk(b)) })
	a.f("MOVL $%d, AX", t.subs)
	a.l(label("sub"))
	if t.wide || t.signed {
		t.each(func(b int) { t.zero(t.sub(b)) })
		t.products(per/4, 0, 1, "")
		t.next(1, 0)
		t.each(func(b int) {
			a.f("VPMULLD %s, %s, %s", t.of(b, 1), t.sub(b), t.sub(b))
			a.f("VPADDD %s, %s, %s", t.sub(b), t.blk(b), t.blk(b))
		})
	} else {
		t.next(2, 0)
		t.products(per/4, 0, 1, t.tmp(2))
	}
	a.f("ADDQ $%d, {panel}", (1+per/4)*t.column())
	advance(a, t.tokens, per)
	a.f("DECL AX")
	a.f("JNZ %s", label("sub"))
	// The activations' sums are at 256, of 16, and at 288, of 32.
	sums, to := 0, t.blk
	if t.subs == 8 {
		sums = 32
	}
	if t.mins == floatMins {
		to = t.sub
		t.each(func(b int) { t.zero(t.sub(b)) })
	}
	for k := range t.subs / 2 {
		if t.mins == noMins {
			break
		}
		t.next(0, k)
		t.each(func(b int) {
			if t.wide {
				a.f("VPDPWSSD.BCST %s, %s, %s", t.x(b, sums+4*k), t.of(b, 0), to(b))
				return
			}
			a.f("VPBROADCASTD %s, %s", t.x(b, sums+4*k), t.tmp(1))
			a.f("VPMADDWD %s, %s, %s", t.tmp(0), t.tmp(1), t.tmp(1))
			a.f("VPADDD %s, %s, %s", t.tmp(1), to(b), to(b))
		})
	}
	cols := t.subs/2 + 1
	t.next(0, t.subs/2)
	if t.mins == floatMins {
		t.next(1, t.subs/2+1)
		cols++
	}
	t.each(func(b int) {
		a.f("VCVTDQ2PS %s, %s", t.blk(b), t.blk(b))
		a.f("VMULPS %s, %s, %s", t.of(b, 0), t.blk(b), t.blk(b))
		if t.mins == floatMins {
			a.f("VCVTDQ2PS %s, %s", t.sub(b), t.sub(b))
			a.f("VMULPS %s, %s, %s", t.of(b, 1), t.sub(b), t.sub(b))
			a.f("VSUBPS %s, %s, %s", t.sub(b), t.blk(b), t.blk(b))
		}
		t.times(t.x(b, 48), t.blk(b), t.tmp(2))
		a.f("VADDPS %s, %s, %s", t.blk(b), t.out(b), t.out(b))
	})
	a.f("ADDQ $%d, {panel}", cols*t.column())
	advance(a, t.tokens, 64)
	a.f("DECQ {blocks}")
	a.f("JNZ %s", label("block"))
}

// blocks32 adds out += term for every block of 32 weights, as block32's term makes it. After
// eight blocks the activations' next group of 320 bytes begins.
func (t panelCode) blocks32(label func(string) string) {
	a := t.a
	startGroup(a, t.tokens, "AX")
	a.l(label("block"))
	sum := t.sub // where a block's sum ends up
	switch {
	case t.wide && t.mins == noMins:
		t.each(func(b int) { a.f("VPBROADCASTD %s, %s", t.scale(b, 32), t.sub(b)) })
	case t.wide || t.signed:
		t.each(func(b int) { t.zero(t.sub(b)) })
	default:
		sum = t.blk
		t.each(func(b int) {
			if t.mins == floatMins {
				t.zero(t.blk(b))
				return
			}
			a.f("VPBROADCASTD %s, %s", t.scale(b, 32), t.blk(b))
			a.f("VPSRAD $%d, %s, %s", t.shift, t.blk(b), t.blk(b))
		})
	}
	t.products(8, 0, 0, "{ones}")
	cols := 9
	t.next(0, 8)
	if t.mins == floatMins {
		t.next(1, 9)
		cols++
	}
	t.each(func(b int) {
		s, u, d, m := sum(b), t.of(b, 2), t.of(b, 0), t.of(b, 1)
		a.f("VCVTDQ2PS %s, %s", s, s)
		if t.mins == floatMins {
			a.f("VMULPS %s, %s, %s", d, s, s)
			if t.wide {
				a.f("VCVTDQ2PS.BCST %s, %s", t.scale(b, 32), u)
			} else {
				a.f("VPBROADCASTD %s, %s", t.scale(b, 32), u)
				a.f("VCVTDQ2PS %s, %s", u, u)
			}
			a.f("VMULPS %s, %s, %s", m, u, u)
			a.f("VADDPS %s, %s, %s", u, s, s)
			t.times(t.scale(b, 0), s, u)
		} else {
			if t.wide {
				a.f("VMULPS.BCST %s, %s, %s", t.scale(b, 0), d, u)
			} else {
				a.f("VBROADCASTSS %s, %s", t.scale(b, 0), u)
				a.f("VMULPS %s, %s, %s", u, d, u)
			}
			a.f("VMULPS %s, %s, %s", u, s, s)
		}
		a.f("VADDPS %s, %s, %s", s, t.out(b), t.out(b))
	})
	a.f("ADDQ $%d, {panel}", cols*t.column())
	nextOfGroup(a, t.tokens, "AX", label("next"))
	a.f("DECQ {blocks}")
	a.f("JNZ %s", label("block"))
}
