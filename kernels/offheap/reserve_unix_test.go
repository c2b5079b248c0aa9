//go:build unix

package offheap_test

import (
	"testing"
	"unsafe"

	"quern/kernels/offheap"
)

// What is as large as a huge page begins where one may lie; all of it is zero and can be written.
func TestReserve(t *testing.T) {
	const huge = 2 << 20
	for _, n := range []int{1, 4096, huge - 1, huge, huge + 1, 5*huge + 12345} {
		data, free, err := offheap.Reserve(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) != n || cap(data) != n {
			t.Errorf("%d bytes: length %d, capacity %d", n, len(data), cap(data))
		}
		if at := uintptr(unsafe.Pointer(&data[0])); n >= huge && at%huge != 0 {
			t.Errorf("%d bytes begin %d bytes past a huge page", n, at%huge)
		}
		for i := range data {
			if data[i] != 0 {
				t.Fatalf("%d bytes: byte %d is %d", n, i, data[i])
			}
			data[i] = 1
		}
		if err := free(); err != nil {
			t.Error(err)
		}
	}
}
