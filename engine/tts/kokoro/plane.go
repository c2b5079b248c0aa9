package kokoro

import (
	"fmt"
	"unsafe"
)

// A plane is a time series of cols values a step, in time order within phases:
// step t lies in phase t mod phases. One phase is the plain row-major matrix; a
// convolution with dilation d reads a plane of d phases, in which its taps are
// neighbours. Each phase has pad steps of zeros in front and behind.
type plane struct {
	rows, cols  int
	phases, pad int
	data        []float32
}

// steps returns how many steps phase r has, without its padding.
func (p *plane) steps(r int) int { return (p.rows - r + p.phases - 1) / p.phases }

// stride is the distance of two phases in rows.
func (p *plane) stride() int { return (p.rows+p.phases-1)/p.phases + 2*p.pad }

// row returns step t.
func (p *plane) row(t int) []float32 {
	at := (t%p.phases*p.stride() + p.pad + t/p.phases) * p.cols
	return p.data[at : at+p.cols : at+p.cols]
}

// flat returns the values of a plane of one phase without padding.
func (p *plane) flat() []float32 {
	if p.phases != 1 || p.pad != 0 {
		panic(fmt.Sprintf("kokoro: a plane of %d phases with %d steps of padding is not flat", p.phases, p.pad))
	}
	return p.data
}

// clearPad writes zeros around every phase, and where the last phases are a step
// shorter than the first.
func (p *plane) clearPad() {
	stride := p.stride()
	for r := range p.phases {
		phase := p.data[r*stride*p.cols : (r+1)*stride*p.cols]
		clear(phase[:p.pad*p.cols])
		clear(phase[(p.pad+p.steps(r))*p.cols:])
	}
}

// An arena hands out the buffers of one utterance. What is taken after a mark
// is given back together, so a forward pass needs as much memory as its deepest
// point and the next utterance reuses it.
type arena struct {
	slabs [][]float32
	slab  int // the one in use
	used  int // of it
}

type mark struct{ slab, used int }

// slabFloats is the least an arena grows by: 16 MB.
const slabFloats = 4 << 20

func (a *arena) mark() mark     { return mark{a.slab, a.used} }
func (a *arena) release(m mark) { a.slab, a.used = m.slab, m.used }

// floats returns n floats with unspecified values.
func (a *arena) floats(n int) []float32 {
	for a.slab < len(a.slabs) {
		if s := a.slabs[a.slab]; a.used+n <= len(s) {
			out := s[a.used : a.used+n : a.used+n]
			a.used += (n + 15) &^ 15
			return out
		}
		a.slab, a.used = a.slab+1, 0
	}
	a.slabs = append(a.slabs, make([]float32, max(n, slabFloats)))
	a.used = (n + 15) &^ 15
	return a.slabs[a.slab][:n:n]
}

// trim forgets slabs beyond limit floats, so that one long utterance does not
// keep its memory for ever. Nothing may be in use.
func (a *arena) trim(limit int) {
	sum := 0
	for i, s := range a.slabs {
		if sum += len(s); sum > limit {
			clear(a.slabs[i:])
			a.slabs = a.slabs[:i]
			break
		}
	}
	a.slab, a.used = 0, 0
}

// plane returns a plane with unspecified values and clear padding.
func (a *arena) plane(rows, cols, phases, pad int) plane {
	p := plane{rows: rows, cols: cols, phases: phases, pad: pad}
	p.data = a.floats(p.stride() * phases * cols)
	if phases > 1 || pad > 0 {
		p.clearPad()
	}
	return p
}

// matrix returns a plane of one phase without padding.
func (a *arena) matrix(rows, cols int) plane { return a.plane(rows, cols, 1, 0) }

func asBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
