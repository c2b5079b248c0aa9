//go:build linux && amd64 && !noasm

// Command amxrun runs a program on a CPU without AMX as on one that has it:
//
//	amxrun PROGRAM [ARG...]
//
// It traces the program with all its threads. Where an AMX instruction raises an
// illegal-instruction trap, it executes the instruction on tiles it keeps for the
// thread and resumes the thread after it; every other signal is passed on. An
// environment variable tells the program's package isa that AMX is available. A trap
// takes about ten microseconds, so this is for tests only.
//
// Its exit status is the program's, or 1 when no AMX instruction was executed or a
// thread ended between LDTILECFG and TILERELEASE.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"quern/kernels/internal/amx"
	"quern/kernels/internal/isa"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: amxrun PROGRAM [ARG...]")
		os.Exit(2)
	}
	if cpu.X86.HasAMXTile {
		fmt.Fprintln(os.Stderr, "amxrun: this CPU has AMX: run the program itself")
		os.Exit(2)
	}
	t := tracer{threads: map[int]*thread{}}
	status, err := t.run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "amxrun:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "amxrun:", t.report())
	if status == 0 && (t.executed() == 0 || t.left > 0) {
		status = 1
	}
	os.Exit(status)
}

// A tracer runs one program.
type tracer struct {
	threads map[int]*thread
	counts  [amx.Ops]int // instructions executed
	traps   int
	left    int // threads that ended with tiles configured
}

func (t *tracer) executed() (n int) {
	for _, c := range t.counts {
		n += c
	}
	return n
}

func (t *tracer) report() string {
	s := []string{fmt.Sprintf("%d AMX instructions in %d traps", t.executed(), t.traps)}
	for op, n := range t.counts {
		if n > 0 {
			s = append(s, fmt.Sprintf("%v %d", amx.Op(op), n))
		}
	}
	if t.left > 0 {
		s = append(s, fmt.Sprintf("%d threads ended with tiles configured", t.left))
	}
	return strings.Join(s, ", ")
}

// run starts the program and serves its threads until it ends. All requests of
// ptrace must come from the thread that started it.
func (t *tracer) run(program string, args []string) (status int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), isa.EmulatorEnv+"="+strconv.Itoa(unix.Gettid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	main := cmd.Process.Pid
	var ws unix.WaitStatus
	// It stops when exec has replaced it.
	if _, err := unix.Wait4(main, &ws, unix.WALL, nil); err != nil {
		return 0, fmt.Errorf("waiting for %s to start: %w", program, err)
	}
	if err := unix.PtraceSetOptions(main, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return 0, fmt.Errorf("tracing %s: %w", program, err)
	}
	t.threads[main] = &thread{id: main}
	if err := resume(main, 0); err != nil {
		return 0, err
	}
	for {
		id, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("waiting for %s: %w", program, err)
		}
		if !ws.Stopped() {
			t.end(id)
			if id != main {
				continue
			}
			for other := range t.threads {
				t.end(other)
			}
			if ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			return ws.ExitStatus(), nil
		}
		th, known := t.threads[id]
		signal := ws.StopSignal()
		switch {
		case !known: // a thread begins: its first stop is the tracer's
			t.threads[id] = &thread{id: id}
			signal = 0
		case ws.TrapCause() > 0: // the event of a clone
			signal = 0
		case signal == unix.SIGILL:
			if signal, err = t.serve(th); err != nil {
				return 0, err
			}
		}
		if err := resume(id, signal); err != nil {
			return 0, err
		}
	}
}

func (t *tracer) end(id int) {
	if th := t.threads[id]; th != nil && th.tiles.Configured() {
		t.left++
	}
	delete(t.threads, id)
}

// resume continues a stopped thread, which may have been killed in the meantime.
func resume(id int, signal syscall.Signal) error {
	if err := unix.PtraceCont(id, int(signal)); err != nil && err != unix.ESRCH {
		return fmt.Errorf("resuming thread %d: %w", id, err)
	}
	return nil
}

// most is the most instructions executed for one trap.
const most = 256

// serve executes the AMX instructions a thread has stopped at and returns the
// signal to resume it with: SIGILL where there is none or where it raises #UD,
// SIGSEGV for other faults.
func (t *tracer) serve(th *thread) (syscall.Signal, error) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(th.id, &regs); err != nil {
		if err == unix.ESRCH {
			return 0, nil
		}
		return 0, fmt.Errorf("registers of thread %d: %w", th.id, err)
	}
	named := amx.Registers{
		regs.Rax, regs.Rcx, regs.Rdx, regs.Rbx, regs.Rsp, regs.Rbp, regs.Rsi, regs.Rdi,
		regs.R8, regs.R9, regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15,
	}
	var code []byte
	for n := range most {
		// Instructions that follow need no trap of their own.
		if len(code) < 16 {
			code = th.code(regs.Rip)
		}
		in, ok := amx.Decode(code)
		if !ok {
			if n == 0 {
				return unix.SIGILL, nil
			}
			break
		}
		next := regs.Rip + uint64(in.Len)
		if f := th.tiles.Exec(in, &named, next, th); f != nil {
			if n > 0 {
				break // it traps by itself
			}
			fmt.Fprintf(os.Stderr, "amxrun: %v at %#x: %v\n", in.Op, regs.Rip, f)
			if f.Kind == amx.UD {
				return unix.SIGILL, nil
			}
			return unix.SIGSEGV, th.segv(f)
		}
		t.counts[in.Op]++
		regs.Rip, code = next, code[in.Len:]
	}
	t.traps++
	if err := unix.PtraceSetRegs(th.id, &regs); err != nil && err != unix.ESRCH {
		return 0, fmt.Errorf("registers of thread %d: %w", th.id, err)
	}
	return 0, nil
}
