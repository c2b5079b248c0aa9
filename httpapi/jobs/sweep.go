package jobs

import (
	"context"
	"strings"
	"time"
)

// sweep removes files and batches that have expired.
func (j *Jobs) sweep(ctx context.Context, s *store) error {
	files, err := list[fileRecord](ctx, s, "file.>")
	if err != nil {
		return err
	}
	for _, r := range files {
		if j.gone(r.ExpiresAt) {
			if err := s.deleteFile(ctx, r.Owner, &r); err != nil {
				return err
			}
		}
	}
	batches, err := list[batchRecord](ctx, s, "batch.>")
	if err != nil || j.o.TTL <= 0 {
		return err
	}
	for _, r := range batches {
		if r.Status.Over() && j.gone(new(r.CreatedAt+int64(j.o.TTL/time.Second))) {
			if err := call(ctx, func(ctx context.Context) error { return s.records.Purge(ctx, batchKey(r.Owner, r.ID)) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropOrphans removes contents of a folder that are in no record: those that were stored when the
// server ended before their record was written. A cluster removes them after its TTL.
func (s *store) dropOrphans(ctx context.Context) error {
	f, ok := s.contents.(*folder)
	if !ok {
		return nil
	}
	names, err := f.names()
	if err != nil || len(names) == 0 {
		return err
	}
	files, err := list[fileRecord](ctx, s, "file.>")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range files {
		known[r.Content] = true
	}
	active, err := s.activeIDs(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		result, isResult := strings.CutPrefix(name, resultPrefix)
		id, _, _ := strings.Cut(result, ".")
		if known[name] || isResult && active[id] != "" {
			continue
		}
		if err := f.Delete(ctx, name, 0); err != nil {
			return err
		}
	}
	return nil
}
