//go:build linux && amd64 && !noasm

package main

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"quern/kernels/internal/amx"
)

// A thread of the program, with its tiles.
type thread struct {
	id    int
	tiles amx.State
}

// code returns the bytes at rip, up to 256 and fewer before an unmapped page.
func (th *thread) code(rip uint64) []byte {
	const page = 4096
	buf := make([]byte, 256)
	first := min(len(buf), int(page-rip%page))
	// What cannot be read transfers less, page by page.
	n, err := unix.ProcessVMReadv(th.id,
		[]unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}},
		[]unix.RemoteIovec{{Base: uintptr(rip), Len: first}, {Base: uintptr(rip) + uintptr(first), Len: len(buf) - first}}, 0)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// Read and Write are amx.Memory.

func (th *thread) Read(rows [][]byte, addr, stride uint64) error {
	return th.transfer(unix.ProcessVMReadv, rows, addr, stride)
}

func (th *thread) Write(rows [][]byte, addr, stride uint64) error {
	return th.transfer(unix.ProcessVMWritev, rows, addr, stride)
}

func (th *thread) transfer(call func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), rows [][]byte, addr, stride uint64) error {
	var local [16]unix.Iovec
	var remote [16]unix.RemoteIovec
	want := 0
	for i, row := range rows {
		local[i] = unix.Iovec{Base: &row[0], Len: uint64(len(row))}
		remote[i] = unix.RemoteIovec{Base: uintptr(addr + uint64(i)*stride), Len: len(row)}
		want += len(row)
	}
	n, err := call(th.id, local[:len(rows)], remote[:len(rows)], 0)
	if err != nil {
		return fmt.Errorf("%d rows at %#x, stride %d: %w", len(rows), addr, int64(stride), err)
	}
	if n != want {
		return fmt.Errorf("%d rows at %#x, stride %d: only %d bytes are there", len(rows), addr, int64(stride), n)
	}
	return nil
}

// segv replaces the signal that the thread stopped with by the one Linux sends for f.
func (th *thread) segv(f *amx.Fault) error {
	const mapError, kernel = 1, 0x80 // SEGV_MAPERR, SI_KERNEL
	var info [128]byte
	binary.LittleEndian.PutUint32(info[0:], uint32(unix.SIGSEGV))
	binary.LittleEndian.PutUint32(info[8:], kernel)
	if f.Kind == amx.PF {
		binary.LittleEndian.PutUint32(info[8:], mapError)
		binary.LittleEndian.PutUint64(info[16:], f.Addr)
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGINFO, uintptr(th.id), 0, uintptr(unsafe.Pointer(&info[0])), 0, 0)
	if errno != 0 && errno != unix.ESRCH {
		return fmt.Errorf("the signal of thread %d: %w", th.id, errno)
	}
	return nil
}
