// Package hub finds models by reference and brings them to this machine.
//
// A Store is a folder of models, laid out OWNER/NAME/FILE. A Client pulls what
// a Ref names from a hub that speaks the Hugging Face HTTP protocol into a
// Store: whole, verified, or not at all. Nothing here opens a model.
package hub

import "errors"

// DefaultEndpoint is the hub that is asked when no other is named.
const DefaultEndpoint = "https://huggingface.co"

var (
	// ErrFormat marks an answer that is not what a hub sends.
	ErrFormat = errors.New("not a hub's answer")
	// ErrAccess marks what the hub keeps from this user; the message says what to do.
	ErrAccess = errors.New("no access")
	// ErrNotFound marks a repository, revision or file the hub does not have.
	ErrNotFound = errors.New("not on the hub")
	// ErrNotHere marks a model that is not in the store.
	ErrNotHere = errors.New("not on this machine")
	// ErrOffline marks what would need the network when that is forbidden.
	ErrOffline = errors.New("offline")
	// ErrBusy marks a repository another process is pulling or removing.
	ErrBusy = errors.New("in use by another pull")
	// ErrSpace marks a download larger than what the disk has left.
	ErrSpace = errors.New("not enough disk space")
	// ErrHash marks a file that twice arrived other than the hub describes it.
	ErrHash = errors.New("the file is not what the hub describes")
)
