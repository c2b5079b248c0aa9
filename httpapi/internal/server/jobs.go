package server

import (
	"context"
	"io"

	"quern/httpapi/batch"
)

// Jobs keep files and run batches, each for an owner: a text without blanks, "" where there
// are no keys. *jobs.Jobs are some. What an owner has not got is batch.ErrNotFound; a store
// without room fails with a *batch.FullError, one that cannot be reached with a
// *batch.AwayError.
type Jobs interface {
	// PutFile stores a file of which name, purpose, time and expiry are given.
	PutFile(ctx context.Context, owner string, f batch.File, content io.Reader) (batch.File, error)
	File(ctx context.Context, owner, id string) (batch.File, error)
	// Files lists them, oldest first.
	Files(ctx context.Context, owner string) ([]batch.File, error)
	OpenFile(ctx context.Context, owner, id string) (batch.File, io.ReadSeekCloser, error)
	DeleteFile(ctx context.Context, owner, id string) error

	Start(ctx context.Context, owner string, r batch.Request) (batch.Batch, error)
	Batch(ctx context.Context, owner, id string) (batch.Batch, error)
	// Batches lists them, oldest first.
	Batches(ctx context.Context, owner string) ([]batch.Batch, error)
	// Cancel fails with batch.ErrOver where there is nothing left to cancel.
	Cancel(ctx context.Context, owner, id string) (batch.Batch, error)
}
