//go:build unix

package offheap_test

import (
	"runtime/debug"
	"testing"

	"quern/kernels/offheap"
)

func TestShare(t *testing.T) {
	const total = 1 << 30
	was := debug.SetMemoryLimit(-1)
	defer func() { offheap.Share(0); debug.SetMemoryLimit(was) }()
	limit := func(want int64) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("the heap may take %d bytes, want %d", got, want)
		}
	}
	reserve := func(n int) (free func()) {
		t.Helper()
		_, give, err := offheap.Reserve(n)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := give(); err != nil {
				t.Error(err)
			}
		}
	}
	before := reserve(total / 4)
	limit(was) // nothing is shared yet
	offheap.Share(total)
	limit(total * 3 / 4)
	large := reserve(total)
	limit(total / 8)
	large()
	limit(total * 3 / 4)
	before()
	limit(total)
}
