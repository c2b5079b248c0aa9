package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quern/httpapi/batch"
)

// A fileRecord is the record of a file.
type fileRecord struct {
	batch.File
	Owner   string `json:"owner"`
	Content string `json:"content"` // its name
}

// shelf is the owner as part of a key.
func shelf(owner string) string {
	if owner == "" {
		return "all"
	}
	return owner
}

func fileKey(owner, id string) string  { return "file." + shelf(owner) + "." + id }
func batchKey(owner, id string) string { return "batch." + shelf(owner) + "." + id }

// plain reports whether id may be part of a key.
func plain(id string) bool {
	return id != "" && len(id) < 100 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}

// get reads a record and its revision.
func get[T any](ctx context.Context, s *store, key string, r *T) (uint64, error) {
	var rev uint64
	err := call(ctx, func(ctx context.Context) error {
		e, err := s.records.Get(ctx, key)
		if err != nil {
			return err
		}
		rev = e.Revision()
		return json.Unmarshal(e.Value(), r)
	})
	return rev, err
}

// list reads all records whose keys match.
func list[T any](ctx context.Context, s *store, keys string) (out []T, err error) {
	err = call(ctx, func(ctx context.Context) error {
		out = nil
		return entries(ctx, s.records, keys, func(e jetstream.KeyValueEntry) error {
			var r T
			err := json.Unmarshal(e.Value(), &r)
			if err == nil {
				out = append(out, r)
			}
			return err
		})
	})
	return out, err
}

// entries calls f with all entries that there are now of the keys that match, until f fails.
func entries(ctx context.Context, kv jetstream.KeyValue, keys string, f func(jetstream.KeyValueEntry) error) error {
	w, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.Updates():
			if !ok || e == nil {
				return nil
			}
			if err := f(e); err != nil {
				return err
			}
		}
	}
}

// create makes a record that must not be there.
func create(ctx context.Context, s *store, key string, r any) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return call(ctx, func(ctx context.Context) error { _, err := s.records.Create(ctx, key, b); return err })
}

// PutFile stores a file of an owner; of f are read name, purpose, when it was made (0 is now) and expiry.
func (j *Jobs) PutFile(ctx context.Context, owner string, f batch.File, content io.Reader) (batch.File, error) {
	s, err := j.store(ctx)
	if err != nil {
		return batch.File{}, err
	}
	if f.ID = j.newID("file-"); f.CreatedAt == 0 {
		f.CreatedAt = j.o.Now().Unix()
	}
	if f.Purpose == batch.ForBatch {
		content = &batch.LineCounter{R: content}
	}
	return j.putFile(ctx, s, owner, f, content)
}

// putFile stores a file that has its id.
func (j *Jobs) putFile(ctx context.Context, s *store, owner string, f batch.File, content io.Reader) (batch.File, error) {
	if j.o.TTL > 0 {
		if end := f.CreatedAt + int64(j.o.TTL/time.Second); f.ExpiresAt == nil || *f.ExpiresAt > end {
			f.ExpiresAt = &end
		}
	}
	r := fileRecord{File: f, Owner: owner, Content: f.ID + "." + random()}
	r.Object, r.Status = "file", "processed"
	var err error
	if r.Bytes, err = s.contents.Put(ctx, r.Content, content); err != nil {
		return batch.File{}, err
	}
	// Its bytes are stored before its record is visible.
	if err := create(ctx, s, fileKey(owner, f.ID), r); err != nil {
		if away := (*batch.AwayError)(nil); !errors.As(err, &away) { // else it may have come
			s.contents.Delete(context.WithoutCancel(ctx), r.Content, r.Bytes)
		}
		return batch.File{}, err
	}
	return r.File, nil
}

func (j *Jobs) file(ctx context.Context, owner, id string) (*store, *fileRecord, error) {
	if !plain(id) {
		return nil, nil, batch.ErrNotFound
	}
	s, err := j.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &fileRecord{}
	if _, err := get(ctx, s, fileKey(owner, id), r); err != nil {
		return nil, nil, err
	}
	if j.gone(r.ExpiresAt) {
		return nil, nil, batch.ErrNotFound
	}
	return s, r, nil
}

// gone reports whether an expiry time has passed.
func (j *Jobs) gone(at *int64) bool { return at != nil && j.o.Now().Unix() >= *at }

// File describes a file of an owner.
func (j *Jobs) File(ctx context.Context, owner, id string) (batch.File, error) {
	_, r, err := j.file(ctx, owner, id)
	if err != nil {
		return batch.File{}, err
	}
	return r.File, nil
}

// Files lists those of an owner, oldest first.
func (j *Jobs) Files(ctx context.Context, owner string) ([]batch.File, error) {
	s, err := j.look(ctx)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	records, err := list[fileRecord](ctx, s, fileKey(owner, "*"))
	var out []batch.File
	for _, r := range records {
		if !j.gone(r.ExpiresAt) {
			out = append(out, r.File)
		}
	}
	slices.SortFunc(out, func(a, b batch.File) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

// OpenFile opens a file of an owner.
func (j *Jobs) OpenFile(ctx context.Context, owner, id string) (batch.File, io.ReadSeekCloser, error) {
	s, r, err := j.file(ctx, owner, id)
	if err != nil {
		return batch.File{}, nil, err
	}
	c, err := s.contents.Open(ctx, r.Content, r.Bytes)
	return r.File, c, err
}

// DeleteFile removes a file of an owner.
func (j *Jobs) DeleteFile(ctx context.Context, owner, id string) error {
	s, r, err := j.file(ctx, owner, id)
	if err != nil {
		return err
	}
	return s.deleteFile(ctx, owner, r)
}

func (s *store) deleteFile(ctx context.Context, owner string, r *fileRecord) error {
	if err := call(ctx, func(ctx context.Context) error { return s.records.Purge(ctx, fileKey(owner, r.ID)) }); err != nil {
		return err
	}
	return s.contents.Delete(ctx, r.Content, r.Bytes)
}
