//go:build !linux

package threads

import (
	"runtime"
	"sync/atomic"
)

func cpuNow() int { return -1 }

func leave(int) {}

func physicalCores() int { return 0 }

// A sleeper is where a worker parks.
type sleeper struct {
	parked atomic.Uint32
	woken  chan struct{} // one message for each time wake cleared parked
}

func newSleeper() *sleeper { return &sleeper{woken: make(chan struct{}, 1)} }

// sleep returns once wake has been called after parked was set.
func (s *sleeper) sleep() { <-s.woken }

// wake ends sleep; it reports whether the worker was parked.
func (s *sleeper) wake() bool {
	if !s.parked.CompareAndSwap(1, 0) {
		return false
	}
	s.woken <- struct{}{}
	return true
}

// stay clears parked again.
func (s *sleeper) stay() {
	if !s.parked.CompareAndSwap(1, 0) {
		<-s.woken
	}
}

func osYield() { runtime.Gosched() }
