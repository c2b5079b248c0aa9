//go:build !noasm

package dot

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"quern/kernels/quant"
)

// atPageEnd returns a copy of b behind which there is no memory.
func atPageEnd(t *testing.T, b []byte) []byte {
	t.Helper()
	const page = 4096
	size := (len(b) + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(mem[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	at := mem[size-len(b) : size : size]
	copy(at, b)
	return at
}

// TestSplitPages has weights and activations that end where memory does.
func TestSplitPages(t *testing.T) {
	atAMX(t)
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(27, uint64(typ)))
		for _, s := range []struct{ n, rows, batch int }{{1, 1, 1}, {17, 3, 2}, {33, 40, 1}, {79, 33, 2}, {96, 33, 1}, {111, 66, 17}, {330, 70, 16}, {500, 48, 40}} {
			w := randomWeights(t, r, typ, s.rows, s.n)
			x, xs := activations(r, quant.F32, s.n, s.batch, 0)
			checkSplit(t, typ, atPageEnd(t, w), s.rows, s.n, atPageEnd(t, x), xs, s.batch)
		}
	}
}
