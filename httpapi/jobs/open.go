package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"quern/engine/filelock"
	"quern/httpapi/batch"
)

// A store is an open connection with its buckets and streams.
type store struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	server *server.Server // embedded; nil of a cluster
	lock   *os.File       // of the folder of the embedded one

	records   jetstream.KeyValue // files and batches, by owner
	active    jetstream.KeyValue // batches that are not over
	leases    jetstream.KeyValue // whose steward each is; of passing
	results   jetstream.KeyValue // by batch and line
	responses jetstream.KeyValue // by owner and id; nil where none are kept
	queue     jetstream.Stream
	lines     jetstream.Consumer
	passing   []*passing
	contents  contents
	room      room // of the embedded one
	ackWait   time.Duration
}

// Names in the cluster, which may be others' too.
const (
	bucketRecords   = "quern_records"
	bucketActive    = "quern_active"
	bucketLeases    = "quern_leases"
	bucketResults   = "quern_results"
	bucketObjects   = "quern_contents"
	bucketResponses = "quern_responses"
	queueStream     = "QUERN_LINES"
	queueSubject    = "quern.lines."
	queueConsumer   = "workers"
)

const (
	// leaseTime is how long a lease lasts that its steward does not renew, and ackWait how long a worker
	// may report no progress. Both do so three times as often.
	leaseTime = 9 * time.Second
	ackWait   = 9 * time.Second

	// largeResult is the size from which a result is no message, and a line in the queue
	// names its place in the input file.
	largeResult = 512 << 10

	inFlight = 10_000 // lines that all workers of a cluster may have together
)

// open opens the store that o names.
func open(ctx context.Context, o *Options) (_ *store, err error) {
	s := &store{ackWait: o.ackWait}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if len(o.Servers) == 0 {
		err = s.embed(o)
	} else {
		err = s.connect(o)
	}
	if err != nil {
		return nil, err
	}
	if s.js, err = jetstream.New(s.nc, jetstream.WithPublishAsyncMaxPending(256)); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, o); err != nil {
		return nil, err
	}
	return s, s.dropOrphans(ctx)
}

// embed starts a server in this process, which only this process can connect to.
func (s *store) embed(o *Options) (err error) {
	if s.lock, err = lockDir(o.Dir); err != nil {
		return err
	}
	s.room = room{o.Dir, o.Free}
	s.server, err = server.NewServer(&server.Options{
		ServerName: "quern", DontListen: true, NoSigs: true,
		JetStream: true, StoreDir: dataDir(o.Dir), SyncAlways: true,
		// The buckets have limits of their own. These only keep the server from taking
		// the free space of the disk at start as a limit.
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: o.MaxBytes + o.ResponseBytes + 1<<30,
	})
	if err != nil {
		return err
	}
	s.server.SetLogger(serverLog{o.Log}, false, false)
	s.server.Start()
	if !s.server.ReadyForConnections(30 * time.Second) {
		return errors.New("the embedded JetStream was not ready within 30 s; the log says why")
	}
	s.nc, err = nats.Connect("", nats.InProcessServer(s.server), nats.Name("quern"), nats.MaxReconnects(-1))
	return err
}

// connect dials a cluster.
func (s *store) connect(o *Options) (err error) {
	with := []nats.Option{nats.Name("quern"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(3 * time.Second)}
	if o.Credentials != "" {
		with = append(with, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		with = append(with, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		with = append(with, nats.ClientCert(o.Cert, o.Key))
	}
	s.nc, err = nats.Connect(strings.Join(o.Servers, ","), with...)
	return err
}

// prepare makes the buckets and the queue that are missing.
func (s *store) prepare(ctx context.Context, o *Options) error {
	share := o.MaxBytes / 4
	bucket := func(kv *jetstream.KeyValue, c jetstream.KeyValueConfig) func(context.Context) error {
		return func(ctx context.Context) error {
			c.Replicas = o.Replicas
			b, err := s.js.CreateOrUpdateKeyValue(ctx, c)
			*kv = roomy{b, s.room}
			return err
		}
	}
	// The leases of a process end with it where the store does too. Nodes of a cluster keep them in files, as
	// all else: of streams in memory they elect no leader after a loss of power until every one of
	// them is back.
	persist, leaseStorage := jetstream.DefaultPersistMode, jetstream.FileStorage
	if s.server != nil {
		persist, leaseStorage = jetstream.AsyncPersistMode, jetstream.MemoryStorage
	}
	makers := []func(context.Context) error{
		bucket(&s.records, jetstream.KeyValueConfig{Bucket: bucketRecords, Description: "files and batches of quern", MaxBytes: -1}),
		bucket(&s.active, jetstream.KeyValueConfig{Bucket: bucketActive, Description: "batches that are not over", MaxBytes: -1}),
		bucket(&s.results, jetstream.KeyValueConfig{Bucket: bucketResults, Description: "results of lines", MaxBytes: share, TTL: max(o.TTL, 0)}),
		func(ctx context.Context) (err error) {
			if s.server != nil {
				s.contents, err = openFolder(filepath.Join(o.Dir, "contents"), o.MaxBytes, s.room)
				return err
			}
			s.contents, err = openObjects(ctx, s.nc, s.js, o)
			return err
		},
	}
	if o.ResponseBytes > 0 {
		makers = append(makers, func(ctx context.Context) error { return s.openResponses(ctx, o) })
	}
	for _, make := range makers {
		// A cluster that has just started has no leader for a while.
		if err := within(ctx, 3*callTime, make); err != nil {
			return err
		}
	}
	s.passing = []*passing{
		{name: "KV_" + bucketLeases, make: func(ctx context.Context) error {
			b, err := s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: bucketLeases, Description: "stewards of batches", TTL: leaseTime, Replicas: o.Replicas, Storage: leaseStorage})
			if err == nil && s.leases == nil {
				s.leases = roomy{b, s.room}
			}
			return err
		}},
		{name: queueStream, make: func(ctx context.Context) error {
			queue, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
				Name: queueStream, Description: "lines that wait", Subjects: []string{queueSubject + "*"},
				Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
				MaxBytes: share, Replicas: o.Replicas, PersistMode: persist,
			})
			if err != nil {
				return err
			}
			if s.queue == nil {
				s.queue = queue
			}
			return s.consume(ctx)
		}},
	}
	for _, p := range s.passing {
		if err := s.openPassing(ctx, p); err != nil {
			return err
		}
	}
	if s.server == nil { // copies in a cluster may be behind
		s.records = sure{s.records, s.nc}
		if s.responses != nil {
			s.responses = sure{s.responses, s.nc}
		}
	}
	return nil
}

func (s *store) close() {
	if s.nc != nil {
		s.nc.Close()
	}
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	if s.lock != nil {
		s.lock.Close()
	}
}

// hasData reports whether an embedded store was ever started in dir.
func hasData(dir string) bool {
	_, err := os.Stat(dataDir(dir))
	return err == nil
}

// lockDir keeps other processes out of a store. The system drops the lock with the process.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(f); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrLocked) {
			err = fmt.Errorf("another process has the files and batches in %s; give this one another folder (jobs.dir), or let both use a cluster (jobs.store)", dir)
			return nil, &batch.AwayError{Err: err}
		}
		return nil, err
	}
	return f, nil
}

// random is 64 bits that cannot be guessed.
func random() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
