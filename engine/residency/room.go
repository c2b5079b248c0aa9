package residency

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"quern/engine"
)

// Room reserves for the load, which runs under ctx, need bytes of the memory limit in all.
// Idle models are unloaded for it, the longest unused first. Where that is not enough it
// waits until requests of other models have ended: loads are served in the order in which
// their first requests arrived, and new requests of a model that is to be unloaded queue behind the load.
func (l *Load) Room(ctx context.Context, need int64) error {
	k, n := l.k, l.n
	k.mu.Lock()
	defer k.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if need > k.o.MemoryLimit {
		return engine.Errorf(engine.CodeOutOfMemory, "", "model %q needs %s and memory_limit is %s; %s, or take a smaller model",
			n.ID, engine.MiB(need), engine.MiB(k.o.MemoryLimit), n.lighter())
	}
	if need -= l.has; need <= 0 {
		return nil
	}
	if l.has > 0 {
		// It keeps what it has while it waits for more: it is served first, and only one
		// load may do so, since two would deadlock.
		for _, other := range k.loads {
			if other != l && other.has > 0 && other.need > 0 {
				l.need = need
				err := k.errBusy(l)
				l.need = 0
				return err
			}
		}
	}
	l.need = need
	k.arrange()
	if l.need == 0 {
		return nil
	}
	if len(l.waiters) == 0 && l.behind {
		err := k.errBusy(l)
		l.need = 0
		k.arrange()
		return err
	}
	turn, behind, held := l.wait(), l.behind, k.holders(l)
	k.mu.Unlock()
	if behind {
		k.log.InfoContext(ctx, "model waits for memory", "model", n.ID, "bytes", need, "because", held)
	}
	defer k.mu.Lock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrange assigns free memory to the loads that wait for it, in their order, and
// selects the models to unload for those that still wait. It is called after
// everything that may change that. Keeper.mu is held.
func (k *Keeper) arrange() {
	slices.SortStableFunc(k.loads, func(a, b *Load) int { return cmp.Compare(a.place(), b.place()) })
	free := k.o.MemoryLimit - k.closing
	for _, n := range k.live {
		n.leaves = nil
		free -= n.model.Bytes()
	}
	for _, l := range k.loads {
		free -= l.has
	}
	// What will be free once the selected models are unloaded: a load may overtake others
	// only where it fits beside them.
	coming := free + k.closing
	for _, l := range k.loads {
		if l.need == 0 {
			continue
		}
		l.behind = false
		if short := l.need - coming; short > 0 {
			coming += k.claim(l, short)
		}
		coming -= l.need
		if coming >= 0 && l.need <= free {
			free -= l.need
			l.has, l.need, l.since = l.has+l.need, 0, time.Time{}
			l.proceed()
		}
	}
	for _, l := range slices.Clone(k.loads) {
		switch n := l.n; {
		case !l.again:
		case n.model == nil:
			l.again = false
			l.proceed()
		case n.discarded == nil && (n.leaves == nil || n.leaves.place() > l.place()):
			k.end(l, nil, nil) // it stays
			l.proceed()
		}
	}
}

// claim selects models that hold at least short bytes together, and returns how
// many bytes that will free. Where idle models are enough they are unloaded at once;
// otherwise every model that is needed for it, or could be, takes no new requests
// until l has the memory it needs.
func (k *Keeper) claim(l *Load, short int64) (bytes int64) {
	var idle, all []*resident
	var idleBytes, allBytes int64
	for _, n := range k.live {
		if n.leaves != nil {
			continue
		}
		all, allBytes = append(all, n), allBytes+n.model.Bytes()
		if n.users == 0 {
			idle, idleBytes = append(idle, n), idleBytes+n.model.Bytes()
		}
	}
	if idleBytes >= short {
		slices.SortStableFunc(idle, func(a, b *resident) int { return a.used.Compare(b.used) })
		for _, n := range idle {
			if bytes >= short {
				break
			}
			bytes += n.model.Bytes()
			k.unload(n, "to make room for", l.n.ID)
		}
		return bytes
	}
	l.behind = true
	// Small models may stay where a large one has to be unloaded in any case.
	var needed []*resident
	var neededBytes int64
	for _, n := range all {
		if allBytes-n.model.Bytes() < short {
			needed, neededBytes = append(needed, n), neededBytes+n.model.Bytes()
		}
	}
	if neededBytes < short {
		needed, neededBytes = all, allBytes
	}
	for _, n := range needed {
		n.leaves = l
	}
	return neededBytes
}

// unload closes a model without requests, and logs why. Keeper.mu is held; the
// model is closed in a goroutine without it, since that may wait for its scheduler.
func (k *Keeper) unload(n *resident, why ...any) {
	shut := k.detach(n)
	k.work.Add(1)
	go func() {
		defer k.work.Done()
		shut()
		k.log.Info("model unloaded", append([]any{"model", n.ID}, why...)...)
	}()
}

// detach removes the loaded model from its entry, and how long requests wanted that one
// to stay. shut closes the model and is to be called without Keeper.mu, which is held now. Until then its bytes
// count.
func (k *Keeper) detach(n *resident) (shut func()) {
	m, bytes := n.model, n.model.Bytes()
	n.model, n.discarded, n.leaves, n.files, n.keepFor = nil, nil, nil, nil, nil
	n.stay()
	k.live = slices.DeleteFunc(k.live, func(x *resident) bool { return x == n })
	k.closing += bytes
	return func() {
		m.Close()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.closing -= bytes
		k.arrange()
	}
}

// waitedFor is how long a request that came at arrived has waited for memory; 0
// while its load does not. Keeper.mu is held.
func (l *Load) waitedFor(arrived time.Time) time.Duration {
	if l.since.IsZero() {
		return 0
	}
	if l.since.After(arrived) {
		arrived = l.since
	}
	return time.Since(arrived)
}

// place orders loads. Keeper.mu is held.
func (l *Load) place() int64 {
	if l.has > 0 && l.need > 0 {
		return 0
	}
	return l.ticket
}

// wait marks a load as waiting for memory and returns a channel that is closed when it
// need not wait any more. Keeper.mu is held.
func (l *Load) wait() <-chan struct{} {
	if l.since.IsZero() {
		l.since = time.Now()
	}
	l.turn = make(chan struct{})
	return l.turn
}

// busyRetry is when a request may find memory free that it did not find now.
const busyRetry = 5 * time.Second

// errBusy is the error that a load's memory is in use; it names the holders. Keeper.mu is held.
func (k *Keeper) errBusy(l *Load) *engine.Error {
	what := fmt.Sprintf("needs %s", engine.MiB(l.need+l.has))
	if l.need+l.has == 0 {
		what = "has to be loaded again after others"
	}
	return engine.Errorf(engine.CodeOutOfMemory, "", "model %q %s, and memory_limit (%s) is in use: %s; try again later, raise memory_limit or memory_wait (%s), or have the models need less: %s",
		l.n.ID, what, engine.MiB(k.o.MemoryLimit), k.holders(l), k.o.MemoryWait, l.n.lighter()).After(busyRetry)
}

// holders lists the models and loads that hold memory, without the load l. Keeper.mu is held.
func (k *Keeper) holders(l *Load) string {
	const most = 5
	type holder struct {
		bytes int64
		text  string
	}
	var list []holder
	for _, n := range k.live {
		b := n.model.Bytes()
		list = append(list, holder{b, fmt.Sprintf("model %q holds %s for %s", n.ID, engine.MiB(b), requests(n.users-n.inner))})
	}
	for _, other := range k.loads {
		if other != l && other.has > 0 {
			list = append(list, holder{other.has, fmt.Sprintf("model %q is being loaded into %s", other.n.ID, engine.MiB(other.has))})
		}
	}
	if k.closing > 0 {
		list = append(list, holder{k.closing, engine.MiB(k.closing) + " are being freed"})
	}
	slices.SortStableFunc(list, func(a, b holder) int { return cmp.Compare(b.bytes, a.bytes) })
	var texts []string
	for _, h := range list[:min(len(list), most)] {
		texts = append(texts, h.text)
	}
	if len(list) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(texts, ", ")
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// lighter names the options that make a model need less memory, or where there are none,
// memory_limit.
func (r *resident) lighter() string {
	if r.About().Sound() {
		return "raise memory_limit"
	}
	return "lower context_length, slots or cache_memory"
}
