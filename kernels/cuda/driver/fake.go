package driver

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"quern/kernels/cuda/ptxvm"
)

// A Fake is a driver for tests. Its devices interpret PTX, count memory, and do the work
// of a stream only when it is waited for: code that reads results too early, or changes
// memory that is still to be uploaded, gets wrong numbers.
type Fake struct {
	List        []Info // its devices, which may be changed before Open
	Unavailable error  // what Devices and Open return, when not nil
	NoGraphs    bool   // Capture is refused

	// Parse reads PTX, ptxvm.Parse when nil. Tests share what they parsed.
	Parse func(ptx string) (*ptxvm.Module, error)

	// Fail, when not nil, is called before each launch; an error is a fault of the
	// device, after which its Context does nothing.
	Fail func(kernel string) error

	Idle bool // kernels are counted and not run; all that is read back is zero

	Launches int // done so far, those of graphs included
	Replays  int // graphs launched
	live     map[string]int
	used     []int64 // by device
}

// NewFake returns a driver with n devices of that much memory, of the lowest
// compute capability there are kernels for.
func NewFake(n int, memory int64) *Fake {
	f := &Fake{live: make(map[string]int)}
	for i := range n {
		f.List = append(f.List, Info{Name: fmt.Sprintf("fake %d", i), Memory: memory, Capability: 75, Processors: 2})
	}
	f.used = make([]int64, n)
	return f
}

// Live counts the objects made and not yet released, by kind; closing a Context releases
// all of its objects.
func (f *Fake) Live() map[string]int {
	m := make(map[string]int)
	for k, n := range f.live {
		if n != 0 {
			m[k] = n
		}
	}
	return m
}

// Used returns the bytes allocated on a device.
func (f *Fake) Used(device int) int64 { return f.used[device] }

func (f *Fake) Version() int { return 12000 }

func (f *Fake) Devices() ([]Info, error) { return f.List, f.Unavailable }

func (f *Fake) Open(device int) (Context, error) {
	if f.Unavailable != nil {
		return nil, f.Unavailable
	}
	if device < 0 || device >= len(f.List) {
		return nil, &Error{Call: "cuDeviceGet", Code: 101, Name: "CUDA_ERROR_INVALID_DEVICE"}
	}
	f.live["context"]++
	return &fakeContext{f: f, id: device, sizes: make(map[Ptr]int64), pinned: make(map[*byte]int)}, nil
}

type fakeContext struct {
	f      *Fake
	id     int
	device ptxvm.Device
	sizes  map[Ptr]int64
	pinned map[*byte]int
	graphs int
	fault  error // the first; every later call returns it
	closed bool
}

func (c *fakeContext) Enter() error {
	if c.closed {
		return &Error{Call: "cuCtxSetCurrent", Code: codeDestroyed, Name: "CUDA_ERROR_CONTEXT_IS_DESTROYED"}
	}
	return nil // as the real driver, which reports a fault when work is submitted
}

func (c *fakeContext) Memory() (free, total int64, err error) {
	total = c.f.List[c.id].Memory
	return total - c.f.used[c.id], total, c.fault
}

func (c *fakeContext) Alloc(n int64) (Ptr, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	if n <= 0 || n > c.f.List[c.id].Memory-c.f.used[c.id] {
		return 0, &Error{Call: "cuMemAlloc", Code: codeMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY"}
	}
	p := Ptr(c.device.Alloc(int(n)))
	c.sizes[p] = n
	c.f.used[c.id] += n
	c.f.live["memory"]++
	return p, nil
}

func (c *fakeContext) Free(p Ptr) error {
	n, ok := c.sizes[p]
	if !ok {
		return &Error{Call: "cuMemFree", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE"}
	}
	delete(c.sizes, p)
	c.f.used[c.id] -= n
	c.f.live["memory"]--
	return c.device.Free(uint64(p))
}

func (c *fakeContext) Pinned(n int) ([]byte, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	b := make([]byte, n)
	c.pinned[unsafe.SliceData(b)] = n
	c.f.live["pinned"]++
	return b, nil
}

func (c *fakeContext) FreePinned(b []byte) error {
	if _, ok := c.pinned[unsafe.SliceData(b)]; !ok {
		return &Error{Call: "cuMemFreeHost", Code: 1, Name: "CUDA_ERROR_INVALID_VALUE"}
	}
	delete(c.pinned, unsafe.SliceData(b))
	c.f.live["pinned"]--
	return nil
}

// holds reports whether b lies in pinned memory.
func (c *fakeContext) holds(b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for p, n := range c.pinned {
		if from := uintptr(unsafe.Pointer(p)); at >= from && at+uintptr(len(b)) <= from+uintptr(n) {
			return true
		}
	}
	return false
}

func (c *fakeContext) Stream() (Stream, error) { return &fakeStream{c: c}, c.fault }

func (c *fakeContext) Event() (Event, error) { return &fakeEvent{}, c.fault }

func (c *fakeContext) Module(ptx string) (Module, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	parse := c.f.Parse
	if parse == nil {
		parse = ptxvm.Parse
	}
	m, err := parse(ptx)
	if err != nil {
		return nil, &Error{Call: "cuModuleLoadDataEx", Code: codePTX, Name: "CUDA_ERROR_INVALID_PTX", Text: err.Error()}
	}
	// A target "sm_90a" is for that capability alone, "sm_80" for later ones too.
	target, exact := strings.CutSuffix(strings.TrimPrefix(m.Target, "sm_"), "a")
	has := c.f.List[c.id].Capability
	if needs, err := strconv.Atoi(target); err != nil || has < needs || exact && has != needs {
		return nil, &Error{Call: "cuModuleLoadDataEx", Code: codePTX, Name: "CUDA_ERROR_INVALID_PTX", Text: fmt.Sprintf("%s on a device of %d", m.Target, has)}
	}
	return fakeModule{m}, nil
}

func (c *fakeContext) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	for _, n := range c.sizes {
		c.f.used[c.id] -= n
	}
	c.f.live["memory"] -= len(c.sizes)
	c.f.live["pinned"] -= len(c.pinned)
	c.f.live["graph"] -= c.graphs
	c.f.live["context"]--
	return nil
}

type fakeModule struct{ m *ptxvm.Module }

func (m fakeModule) Kernel(name string, shared int) (Kernel, error) {
	k := m.m.Kernel(name)
	if k == nil {
		return nil, &Error{Call: "cuModuleGetFunction", Code: 500, Name: "CUDA_ERROR_NOT_FOUND", Text: name}
	}
	return k, nil
}

// A fakeStream keeps work until it is waited for.
type fakeStream struct {
	c         *fakeContext
	queue     []func() error
	done      int // items of the stream that ran
	capturing bool
	captured  []func() error
}

func (s *fakeStream) add(f func() error) error {
	switch {
	case s.c.fault != nil:
		return s.c.fault
	case s.capturing:
		s.captured = append(s.captured, f)
	default:
		s.queue = append(s.queue, f)
	}
	return nil
}

func (s *fakeStream) Upload(dst Ptr, src []byte) error {
	if !s.c.holds(src) {
		return fmt.Errorf("cuda: fake: upload of %d bytes that are not pinned", len(src))
	}
	return s.add(func() error { return s.c.device.Write(uint64(dst), src) })
}

func (s *fakeStream) Download(dst []byte, src Ptr) error {
	if !s.c.holds(dst) {
		return fmt.Errorf("cuda: fake: download of %d bytes that are not pinned", len(dst))
	}
	return s.add(func() error {
		if s.c.f.Idle {
			clear(dst)
			return nil
		}
		return s.c.device.Read(uint64(src), dst)
	})
}

func (s *fakeStream) Copy(dst, src Ptr, n int64) error {
	return s.add(func() error {
		b := make([]byte, n)
		if err := s.c.device.Read(uint64(src), b); err != nil {
			return err
		}
		return s.c.device.Write(uint64(dst), b)
	})
}

func (s *fakeStream) Zero(dst Ptr, n int64) error {
	return s.add(func() error { return s.c.device.Write(uint64(dst), make([]byte, n)) })
}

func (s *fakeStream) Launch(k Kernel, c Launch, args []uint64) error {
	kernel, ok := k.(*ptxvm.Kernel)
	if !ok {
		return fmt.Errorf("cuda: fake: launch of a %T", k)
	}
	args = append([]uint64(nil), args...)
	return s.add(func() error {
		s.c.f.Launches++
		if s.c.f.Fail != nil {
			if err := s.c.f.Fail(kernel.Name); err != nil {
				return err
			}
		}
		if s.c.f.Idle {
			return nil
		}
		return s.c.device.Launch(kernel, ptxvm.Config{Grid: c.Grid, Block: c.Block, Shared: c.Shared}, args...)
	})
}

// drain runs the stream's work up to item n, counted from its first.
func (s *fakeStream) drain(n int) error {
	for len(s.queue) > 0 && s.done < n && s.c.fault == nil {
		f := s.queue[0]
		s.queue = s.queue[1:]
		s.done++
		if err := f(); err != nil {
			s.c.fault = &Error{Call: "cuStreamSynchronize", Code: codeAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS", Text: err.Error()}
		}
	}
	return s.c.fault
}

func (s *fakeStream) Sync() error { return s.drain(s.done + len(s.queue)) }

func (s *fakeStream) Record(e Event) error {
	ev := e.(*fakeEvent)
	ev.stream, ev.at = s, s.done+len(s.queue)
	return s.c.fault
}

func (s *fakeStream) Capture(f func() error) (Graph, error) {
	if s.c.f.NoGraphs {
		return nil, &Error{Call: "cuStreamBeginCapture", Code: 801, Name: "CUDA_ERROR_NOT_SUPPORTED"}
	}
	s.capturing, s.captured = true, nil
	err := f()
	g := &fakeGraph{c: s.c, work: s.captured}
	s.capturing, s.captured = false, nil
	if err != nil {
		return nil, err
	}
	s.c.graphs++
	s.c.f.live["graph"]++
	return g, nil
}

func (s *fakeStream) Replay(g Graph) error {
	s.c.f.Replays++
	for _, f := range g.(*fakeGraph).work {
		if err := s.add(f); err != nil {
			return err
		}
	}
	return nil
}

type fakeGraph struct {
	c    *fakeContext
	work []func() error
}

func (g *fakeGraph) Close() error {
	g.c.graphs--
	g.c.f.live["graph"]--
	return nil
}

type fakeEvent struct {
	stream *fakeStream
	at     int
}

func (e *fakeEvent) Sync() error {
	if e.stream == nil {
		return nil
	}
	return e.stream.drain(e.at)
}

// Since is always one millisecond: a Fake has no time.
func (e *fakeEvent) Since(Event) (float32, error) { return 1, nil }
