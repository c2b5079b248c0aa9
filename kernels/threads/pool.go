// Package threads runs the compute of forward passes on a fixed set of
// goroutines: a Pool runs the chunks of a Region, Cores is the number of workers that a
// machine has cores for.
package threads

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"quern/kernels/cgroup"
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
	held    atomic.Bool  // see Hold
	caller  atomic.Int32 // the CPU Hold was called on

	shares []share // of each worker, the caller's first

	_      [64]byte
	gen    atomic.Uint64 // number of the region; low bits are in the shares' words
	_      [56]byte
	left   atomic.Int64 // chunks not finished
	_      [56]byte
	first  atomic.Int64 // number of the generation's first chunk
	region atomic.Pointer[Region]
	failed atomic.Pointer[any] // the value that a chunk of the generation panicked with
}

// A share is the chunks of a generation that one worker runs in ascending order: memory
// that a kernel prefetches beyond its chunk is then of the worker's next one. A worker that
// has finished its share steals from the end of another's.
//
// It is one word, so that claiming a chunk checks everything at once: a worker that is
// late for a generation finds all its chunks claimed and cannot claim one of the next,
// because the generation is part of the word.
type share struct {
	word atomic.Uint64 // generation, next chunk, end; see pack
	_    [56]byte
}

const (
	chunkBits = 20
	maxChunks = 1<<chunkBits - 1
)

func pack(gen uint64, next, end int) uint64 {
	return gen<<(2*chunkBits) | uint64(next)<<chunkBits | uint64(end)
}

func unpack(word uint64) (next, end int) {
	return int(word >> chunkBits & maxChunks), int(word & maxChunks)
}

// A Region is a piece of parallel work: F is called once for each chunk, from
// several goroutines at a time, each with its own worker number below Workers.
// Regions are made once and reused, so that running one allocates nothing.
type Region struct{ F func(worker, chunk int) }

type worker struct {
	id int
	*sleeper
}

// The spinning of idle workers: yieldAfter rounds of PAUSE before the first sched_yield,
// then parkAfter rounds in all. Without the yield a token takes twice as long on a loaded
// machine; see BUILD.md. While the pool is held the limits are yieldHeld and parkHeld:
// the next region is imminent, and a loaded machine returns a yielded CPU only after
// milliseconds.
const (
	pauses     = 4
	yieldAfter = 500
	yieldHeld  = 4000
	parkAfter  = 200 * time.Microsecond
	parkHeld   = 5 * time.Millisecond
)

// cooperative: goroutines share one thread without preemption, and one that
// runs regions in a loop must yield to woken workers, timers and the collector.
const cooperative = runtime.GOARCH == "wasm"

// NewPool starts a pool of n workers, of which the caller of Run is one.
func NewPool(n int) *Pool {
	p := &Pool{shares: make([]share, max(1, n))}
	for id := 1; id < n; id++ {
		w := &worker{id, newSleeper()}
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
	p.wake()
	p.wg.Wait()
}

// Hold tells the pool that regions follow each other closely until Release:
// workers that sleep are woken at once, and idle ones spin longer. Only the
// goroutine that calls Run may call either.
//
// A worker that parks between two regions wakes late, and the system may place it on the
// caller's CPU, where it cannot run.
func (p *Pool) Hold() {
	p.caller.Store(int32(cpuNow()))
	p.held.Store(true)
	if p.wake() {
		osYield()
	}
}

// Release ends Hold.
func (p *Pool) Release() { p.held.Store(false) }

// wake wakes the workers that are parked, if there are any.
func (p *Pool) wake() (any bool) {
	for _, w := range p.workers {
		if w.parked.Load() == 1 && w.wake() {
			any = true
		}
	}
	return any
}

// Run calls r.F for every chunk from 0 up to chunks and returns when all are
// done. Each worker begins with neighbouring ones. When a chunk panics, so does Run,
// after the others: with the same value, or with a Fault where it is an error of the runtime.
func (p *Pool) Run(chunks int, r *Region) {
	if chunks <= 0 {
		return
	}
	if cooperative {
		breathe()
	}
	if len(p.workers) == 0 || chunks == 1 {
		for c := range chunks {
			r.F(0, c)
		}
		return
	}
	for first := 0; first < chunks; first += maxChunks {
		p.run(first, min(chunks-first, maxChunks), r)
	}
}

// run is Run for chunks that fit one generation.
func (p *Pool) run(first, chunks int, r *Region) {
	gen := p.gen.Load() + 1
	p.region.Store(r)
	p.first.Store(int64(first))
	p.left.Store(int64(chunks))
	for i := range p.shares {
		p.shares[i].word.Store(pack(gen, chunks*i/len(p.shares), chunks*(i+1)/len(p.shares)))
	}
	p.gen.Store(gen) // publishes the stores above
	p.wake()
	p.claim(0, gen)
	patience := yieldAfter
	if p.held.Load() {
		patience = yieldHeld
	}
	for i := 0; p.left.Load() > 0; i++ {
		pause(pauses)
		if i > patience { // the other thread may not be running: yield the CPU
			yield()
		}
	}
	if v := p.failed.Swap(nil); v != nil {
		panic(*v)
	}
}

// yield yields the CPU to other threads, then calls the Go scheduler. The call lets the
// collector stop the world: a loop of pauses and system calls has no safe point, so Go
// could preempt it only if a signal happened to arrive between them, while another
// worker, stopped in a chunk, was waited for. Under load that took half a minute.
func yield() {
	osYield()
	runtime.Gosched()
}

// claimPart is the part of what is left of a share that a worker claims at once. A claim waits
// for all loads before it and keeps those behind it back: claimed one by one, chunks of 64 KB of
// weights came from memory an eighth slower. The last chunks are claimed one by one, so that
// workers end together.
const claimPart = 3

// claim runs chunks of generation gen until all are claimed. A successful claim proves
// that it is not over, so region and first, stored before it was published, belong to it.
func (p *Pool) claim(worker int, gen uint64) {
	done := 0
	for i := range p.shares {
		from := &p.shares[(worker+i)%len(p.shares)].word
		for {
			w := from.Load()
			next, end := unpack(w)
			if next == end {
				break
			}
			if w != pack(gen, next, end) {
				return // of another generation: this one has no chunk left
			}
			r, first := p.region.Load(), int(p.first.Load())
			count := max(1, (end-next)/claimPart)
			chunk, rest := next, pack(gen, next+count, end)
			if i > 0 {
				chunk, rest = end-count, pack(gen, next, end-count)
			}
			if from.CompareAndSwap(w, rest) {
				p.do(r, worker, first+chunk, count)
				done += count
			}
		}
	}
	if done > 0 {
		p.left.Add(int64(-done))
	}
}

// do runs count chunks from chunk on. If one panics the rest are skipped, and Run panics.
func (p *Pool) do(r *Region, worker, chunk, count int) {
	defer func() {
		if v := recover(); v != nil {
			p.fail(v)
		}
	}()
	for c := range count {
		r.F(worker, chunk+c)
	}
}

// fail keeps the value of the first panic.
func (p *Pool) fail(v any) {
	if err, ok := v.(runtime.Error); ok {
		v = &Fault{err, debug.Stack()}
	}
	p.failed.CompareAndSwap(nil, &v)
}

func (p *Pool) work(w *worker) {
	defer p.wg.Done()
	debug.SetPanicOnFault(true) // weights may be of a mapped file that was truncated
	var last uint64
	for {
		var start time.Time
		for i := 0; ; i++ {
			if gen := p.gen.Load(); gen != last {
				last = gen
				break
			}
			if p.stop.Load() {
				return
			}
			pause(pauses)
			if i > yieldHeld || i > yieldAfter && !p.held.Load() {
				yield()
			}
			if i&63 != 63 {
				continue
			}
			if start.IsZero() {
				start = time.Now()
			} else if d := time.Since(start); d > parkHeld || d > parkAfter && !p.held.Load() {
				p.park(w, last)
				start, i = time.Time{}, 0
			}
		}
		p.claim(w.id, last)
	}
}

// park sleeps until Run, Hold or Close wakes it. The generation is read again
// after parked is set: a Run that did not see parked set changed it before.
func (p *Pool) park(w *worker, last uint64) {
	w.parked.Store(1)
	if p.gen.Load() != last || p.stop.Load() {
		w.stay()
		return
	}
	w.sleep()
	if p.held.Load() {
		leave(int(p.caller.Load()))
	}
}

// Cores returns the number of physical cores this process may use: hyper-
// threads share the units kernels keep busy, so a second one per core only
// adds barriers. Where the topology cannot be read it is the number of CPUs.
// A limit on CPU time (a cgroup's quota) is rounded down: threads that wait for each
// other would all stop when it is used up.
func Cores() int {
	n := runtime.NumCPU()
	if p := physicalCores(); p > 0 && p < n {
		n = p
	}
	if share, limited := cgroup.CPUs(os.DirFS("/")); limited {
		n = min(n, max(1, int(share)))
	}
	return n
}
