package cuda

import (
	"fmt"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
)

// States of sequences lie where the ops run that carry them. Each device that runs layers, and
// the processor where it does, has slots for whole states, of which it changes what its ops
// have: an op's place is the same everywhere, so a slot is copied without a look at the Program.

// onHost is the processor in place of a device.
const onHost = -1

// A portion is states [from, to) of a sequence's, which a device changes, or onHost.
type portion struct{ from, to, device int }

// whose lists which device changes which states when steps run in such parts.
func whose(host []graph.Step, parts []*part, devices []*device) (all []portion) {
	add := func(steps []graph.Step, device int) {
		for _, s := range steps {
			if from, to, ok := graph.StateOf(s.Op); ok {
				all = append(all, portion{from, to, device})
			}
		}
	}
	add(host, onHost)
	for _, p := range parts {
		for i, d := range devices {
			if d == p.d {
				add(p.steps, i)
			}
		}
	}
	return all
}

// CopyState implements graph.Cache.
func (c *cache) CopyState(dst, src int32) {
	if c.all != nil {
		c.all.CopyState(dst, src)
		return
	}
	if c.host != nil {
		c.host.CopyState(dst, src)
	}
	// An error is a fault of the device, which the next Run reports.
	n := c.spec.StateBytes()
	c.eachStates(func(_ int, d *device, at driver.Ptr) error {
		return d.stream.Copy(at+driver.Ptr(int64(dst)*n), at+driver.Ptr(int64(src)*n), n)
	})
}

// eachStates calls f for each device that has slots, which begin at at there.
func (c *cache) eachStates(f func(i int, d *device, at driver.Ptr) error) error {
	return c.each(func(i int, d *device, held slab) error {
		if held.states == 0 {
			return nil
		}
		return f(i, d, held.states)
	})
}

// ReadState implements graph.Portable.
func (c *cache) ReadState(dst []byte, slot int32) error {
	if c.all != nil {
		return c.all.(graph.Portable).ReadState(dst, slot)
	}
	if err := c.fits(dst); err != nil {
		return err
	}
	if c.host != nil {
		if err := c.host.(graph.Portable).ReadState(dst, slot); err != nil {
			return err
		}
	}
	return c.eachStates(func(i int, d *device, at driver.Ptr) error {
		if err := d.stream.Sync(); err != nil { // the stage is free then
			return err
		}
		for _, p := range c.owned(i) {
			if err := d.fetch(dst[4*p.from:4*p.to], at+driver.Ptr(int64(slot)*c.spec.StateBytes()+4*int64(p.from))); err != nil {
				return err
			}
		}
		return nil
	})
}

// owned lists what a device changes of states. Before a Program has run they are the same
// everywhere.
func (c *cache) owned(device int) (list []portion) {
	if c.parts == nil {
		return []portion{{0, c.spec.State, device}}
	}
	for _, p := range c.parts {
		if p.device == device {
			list = append(list, p)
		}
	}
	return list
}

// WriteState implements graph.Portable.
func (c *cache) WriteState(slot int32, src []byte) error {
	if c.all != nil {
		return c.all.(graph.Portable).WriteState(slot, src)
	}
	if err := c.fits(src); err != nil {
		return err
	}
	if c.host != nil {
		if err := c.host.(graph.Portable).WriteState(slot, src); err != nil {
			return err
		}
	}
	return c.eachStates(func(_ int, d *device, at driver.Ptr) error {
		to := at + driver.Ptr(int64(slot)*c.spec.StateBytes())
		for from := src; len(from) > 0; {
			n := min(len(from), stageBytes)
			if err := d.send(to, from[:n]); err != nil {
				return err
			}
			to, from = to+driver.Ptr(n), from[n:]
		}
		return d.stream.Sync()
	})
}

// fits refuses what is not the length of states.
func (c *cache) fits(data []byte) error {
	if want := c.spec.StateBytes(); int64(len(data)) != want {
		return fmt.Errorf("cuda: %d bytes of states of %d", len(data), want)
	}
	return nil
}

// fetch copies what lies at src to dst through a stage that is free.
func (d *device) fetch(dst []byte, src driver.Ptr) error {
	for len(dst) > 0 {
		n := min(len(dst), stageBytes)
		if err := d.stream.Download(d.stage[0][:n], src); err != nil {
			return err
		}
		if err := d.stream.Sync(); err != nil {
			return err
		}
		copy(dst, d.stage[0][:n])
		dst, src = dst[n:], src+driver.Ptr(n)
	}
	return nil
}
