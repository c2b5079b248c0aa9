// Package isatest runs a test at every CPU level this machine has.
package isatest

import (
	"testing"

	"quern/kernels/internal/isa"
)

// Each runs f once per level, lowest first, as subtests; with -short at the highest only. The
// level is the whole process's, so f must not run in parallel with other tests.
func Each(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	lowest := isa.Generic
	if testing.Short() {
		lowest = isa.Host()
	}
	for l := lowest; l <= isa.Host(); l++ {
		t.Run(l.String(), func(t *testing.T) {
			defer isa.Set(l)()
			f(t)
		})
	}
}
