package run

import (
	"runtime"
	"unsafe"

	"quern/engine/onnx/internal/tensor"
	"quern/kernels/offheap"
)

// leastOutside is the bytes from which weights lie outside the Go heap. On it they would let
// the heap's garbage grow to as much again.
const leastOutside = 256 << 10

// An outside is memory beyond the Go heap that a Session has.
type outside struct{ frees []func() error }

func (o *outside) free() {
	for _, f := range o.frees {
		_ = f() // fails only for what was not taken
	}
}

// Lasting returns zeroed memory for n numbers, that lives as long as the Session: for what
// is prepared of constants.
func Lasting[T byte | int8 | float32](c *Call, n int) []T {
	var one T
	size := n * int(unsafe.Sizeof(one))
	if size < leastOutside {
		return make([]T, n)
	}
	data, free, err := offheap.Reserve(size)
	if err != nil {
		return make([]T, n)
	}
	s := c.s
	if s.outside == nil {
		s.outside = new(outside)
		runtime.AddCleanup(s, (*outside).free, s.outside)
	}
	s.outside.frees = append(s.outside.frees, free)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n)
}

// Forget gives back the memory of the pages of the model's file that a constant lies in: it
// was prepared, and is not read soon.
func (c *Call) Forget(t *tensor.Tensor) {
	if tensor.Constant(t) {
		c.s.model.Forget(t.Memory())
	}
}
