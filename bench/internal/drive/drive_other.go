//go:build !linux

package drive

import "context"

// A Drive is a file system in a file.
type Drive struct{ At string }

// Again runs this program where it may mount file systems.
func Again(context.Context, ...string) error { return ErrNotHere }

// Private keeps mounts of this program from others.
func Private() error { return ErrNotHere }

// New makes a Drive in a folder.
func New(context.Context, string) (*Drive, error) { return nil, ErrNotHere }

// Mark writes a file and does not sync it.
func (d *Drive) Mark() error { return ErrNotHere }

// Cut has the Drive be what was on the disk at this moment.
func (d *Drive) Cut(context.Context) error { return ErrNotHere }

// Close unmounts it.
func (d *Drive) Close() {}
