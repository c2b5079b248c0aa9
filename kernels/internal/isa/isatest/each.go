// Package isatest runs a test at every CPU level this machine has.
package isatest

import (
	"testing"

	"quern/kernels/internal/isa"
)

// Each runs f once per level, lowest first, as subtests. The level is the
// whole process's, so f must not run in parallel with other tests.
func Each(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for l := isa.Generic; l <= isa.Host(); l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer isa.Set(l)()
			f(t)
		})
	}
}
