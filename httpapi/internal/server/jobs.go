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

// An Archive keeps responses for longer than a process lives, for all processes that share it.
// Owners and failures are as those of Jobs. *jobs.Jobs are one.
type Archive interface {
	// KeepResponse stores a response in place of what was kept of it.
	KeepResponse(ctx context.Context, owner, id string, items []string, record []byte) error
	Response(ctx context.Context, owner, id string) (record []byte, err error)
	ResponseOf(ctx context.Context, owner, item string) (id string, err error)
	DropResponse(ctx context.Context, owner, id string, items []string) error

	// HoldResponse says that this process makes a response, until release is called or the
	// process ends. Words that are told of it meanwhile are heard.
	HoldResponse(ctx context.Context, owner, id string, heard func(word string)) (release func(), err error)
	ResponseHeld(ctx context.Context, id string) (bool, error)
	TellResponse(ctx context.Context, owner, id, word string) error
}
