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
	if err := s.Check(); err != nil {
		return nil, err
	}
	c := &cache{b: b, spec: s}
	host, dev := b.spans(len(s.Layers))
	if host.to > 0 {
		lower := s
		lower.Layers = s.Layers[:host.to]
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
			if err := c.take(b.devices[i], l); err != nil {
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
func (c *cache) take(d *device, l span) error {
	if err := d.ctx.Enter(); err != nil {
		return err
	}
	held := slab{layers: l}
	if n := c.between(l.from, l.to); n > 0 {
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

// between is the size of layers from up to to, one after the other.
func (c *cache) between(from, to int) (n int64) {
	for l := from; l < to; l++ {
		block, _ := c.spec.LayerBytes(l)
		n += block * int64(c.spec.In(l))
	}
	return n
}

// Copy implements graph.Cache.
func (c *cache) Copy(near int, dst, src int32) {
	if c.all != nil {
		c.all.Copy(near, dst, src)
		return
	}
	if c.host != nil {
		c.host.Copy(near, dst, src)
	}
	// An error is a fault of the device, which the next Run reports.
	c.b.do(func() error {
		if err := c.b.lost(c.age); err != nil {
			return err
		}
		for i, held := range c.slabs {
			d := c.b.devices[i]
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			for l := held.layers.from; l < held.layers.to; l++ {
				if c.spec.Layers[l].Near != near {
					continue
				}
				block, _ := c.spec.LayerBytes(l)
				at := held.at + driver.Ptr(c.between(held.layers.from, l))
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
		n += c.between(held.layers.from, held.layers.to)
	}
	return n
}

// whole is the cache for a Program that runs on the processor. One made for
// devices moves there; it is empty then, since no Program has used it yet.
func (c *cache) whole() (graph.Cache, error) {
	if c.host != nil && c.b.hostLayers(len(c.spec.Layers)) == len(c.spec.Layers) {
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
