package kokoro

import (
	"unsafe"

	"quern/kernels/offheap"
)

// A memory hands out zeroed floats that lie outside the Go heap where the system
// allows it. What a network keeps and what it works in are hundreds of
// megabytes, and the collector lets a heap grow in proportion to what lives in
// it.
type memory struct {
	blocks []block
	rest   []float32 // of a block that small pieces share
}

// A block is memory of the system's.
type block struct {
	data []float32
	free func() error // fails only for what was not taken
}

// shared is the size of blocks that small pieces share, in floats: 2 MB. A piece
// of half of it has its own block.
const shared = 1 << 19

// floats returns n floats, aligned to 64 bytes.
func (m *memory) floats(n int) []float32 {
	if n >= shared/2 {
		return m.block(n)[:n:n]
	}
	if n > len(m.rest) {
		m.rest = m.block(shared)
	}
	x := m.rest[:n:n]
	m.rest = m.rest[min((n+15)&^15, len(m.rest)):]
	return x
}

func (m *memory) block(n int) []float32 {
	b := newBlock(n)
	m.blocks = append(m.blocks, b)
	return b.data
}

// bytes is how much memory was taken.
func (m *memory) bytes() int64 {
	var n int64
	for _, b := range m.blocks {
		n += 4 * int64(len(b.data))
	}
	return n
}

// free gives all memory back. Nothing of it may be used any more.
func (m *memory) free() {
	for _, b := range m.blocks {
		_ = b.free()
	}
	m.blocks, m.rest = nil, nil
}

// newBlock takes n floats from the system, or from the heap where it has none.
func newBlock(n int) block {
	data, free, err := offheap.Reserve(4 * n)
	if err != nil {
		return block{make([]float32, n), func() error { return nil }}
	}
	return block{unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(data))), n), free}
}
