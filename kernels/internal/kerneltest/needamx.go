package kerneltest

import (
	"testing"

	"quern/kernels/internal/isa"
)

// NeedAMX skips a test where the CPU has no tiles.
func NeedAMX(t testing.TB) {
	t.Helper()
	if isa.Host() < isa.AMX {
		t.Skip("this CPU has no AMX; kernels/internal/amxrun runs this test without it")
	}
}
