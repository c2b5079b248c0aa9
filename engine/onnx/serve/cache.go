package serve

import (
	"fmt"
	"slices"
	"sync"

	"quern/engine/onnx"
)

// A cache holds keys and values in float32, as the graph takes them. A
// block's memory is taken when it is first written.
type cache struct {
	floats int // of a block
	data   [][]float32

	mu       sync.Mutex // guards memories: one window may be encoded while others are decoded
	memories []*memory
}

// A memory is what an encoder found in a window, which has blocks of its
// own. What is here lies beside them: the graph takes it whole.
type memory struct {
	table  []int32
	states *onnx.Tensor
	cross  map[string]*onnx.Tensor // keys and values by the input they go to
}

// remember keeps states for the window with those blocks, and forgets windows
// that had one of them.
func (c *cache) remember(table []int32, states *onnx.Tensor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memories = slices.DeleteFunc(c.memories, func(m *memory) bool {
		return slices.ContainsFunc(m.table, func(b int32) bool { return slices.Contains(table, b) })
	})
	c.memories = append(c.memories, &memory{slices.Clone(table), states, make(map[string]*onnx.Tensor)})
}

// recall returns what is kept for a window.
func (c *cache) recall(table []int32) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.memories {
		if slices.Equal(m.table, table) {
			return m
		}
	}
	panic(fmt.Sprintf("serve: no window has the blocks %d", table))
}

func newCache(floats, blocks int) *cache {
	return &cache{floats: floats, data: make([][]float32, blocks)}
}

func (c *cache) block(i int32) []float32 {
	if c.data[i] == nil {
		c.data[i] = make([]float32, c.floats)
	}
	return c.data[i]
}

// Copy implements graph.Cache.
func (c *cache) Copy(_ int, dst, src int32) { copy(c.block(dst), c.block(src)) }

// CopyState implements graph.Cache. No Program that runs here has states.
func (c *cache) CopyState(dst, src int32) {}

// Bytes implements graph.Cache.
func (c *cache) Bytes() int64 { return 4 * int64(c.floats) * int64(len(c.data)) }

// Close implements graph.Cache.
func (c *cache) Close() error { return nil }
