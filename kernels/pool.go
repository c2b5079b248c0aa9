package kernels

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Pool runs small regions of work on a fixed set of goroutines. A forward
// pass has hundreds of regions a token, some of a few microseconds, so workers
// spin for a moment between regions before they park.
//
// One goroutine at a time may call Run.
type Pool struct {
	workers []*worker
	wg      sync.WaitGroup
	stop    atomic.Bool

	_      [64]byte
	state  atomic.Uint64 // generation<<32 | next chunk to claim
	_      [56]byte
	left   atomic.Int64 // chunks not finished
	_      [56]byte
	chunks atomic.Int64
	region atomic.Pointer[Region]
}

// A Region is a piece of parallel work: F is called once for each chunk, from
// several goroutines at a time, each with its own worker number below Workers.
// Regions are made once and reused, so that running one allocates nothing.
type Region struct{ F func(worker, chunk int) }

type worker struct {
	id     int
	parked atomic.Bool
	wake   chan struct{}
	_      [64]byte
}

// How long idle workers spin: yieldAfter rounds of PAUSE before the first
// sched_yield, then until parkAfter. Without the yield a loaded machine doubles
// the time of a token; see BUILD.md.
const (
	pauses     = 4
	yieldAfter = 500
	parkAfter  = 200 * time.Microsecond
)

// NewPool starts a pool of n workers, of which the caller of Run is one.
func NewPool(n int) *Pool {
	p := &Pool{}
	for id := 1; id < n; id++ {
		w := &worker{id: id, wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.wg.Add(1)
		go p.work(w)
	}
	return p
}

// Workers returns how many chunks can run at a time.
func (p *Pool) Workers() int { return len(p.workers) + 1 }

// Close stops the workers and waits for them. No Run may be in progress.
func (p *Pool) Close() {
	if p.stop.Swap(true) {
		return
	}
	for _, w := range p.workers {
		w.signal()
	}
	p.wg.Wait()
}

func (w *worker) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

// Run calls r.F for every chunk from 0 up to chunks and returns when all are
// done. Chunks are claimed in ascending order by whoever is free.
func (p *Pool) Run(chunks int, r *Region) {
	if chunks <= 0 {
		return
	}
	if len(p.workers) == 0 || chunks == 1 {
		for c := range chunks {
			r.F(0, c)
		}
		return
	}
	gen := p.state.Load()>>32 + 1
	p.region.Store(r)
	p.chunks.Store(int64(chunks))
	p.left.Store(int64(chunks))
	p.state.Store(gen << 32) // publishes the stores above
	for _, w := range p.workers {
		if w.parked.Load() {
			w.signal()
		}
	}
	p.claim(gen, 0)
	for i := 0; p.left.Load() > 0; i++ {
		pause(pauses)
		if i > yieldAfter { // the other thread is not running: give it the CPU
			osYield()
		}
	}
}

// claim runs chunks of generation gen until none is left. A worker that comes
// late finds another generation and leaves: it cannot touch the next region's
// chunks with this one's function.
func (p *Pool) claim(gen uint64, worker int) {
	n := uint64(p.chunks.Load())
	r := p.region.Load()
	for {
		s := p.state.Load()
		if s>>32 != gen&0xffffffff || s&0xffffffff >= n {
			return
		}
		if p.state.CompareAndSwap(s, s+1) {
			r.F(worker, int(s&0xffffffff))
			p.left.Add(-1)
		}
	}
}

func (p *Pool) work(w *worker) {
	defer p.wg.Done()
	var last uint64
	for {
		var start time.Time
		for i := 0; ; i++ {
			if g := p.state.Load() >> 32; g != last {
				last = g
				break
			}
			if p.stop.Load() {
				return
			}
			pause(pauses)
			if i > yieldAfter {
				osYield()
			}
			if i&63 != 63 {
				continue
			}
			if start.IsZero() {
				start = time.Now()
			} else if time.Since(start) > parkAfter {
				p.park(w, last)
				start, i = time.Time{}, 0
			}
		}
		p.claim(last, w.id)
	}
}

// park sleeps until Run or Close signals. The state is looked at again after
// parked is set: a Run that did not see it set has changed the state before.
func (p *Pool) park(w *worker, last uint64) {
	w.parked.Store(true)
	if p.state.Load()>>32 == last && !p.stop.Load() {
		<-w.wake
	}
	w.parked.Store(false)
}
