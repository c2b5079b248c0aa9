package sched

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// masks makes the Masks of a step's draws while the engine computes the step: they
// depend on tokens only. It uses idle processors; a draw whose Mask is not made yet
// makes it, so that a row waits for at most the one Mask in work.
type masks struct {
	draws  []draw
	next   atomic.Int64 // of draws
	greedy bool         // those of greedy draws too
	asked  bool         // Exec has called Allow: it ranks the allowed tokens
	help   func()       // work, by a goroutine of its own
	wg     sync.WaitGroup
}

// start begins with the Masks of draws, which must stay as they are until wait.
func (m *masks) start(draws []draw) {
	n := 0
	m.greedy = m.asked
	for i := range draws {
		if draws[i].early(m.greedy) {
			n++
		}
	}
	if n == 0 {
		return
	}
	if m.help == nil {
		m.help = func() {
			defer m.wg.Done()
			m.work()
		}
	}
	m.draws = draws
	m.next.Store(0)
	for range min(n, runtime.GOMAXPROCS(0)) {
		m.wg.Add(1)
		go m.help()
	}
}

func (m *masks) work() {
	for {
		i := int(m.next.Add(1)) - 1
		if i >= len(m.draws) {
			return
		}
		if d := &m.draws[i]; d.early(m.greedy) {
			d.bits()
		}
	}
}

// wait returns when no goroutine uses the draws any more.
func (m *masks) wait() {
	m.wg.Wait()
	m.draws = nil
}

// early reports whether the Mask of d may be made before its logits are there. Greedy
// draws seldom need it but for an engine that ranks.
func (d *draw) early(greedy bool) bool {
	return d.q.Mask != nil && d.q.done && (greedy || d.q.Sample.Temperature > 0)
}

// bits are those of the Mask of d, nil if it has none or the draw is over.
func (d *draw) bits() []uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.guard()
	if !d.drawn && d.err == nil && d.words == nil {
		d.begin()
		d.words, d.err = d.sampler.Bits()
	}
	return d.words
}

// allow returns the mask of wanted row i. It is Batch.Allow.
func (s *Scheduler) allow(i int) []uint32 {
	s.masks.asked = true
	return s.draws.all[s.draws.first[i]].bits()
}
