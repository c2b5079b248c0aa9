package threads

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sleeper is where a worker parks: on a futex, with its own thread, so that one system
// call resumes it. With a channel the scheduler would put it on the queue of the caller's
// P, from which another thread steals it only after a sleep of its own: on a busy machine
// that took milliseconds.
type sleeper struct{ parked atomic.Uint32 }

func newSleeper() *sleeper { return new(sleeper) }

const (
	futexWait = 0 | 128 // FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128
)

// sleep returns once wake has been called after parked was set.
func (s *sleeper) sleep() {
	for s.parked.Load() == 1 {
		syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.parked)), futexWait, 1, 0, 0, 0)
	}
}

// wake ends sleep; it reports whether the worker was parked.
func (s *sleeper) wake() bool {
	if !s.parked.CompareAndSwap(1, 0) {
		return false
	}
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.parked)), futexWake, 1, 0, 0, 0)
	return true
}

// stay clears parked again.
func (s *sleeper) stay() { s.parked.Store(0) }

func osYield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
