package cuda

import (
	"fmt"
	"slices"
	"strings"

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
	parts []portion   // which device has which states, nil before a Program has run
}

// A slab is the memory of a cache on one device, for the layers that it runs.
type slab struct {
	layers span
	at     driver.Ptr
	states driver.Ptr // slots of whole states, 0 for none
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
	c.slabs = append(c.slabs, slab{layers: l})
	held := &c.slabs[len(c.slabs)-1]
	// A block, or a slot, is copied as a whole, also where nothing was stored yet.
	zeros := func(at *driver.Ptr, n int64) (err error) {
		if n == 0 {
			return nil
		}
		if *at, err = d.alloc(n); err != nil {
			return err
		}
		return d.stream.Zero(*at, n)
	}
	if err := zeros(&held.at, c.between(l.from, l.to)); err != nil {
		return err
	}
	// A Program without attention runs on the first device.
	if l.from < l.to || len(c.spec.Layers) == 0 && len(c.slabs) == 1 {
		if err := zeros(&held.states, c.spec.StateBytes()*int64(c.spec.States)); err != nil {
			return err
		}
	}
	return d.stream.Sync()
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
	c.each(func(_ int, d *device, held slab) error {
		return c.layersOf(held, near, func(at driver.Ptr, block int64) error {
			return d.stream.Copy(at+driver.Ptr(int64(dst)*block), at+driver.Ptr(int64(src)*block), block)
		})
	})
}

// each calls f for each device, in its context, with what it has of the cache.
func (c *cache) each(f func(i int, d *device, held slab) error) error {
	return c.b.do(func() error {
		if err := c.b.lost(c.age); err != nil {
			return err
		}
		for i, held := range c.slabs {
			d := c.b.devices[i]
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			if err := f(i, d, held); err != nil {
				return err
			}
		}
		return nil
	})
}

// layersOf calls f for each layer of a pool in held: where it begins, and the size of a block.
func (c *cache) layersOf(held slab, near int, f func(at driver.Ptr, block int64) error) error {
	for l := held.layers.from; l < held.layers.to; l++ {
		if c.spec.Layers[l].Near != near {
			continue
		}
		block, _ := c.spec.LayerBytes(l)
		if err := f(held.at+driver.Ptr(c.between(held.layers.from, l)), block); err != nil {
			return err
		}
	}
	return nil
}

// Numerics implements graph.Portable.
func (c *cache) Numerics() string {
	if c.all != nil {
		return numerics(c.all)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "cuda %d", c.b.o.Driver.Version())
	for i, held := range c.slabs {
		d := c.b.devices[i]
		fmt.Fprintf(&s, ", layers %d to %d on %s %d wgmma %v", held.layers.from, held.layers.to, d.info.Name, d.info.Capability, d.wgmma)
	}
	if c.host != nil {
		s.WriteString(", " + numerics(c.host))
	}
	return s.String()
}

// numerics are those of a cache of the processor.
func numerics(host graph.Cache) string { return host.(graph.Portable).Numerics() }

// Read implements graph.Portable.
func (c *cache) Read(dst []byte, near int, b int32) error {
	return c.move(near, b, dst,
		func(host graph.Portable, data []byte) error { return host.Read(data, near, b) },
		func(d *device, at driver.Ptr, data []byte) error {
			if err := d.stream.Download(d.stage[0][:len(data)], at); err != nil {
				return err
			}
			err := d.stream.Sync()
			copy(data, d.stage[0])
			return err
		})
}

// Write implements graph.Portable.
func (c *cache) Write(near int, b int32, src []byte) error {
	return c.move(near, b, src,
		func(host graph.Portable, data []byte) error { return host.Write(near, b, data) },
		func(d *device, at driver.Ptr, data []byte) error {
			copy(d.stage[0], data)
			if err := d.stream.Upload(at, d.stage[0][:len(data)]); err != nil {
				return err
			}
			return d.stream.Sync()
		})
}

// move goes through a block of a pool, data: what the processor has of it, then the layers of
// the devices, in parts that fit a stage.
func (c *cache) move(near int, b int32, data []byte, host func(graph.Portable, []byte) error, part func(d *device, at driver.Ptr, data []byte) error) error {
	if c.all != nil {
		return host(c.all.(graph.Portable), data)
	}
	if want := c.spec.BlockBytes(near); int64(len(data)) != want {
		return fmt.Errorf("cuda: %d bytes of a block of %d", len(data), want)
	}
	if c.host != nil {
		lower := c.spec
		lower.Layers = c.spec.Layers[:c.b.hostLayers(len(c.spec.Layers))]
		n := lower.BlockBytes(near)
		if err := host(c.host.(graph.Portable), data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return c.each(func(_ int, d *device, held slab) error {
		if err := d.stream.Sync(); err != nil { // the stage is free then
			return err
		}
		return c.layersOf(held, near, func(at driver.Ptr, block int64) error {
			for at += driver.Ptr(int64(b) * block); block > 0; {
				n := min(block, stageBytes)
				if err := part(d, at, data[:n]); err != nil {
					return err
				}
				at, data, block = at+driver.Ptr(n), data[n:], block-n
			}
			return nil
		})
	})
}

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
		if held.states != 0 {
			n += c.spec.StateBytes() * int64(c.spec.States)
		}
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
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			if err := d.stream.Sync(); err != nil {
				return err
			}
			for _, at := range []driver.Ptr{held.at, held.states} {
				if at == 0 {
					continue
				}
				if err := d.ctx.Free(at); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		err = freed
	}
	return err
}
