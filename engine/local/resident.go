package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/chat"
	"quern/engine/model"
	"quern/engine/token"
)

// A resident is the part of an entry that changes: whether the model is
// loaded, who uses it, and when it may go. Engine.mu guards it.
type resident struct {
	model       loaded
	leaves      *load // has to have its memory: new requests queue behind it; nil: the model may stay
	loading     *load
	failed      bool
	complaint   complaint
	lost        bool // the device has failed; goes when users is 0
	fingerprint string
	users       int
	inner       int            // users that belong to a request which has a lease
	used        time.Time      // when the last user left
	idle        *time.Timer    // unloads after keep-alive; nil while in use
	keepFor     *time.Duration // what the last request asked for; nil: as configured
}

// stay stops the idle time of a model.
func (r *resident) stay() {
	if r.idle != nil {
		r.idle.Stop()
		r.idle = nil
	}
}

// A load is one attempt to make a model resident, shared by all who wait for it.
// Engine.mu guards it but for what is fetched.
type load struct {
	n       *entry
	ticket  int64   // of the first request that waits: loads are served in that order
	waiters []int64 // tickets of the requests that wait
	cancel  context.CancelFunc
	ended   bool
	done    chan struct{} // closed when it has ended; then err does not change
	err     error

	// What it waits for.
	again     bool          // the model is loaded and may have to go for others first
	need, has int64         // bytes of memory it waits for, and those it was given
	behind    bool          // models in use hold what it needs
	since     time.Time     // since when it waits; zero while it does not
	turn      chan struct{} // closed when it need not wait any more

	// Of a model that is being fetched: since when, and how many bytes.
	fetching       atomic.Bool
	start          time.Time
	fetched, total atomic.Int64
}

// waiting is what a request hears that has waited for as long as it may.
func (l *load) waiting(id string, timeout time.Duration) error {
	if !l.fetching.Load() {
		return engine.Errorf(engine.CodeLoadTimeout, "", "model %q was not loaded within load_timeout (%s); it goes on loading", id, timeout)
	}
	done, total := l.fetched.Load(), max(1, l.total.Load())
	left := time.Minute
	if done > 0 {
		left = time.Duration(float64(time.Since(l.start)) * float64(total-done) / float64(done))
	}
	return &engine.Error{Code: engine.CodeModelLoading, RetryAfter: min(max(left, 5*time.Second), 5*time.Minute).Round(time.Second),
		Message: fmt.Sprintf("model %q is being fetched, %d %% of %s are here; try again later", id, done*100/total, engine.MiB(total))}
}

// proceed lets a load go on. Engine.mu is held.
func (l *load) proceed() {
	if l.turn != nil {
		close(l.turn)
		l.turn = nil
	}
}

// waiting is how many requests wait for a load of the model.
func (r *resident) waiting() int {
	if r.loading == nil {
		return 0
	}
	return len(r.loading.waiters)
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

// acquire makes a model resident that answers one of kinds, and has a request among
// its users. Engine.mu is held, but not while it waits.
func (e *Engine) acquire(ctx context.Context, name string, kinds []engine.Kind) (*entry, error) {
	if e.ctx.Err() != nil {
		return nil, errShuttingDown()
	}
	n, err := e.lookup(name, kinds...)
	if err != nil {
		return nil, err
	}
	switch {
	case n.lost:
		return nil, errLost(n.id)
	case n.model != nil && n.leaves == nil:
		n.users++
		n.stay()
	default:
		if err := e.await(ctx, n); err != nil {
			return nil, err
		}
		// What was fetched may be of another kind than it seemed.
		if err := n.answers(kinds); err != nil {
			e.release(n)
			return nil, err
		}
		if n.model == nil {
			e.release(n)
			return nil, errShuttingDown()
		}
	}
	return n, nil
}

// await joins the load of a model, or begins it, and returns when the model is
// resident and has this request among its users. Engine.mu is held, but not while
// it waits.
func (e *Engine) await(ctx context.Context, n *entry) error {
	l := n.loading
	if l == nil {
		l = e.begin(ctx, n)
	}
	if most := n.admits(); len(l.waiters) >= most {
		return &engine.Error{Code: engine.CodeQueueFull, RetryAfter: busyRetry,
			Message: fmt.Sprintf("%d requests wait until model %q is loaded, as many as its slots and queue allow; try again later", most, n.id)}
	}
	e.tickets++
	ticket, arrived := e.tickets, time.Now()
	if l.waiters = append(l.waiters, ticket); len(l.waiters) == 1 {
		l.ticket = ticket
	}
	e.mu.Unlock()
	// A little less, since callers have deadlines of the same length and know
	// less of what is waited for.
	deadline := time.NewTimer(e.o.LoadTimeout - e.o.LoadTimeout/100)
	defer deadline.Stop()
	patience := time.NewTimer(e.o.MemoryWait)
	defer patience.Stop()
	for {
		select {
		case <-l.done:
			e.mu.Lock()
			return l.err
		case <-ctx.Done():
			e.mu.Lock()
			return e.leave(l, ticket, ctx.Err())
		case <-deadline.C:
			e.mu.Lock()
			if !l.since.IsZero() {
				return e.leave(l, ticket, e.errBusy(l))
			}
			return e.leave(l, ticket, l.waiting(n.id, e.o.LoadTimeout))
		case <-patience.C:
			e.mu.Lock()
			waited := l.waitedFor(arrived)
			if waited >= e.o.MemoryWait {
				return e.leave(l, ticket, e.errBusy(l))
			}
			e.mu.Unlock()
			if waited > 0 {
				patience.Reset(e.o.MemoryWait - waited)
			} else { // it may wait yet
				patience.Reset(max(e.o.MemoryWait, time.Second))
			}
		}
	}
}

// leave takes a request from a load that it does not wait for any longer, because
// of err. The load takes its place after those who came before the next request. One
// that nobody waits for goes on, unless it waits for memory itself. Engine.mu is held.
func (e *Engine) leave(l *load, ticket int64, err error) error {
	if l.ended {
		if l.err == nil {
			e.release(l.n)
		}
		return err
	}
	l.waiters = slices.DeleteFunc(l.waiters, func(t int64) bool { return t == ticket })
	switch {
	case len(l.waiters) > 0:
		l.ticket = l.waiters[0]
	case !l.since.IsZero():
		l.cancel()
		l.n.loading = nil // whoever comes now begins another
		l.again, l.need = false, 0
	}
	e.arrange()
	return err
}

// admits is how many requests may be with a model, those that wait included.
func (n *entry) admits() int {
	o := n.o.Defaulted()
	if n.sound() {
		return 1 + o.Queue
	}
	return o.Slots + o.Queue
}

// sound reports whether a model speaks or listens, one request after the other.
func (n *entry) sound() bool {
	return n.head.kind == engine.KindSpeech || n.head.kind == engine.KindTranscription
}

func errShuttingDown() error {
	return &engine.Error{Code: engine.CodeShuttingDown, Message: "the server is shutting down", RetryAfter: 5 * time.Second}
}

// release takes a user from a model. Engine.mu is held.
func (e *Engine) release(n *entry) {
	n.users--
	n.used = time.Now()
	if n.users > 0 || n.model == nil {
		return
	}
	if n.lost {
		e.unload(n, "on", "device failure")
	} else {
		e.keep(n)
	}
	e.arrange()
}

// keep starts the idle time of a model nobody uses. Engine.mu is held.
func (e *Engine) keep(n *entry) {
	after := cmp.Or(n.o.KeepAlive, e.o.KeepAlive)
	if n.keepFor != nil {
		after = *n.keepFor
	}
	if after < 0 {
		return
	}
	m := n.model
	n.stay()
	n.idle = time.AfterFunc(after, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if n.users == 0 && n.model == m {
			e.unload(n, "idle", after)
		}
	})
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
		return engine.Errorf(engine.CodeInvalidValue, "model", "model %q is in use; unload it when its requests have ended", n.id)
	}
	if n.model == nil {
		e.mu.Unlock()
		return nil
	}
	shut := e.detach(n)
	e.mu.Unlock()
	shut()
	e.log.Info("model unloaded", "model", n.id, "on", "request")
	return nil
}

// begin starts a load of n. first is the context of the request that came first:
// the log names it, but its end does not end the load. Engine.mu is held.
func (e *Engine) begin(first context.Context, n *entry) *load {
	ctx, cancel := context.WithCancel(context.WithoutCancel(first))
	stop := context.AfterFunc(e.ctx, cancel)
	l := &load{n: n, cancel: cancel, done: make(chan struct{}), start: time.Now(), again: n.model != nil}
	n.loading = l
	e.loads = append(e.loads, l)
	var turn <-chan struct{}
	if l.again {
		turn = l.wait()
	}
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		defer cancel()
		defer stop()
		if turn != nil {
			select {
			case <-turn:
			case <-ctx.Done():
			}
		}
		e.load(ctx, l)
	}()
	return l
}

// load makes l's model resident unless it has stayed so.
func (e *Engine) load(ctx context.Context, l *load) {
	e.mu.Lock()
	ended := l.ended
	e.mu.Unlock()
	if ended {
		return
	}
	n := l.n
	start := time.Now()
	m, err := e.bring(ctx, l)
	gone := ctx.Err() != nil && e.ctx.Err() == nil
	switch {
	case err == nil:
		e.log.InfoContext(ctx, "model loaded", "model", n.id, "bytes", n.size, "kv_bytes", m.cacheBytes(), "took", time.Since(start))
	case gone:
		e.log.InfoContext(ctx, "model not loaded", "model", n.id, "why", "nobody waits any more for the memory it needs")
	default:
		told := loadError(n.id, err)
		e.logFailedLoad(ctx, n, err, told)
		err = told
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && (e.ctx.Err() != nil || n.loading != l) { // Close has collected what was loaded before
		e.mu.Unlock()
		m.close()
		e.mu.Lock()
		m, err = nil, context.Canceled
	}
	if e.ctx.Err() != nil {
		err = errShuttingDown()
	}
	e.end(l, m, err)
	e.arrange()
}

// bring fetches and opens a model.
func (e *Engine) bring(ctx context.Context, l *load) (loaded, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.fetch(ctx, l.n, l); err != nil {
		return nil, err
	}
	return e.open(ctx, l.n)
}

// end hands the model to the requests that waited for l: m, or what is loaded where
// m is nil. Engine.mu is held.
func (e *Engine) end(l *load, m loaded, err error) {
	n := l.n
	l.ended, l.err = true, err
	l.has, l.need, l.again = 0, 0, false
	e.loads = slices.DeleteFunc(e.loads, func(x *load) bool { return x == l })
	if n.loading == l {
		n.loading = nil
		n.failed = err != nil && e.ctx.Err() == nil
	}
	if err == nil {
		if m != nil {
			n.model, n.fingerprint, n.complaint = m, m.print(), complaint{}
			e.live = append(e.live, n)
		}
		n.users += len(l.waiters)
		n.used = time.Now()
		n.stay()
		if n.users == 0 {
			e.keep(n)
		}
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
	var known *engine.Error
	if errors.As(err, &known) {
		return known
	}
	why := "the server's log says why"
	for _, own := range []error{model.ErrFormat, model.ErrUnsupported, token.ErrFormat, token.ErrUnsupported, chat.ErrFormat, chat.ErrUnsupported} {
		if errors.Is(err, own) {
			why = err.Error()
		}
	}
	return &engine.Error{Code: engine.CodeEngineFailure, Message: fmt.Sprintf("model %q cannot be loaded: %s", id, why), Err: err}
}
