package tensor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"quern/formats/onnx"
)

// ErrMemory is wrapped by the error of a Run whose values would take more than
// Options.Limit.
var ErrMemory = errors.New("onnx: out of memory")

// A Memory hands out the buffers of one Session and takes them back when the
// last name of a value dies. Large tensors are drawn from lists by size, so
// that a model of fixed shapes runs in the buffers of its last run. Only the
// goroutine of Run touches it.
type Memory struct {
	Limit             int64
	live, peak, spare int64 // bytes of values, the most of this run, bytes in free
	last              int64 // peak of the run before
	clock             int64 // counts what is taken
	free              map[int][]*buffer
	held              []*buffer // what nodes that still run made: a stack, with one reference each
}

// A buffer is counted by the names, and the running nodes, that stand for
// tensors in it. Those without words were allocated by an operator on its own:
// they are counted but not used again.
type buffer struct {
	words []uint64
	bytes int64
	refs  int
	taken int64 // by Memory.clock
}

// poolFrom is the size in bytes from which tensors come out of the pool.
const poolFrom = 1024

// roundUp keeps the three highest bits below the leading one, so that sizes
// that grow from run to run (a KV cache) find buffers of the run before.
func roundUp(n int) int {
	step := 1
	for n/step >= 16 {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// Fits fails where the limit leaves no room for as many bytes.
func (m *Memory) Fits(bytes int64) {
	m.Grow(bytes)
	m.Shrink(bytes)
}

// Grow counts bytes that something keeps, and fails past the limit.
func (m *Memory) Grow(bytes int64) {
	if bytes > m.Limit-m.live {
		Fail(fmt.Errorf("%w: %d bytes are in use, %d more would pass the limit of %d", ErrMemory, m.live, bytes, m.Limit))
	}
	m.live += bytes
	m.peak = max(m.peak, m.live)
	if m.live+m.spare > m.Limit {
		m.free, m.spare = nil, 0
	}
}

// Shrink takes back what Grow counted.
func (m *Memory) Shrink(bytes int64) { m.live -= bytes }

// take returns a buffer of words uint64 or up to twice as many, held by the
// running node.
func (m *Memory) take(words int) *buffer {
	words = roundUp(words)
	best := words
	if len(m.free[words]) == 0 {
		best = math.MaxInt
		for size, list := range m.free {
			if size > words && size <= 2*words && size < best && len(list) > 0 {
				best = size
			}
		}
	}
	var b *buffer
	if list := m.free[best]; len(list) > 0 {
		b = list[len(list)-1]
		m.free[best] = list[:len(list)-1]
		m.spare -= b.bytes
		m.Grow(b.bytes)
	} else {
		m.shed(8 * int64(words))
		m.Grow(8 * int64(words))
		b = &buffer{words: make([]uint64, words), bytes: 8 * int64(words)}
	}
	m.clock++
	b.taken = m.clock
	m.holdBuffer(b)
	return b
}

// shed makes room for as many bytes: values and spare buffers are together at most half as
// much again as the values of this run or the last one. Buffers go that were not taken for
// longest: those of inputs of another length.
func (m *Memory) shed(bytes int64) {
	for room := max(m.peak, m.last, m.live+bytes) * 3 / 2; m.spare > 0 && m.live+m.spare+bytes > room; {
		var oldest *buffer
		for _, list := range m.free {
			for _, b := range list {
				if oldest == nil || b.taken < oldest.taken {
					oldest = b
				}
			}
		}
		size := len(oldest.words)
		m.free[size] = slices.DeleteFunc(m.free[size], func(b *buffer) bool { return b == oldest })
		m.spare -= oldest.bytes
	}
}

func (m *Memory) holdBuffer(b *buffer) {
	b.refs++
	m.held = append(m.held, b)
}

// Hold keeps t until the node that runs ends.
func (m *Memory) Hold(t *Tensor) { t.buffers(m.holdBuffer) }

// Mark returns the place in the stack of what is held that Settle takes.
func (m *Memory) Mark() int { return len(m.held) }

// Retain counts a name that stands for t.
func (t *Tensor) Retain() { t.buffers(func(b *buffer) { b.refs++ }) }

// Drop takes back what Retain counted; what nothing counts is spare.
func (m *Memory) Drop(t *Tensor) { t.buffers(m.dropBuffer) }

func (m *Memory) dropBuffer(b *buffer) {
	if b.refs--; b.refs > 0 {
		return
	}
	m.live -= b.bytes
	if b.words != nil {
		if m.free == nil {
			m.free = make(map[int][]*buffer)
		}
		m.free[len(b.words)] = append(m.free[len(b.words)], b)
		m.spare += b.bytes
	}
}

// Settle drops what is held above mark.
func (m *Memory) Settle(mark int) {
	for _, b := range m.held[mark:] {
		m.dropBuffer(b)
	}
	clear(m.held[mark:])
	m.held = m.held[:mark]
}

// Keep makes t one of the model, the same in every run.
func (m *Memory) Keep(t *Tensor) { t.constant, t.mem = true, m }

// Alone reports whether t may be written to once the one name that stands for it
// is gone.
func (t *Tensor) Alone() bool {
	return t.buf != nil && t.buf.words != nil && t.buf.refs == 1 && t.Raw == nil
}

// Unhold drops a tensor that a graph returned before its node ends.
func (m *Memory) Unhold(t *Tensor) {
	t.buffers(func(b *buffer) {
		for i := len(m.held) - 1; i >= 0; i-- {
			if m.held[i] == b {
				m.held = append(m.held[:i], m.held[i+1:]...)
				m.dropBuffer(b)
				return
			}
		}
	})
}

// Reset forgets what lives, which belongs to the caller of Run or is not used any more,
// and the spare buffers where they are much more than this run needed.
func (m *Memory) Reset() {
	if m.spare > 2*m.peak {
		m.free, m.spare = nil, 0
	}
	clear(m.held)
	m.last = m.peak
	m.held, m.live, m.peak = m.held[:0], 0, 0
}

// Blank returns a tensor of undefined contents, zeros where it is small.
func (m *Memory) Blank(t onnx.DType, shape ...int) *Tensor {
	n := Count(shape)
	width := 8
	if IsFloat(t) {
		width = 4
	}
	if t == onnx.String {
		m.Fits(16 * int64(n))
	}
	if n*width < poolFrom || t == onnx.String {
		x := New(t, shape...)
		if t != onnx.String { // adopt counts strings
			x.mem = m
		}
		return x
	}
	b := m.take((n*width + 7) / 8)
	x := &Tensor{Type: t, Shape: append([]int{}, shape...), mem: m, buf: b}
	p := unsafe.Pointer(unsafe.SliceData(b.words))
	switch {
	case width == 4:
		x.F = unsafe.Slice((*float32)(p), n)
	case t == onnx.Double:
		x.D = unsafe.Slice((*float64)(p), n)
	default:
		x.I = unsafe.Slice((*int64)(p), n)
	}
	return x
}

// Roomy is Blank of float32 in a buffer with room for as many more elements, where the limit
// leaves that.
func (m *Memory) Roomy(more int, shape ...int) *Tensor {
	n := Count(shape)
	words := (n + more + 1) / 2
	if n*4 < poolFrom || 16*int64(words) > m.Limit-m.live {
		return m.Blank(onnx.Float, shape...)
	}
	b := m.take(words)
	return (&Tensor{mem: m, buf: b}).whole(shape)
}

// whole is the float32 from the start of t's buffer, as many as shape has.
func (t *Tensor) whole(shape []int) *Tensor {
	p := unsafe.Pointer(unsafe.SliceData(t.buf.words))
	return &Tensor{Type: onnx.Float, Shape: append([]int{}, shape...), mem: t.mem, buf: t.buf, F: unsafe.Slice((*float32)(p), Count(shape))}
}

// Grown returns a tensor of more elements that begins with those of t, in its memory; nil
// where there is no room, or t is not float32 from the start of a buffer on.
func (t *Tensor) Grown(shape ...int) *Tensor {
	if t.Type != onnx.Float || t.buf == nil || t.buf.words == nil || len(t.F) == 0 ||
		unsafe.Pointer(unsafe.SliceData(t.F)) != unsafe.Pointer(unsafe.SliceData(t.buf.words)) || Count(shape) > 2*len(t.buf.words) {
		return nil
	}
	return t.whole(shape)
}

// Raw returns a tensor of an 8-bit type of undefined contents that keeps bytes.
func (m *Memory) Raw(t onnx.DType, shape ...int) *Tensor {
	n := Count(shape)
	if n < poolFrom {
		return &Tensor{Type: t, Shape: append([]int{}, shape...), mem: m, Raw: make([]byte, n)}
	}
	b := m.take((n + 7) / 8)
	return &Tensor{
		Type: t, Shape: append([]int{}, shape...), mem: m, buf: b,
		Raw: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.words))), n),
	}
}

// buffers calls f with the buffer of t, or those of a sequence.
func (t *Tensor) buffers(f func(*buffer)) {
	if t.buf != nil {
		f(t.buf)
	}
	for _, e := range t.Seq {
		if e != nil {
			e.buffers(f)
		}
	}
}

// span is the memory of t's elements.
func (t *Tensor) span() (from, size uintptr) {
	switch {
	case t.F != nil:
		return uintptr(unsafe.Pointer(unsafe.SliceData(t.F))), 4 * uintptr(cap(t.F))
	case t.D != nil:
		return uintptr(unsafe.Pointer(unsafe.SliceData(t.D))), 8 * uintptr(cap(t.D))
	case t.I != nil:
		return uintptr(unsafe.Pointer(unsafe.SliceData(t.I))), 8 * uintptr(cap(t.I))
	case t.S != nil:
		return uintptr(unsafe.Pointer(unsafe.SliceData(t.S))), 16 * uintptr(cap(t.S))
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(t.Raw))), uintptr(cap(t.Raw))
}

// Memory is the bytes of t's elements, nil where they are no floats or bytes.
func (t *Tensor) Memory() []byte {
	switch {
	case t.F != nil:
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(t.F))), 4*len(t.F))
	case t.halves != nil:
		return t.halves
	}
	return t.Raw
}

// Adopt finds out in whose memory a result of a node lies: in that of an input,
// of something the node made through the Session, or in its own.
func (m *Memory) Adopt(t *Tensor, in []*Tensor, mark int) {
	for _, e := range t.Seq {
		if e != nil {
			m.Adopt(e, in, mark)
		}
	}
	if t.buf != nil || t.mem != nil || t.constant || t.given {
		return
	}
	t.mem = m
	from, size := t.span()
	if t.Len() == 0 {
		return
	}
	for _, x := range in {
		if x == nil {
			continue
		}
		if x == t {
			return
		}
		if inside, b := x.holds(from); inside {
			t.buf = b
			return
		}
	}
	for _, b := range m.held[mark:] {
		if lo := uintptr(unsafe.Pointer(unsafe.SliceData(b.words))); b.words != nil && from >= lo && from-lo < uintptr(b.bytes) {
			t.buf = b
			return
		}
	}
	if size >= poolFrom {
		m.Grow(int64(size))
		t.buf = &buffer{bytes: int64(size)}
		m.holdBuffer(t.buf)
	}
}

// holds reports whether an address lies in a tensor or one of a sequence.
func (t *Tensor) holds(at uintptr) (bool, *buffer) {
	if lo, size := t.span(); at >= lo && at-lo < size {
		return true, t.buf
	}
	for _, e := range t.Seq {
		if e != nil {
			if ok, b := e.holds(at); ok {
				return true, b
			}
		}
	}
	return false, nil
}

// Leave returns a tensor that has nothing of the Session but its memory.
func (t *Tensor) Leave() *Tensor {
	c := *t
	c.mem = nil
	c.constant = false
	c = *c.Whole()
	c.given, c.buf, c.Raw = false, nil, nil
	if t.Seq != nil {
		c.Seq = make([]*Tensor, len(t.Seq))
		for i, e := range t.Seq {
			c.Seq[i] = e.Leave()
		}
	}
	return &c
}

// Taken returns a tensor of the caller as one of the Session.
func (m *Memory) Taken(t *Tensor) *Tensor {
	c := *t
	c.given, c.constant, c.mem, c.buf = true, false, m, nil
	if t.Seq != nil {
		c.Seq = make([]*Tensor, len(t.Seq))
		for i, e := range t.Seq {
			c.Seq[i] = m.Taken(e)
		}
	}
	return &c
}

// Constant reports whether tensors are the same in every run; nil is.
func Constant(all ...*Tensor) bool {
	return !slices.ContainsFunc(all, func(t *Tensor) bool { return t != nil && !t.constant })
}

// Detach makes a value one that lives as long as the Session.
func (t *Tensor) Detach() {
	t.constant, t.buf = true, nil
	for _, e := range t.Seq {
		if e != nil {
			e.Detach()
		}
	}
}
