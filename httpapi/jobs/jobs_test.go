package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"quern/bench/poll"
	"quern/httpapi/batch"
)

// start is when tests take place.
var start = time.Unix(1790000000, 0)

// open makes Jobs in dir that work until the test ends or stop is called.
func openJobs(t *testing.T, o Options, run Runner) (j *Jobs, stop func()) {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { j.Work(ctx, run) })
	stop = sync.OnceFunc(func() { cancel(); wg.Wait(); j.Close() })
	t.Cleanup(stop)
	return j, stop
}

// A clerk answers lines and counts them.
type clerk struct {
	mu    sync.Mutex
	asked map[string]int
	by    func(ctx context.Context, l batch.Line) batch.Answer // nil answers all
}

func (c *clerk) run(ctx context.Context, owner string, l batch.Line, _ OpenFile) batch.Answer {
	c.mu.Lock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[l.CustomID]++
	c.mu.Unlock()
	if c.by != nil {
		return c.by(ctx, l)
	}
	return ok(l)
}

func (c *clerk) times(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[id]
}

func ok(l batch.Line) batch.Answer {
	return batch.Answer{Status: 200, RequestID: "req", JSON: true, Body: fmt.Appendf(nil, `{"said":%q}`, l.CustomID)}
}

func input(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`+"\n", i+1)
	}
	return b.String()
}

func put(t *testing.T, j *Jobs, owner, text string) batch.File {
	t.Helper()
	f, err := j.PutFile(t.Context(), owner, batch.File{Filename: "in.jsonl", Purpose: "batch"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func begin(t *testing.T, j *Jobs, owner, file string) batch.Batch {
	t.Helper()
	b, err := j.Start(t.Context(), owner, batch.Request{InputFileID: file, Endpoint: "/v1/embeddings", Window: "24h", Within: 24 * time.Hour, Metadata: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reached waits for a status.
func reached(t *testing.T, j *Jobs, owner, id string, want batch.Status) batch.Batch {
	t.Helper()
	var b batch.Batch
	poll.Until(t, fmt.Sprintf("batch is %s", want), func() bool {
		got, err := j.Batch(t.Context(), owner, id)
		if err == nil {
			b = got
		}
		if err == nil && b.Status != want && b.Status.Over() {
			t.Fatalf("the batch is %s, want %s: %+v", b.Status, want, b)
		}
		return err == nil && b.Status == want
	})
	return b
}

// content reads a file of results: statuses or error codes by custom_id, in order.
func content(t *testing.T, j *Jobs, owner string, id *string) (lines []string) {
	t.Helper()
	if id == nil {
		return nil
	}
	f, r, err := j.OpenFile(t.Context(), owner, *id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || int64(len(b)) != f.Bytes {
		t.Fatalf("%d bytes of %d: %v", len(b), f.Bytes, err)
	}
	for line := range strings.Lines(string(b)) {
		var x struct {
			ID       string `json:"id"`
			CustomID string `json:"custom_id"`
			Response *struct {
				Status int             `json:"status_code"`
				Body   json.RawMessage `json:"body"`
			} `json:"response"`
			Error *struct{ Code string } `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		switch {
		case x.Error != nil:
			lines = append(lines, x.CustomID+" "+x.Error.Code)
		default:
			lines = append(lines, fmt.Sprintf("%s %d", x.CustomID, x.Response.Status))
		}
	}
	return lines
}

// stores are both kinds.
func stores(t *testing.T, f func(t *testing.T, o Options)) {
	t.Run("embedded", func(t *testing.T) { f(t, Options{Dir: t.TempDir(), Workers: 2}) })
	t.Run("cluster", func(t *testing.T) {
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 26})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("not ready")
		}
		f(t, Options{Servers: []string{s.ClientURL()}, Workers: 2, MaxBytes: 100 << 20})
	})
}

func TestBatch(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		c := &clerk{by: func(_ context.Context, l batch.Line) batch.Answer {
			a := ok(l)
			switch l.CustomID {
			case "c2":
				a.Status = 400
			case "c4": // too large for a message
				a.Body = fmt.Appendf(nil, `{"said":%q}`, strings.Repeat("x", largeResult+1))
			}
			return a
		}}
		j, _ := openJobs(t, o, c.run)
		f := put(t, j, "me", input(5))
		if f.Bytes != int64(len(input(5))) || f.Object != "file" || f.Status != "processed" || f.CreatedAt != start.Unix() {
			t.Errorf("the file is %+v", f)
		}
		b := begin(t, j, "me", f.ID)
		if b.Status != batch.Validating || *b.ExpiresAt != start.Add(24*time.Hour).Unix() {
			t.Errorf("a new batch is %+v", b)
		}
		b = reached(t, j, "me", b.ID, batch.Completed)
		if b.Counts != (batch.Counts{Total: 5, Completed: 4, Failed: 1}) || b.Model != "m" || b.CompletedAt == nil || b.FinalizingAt == nil {
			t.Errorf("the batch is %+v", b)
		}
		if got := fmt.Sprint(content(t, j, "me", b.OutputFileID)); got != "[c1 200 c3 200 c4 200 c5 200]" {
			t.Errorf("output %s", got)
		}
		if got := fmt.Sprint(content(t, j, "me", b.ErrorFileID)); got != "[c2 400]" {
			t.Errorf("errors %s", got)
		}
		poll.Until(t, "nothing is left of it", func() bool {
			ids, err := j.s.activeIDs(t.Context())
			i, err2 := j.s.queue.Info(t.Context())
			return err == nil && err2 == nil && len(ids) == 0 && i.State.Msgs == 0
		})
		// Its own key sees all of it, another nothing.
		for _, owner := range []string{"me", "you", ""} {
			files, err := j.Files(t.Context(), owner)
			batches, err2 := j.Batches(t.Context(), owner)
			if mine := owner == "me"; err != nil || err2 != nil || len(files) != 3 && mine || len(batches) != 1 && mine || len(files)+len(batches) != 0 && !mine {
				t.Errorf("%q has %d files and %d batches, %v, %v", owner, len(files), len(batches), err, err2)
			}
		}
		if _, _, err := j.OpenFile(t.Context(), "you", f.ID); err != batch.ErrNotFound {
			t.Errorf("another's file: %v", err)
		}
		if _, err := j.Cancel(t.Context(), "you", b.ID); err != batch.ErrNotFound {
			t.Errorf("another's batch: %v", err)
		}
		if _, err := j.Cancel(t.Context(), "me", b.ID); err != batch.ErrOver {
			t.Errorf("cancelling a batch that is over: %v", err)
		}
		if err := j.DeleteFile(t.Context(), "me", f.ID); err != nil {
			t.Error(err)
		}
		if _, err := j.File(t.Context(), "me", f.ID); err != batch.ErrNotFound {
			t.Errorf("a deleted file: %v", err)
		}
	})
}

// TestNothingStarts: what only looks makes no store.
func TestNothingStarts(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	j, stop := openJobs(t, Options{Dir: dir}, (&clerk{}).run)
	if l, err := j.Files(t.Context(), ""); err != nil || len(l) != 0 {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := j.Batch(t.Context(), "", "batch_1"); err != batch.ErrNotFound {
		t.Error(err)
	}
	stop()
	if hasData(dir) {
		t.Error("a store was made")
	}
	if _, err := j.File(t.Context(), "", "../../x"); err != batch.ErrNotFound {
		t.Error(err)
	}
}

func TestBadFile(t *testing.T) {
	t.Parallel() // it waits
	c := &clerk{}
	j, _ := openJobs(t, Options{Dir: t.TempDir(), Workers: 1}, c.run)
	b := begin(t, j, "", put(t, j, "", input(2)+"nonsense\n").ID)
	b = reached(t, j, "", b.ID, batch.Failed)
	if b.Errors == nil || len(b.Errors.Data) != 1 || *b.Errors.Data[0].Line != 3 || b.FailedAt == nil {
		t.Errorf("the batch is %+v", b)
	}
	if c.times("c1") != 0 {
		t.Error("a line of it ran")
	}
	if _, err := j.PutFile(t.Context(), "", batch.File{Purpose: "batch"}, strings.NewReader(strings.Repeat("x\n", batch.MaxLines+1))); !errors.Is(err, batch.ErrLines) {
		t.Errorf("a file of too many lines: %v", err)
	}
}

// TestRestart: the server ends in the middle of a batch, and a line is still being computed.
// The next one goes on, also when the queue was lost.
func TestRestart(t *testing.T) {
	t.Parallel() // it waits
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost queue %v", lose), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			reach := make(chan struct{}, 100)
			c := &clerk{by: func(ctx context.Context, l batch.Line) batch.Answer {
				if l.CustomID == "c7" || l.CustomID == "c8" {
					reach <- struct{}{}
					<-ctx.Done()
					return batch.Answer{Retry: true}
				}
				return ok(l)
			}}
			j, stop := openJobs(t, Options{Dir: dir, Workers: 2, ackWait: 2 * time.Second}, c.run)
			b := begin(t, j, "", put(t, j, "", input(20)).ID)
			<-reach
			<-reach
			if lose {
				if err := j.s.queue.Purge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			stop()

			c2 := &clerk{}
			j, _ = openJobs(t, Options{Dir: dir, Workers: 2, ackWait: 2 * time.Second}, c2.run)
			b = reached(t, j, "", b.ID, batch.Completed)
			var want []string
			for i := range 20 {
				want = append(want, fmt.Sprintf("c%d 200", i+1))
			}
			if got := content(t, j, "", b.OutputFileID); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("output %v", got)
			}
			for i := range 20 {
				id := fmt.Sprintf("c%d", i+1)
				if before := c.times(id) == 1 && i < 6; before == (c2.times(id) == 1) {
					t.Errorf("line %s ran %d times before and %d after", id, c.times(id), c2.times(id))
				}
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel() // it waits
	reach := make(chan struct{}, 100)
	c := &clerk{by: func(ctx context.Context, l batch.Line) batch.Answer {
		if l.CustomID != "c1" {
			reach <- struct{}{}
			<-ctx.Done()
			return batch.Answer{Retry: true}
		}
		return ok(l)
	}}
	j, _ := openJobs(t, Options{Dir: t.TempDir(), Workers: 1}, c.run)
	b := begin(t, j, "", put(t, j, "", input(9)).ID)
	<-reach
	b, err := j.Cancel(t.Context(), "", b.ID)
	if err != nil || b.Status != batch.Cancelling {
		t.Fatalf("%+v, %v", b, err)
	}
	b = reached(t, j, "", b.ID, batch.Cancelled)
	if got := fmt.Sprint(content(t, j, "", b.OutputFileID)); got != "[c1 200]" || b.ErrorFileID != nil || b.Counts.Completed != 1 || b.CancelledAt == nil {
		t.Errorf("output %s of %+v", got, b)
	}
	if c.times("c3") > 0 {
		t.Error("a line ran after the batch was cancelled")
	}
}

func TestExpired(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	var mu sync.Mutex
	now := start
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	reach := make(chan struct{}, 100)
	c := &clerk{by: func(ctx context.Context, l batch.Line) batch.Answer {
		if l.CustomID != "c1" {
			reach <- struct{}{}
			<-ctx.Done()
			return batch.Answer{Retry: true}
		}
		return ok(l)
	}}
	j, stop := openJobs(t, Options{Dir: dir, Workers: 1, Now: clock}, c.run)
	b := begin(t, j, "", put(t, j, "", input(3)).ID)
	<-reach
	stop()
	mu.Lock()
	now = start.Add(25 * time.Hour)
	mu.Unlock()
	j, _ = openJobs(t, Options{Dir: dir, Workers: -1, Now: clock}, c.run)
	b = reached(t, j, "", b.ID, batch.Expired)
	if got := fmt.Sprint(content(t, j, "", b.OutputFileID), content(t, j, "", b.ErrorFileID)); got != "[c1 200] [c2 batch_expired c3 batch_expired]" || b.Counts != (batch.Counts{Total: 3, Completed: 1, Failed: 2}) {
		t.Errorf("files %s of %+v", got, b)
	}
}

// TestRetry: what was not decided is asked again, and the rest is not.
func TestRetry(t *testing.T) {
	t.Parallel() // it waits
	c := &clerk{}
	c.by = func(_ context.Context, l batch.Line) batch.Answer {
		if c.times(l.CustomID) < 3 {
			return batch.Answer{Status: 503, Retry: true}
		}
		return ok(l)
	}
	j, _ := openJobs(t, Options{Dir: t.TempDir(), Workers: 1}, c.run)
	b := begin(t, j, "", put(t, j, "", input(1)).ID)
	b = reached(t, j, "", b.ID, batch.Completed)
	if b.Counts.Completed != 1 || c.times("c1") != 3 {
		t.Errorf("%+v after %d tries", b.Counts, c.times("c1"))
	}
}
