package cuda

import (
	"fmt"
	"slices"

	"quern/engine/graph"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
)

// A cache lies where the layers run.
type cache struct {
	b     *Backend
	age   int
	spec  graph.CacheSpec
	host  graph.Cache // layers of the processor, nil without
	all   graph.Cache // every layer, of a Program that runs on the processor only
	slabs []slab      // by device
}

// A slab is the memory of a cache on one device, for the layers that it runs.
type slab struct {
	layers span
	at     driver.Ptr
}

// NewCache implements graph.Backend. The cache's memory is taken and zeroed now.
func (b *Backend) NewCache(s graph.CacheSpec) (graph.Cache, error) {
	if !slices.Contains(gpu.CacheTypes, s.Type) {
		return nil, fmt.Errorf("cuda: a KV cache of %v has no kernels; use one of %v", s.Type, gpu.CacheTypes)
	}
	if s.Heads != nil { // no Program with such layers runs on a device: see supported
		all, err := b.o.Host.NewCache(s)
		if err != nil {
			return nil, err
		}
		return &cache{b: b, spec: s, all: all}, nil
	}
	row, ok := s.Type.Size(s.HeadDim)
	if !ok || s.Layers <= 0 || s.Blocks <= 0 || s.BlockSize <= 0 || s.KVHeads <= 0 || s.HeadDim <= 0 {
		return nil, fmt.Errorf("cuda: a KV cache of %d layers, %d blocks of %d, %d heads of %d", s.Layers, s.Blocks, s.BlockSize, s.KVHeads, s.HeadDim)
	}
	c := &cache{b: b, spec: s}
	host, dev := b.spans(s.Layers)
	if host.to > 0 {
		lower := s
		lower.Layers = host.to
		var err error
		if c.host, err = b.o.Host.NewCache(lower); err != nil {
			return nil, err
		}
	}
	err := b.do(func() error {
		if err := b.fresh(); err != nil {
			return err
		}
		c.age = b.age
		for i, l := range dev {
			if err := c.take(b.devices[i], l, int64(2*row*s.KVHeads*s.BlockSize)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("cuda: a KV cache of %d tokens: %w", s.Blocks*s.BlockSize, err)
	}
	return c, nil
}

// take reserves the blocks of some layers on a device.
func (c *cache) take(d *device, l span, block int64) error {
	if err := d.ctx.Enter(); err != nil {
		return err
	}
	held := slab{layers: l}
	if n := int64(l.to-l.from) * int64(c.spec.Blocks) * block; n > 0 {
		var err error
		if held.at, err = d.alloc(n); err != nil {
			return err
		}
		c.slabs = append(c.slabs, held)
		// A block is copied as a whole, also where nothing was stored yet.
		if err := d.stream.Zero(held.at, n); err != nil {
			return err
		}
		return d.stream.Sync()
	}
	c.slabs = append(c.slabs, held)
	return nil
}

// blockBytes is the size of a block in one layer.
func (c *cache) blockBytes() int64 {
	row, _ := c.spec.Type.Size(c.spec.HeadDim)
	return int64(2 * row * c.spec.KVHeads * c.spec.BlockSize)
}

// Copy implements graph.Cache.
func (c *cache) Copy(dst, src int32) {
	if c.all != nil {
		c.all.Copy(dst, src)
		return
	}
	if c.host != nil {
		c.host.Copy(dst, src)
	}
	// An error is a fault of the device, which the next Run reports.
	c.b.do(func() error {
		if err := c.b.lost(c.age); err != nil {
			return err
		}
		block := c.blockBytes()
		for i, held := range c.slabs {
			d := c.b.devices[i]
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			for l := range int64(held.layers.to - held.layers.from) {
				at := held.at + driver.Ptr(l*int64(c.spec.Blocks)*block)
				if err := d.stream.Copy(at+driver.Ptr(int64(dst)*block), at+driver.Ptr(int64(src)*block), block); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// CopyState implements graph.Cache. No Program that runs here has states.
func (c *cache) CopyState(dst, src int32) {}

// Bytes implements graph.Cache.
func (c *cache) Bytes() int64 {
	if c.all != nil {
		return c.all.Bytes()
	}
	var n int64
	if c.host != nil {
		n = c.host.Bytes()
	}
	for _, held := range c.slabs {
		n += int64(held.layers.to-held.layers.from) * int64(c.spec.Blocks) * c.blockBytes()
	}
	return n
}

// whole is the cache for a Program that runs on the processor. One made for
// devices moves there; it is empty then, since no Program has used it yet.
func (c *cache) whole() (graph.Cache, error) {
	if c.host != nil && c.b.hostLayers(c.spec.Layers) == c.spec.Layers {
		return c.host, nil
	}
	if c.all == nil {
		all, err := c.b.o.Host.NewCache(c.spec)
		if err != nil {
			return nil, err
		}
		if err := c.Close(); err != nil {
			return nil, err
		}
		c.all = all
	}
	return c.all, nil
}

// Close implements graph.Cache.
func (c *cache) Close() (err error) {
	for _, h := range []*graph.Cache{&c.host, &c.all} {
		if *h != nil {
			err = (*h).Close()
			*h = nil
		}
	}
	slabs := c.slabs
	c.slabs = nil
	freed := c.b.do(func() error {
		if c.b.lost(c.age) != nil {
			return nil // went with the context
		}
		for i, held := range slabs {
			d := c.b.devices[i]
			if held.at == 0 {
				continue
			}
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			if err := d.stream.Sync(); err != nil {
				return err
			}
			if err := d.ctx.Free(held.at); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = freed
	}
	return err
}
