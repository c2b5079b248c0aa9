package guard

import "sync"

// A Gate counts work in flight and can be closed to new work.
type Gate struct {
	mu     sync.Mutex
	closed bool
	n      int
	idle   chan struct{} // made by close, closed when n is 0
}

// Enter reports whether work may begin; each true needs one leave.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.n++
	return true
}

// Leave ends what an Enter began.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.closed && g.n == 0 {
		close(g.idle)
	}
}

// Close refuses new work and returns a channel that is closed when the last
// work has left. Only one caller may close a gate.
func (g *Gate) Close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.idle = make(chan struct{})
	if g.n == 0 {
		close(g.idle)
	}
	return g.idle
}

// IsClosed reports whether new work is refused.
func (g *Gate) IsClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}
