// Package isa detects which instruction sets this CPU has and lets tests force
// every level below it.
//
// A level names a set of instructions that kernels are written for, not a CPU
// model. QUERN_CPU lowers the level for a whole process.
package isa

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
)

// A Level is a set of instructions that kernels are written for. Higher levels include
// lower ones.
type Level int32

// Generic is plain Go and exists everywhere.
const Generic Level = 0

// The levels of amd64.
const (
	_ Level = iota
	// AVX2: AVX2, FMA and F16C.
	AVX2
	// AVX512: AVX-512 F, BW, DQ, VL, VBMI and VNNI.
	AVX512
	// AMX: also AMX-TILE, AMX-INT8 and AMX-BF16, and the system's permission to
	// use them. Tiles multiply matrices; vectors are those of AVX512.
	AMX
)

// The levels of arm64.
const (
	_ Level = iota
	// NEON: Advanced SIMD as every 64-bit Arm processor has it.
	NEON
	// DotProd: SDOT, optional from Armv8.2.
	DotProd
)

// The level of wasm.
const (
	_ Level = iota
	// SIMD128: fixed-width SIMD, in programs built with -tags simd128 into which
	// kernels/_wasm/build.sh merged the kernels.
	SIMD128
)

// names spell the levels of this architecture, lowest first.
var names = levelNames()

func levelNames() []string {
	switch runtime.GOARCH {
	case "amd64":
		return []string{"generic", "avx2", "avx512", "amx"}
	case "arm64":
		return []string{"generic", "neon", "dotprod"}
	case "wasm":
		return []string{"generic", "simd128"}
	}
	return []string{"generic"}
}

func (l Level) String() string {
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("Level(%d)", int32(l))
	}
	return names[l]
}

// host is the highest level this CPU and operating system run.
var host = detect()

// current is the level in force: host, lowered by QUERN_CPU or by a test.
// It is the one package variable that may change after start.
var current atomic.Int32

// envErr is the error in QUERN_CPU, or nil.
var envErr = fromEnv()

func fromEnv() error {
	current.Store(int32(host))
	v := os.Getenv("QUERN_CPU")
	if v == "" {
		return nil
	}
	for i, n := range names {
		if strings.EqualFold(v, n) {
			if Level(i) > host {
				return fmt.Errorf("QUERN_CPU=%s: this CPU reaches only %s", v, host)
			}
			current.Store(int32(i))
			return nil
		}
	}
	return fmt.Errorf("QUERN_CPU=%s: not one of %s", v, strings.Join(names, ", "))
}

// InForce returns the level in force.
func InForce() Level { return Level(current.Load()) }

// Current returns the level whose vector kernels are in force, by which tables of
// kernels are indexed: InForce, but AVX512 at AMX, which has none of its own.
func Current() Level { return vectors(InForce()) }

// Err returns the error in QUERN_CPU, nil when it is absent or valid.
// Programs report it at start; the level is the host's then.
func Err() error { return envErr }

// Set forces level l, which the host must have, and returns a function that
// undoes it. Tests and benchmarks use it, never two at once.
func Set(l Level) (undo func()) {
	if l < Generic || l > host {
		panic(fmt.Sprintf("isa: level %s on a %s host", l, host))
	}
	was := current.Swap(int32(l))
	return func() { current.Store(was) }
}

// Host returns the highest level this machine has.
func Host() Level { return host }
