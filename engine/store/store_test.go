package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quern/engine"
	"quern/engine/hub"
	"quern/engine/hub/hubtest"
)

// shelf is Models whose ids are the paths of files below a folder.
type shelf struct {
	dir  string
	busy map[string]bool
	mu   sync.Mutex
}

func (m *shelf) Serves(path string) string {
	rel, err := filepath.Rel(m.dir, path)
	if _, bad := os.Stat(path); err != nil || bad != nil {
		return ""
	}
	return filepath.ToSlash(strings.TrimSuffix(rel, ".gguf"))
}

func (m *shelf) Removable(id string) (string, error) {
	p := filepath.Join(m.dir, filepath.FromSlash(id)+".gguf")
	if _, err := os.Stat(p); err != nil || !fs.ValidPath(id) {
		return "", engine.Errorf(engine.CodeModelNotFound, "model", "model %q does not exist", id)
	}
	return p, nil
}

func (m *shelf) Retire(id string, remove func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[id] {
		return engine.Errorf(engine.CodeModelInUse, "model", "model %q is in use", id)
	}
	return remove()
}

// A bench is a store with a hub to pull from.
type bench struct {
	*Store
	t   *testing.T
	hub *hubtest.Hub
	m   *shelf
	o   hub.Options
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{})
	r.Read(b)
	return b
}

const (
	fourBits  = "m-Q4_K_M.gguf"
	eightBits = "m-Q8_0.gguf"
	large     = 512 << 10
	piece     = 64 << 10
)

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models") // which is not there yet
	b := &bench{t: t, m: &shelf{dir: dir, busy: map[string]bool{}}, hub: hubtest.New(t, map[string][]byte{fourBits: noise(large), eightBits: noise(large)})}
	b.o = hub.Options{Store: hub.Store{Dir: dir}, Endpoint: b.hub.URL, Chunk: piece, Parallel: 1, Retries: 1, Backoff: time.Millisecond}
	b.Store = New(Options{Dir: dir, Models: b.m, Hub: func(progress func(hub.Progress)) (*hub.Client, error) {
		o := b.o
		o.Progress = progress
		return hub.New(o)
	}})
	t.Cleanup(b.Store.Close)
	return b
}

// pull follows a pull to its end.
func (b *bench) pull(ctx context.Context, model string) (last engine.Pull, seen []engine.Pull, err error) {
	for p, err := range b.Pull(ctx, model) {
		if err != nil {
			return last, seen, err
		}
		last, seen = p, append(seen, p)
	}
	return last, seen, nil
}

func (b *bench) want(err error, code engine.Code) *engine.Error {
	b.t.Helper()
	var known *engine.Error
	if !errors.As(err, &known) || known.Code != code {
		b.t.Errorf("%v; want %s", err, code)
		return &engine.Error{}
	}
	if strings.Contains(known.Message, b.m.dir) || known.Message == "" {
		b.t.Errorf("clients get %q", known.Message)
	}
	return known
}

// gate holds files back from the nth request on. entered gets a value for each that waits.
func (b *bench) gate(n int) (entered chan string, open func()) {
	entered, opened := make(chan string, 100), make(chan struct{})
	count := 0
	var mu sync.Mutex
	b.hub.Give(func(_ http.ResponseWriter, r *http.Request, name string) bool {
		mu.Lock()
		count++
		wait := count >= n
		mu.Unlock()
		if wait {
			entered <- name
			select {
			case <-opened:
			case <-r.Context().Done():
				return true
			}
		}
		return false
	})
	return entered, sync.OnceFunc(func() { close(opened) })
}

// TestPull: the progress names the plan and its alternatives, never goes back, and ends
// with what the model is called. Again, nothing is fetched.
func TestPull(t *testing.T) {
	b := newBench(t)
	last, seen, err := b.pull(t.Context(), "hub:o/n")
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Pull{Ref: "o/n", State: engine.PullDone, Done: large, Size: large, Model: "o/n/m-Q4_K_M", Plan: last.Plan}
	if last != want {
		t.Errorf("%+v; want %+v", last, want)
	}
	if p := last.Plan; p == nil || p.Quant != "Q4_K_M" || !p.Chosen || fmt.Sprint(p.Others) != "[Q8_0]" || p.Files != 1 || p.Fetch != large || p.Commit != hubtest.Commit {
		t.Errorf("plan %+v", p)
	}
	for i, p := range seen {
		if p.State == engine.PullStarting || i > 0 && p.Done < seen[i-1].Done && p.State == seen[i-1].State || p.Size != large {
			t.Errorf("message %d: %+v", i, p)
		}
	}
	gets := len(b.hub.Gets())
	if last, _, err := b.pull(t.Context(), "o/n"); err != nil || last.State != engine.PullDone || len(b.hub.Gets()) != gets {
		t.Errorf("again: %+v, %v after %d requests", last, err, len(b.hub.Gets())-gets)
	}
	b.o.Offline = "QUERN_OFFLINE is set"
	if last, _, err := b.pull(t.Context(), "o/n:q4_k_m"); err != nil || last.Model != "o/n/m-Q4_K_M" {
		t.Errorf("offline: %+v, %v", last, err)
	}
	_, _, err = b.pull(t.Context(), "o/n:q8_0")
	b.want(err, engine.CodeHubUnavailable)
}

// TestPullResumes: a pull whose client has left ends, is listed as stopped with what has
// arrived, and goes on from there.
func TestPullResumes(t *testing.T) {
	b := newBench(t)
	entered, open := b.gate(4)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := b.pull(ctx, "o/n:Q8_0")
		ended <- err
	}()
	<-entered
	list, err := b.Pulls()
	if err != nil || len(list) != 1 || list[0].Ref != "o/n:Q8_0" || list[0].State != engine.PullDownloading || list[0].Done != 3*piece {
		t.Errorf("while it runs: %+v, %v", list, err)
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.work.Wait() // it ends without anybody else's doing
	open()
	list, err = b.Pulls()
	if err != nil || len(list) != 1 || list[0] != (engine.Pull{Ref: "o/n:Q8_0", State: engine.PullStopped, Done: 3 * piece, Size: large}) {
		t.Errorf("afterwards: %+v, %v", list, err)
	}
	gets := len(b.hub.Gets())
	last, seen, err := b.pull(t.Context(), list[0].Ref)
	if err != nil || last.Model != "o/n/m-Q8_0" || last.Plan.Fetch != large-3*piece || seen[0].Done < 3*piece {
		t.Errorf("%+v, %v", last, err)
	}
	if n := len(b.hub.Gets()) - gets; n != (large-3*piece)/piece {
		t.Errorf("%d pieces fetched", n)
	}
	if list, err := b.Pulls(); err != nil || len(list) != 0 {
		t.Errorf("at the end: %+v, %v", list, err)
	}
}

// TestPullTogether: a request for a model that is being pulled follows that pull, which goes on as
// long as anybody follows it.
func TestPullTogether(t *testing.T) {
	b := newBench(t)
	entered, open := b.gate(2)
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { b.pull(first, "o/n") })
	<-entered
	for range 3 {
		started := make(chan struct{})
		all.Go(func() {
			once := sync.OnceFunc(func() { close(started) })
			last := engine.Pull{}
			for p, err := range b.Pull(t.Context(), "hub:o/n") {
				if err != nil {
					t.Error(err)
				}
				last = p
				once()
			}
			if last.State != engine.PullDone {
				t.Errorf("%+v", last)
			}
		})
		<-started
	}
	leave()
	open()
	all.Wait()
	if n := len(b.hub.Gets()); n != large/piece {
		t.Errorf("%d pieces fetched, want each once", n)
	}
}

// TestPullStopped: a pull that is stopped ends for all its callers; its files stay or are deleted.
func TestPullStopped(t *testing.T) {
	for _, discard := range []bool{false, true} {
		b := newBench(t)
		entered, open := b.gate(3)
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, _, err := b.pull(t.Context(), "o/n")
				ended <- err
			}()
		}
		<-entered
		if err := b.Stop(t.Context(), "hub:o/n", discard); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			b.want(<-ended, engine.CodePullStopped)
		}
		open()
		list, err := b.Pulls()
		if err != nil || (len(list) == 0) != discard {
			t.Errorf("discard %v: %+v, %v", discard, list, err)
		}
		b.want(b.Stop(t.Context(), "o/n", false), engine.CodeModelNotFound)
		if discard {
			b.want(b.Stop(t.Context(), "o/n", true), engine.CodeModelNotFound)
		} else if err := b.Stop(t.Context(), "o/n", true); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.m.dir, "*")); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		b.want(b.Stop(t.Context(), "../x", true), engine.CodeInvalidValue)
	}
}

// TestPullRefused: what cannot be pulled is refused with what to do, before anything is
// written.
func TestPullRefused(t *testing.T) {
	b := newBench(t)
	for model, code := range map[string]engine.Code{
		"": engine.CodeInvalidValue, "n": engine.CodeInvalidValue, "../n": engine.CodeInvalidValue, "o/..": engine.CodeInvalidValue, "o/n/../../x": engine.CodeInvalidValue,
		"/etc/passwd": engine.CodeInvalidValue, "https://example.org/o/n": engine.CodeInvalidValue, "o/n:Q4/../x": engine.CodeInvalidValue, "o/n@a/../b": engine.CodeInvalidValue,
		"o/n\x00": engine.CodeInvalidValue, "o/n/.hub.json": engine.CodeInvalidValue, strings.Repeat("o/", 5000): engine.CodeInvalidValue,
		"o/n:Q5_0": engine.CodeInvalidValue, "o/n/x.gguf": engine.CodeInvalidValue,
		"o/absent": engine.CodeModelNotFound, "o/gated": engine.CodeModelNotAllowed,
	} {
		_, _, err := b.pull(t.Context(), model)
		if e := b.want(err, code); e.Param != "model" {
			t.Errorf("%q: param %q", model, e.Param)
		}
	}
	b.o.Free = func(string) int64 { return 1 << 10 }
	_, seen, err := b.pull(t.Context(), "o/n")
	if e := b.want(err, engine.CodeStoreFull); len(seen) > 0 || !strings.Contains(e.Message, "1 MB") {
		t.Errorf("%v after %v", e, seen)
	}
	if gets := b.hub.Gets(); len(gets) > 0 {
		t.Errorf("fetched %v", gets)
	}
	b.Store.o.NoPull = "hub.pull is false"
	_, _, err = b.pull(t.Context(), "o/n")
	b.want(err, engine.CodeModelNotAllowed)
	for _, why := range []error{syscall.EACCES, syscall.EROFS} {
		err := clientError(hub.Ref{}, &fs.PathError{Op: "mkdir", Path: "secret", Err: why})
		if e := b.want(err, engine.CodeEngineFailure); !strings.Contains(e.Message, "may not write") || strings.Contains(e.Message, "secret") {
			t.Errorf("%v: %v", why, e.Message)
		}
	}
}

// TestPullBroken: a hub that breaks off in the middle costs nothing that has arrived.
func TestPullBroken(t *testing.T) {
	b := newBench(t)
	b.hub.Give(func(w http.ResponseWriter, r *http.Request, name string) bool {
		if len(b.hub.Gets()) > 2 {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	_, _, err := b.pull(t.Context(), "o/n")
	b.want(err, engine.CodeHubUnavailable)
	if list, err := b.Pulls(); err != nil || len(list) != 1 || list[0].Done != 2*piece {
		t.Errorf("%+v, %v", list, err)
	}
	b.hub.Give(nil)
	if last, _, err := b.pull(t.Context(), "o/n"); err != nil || last.Plan.Fetch != large-2*piece {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestPullBounds: so many pulls run at a time and no more.
func TestPullBounds(t *testing.T) {
	b := newBench(t)
	entered, open := b.gate(1)
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range Most {
		all.Go(func() { b.pull(ctx, fmt.Sprintf("o/n%d", i)) })
		<-entered
	}
	_, _, err := b.pull(t.Context(), "o/more")
	if e := b.want(err, engine.CodeQueueFull); e.RetryAfter <= 0 {
		t.Error("not said when to try again")
	}
	leave()
	all.Wait()
	b.work.Wait()
	open()
	if last, _, err := b.pull(t.Context(), "o/more"); err != nil || last.State != engine.PullDone {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestClose: pulls end with the server, and none begins afterwards.
func TestClose(t *testing.T) {
	b := newBench(t)
	entered, _ := b.gate(2)
	ended := make(chan error)
	go func() {
		_, _, err := b.pull(t.Context(), "o/n")
		ended <- err
	}()
	<-entered
	b.Store.Close()
	b.want(<-ended, engine.CodeShuttingDown)
	_, _, err := b.pull(t.Context(), "o/n")
	b.want(err, engine.CodeShuttingDown)
}

// TestRemove: pulled files are deleted; files in use, being pulled, or not pulled stay.
func TestRemove(t *testing.T) {
	b := newBench(t)
	for _, q := range []string{"q4_k_m", "q8_0"} {
		if _, _, err := b.pull(t.Context(), "o/n:"+q); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(b.m.dir, "o", "n", "mine.gguf")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	remove := func(id string) error { _, err := b.Remove(t.Context(), id); return err }
	b.want(remove("o/n/mine"), engine.CodeModelNotAllowed)
	b.want(remove("o/n/absent"), engine.CodeModelNotFound)
	b.want(remove("o/n/../n/m-Q8_0"), engine.CodeModelNotFound)
	if b.Removable("o/n/mine") || b.Removable("o/n/absent") || !b.Removable("o/n/m-Q8_0") {
		t.Error("what may be removed is not what is removed")
	}
	b.m.busy["o/n/m-Q8_0"] = true
	b.want(remove("o/n/m-Q8_0"), engine.CodeModelInUse)
	b.m.busy["o/n/m-Q8_0"] = false

	if err := remove("o/n/m-Q4_K_M"); err != nil {
		t.Fatal(err)
	}
	entered, _ := b.gate(1)
	ctx, leave := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() { b.pull(ctx, "o/n:q4_k_m") })
	<-entered
	b.want(remove("o/n/m-Q8_0"), engine.CodeModelInUse) // of a repository that is pulled into
	leave()
	other.Wait()
	b.work.Wait()
	if n, err := b.Remove(t.Context(), "o/n/m-Q8_0"); err != nil || n != large {
		t.Errorf("%d bytes, %v", n, err)
	}
	b.want(remove("o/n/m-Q8_0"), engine.CodeModelNotFound)
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}
