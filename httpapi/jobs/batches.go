package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A batchRecord is the record of a batch.
type batchRecord struct {
	batch.Batch
	Owner     string `json:"owner"`
	OutputAge int64  `json:"output_age,omitempty"` // seconds after which its files expire
	Content   string `json:"content"`              // of the input file, whose record may go
	Size      int64  `json:"size"`
}

// Start makes a batch of an uploaded file. It is checked and run later.
func (j *Jobs) Start(ctx context.Context, owner string, r batch.Request) (batch.Batch, error) {
	s, f, err := j.file(ctx, owner, r.InputFileID)
	if err != nil {
		return batch.Batch{}, err
	}
	now := j.o.Now()
	b := batchRecord{Owner: owner, OutputAge: int64(r.OutputAge / time.Second), Content: f.Content, Size: f.Bytes, Batch: batch.Batch{
		ID: j.newID("batch_"), Object: "batch", Endpoint: r.Endpoint, InputFileID: f.ID, CompletionWindow: r.Window,
		Status: batch.Validating, CreatedAt: now.Unix(), ExpiresAt: new(now.Add(r.Within).Unix()), Metadata: r.Metadata,
	}}
	// Stewards look here. One that finds no record yet comes again.
	if err := call(ctx, func(ctx context.Context) error {
		_, err := s.active.Create(ctx, b.ID, []byte(batchKey(owner, b.ID)))
		return err
	}); err != nil {
		return batch.Batch{}, err
	}
	if err := create(ctx, s, batchKey(owner, b.ID), b); err != nil {
		return batch.Batch{}, err
	}
	j.nudge()
	return b.Batch, nil
}

func (j *Jobs) batch(ctx context.Context, owner, id string) (s *store, r *batchRecord, rev uint64, err error) {
	if !plain(id) {
		return nil, nil, 0, batch.ErrNotFound
	}
	if s, err = j.look(ctx); err != nil {
		return nil, nil, 0, err
	}
	r = &batchRecord{}
	rev, err = get(ctx, s, batchKey(owner, id), r)
	return s, r, rev, err
}

// Batch describes a batch of an owner.
func (j *Jobs) Batch(ctx context.Context, owner, id string) (batch.Batch, error) {
	_, r, _, err := j.batch(ctx, owner, id)
	if err != nil {
		return batch.Batch{}, err
	}
	return r.Batch, nil
}

// Batches lists those of an owner, oldest first.
func (j *Jobs) Batches(ctx context.Context, owner string) ([]batch.Batch, error) {
	s, err := j.look(ctx)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	records, err := list[batchRecord](ctx, s, batchKey(owner, "*"))
	var out []batch.Batch
	for _, r := range records {
		out = append(out, r.Batch)
	}
	slices.SortFunc(out, func(a, b batch.Batch) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

// Cancel stops a batch: running lines are aborted, answers are kept.
func (j *Jobs) Cancel(ctx context.Context, owner, id string) (batch.Batch, error) {
	for {
		s, r, rev, err := j.batch(ctx, owner, id)
		if err != nil {
			return batch.Batch{}, err
		}
		switch {
		case r.Status == batch.Cancelling || r.Status == batch.Cancelled:
			return r.Batch, nil
		case r.Status.Over() || r.Status == batch.Finalizing:
			return r.Batch, batch.ErrOver
		}
		r.Status, r.CancellingAt = batch.Cancelling, new(j.o.Now().Unix())
		if _, err = s.update(ctx, r, rev); err == nil {
			j.nudge()
			return r.Batch, nil
		} else if !errors.Is(err, errChanged) {
			return batch.Batch{}, err
		}
	}
}

// errChanged: a record has changed since it was read.
var errChanged = errors.New("jobs: the record has changed")

// update writes a record that was read at rev, and returns its new revision.
func (s *store) update(ctx context.Context, r *batchRecord, rev uint64) (uint64, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	err = call(ctx, func(ctx context.Context) error {
		rev, err = s.records.Update(ctx, batchKey(r.Owner, r.ID), b, rev)
		return err
	})
	if conflict(err) {
		return 0, errChanged
	}
	return rev, err
}

// conflict reports whether a write came second.
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == codeWrongLastSeq)
}
