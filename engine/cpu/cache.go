package cpu

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"quern/engine/graph"
	"quern/kernels"
	"quern/kernels/attention"
	"quern/kernels/offheap"
	"quern/kernels/quant"
)

// A cache is the keys and values of each pool's layers, those of one shape together.
type cache struct {
	spec   graph.CacheSpec
	layers []place
	kept   []kept
	// Slots of states, one after the other.
	states []float32
	free   func() error
}

// A place is where a layer lies; kv is nil for one that nothing is written to.
type place struct {
	kv    *attention.KV
	layer int
	near  int // its pool, as graph.CacheLayer.Near
}

// A kept is layers of one pool and shape.
type kept struct {
	graph.CacheLayer
	layers int
	kv     *attention.KV
}

// NewCache implements graph.Backend. Memory is taken from the operating system
// as it is first written.
func (b *Backend) NewCache(s graph.CacheSpec) (graph.Cache, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c := &cache{spec: s, layers: make([]place, len(s.Layers)), states: make([]float32, s.State*s.States)}
	of := make([]int, len(s.Layers)) // layer → kept
	for i, l := range s.Layers {
		if l.KVHeads == 0 {
			continue
		}
		for of[i] = 0; of[i] < len(c.kept) && c.kept[of[i]].CacheLayer != l; {
			of[i]++
		}
		if of[i] == len(c.kept) {
			c.kept = append(c.kept, kept{CacheLayer: l})
		}
		c.layers[i] = place{layer: c.kept[of[i]].layers, near: l.Near}
		c.kept[of[i]].layers++
	}
	size := 0
	for i := range c.kept {
		k := &c.kept[i]
		blocks := s.Blocks
		if k.Near > 0 {
			blocks = s.Near[k.Near-1].Blocks
		}
		var err error
		if k.Latent > 0 {
			k.kv, err = attention.NewLatents(s.Type, k.layers, blocks, s.BlockSize, k.HeadDim, k.Latent)
		} else {
			k.kv, err = attention.NewKV(s.Type, k.layers, blocks, s.BlockSize, k.KVHeads, k.HeadDim)
		}
		if err != nil {
			return nil, err
		}
		k.kv.Arrange()
		if size > math.MaxInt-k.kv.Size()-align {
			return nil, fmt.Errorf("cpu: a KV cache of %d layers and %d blocks", len(s.Layers), s.Blocks)
		}
		size += aligned(k.kv.Size())
	}
	data, free, err := offheap.Reserve(max(size, align))
	if err != nil {
		return nil, fmt.Errorf("cpu: a KV cache of %d bytes: %w", size, err)
	}
	c.free = free
	for _, k := range c.kept {
		k.kv.Data = data[:k.kv.Size()]
		data = data[aligned(k.kv.Size()):]
	}
	for i, l := range s.Layers {
		if l.KVHeads > 0 {
			c.layers[i].kv = c.kept[of[i]].kv
		}
	}
	return c, nil
}

// align is the alignment of the first layer of a shape: a cache line.
const align = 64

func aligned(n int) int { return (n + align - 1) / align * align }

func (c *cache) Copy(near int, dst, src int32) {
	for _, k := range c.kept {
		if k.Near == near {
			k.kv.Copy(dst, src)
		}
	}
}

func (c *cache) CopyState(dst, src int32) {
	n := c.spec.State
	copy(c.states[int(dst)*n:(int(dst)+1)*n], c.states[int(src)*n:])
}

// Numerics implements graph.Portable: each CPU level has kernels of its own, and its own order of
// keys in memory.
func (c *cache) Numerics() string {
	n := runtime.GOARCH + " " + kernels.Level()
	if slices.ContainsFunc(c.kept, func(k kept) bool { return k.kv.InPairs() }) {
		n += " in pairs"
	}
	return n
}

// blocks calls f for every layer of a pool: with the bytes of block b there, and with those of
// data, a whole block, that go with them.
func (c *cache) blocks(near int, b int32, data []byte, f func(block, data []byte)) error {
	if want := c.spec.BlockBytes(near); int64(len(data)) != want {
		return fmt.Errorf("cpu: %d bytes of a block of %d", len(data), want)
	}
	for _, k := range c.kept {
		if k.Near != near {
			continue
		}
		for l := range k.layers {
			block := k.kv.Block(l, b)
			f(block, data[:len(block)])
			data = data[len(block):]
		}
	}
	return nil
}

// Read implements graph.Portable.
func (c *cache) Read(dst []byte, near int, b int32) error {
	return c.blocks(near, b, dst, func(block, data []byte) { copy(data, block) })
}

// Write implements graph.Portable.
func (c *cache) Write(near int, b int32, src []byte) error {
	return c.blocks(near, b, src, func(block, data []byte) { copy(block, data) })
}

// state is the bytes of a slot.
func (c *cache) state(slot int32, data []byte) ([]byte, error) {
	if want := c.spec.StateBytes(); int64(len(data)) != want {
		return nil, fmt.Errorf("cpu: %d bytes of states of %d", len(data), want)
	}
	n := c.spec.State
	return quant.Floats(c.states[int(slot)*n : (int(slot)+1)*n]), nil
}

// ReadState implements graph.Portable.
func (c *cache) ReadState(dst []byte, slot int32) error {
	state, err := c.state(slot, dst)
	copy(dst, state)
	return err
}

// WriteState implements graph.Portable.
func (c *cache) WriteState(slot int32, src []byte) error {
	state, err := c.state(slot, src)
	copy(state, src)
	return err
}

func (c *cache) Bytes() int64 {
	n := 4 * int64(len(c.states))
	for _, k := range c.kept {
		n += int64(k.kv.Size())
	}
	return n
}

func (c *cache) Close() error {
	for _, k := range c.kept {
		k.kv.Data = nil
	}
	return c.free()
}
