package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"quern/bench/internal/drive"
	"quern/bench/internal/must"
)

// A comeback is how a cluster comes back from an outage.
type comeback struct {
	name string
	do   func(x *blackout, ctx context.Context) error
}

var comebacks = []comeback{
	{"all in a random order", (*blackout).anyOrder},
	{"one first, which is no majority", (*blackout).minorityFirst},
	{"one with an emptied disk, last", (*blackout).emptied},
}

// A blackout is a cluster that loses power again and again, with what it has accepted.
type blackout struct {
	*party
	drives []*drive.Drive // of the nodes; none where this machine allows none
	stores []string
	r      *rand.Rand

	mu       sync.Mutex
	accepted map[string]int // lines, by batch
	wrong    error          // what servers said that was not that the store is away
}

// outage takes the power from all nodes of a cluster at once, while files are uploaded, batches begun
// and lines answered: what was accepted is there when they are back, in whatever order, and in the end
// each line has one answer. Where this machine lets it mount file systems, what nodes had not synced is gone.
func outage(ctx context.Context, o *options) (err error) {
	defer must.Catch(&err)
	if !o.mounts {
		err := drive.Again(ctx, "-quern", o.quern, "outage", "-mounts", "-model", o.model, fmt.Sprint("-lines=", o.lines), fmt.Sprint("-kills=", o.kills),
			fmt.Sprint("-tokens=", o.tokens), fmt.Sprint("-seed=", o.seed), fmt.Sprint("-lazy=", o.lazy))
		if !errors.Is(err, drive.ErrNotHere) {
			return err
		}
	}
	x := &blackout{r: rand.New(rand.NewPCG(o.seed, 0)), accepted: map[string]int{}}
	must.Do(x.mount(ctx, o))
	defer func() {
		for _, d := range x.drives {
			d.Close()
		}
	}()
	x.party = must.Get(newCluster(o, 2, x.stores))
	for _, p := range append(x.nodes, x.querns...) {
		defer p.kill()
		must.Do(p.start(ctx))
	}
	began := time.Now()
	b := must.Get(begin(ctx, patient(x.bases), o.lines, o.tokens))
	x.accepted[b.ID] = o.lines
	for n := range o.kills {
		how := comebacks[n%len(comebacks)]
		must.Do(x.cut(ctx))
		down := time.Now()
		fmt.Printf("%5.1f s: %d batches are accepted, all nodes lose power; they come back: %s\n", time.Since(began).Seconds(), len(x.accepted), how.name)
		if err := how.do(x, ctx); err != nil {
			return fmt.Errorf("outage %d, %s: %w", n+1, how.name, err)
		}
		if err := x.known(ctx); err != nil {
			return fmt.Errorf("outage %d, %s: %w", n+1, how.name, err)
		}
		fmt.Printf("%5.1f s: all of them are there, %.1f s after\n", time.Since(began).Seconds(), time.Since(down).Seconds())
		if err := x.complete(ctx); err != nil {
			return fmt.Errorf("outage %d, %s: copies are missing: %w", n+1, how.name, err)
		}
	}
	var all tally
	for id, lines := range x.accepted {
		t, err := count(ctx, x.bases, id, lines)
		if err != nil {
			return fmt.Errorf("batch %s of %d lines: %w", id, lines, err)
		}
		all.add(t)
	}
	must.Do(all.check())
	must.Do(x.calm())
	fmt.Printf("%d outages of all nodes, %d batches, %.0f s\n", o.kills, all.batches, time.Since(began).Seconds())
	return nil
}

// mount gives each node a disk that loses what was not synced, where that can be.
func (x *blackout) mount(ctx context.Context, o *options) error {
	err := drive.Private()
	for i := range 3 {
		if err != nil {
			break
		}
		dir := filepath.Join(o.dir, fmt.Sprint("drive", i+1))
		if err = os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		var d *drive.Drive
		if d, err = drive.New(ctx, dir); err == nil {
			x.drives = append(x.drives, d)
			x.stores = append(x.stores, filepath.Join(d.At, "store"))
		}
	}
	if errors.Is(err, drive.ErrNotHere) && len(x.drives) == 0 {
		fmt.Printf("nodes keep what they have not synced: %v\n", err)
		for i := range 3 {
			x.stores = append(x.stores, filepath.Join(o.dir, fmt.Sprint("store", i+1)))
		}
		return nil
	}
	return err
}

// cut has clients begin batches, kills all nodes at once in the middle of it, and servers with an
// even chance, and drops what nodes have not synced.
func (x *blackout) cut(ctx context.Context) (err error) {
	defer must.Catch(&err)
	var writers sync.WaitGroup
	for i, base := range x.bases {
		r := rand.New(rand.NewPCG(x.r.Uint64(), uint64(i)))
		writers.Go(func() { x.write(ctx, base, r) })
	}
	must.Do(wait(ctx, between(x.r, 300*time.Millisecond, 1500*time.Millisecond)))
	for _, d := range x.drives {
		must.Do(d.Mark())
	}
	down := x.nodes
	for _, q := range x.querns {
		if x.r.IntN(2) == 0 {
			down = append(down[:len(down):len(down)], q)
		}
	}
	for _, p := range down {
		_ = p.cmd.Process.Kill() // all before the first is waited for; none has ended
	}
	for _, p := range down {
		p.kill()
	}
	for _, d := range x.drives {
		must.Do(d.Cut(ctx))
	}
	writers.Wait()
	return errors.Join(ctx.Err(), x.wrong)
}

// write begins batches until one is refused, and notes those that were accepted.
func (x *blackout) write(ctx context.Context, base string, r *rand.Rand) {
	for {
		lines := 1 + r.IntN(20)
		b, err := begin(ctx, once(base), lines, 2)
		x.mu.Lock()
		var a *answer
		if err == nil {
			x.accepted[b.ID] = lines
		} else if errors.As(err, &a) && a.status < 500 { // as that a file is not there which it has just taken
			x.wrong = errors.Join(x.wrong, err)
		}
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// known asks for every batch that was accepted.
func (x *blackout) known(ctx context.Context) error {
	for id := range x.accepted {
		if _, err := look(ctx, x.bases, id); err != nil {
			return fmt.Errorf("batch %s, which was accepted: %w", id, err)
		}
	}
	return nil
}

// start starts processes that are not there.
func (x *blackout) start(ctx context.Context, list ...*process) error {
	for _, p := range list {
		if p.cmd == nil {
			if err := p.start(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *blackout) anyOrder(ctx context.Context) error {
	for _, i := range x.r.Perm(len(x.nodes)) {
		if err := errors.Join(x.start(ctx, x.nodes[i]), wait(ctx, between(x.r, 0, time.Second))); err != nil {
			return err
		}
	}
	return x.start(ctx, x.querns...)
}

// minorityFirst: while one of three nodes is there files and batches are refused, for now, and chats answered.
func (x *blackout) minorityFirst(ctx context.Context) error {
	order := x.r.Perm(len(x.nodes))
	if err := errors.Join(x.start(ctx, x.nodes[order[0]]), x.start(ctx, x.querns...)); err != nil {
		return err
	}
	for _, base := range x.bases {
		_, err := once(base)(ctx, "GET", "/v1/batches", "", nil)
		var a *answer
		if !errors.As(err, &a) || a.status != 503 || a.retry == "" {
			return fmt.Errorf("one node of three: /v1/batches: %w; want 503 and Retry-After", errors.Join(err, errors.New("that is not it")))
		}
		if _, err := once(base)(ctx, "POST", "/v1/chat/completions", "application/json", []byte(`{"messages":[{"role":"user","content":"Hello"}],"max_tokens":4}`)); err != nil {
			return fmt.Errorf("one node of three: a chat: %w", err)
		}
	}
	return x.start(ctx, x.nodes[order[1]], x.nodes[order[2]])
}

// emptied: a node that has lost all is started when the others have all that was accepted.
func (x *blackout) emptied(ctx context.Context) (err error) {
	defer must.Catch(&err)
	gone := x.r.IntN(len(x.nodes))
	must.Do(os.RemoveAll(x.stores[gone]))
	for _, i := range x.r.Perm(len(x.nodes)) {
		if i != gone {
			must.Do(x.start(ctx, x.nodes[i]))
		}
	}
	must.Do(x.start(ctx, x.querns...))
	if err := x.known(ctx); err != nil {
		return fmt.Errorf("without %s: %w", x.nodes[gone].name, err)
	}
	return x.start(ctx, x.nodes[gone])
}

// calm reports whether no process panicked.
func (x *blackout) calm() error {
	for _, p := range append(x.nodes[:len(x.nodes):len(x.nodes)], x.querns...) {
		text, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("panic:")) {
			return fmt.Errorf("%s panicked; see %s", p.name, p.log)
		}
	}
	return nil
}
