package cuda

import (
	"context"
	"fmt"
	"slices"

	"quern/formats/weights"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// stageBytes is the size of each of the two pinned buffers weights go through.
const stageBytes = 8 << 20

// A device is a GPU with its context, kernels and weights.
type device struct {
	id   int
	info driver.Info

	ctx     driver.Context
	stream  driver.Stream
	modules map[string]driver.Module // of the kernels used so far
	kernels map[string]kernel
	placed  map[weightKey]*placed

	stage  [2][]byte
	staged [2]driver.Event
	turn   int // the stage to fill next

	wgmma bool // products of many rows are by the gemm90 kernels
}

// A weightKey is a tensor and whether it lies there as F32, as small ones do.
type weightKey struct {
	t      *weights.Tensor
	vector bool
}

// A placed weight is in the device's memory.
type placed struct {
	at    driver.Ptr
	typ   quant.Type
	users int
}

func (d *device) open(drv driver.Driver) (err error) {
	if d.ctx, err = drv.Open(d.id); err != nil {
		return err
	}
	d.placed, d.kernels, d.modules = make(map[weightKey]*placed), make(map[string]kernel), make(map[string]driver.Module)
	if d.stream, err = d.ctx.Stream(); err != nil {
		return err
	}
	for i := range d.stage {
		if d.stage[i], err = d.ctx.Pinned(stageBytes); err != nil {
			return err
		}
		if d.staged[i], err = d.ctx.Event(); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) close() error {
	if d.ctx == nil {
		return nil
	}
	err := d.ctx.Close()
	*d = device{id: d.id, info: d.info}
	return err
}

// alloc reserves n bytes, at least one.
func (d *device) alloc(n int64) (driver.Ptr, error) {
	p, err := d.ctx.Alloc(max(1, n))
	if err != nil {
		return 0, fmt.Errorf("%d bytes on device %d (%s): %w", n, d.id, d.info.Name, err)
	}
	return p, nil
}

// kept returns the type tensor t has in device memory.
func kept(t *weights.Tensor, vector bool) quant.Type {
	switch {
	case vector:
		return quant.F32
	case slices.Contains(gpu.Types, t.Type):
		return t.Type
	}
	return quant.F16
}

// sizeOn returns the bytes of t in device memory.
func sizeOn(t *weights.Tensor, vector bool) int64 {
	n, ok := kept(t, vector).Size(t.Elems())
	if !ok {
		panic(fmt.Sprintf("cuda: %s %v as %v", t.Name, t.Shape, kept(t, vector)))
	}
	return int64(n)
}

// place uploads a tensor, once however many users it has. done is called with the bytes.
func (d *device) place(ctx context.Context, k weightKey, done func(int64)) (*placed, error) {
	if w := d.placed[k]; w != nil {
		w.users++
		return w, nil
	}
	at, err := d.alloc(sizeOn(k.t, k.vector))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.t.Name, err)
	}
	w := &placed{at: at, typ: kept(k.t, k.vector), users: 1}
	if err := d.upload(ctx, w, k.t, done); err != nil {
		d.stream.Sync() // the stages may still be read
		d.ctx.Free(at)
		return nil, fmt.Errorf("%s: %w", k.t.Name, err)
	}
	d.placed[k] = w
	return w, nil
}

// drop lets go of what place gave.
func (d *device) drop(k weightKey) error {
	w := d.placed[k]
	if w.users--; w.users > 0 {
		return nil
	}
	delete(d.placed, k)
	return d.ctx.Free(w.at)
}

// upload sends t through the stages: one is filled while the other is copied.
func (d *device) upload(ctx context.Context, w *placed, t *weights.Tensor, done func(int64)) error {
	from := t.Type.Layout()
	to := w.typ.Layout()
	if held := len(t.Data); from.Decode == nil || held < t.Size() || t.Step == 0 && held != t.Size() {
		return fmt.Errorf("cuda: %s %v has %d bytes of %v", t.Name, t.Shape, len(t.Data), t.Type)
	}
	// Whole blocks of both types.
	block := max(from.Block, to.Block)
	step := stageBytes / 4 / block * block
	var floats []float32
	at := 0
	for part := range t.Parts() {
		for len(part) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(step, len(part)/from.Bytes*from.Block)
			src := part[:n/from.Block*from.Bytes]
			part = part[len(src):]
			i := d.turn
			d.turn = 1 - i
			if err := d.staged[i].Sync(); err != nil {
				return err
			}
			out := d.stage[i][:n/to.Block*to.Bytes]
			switch {
			case w.typ == t.Type:
				copy(out, src)
			default:
				if len(floats) < n {
					floats = make([]float32, n)
				}
				from.Decode(floats[:n], src)
				to.Encode(out, floats[:n])
			}
			if err := d.stream.Upload(w.at+driver.Ptr(at/to.Block*to.Bytes), out); err != nil {
				return err
			}
			if err := d.stream.Record(d.staged[i]); err != nil {
				return err
			}
			at += n
			done(int64(len(out)))
		}
	}
	return nil
}

// send copies b, at most stageBytes, to the device through a stage.
func (d *device) send(dst driver.Ptr, b []byte) error {
	i := d.turn
	d.turn = 1 - i
	if err := d.staged[i].Sync(); err != nil {
		return err
	}
	out := d.stage[i][:copy(d.stage[i], b)]
	if err := d.stream.Upload(dst, out); err != nil {
		return err
	}
	return d.stream.Record(d.staged[i])
}

// A kernel is an entry of the table, compiled.
type kernel struct {
	*gpu.Kernel
	handle driver.Kernel
}

// kernel finds a kernel by name, compiling its module when it is the first of it.
func (d *device) kernel(name string) (kernel, error) {
	if k, ok := d.kernels[name]; ok {
		return k, nil
	}
	k := gpu.Find(name)
	if k == nil {
		return kernel{}, fmt.Errorf("cuda: no kernel %s", name)
	}
	m := d.modules[k.Module]
	if m == nil {
		var err error
		if m, err = d.ctx.Module(gpu.PTX(k.Module)); err != nil {
			return kernel{}, fmt.Errorf("module %s: %w", k.Module, err)
		}
		d.modules[k.Module] = m
	}
	handle, err := m.Kernel(name, k.Shared)
	if err != nil {
		return kernel{}, err
	}
	d.kernels[name] = kernel{k, handle}
	return d.kernels[name], nil
}
