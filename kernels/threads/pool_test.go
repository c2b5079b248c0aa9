package threads

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quern/bench/poll"
)

func TestPool(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		p := NewPool(n)
		if got := p.Workers(); got != n {
			t.Errorf("Workers() = %d, want %d", got, n)
		}
		counts := make([]atomic.Int32, 300)
		r := &Region{F: func(_, c int) { counts[c].Add(1) }}
		const rounds = 500
		for i := range rounds {
			p.Run(i%len(counts), r)
			if i%100 == 0 {
				asleep(t, p)
			}
		}
		for c := range counts {
			want := 0
			for i := range rounds {
				if c < i%len(counts) {
					want++
				}
			}
			if got := int(counts[c].Load()); got != want {
				t.Fatalf("%d workers: chunk %d ran %d times, want %d", n, c, got, want)
			}
		}
		p.Close()
		p.Close()
	}
}

// Regions of ever changing length, one right after the other: a worker that
// is late for one must not take chunks of the next.
func TestPoolLateWorkers(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	var inside atomic.Int32
	counts := make([]atomic.Int32, 64)
	long := &Region{F: func(_, c int) { inside.Add(1); counts[c].Add(1); inside.Add(-1) }}
	short := &Region{F: func(_, c int) { inside.Add(1); counts[c].Add(1); inside.Add(-1) }}
	rounds := 30_000
	if testing.Short() {
		rounds = 3_000
	}
	for i := range rounds {
		r, n := short, 2+i%3
		if i%2 == 0 {
			r, n = long, 8+i%50
		}
		p.Run(n, r)
		if inside.Load() != 0 {
			t.Fatalf("round %d: a chunk still runs after Run", i)
		}
		for c := range counts {
			want := int32(0)
			if c < n {
				want = 1
			}
			if got := counts[c].Swap(0); got != want {
				t.Fatalf("round %d: chunk %d of %d ran %d times", i, c, n, got)
			}
		}
	}
}

// A worker alone takes its own share in order and the others' from their ends, and
// nothing of a generation that is not its.
func TestShares(t *testing.T) {
	p := &Pool{shares: make([]share, 3)}
	var got []int
	p.region.Store(&Region{F: func(worker, c int) { got = append(got, c) }})
	p.first.Store(100)
	for i, ends := range [][2]int{{0, 2}, {2, 5}, {5, 7}} {
		p.shares[i].word.Store(pack(7, ends[0], ends[1]))
	}
	p.claim(1, 6)
	if len(got) > 0 {
		t.Errorf("a late worker took %v", got)
	}
	p.claim(1, 7)
	if want := []int{102, 103, 104, 106, 105, 101, 100}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
}

// The collector must be able to stop the world while Run waits for a worker: where it could not,
// each collection took 27 s, which go test's -timeout does not allow.
func TestPoolLetsTheWorldStop(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	var wg sync.WaitGroup
	var stop atomic.Bool
	wg.Go(func() {
		r := &Region{F: func(_, c int) {
			x := 0
			for i := range 20_000 {
				x += i * c
			}
			sink.Store(int64(x))
		}}
		for !stop.Load() {
			p.Run(8, r)
		}
	})
	for range 10 {
		runtime.GC()
	}
	stop.Store(true)
	wg.Wait()
}

var sink atomic.Int64

// Hold wakes workers, which sleep after Release. A held one sleeps too when no region comes
// for long enough, and on a busy machine it may do so before the test looks, which then holds again.
func TestPoolHold(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	asleep(t, p)
	poll.Until(t, "workers are awake", func() bool { p.Hold(); return parked(p, false) })
	var n atomic.Int64
	p.Run(100, &Region{F: func(_, _ int) { n.Add(1) }})
	if n.Load() != 100 {
		t.Errorf("%d of 100 chunks ran", n.Load())
	}
	p.Release()
	asleep(t, p)
}

// asleep waits until all workers are parked.
func asleep(t *testing.T, p *Pool) {
	t.Helper()
	poll.Until(t, "workers are parked", func() bool { return parked(p, true) })
}

// parked reports whether all workers are parked, or none is.
func parked(p *Pool, want bool) bool {
	for _, w := range p.workers {
		if (w.parked.Load() == 1) != want {
			return false
		}
	}
	return true
}

func TestPoolManyChunks(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	const n = maxChunks + 10
	seen := make([]atomic.Bool, n)
	p.Run(n, &Region{F: func(_, c int) {
		if seen[c].Swap(true) {
			t.Errorf("chunk %d ran twice", c)
		}
	}})
	for c := range seen {
		if !seen[c].Load() {
			t.Fatalf("chunk %d did not run", c)
		}
	}
}

// TestPoolPanics: a chunk that panics has Run panic, when no other runs any more, and the pool
// is whole afterwards.
func TestPoolPanics(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		p := NewPool(n)
		for _, chunks := range []int{1, 2, 40} {
			for at := range chunks {
				for _, how := range []struct {
					name string
					do   func()
				}{
					{"a value", func() { panic("of mine") }},
					{"an error of the runtime", func() { _ = make([]int, chunks)[at+chunks] }},
				} {
					var running atomic.Int32
					failed := func() (v any) {
						defer func() { v = recover() }()
						p.Run(chunks, &Region{F: func(_, c int) {
							running.Add(1)
							defer running.Add(-1)
							if c == at {
								how.do()
							}
						}})
						return nil
					}()
					err, isError := failed.(error)
					var bounds runtime.Error
					if failed != "of mine" && !(isError && errors.As(err, &bounds) && strings.Contains(err.Error(), "out of range")) {
						t.Errorf("%d workers, chunk %d of %d, %s: panicked with %v", n, at, chunks, how.name, failed)
					}
					if left := running.Load(); left != 0 {
						t.Errorf("%d workers, chunk %d of %d, %s: %d chunks run when Run has ended", n, at, chunks, how.name, left)
					}
				}
			}
			var ran atomic.Int32
			p.Run(100, &Region{F: func(_, _ int) { ran.Add(1) }})
			if ran.Load() != 100 {
				t.Errorf("%d workers: %d of 100 chunks ran after panics", n, ran.Load())
			}
		}
		p.Close()
	}
}

func TestPoolAllocates(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	var sum atomic.Int64
	r := &Region{F: func(_, c int) { sum.Add(int64(c)) }}
	if n := testing.AllocsPerRun(100, func() { p.Run(16, r) }); n != 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func TestPoolCloseStopsWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	NewPool(6).Close()
	poll.Goroutines(t, before)
}

func BenchmarkPoolRegion(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	r := &Region{F: func(int, int) {}}
	b.ReportAllocs()
	for b.Loop() {
		p.Run(2, r)
	}
}

func TestCores(t *testing.T) {
	if n := Cores(); n < 1 || n > runtime.NumCPU() {
		t.Errorf("Cores() = %d of %d CPUs", n, runtime.NumCPU())
	}
}
