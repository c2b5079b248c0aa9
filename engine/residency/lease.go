package residency

import (
	"time"

	"quern/engine"
	"quern/engine/catalog"
)

// A Lease is a model kept in memory for one request. Keeper.mu guards the fields that change.
type Lease struct {
	*catalog.Entry
	Model Model

	k    *Keeper
	r    *resident
	work int  // actions under way, which keep the model beyond Release
	over bool // released
}

// Release ends the lease. It may be called more than once. Actions under way keep the
// model until they end.
func (l *Lease) Release() {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	if !l.over {
		l.over = true
		l.settle()
	}
}

// settle releases the model when the lease is over and no action runs. Keeper.mu is held.
func (l *Lease) settle() {
	if l.over && l.work == 0 {
		l.k.release(l.r)
	}
}

// Stay implements engine.Lease.
func (l *Lease) Stay(keep time.Duration) {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	if !l.over {
		l.r.keepFor = &keep
	}
}

// Use begins an action, which keeps the model until done is called. keep, if not nil, is how
// long the model stays once it is idle.
func (l *Lease) Use(keep *time.Duration) (done func(), err error) {
	l.k.mu.Lock()
	defer l.k.mu.Unlock()
	if l.over {
		return nil, engine.Errorf(engine.CodeEngineFailure, "", "the request has given model %q back", l.ID)
	}
	if keep != nil {
		l.r.keepFor = keep
	}
	l.work++
	return func() {
		l.k.mu.Lock()
		defer l.k.mu.Unlock()
		l.work--
		l.settle()
	}, nil
}
