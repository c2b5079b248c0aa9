package responses

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quern/httpapi/batch"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// An archive keeps responses in a server.Archive, which other processes may share and which
// outlives this one. In memory are those made in the background here, with their events.
type archive struct {
	server.Archive
	here *store
	age  time.Duration // after which the archive drops responses that were not written again; 0 is never
	log  *slog.Logger

	mu       sync.Mutex
	releases map[*entry]func() // of responses under way here
}

func newArchive(s *server.API, o server.Responses) *archive {
	return &archive{Archive: o.Archive, here: newStore(o), age: o.Age, log: s.Options.Log, releases: map[*entry]func(){}}
}

// Words of TellResponse, to the process that makes a response.
const (
	wordCancel = "cancel"
	wordDelete = "delete"
)

// A record is an entry as it is archived.
type record struct {
	Object object `json:"response"`
	Input  []kept `json:"input"`
	Kept   int64  `json:"kept"` // when it was written, in seconds
}

// items are the ids of a response's items, and of those it was made from.
func (e *entry) items() (ids []string) {
	for _, items := range [][]kept{e.input, e.object.Output} {
		for _, k := range items {
			ids = append(ids, k.id)
		}
	}
	return ids
}

// keep writes the current state of an entry.
func (a *archive) keep(ctx context.Context, e *entry) error {
	b, err := server.Marshal(record{e.object, e.input, time.Now().Unix()})
	if err != nil {
		return err
	}
	return server.FromJobs(a.KeepResponse(ctx, e.owner, e.object.ID, e.items(), b))
}

// load reads a response; nil where there is none.
func (a *archive) load(ctx context.Context, owner, id string) (*entry, int64, error) {
	b, err := a.Response(ctx, owner, id)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, server.FromJobs(err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, 0, fault.Internal(err)
	}
	return &entry{owner: owner, object: r.Object, input: r.Input}, r.Kept, nil
}

// find returns a response as it stands and when it was written; nil where there is none.
func (a *archive) find(ctx context.Context, owner, id string) (*entry, int64, error) {
	var here *entry
	if e, o, err := a.here.get(ctx, owner, id); err == nil {
		here = &entry{owner: owner, object: o, input: e.input, job: e.job}
		if a.held(e) {
			return here, 0, nil
		}
	}
	e, kept, err := a.load(ctx, owner, id)
	switch {
	case here != nil && (err != nil || e != nil && !e.over()):
		// It is over, and could not be kept.
		if err == nil {
			err = a.keep(ctx, here)
		}
		if err != nil {
			a.log.DebugContext(ctx, "a response is only here", "response", id, "err", err)
		}
		return here, 0, nil
	case e == nil || err != nil:
		return nil, 0, err
	case e.over():
		if here != nil {
			e.job = here.job // its events
		}
		return e, kept, nil
	}
	held, err := a.ResponseHeld(ctx, id)
	if err != nil {
		return nil, 0, server.FromJobs(err)
	}
	if held {
		e.stop = func(ctx context.Context) error { return a.stop(ctx, e, wordCancel) }
		return e, kept, nil
	}
	// It may be over since it was read.
	if e, kept, err = a.load(ctx, owner, id); e == nil || err != nil || e.over() {
		return e, kept, err
	}
	e.object.end(failed)
	e.object.Error = &failure{"server_error", "the server that made the response ended before it was over; ask again"}
	return e, kept, a.keep(ctx, e)
}

// held reports whether an entry is under way here.
func (a *archive) held(e *entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.releases[e] != nil
}

// stop has the process that makes a response end it, and waits until it has.
func (a *archive) stop(ctx context.Context, e *entry, word string) error {
	if err := a.TellResponse(ctx, e.owner, e.object.ID, word); err != nil {
		return server.FromJobs(err)
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		held, err := a.ResponseHeld(ctx, e.object.ID)
		if err != nil {
			return server.FromJobs(err)
		}
		if !held {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fault.ErrGone
		}
	}
}

// add implements keeper.
func (a *archive) add(ctx context.Context, e *entry, working bool) error {
	if !working {
		return a.keep(ctx, e)
	}
	if err := a.here.add(ctx, e, true); err != nil {
		return err
	}
	release, err := a.HoldResponse(ctx, e.owner, e.object.ID, func(word string) {
		if word == wordDelete {
			a.here.remove(ctx, e) // so that its end is not kept
		}
		e.job.stop(errCancelled)
	})
	if err == nil {
		a.mu.Lock()
		a.releases[e] = release
		a.mu.Unlock()
		err = a.keep(ctx, e)
	}
	if err != nil {
		a.release(e)
		return errors.Join(server.FromJobs(err), a.here.remove(ctx, e))
	}
	return nil
}

// release ends an entry's being under way here.
func (a *archive) release(e *entry) {
	a.mu.Lock()
	release := a.releases[e]
	delete(a.releases, e)
	a.mu.Unlock()
	if release != nil {
		release()
	}
}

// grow implements keeper.
func (a *archive) grow(e *entry, n int) error { return a.here.grow(e, n) }

// update implements keeper.
func (a *archive) update(ctx context.Context, e *entry, o object) {
	a.here.update(ctx, e, o)
	if _, _, err := a.here.get(ctx, e.owner, o.ID); err != nil {
		return // it was deleted
	}
	now := &entry{owner: e.owner, object: o, input: e.input}
	if err := a.keep(ctx, now); err != nil {
		a.log.DebugContext(ctx, "a response shows its status later", "response", o.ID, "err", err)
	}
}

// finish implements keeper.
func (a *archive) finish(ctx context.Context, e *entry, o object) {
	defer a.release(e)
	if _, _, err := a.here.get(ctx, e.owner, o.ID); err != nil {
		return // it was deleted
	}
	a.here.finish(ctx, e, o)
	if err := a.keep(ctx, &entry{owner: e.owner, object: o, input: e.input}); err != nil {
		a.log.WarnContext(ctx, "a response is only in memory", "response", o.ID, "err", err)
	}
}

// get implements keeper.
func (a *archive) get(ctx context.Context, owner, id string) (*entry, object, error) {
	e, _, err := a.find(ctx, owner, id)
	if err != nil {
		return nil, object{}, err
	}
	if e == nil {
		return nil, object{}, notFound(id)
	}
	return e, e.object, nil
}

// remove implements keeper.
func (a *archive) remove(ctx context.Context, e *entry) error {
	id := e.object.ID
	if e.stop != nil {
		if err := a.stop(ctx, e, wordDelete); err != nil {
			return err
		}
	}
	if here, _, err := a.here.get(ctx, e.owner, id); err == nil {
		a.here.remove(ctx, here)
		here.job.stop(errCancelled)
		select { // a record written while it is made would come after this
		case <-here.job.done:
		case <-ctx.Done():
			return fault.ErrGone
		}
		a.release(here)
	}
	return server.FromJobs(a.DropResponse(ctx, e.owner, id, e.items()))
}

// chain implements keeper. Responses that are continued are written again when half of their age is over.
func (a *archive) chain(ctx context.Context, owner, id string, goOn bool) ([]*entry, bool, error) {
	var old []*entry
	out, whole, err := walk(id, func(id string) (*entry, error) {
		e, kept, err := a.find(ctx, owner, id)
		if e != nil && e.over() && a.age > 0 && time.Since(time.Unix(kept, 0)) > a.age/2 {
			old = append(old, e)
		}
		return e, err
	})
	if err != nil || !whole || !goOn {
		return out, whole, err
	}
	for _, e := range old {
		if err := a.keep(ctx, e); err != nil {
			return nil, false, err
		}
	}
	return out, whole, nil
}

// item implements keeper.
func (a *archive) item(ctx context.Context, owner, id string) (json.RawMessage, bool, error) {
	of, err := a.ResponseOf(ctx, owner, id)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, server.FromJobs(err)
	}
	e, _, err := a.load(ctx, owner, of)
	if e == nil || err != nil {
		return nil, false, err
	}
	raw, ok := e.item(id)
	return raw, ok, nil
}
