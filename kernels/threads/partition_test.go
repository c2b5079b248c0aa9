package threads

import (
	"sync/atomic"
	"testing"
)

// TestPartition: every chunk is taken once, in any order of workers, and one worker alone
// takes its own chunks in order and the others' from their ends.
func TestPartition(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		for _, n := range []int{1, 2, 7, 64, 1000} {
			d := NewPartition(workers)
			d.Divide(n)
			taken := make([]atomic.Int32, n)
			p := NewPool(workers)
			p.Run(n, &Region{F: func(worker, _ int) { taken[d.Take(worker)].Add(1) }})
			p.Close()
			for c := range taken {
				if got := taken[c].Load(); got != 1 {
					t.Errorf("%d chunks, %d workers: chunk %d taken %d times", n, workers, c, got)
				}
			}
		}
	}
	d := NewPartition(2)
	d.Divide(6)
	for i, want := range []int{3, 4, 5, 2, 1, 0} {
		if got := d.Take(1); got != want {
			t.Errorf("take %d of worker 1 = %d, want %d", i, got, want)
		}
	}
}
