// Package jobs keeps files and responses and runs batches on NATS JetStream: one that is embedded and
// listens on no port, or a cluster that many servers share. It is the only package that
// imports NATS.
//
// Data and where it is kept:
//
//   - records of files and batches, and the results of lines, in key-value buckets. A result
//     is created, never written over, under the key of its batch and line: a line may be
//     computed twice, it is answered once. Embedded, all of it is synced before it is
//     acknowledged.
//   - lines that wait in a work queue. Losing it loses nothing: it is filled again from the
//     input file, with the lines that have no result.
//   - responses, where they are to be kept, in a key-value bucket with an age.
//   - contents of files, and results that are too large for a message, in a folder
//     (embedded) or in an object store (cluster).
//
// Every server that is connected pulls lines. Each batch has one steward, a server that
// holds its lease: it checks the input file, fills the queue, counts results and writes the
// output. When it ends the lease runs out and another continues from the batch's record.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"quern/engine/diskspace"
	"quern/httpapi/batch"
)

// Options of New. Zero fields take the defaults given here.
type Options struct {
	// Servers are addresses of a cluster, as nats://a:4222. Without any, the store is
	// embedded and lies in Dir.
	Servers     []string
	Credentials string // file of credentials for the cluster
	CA          string // file of certificates that vouch for the cluster
	Cert, Key   string // files of this client's certificate
	Replicas    int    // copies that a cluster keeps; 0 means 1

	Dir string // of the embedded store

	MaxBytes int64         // of all contents; results and the queue have a quarter of it each
	TTL      time.Duration // age at which files and batches are removed; negative is never
	Workers  int           // lines this server runs at a time; negative is none
	LongLine int           // bytes of a line

	ResponseBytes int64         // of all responses that are kept; 0 keeps none
	ResponseAge   time.Duration // after which a response is removed; 0 is never

	Log *slog.Logger     // nil discards
	Now func() time.Time // nil is time.Now

	Free func(dir string) int64 // free bytes of the disk, -1 where that is unknown; nil is diskspace.Free

	ackWait, retryOpen time.Duration // for tests; 0 is the constant
}

// Defaults of Options that are zero.
const (
	DefaultMaxBytes = 16 << 30
	DefaultTTL      = 30 * 24 * time.Hour
	DefaultWorkers  = 8
	DefaultLongLine = 16 << 20
)

// Jobs are the files and batches of a store. They are empty, and nothing is started, until
// the first file comes or Work finds that the store has something.
type Jobs struct {
	o   Options
	log *slog.Logger

	mu     sync.Mutex
	s      *store        // nil until it is open
	opened chan struct{} // closed when it is
	closed bool
	failed error     // of the last try to open it
	again  time.Time // when it may be tried again
	lastID int64     // time of the newest id

	kick chan struct{} // of one element: wakes the search for batches without a steward
}

// New makes Jobs. Nothing is opened yet.
func New(o Options) (*Jobs, error) {
	if len(o.Servers) == 0 && o.Dir == "" {
		return nil, errors.New("jobs: neither a folder nor a cluster is named")
	}
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.LongLine = cmp.Or(o.LongLine, DefaultLongLine)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.ackWait = cmp.Or(o.ackWait, ackWait)
	o.retryOpen = cmp.Or(o.retryOpen, retryOpen)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Free == nil {
		o.Free = diskspace.Free
	}
	return &Jobs{o: o, log: o.Log, opened: make(chan struct{}), kick: make(chan struct{}, 1)}, nil
}

// store returns the store, which the first call opens.
func (j *Jobs) store(ctx context.Context) (*store, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, &batch.AwayError{Err: errors.New("it is closed")}
	}
	if j.s == nil {
		if time.Now().Before(j.again) {
			return nil, j.failed // else each request would try again, one after another
		}
		s, err := open(ctx, &j.o)
		if err != nil {
			if err = unopened(err); ctx.Err() == nil {
				j.failed, j.again = err, time.Now().Add(j.o.retryOpen/2)
			}
			return nil, err
		}
		j.s = s
		close(j.opened)
	}
	return j.s, nil
}

// look is store for reads: it returns ErrNotFound where nothing was ever stored.
func (j *Jobs) look(ctx context.Context) (*store, error) {
	select {
	case <-j.opened:
	default:
		if len(j.o.Servers) == 0 && !hasData(j.o.Dir) {
			return nil, batch.ErrNotFound
		}
	}
	return j.store(ctx)
}

// Close ends the connection, and the embedded server after it. Work has to be over.
func (j *Jobs) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.s != nil {
		j.s.close()
	}
}

// Work runs lines and looks after batches until ctx ends. Runner answers a line for the
// owner of its batch.
func (j *Jobs) Work(ctx context.Context, run Runner) {
	s := j.await(ctx)
	if s == nil {
		return
	}
	var wg sync.WaitGroup
	for range j.o.Workers {
		wg.Go(func() { (&worker{j: j, s: s, run: run}).work(ctx) })
	}
	wg.Go(func() { j.watch(ctx, s) })
	wg.Wait()
}

// A Runner answers a line of a batch as a request of the batch's owner.
type Runner func(ctx context.Context, owner string, l batch.Line, file OpenFile) batch.Answer

// OpenFile opens a file of the owner of a batch, for lines that name one.
type OpenFile = func(ctx context.Context, id string) (f batch.File, content io.ReadSeekCloser, err error)

// await opens the store as soon as there is something in it. It returns nil when ctx ends
// before.
func (j *Jobs) await(ctx context.Context) *store {
	said := ""
	for {
		s, err := j.look(ctx)
		if err == nil {
			return s
		}
		again := time.NewTimer(j.o.retryOpen)
		if errors.Is(err, batch.ErrNotFound) {
			again.Stop() // until the first file comes
		} else {
			level := slog.LevelWarn
			if err.Error() == said { // logged once until it changes
				level = slog.LevelDebug
			}
			said = err.Error()
			j.log.Log(ctx, level, "batch work cannot begin", "err", err, "again", j.o.retryOpen)
		}
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-j.opened:
		case <-again.C:
		}
		again.Stop()
	}
}

// How often and how long things are tried.
const (
	retryOpen = 5 * time.Second
	callTime  = 5 * time.Second // one call of the store
)

// nudge wakes the goroutine that looks for batches without a steward.
func (j *Jobs) nudge() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// newID makes ids that sort by when they were made.
func (j *Jobs) newID(prefix string) string {
	j.mu.Lock()
	j.lastID = max(j.lastID+1, j.o.Now().UnixMicro())
	at := j.lastID
	j.mu.Unlock()
	return fmt.Sprintf("%s%014x%s", prefix, at, random())
}

func dataDir(dir string) string { return filepath.Join(dir, "jetstream") }
