package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/bench/poll"
	"quern/httpapi/batch"
)

// TestOnce: the second result of a line is refused, and leaves nothing.
func TestOnce(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		j, _ := openJobs(t, o, (&clerk{}).run)
		put(t, j, "", input(1))
		for _, size := range []int{10, largeResult + 1} {
			key := fmt.Sprintf("batch_x%d.1", size)
			var got strings.Builder
			for i := range 2 {
				first, err := j.s.createResult(t.Context(), key, false, []byte(strings.Repeat(fmt.Sprint(i), size)))
				if err != nil || first != (i == 0) {
					t.Errorf("result %d: first %v, %v", i, first, err)
				}
			}
			if err := j.s.copyResult(t.Context(), &got, key); err != nil || got.String() != strings.Repeat("0", size) {
				t.Errorf("%d bytes, %v", got.Len(), err)
			}
		}
	})
}

// late is a bucket whose copy gets keys late.
type late struct {
	jetstream.KeyValue
	asks int // that it has not got yet
}

func (b *late) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.asks--; b.asks >= 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return b.KeyValue.Get(ctx, key)
}

// lateObjects is the same of an object store.
type lateObjects struct {
	jetstream.ObjectStore
	asks int
}

func (b *lateObjects) GetBytes(ctx context.Context, name string, opts ...jetstream.GetObjectOpt) ([]byte, error) {
	if b.asks--; b.asks >= 0 {
		return nil, jetstream.ErrObjectNotFound
	}
	return b.ObjectStore.GetBytes(ctx, name, opts...)
}

// TestLateCopy: an acknowledged record is found where the copy that answers is behind, and
// what was removed, or never there, is not.
func TestLateCopy(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.Now = func() time.Time { return start }
		j, err := New(o) // nothing works: a sweep would read the store while it is replaced
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(j.Close)
		f := put(t, j, "me", input(1))
		s, ok := j.s.records.(sure)
		if ok == (len(o.Servers) == 0) {
			t.Fatalf("the bucket is a %T", j.s.records)
		}
		if !ok {
			return // there is one copy
		}
		copied := &late{KeyValue: s.KeyValue}
		j.s.records = sure{copied, s.nc}
		objects := j.s.contents.(*objects)
		contents := &lateObjects{ObjectStore: objects.store}
		objects.store = contents
		for _, tt := range []struct {
			name, id string
			want     error
		}{{"kept", f.ID, nil}, {"never there", "file-0", batch.ErrNotFound}, {"removed", f.ID, batch.ErrNotFound}} {
			if tt.name == "removed" {
				if err := j.DeleteFile(t.Context(), "me", f.ID); err != nil {
					t.Fatal(err)
				}
			}
			copied.asks, contents.asks = 3, 3
			_, r, err := j.OpenFile(t.Context(), "me", tt.id)
			if err != tt.want {
				t.Errorf("%s: %v", tt.name, err)
			} else if err == nil {
				r.Close()
			}
		}
	})
}

// headless is a cluster some of whose streams have no leader.
type headless struct {
	jetstream.JetStream
	gone *bool
}

func (h headless) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if *h.gone {
		return nil, &jetstream.APIError{Code: 503, ErrorCode: codeNoLeader}
	}
	return h.JetStream.Stream(ctx, name)
}

// TestMend: leases and lines whose streams have no leader for long are made anew, no sooner, and the
// batch they were of goes on.
func TestMend(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		if len(o.Servers) == 0 {
			return // there is one node
		}
		o.Workers = -1
		c := &clerk{}
		j, _ := openJobs(t, o, c.run)
		b := begin(t, j, "", put(t, j, "", input(3)).ID)
		poll.Until(t, "the lines wait", func() bool {
			i, err := j.s.queue.Info(t.Context())
			return err == nil && i.State.Msgs == 3
		})
		gone := false
		s := &store{js: headless{j.s.js, &gone}}
		for _, p := range j.s.passing { // the watch of j's own store marks its own
			s.passing = append(s.passing, &passing{name: p.name, make: p.make})
		}
		for _, tt := range []struct {
			name string
			gone bool
			at   time.Duration
			want int
		}{{"well", false, 0, 0}, {"lost", true, time.Second, 0}, {"back", false, 20 * time.Second, 0}, {"lost again", true, 40 * time.Second, 0},
			{"for a while", true, 69 * time.Second, 0}, {"for long", true, 71 * time.Second, 2}, {"after that", false, 80 * time.Second, 0}} {
			gone = tt.gone
			if mended, err := s.mend(t.Context(), start.Add(tt.at)); err != nil || len(mended) != tt.want {
				t.Errorf("%s: %v, %v", tt.name, mended, err)
			}
		}
		if _, err := j.s.leases.Get(t.Context(), b.ID); !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Errorf("the lease is still there: %v", err)
		}
		// What the steward does every quarter of a minute.
		r := &steward{j: j, s: j.s, id: b.ID, key: batchKey("", b.ID)}
		if _, err := get(t.Context(), j.s, r.key, &r.r); err != nil {
			t.Fatal(err)
		}
		if n, err := r.waiting(t.Context()); n != 0 || err != nil {
			t.Errorf("%d lines wait in a new queue, %v", n, err)
		}
		if err := r.fill(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { (&worker{j: j, s: j.s, run: c.run}).work(ctx) })
		defer func() { stop(); wg.Wait() }()
		b = reached(t, j, "", b.ID, batch.Completed)
		if got := content(t, j, "", b.OutputFileID); len(got) != 3 {
			t.Errorf("%d lines of output", len(got))
		}
	})
}

// TestStorage: all that nodes keep lies in files, for of what is in memory a cluster that lost power elects no
// leader until every node is back. Leases of an embedded store end with it.
func TestStorage(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.ResponseBytes = 1 << 20
		j, _ := openJobs(t, o, (&clerk{}).run)
		put(t, j, "", input(1))
		n := 0
		list := j.s.js.ListStreams(t.Context())
		for i := range list.Info() {
			n++
			want := jetstream.FileStorage
			if j.s.server != nil && i.Config.Name == "KV_"+bucketLeases {
				want = jetstream.MemoryStorage
			}
			if i.Config.Storage != want {
				t.Errorf("%s lies in %v", i.Config.Name, i.Config.Storage)
			}
		}
		if err := list.Err(); err != nil || n < 6 {
			t.Errorf("%d streams, %v", n, err)
		}
	})
}

// TestLastDelivery: a line that ended its server each time gets an error, and is not run.
func TestLastDelivery(t *testing.T) {
	t.Parallel() // it waits
	c := &clerk{}
	w := &worker{run: c.run}
	failed, line, err := w.attempt(t.Context(), nil, &ticket{Batch: "batch_1", N: 1, CustomID: "c1"}, &batchRecord{}, deliveries+1)
	if err != nil || !failed || !strings.Contains(string(line), `"gave_up"`) || c.times("c1") != 0 {
		t.Errorf("failed %v, %s, %v; it ran %d times", failed, line, err, c.times("c1"))
	}
}

func TestFull(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.MaxBytes = 12 << 20
		j, _ := openJobs(t, o, (&clerk{}).run)
		put1 := func(size int) (batch.File, error) {
			return j.PutFile(t.Context(), "", batch.File{Purpose: "user_data"}, strings.NewReader(strings.Repeat("x", size)))
		}
		f, err := put1(5 << 20)
		if err != nil {
			t.Fatal(err)
		}
		var full *batch.FullError
		if _, err := put1(9 << 20); !errors.As(err, &full) || full.Left <= 0 || full.Left > 12<<20 {
			t.Fatalf("%v, %+v left", err, full)
		}
		// What was there is whole, and there is room again for what fits.
		_, r, err := j.OpenFile(t.Context(), "", f.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := io.Copy(io.Discard, r); n != 5<<20 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if _, err := r.Seek(5<<20-3, io.SeekStart); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(r); len(b) != 3 || err != nil {
			t.Errorf("%d bytes behind a seek, %v", len(b), err)
		}
		if _, err := put1(3 << 20); err != nil {
			t.Error(err)
		}
	})
}

// TestFullQueue: lines that have no room in the queue wait for those before them.
func TestFullQueue(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.MaxBytes, o.Workers = 800<<10, -1 // the queue has a quarter, and the lines take twice that
		c := &clerk{}
		j, _ := openJobs(t, o, c.run)
		const n = 300
		b := begin(t, j, "", put(t, j, "", strings.ReplaceAll(input(n), `"input":"x"`, `"input":"`+strings.Repeat("x", 1<<10)+`"`)).ID)
		poll.Until(t, "the queue has lines", func() bool {
			i, err := j.s.queue.Info(t.Context())
			return err == nil && i.State.Msgs >= 100
		})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { (&worker{j: j, s: j.s, run: c.run}).work(ctx) })
		defer func() { stop(); wg.Wait() }()
		b = reached(t, j, "", b.ID, batch.Completed)
		if got := content(t, j, "", b.OutputFileID); b.Counts.Completed != n || len(got) != n {
			t.Errorf("%+v, %d lines of output", b.Counts, len(got))
		}
		for i := range n {
			if got := c.times(fmt.Sprintf("c%d", i+1)); got != 1 {
				t.Errorf("line %d ran %d times", i+1, got)
			}
		}
	})
}

// TestExpiry: files and batches go with time, on disk too.
func TestExpiry(t *testing.T) {
	t.Parallel() // it waits
	var mu sync.Mutex
	now := start
	j, _ := openJobs(t, Options{Dir: t.TempDir(), Workers: 1, TTL: 48 * time.Hour, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}, (&clerk{}).run)
	soon := start.Add(time.Hour).Unix()
	f, err := j.PutFile(t.Context(), "", batch.File{Purpose: "user_data", ExpiresAt: &soon}, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	b := begin(t, j, "", put(t, j, "", input(1)).ID)
	reached(t, j, "", b.ID, batch.Completed)
	mu.Lock()
	now = start.Add(2 * time.Hour)
	mu.Unlock()
	if _, err := j.File(t.Context(), "", f.ID); err != batch.ErrNotFound {
		t.Error(err)
	}
	if l, err := j.Files(t.Context(), ""); len(l) != 2 || err != nil {
		t.Errorf("%d files, %v", len(l), err)
	}
	mu.Lock()
	now = start.Add(49 * time.Hour)
	mu.Unlock()
	if err := j.sweep(t.Context(), j.s); err != nil {
		t.Fatal(err)
	}
	if l, err := j.Batches(t.Context(), ""); len(l) != 0 || err != nil {
		t.Errorf("%d batches, %v", len(l), err)
	}
	if used := j.s.contents.(*folder).used; used != 0 {
		t.Errorf("%d bytes are left", used)
	}
}

// TestOrphans: what a server left behind that ended in the middle of storing it goes when the
// next one starts, and nothing else does.
func TestOrphans(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	j, stop := openJobs(t, Options{Dir: dir}, (&clerk{}).run)
	f := put(t, j, "", input(1))
	stop()
	for _, name := range []string{"file-1.x", "file-2.y" + unfinished, "result.batch_1.2.z"} {
		if err := os.WriteFile(filepath.Join(dir, "contents", name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, _ = openJobs(t, Options{Dir: dir}, (&clerk{}).run)
	_, r, err := j.OpenFile(t.Context(), "", f.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	c := j.s.contents.(*folder)
	if names, err := c.names(); err != nil || len(names) != 1 || c.used != f.Bytes {
		t.Errorf("contents %v with %d bytes, %v", names, c.used, err)
	}
}

// TestLocked: two processes do not share a folder.
func TestLocked(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	j, stop := openJobs(t, Options{Dir: dir}, (&clerk{}).run)
	put(t, j, "", input(1))
	other, err := New(Options{Dir: dir, retryOpen: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Files(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second store in a folder: %v", err)
	}
	stop()
	poll.Until(t, "the second store opens", func() bool { _, err := other.Files(t.Context(), ""); return err == nil })
	other.Close()
}

// TestUnusable: a folder that cannot be made or written is a store that is away, to those who put
// something there too, and the cause is told.
func TestUnusable(t *testing.T) {
	t.Parallel() // it waits
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(file, "none"), link); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{filepath.Join(file, "jobs"), link} {
		j, err := New(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var away *batch.AwayError
		var path *fs.PathError
		if _, err := j.PutFile(t.Context(), "", batch.File{Purpose: batch.ForBatch}, strings.NewReader("x")); !errors.As(err, &away) || !errors.As(err, &path) {
			t.Errorf("%s: %v", dir, err)
		}
		j.Close()
	}
}

// TestAway: a cluster that is not there is said to be away, at once and also to those who ask
// next.
func TestAway(t *testing.T) {
	t.Parallel() // it waits
	j, err := New(Options{Servers: []string{"nats://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var away *batch.AwayError
	for range 3 {
		if _, err := j.Files(t.Context(), ""); !errors.As(err, &away) {
			t.Errorf("%v", err)
		}
	}
}

// TestNoRoom: on a disk without room nothing is written that JetStream could not finish, and all
// goes on when there is room.
func TestNoRoom(t *testing.T) {
	t.Parallel() // it waits
	var left atomic.Int64
	left.Store(1 << 30)
	j, _ := openJobs(t, Options{Dir: t.TempDir(), Free: func(string) int64 { return left.Load() }}, (&clerk{}).run)
	f := put(t, j, "", input(2))
	for _, free := range []int64{reserve, 0} {
		left.Store(free)
		var full *batch.FullError
		if _, err := j.PutFile(t.Context(), "", batch.File{Purpose: "batch"}, strings.NewReader(input(2))); !errors.As(err, &full) || full.Left != max(free-reserve, 0) || !full.Disk {
			t.Errorf("%d bytes left: a file gets %v", free, err)
		}
		if _, err := j.Start(t.Context(), "", batch.Request{InputFileID: f.ID, Endpoint: "/v1/embeddings", Window: "24h", Within: 24 * time.Hour}); !errors.As(err, &full) {
			t.Errorf("%d bytes left: a batch gets %v", free, err)
		}
	}
	left.Store(-1) // not known
	reached(t, j, "", begin(t, j, "", f.ID).ID, batch.Completed)
}

// TestPowerFailure: a queue that is older than its consumer is run all the same. After a power
// failure each of them is as its last sync left it.
func TestPowerFailure(t *testing.T) {
	t.Parallel() // it waits
	const lines = 10
	before, after := t.TempDir(), t.TempDir()
	j, stop := openJobs(t, Options{Dir: before, Workers: -1}, nil)
	b := begin(t, j, "anne", put(t, j, "anne", input(lines)).ID)
	poll.Until(t, "all lines wait", func() bool {
		i, err := j.s.queue.Info(t.Context())
		return err == nil && i.State.Msgs == lines
	})
	stop()
	if err := os.CopyFS(after, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	j, stop = openJobs(t, Options{Dir: after}, (&clerk{}).run)
	reached(t, j, "anne", b.ID, batch.Completed)
	stop()

	consumer := func(dir string) string {
		return filepath.Join(dataDir(dir), "jetstream", "$G", "streams", queueStream, "obs")
	}
	if err := errors.Join(os.RemoveAll(consumer(before)), os.CopyFS(consumer(before), os.DirFS(consumer(after)))); err != nil {
		t.Fatal(err)
	}
	var c clerk
	j, _ = openJobs(t, Options{Dir: before}, c.run)
	b = reached(t, j, "anne", b.ID, batch.Completed)
	if got := content(t, j, "anne", b.OutputFileID); len(got) != lines || c.times("c1") != 1 {
		t.Errorf("%d lines of %d, the first was asked %d times", len(got), lines, c.times("c1"))
	}
}
