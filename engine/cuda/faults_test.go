package cuda

import (
	"context"
	"errors"
	"testing"

	"quern/engine/graph"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// A device without room refuses, says what would fit, and keeps nothing.
func TestOutOfMemory(t *testing.T) {
	p, spec := every(t, quant.F32, 2)
	whole := func() (used int64) {
		f := driver.NewFake(1, gigabyte)
		b := open(t, f, AllLayers)
		newRunner(t, b, p, spec)
		return f.Used(0)
	}()
	for _, part := range []int64{1, whole / 100, whole / 3, whole / 2, whole - 4096} {
		f := driver.NewFake(1, part)
		b := open(t, f, AllLayers)
		cache, err := b.NewCache(spec)
		if err == nil {
			_, err = b.Compile(t.Context(), p, graph.Watch{})
			cache.Close()
		}
		if !errors.Is(err, driver.ErrMemory) {
			t.Errorf("with %d of %d bytes: %v, want ErrMemory", part, whole, err)
		}
		if f.Used(0) != 0 {
			t.Errorf("with %d of %d bytes: %d are left behind", part, whole, f.Used(0))
		}
	}
}

// A fault loses what is on the device and nothing else: the next model runs.
func TestFault(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	p, spec := every(t, quant.F32, 1)
	b := open(t, f, AllLayers)
	var told []error
	r := newWatched(t, b, p, spec, graph.Watch{Lost: func(err error) { told = append(told, err) }})
	in := prompts([]int32{3, 1, 4}, []int32{2, 7}, 0)[0]
	want := r.run(in)
	if told != nil {
		t.Errorf("lost before a fault: %v", told)
	}
	f.Fail = func(kernel string) error {
		if kernel == "attend_f16" {
			return errors.New("address out of range")
		}
		return nil
	}
	if _, err := r.exec.Run(context.Background(), in, r.cache); !errors.Is(err, driver.ErrFault) {
		t.Errorf("a kernel that faults: %v, want ErrFault", err)
	}
	f.Fail = nil
	if _, err := r.exec.Run(context.Background(), in, r.cache); !errors.Is(err, graph.ErrLost) {
		t.Errorf("a run after a fault: %v, want ErrLost", err)
	}
	again := newRunner(t, b, p, spec)
	if got := again.run(in); distance(got, want) != 0 {
		t.Errorf("the model loaded again is %g from before", distance(got, want))
	}
	if len(told) != 2 || !errors.Is(told[0], graph.ErrLost) || !errors.Is(told[1], graph.ErrLost) {
		t.Errorf("told %v, want ErrLost after each of two runs", told)
	}
	if _, err := r.exec.Run(context.Background(), in, r.cache); !errors.Is(err, graph.ErrLost) {
		t.Errorf("a run in a context that is gone: %v, want ErrLost", err)
	}
}

func TestUnavailable(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	f.Unavailable = driver.ErrUnavailable
	if _, err := Open(Options{Driver: f}); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("Open without a driver: %v, want ErrUnavailable", err)
	}
	if _, err := Open(Options{Driver: driver.NewFake(1, gigabyte), Devices: []int{0, 1}}); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("Open of a device that is not there: %v, want ErrUnavailable", err)
	}
}

// An upload that is cancelled leaves nothing, and says how far it was.
func TestCancelledUpload(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	b := open(t, f, AllLayers)
	p, _ := every(t, quant.F32, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var told, of int64
	_, err := b.Compile(ctx, p, graph.Watch{Placed: func(done, total int64) {
		if told, of = done, total; done > total/2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || told <= of/2 || told >= of {
		t.Errorf("cancelled after %d of %d bytes: %v", told, of, err)
	}
	if f.Used(0) != 0 {
		t.Errorf("%d bytes are left behind", f.Used(0))
	}
}

// Batches that would read outside the cache are refused before the device sees them.
func TestWrongBatch(t *testing.T) {
	p, spec := every(t, quant.F32, 1)
	r := newRunner(t, open(t, driver.NewFake(1, gigabyte), AllLayers), p, spec)
	for _, tt := range []struct {
		name   string
		change func(*graph.Batch)
	}{
		{"no rows", func(b *graph.Batch) { *b = graph.Batch{} }},
		{"token", func(b *graph.Batch) { b.Tokens[0] = vocab }},
		{"position", func(b *graph.Batch) { b.Positions[0] = places }},
		{"no block", func(b *graph.Batch) { b.Positions[0] = blockSize }},
		{"block", func(b *graph.Batch) { b.Tables[0][0] = blocks }},
		{"sequence", func(b *graph.Batch) { b.Seq[0] = 1 }},
		{"wanted", func(b *graph.Batch) { b.Want[0] = 1 }},
	} {
		in := &graph.Batch{Tokens: []int32{1}, Positions: []int32{0}, Seq: []int32{0}, Tables: [][]int32{{0}}, Want: []int32{0}}
		tt.change(in)
		if _, err := r.exec.Run(context.Background(), in, r.cache); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}
