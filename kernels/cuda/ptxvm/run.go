package ptxvm

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Limits of a launch: those of compute capability 7.5 (CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability").
const (
	warpSize    = 32
	maxThreads  = 1024
	maxShared   = 64 << 10
	maxWide     = 227 << 10 // of what has wgmma, which is of capability 9.0
	maxGridYZ   = 65535
	maxBlockZ   = 64
	maxVariable = 1 << 20 // bytes of local memory or of a module's variables
)

// A Config is the shape of a launch.
type Config struct {
	Grid, Block [3]int // x, y, z; a zero counts as one
	Shared      int    // bytes of dynamic shared memory
}

// A Fault is what a thread may not do.
type Fault struct {
	Kernel        string
	Block, Thread [3]int
	Line          int    // of the PTX
	Inst          string // the instruction's text
	Why           string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("ptxvm: kernel %s, block %v, thread %v, line %d: %s: %s", f.Kernel, f.Block, f.Thread, f.Line, f.Inst, f.Why)
}

// lanes holds one register of a warp; a value is in the low bits, zeros above.
type lanes [warpSize]uint64

type block struct {
	device         *Device
	kernel         *Kernel
	params, shared *region
	grid, size, at [3]int
	warps          []*warp
	proxies        *proxies // of kernels with wgmma
	left           uint64   // instructions until Limit
}

type warp struct {
	block   *block
	first   int // index of lane 0's thread
	regs    []lanes
	set     []uint32 // per register, the lanes that wrote it
	pc      [warpSize]int
	born    uint32 // lanes that have a thread
	alive   uint32
	gather  uint32 // lanes that wait at a warp collective
	barrier uint32 // lanes that wait at a block barrier
	local   [warpSize]*region
	async   [warpSize]transfers
	group   *warpgroup // of kernels with wgmma
	now     *inst
}

// fault stops the launch; Device.run turns it into a Fault.
type fault struct {
	lane int
	why  string
}

func (w *warp) fault(lane int, format string, args ...any) {
	panic(fault{lane, fmt.Sprintf(format, args...)})
}

// Launch runs a kernel over the grid and returns the first *Fault, if any; what
// was stored before it stays. An argument is passed in the low bits of a uint64
// and has the size the kernel declares. A launch no GPU would accept is an
// error too.
func (d *Device) Launch(k *Kernel, c Config, args ...uint64) error {
	if len(args) != len(k.params) {
		return fmt.Errorf("ptxvm: kernel %s takes %d arguments, not %d", k.Name, len(k.params), len(args))
	}
	for i := range 3 {
		c.Grid[i], c.Block[i] = max(1, c.Grid[i]), max(1, c.Block[i])
	}
	threads := c.Block[0] * c.Block[1] * c.Block[2]
	most := maxThreads
	if k.maxThreads > 0 {
		most = min(most, k.maxThreads)
	}
	if c.Block[0] > maxThreads || c.Block[1] > maxThreads || c.Block[2] > maxBlockZ || threads > most {
		return fmt.Errorf("ptxvm: kernel %s in blocks of %v threads, more than %d", k.Name, c.Block, most)
	}
	if c.Grid[0] > 1<<31-1 || c.Grid[1] > maxGridYZ || c.Grid[2] > maxGridYZ {
		return fmt.Errorf("ptxvm: kernel %s on a grid of %v", k.Name, c.Grid)
	}
	room := maxShared
	if k.wgmma {
		room = maxWide
	}
	if c.Shared < 0 || c.Shared > room-k.shared {
		return fmt.Errorf("ptxvm: kernel %s with %d + %d bytes of shared memory, more than %d", k.Name, k.shared, c.Shared, room)
	}
	params := newRegion(0, k.paramBytes)
	for i, p := range k.params {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], args[i])
		params.fill(p.off, b[:p.size])
	}
	left := d.Limit
	if left == 0 {
		left = ^uint64(0)
	}
	for z := range c.Grid[2] {
		for y := range c.Grid[1] {
			for x := range c.Grid[0] {
				b := &block{
					device: d, kernel: k, params: params, shared: newRegion(0, k.shared+c.Shared),
					grid: c.Grid, size: c.Block, at: [3]int{x, y, z}, left: left,
				}
				err := b.run(threads)
				left = b.left
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// thread returns the place of a thread in its block.
func (b *block) thread(i int) [3]int {
	return [3]int{i % b.size[0], i / b.size[0] % b.size[1], i / b.size[0] / b.size[1]}
}

func (b *block) run(threads int) (err error) {
	var w *warp
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		f, ok := r.(fault)
		if !ok {
			panic(r)
		}
		err = &Fault{b.kernel.Name, b.at, b.thread(w.first + f.lane), w.now.line, w.now.text, f.why}
	}()
	if b.kernel.wgmma {
		b.proxies = newProxies(len(b.shared.data))
	}
	for i := 0; i < threads; i += warpSize {
		b.warps = append(b.warps, b.newWarp(i, min(warpSize, threads-i)))
	}
	for {
		waiting, alive := 0, 0
		for _, w = range b.warps {
			w.run()
			alive += bits.OnesCount32(w.alive)
			waiting += bits.OnesCount32(w.barrier)
		}
		if alive == 0 {
			for _, w = range b.warps {
				w.landed()
			}
			return nil
		}
		// All running threads wait now; none may have exited, and all must wait at the same place.
		for _, w = range b.warps {
			if w.barrier == 0 || w.pc[bits.TrailingZeros32(w.barrier)] != b.warps[0].pc[0] || waiting != threads {
				w.fault(0, "a barrier that %d of %d threads reach, or not all the same one", waiting, threads)
			}
		}
		for _, w = range b.warps {
			w.move(w.barrier, w.pc[0]+1)
			w.barrier = 0
		}
	}
}

func (b *block) newWarp(first, n int) *warp {
	k := b.kernel
	w := &warp{block: b, first: first, regs: make([]lanes, k.regs), set: make([]uint32, k.regs)}
	w.born = uint32(uint64(1)<<n - 1)
	w.alive = w.born
	w.now = &k.code[0]
	if k.wgmma {
		w.group = &warpgroup{inFlight: make(map[int]int)}
	}
	for name, r := range k.specials {
		value := specials[name]
		w.set[r] = w.alive
		for l := range n {
			w.regs[r][l] = uint64(value(b, first+l))
		}
	}
	return w
}

// specials are the read-only registers, for thread i of a block.
var specials = map[string]func(b *block, i int) int{
	"%tid.x":    func(b *block, i int) int { return b.thread(i)[0] },
	"%tid.y":    func(b *block, i int) int { return b.thread(i)[1] },
	"%tid.z":    func(b *block, i int) int { return b.thread(i)[2] },
	"%ntid.x":   func(b *block, _ int) int { return b.size[0] },
	"%ntid.y":   func(b *block, _ int) int { return b.size[1] },
	"%ntid.z":   func(b *block, _ int) int { return b.size[2] },
	"%ctaid.x":  func(b *block, _ int) int { return b.at[0] },
	"%ctaid.y":  func(b *block, _ int) int { return b.at[1] },
	"%ctaid.z":  func(b *block, _ int) int { return b.at[2] },
	"%nctaid.x": func(b *block, _ int) int { return b.grid[0] },
	"%nctaid.y": func(b *block, _ int) int { return b.grid[1] },
	"%nctaid.z": func(b *block, _ int) int { return b.grid[2] },
	"%laneid":   func(_ *block, i int) int { return i % warpSize },
}

func (w *warp) move(m uint32, pc int) {
	for ; m != 0; m &= m - 1 {
		w.pc[bits.TrailingZeros32(m)] = pc
	}
}

// run takes the warp to where every lane that lives waits at a barrier.
func (w *warp) run() {
	code := w.block.kernel.code
	for {
		ready := w.alive &^ w.barrier &^ w.gather
		if ready == 0 {
			if w.gather != 0 {
				l := bits.TrailingZeros32(w.gather)
				w.now = &code[w.pc[l]]
				w.fault(l, "a warp collective that not all lanes of its mask reach")
			}
			return
		}
		pc := len(code)
		for m := ready; m != 0; m &= m - 1 {
			pc = min(pc, w.pc[bits.TrailingZeros32(m)])
		}
		var m uint32
		for r := ready; r != 0; r &= r - 1 {
			if l := bits.TrailingZeros32(r); w.pc[l] == pc {
				m |= 1 << l
			}
		}
		w.together(code, m, ready, pc)
	}
}

// together runs lanes m from pc on until they part, wait or meet others.
func (w *warp) together(code []inst, m, ready uint32, pc int) {
	b := w.block
	for {
		in := &code[pc]
		w.now = in
		if b.left == 0 {
			w.fault(bits.TrailingZeros32(m), "the launch ran too long")
		}
		b.left--
		b.device.Ran += uint64(bits.OnesCount32(m))
		on := m
		if in.guarded {
			p := w.in(in.guard, m)
			for q := m; q != 0; q &= q - 1 {
				if l := bits.TrailingZeros32(q); (p[l] != 0) == in.negated {
					on &^= 1 << l
				}
			}
		}
		switch in.flow {
		case jump:
			w.move(m&^on, pc+1)
			w.move(on, in.target)
			if m != ready || on != 0 && on != m {
				return
			}
			pc = w.pc[bits.TrailingZeros32(m)]
			continue
		case leave:
			w.alive &^= on
			w.move(m&^on, pc+1)
			return
		case trap:
			if on != 0 {
				w.fault(bits.TrailingZeros32(on), "trap")
			}
		case meet:
			if on != m || on != w.alive {
				w.fault(bits.TrailingZeros32(m), "a barrier that only lanes %#x of %#x reach", on, w.alive)
			}
			w.barrier = on
			w.move(on, pc)
			return
		case collective:
			w.move(m, pc)
			w.move(m&^on, pc+1)
			waited := w.gather
			if on != 0 {
				w.collect(in, on, pc)
			}
			// Lanes that waited here go on together with those that came now.
			if on != m || waited != 0 || w.gather != 0 {
				return
			}
		default:
			if on != 0 {
				in.run(w, on)
			}
		}
		pc++
		w.move(m, pc)
		if m != ready {
			return
		}
	}
}

// collect runs a collective once all lanes of its mask are at it. The mask
// comes from the lowest lane that arrives; the others must agree.
func (w *warp) collect(in *inst, on uint32, pc int) {
	w.gather |= on
	masks := w.in(in.members, on)
	first := bits.TrailingZeros32(on)
	mask := uint32(masks[first])
	var here uint32
	for g := w.gather; g != 0; g &= g - 1 {
		if l := bits.TrailingZeros32(g); w.pc[l] == pc {
			here |= 1 << l
		}
	}
	for h := on; h != 0; h &= h - 1 {
		l := bits.TrailingZeros32(h)
		if uint32(masks[l]) != mask || mask>>l&1 == 0 {
			w.fault(l, "a warp collective with mask %#x beside one with %#x", uint32(masks[l]), mask)
		}
	}
	// Lanes beyond the block's last thread do not exist and cannot be waited for.
	if lost := mask & w.born &^ w.alive; lost != 0 {
		w.fault(first, "a warp collective that waits for lanes %#x, which have left", lost)
	}
	if here != mask&w.alive {
		return
	}
	in.run(w, here)
	w.gather &^= here
	w.move(here, pc+1)
}

// in returns an operand's values, which lanes m must have.
func (w *warp) in(o operand, m uint32) *lanes {
	if o.value != nil {
		return o.value
	}
	if lost := m &^ w.set[o.reg]; lost != 0 {
		why := "register %s was never written"
		if w.group != nil && w.group.inFlight[o.reg] > 0 {
			why = "register %s belongs to a wgmma that was not waited for"
		}
		w.fault(bits.TrailingZeros32(lost), why, o.name)
	}
	return &w.regs[o.reg]
}

// out returns a register that lanes m are about to write.
func (w *warp) out(o operand, m uint32) *lanes {
	w.set[o.reg] |= m
	return &w.regs[o.reg]
}
