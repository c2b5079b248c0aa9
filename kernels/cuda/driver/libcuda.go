//go:build cuda && linux

package driver

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// minVersion is the CUDA version that reads the PTX of this build and has every
// function of api: 11.4.
const minVersion = 11040

// Attributes of a device; cuda.h, enum CUdevice_attribute.
const (
	attrProcessors = 16
	attrMajor      = 75
	attrMinor      = 76
)

type libcuda struct {
	*api
	supports int
}

// Open loads the driver and starts it. The error wraps ErrUnavailable when this
// machine has none that can be used.
func Open() (Driver, error) {
	a, err := load()
	if err != nil {
		return nil, err
	}
	l := &libcuda{api: a}
	if err := l.call("cuInit", l.init, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var v int32
	if err := l.call("cuDriverGetVersion", l.version, uintptr(unsafe.Pointer(&v))); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if v < minVersion {
		return nil, fmt.Errorf("%w: the driver supports CUDA %d.%d, older than %d.%d", ErrUnavailable, v/1000, v%1000/10, minVersion/1000, minVersion%1000/10)
	}
	l.supports = int(v)
	return l, nil
}

// call calls a function of the driver. Pointers in args stay alive and in place
// until it returns, no longer.
//
//go:uintptrescapes
func (a *api) call(name string, fn uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(fn, args...)
	if int32(r) == 0 {
		return nil
	}
	return a.failure(name, int32(r))
}

func (a *api) failure(name string, code int32) error {
	e := &Error{Call: name, Code: int(code), Name: "an unknown result"}
	for _, s := range []struct {
		fn uintptr
		to *string
	}{{a.errorName, &e.Name}, {a.errorText, &e.Text}} {
		p := new(*byte)
		if r, _, _ := purego.SyscallN(s.fn, uintptr(code), uintptr(unsafe.Pointer(p))); int32(r) == 0 && *p != nil {
			*s.to = text(*p)
		}
		runtime.KeepAlive(p)
	}
	return e
}

// text copies a C string of at most 256 bytes.
func text(p *byte) string {
	var n int
	for n < 256 && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (l *libcuda) Version() int { return l.supports }

func (l *libcuda) Devices() ([]Info, error) {
	n := new(int32)
	if err := l.call("cuDeviceGetCount", l.deviceCount, uintptr(unsafe.Pointer(n))); err != nil {
		return nil, err
	}
	var list []Info
	for i := range *n {
		d, name, total := new(int32), make([]byte, 256), new(uint64)
		if err := l.call("cuDeviceGet", l.device, uintptr(unsafe.Pointer(d)), uintptr(i)); err != nil {
			return nil, err
		}
		if err := l.call("cuDeviceGetName", l.deviceName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(*d)); err != nil {
			return nil, err
		}
		if err := l.call("cuDeviceTotalMem", l.deviceMemory, uintptr(unsafe.Pointer(total)), uintptr(*d)); err != nil {
			return nil, err
		}
		var is [3]int32
		for k, attr := range []uintptr{attrMajor, attrMinor, attrProcessors} {
			v := new(int32)
			if err := l.call("cuDeviceGetAttribute", l.deviceIs, uintptr(unsafe.Pointer(v)), attr, uintptr(*d)); err != nil {
				return nil, err
			}
			is[k] = *v
		}
		end := bytes.IndexByte(name, 0)
		list = append(list, Info{Name: string(name[:max(0, end)]), Memory: int64(*total), Capability: int(10*is[0] + is[1]), Processors: int(is[2])})
	}
	return list, nil
}

func (l *libcuda) Open(device int) (Context, error) {
	d, ctx := new(int32), new(uintptr)
	if err := l.call("cuDeviceGet", l.device, uintptr(unsafe.Pointer(d)), uintptr(device)); err != nil {
		return nil, err
	}
	// A context of our own, not the primary one: a fault is left behind by
	// closing it. Flag 4, CU_CTX_SCHED_BLOCKING_SYNC, would save a core while
	// waiting and costs some 30 µs a step; the default spins or yields.
	if err := l.call("cuCtxCreate", l.contextNew, uintptr(unsafe.Pointer(ctx)), 0, uintptr(*d)); err != nil {
		return nil, err
	}
	return &context{api: l.api, handle: *ctx}, nil
}

type context struct {
	*api
	handle uintptr
}

func (c *context) Enter() error { return c.call("cuCtxSetCurrent", c.contextSet, c.handle) }

func (c *context) Memory() (free, total int64, err error) {
	v := new([2]uint64)
	err = c.call("cuMemGetInfo", c.memory, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])))
	return int64(v[0]), int64(v[1]), err
}

func (c *context) Alloc(n int64) (Ptr, error) {
	p := new(uint64)
	err := c.call("cuMemAlloc", c.alloc, uintptr(unsafe.Pointer(p)), uintptr(n))
	return Ptr(*p), err
}

func (c *context) Free(p Ptr) error { return c.call("cuMemFree", c.free, uintptr(p)) }

func (c *context) Pinned(n int) ([]byte, error) {
	p := new(*byte)
	if err := c.call("cuMemHostAlloc", c.pinned, uintptr(unsafe.Pointer(p)), uintptr(n), 0); err != nil {
		return nil, err
	}
	return unsafe.Slice(*p, n), nil
}

func (c *context) FreePinned(b []byte) error {
	return c.call("cuMemFreeHost", c.freePinned, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func (c *context) Stream() (Stream, error) {
	h := new(uintptr)
	const nonBlocking = 1 // CU_STREAM_NON_BLOCKING
	if err := c.call("cuStreamCreate", c.streamNew, uintptr(unsafe.Pointer(h)), nonBlocking); err != nil {
		return nil, err
	}
	s := &stream{api: c.api, handle: *h}
	for i := range s.at {
		s.at[i] = &s.args[i]
	}
	return s, nil
}

func (c *context) Event() (Event, error) {
	h := new(uintptr)
	err := c.call("cuEventCreate", c.eventNew, uintptr(unsafe.Pointer(h)), 0)
	return &event{c.api, *h}, err
}

func (c *context) Module(ptx string) (Module, error) {
	h := new(uintptr)
	src := []byte(ptx + "\x00")
	err := c.call("cuModuleLoadDataEx", c.module, uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&src[0])), 0, 0, 0)
	return &module{c.api, *h}, err
}

func (c *context) Close() error {
	if c.handle == 0 {
		return nil
	}
	err := c.call("cuCtxDestroy", c.contextClose, c.handle)
	c.handle = 0
	return err
}

type module struct {
	*api
	handle uintptr
}

func (m *module) Kernel(name string, shared int) (Kernel, error) {
	h := new(uintptr)
	entry := []byte(name + "\x00")
	if strings.Contains(name, "\x00") {
		return nil, fmt.Errorf("cuda: kernel name %q", name)
	}
	if err := m.call("cuModuleGetFunction", m.kernel, uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&entry[0]))); err != nil {
		return nil, err
	}
	// More than 48 KiB of dynamic shared memory must be requested.
	if shared > 48<<10 {
		const maxDynamic = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		if err := m.call("cuFuncSetAttribute", m.kernelSet, *h, maxDynamic, uintptr(shared)); err != nil {
			return nil, err
		}
	}
	return *h, nil
}

// maxArgs bounds the arguments of a kernel.
const maxArgs = 32

type stream struct {
	*api
	handle uintptr
	// Where arguments lie during a launch: values, and pointers to them.
	args [maxArgs]uint64
	at   [maxArgs]*uint64
}

func (s *stream) Upload(dst Ptr, src []byte) error {
	return s.call("cuMemcpyHtoDAsync", s.upload, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), s.handle)
}

func (s *stream) Download(dst []byte, src Ptr) error {
	return s.call("cuMemcpyDtoHAsync", s.download, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), s.handle)
}

func (s *stream) Copy(dst, src Ptr, n int64) error {
	return s.call("cuMemcpyDtoDAsync", s.copyWithin, uintptr(dst), uintptr(src), uintptr(n), s.handle)
}

func (s *stream) Zero(dst Ptr, n int64) error {
	return s.call("cuMemsetD8Async", s.zero, uintptr(dst), 0, uintptr(n), s.handle)
}

func (s *stream) Launch(k Kernel, c Launch, args []uint64) error {
	if len(args) > maxArgs {
		return fmt.Errorf("cuda: a kernel with %d arguments", len(args))
	}
	copy(s.args[:], args)
	dim := func(n int) uintptr { return uintptr(max(1, n)) }
	// s is on the heap, where nothing moves; the driver copies the values
	// before it returns.
	err := s.call("cuLaunchKernel", s.launch, k.(uintptr),
		dim(c.Grid[0]), dim(c.Grid[1]), dim(c.Grid[2]), dim(c.Block[0]), dim(c.Block[1]), dim(c.Block[2]),
		uintptr(c.Shared), s.handle, uintptr(unsafe.Pointer(&s.at[0])), 0)
	runtime.KeepAlive(s)
	return err
}

func (s *stream) Record(e Event) error {
	return s.call("cuEventRecord", s.eventRecord, e.(*event).handle, s.handle)
}

func (s *stream) Sync() error { return s.call("cuStreamSynchronize", s.streamSync, s.handle) }

func (s *stream) Capture(f func() error) (Graph, error) {
	const threadLocal = 1 // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	if err := s.call("cuStreamBeginCapture", s.captureBegin, s.handle, threadLocal); err != nil {
		return nil, err
	}
	made := f()
	g, x := new(uintptr), new(uintptr)
	err := s.call("cuStreamEndCapture", s.captureEnd, s.handle, uintptr(unsafe.Pointer(g)))
	if made != nil {
		err = made
	}
	if err == nil {
		err = s.call("cuGraphInstantiateWithFlags", s.graphMake, uintptr(unsafe.Pointer(x)), *g, 0)
	}
	if *g != 0 {
		if e := s.call("cuGraphDestroy", s.graphFree, *g); err == nil {
			err = e
		}
	}
	if err != nil {
		return nil, err
	}
	return &captured{s.api, *x}, nil
}

func (s *stream) Replay(g Graph) error {
	return s.call("cuGraphLaunch", s.replay, g.(*captured).handle, s.handle)
}

type event struct {
	*api
	handle uintptr
}

func (e *event) Sync() error { return e.call("cuEventSynchronize", e.eventSync, e.handle) }

func (e *event) Since(from Event) (float32, error) {
	ms := new(float32)
	err := e.call("cuEventElapsedTime", e.eventTime, uintptr(unsafe.Pointer(ms)), from.(*event).handle, e.handle)
	return *ms, err
}

type captured struct {
	*api
	handle uintptr
}

func (g *captured) Close() error {
	return g.call("cuGraphExecDestroy", g.graphClose, g.handle)
}
