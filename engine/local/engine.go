// Package local is the engine of this machine: it finds models, keeps them in
// memory while they are asked for, and answers requests with them.
package local

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/tts"
)

// An Engine owns the loaded models.
type Engine struct {
	o      engine.Options
	log    *slog.Logger
	ctx    context.Context // of all work; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // loads and schedulers

	backend graph.Backend
	device  string

	texts *budget.Budget // of text in work

	pronouncer func() (*tts.Pronouncer, error) // unpacked when first asked for

	models catalog

	mu      sync.Mutex                                    // guards what follows, and the residents of entries
	open    func(context.Context, *entry) (loaded, error) // openModel, but for tests
	live    []*entry                                      // whose models are loaded
	loads   []*load                                       // under way
	tickets int64
	lookups int   // of models by name, for a test
	closing int64 // bytes of models that are being closed
}

// New makes an Engine. It reads the headers of what Options lists and loads
// nothing; models marked Preload are loaded by Preload.
func New(o engine.Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.LoadTimeout = cmp.Or(o.LoadTimeout, engine.DefaultLoadTimeout)
	o.MemoryWait = cmp.Or(o.MemoryWait, engine.DefaultMemoryWait)
	o.KeepAlive = cmp.Or(o.KeepAlive, engine.DefaultKeepAlive)
	e := &Engine{o: o, log: o.Log, texts: &budget.Budget{Total: textBudget, Least: textLeast, Reserve: textReserve}, pronouncer: sync.OnceValues(func() (*tts.Pronouncer, error) { return tts.NewPronouncer(nil) })}
	e.open = e.openModel
	e.models.always, e.models.defaulted, e.models.log = o.Builtin, o.Defaulted, o.Log
	if err := e.configure(); err != nil {
		return nil, err
	}
	e.models.refresh()
	if err := e.checkVoiceAliases(); err != nil {
		return nil, err
	}
	backend, name, err := device.Open(o.Device, device.Options{Threads: o.Threads, Layers: o.GPULayers, Log: o.Log})
	if err != nil {
		return nil, err
	}
	e.backend, e.device = backend, name
	if e.o.MemoryLimit <= 0 {
		e.o.MemoryLimit = backend.Memory()
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.mu.Lock()
	defer e.mu.Unlock()
	for to := range o.Aliases {
		if e.find(o.Aliases[to]) == nil {
			e.log.Warn("alias of a model that is not there", "alias", to, "model", o.Aliases[to])
		}
	}
	for kind, name := range o.Defaults {
		if _, err := e.lookup(name, kind); err != nil {
			e.log.Warn("default that cannot be used", "kind", kind, "model", name, "err", err)
		}
	}
	return e, nil
}

// Device names what models run on: "cpu" or "cuda".
func (e *Engine) Device() string { return e.device }

// Preload loads the models marked so, one after another. Readiness waits for
// it.
func (e *Engine) Preload(ctx context.Context) error {
	e.models.refresh()
	for _, n := range e.models.list() {
		if !n.o.Preload {
			continue
		}
		l, err := e.Open(ctx, n.id)
		if err != nil {
			return err
		}
		l.Release()
	}
	return nil
}

// Close cancels all work, waits for it and releases every model.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.cancel()
	var shut []func()
	for _, n := range slices.Clone(e.live) {
		shut = append(shut, e.detach(n))
	}
	e.mu.Unlock()
	for _, shut := range shut {
		shut()
	}
	e.work.Wait()
	return e.backend.Close()
}

// Stats takes a snapshot of the resident models.
func (e *Engine) Stats() engine.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	var s engine.Stats
	for _, n := range e.models.list() {
		if n.model != nil {
			m := n.model.stats(n)
			m.Waiting += n.waiting()
			s.Models = append(s.Models, m)
		}
	}
	return s
}
