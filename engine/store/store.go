// Package store is the folder of models of a server: clients pull models into it
// from a hub, follow the progress, and remove them again. Files that no pull has
// written, and models that the configuration names, are not removed.
package store

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/engine"
	"quern/engine/hub"
	"quern/engine/rescue"
)

// Models is the engine that serves the folder. *local.Engine is one.
type Models interface {
	// Serves reads the folder again and returns the id of the model of a path, "" when
	// it cannot be served.
	Serves(path string) string
	// Removable returns the path of a model that the configuration does not name.
	Removable(id string) (path string, err error)
	// Retire refuses requests for a model while remove removes its files.
	Retire(id string, remove func() error) error
}

// Options configure a Store.
type Options struct {
	Dir    string
	Models Models
	// Hub makes the client of one pull. progress is called as hub.Options.Progress is.
	Hub func(progress func(hub.Progress)) (*hub.Client, error)
	// NoPull is the reason why pulls are refused; "": they are not.
	NoPull string
	Log    *slog.Logger // nil discards
}

// Most is how many models are pulled at a time.
const Most = 3

// A Store pulls and removes models.
type Store struct {
	o    Options
	dir  hub.Store
	ctx  context.Context // of all pulls; ends with Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex       // guards the fields below, and pulls
	running map[string]*pull // by reference, without those that are ending
	active  int              // with those that are ending
}

// New makes a Store. It does not use the network, and makes no folder.
func New(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{o: o, dir: hub.Store{Dir: o.Dir}, running: map[string]*pull{}}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends all pulls and waits for them. What has arrived stays.
func (s *Store) Close() {
	s.mu.Lock() // pulls that have begun are counted, and no other begins
	s.end()
	s.mu.Unlock()
	s.work.Wait()
}

// A pull is the download of one model. Store.mu guards it.
type pull struct {
	ref       hub.Ref
	cancel    context.CancelCauseFunc
	ended     chan struct{} // closed when it has; then err does not change
	err       error
	followers int
	now       engine.Pull
	news      chan struct{} // closed when now has changed
}

// errStopped is what ends a pull on request.
var errStopped = errors.New("stopped on request")

// pace is the least time between two messages about a pull.
const pace = 100 * time.Millisecond

// Pull fetches a model, and yields how far that is, until it is done. A caller
// that asks for a model which is being pulled follows that pull. A pull ends when no caller
// follows it any more; what has arrived stays, and the next pull of the model goes on from there. Errors
// are *engine.Error or the context's, and end the sequence.
func (s *Store) Pull(ctx context.Context, model string) iter.Seq2[engine.Pull, error] {
	return func(yield func(engine.Pull, error) bool) {
		p, err := s.follow(ctx, model)
		if err != nil {
			yield(engine.Pull{}, err)
			return
		}
		defer s.leave(p)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			now, news := s.look(p)
			if now.State != engine.PullStarting && now.State != engine.PullDone && !yield(now, nil) {
				return
			}
			for _, next := range []func() bool{wait(ctx, news, p.ended), wait(ctx, tick.C, p.ended)} {
				if !next() {
					yield(engine.Pull{}, ctx.Err())
					return
				}
			}
			select {
			case <-p.ended:
				if p.err != nil {
					now = engine.Pull{}
				} else {
					now, _ = s.look(p)
				}
				yield(now, p.err)
				return
			default:
			}
		}
	}
}

// wait returns a function that waits for news or the end, and reports whether ctx has not
// ended before.
func wait[T any](ctx context.Context, news <-chan T, ended <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-news:
		case <-ended:
		case <-ctx.Done():
			return false
		}
		return true
	}
}

// look returns how far a pull is, and a channel that is closed when that has changed.
func (s *Store) look(p *pull) (engine.Pull, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.now, p.news
}

// update changes how far a pull is, and wakes its followers.
func (s *Store) update(p *pull, change func(now *engine.Pull)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&p.now)
	close(p.news)
	p.news = make(chan struct{})
}

// parse reads the name of a model of the hub.
func parse(model string) (hub.Ref, error) {
	r, err := hub.ParseRef(model)
	if err != nil {
		err = engine.Errorf(engine.CodeInvalidValue, "model", "%v", err)
	}
	return r, err
}

// follow joins the pull of a model, or begins it.
func (s *Store) follow(ctx context.Context, model string) (*pull, error) {
	r, err := parse(model)
	if err != nil {
		return nil, err
	}
	if s.o.NoPull != "" {
		return nil, engine.Errorf(engine.CodeModelNotAllowed, "model", "models are not pulled: %s", s.o.NoPull)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.running[r.String()]
	switch {
	case s.ctx.Err() != nil:
		return nil, engine.ErrShuttingDown()
	case p != nil:
		p.followers++
		return p, nil
	case s.active >= Most:
		return nil, engine.Errorf(engine.CodeQueueFull, "", "%d models are being pulled, as many as may be; try again when one is here", s.active).After(10 * time.Second)
	}
	p = &pull{ref: r, followers: 1, ended: make(chan struct{}), news: make(chan struct{}),
		now: engine.Pull{Ref: r.String(), State: engine.PullStarting}}
	// The log names the request that began it, whose end is not that of the pull.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p.cancel = cancel
	stop := context.AfterFunc(s.ctx, func() { cancel(engine.ErrShuttingDown()) })
	s.running[r.String()] = p
	s.active++
	s.work.Go(func() {
		defer stop()
		err := s.run(inner, p)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(p)
		s.active--
		p.err = err
		close(p.ended)
		cancel(nil)
	})
	return p, nil
}

// forget removes a pull from running, so that the next request for the model begins another.
// Store.mu is held.
func (s *Store) forget(p *pull) {
	if s.running[p.ref.String()] == p {
		delete(s.running, p.ref.String())
	}
}

// leave removes a follower of a pull; the last one ends the pull.
func (s *Store) leave(p *pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.followers--; p.followers == 0 {
		s.forget(p)
		p.cancel(errStopped)
	}
}

// run pulls a model. The error is the one that clients get.
func (s *Store) run(ctx context.Context, p *pull) (err error) {
	begin := time.Now()
	defer func() {
		switch public := clientError(p.ref, err); {
		case err == nil:
		case errors.Is(context.Cause(ctx), errStopped):
			now, _ := s.look(p)
			s.o.Log.InfoContext(ctx, "pull stopped", "model", p.ref.String(), "done", now.Done, "of", now.Size)
			err = engine.Errorf(engine.CodePullStopped, "", "the pull of %s was stopped; another goes on from there", p.ref)
		case ctx.Err() != nil:
			err = engine.ErrShuttingDown()
		default:
			s.o.Log.WarnContext(ctx, "model not pulled", "model", p.ref.String(), "err", err)
			err = public
		}
	}()
	defer rescue.Panic(&err)
	c, err := s.o.Hub(func(h hub.Progress) { s.update(p, func(now *engine.Pull) { progress(now, h) }) })
	if err != nil {
		return err
	}
	defer c.Close()
	if err := os.MkdirAll(s.o.Dir, 0o755); err != nil {
		return err
	}
	m, err := fetch(ctx, c, p.ref, func(plan *hub.Plan) {
		s.o.Log.InfoContext(ctx, "pulling model", "model", p.ref.String(), "quant", plan.Quant, "bytes", plan.Fetch, "commit", plan.Commit)
		s.update(p, func(now *engine.Pull) {
			now.State, now.Size, now.Done = engine.PullDownloading, plan.Bytes, plan.Bytes-plan.Fetch
			now.Plan = &engine.PullPlan{Commit: plan.Commit, Kind: plan.Kind, Quant: plan.Quant, Chosen: plan.Chosen,
				Others: plan.Others, Files: len(plan.Files), Fetch: plan.Fetch}
		})
	})
	if err != nil {
		return err
	}
	id := s.o.Models.Serves(m.Path)
	s.o.Log.InfoContext(ctx, "model pulled", "model", p.ref.String(), "id", id, "bytes", m.Size, "took", time.Since(begin))
	s.update(p, func(now *engine.Pull) {
		*now = engine.Pull{Ref: now.Ref, State: engine.PullDone, Done: m.Size, Size: m.Size, Plan: now.Plan, Model: id}
	})
	return nil
}

// fetch calls planned and then downloads a model, or finds the one that is here where the network
// may not be used.
func fetch(ctx context.Context, c *hub.Client, r hub.Ref, planned func(*hub.Plan)) (hub.Model, error) {
	plan, err := c.Plan(ctx, r, false)
	if errors.Is(err, hub.ErrOffline) {
		if m, found := c.Find(r); found == nil {
			return m, nil
		}
	}
	if err == nil {
		err = c.Room(plan)
	}
	if err != nil {
		return hub.Model{}, err
	}
	planned(plan)
	return c.Fetch(ctx, plan)
}

// states are those of pulls by those of the hub.
var states = map[hub.State]engine.PullState{
	hub.Waiting: engine.PullWaiting, hub.Downloading: engine.PullDownloading, hub.Verifying: engine.PullVerifying,
}

// progress records the progress of the hub's client. Of a transfer that counts the bytes to
// download; before, when files that are here are verified, it counts none.
func progress(now *engine.Pull, h hub.Progress) {
	if state, ok := states[h.State]; ok {
		now.State = state
	}
	now.File, now.FileDone, now.FileSize = h.File, h.Done, h.Size
	switch {
	case h.State == hub.Waiting:
		now.File, now.FileDone, now.FileSize = "", 0, 0
		now.Done = min(h.AllDone, now.Size)
	case h.AllSize > 0:
		now.Done = max(0, min(now.Size-h.AllSize+h.AllDone, now.Size))
	}
}

// Pulls lists the pulls under way, and those that ended before they were complete.
func (s *Store) Pulls() ([]engine.Pull, error) {
	halves, err := s.dir.Halves()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []engine.Pull{}
	for _, p := range s.running {
		list = append(list, p.now)
	}
	for _, h := range halves {
		if s.running[h.Ref.String()] == nil {
			state := engine.PullStopped
			if h.Busy {
				state = engine.PullWaiting
			}
			list = append(list, engine.Pull{Ref: h.Ref.String(), State: state, Done: h.Have, Size: h.Size})
		}
	}
	slices.SortFunc(list, func(a, b engine.Pull) int { return strings.Compare(a.Ref, b.Ref) })
	return list, nil
}

// Stop ends the pull of a model, for all its followers, and waits until it has ended. What
// has arrived stays, unless discard is set: then it is deleted, with the files of other incomplete
// pulls of the repository.
func (s *Store) Stop(ctx context.Context, model string, discard bool) error {
	r, err := parse(model)
	if err != nil {
		return err
	}
	s.mu.Lock()
	p := s.running[r.String()]
	if p != nil {
		s.forget(p)
		p.cancel(errStopped)
	}
	s.mu.Unlock()
	switch {
	case p != nil:
		if !wait(ctx, p.ended, nil)() {
			return ctx.Err()
		}
	case !discard:
		return engine.Errorf(engine.CodeModelNotFound, "model", "%s is not being pulled", r)
	}
	if !discard {
		return nil
	}
	n, err := s.dir.Discard(r)
	if p != nil && errors.Is(err, hub.ErrNotHere) {
		return nil // nothing had arrived
	}
	if err != nil {
		return clientError(r, err)
	}
	s.o.Log.InfoContext(ctx, "unfinished pulls thrown away", "repository", r.Repo(), "bytes", n)
	return nil
}

// Removable reports whether Remove would remove a model once no request uses it.
func (s *Store) Removable(id string) bool {
	path, err := s.o.Models.Removable(id)
	if err == nil {
		_, err = s.dir.Pulled(path)
	}
	return err == nil
}

// Remove deletes the files of a model that was pulled, and returns how many bytes that
// were. A model in use is refused, and one whose repository is being pulled.
func (s *Store) Remove(ctx context.Context, id string) (bytes int64, err error) {
	path, err := s.o.Models.Removable(id)
	if err != nil {
		return 0, err
	}
	m, err := s.dir.Pulled(path)
	if err != nil {
		return 0, notOurs(id, err)
	}
	err = s.o.Models.Retire(id, func() error {
		out, err := s.dir.RemovePulled(path)
		bytes = out.Bytes
		return err
	})
	if err != nil {
		return 0, notOurs(id, clientError(m.Ref, err))
	}
	s.o.Log.InfoContext(ctx, "model removed", "model", id, "bytes", bytes)
	return bytes, nil
}

// notOurs is the error that clients get of a model that no pull has written.
func notOurs(id string, err error) error {
	if errors.Is(err, hub.ErrNotPulled) {
		return engine.Errorf(engine.CodeModelNotAllowed, "model", "model %q was not pulled from the hub by quern: remove its files by hand", id)
	}
	return err
}
