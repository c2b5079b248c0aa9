package kokoro

// A plane is a time series: rows steps of cols channels.
type plane struct {
	rows, cols int
	data       []float32
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

// plane returns a plane with unspecified values.
func (a *arena) plane(rows, cols int) plane {
	return plane{rows: rows, cols: cols, data: a.floats(rows * cols)}
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
