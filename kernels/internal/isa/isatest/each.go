// Package isatest runs a test at every CPU level this machine has.
package isatest

import (
	"testing"

	"quern/bench/fixtures"
	"quern/kernels/internal/isa"
)

// Each runs f as subtests at the lowest level and the highest; with -short at the highest only,
// in a whole run (fixtures.Whole) at those between too. The level is the whole process's, so f
// must not run in parallel with other tests.
func Each(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	lowest := isa.Generic
	if testing.Short() {
		lowest = isa.Host()
	}
	for l := lowest; l <= isa.Host(); l++ {
		if l > lowest && l < isa.Host() && !fixtures.Whole {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			defer isa.Set(l)()
			f(t)
		})
	}
}

// Rounding runs f as a subtest with floats rounded to bf16, where this CPU does that. Like Each,
// it changes the whole process.
func Rounding(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer isa.Set(min(isa.Host(), isa.AVX512))()
	defer isa.RoundFloats(true)()
	if isa.Rounds() {
		t.Run("rounding", f)
	}
}
