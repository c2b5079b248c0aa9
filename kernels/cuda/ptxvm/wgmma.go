package ptxvm

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Warpgroup products, wgmma: D (64, n) = A (64, 16) · B (16, n) + D of bf16 with
// sums in float32, by four warps that begin at a multiple of four. A warp makes
// 16 rows of D, with lanes as mma.m16n8k16 has them, one tile of eight columns
// after the other.
//
// The product is made when it is given, and what may not be touched until it is
// waited for is watched: its shared memory may not be stored to, its registers
// may be neither read nor written. Shared memory must come from the asynchronous
// proxy's view: bytes that an ordinary store wrote count only after the storing
// thread's fence.proxy.async. A wgmma.fence is asked for before the first
// product and after each wait, which is more than the ISA asks of a kernel that
// leaves the registers alone. That a barrier lies between the fence and the
// product is not seen.
//
// NVIDIA, "Parallel Thread Execution ISA", version 8.0, §9.7.14, "Asynchronous
// Warpgroup Level Matrix Multiply-Accumulate Instructions".

// proxies is what a block watches in its shared memory, by 16 bytes.
type proxies struct {
	unfenced []int32 // stores whose thread has passed no fence.proxy.async since
	reading  []int32 // products in flight that read there
	issued   [maxThreads / 128][]given
}

// A given product is what all warps of a warpgroup must agree about.
type given struct {
	line int
	a, b uint64
}

// A warpgroup is a warp's part of that.
type warpgroup struct {
	stored   [warpSize][]int32 // 16 bytes each, since the lane's last fence.proxy.async
	fenced   bool              // a wgmma.fence came after the last wait
	open     []flight          // given and not committed
	groups   [][]flight        // committed and not waited for
	issued   int
	inFlight map[int]int // uses of a register as D
}

// A flight is a product that has not been waited for yet.
type flight struct {
	read []int32
	d, a []operand
	held []lanes // of a
}

func newProxies(shared int) *proxies {
	n := (shared + 15) / 16
	return &proxies{unfenced: make([]int32, n), reading: make([]int32, n)}
}

// stored notes an ordinary store to shared memory.
func (w *warp) stored(addr uint64, lane int) {
	p := w.block.proxies
	if p.reading[addr/16] != 0 {
		w.fault(lane, "a store at %#x, which a wgmma that was not waited for reads", addr)
	}
	p.unfenced[addr/16]++
	w.group.stored[lane] = append(w.group.stored[lane], int32(addr/16))
}

// landed looks after the last instruction whether all products were waited for,
// and all warps gave the same ones.
func (w *warp) landed() {
	if w.group == nil {
		return
	}
	if len(w.group.open) > 0 || len(w.group.groups) > 0 {
		w.fault(0, "the end before a wait for a wgmma")
	}
	if n := len(w.block.proxies.issued[w.first/128]); w.group.issued != n {
		w.fault(0, "%d wgmma of a warp, %d of another of its warpgroup", w.group.issued, n)
	}
}

// proxyFence makes fence.proxy.async for shared memory.
func proxyFence(c *call) (run, error) {
	if m := strings.Join(c.mods, "."); m != "async" && m != "async.shared::cta" {
		return nil, errMeaning
	}
	c.use()
	return func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			for _, at := range w.group.stored[l] {
				w.block.proxies.unfenced[at]--
			}
			w.group.stored[l] = w.group.stored[l][:0]
		}
	}, nil
}

// use marks the kernel, so that its blocks are checked.
func (c *call) use() { c.kernel.wgmma = true }

// wgmmaControl makes wgmma.fence and wgmma.commit_group.
func wgmmaControl(f func(*warpgroup)) func(*call) (run, error) {
	return func(c *call) (run, error) {
		if strings.Join(c.mods, ".") != "sync.aligned" {
			return nil, errMeaning
		}
		c.use()
		c.in.flow, c.in.members = collective, constantOf(math.MaxUint32)
		return func(w *warp, m uint32) {
			w.whole(m)
			f(w.group)
		}, nil
	}
}

func wgmmaFence(g *warpgroup) { g.fenced = true }

func wgmmaCommit(g *warpgroup) { g.groups, g.open = append(g.groups, g.open), nil }

// wgmmaWait makes wgmma.wait_group.
func wgmmaWait(c *call) (run, error) {
	if strings.Join(c.mods, ".") != "sync.aligned" || c.args[0].value == nil || c.args[0].value[0] > 7 {
		return nil, errMeaning
	}
	c.use()
	left := int(c.args[0].value[0])
	c.in.flow, c.in.members = collective, constantOf(math.MaxUint32)
	return func(w *warp, m uint32) {
		w.whole(m)
		g := w.group
		g.fenced = false
		for len(g.groups) > left {
			for _, f := range g.groups[0] {
				w.land(f)
			}
			g.groups = g.groups[1:]
		}
	}, nil
}

// whole checks that all threads of the warpgroup run its instruction.
func (w *warp) whole(m uint32) {
	size := w.block.size
	if m != math.MaxUint32 || w.first&^127+128 > size[0]*size[1]*size[2] {
		w.fault(bits.TrailingZeros32(m), "a wgmma of part of a warpgroup")
	}
}

// land gives back what a product held.
func (w *warp) land(f flight) {
	for _, at := range f.read {
		w.block.proxies.reading[at]--
	}
	for i, o := range f.a {
		if w.regs[o.reg] != f.held[i] {
			w.fault(0, "register %s was written while a wgmma read it", o.name)
		}
	}
	for _, o := range f.d {
		if w.set[o.reg] != 0 {
			w.fault(0, "register %s was written while a wgmma wrote it", o.name)
		}
		if w.group.inFlight[o.reg]--; w.group.inFlight[o.reg] == 0 {
			w.set[o.reg] = math.MaxUint32
		}
	}
}

// wgmmaShapes are the shapes of bf16: n is a multiple of 8 up to 256.
func wgmmaShapes() string {
	var b strings.Builder
	for n := 8; n <= 256; n += 8 {
		fmt.Fprintf(&b, " m64n%dk16", n)
	}
	return b.String()
}

// wgmmaProduct makes wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16 with
// A in shared memory or in registers.
func wgmmaProduct(c *call) (run, error) {
	if len(c.mods) != 6 || c.mods[0] != "sync" || c.mods[1] != "aligned" || strings.Join(c.mods[3:], ".") != "f32.bf16.bf16" || len(c.args) < 7 {
		return nil, errMeaning
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(c.mods[2], "m64n"), "k16"))
	if err != nil {
		return nil, errMeaning
	}
	d, a, b, keep := c.args[0].vec, c.args[1], c.args[2], c.args[3]
	var flags [4]int64 // scale-a, scale-b, trans-a, trans-b
	rest := c.args[4:]
	if a.vec != nil {
		if len(rest) != 3 {
			return nil, errMeaning
		}
		rest = []operand{rest[0], rest[1], constantOf(0), rest[2]}
	}
	if len(d) != n/2 || b.vec != nil || a.vec != nil && len(a.vec) != 4 || len(rest) != 4 {
		return nil, errMeaning
	}
	for i, o := range rest {
		if o.value == nil {
			return nil, errMeaning
		}
		flags[i] = int64(o.value[0])
		if v := flags[i]; i < 2 && v != 1 && v != -1 || i >= 2 && v != 0 && v != 1 {
			return nil, errMeaning
		}
	}
	seen := map[int]bool{}
	for _, o := range append(d[:len(d):len(d)], a.vec...) {
		if o.value != nil || seen[o.reg] {
			return nil, errMeaning
		}
		seen[o.reg] = true
	}
	c.use()
	c.in.flow, c.in.members = collective, constantOf(math.MaxUint32)
	return func(w *warp, m uint32) {
		w.whole(m)
		if !w.group.fenced {
			w.fault(0, "a wgmma without a wgmma.fence before it")
		}
		f := flight{d: d, a: a.vec}
		same := func(o operand) uint64 {
			r := w.in(o, m)
			for l := range r {
				if r[l] != r[0] {
					w.fault(l, "%s of a wgmma differs between lanes", o.name)
				}
			}
			return r[0]
		}
		to := given{line: c.in.line, b: same(b)}
		var x, y tileRows
		if a.vec != nil {
			for i, o := range a.vec {
				r := *w.in(o, m)
				f.held = append(f.held, r)
				for l := range warpSize {
					for j := range 2 {
						x[l/4+8*(i&1)][i>>1*8+l%4*2+j] = float64(flags[0]) * brainOf(r[l], j)
					}
				}
			}
		} else {
			to.a = same(a)
			f.read = w.gatherTile(f.read, &x, to.a, flags[0], flags[2] == 1, w.first/warpSize%4*16, 16)
		}
		f.read = w.gatherTile(f.read, &y, to.b, flags[1], flags[3] == 1, 0, n)
		all := &w.block.proxies.issued[w.first/128]
		if w.group.issued == len(*all) {
			*all = append(*all, to)
		} else if (*all)[w.group.issued] != to {
			w.fault(0, "a wgmma that is not that of another warp of the warpgroup")
		}
		w.group.issued++

		add := same(keep) != 0
		for i, o := range d {
			r := &w.regs[o.reg]
			flying := w.group.inFlight[o.reg] > 0
			if flying && w.set[o.reg] != 0 {
				w.fault(0, "register %s was written while a wgmma wrote it", o.name)
			}
			if add && !flying {
				w.in(o, m)
			}
			for l := range warpSize {
				sum := 0.0
				row, col := &x[l/4+8*(i>>1&1)], &y[i>>2*8+l%4*2+i&1]
				for k := range row {
					sum += row[k] * col[k]
				}
				if !add {
					r[l] = 0
				}
				r[l] = addFloat(r[l], sum)
			}
			w.set[o.reg] = 0
			w.group.inFlight[o.reg]++
		}
		w.group.open = append(w.group.open, f)
	}, nil
}

// tileRows are rows of A, or columns of B, of 16 of k.
type tileRows [256][16]float64

// A layout is how 16-byte units of a matrix lie: rows of width units, whose
// places in a row are swapped by mask bits of the row's number.
type layout struct {
	width uint64
	mask  uint64
}

// layouts are by bits 62 and 63 of a descriptor: none, 128, 64 and 32 bytes.
var layouts = [4]layout{{1, 0}, {8, 7}, {4, 3}, {2, 1}}

// unit returns the address of 8 values that lie together: of row mn from k on,
// or with across of column k from mn on. The ISA's canonical layouts, in units
// of 16 bytes, with the offsets LBO and SBO of the descriptor: without swizzling
// ((8, mn), 2) at ((1, SBO), LBO) along k and ((mn), (8, 2)) at ((SBO), (1, LBO))
// across it, else ((8, mn), 2) at ((width, SBO), 1) and
// ((width, mn), (8, 2)) at ((1, LBO), (width, SBO)).
func (s layout) unit(start, lbo, sbo uint64, across bool, mn, k int) uint64 {
	i, j := uint64(mn), uint64(k)
	if across {
		// The same with the other dimension first.
		i, j = j, i/8
		if s.mask == 0 {
			lbo, sbo = sbo, lbo
		}
		return s.swizzle(start + i/8*sbo + i%8*s.width*16 + j/s.width*lbo + j%s.width*16)
	}
	j /= 8
	if s.mask == 0 {
		return start + i/8*sbo + i%8*16 + j*lbo
	}
	return s.swizzle(start + i/8*sbo + i%8*s.width*16 + j*16)
}

// swizzle turns address bits from 4 on by those from 7 on.
func (s layout) swizzle(addr uint64) uint64 { return addr ^ addr>>7&s.mask<<4 }

// gatherTile reads n rows of a matrix from row first on, times sign, and appends
// where it lay to read.
func (w *warp) gatherTile(read []int32, to *tileRows, desc uint64, sign int64, across bool, first, n int) []int32 {
	start, lbo, sbo := desc&0x3fff<<4, desc>>16&0x3fff<<4, desc>>32&0x3fff<<4
	s := layouts[desc>>62]
	if repeat := (s.mask + 1) << 7; desc>>49&7 != 0 || s.mask != 0 && start&(repeat-1)>>7 != 0 {
		w.fault(0, "a matrix descriptor %#x whose pattern does not begin at a multiple of its repeat", desc)
	}
	rows, ks := 1, 8
	if across {
		rows, ks = 8, 1
	}
	for mn := first; mn < first+n; mn += rows {
		for k := 0; k < 16; k += ks {
			addr := s.unit(start, lbo, sbo, across, mn, k)
			p, why := w.block.shared.at(addr, 16, false)
			if why != "" {
				w.fault(0, "%s", why)
			}
			if w.block.proxies.unfenced[addr/16] != 0 {
				w.fault(0, "a wgmma reads %#x, stored without a fence.proxy.async by the same thread", addr)
			}
			w.block.proxies.reading[addr/16]++
			read = append(read, int32(addr/16))
			for e := range 8 {
				v := float64(sign) * float64(math.Float32frombits(uint32(p[2*e])<<16|uint32(p[2*e+1])<<24))
				if across {
					to[mn-first+e][k] = v
				} else {
					to[mn-first][k+e] = v
				}
			}
		}
	}
	return read
}
