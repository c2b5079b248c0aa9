package residency

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"quern/engine"
	"quern/engine/rescue"
)

// A Load is one attempt to make a model resident, shared by all requests that wait for it.
// Keeper.mu guards it, but for fetched and total.
type Load struct {
	k       *Keeper
	n       *resident
	ticket  int64   // of the first request that waits: loads are served in that order
	waiters []int64 // tickets of the requests that wait
	cancel  context.CancelFunc
	files   []file // of the model, as they were before it was opened
	ended   bool
	done    chan struct{} // closed when it has ended; then err does not change
	err     error

	// Its wait for memory.
	again     bool          // the model is loaded and may have to be unloaded for other loads first
	need, has int64         // bytes of memory it waits for, and those it has
	behind    bool          // models in use hold the memory it needs
	since     time.Time     // since when it waits; zero while it does not
	turn      chan struct{} // closed when it need not wait any more

	// Of a model that is being fetched: since when, and how many bytes.
	fetching       atomic.Bool
	start          time.Time
	fetched, total atomic.Int64
}

// waiting is the error of a request whose time to wait is over.
func (l *Load) waiting(id string, timeout time.Duration) error {
	if !l.fetching.Load() {
		return engine.Errorf(engine.CodeLoadTimeout, "", "model %q was not loaded within load_timeout (%s); it goes on loading", id, timeout)
	}
	done, total := l.fetched.Load(), max(1, l.total.Load())
	left := time.Minute
	if done > 0 {
		left = time.Duration(float64(time.Since(l.start)) * float64(total-done) / float64(done))
	}
	return engine.Errorf(engine.CodeModelLoading, "", "model %q is being fetched, %d %% of %s are here; try again later", id, done*100/total, engine.MiB(total)).
		After(min(max(left, 5*time.Second), 5*time.Minute).Round(time.Second))
}

// proceed wakes a load that waits. Keeper.mu is held.
func (l *Load) proceed() {
	if l.turn != nil {
		close(l.turn)
		l.turn = nil
	}
}

// await joins the load of a model, or begins it, and returns when the model is
// resident and has this request among its users. Keeper.mu is held, but not while
// it waits.
func (k *Keeper) await(ctx context.Context, n *resident) error {
	l := n.loading
	if l == nil {
		l = k.begin(ctx, n)
	}
	if most := Admits(n.Entry); len(l.waiters) >= most {
		return engine.Errorf(engine.CodeQueueFull, "", "%d requests wait until model %q is loaded, as many as its slots and queue allow; try again later", most, n.ID).After(busyRetry)
	}
	k.tickets++
	ticket, arrived := k.tickets, time.Now()
	if l.waiters = append(l.waiters, ticket); len(l.waiters) == 1 {
		l.ticket = ticket
	}
	k.mu.Unlock()
	// A little less, since callers have deadlines of the same length, whose errors
	// do not say why the request waited.
	deadline := time.NewTimer(k.o.LoadTimeout - k.o.LoadTimeout/100)
	defer deadline.Stop()
	patience := time.NewTimer(k.o.MemoryWait)
	defer patience.Stop()
	for {
		select {
		case <-l.done:
			k.mu.Lock()
			return l.err
		case <-ctx.Done():
			k.mu.Lock()
			return k.leave(l, ticket, ctx.Err())
		case <-deadline.C:
			k.mu.Lock()
			if !l.since.IsZero() {
				return k.leave(l, ticket, k.errBusy(l))
			}
			return k.leave(l, ticket, l.waiting(n.ID, k.o.LoadTimeout))
		case <-patience.C:
			k.mu.Lock()
			waited := l.waitedFor(arrived)
			if waited >= k.o.MemoryWait {
				return k.leave(l, ticket, k.errBusy(l))
			}
			k.mu.Unlock()
			if waited > 0 {
				patience.Reset(k.o.MemoryWait - waited)
			} else { // it may wait yet
				patience.Reset(max(k.o.MemoryWait, time.Second))
			}
		}
	}
}

// leave takes a request from a load that it does not wait for any longer, because
// of err. The load's place in the order is then that of its next request. One
// that no request waits for goes on, unless it waits for memory itself. Keeper.mu is held.
func (k *Keeper) leave(l *Load, ticket int64, err error) error {
	if l.ended {
		if l.err == nil {
			k.release(l.n)
		}
		return err
	}
	l.waiters = slices.DeleteFunc(l.waiters, func(t int64) bool { return t == ticket })
	switch {
	case len(l.waiters) > 0:
		l.ticket = l.waiters[0]
	case !l.since.IsZero():
		l.cancel()
		l.n.loading = nil // the next request begins another
		l.again, l.need = false, 0
	}
	k.arrange()
	return err
}

// begin starts a load of n. first is the context of the request that came first:
// the log names it, but its end does not end the load. Keeper.mu is held.
func (k *Keeper) begin(first context.Context, n *resident) *Load {
	ctx, cancel := context.WithCancel(context.WithoutCancel(first))
	stop := context.AfterFunc(k.ctx, cancel)
	l := &Load{k: k, n: n, cancel: cancel, done: make(chan struct{}), start: time.Now(), again: n.model != nil}
	n.loading = l
	k.loads = append(k.loads, l)
	var turn <-chan struct{}
	if l.again {
		turn = l.wait()
	}
	k.work.Add(1)
	go func() {
		defer k.work.Done()
		defer cancel()
		defer stop()
		if turn != nil {
			select {
			case <-turn:
			case <-ctx.Done():
			}
		}
		k.load(ctx, l)
	}()
	return l
}

// load makes l's model resident unless it has stayed so.
func (k *Keeper) load(ctx context.Context, l *Load) {
	k.mu.Lock()
	ended := l.ended
	k.mu.Unlock()
	if ended {
		return
	}
	n := l.n
	start := time.Now()
	m, err := k.fetchAndOpen(ctx, l)
	gone := ctx.Err() != nil && k.ctx.Err() == nil
	switch {
	case err == nil:
		k.log.InfoContext(ctx, "model loaded", "model", n.ID, "bytes", n.About().SizeBytes, "kv_bytes", m.Stats().CacheBytes, "took", time.Since(start))
	case gone:
		k.log.InfoContext(ctx, "model not loaded", "model", n.ID, "why", "every request for it left before there was memory")
	default:
		answer := loadError(n.Entry, err)
		k.logFailedLoad(ctx, n, err, answer)
		err = answer
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && (k.ctx.Err() != nil || n.loading != l) { // Close has collected the models loaded before
		k.mu.Unlock()
		m.Close()
		k.mu.Lock()
		m, err = nil, context.Canceled
	}
	if k.ctx.Err() != nil {
		err = engine.ErrShuttingDown()
	}
	k.end(l, m, err)
	k.arrange()
}

// fetchAndOpen makes a Model, without Keeper.mu.
func (k *Keeper) fetchAndOpen(ctx context.Context, l *Load) (Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := k.fetch(ctx, l.n, l); err != nil {
		return nil, err
	}
	l.files = filesOf(l.n.Entry)
	var m Model
	err := rescue.Do(func() (err error) {
		m, err = k.o.Open(ctx, l.n.Entry, l)
		return err
	})
	return m, err
}

// end makes the requests that waited for l users of the model: of m, or of the loaded one if
// m is nil. Keeper.mu is held.
func (k *Keeper) end(l *Load, m Model, err error) {
	n := l.n
	l.ended, l.err = true, err
	l.has, l.need, l.again = 0, 0, false
	k.loads = slices.DeleteFunc(k.loads, func(x *Load) bool { return x == l })
	if n.loading == l {
		n.loading = nil
		n.failed = err != nil && k.ctx.Err() == nil
	}
	if err == nil {
		if m != nil {
			n.model, n.files, n.fingerprint, n.lastError = m, l.files, m.Stats().Fingerprint, loggedError{}
			k.live = append(k.live, n)
		}
		n.users += len(l.waiters)
		n.used = time.Now()
		n.stay()
		if n.users == 0 {
			k.keep(n)
		}
	}
	close(l.done)
}

// fetch downloads a model that is not on this machine yet. One load of a model runs at
// a time.
func (k *Keeper) fetch(ctx context.Context, n *resident, l *Load) error {
	if !n.About().Remote {
		return nil
	}
	k.log.InfoContext(ctx, "fetching model", "model", n.ID)
	l.fetching.Store(true)
	defer l.fetching.Store(false)
	path, err := n.Options.Fetch(ctx, func(done, total int64) {
		l.fetched.Store(done)
		l.total.Store(total)
		if total > 0 {
			k.o.Fetched(n.Entry, float64(done)/float64(total))
		}
	})
	if err != nil {
		return err
	}
	if err := k.o.Catalog.Fetched(n.Entry, path); err != nil {
		return err
	}
	k.log.InfoContext(ctx, "model fetched", "model", n.ID, "bytes", n.About().SizeBytes, "took", time.Since(l.start))
	return nil
}
