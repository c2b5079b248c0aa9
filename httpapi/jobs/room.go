package jobs

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// reserve is the bytes that stay free on the disk of an embedded store. JetStream does not recover from a
// write that found the disk full, even when there is space again; so none is begun.
const reserve = 8 << 20

// A room is the disk of an embedded store. The zero value, of a cluster, is never full.
type room struct {
	dir  string
	free func(dir string) int64 // -1 where it is not known
}

// has reports whether n bytes may be written: a *batch.FullError where not.
func (r room) has(n int) error {
	if r.free == nil {
		return nil
	}
	if free := r.free(r.dir); free >= 0 && free-reserve < int64(n) {
		return &batch.FullError{Left: max(free-reserve, 0), Disk: true, Err: errors.New("the disk of jobs.dir is full")}
	}
	return nil
}

// A roomy bucket refuses writes when its room is full.
type roomy struct {
	jetstream.KeyValue
	room room
}

func (b roomy) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if err := b.room.has(len(value)); err != nil {
		return 0, err
	}
	return b.KeyValue.Create(ctx, key, value, opts...)
}

func (b roomy) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if err := b.room.has(len(value)); err != nil {
		return 0, err
	}
	return b.KeyValue.Update(ctx, key, value, rev)
}

func (b roomy) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := b.room.has(len(value)); err != nil {
		return 0, err
	}
	return b.KeyValue.Put(ctx, key, value)
}
