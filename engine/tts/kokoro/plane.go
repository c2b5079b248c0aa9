package kokoro

// A plane is a time series: rows steps of cols channels.
type plane struct {
	rows, cols int
	data       []float32
}

// An arena hands out the buffers of one utterance. What is taken after a mark
// is given back together, so a forward pass needs as much memory as its deepest
// point. The first slab serves every utterance, the others one.
type arena struct {
	slabs []block
	slab  int // the one in use
	used  int // of it
	first int // floats of the first slab, at least
}

type mark struct{ slab, used int }

// slabFloats is the least that slabs after the first have, 16 MB.
const slabFloats = 4 << 20

// keepFloats is the size of the first slab for a generator of that width: what five
// seconds of speech need. The published width, 512 channels, has 64 MB.
func keepFloats(width int) int { return width * (16 << 20) / 512 }

func (a *arena) mark() mark     { return mark{a.slab, a.used} }
func (a *arena) release(m mark) { a.slab, a.used = m.slab, m.used }

// floats returns n floats with unspecified values.
func (a *arena) floats(n int) []float32 {
	for ; a.slab < len(a.slabs); a.slab, a.used = a.slab+1, 0 {
		if s := a.slabs[a.slab].data; a.used+n <= len(s) {
			return a.take(n)
		}
	}
	least := slabFloats
	if a.slab == 0 {
		least = a.first
	}
	a.slabs = append(a.slabs, newBlock(max(n, least)))
	return a.take(n)
}

func (a *arena) take(n int) []float32 {
	x := a.slabs[a.slab].data[a.used : a.used+n : a.used+n]
	a.used += (n + 15) &^ 15
	return x
}

// plane returns a plane with unspecified values.
func (a *arena) plane(rows, cols int) plane {
	return plane{rows: rows, cols: cols, data: a.floats(rows * cols)}
}

// keep releases all that was taken after m but x, which moves there.
func (a *arena) keep(m mark, x plane) plane {
	a.release(m)
	y := a.plane(x.rows, x.cols)
	copy(y.data, x.data)
	return y
}

// warm takes the first slab, page by page, so that no utterance waits for that.
func (a *arena) warm() {
	x := a.floats(a.first)
	for i := 0; i < len(x); i += 1024 {
		x[i] = 0
	}
	a.slab, a.used = 0, 0
}

// trim gives all slabs but the first back, so that one long utterance does not
// keep its memory for ever. Nothing may be in use.
func (a *arena) trim() { a.shrink(1) }

// free gives all memory back.
func (a *arena) free() { a.shrink(0) }

func (a *arena) shrink(n int) {
	a.slab, a.used = 0, 0
	for len(a.slabs) > n {
		last := len(a.slabs) - 1
		_ = a.slabs[last].free()
		a.slabs[last] = block{}
		a.slabs = a.slabs[:last]
	}
}
