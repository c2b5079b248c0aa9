package local

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/engine/graph"
)

// A testEngine loads models that are sizes and nothing else, inside a synctest bubble.
type testEngine struct {
	*Engine
	t  *testing.T
	mu sync.Mutex

	used, most int64
	opened     []string                 // ids, in the order they were loaded
	opening    map[string]chan struct{} // holds a load back until it is closed
	grow       map[string]int64         // memory a model asks for when it has been given its size
	closing    func(id string)          // called before memory is free again
}

type sizedModel struct {
	h    *testEngine
	id   string
	size int64
}

func (m *sizedModel) name() string                   { return m.id }
func (m *sizedModel) bytes() int64                   { return m.size }
func (m *sizedModel) cacheBytes() int64              { return 0 }
func (m *sizedModel) print() string                  { return "" }
func (m *sizedModel) stats(*entry) engine.ModelStats { return engine.ModelStats{} }
func (m *sizedModel) close() {
	if m.h.closing != nil {
		m.h.closing(m.id)
	}
	m.h.take(-m.size)
}

type noDevice struct{ graph.Backend }

func (noDevice) Close() error { return nil }

// newTestEngine makes an Engine with limit bytes of memory for models of these sizes.
func newTestEngine(t *testing.T, limit int64, sizes map[string]int64) *testEngine {
	h := &testEngine{t: t, opening: map[string]chan struct{}{}, grow: map[string]int64{}}
	h.Engine = &Engine{o: engine.Options{MemoryLimit: limit, LoadTimeout: time.Hour, MemoryWait: time.Minute, KeepAlive: -1},
		log: slog.New(slog.DiscardHandler), backend: noDevice{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for id, size := range sizes {
		h.models.fixed = append(h.models.fixed, &entry{id: id, size: size, head: header{kind: engine.KindChat}})
	}
	slices.SortFunc(h.models.fixed, func(a, b *entry) int { return strings.Compare(a.id, b.id) })
	h.Engine.open = h.open
	t.Cleanup(func() {
		if h.most > limit {
			t.Errorf("models took %d bytes of %d", h.most, limit)
		}
		if h.used != 0 {
			t.Errorf("%d bytes are left", h.used)
		}
	})
	return h
}

func (h *testEngine) take(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used += n
	h.most = max(h.most, h.used)
}

func (h *testEngine) open(ctx context.Context, n *entry) (loaded, error) {
	if err := h.makeRoom(ctx, n, n.size); err != nil {
		return nil, err
	}
	size := n.size
	h.take(size)
	h.mu.Lock()
	h.opened = append(h.opened, n.id)
	gate, grow := h.opening[n.id], h.grow[n.id]
	h.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			h.take(-size)
			return nil, ctx.Err()
		}
	}
	if grow > 0 {
		if err := h.makeRoom(ctx, n, size+grow); err != nil {
			h.take(-size)
			return nil, err
		}
		h.take(grow)
		size += grow
	}
	return &sizedModel{h, n.id, size}, nil
}

// A testRequest is a request.
type testRequest struct {
	h      *testEngine
	name   string
	cancel context.CancelFunc
	lease  engine.Lease
	err    error
	in     bool // it has been answered
}

// ask begins a request for a model and lets it come as far as it can.
func (h *testEngine) ask(id, name string) *testRequest {
	h.t.Helper()
	g := &testRequest{h: h, name: name}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go func() {
		lease, err := h.Open(ctx, id)
		h.mu.Lock()
		defer h.mu.Unlock()
		g.lease, g.err, g.in = lease, err, true
	}()
	synctest.Wait()
	return g
}

func (g *testRequest) end() {
	g.lease.Release()
	synctest.Wait()
}

func (g *testRequest) leave() {
	g.cancel()
	synctest.Wait()
}

// state is "served", "waiting" or the code of its error.
func (g *testRequest) state() string {
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	var known *engine.Error
	switch {
	case !g.in:
		return "waiting"
	case g.err == nil:
		return "served"
	case errors.As(g.err, &known):
		return string(known.Code)
	}
	return g.err.Error()
}

func (g *testRequest) want(state string) {
	g.h.t.Helper()
	if got := g.state(); got != state {
		g.h.t.Errorf("request %s is %s (%v), want %s", g.name, got, g.err, state)
	}
}

func (h *testEngine) shut() {
	h.t.Helper()
	if err := h.Close(); err != nil {
		h.t.Error(err)
	}
	if len(h.loads) > 0 || len(h.live) > 0 || h.Engine.closing != 0 {
		h.t.Errorf("after Close there are %d loads, %d models and %d bytes being freed", len(h.loads), len(h.live), h.Engine.closing)
	}
}

func bubble(t *testing.T, limit int64, sizes map[string]int64, test func(h *testEngine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newTestEngine(t, limit, sizes)
		defer h.shut()
		test(h)
	})
}
