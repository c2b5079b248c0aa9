package cuda

import "quern/kernels/cuda/driver"

// assign gives every value of the part a buffer: the smallest free one that holds
// it, else a new one. What a group reads or makes keeps its buffer to the group's
// end, because a kernel's blocks write while others still read.
func (p *part) assign() {
	values := p.e.p.Values
	last := make(map[int]int) // group of the last use
	for i, g := range p.groups {
		for _, t := range g.tasks {
			for _, v := range append(t.reads(), t.Out) {
				last[v] = i
			}
		}
	}
	for _, v := range p.out {
		last[v] = len(p.groups)
	}
	p.places = make(map[int]int)
	var free []int
	take := func(v int) {
		n, best := values[v].Shape.Elems(), -1
		for k, b := range free {
			if p.sizes[b] >= n && (best < 0 || p.sizes[b] < p.sizes[free[best]]) {
				best = k
			}
		}
		if best < 0 {
			p.places[v] = len(p.sizes)
			p.sizes = append(p.sizes, n)
			return
		}
		p.places[v] = free[best]
		free = append(free[:best], free[best+1:]...)
	}
	for _, v := range p.in {
		take(v)
	}
	for i, g := range p.groups {
		for _, t := range g.tasks {
			if _, ok := p.places[t.Out]; !ok {
				take(t.Out)
			}
		}
		for _, t := range g.tasks {
			for _, v := range append(t.reads(), t.Out) {
				// An input of the Program has no buffer; a value used twice is
				// freed once.
				if b, ok := p.places[v]; ok && last[v] == i {
					free = append(free, b)
					last[v] = none
				}
			}
		}
	}
}

// A constant is numbers that are no tensor's, on the device.
type constant struct {
	x  []float32
	at driver.Ptr
}

// constant has x lie on the device when the part is placed; the address of none is 0.
func (p *part) constant(x []float32) *constant {
	c := &constant{x: x}
	if x != nil {
		p.lists = append(p.lists, c)
	}
	return c
}
