//go:build linux && amd64 && !noasm

package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"quern/kernels/internal/isa"
)

// The test's binary is also amxrun and the program amxrun runs, which executes the
// machine code it is given.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("AMXRUN_TEST") == "":
		os.Exit(m.Run())
	case os.Getenv(isa.EmulatorEnv) == "":
		main()
	default:
		code, err := hex.DecodeString(os.Args[1])
		if err == nil {
			err = call(code)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
}

// call executes code, which ends with RET, on a thread that ends with it.
func call(code []byte) error {
	const page = 4096
	mem, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(mem, code)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		entry := &mem[0]
		function := &entry // what a func value points to begins with its address
		(*(*func())(unsafe.Pointer(&function)))()
		close(done)
	}()
	<-done
	return nil
}

// LDTILECFG of what lies 64 bytes into the code, as its first instruction; RET; and
// the others.
const (
	ldtilecfg   = "c4e2784905 37000000"
	tilezero0   = "c4e27b49c0"
	tilezero1   = "c4e27b49c8"
	tilerelease = "c4e27849c0"
	ret         = "c3"
)

func TestRun(t *testing.T) {
	if cpu.X86.HasAMXTile {
		t.Skip("this CPU has AMX: nothing traps")
	}
	// One tile of 16 rows of 64 bytes: palette 1, bytes at 16, rows at 48.
	config := "01" + strings.Repeat("00", 15) + "4000" + strings.Repeat("00", 30) + "10" + strings.Repeat("00", 15)
	for _, tt := range []struct {
		name, code, config string
		status             int
		says               []string
	}{
		{"all well", ldtilecfg + tilezero0 + tilerelease + ret, config, 0, []string{"3 AMX instructions in 1 traps", "TILEZERO 1"}},
		{"between other instructions", ldtilecfg + "90" + tilezero0 + "90" + tilerelease + ret, config, 0, []string{"3 AMX instructions in 3 traps"}},
		{"nothing", ret, config, 1, []string{"0 AMX instructions"}},
		{"tiles left configured", ldtilecfg + ret, config, 1, []string{"1 threads ended with tiles configured"}},
		{"tile without configuration", tilezero0 + ret, config, 2, []string{"#UD", "SIGILL"}},
		{"a tile that is not configured", ldtilecfg + tilezero1 + ret, config, 2, []string{"#UD", "SIGILL"}},
		{"another invalid instruction", "0f0b" + ret, config, 2, []string{"SIGILL"}},
		{"palette 2", ldtilecfg + ret, "02" + config[2:], 2, []string{"#GP", "SIGSEGV", "code=0x80"}},
		// TILELOADD (AX)(AX*1), TMM0 with AX 0x10
		{"no memory", ldtilecfg + "b810000000 c4e27b4b0400" + ret, config, 2, []string{"#PF", "SIGSEGV", "code=0x1", "addr=0x10"}},
		{"another signal", "31c0 8b00" + ret, config, 2, []string{"SIGSEGV"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := strings.ReplaceAll(tt.code, " ", "")
			code += strings.Repeat("00", 64-len(code)/2) + tt.config
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, self, code)
			cmd.Env = append(os.Environ(), "AMXRUN_TEST=1")
			out, err := cmd.CombinedOutput()
			if bytes.Contains(out, []byte("operation not permitted")) {
				t.Skipf("tracing is not allowed here: %s", out)
			}
			status := 0
			if e := (*exec.ExitError)(nil); errors.As(err, &e) {
				status = e.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, s := range tt.says {
				if !bytes.Contains(out, []byte(s)) {
					t.Errorf("%q is not in its output", s)
				}
			}
			if t.Failed() {
				t.Logf("%.2000s", out)
			}
		})
	}
}
