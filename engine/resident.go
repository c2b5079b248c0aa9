package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"quern/engine/chat"
	"quern/engine/model"
	"quern/engine/token"
)

// A resident is the part of an entry that changes: whether the model is
// loaded, who uses it, and when it may go. Engine.mu guards it.
type resident struct {
	model       loaded
	loading     *load
	failed      bool
	complaint   complaint
	lost        bool // the device has failed; goes when users is 0
	fingerprint string
	users       int
	used        time.Time      // when the last user left
	idle        *time.Timer    // unloads after keep-alive; nil while in use
	keepFor     *time.Duration // what the last request asked for; nil: as configured
}

// detach takes the loaded model, if any, from its entry and returns it; the
// caller closes it without Engine.mu, which is held now.
func (r *resident) detach() loaded {
	m := r.model
	r.model = nil
	if r.idle != nil {
		r.idle.Stop()
		r.idle = nil
	}
	return m
}

// A load is one attempt to make a model resident, shared by all who wait.
type load struct {
	done chan struct{}
	err  error

	// Of a model that is being fetched: since when, and how many bytes.
	fetching       atomic.Bool
	start          time.Time
	fetched, total atomic.Int64
}

// waiting is what a request hears that has waited for as long as it may.
func (l *load) waiting(id string, timeout time.Duration) error {
	if !l.fetching.Load() {
		return errorf(CodeLoadTimeout, "", "model %q was not loaded within load_timeout (%s); it goes on loading", id, timeout)
	}
	done, total := l.fetched.Load(), max(1, l.total.Load())
	left := time.Minute
	if done > 0 {
		left = time.Duration(float64(time.Since(l.start)) * float64(total-done) / float64(done))
	}
	return &Error{Code: CodeModelLoading, RetryAfter: min(max(left, 5*time.Second), 5*time.Minute).Round(time.Second),
		Message: fmt.Sprintf("model %q is being fetched, %d %% of %s are here; try again later", id, done*100/total, mebibytes(total))}
}

func (r *resident) status() string {
	switch {
	case r.model != nil:
		return "loaded"
	case r.loading != nil:
		return "loading"
	case r.failed:
		return "failed"
	}
	return "unloaded"
}

// acquire makes the model resident and keeps it so until release is called.
// It waits for a load at most Options.LoadTimeout; the load itself goes on.
func (e *Engine) acquire(ctx context.Context, name string, kind Kind) (m loaded, release func(), err error) {
	// A little less, since callers have deadlines of the same length and know
	// less of what is waited for.
	deadline := time.NewTimer(e.o.LoadTimeout - e.o.LoadTimeout/100)
	defer deadline.Stop()
	for {
		e.mu.Lock()
		if e.ctx.Err() != nil {
			e.mu.Unlock()
			return nil, nil, errShuttingDown()
		}
		n, err := e.lookup(name, kind)
		if err != nil {
			e.mu.Unlock()
			return nil, nil, err
		}
		if n.lost {
			e.mu.Unlock()
			return nil, nil, errLost(n.id)
		}
		if n.model != nil {
			n.users++
			if n.idle != nil {
				n.idle.Stop()
				n.idle = nil
			}
			m := n.model
			e.mu.Unlock()
			return m, func() { e.release(n) }, nil
		}
		l := n.loading
		if l == nil {
			l = &load{done: make(chan struct{}), start: time.Now()}
			n.loading = l
			e.work.Add(1)
			go func() {
				defer e.work.Done()
				e.load(ctx, n, l)
			}()
		}
		e.mu.Unlock()
		select {
		case <-l.done:
			if l.err != nil {
				return nil, nil, l.err
			}
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-deadline.C:
			return nil, nil, l.waiting(n.id, e.o.LoadTimeout)
		}
	}
}

func errShuttingDown() error {
	return &Error{Code: CodeShuttingDown, Message: "the server is shutting down", RetryAfter: 5 * time.Second}
}

func (e *Engine) release(n *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n.users--
	n.used = time.Now()
	switch {
	case n.users > 0:
	case n.lost:
		e.bury(n)
	default:
		e.keep(n)
	}
}

// keep starts the idle time of a model nobody uses. Engine.mu is held.
func (e *Engine) keep(n *entry) {
	after := cmp.Or(n.o.KeepAlive, e.o.KeepAlive)
	if n.keepFor != nil {
		after = *n.keepFor
	}
	if after < 0 || n.model == nil {
		return
	}
	m := n.model
	n.idle = time.AfterFunc(after, func() {
		e.mu.Lock()
		gone := n.users == 0 && n.model == m
		if gone {
			n.model, n.idle = nil, nil
		}
		e.mu.Unlock()
		if gone {
			m.close()
			e.log.Info("model unloaded", "model", n.id, "idle", after)
		}
	})
}

// setKeepAlive notes how long a request wants its model to stay. The model is in
// use.
func (e *Engine) setKeepAlive(m loaded, d *time.Duration) {
	if d == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.find(m.name()); n != nil {
		n.keepFor = d
	}
}

// Unload releases a model's memory. A model in use is refused; one that is not
// loaded is no error.
func (e *Engine) Unload(name string) error {
	e.mu.Lock()
	n, err := e.lookup(name, "")
	if err != nil {
		e.mu.Unlock()
		return err
	}
	if n.users > 0 || n.loading != nil {
		e.mu.Unlock()
		return errorf(CodeInvalidValue, "model", "model %q is in use; unload it when its requests have ended", n.id)
	}
	m := n.detach()
	e.mu.Unlock()
	if m != nil {
		m.close()
		e.log.Info("model unloaded", "model", n.id, "on", "request")
	}
	return nil
}

// load makes n resident. It runs in a goroutine of its own. first is the context of
// the request that came first: the log names it, but its end does not end the load.
func (e *Engine) load(first context.Context, n *entry, l *load) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(first))
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	start := time.Now()
	err := e.fetch(ctx, n, l)
	var m loaded
	if err == nil {
		m, err = e.openModel(ctx, n)
	}
	e.mu.Lock()
	if err == nil && e.ctx.Err() != nil { // Close has collected what was loaded before
		e.mu.Unlock()
		m.close()
		e.mu.Lock()
		err = errShuttingDown()
	}
	n.loading = nil
	n.failed = err != nil
	if err == nil {
		n.model, n.fingerprint, n.complaint = m, m.print(), complaint{}
		e.keep(n)
	}
	e.mu.Unlock()
	if err != nil {
		l.err = loadError(n.id, err)
		e.logFailedLoad(ctx, n, err, l.err)
	} else {
		e.log.InfoContext(ctx, "model loaded", "model", n.id, "bytes", n.size, "kv_bytes", m.cacheBytes(), "took", time.Since(start))
	}
	close(l.done)
}

// fetch brings a model to this machine that is not here yet.
func (e *Engine) fetch(ctx context.Context, n *entry, l *load) error {
	if !n.remote { // only fetch, which runs once at a time, changes it
		return nil
	}
	e.log.InfoContext(ctx, "fetching model", "model", n.id)
	l.fetching.Store(true)
	defer l.fetching.Store(false)
	path, err := n.o.Fetch(ctx, func(done, total int64) {
		l.fetched.Store(done)
		l.total.Store(total)
		if total > 0 {
			e.progress(n.id, loadStart*float64(done)/float64(total))
		}
	})
	if err != nil {
		return err
	}
	here, err := newEntry(n.id, path, n.o)
	if err != nil {
		return err
	}
	e.mu.Lock()
	n.path, n.remote, n.created, n.size, n.head = here.path, false, here.created, here.size, here.head
	e.mu.Unlock()
	e.log.InfoContext(ctx, "model fetched", "model", n.id, "bytes", here.size, "took", time.Since(l.start))
	return nil
}

// loadError is what clients hear of a failed load. Messages of our own readers
// name tensors and keys, never paths; the system's messages name paths.
func loadError(id string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	why := "the server's log says why"
	for _, own := range []error{model.ErrFormat, model.ErrUnsupported, token.ErrFormat, token.ErrUnsupported, chat.ErrFormat, chat.ErrUnsupported} {
		if errors.Is(err, own) {
			why = err.Error()
		}
	}
	return &Error{Code: CodeEngineFailure, Message: fmt.Sprintf("model %q cannot be loaded: %s", id, why), Err: err}
}

// makeRoom unloads idle models, the longest unused first, until need more bytes
// fit the memory limit. A model in use is never unloaded.
func (e *Engine) makeRoom(ctx context.Context, id string, need int64) error {
	for {
		e.mu.Lock()
		var total int64
		var oldest *entry
		for _, n := range e.allLocked() {
			if n.model == nil {
				continue
			}
			total += n.model.bytes()
			if n.users == 0 && (oldest == nil || n.used.Before(oldest.used)) {
				oldest = n
			}
		}
		if total+need <= e.o.MemoryLimit {
			e.mu.Unlock()
			return nil
		}
		if oldest == nil {
			e.mu.Unlock()
			return errorf(CodeOutOfMemory, "", "model %q needs %s and %s of memory_limit (%s) are in use; lower context_length, slots or cache_memory, or raise memory_limit",
				id, mebibytes(need), mebibytes(total), mebibytes(e.o.MemoryLimit))
		}
		m := oldest.detach()
		e.mu.Unlock()
		m.close()
		e.log.InfoContext(ctx, "model unloaded", "model", oldest.id, "to make room for", id)
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// allLocked returns every entry that may be resident. Engine.mu is held.
func (e *Engine) allLocked() []*entry {
	list := append([]*entry(nil), e.fixed...)
	for _, f := range e.folders {
		for _, n := range f.entries {
			if n != nil {
				list = append(list, n)
			}
		}
	}
	return append(list, e.builtin, e.voice)
}
