package ptxvm

import (
	"fmt"
	"sort"
)

// Where the spaces lie in the generic address space. Shared and local addresses
// of their own spaces are offsets from these.
const (
	sharedWindow = 1 << 40
	localWindow  = 2 << 40
	moduleWindow = 3 << 40
	deviceStart  = 0x7f << 40
	windowSize   = 1 << 32
)

// A region is memory that records which of its bytes were written.
type region struct {
	base  uint64
	data  []byte
	known []uint64 // one bit per byte
}

func newRegion(base uint64, n int) *region {
	return &region{base: base, data: make([]byte, n), known: make([]uint64, (n+63)/64)}
}

func (r *region) fill(off int, b []byte) {
	copy(r.data[off:], b)
	for i := off; i < off+len(b); i++ {
		r.known[i>>6] |= 1 << (i & 63)
	}
}

// at returns the n bytes at an address, n being a power of two up to 16, or why
// they may not be touched. A store marks them written.
func (r *region) at(addr uint64, n int, store bool) (b []byte, why string) {
	off := addr - r.base
	if off > uint64(len(r.data)) || uint64(n) > uint64(len(r.data))-off {
		return nil, fmt.Sprintf("%d bytes at %#x are outside the %d bytes at %#x", n, addr, len(r.data), r.base)
	}
	if addr%uint64(n) != 0 {
		return nil, fmt.Sprintf("%d bytes at %#x are misaligned", n, addr)
	}
	// Aligned, so all n bits are in one word.
	bits := (uint64(1)<<n - 1) << (off & 63)
	if store {
		r.known[off>>6] |= bits
	} else if r.known[off>>6]&bits != bits {
		return nil, fmt.Sprintf("%d bytes at %#x were never written", n, addr)
	}
	return r.data[off : off+uint64(n)], ""
}

// forget takes back that the n bytes at an address, in bounds and aligned, were
// written.
func (r *region) forget(addr uint64, n int) {
	off := addr - r.base
	r.known[off>>6] &^= (uint64(1)<<n - 1) << (off & 63)
}

// A Device has memory and runs kernels. The zero Device is empty and ready. It
// is not safe for concurrent use.
type Device struct {
	// Limit is how many instructions of one lane a launch may run before it
	// is stopped with a Fault; 0 means any number.
	Limit uint64
	// Ran counts the instructions run by all lanes of all launches.
	Ran uint64

	regions []*region // by address
	next    uint64
}

// Alloc reserves n bytes that count as never written and returns their address,
// a multiple of 256. Between two allocations are at least 4096 bytes that
// nothing may touch.
func (d *Device) Alloc(n int) uint64 {
	if n < 0 {
		panic(fmt.Sprintf("ptxvm: allocation of %d bytes", n))
	}
	d.next = max(d.next, deviceStart)
	r := newRegion(d.next, n)
	d.next += uint64(n+255)&^255 + 4096
	d.regions = append(d.regions, r)
	return r.base
}

// Free returns what Alloc gave; its addresses are never used again.
func (d *Device) Free(addr uint64) error {
	for i, r := range d.regions {
		if r.base == addr {
			d.regions = append(d.regions[:i], d.regions[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("ptxvm: nothing was allocated at %#x", addr)
}

// Write copies b to device memory.
func (d *Device) Write(addr uint64, b []byte) error {
	r, err := d.whole(addr, len(b))
	if err != nil {
		return err
	}
	r.fill(int(addr-r.base), b)
	return nil
}

// Read copies device memory to b. Bytes that were never written are an error.
func (d *Device) Read(addr uint64, b []byte) error {
	r, err := d.whole(addr, len(b))
	if err != nil {
		return err
	}
	off := int(addr - r.base)
	for i := off; i < off+len(b); i++ {
		if r.known[i>>6]>>(i&63)&1 == 0 {
			return fmt.Errorf("ptxvm: byte %d at %#x was never written", i-off, addr)
		}
	}
	copy(b, r.data[off:])
	return nil
}

func (d *Device) whole(addr uint64, n int) (*region, error) {
	r := d.find(addr)
	if r == nil || uint64(n) > uint64(len(r.data))-(addr-r.base) {
		return nil, fmt.Errorf("ptxvm: no %d bytes at %#x", n, addr)
	}
	return r, nil
}

// find returns the allocation an address lies in, or just behind.
func (d *Device) find(addr uint64) *region {
	i := sort.Search(len(d.regions), func(i int) bool { return d.regions[i].base > addr }) - 1
	if i < 0 || addr-d.regions[i].base > uint64(len(d.regions[i].data)) {
		return nil
	}
	return d.regions[i]
}

// A space is where an address points.
type space byte

const (
	generic space = iota
	global
	constant
	shared
	local
	param
)

var spaces = map[string]space{"global": global, "const": constant, "shared": shared, "local": local, "param": param}

// at returns the n bytes a lane means by an address in a space.
func (w *warp) at(s space, addr uint64, n int, store bool, lane int) []byte {
	b := w.block
	if s == generic {
		switch {
		case addr-sharedWindow < windowSize:
			s, addr = shared, addr-sharedWindow
		case addr-localWindow < windowSize:
			s, addr = local, addr-localWindow
		default:
			s = global
		}
	}
	var r *region
	switch s {
	case param:
		r = b.params
	case shared:
		r = b.shared
	case local:
		if w.local[lane] == nil {
			w.local[lane] = newRegion(0, b.kernel.local)
		}
		r = w.local[lane]
	default:
		if addr-moduleWindow < windowSize {
			r = b.kernel.vars
		} else {
			r = b.device.find(addr)
		}
		if s == constant && r != b.kernel.vars {
			r = nil
		}
	}
	if r == nil {
		w.fault(lane, "address %#x points nowhere", addr)
	}
	if store && (s == param || s == constant) {
		w.fault(lane, "store to memory that is read only")
	}
	p, why := r.at(addr, n, store)
	if why != "" {
		w.fault(lane, "%s", why)
	}
	if store && s == shared && w.group != nil {
		w.stored(addr, lane)
	}
	return p
}
