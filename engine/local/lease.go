package local

import (
	"context"
	"sync"
)

// A Lease keeps a model resident between the calls of one request, which would
// else have to wait again where others want its memory. The zero Lease keeps none.
type Lease struct {
	model   loaded
	release func()
}

// Lease makes a model resident as Load does, and keeps it so until the Lease is
// released.
func (e *Engine) Lease(ctx context.Context, name string) (Lease, error) {
	m, release, err := e.acquire(ctx, name, "")
	if err != nil {
		return Lease{}, err
	}
	return Lease{m, sync.OnceFunc(release)}, nil
}

// Release ends the lease. It may be called more than once.
func (l Lease) Release() {
	if l.release != nil {
		l.release()
	}
}

type leaseKey struct{}

// Context returns a context whose calls use the model though others wait for its
// memory: the lease would keep them waiting, and they the lease.
func (l Lease) Context(ctx context.Context) context.Context {
	if l.model == nil {
		return ctx
	}
	return context.WithValue(ctx, leaseKey{}, l.model)
}

// leased reports whether ctx has a lease of m.
func leased(ctx context.Context, m loaded) bool {
	held, _ := ctx.Value(leaseKey{}).(loaded)
	return held == m
}
