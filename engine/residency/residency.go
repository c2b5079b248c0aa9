// Package residency keeps models in memory while requests use them: it loads, leases
// and unloads them within a limit of memory.
package residency

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"quern/engine"
	"quern/engine/catalog"
)

// A Model is a model in memory, of whatever kind.
type Model interface {
	Bytes() int64             // memory it occupies
	Stats() engine.ModelStats // but for its kind
	Close()
}

// Options say how models are kept: with engine.Options' memory and times, none of them 0.
type Options struct {
	engine.Options
	Catalog *catalog.Catalog
	// Open loads a model, for which it asks l for room. ctx stops that, and is not
	// needed afterwards.
	Open func(ctx context.Context, n *catalog.Entry, l *Load) (Model, error)
	// Fetched is called with how much of a model has been downloaded, 0 to 1.
	Fetched func(n *catalog.Entry, done float64)
}

// A Keeper owns the models in memory.
type Keeper struct {
	o      Options
	log    *slog.Logger
	ctx    context.Context // of all loads; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // loads, and models that are being closed

	mu        sync.Mutex // guards what follows, and residents
	residents map[*catalog.Entry]*resident
	live      []*resident // whose models are loaded
	loads     []*Load     // under way
	tickets   int64
	closing   int64 // bytes of models that are being closed
}

// New makes a Keeper that loads nothing yet.
func New(o Options) *Keeper {
	k := &Keeper{o: o, log: o.Log, residents: map[*catalog.Entry]*resident{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Context ends with Close.
func (k *Keeper) Context() context.Context { return k.ctx }

// Look calls f with the model of an entry, which stays meanwhile, and how many requests
// wait for a load of it. It does not while the model is not loaded.
func (k *Keeper) Look(n *catalog.Entry, f func(m Model, waiting int)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.residents[n]; r != nil && r.model != nil {
		f(r.model, r.waiting())
	}
}

// Others calls f with every model in memory whose entry is not in list, as those of files that
// were replaced or removed since. The models stay meanwhile.
func (k *Keeper) Others(list []*catalog.Entry, f func(n *catalog.Entry, m Model)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.live {
		if !slices.Contains(list, r.Entry) {
			f(r.Entry, r.model)
		}
	}
}

// Close cancels loads, waits for them and closes every model.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.cancel()
	var shut []func()
	for _, n := range slices.Clone(k.live) {
		shut = append(shut, k.detach(n))
	}
	k.mu.Unlock()
	for _, shut := range shut {
		shut()
	}
	k.work.Wait()
}

// resident returns an entry's resident, which it makes at first. Those of entries that are
// listed no more, without a model, load or user, are then dropped. mu is held.
func (k *Keeper) resident(n *catalog.Entry) *resident {
	r := k.residents[n]
	if r == nil {
		listed := k.o.Catalog.List()
		for n, r := range k.residents {
			if r.model == nil && r.loading == nil && r.users == 0 && !r.retired && !slices.Contains(listed, n) {
				delete(k.residents, n)
			}
		}
		r = &resident{Entry: n}
		k.residents[n] = r
	}
	return r
}

// State describes a model's residency.
type State struct {
	Status      string    // "unloaded", "loading", "loaded" or "failed"
	Waiting     int       // requests that wait until it is loaded
	Users       int       // requests that use it
	Bytes       int64     // memory it holds; 0 while it is not loaded
	Fingerprint string    // of the model when it was loaded last
	Expires     time.Time // when it is unloaded unless a request uses it; zero: not by itself
}

// State returns the State of a model.
func (k *Keeper) State(n *catalog.Entry) State {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.residents[n]
	if r == nil {
		return State{Status: "unloaded"}
	}
	s := State{Status: r.status(), Waiting: r.waiting(), Users: r.users - r.inner, Fingerprint: r.fingerprint}
	if r.model != nil {
		s.Bytes = r.model.Bytes()
		if after := k.idleTime(r); after >= 0 {
			since := time.Now()
			if r.users == 0 {
				since = r.used
			}
			s.Expires = since.Add(after)
		}
	}
	return s
}

// idleTime is how long a model stays without requests; negative is for ever. mu is held.
func (k *Keeper) idleTime(r *resident) time.Duration {
	if r.keepFor != nil {
		return *r.keepFor
	}
	return cmp.Or(r.Options.KeepAlive, k.o.KeepAlive)
}

// A resident is an entry's state in memory: its model if loaded, its load, its users,
// and when it may be unloaded. Keeper.mu guards it.
type resident struct {
	*catalog.Entry
	model       Model
	leaves      *Load // needs its memory: new requests queue behind that load; nil: the model may stay
	loading     *Load
	failed      bool
	retired     bool // its files are being removed
	lastError   loggedError
	discarded   error // of new requests, if the model cannot answer any more and is unloaded when users is 0; else nil
	files       []file
	fingerprint string
	users       int
	inner       int            // users that belong to a request which has a lease
	used        time.Time      // when the last user left
	idle        *time.Timer    // unloads after keep-alive; nil while in use
	keepFor     *time.Duration // by the last request that said so, until the model is unloaded; nil: as configured
}

// stay stops the idle time of a model.
func (r *resident) stay() {
	if r.idle != nil {
		r.idle.Stop()
		r.idle = nil
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

// Acquire makes a model resident and keeps it so until the lease is released. It waits
// for a load at most Options.LoadTimeout, and of that for memory that other models use
// at most Options.MemoryWait. Loads of one model are shared.
func (k *Keeper) Acquire(ctx context.Context, n *catalog.Entry) (*Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.checkFiles(ctx, k.resident(n))
	r := k.resident(n)
	switch {
	case k.ctx.Err() != nil:
		return nil, engine.ErrShuttingDown()
	case r.retired:
		return nil, engine.Errorf(engine.CodeModelNotFound, "model", "model %q is being removed", r.ID)
	case r.discarded != nil:
		return nil, r.discarded
	case r.model != nil && r.leaves == nil:
		r.users++
		r.stay()
	default:
		if err := k.await(ctx, r); err != nil {
			return nil, err
		}
		if r.model == nil {
			k.release(r)
			return nil, engine.ErrShuttingDown()
		}
	}
	return &Lease{Entry: n, Model: r.model, k: k, r: r}, nil
}

// Admits is how many requests a model takes at a time, those that wait included.
func Admits(n *catalog.Entry) int {
	o := n.Options.Defaulted()
	if n.About().Sound() {
		return 1 + o.Queue
	}
	return o.Slots + o.Queue
}

// release removes a user of a model. Keeper.mu is held.
func (k *Keeper) release(n *resident) {
	n.users--
	n.used = time.Now()
	if n.users > 0 || n.model == nil {
		return
	}
	if n.discarded != nil {
		k.unload(n, "on", "failure")
	} else {
		k.keep(n)
	}
	k.arrange()
}

// keep starts the idle time of a model without requests. Keeper.mu is held.
func (k *Keeper) keep(n *resident) {
	after := k.idleTime(n)
	if after < 0 {
		return
	}
	m := n.model
	n.stay()
	n.idle = time.AfterFunc(after, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if n.users == 0 && n.model == m {
			k.unload(n, "idle", after)
		}
	})
}

// Unload releases a model's memory. A model in use is refused; one that is not
// loaded is no error.
func (k *Keeper) Unload(of *catalog.Entry) error {
	return k.retire([]*catalog.Entry{of}, nil)
}

// Retire unloads models and then calls remove, which removes their files. If one is in use it
// does neither. Requests for them are refused until remove has returned.
func (k *Keeper) Retire(of []*catalog.Entry, remove func() error) error { return k.retire(of, remove) }

// retire unloads models, and refuses requests for them while then runs, if it is not nil.
func (k *Keeper) retire(of []*catalog.Entry, then func() error) error {
	k.mu.Lock()
	for _, n := range of {
		if r := k.resident(n); r.users > 0 || r.loading != nil || r.retired {
			k.mu.Unlock()
			return engine.Errorf(engine.CodeModelInUse, "model", "model %q is in use by %s; try again when they have ended", n.ID, requests(max(1, r.users-r.inner+r.waiting())))
		}
	}
	var shut []func()
	for _, n := range of {
		r := k.resident(n)
		r.retired = then != nil
		if r.model == nil {
			continue
		}
		closed := k.detach(r)
		shut = append(shut, func() {
			closed()
			k.log.Info("model unloaded", "model", r.ID, "on", "request")
		})
	}
	k.mu.Unlock()
	for _, shut := range shut {
		shut()
	}
	if then == nil {
		return nil
	}
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, n := range of {
			k.resident(n).retired = false
		}
	}()
	return then()
}

// Discard unloads a model whose device has failed, as soon as the requests that
// use it have failed. The next one loads it again.
func (k *Keeper) Discard(of *catalog.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.resident(of)
	if n.model == nil || n.discarded != nil {
		return
	}
	k.log.Error("model lost with its device", "model", n.ID)
	k.discard(n, "was lost with its device")
}

// discard unloads a model that cannot answer any more, because of why, as soon as no request
// uses it. Keeper.mu is held.
func (k *Keeper) discard(n *resident, why string) {
	n.discarded = engine.Errorf(engine.CodeModelLoading, "", "model %q %s and is about to be loaded again; try again", n.ID, why).After(time.Second)
	if n.users == 0 {
		k.unload(n, "on", "failure")
	}
}
