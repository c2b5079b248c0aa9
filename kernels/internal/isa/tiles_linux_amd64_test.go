//go:build !noasm

package isa

import (
	"os"
	"strconv"
	"testing"
)

// TestEmulatorEnv: the variable alone does not enable tiles; its number must be
// that of the tracing thread.
func TestEmulatorEnv(t *testing.T) {
	if os.Getenv(EmulatorEnv) != "" {
		t.Skip("the emulator runs this test")
	}
	want := hasTiles()
	for _, v := range []string{"0", "1", "on", strconv.Itoa(os.Getppid()), "0\n"} {
		t.Setenv(EmulatorEnv, v)
		if got := hasTiles(); got != want {
			t.Errorf("with %s=%q there are tiles: %v, want %v", EmulatorEnv, v, got, want)
		}
	}
}

// TestTilesVectors: at AMX tables are indexed as at AVX512.
func TestTilesVectors(t *testing.T) {
	if Host() < AMX {
		t.Skip("this CPU has no AMX")
	}
	for l, want := range map[Level]Level{Generic: Generic, AVX2: AVX2, AVX512: AVX512, AMX: AVX512} {
		undo := Set(l)
		if got := Current(); got != want || Tiles() != (l == AMX) {
			t.Errorf("at %s vectors are those of %s, want %s; tiles: %v", l, got, want, Tiles())
		}
		undo()
	}
}
