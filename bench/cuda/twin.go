package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/engine/cpu"
	"quern/engine/cuda"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats"
	gpu "quern/kernels/cuda"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// A twins driver gives all work to a device and to the interpreter beside it, and
// compares what every kernel leaves behind. The first that differs is an error of
// its launch, with its name, so that a wrong kernel is found where it is wrong.
// Both then go on with what the device made: a rounding here is no difference there.
//
// Recording is refused: what a graph launches is not seen.
type twins struct {
	real    driver.Driver
	kernels map[string]int // how often each was compared
	wrong   error          // the first, also where who launched it goes on without
}

// errDiffers is of a kernel that gives something else on the device.
var errDiffers = errors.New("the device and the interpreter differ")

// twinMemory bounds a buffer that is compared.
const twinMemory = 64 << 20

func (t *twins) Version() int                    { return t.real.Version() }
func (t *twins) Devices() ([]driver.Info, error) { return t.real.Devices() }

func (t *twins) Open(device int) (_ driver.Context, err error) {
	defer must.Catch(&err)
	list := must.Get(t.real.Devices())
	fake := driver.NewFake(1, list[device].Memory)
	fake.List[0] = list[device]
	c := &twinContext{t: t}
	c.Context = must.Get(t.real.Open(device))
	c.fake = must.Get(fake.Open(0))
	c.plain = must.Get(c.fake.Stream())
	c.copier = must.Get(c.Context.Stream())
	c.mail[0] = must.Get(c.Context.Pinned(twinMemory))
	c.mail[1], err = c.fake.Pinned(twinMemory)
	return c, err
}

type twinContext struct {
	driver.Context // the device's
	t              *twins
	fake           driver.Context
	plain          driver.Stream // the interpreter's
	copier         driver.Stream // the device's, for what is compared
	mail           [2][]byte     // pinned: the device's and the interpreter's
	held           []twinBuffer
}

// A twinBuffer is memory of both.
type twinBuffer struct {
	at, fake driver.Ptr
	size     int64
}

// find returns the buffer that holds an address.
func (c *twinContext) find(p driver.Ptr) (twinBuffer, bool) {
	for _, b := range c.held {
		if p >= b.at && p < b.at+driver.Ptr(b.size) {
			return b, true
		}
	}
	return twinBuffer{}, false
}

func (c *twinContext) Alloc(n int64) (_ driver.Ptr, err error) {
	defer must.Catch(&err)
	b := twinBuffer{size: n}
	b.at = must.Get(c.Context.Alloc(n))
	b.fake = must.Get(c.fake.Alloc(n))
	c.held = append(c.held, b)
	// What is not written yet must not differ.
	return b.at, errors.Join(c.copier.Zero(b.at, n), c.copier.Sync(), c.plain.Zero(b.fake, n), c.plain.Sync())
}

func (c *twinContext) Free(p driver.Ptr) error {
	for i, b := range c.held {
		if b.at == p {
			c.held = slices.Delete(c.held, i, i+1)
			return errors.Join(c.Context.Free(p), c.fake.Free(b.fake))
		}
	}
	return c.Context.Free(p)
}

func (c *twinContext) Module(ptx string) (driver.Module, error) {
	m, err := c.Context.Module(ptx)
	if err != nil {
		return nil, err
	}
	f, err := c.fake.Module(ptx)
	return twinModule{m, f}, err
}

func (c *twinContext) Stream() (driver.Stream, error) {
	s, err := c.Context.Stream()
	return &twinStream{s, c}, err
}

func (c *twinContext) Close() error { return errors.Join(c.Context.Close(), c.fake.Close()) }

type twinModule struct{ real, fake driver.Module }

type twinKernel struct {
	of         *gpu.Kernel
	real, fake driver.Kernel
}

func (m twinModule) Kernel(name string, shared int) (driver.Kernel, error) {
	k := twinKernel{of: gpu.Find(name)}
	if k.of == nil {
		return nil, fmt.Errorf("no kernel %s in the table", name)
	}
	var err error
	if k.real, err = m.real.Kernel(name, shared); err != nil {
		return nil, err
	}
	k.fake, err = m.fake.Kernel(name, shared)
	return k, err
}

type twinStream struct {
	driver.Stream
	c *twinContext
}

func (s *twinStream) Upload(dst driver.Ptr, src []byte) error {
	if err := s.Stream.Upload(dst, src); err != nil {
		return err
	}
	b, ok := s.c.find(dst)
	if !ok || len(src) > twinMemory {
		return fmt.Errorf("an upload of %d bytes to %#x", len(src), dst)
	}
	return s.c.toFake(b.fake+dst-b.at, src)
}

// toFake writes to the interpreter's memory.
func (c *twinContext) toFake(at driver.Ptr, b []byte) error {
	return errors.Join(c.plain.Upload(at, c.mail[1][:copy(c.mail[1], b)]), c.plain.Sync())
}

func (s *twinStream) Copy(dst, src driver.Ptr, n int64) error {
	to, _ := s.c.find(dst)
	from, ok := s.c.find(src)
	if !ok || to.size == 0 {
		return fmt.Errorf("a copy from %#x to %#x", src, dst)
	}
	return errors.Join(s.Stream.Copy(dst, src, n), s.c.plain.Copy(to.fake+dst-to.at, from.fake+src-from.at, n), s.c.plain.Sync())
}

func (s *twinStream) Zero(dst driver.Ptr, n int64) error {
	b, ok := s.c.find(dst)
	if !ok {
		return fmt.Errorf("zeros to %#x", dst)
	}
	return errors.Join(s.Stream.Zero(dst, n), s.c.plain.Zero(b.fake+dst-b.at, n), s.c.plain.Sync())
}

func (s *twinStream) Capture(func() error) (driver.Graph, error) {
	return nil, errors.New("not recorded, to see every launch")
}

func (s *twinStream) Launch(k driver.Kernel, l driver.Launch, args []uint64) error {
	if s.c.t.wrong != nil {
		return s.c.t.wrong // what comes after says nothing
	}
	kernel, fake := k.(twinKernel), slices.Clone(args)
	of := kernel.of
	where := fmt.Sprintf("%s, grid %v", of.Name, l.Grid)
	for i, p := range of.Params {
		switch {
		case p.Kind != gpu.Ptr:
			where += fmt.Sprintf(", %s %d", p.Name, int32(args[i]))
		case args[i] != 0:
			b, ok := s.c.find(driver.Ptr(args[i]))
			if !ok {
				return fmt.Errorf("%s: %s points to %#x, which is nowhere", where, p.Name, args[i])
			}
			fake[i] = uint64(b.fake) + args[i] - uint64(b.at)
		}
	}
	if err := errors.Join(s.Stream.Launch(kernel.real, l, args), s.Stream.Sync()); err != nil {
		s.c.t.wrong = fmt.Errorf("%s on the device: %w", where, err)
		return s.c.t.wrong
	}
	if err := errors.Join(s.c.plain.Launch(kernel.fake, l, fake), s.c.plain.Sync()); err != nil {
		s.c.t.wrong = fmt.Errorf("%s on the interpreter: %w", where, err)
		return s.c.t.wrong
	}
	s.c.t.kernels[of.Name]++
	for i, p := range of.Params {
		if p.Kind != gpu.Ptr || args[i] == 0 {
			continue
		}
		// From the address to the buffer's end: a kernel that writes beyond its rows is
		// seen too.
		b, _ := s.c.find(driver.Ptr(args[i]))
		n := min(b.size-int64(driver.Ptr(args[i])-b.at), twinMemory)
		got, want := s.c.mail[0][:n], s.c.mail[1][:n]
		if err := errors.Join(s.Stream.Download(got, driver.Ptr(args[i])), s.Stream.Sync(), s.c.plain.Download(want, driver.Ptr(fake[i])), s.c.plain.Sync()); err != nil {
			return fmt.Errorf("%s: %s: %w", where, p.Name, err)
		}
		if slices.Equal(got, want) {
			continue
		}
		if why := differ(p.Of, got, want); why != "" {
			s.c.t.wrong = fmt.Errorf("%w: %s: %s: %s", errDiffers, where, p.Name, why)
			return s.c.t.wrong
		}
		if err := s.c.toFake(driver.Ptr(fake[i]), got); err != nil {
			return err
		}
	}
	return nil
}

// differ says how numbers that are described so differ by more than two ways to
// sum, or by one step of their type: a part of their size, which is little
// beside any wrong number.
func differ(of string, got, want []byte) string {
	word, _, _ := strings.Cut(of, " ")
	if word == "int32" {
		for i := 0; i+4 <= len(got); i += 4 {
			if a, b := int32(binary.LittleEndian.Uint32(got[i:])), int32(binary.LittleEndian.Uint32(want[i:])); a != b {
				return fmt.Sprintf("number %d is %d, want %d", i/4, a, b)
			}
		}
		return ""
	}
	typ := quant.F32
	for _, t := range append(slices.Concat(gpu.Types, gpu.CacheTypes), quant.ActQ8_32) {
		if t.String() == word {
			typ = t
		}
	}
	if word == "32-bit" {
		typ = quant.BF16
	}
	limit := 0.01
	switch typ {
	case quant.ActQ8_32, quant.Q8_0:
		limit = 0.05
	case quant.F8_E4M3:
		limit = 0.13
	}
	n := len(got) / typ.Layout().Bytes * typ.Layout().Block
	a, b := make([]float32, n), make([]float32, n)
	typ.Layout().Decode(a, got[:n/typ.Layout().Block*typ.Layout().Bytes])
	typ.Layout().Decode(b, want[:n/typ.Layout().Block*typ.Layout().Bytes])
	var ss, count float64
	for _, v := range b {
		if v != 0 && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) {
			ss += float64(v) * float64(v)
			count++
		}
	}
	size, wrong, first := math.Sqrt(ss/max(count, 1)), 0, ""
	for i := range b {
		x, y := float64(a[i]), float64(b[i])
		if x == y || x != x && y != y || math.Abs(x-y) <= limit*(size+math.Abs(y)) {
			continue
		}
		if wrong++; wrong == 1 {
			first = fmt.Sprintf("value %d is %.6g, want %.6g", i, x, y)
		}
	}
	if wrong == 0 {
		return ""
	}
	return fmt.Sprintf("%s; %d of %d values of size %.3g differ", first, wrong, n, size)
}

// A twinBatch is rows of one sequence, of which so many are wanted: all, as in
// decoding, or one, as of a prompt.
type twinBatch struct{ rows, want int }

var twinBatches = []twinBatch{{1, 1}, {2, 2}, {5, 5}, {8, 8}, {9, 9}, {20, 1}, {33, 33}, {130, 1}}

// twin is the stage that looks for the first wrong kernel: models small enough for the
// interpreter run on both, with the cache types in turn. It ends at the first
// difference, or when its time is over.
func twin(ctx context.Context, o *options, w io.Writer) (err error) {
	defer must.Catch(&err)
	drv := must.Get(driver.Open())
	files := must.Get(matching(o.families))
	if len(files) == 0 {
		return fmt.Errorf("no models match %q", o.families)
	}
	// Those with the most kernels come first.
	slices.SortStableFunc(files, func(a, b string) int {
		first := func(s string) int { return map[bool]int{true: 0, false: 1}[strings.Contains(s, "Q4_K_M")] }
		return first(a) - first(b)
	})
	return twinFiles(ctx, drv, files, twinBatches, time.Now().Add(o.twin), w)
}

func twinFiles(ctx context.Context, drv driver.Driver, files []string, batches []twinBatch, until time.Time, w io.Writer) error {
	t := &twins{real: drv, kernels: map[string]int{}}
	// This holds products of many rows against each other, and so runs them.
	b, err := cuda.Open(cuda.Options{Driver: t, Layers: cuda.AllLayers, Host: cpu.Open(1), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))})
	if err != nil {
		return errors.Join(t.wrong, err)
	}
	defer b.Close()
	if t.wrong != nil {
		return t.wrong
	}
	for i, path := range files {
		if time.Now().After(until) {
			fmt.Printf("time is over: %d of %d models ran\n", i, len(files))
			break
		}
		start, typ := time.Now(), gpu.CacheTypes[i%len(gpu.CacheTypes)]
		err := twinFile(ctx, b, path, typ, batches)
		if errors.Is(err, errNoLogits) {
			continue
		}
		name := called(path)
		record(w, map[string]any{"stage": "twin", "model": name, "cache": typ.String(), "error": fmt.Sprint(err)})
		if err != nil {
			return fmt.Errorf("%s, cache %v: %w", name, typ, err)
		}
		fmt.Printf("%-32s cache %-8v %3d kernels are right so far, %.1f s\n", name, typ, len(t.kernels), time.Since(start).Seconds())
	}
	var not []string
	for _, k := range gpu.Kernels {
		if t.kernels[k.Name] == 0 {
			not = append(not, k.Name)
		}
	}
	fmt.Printf("%d kernels of %d were compared\n", len(t.kernels), len(gpu.Kernels))
	record(w, map[string]any{"stage": "twin", "compared": len(t.kernels), "not": not})
	return nil
}

// twinFile runs a model's batches.
func twinFile(ctx context.Context, b *cuda.Backend, path string, typ quant.Type, batches []twinBatch) (err error) {
	defer must.Catch(&err)
	set := must.Get(formats.Open(path))
	defer set.Close()
	m := must.Get(model.Open(set))
	must.Do(set.Fill())
	c := m.Config()
	if c.Encoder || c.Pooling != model.PoolNone {
		return errNoLogits
	}
	if _, whole := typ.Size(c.HeadDim); !whole {
		typ = quant.F16
	}
	g := graph.NewBuilder(130, 40)
	p := must.Get(g.Compile(m.Logits(g, m.Hidden(g))))
	spec := p.CacheSpec(40, 16, 1, typ)
	cache := must.Get(b.NewCache(spec))
	defer cache.Close()
	e := must.Get(b.Compile(ctx, p, graph.Watch{}))
	defer e.Close()
	r, at, table := rand.New(rand.NewPCG(1, 2)), int32(0), make([]int32, spec.Blocks)
	for i := range table {
		table[i] = int32(spec.Blocks - 1 - i)
	}
	for _, n := range batches {
		in := &graph.Batch{Tables: [][]int32{table}, States: []int32{0}}
		for i := range int32(n.rows) {
			in.Tokens, in.Positions, in.Seq = append(in.Tokens, r.Int32N(int32(c.Vocab))), append(in.Positions, at+i), append(in.Seq, 0)
			if int(i) < n.want {
				in.Want = append(in.Want, int32(n.rows-n.want)+i)
			}
		}
		at += int32(n.rows)
		if _, err := e.Run(ctx, in, cache); err != nil {
			return fmt.Errorf("%d rows: %w", n.rows, err)
		}
	}
	return nil
}
