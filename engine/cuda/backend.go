// Package cuda runs Programs on NVIDIA GPUs, layers that do not fit there on the
// processor.
package cuda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
	"quern/kernels/threads"
)

// AllLayers is Options.Layers for a model that runs on GPUs as a whole.
const AllLayers = -1

// Options say what a Backend runs on.
type Options struct {
	Driver  driver.Driver
	Devices []int // of the driver's list, in the order layers go through them; nil: the first
	// Layers is how many layers of a model, counted from its end, run on the
	// devices. The others run on Host.
	Layers int
	// Host runs those layers, Programs with ops the GPU has no kernel for, and what
	// Do is given. It is needed. The Backend closes it.
	Host graph.Backend
	Log  *slog.Logger
}

// A Backend owns one context a device. A goroutine that works with them holds mu, on an
// OS thread of its own, so that one thread at a time has each context.
type Backend struct {
	o   Options
	log *slog.Logger

	mu      sync.Mutex
	devices []*device
	age     int   // how often the contexts were made
	failed  error // what ended the present contexts, nil while they work
	apart   bool  // every step is launched by itself, for tests
}

// Open makes the contexts and compiles the kernels.
func Open(o Options) (*Backend, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Devices == nil {
		o.Devices = []int{0}
	}
	list, err := o.Driver.Devices()
	if err != nil {
		return nil, err
	}
	for _, id := range o.Devices {
		if id < 0 || id >= len(list) {
			return nil, fmt.Errorf("%w: device %d of %d", driver.ErrUnavailable, id, len(list))
		}
	}
	if o.Host == nil {
		panic("cuda: a Backend without a processor beside it")
	}
	b := &Backend{o: o, log: o.Log}
	for _, id := range o.Devices {
		b.devices = append(b.devices, &device{id: id, info: list[id]})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := b.start(); err != nil {
		return nil, err
	}
	return b, nil
}

// start makes the contexts. b.mu is held.
func (b *Backend) start() error {
	for _, d := range b.devices {
		start := time.Now()
		err := d.open(b.o.Driver)
		if err == nil {
			err = b.tryWGMMA(d)
		}
		if err != nil {
			b.stop()
			return fmt.Errorf("device %d (%s): %w", d.id, d.info.Name, err)
		}
		b.log.Info("device opened", "device", d.id, "name", d.info.Name, "memory", d.info.Memory,
			"capability", d.info.Capability, "wgmma", d.wgmma, "driver", b.o.Driver.Version(), "took", time.Since(start))
	}
	b.age++
	b.failed = nil
	return nil
}

func (b *Backend) stop() {
	for _, d := range b.devices {
		if err := d.close(); err != nil && b.failed == nil {
			b.log.Error("device closed", "device", d.id, "err", err)
		}
	}
}

// do calls f with the contexts of all devices. A fault ends the contexts for all Execs and
// Caches on them.
func (b *Backend) do(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := f()
	if err != nil && errors.Is(err, driver.ErrFault) && b.failed == nil {
		b.failed = err
		b.log.Error("device failed, its models are lost", "err", err)
		err = fmt.Errorf("%w (%w)", graph.ErrLost, err)
	}
	return err
}

// Do implements graph.Backend.
func (b *Backend) Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error {
	return b.o.Host.Do(ctx, f)
}

// fresh makes new contexts where the old ones have failed. b.mu is held.
func (b *Backend) fresh() error {
	if b.failed == nil {
		return nil
	}
	b.stop()
	return b.start()
}

// lost returns the error of what was made in contexts that are no more.
func (b *Backend) lost(age int) error {
	if b.failed != nil {
		return fmt.Errorf("%w (%w)", graph.ErrLost, b.failed)
	}
	if age != b.age {
		return graph.ErrLost
	}
	return nil
}

// Memory implements graph.Backend: what is free on all devices together. Where they do
// not say, the machine's stands for it.
func (b *Backend) Memory() int64 {
	free := int64(0)
	err := b.do(func() error {
		for _, d := range b.devices {
			if err := d.ctx.Enter(); err != nil {
				return err
			}
			n, _, err := d.ctx.Memory()
			if err != nil {
				return err
			}
			free += n
		}
		return nil
	})
	switch {
	case err != nil:
		return b.o.Host.Memory()
	case b.o.Layers >= 0:
		return free + b.o.Host.Memory()
	}
	return free
}

// ReadBandwidth implements graph.Backend. Nothing measures it yet.
func (b *Backend) ReadBandwidth([][]byte) float64 { return 0 }

// Close releases the contexts and the host's backend. Execs and caches must be
// closed before.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	return b.o.Host.Close()
}

// Compile implements graph.Backend.
func (b *Backend) Compile(ctx context.Context, p *graph.Program, w graph.Watch) (graph.Exec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := supported(p); err != nil {
		b.log.Info("a part of the model runs on the CPU", "why", err)
		return b.compileHost(ctx, p)
	}
	// A Program without attention has no layers to count, and is not cut.
	if n := p.Limits().Layers; b.o.Layers == 0 || n > 0 && b.hostLayers(n) == n {
		return b.compileHost(ctx, p)
	}
	e, err := b.newExec(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := e.apart(); err != nil {
		e.Close()
		b.log.Info("the model runs on the CPU", "why", err)
		return b.compileHost(ctx, p)
	}
	e.watch = w
	err = b.do(func() error {
		if err := b.fresh(); err != nil {
			return err
		}
		e.age = b.age
		return e.place(ctx, w.Placed)
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// A hostExec is a Program that runs on the processor as a whole.
type hostExec struct{ graph.Exec }

func (b *Backend) compileHost(ctx context.Context, p *graph.Program) (graph.Exec, error) {
	e, err := b.o.Host.Compile(ctx, p, graph.Watch{})
	if err != nil {
		return nil, err
	}
	return hostExec{e}, nil
}

// Place implements graph.Placer.
func (e hostExec) Place(kv graph.Cache) error {
	if c, ok := kv.(*cache); ok {
		_, err := c.whole()
		return err
	}
	return nil
}

func (e hostExec) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if c, ok := kv.(*cache); ok {
		host, err := c.whole()
		if err != nil {
			return nil, err
		}
		kv = host
	}
	return e.Exec.Run(ctx, in, kv)
}
