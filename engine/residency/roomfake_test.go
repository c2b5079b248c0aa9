package residency

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/engine/catalog"
)

// A testKeeper loads models that are sizes and nothing else, inside a synctest bubble.
type testKeeper struct {
	*Keeper
	t    *testing.T
	lock sync.Mutex

	used, most int64
	opened     []string                 // ids, in the order they were loaded
	opening    map[string]chan struct{} // holds a load back until it is closed
	grow       map[string]int64         // memory a model asks for when it has been given its size
	shutting   func(id string)          // called before memory is free again
}

type sizedModel struct {
	h    *testKeeper
	id   string
	size int64
}

func (m *sizedModel) Bytes() int64             { return m.size }
func (m *sizedModel) Stats() engine.ModelStats { return engine.ModelStats{} }
func (m *sizedModel) Close() {
	if m.h.shutting != nil {
		m.h.shutting(m.id)
	}
	m.h.take(-m.size)
}

// sizes describe models by their names.
type sizes map[string]int64

func (s sizes) Describe(id, path string, _ engine.ModelOptions) (*catalog.About, error) {
	return &catalog.About{Path: path, ModelInfo: engine.ModelInfo{Kind: engine.KindChat, SizeBytes: s[id]}}, nil
}
func (sizes) IsFile(string) bool                  { return false }
func (sizes) IsFolder(string, []fs.DirEntry) bool { return false }

// newTestKeeper makes a Keeper with limit bytes of memory for models of these sizes.
func newTestKeeper(t *testing.T, limit int64, list map[string]int64) *testKeeper {
	h := &testKeeper{t: t, opening: map[string]chan struct{}{}, grow: map[string]int64{}}
	o := catalog.Options{Kinds: sizes(list), Options: engine.Options{MemoryLimit: limit, LoadTimeout: time.Hour, MemoryWait: time.Minute, KeepAlive: -1, Log: slog.New(slog.DiscardHandler)}}
	for _, id := range slices.Sorted(maps.Keys(list)) {
		o.Models = append(o.Models, engine.ModelOptions{Name: id, Path: id})
	}
	c, err := catalog.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.Keeper = New(Options{Options: o.Options, Open: h.load, Catalog: c})
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

func (h *testKeeper) take(n int64) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.used += n
	h.most = max(h.most, h.used)
}

// find returns a model's entry, and place where it is kept.
func (h *testKeeper) find(id string) *catalog.Entry { return h.o.Catalog.Find(id) }
func (h *testKeeper) place(id string) *resident     { return h.resident(h.find(id)) }

func (h *testKeeper) load(ctx context.Context, n *catalog.Entry, l *Load) (Model, error) {
	size := n.About().SizeBytes
	if err := l.Room(ctx, size); err != nil {
		return nil, err
	}
	h.take(size)
	h.lock.Lock()
	h.opened = append(h.opened, n.ID)
	gate, grow := h.opening[n.ID], h.grow[n.ID]
	h.lock.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			h.take(-size)
			return nil, ctx.Err()
		}
	}
	if grow > 0 {
		if err := l.Room(ctx, size+grow); err != nil {
			h.take(-size)
			return nil, err
		}
		h.take(grow)
		size += grow
	}
	return &sizedModel{h, n.ID, size}, nil
}

// A testRequest is a request.
type testRequest struct {
	h      *testKeeper
	name   string
	cancel context.CancelFunc
	lease  *Lease
	err    error
	in     bool // it has been answered
}

// ask begins a request for a model and lets it come as far as it can.
func (h *testKeeper) ask(id, name string) *testRequest {
	h.t.Helper()
	g := &testRequest{h: h, name: name}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go func() {
		lease, err := h.Acquire(ctx, h.find(id))
		h.lock.Lock()
		defer h.lock.Unlock()
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
	g.h.lock.Lock()
	defer g.h.lock.Unlock()
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

func (h *testKeeper) shut() {
	h.t.Helper()
	h.Close()
	if len(h.loads) > 0 || len(h.live) > 0 || h.closing != 0 {
		h.t.Errorf("after Close there are %d loads, %d models and %d bytes being freed", len(h.loads), len(h.live), h.closing)
	}
}

func bubble(t *testing.T, limit int64, sizes map[string]int64, test func(h *testKeeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newTestKeeper(t, limit, sizes)
		defer h.shut()
		test(h)
	})
}
