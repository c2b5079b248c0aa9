package bandwidth_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"quern/kernels/bandwidth"
	"quern/kernels/internal/isa/isatest"
	"quern/kernels/threads"
)

// Every byte is read once: the result is that of a plain loop, wherever b begins and ends.
func TestReadsEveryByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	isatest.Each(t, func(t *testing.T) {
		for _, from := range []int{0, 1, 7, 64} {
			for _, n := range []int{0, 1, 7, 8, 63, 64, 255, 256, 257, 1023, 1024, 4096, 4931} {
				b := data[from : from+n]
				var want uint64
				for i := 0; i < n; i += 8 {
					var word [8]byte
					copy(word[:], b[i:])
					want ^= binary.LittleEndian.Uint64(word[:])
				}
				if got := bandwidth.Read(b); got != want {
					t.Errorf("Read of %d bytes from %d on = %x, want %x", n, from, got, want)
				}
			}
		}
	})
}

func TestMeasure(t *testing.T) {
	pool := threads.NewPool(2)
	defer pool.Close()
	if got := bandwidth.Measure(pool, [][]byte{make([]byte, 1000), nil}); got != 0 {
		t.Errorf("of too little data %g bytes/s were measured, want 0", got)
	}
	if got := bandwidth.Measure(pool, [][]byte{make([]byte, 3<<20)}); got <= 0 {
		t.Errorf("of 3 MiB %g bytes/s were measured", got)
	}
}

func ExampleRead() {
	fmt.Println(bandwidth.Read([]byte{1, 2, 0, 0, 0, 0, 0, 0, 2}))
	// Output: 515
}

func BenchmarkRead(b *testing.B) {
	data := make([]byte, 64<<20)
	for i := range data {
		data[i] = byte(i)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		bandwidth.Read(data)
	}
}
