package local

import (
	"context"
	"slices"
	"time"

	"quern/engine"
)

// A lease implements engine.Lease. Engine.mu guards what changes.
type lease struct {
	e     *Engine
	n     *entry
	model loaded
	info  engine.ModelInfo

	work int  // actions under way, which keep the model beyond Release
	over bool // released
}

// Open finds the model a request names, as lookup does, makes it resident and keeps
// it so until the lease is released. kinds are what the request may be answered
// by, the best first; without kinds any model will do. It waits for a load at most
// Options.LoadTimeout, and of that for memory that other models use at most
// Options.MemoryWait. Loads of one model are shared.
func (e *Engine) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.acquire(ctx, name, kinds)
	if err != nil {
		return nil, err
	}
	return &lease{e: e, n: n, model: n.model, info: n.info()}, nil
}

func (l *lease) Info() engine.ModelInfo    { return l.info }
func (l *lease) Defaults() engine.Sampling { return l.n.o.Sampling }

// Release implements engine.Lease. Actions under way keep the model until they end.
func (l *lease) Release() {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	if !l.over {
		l.over = true
		l.settle()
	}
}

// settle gives the model back when nothing needs it any more. Engine.mu is held.
func (l *lease) settle() {
	if l.over && l.work == 0 {
		l.e.release(l.n)
	}
}

// use returns the model of a lease for an action that takes an M of a kind ("" for
// any), and notes how long the request wants it to stay. done ends the action.
func use[M loaded](l *lease, kind engine.Kind, keep *time.Duration) (m M, done func(), err error) {
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	m, ok := l.model.(M)
	switch {
	case l.over:
		return m, nil, engine.Errorf(engine.CodeEngineFailure, "", "the request has given model %q back", l.n.id)
	case !ok || !l.n.head.serves(kind):
		return m, nil, errKind(&l.n.head, l.n.id, kind)
	}
	if keep != nil {
		l.n.keepFor = keep
	}
	l.work++
	return m, func() {
		l.e.mu.Lock()
		defer l.e.mu.Unlock()
		l.work--
		l.settle()
	}, nil
}

// errKind refuses a model for what it cannot do.
func errKind(h *header, id string, kinds ...engine.Kind) error {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k engine.Kind) bool { return k == "" })
	if len(kinds) == 0 {
		return engine.Errorf(engine.CodeModelNotSupported, "model", "model %q is of type %s and cannot be used for this", id, h.kind)
	}
	hint := ""
	if h.kind == engine.KindCompletion && kinds[0] == engine.KindChat {
		hint = "; it has no chat template, so use /v1/completions"
	}
	return engine.Errorf(engine.CodeModelNotSupported, "model", "model %q is of type %s, and this endpoint needs %s%s", id, h.kind, kinds[0], hint)
}
