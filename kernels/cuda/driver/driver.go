// Package driver is what quern uses of the CUDA driver API: devices, memory,
// streams, events, modules, launches and graphs.
//
// Open loads the real driver at run time; only builds with the tag cuda have it.
// Fake is a driver whose devices are interpreters of PTX, for tests.
//
// NVIDIA, "CUDA Driver API", sections 6.2 to 6.25.
package driver

import (
	"errors"
	"fmt"
)

// Errors of this package wrap one of these where it is known what they mean.
var (
	// ErrUnavailable: there is no driver or device, or the driver is too old.
	ErrUnavailable = errors.New("cuda: no usable driver")
	// ErrMemory: the device has not as much memory left.
	ErrMemory = errors.New("cuda: out of device memory")
	// ErrFault: a kernel or the device failed. The Context can only be closed.
	ErrFault = errors.New("cuda: the device failed")
)

// An Error is a call the driver refused.
type Error struct {
	Call string
	Code int    // CUresult
	Name string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // what the driver says beside, or ""
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cuda: %s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// The results that quern distinguishes; cuda.h, enum CUresult.
const (
	codeMemory       = 2   // CUDA_ERROR_OUT_OF_MEMORY
	codeDeinit       = 4   // CUDA_ERROR_DEINITIALIZED
	codeStub         = 34  // CUDA_ERROR_STUB_LIBRARY
	codeNoDevice     = 100 // CUDA_ERROR_NO_DEVICE
	codeECC          = 214 // CUDA_ERROR_ECC_UNCORRECTABLE
	codePTX          = 218 // CUDA_ERROR_INVALID_PTX
	codePTXVersion   = 222 // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	codeAddress      = 700 // CUDA_ERROR_ILLEGAL_ADDRESS
	codeTimeout      = 702 // CUDA_ERROR_LAUNCH_TIMEOUT
	codeDestroyed    = 709 // CUDA_ERROR_CONTEXT_IS_DESTROYED
	codeAssert       = 710 // CUDA_ERROR_ASSERT
	codeFirstFault   = 714 // CUDA_ERROR_HARDWARE_STACK_ERROR, and the ones behind it
	codeLastFault    = 719 // CUDA_ERROR_LAUNCH_FAILED
	codeMismatch     = 803 // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
	codeIncompatible = 804 // CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
	codeUnknown      = 999 // CUDA_ERROR_UNKNOWN
)

// Is reports which of the package's errors the code stands for.
func (e *Error) Is(target error) bool {
	switch {
	case e.Code == codeMemory:
		return target == ErrMemory
	case e.Code == codeDeinit, e.Code == codeECC, e.Code == codeAddress, e.Code == codeTimeout, e.Code == codeDestroyed, e.Code == codeAssert,
		e.Code >= codeFirstFault && e.Code <= codeLastFault, e.Code == codeUnknown:
		return target == ErrFault
	case e.Code == codeStub, e.Code == codeNoDevice, e.Code == codePTX, e.Code == codePTXVersion, e.Code == codeMismatch, e.Code == codeIncompatible:
		return target == ErrUnavailable
	}
	return false
}

// A Driver finds devices.
type Driver interface {
	// Version is the CUDA version the driver supports: 12040 is 12.4.
	Version() int
	// Devices lists the devices in the driver's order.
	Devices() ([]Info, error)
	// Open makes a context on a device and leaves it current on the calling
	// thread.
	Open(device int) (Context, error)
}

// An Info describes a device.
type Info struct {
	Name       string
	Memory     int64 // bytes
	Capability int   // major·10 + minor: 90 is sm_90
	Processors int   // streaming multiprocessors
}

// A Ptr is an address in a device's memory; 0 is none.
type Ptr uint64

// A Context owns everything made of it: memory, streams, events, modules and graphs. One
// goroutine uses it at a time: it calls Enter first and stays on that thread
// (runtime.LockOSThread) until done.
type Context interface {
	Enter() error
	Memory() (free, total int64, err error)

	Alloc(n int64) (Ptr, error)
	Free(Ptr) error
	// Pinned returns host memory that a Stream may copy from and to.
	Pinned(n int) ([]byte, error)
	FreePinned([]byte) error

	Stream() (Stream, error)
	Event() (Event, error)
	// Module compiles PTX for the device; the driver caches what it compiled.
	Module(ptx string) (Module, error)

	// Close releases the context and what was made of it, also after a fault.
	Close() error
}

// A Stream runs work in order, asynchronously to the caller. A later call returns the
// errors of that work.
type Stream interface {
	// Upload and Download copy from and to pinned memory, which must be left
	// alone until they are done.
	Upload(dst Ptr, src []byte) error
	Download(dst []byte, src Ptr) error
	Copy(dst, src Ptr, n int64) error // within the device
	Zero(dst Ptr, n int64) error      // n bytes
	Launch(k Kernel, c Launch, args []uint64) error
	Record(Event) error
	// Sync waits for everything so far.
	Sync() error
	// Capture records what f gives the stream, which does not run, into a Graph.
	Capture(f func() error) (Graph, error)
	// Replay runs a Graph of this stream.
	Replay(Graph) error
}

// An Event is a point in a stream.
type Event interface {
	// Sync waits until the stream has passed the event, at once if it was
	// never recorded.
	Sync() error
	// Since returns the milliseconds from an earlier event; both were passed.
	Since(Event) (float32, error)
}

// A Module is a compiled PTX file.
type Module interface {
	// Kernel returns the entry of that name; shared is the most dynamic shared
	// memory in bytes it will be launched with.
	Kernel(name string, shared int) (Kernel, error)
}

// A Kernel is an entry of a Module of the driver that made it.
type Kernel any

// A Graph is a recorded sequence of work.
type Graph interface{ Close() error }

// A Launch is the shape of a launch. Arguments are passed in the low bits of
// 64-bit words, each of the size the kernel declares.
type Launch struct {
	Grid, Block [3]int // x, y, z; a zero counts as one
	Shared      int    // bytes of dynamic shared memory
}
