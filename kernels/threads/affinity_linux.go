package threads

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuNow returns the CPU the calling thread runs on, -1 when that is
// unknown.
func cpuNow() int {
	var cpu uint32
	if _, _, err := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); err != 0 {
		return -1
	}
	return int(cpu)
}

// leave moves the calling thread off a CPU, if it runs there and its affinity allows
// others. The affinity is the same afterwards.
func leave(cpu int) {
	if cpu < 0 || cpuNow() != cpu {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if unix.SchedGetaffinity(0, &all) != nil {
		return
	}
	others := all
	if others.Clear(cpu); others.Count() > 0 && unix.SchedSetaffinity(0, &others) == nil {
		unix.SchedSetaffinity(0, &all)
	}
}
