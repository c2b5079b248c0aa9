//go:build !noasm

package isa

import (
	"bytes"
	"os"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// EmulatorEnv names the variable in which kernels/internal/amxrun tells a program
// that it executes AMX instructions for it: the number of the thread that traces
// it. For tests only; the number of a thread that does not trace this process is ignored.
const EmulatorEnv = "QUERN_TEST_AMX"

// hasTiles reports whether this process may use tiles. Linux grants their 8 KB of
// state per thread to a process that requests it, once for all its threads.
func hasTiles() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	if x := &cpu.X86; x.HasAMXTile && x.HasAMXInt8 && x.HasAMXBF16 {
		_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
		return errno == 0
	}
	tracer := os.Getenv(EmulatorEnv)
	if tracer == "" || tracer == "0" {
		return false
	}
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && bytes.Contains(status, []byte("\nTracerPid:\t"+tracer+"\n"))
}
