package hub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"
)

// lockEvery is how often a pull that waits for another looks whether that has ended.
const lockEvery = 250 * time.Millisecond

// claim makes and locks the folder of a plan's repository. While another process pulls
// into it, claim waits and tells how far that one is; the system drops the lock of a
// process that died.
func (c *Client) claim(ctx context.Context, root *os.Root, p *Plan) (*lock, error) {
	repo := p.Ref.Repo()
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		if err := root.MkdirAll(repo, 0o755); err != nil {
			return nil, err
		}
		l, err := acquire(root, repo)
		switch {
		case errors.Is(err, ErrBusy):
		case errors.Is(err, fs.ErrNotExist): // the other has failed and taken the folder away
		default:
			return l, err
		}
		if c.o.Progress != nil {
			c.o.Progress(Progress{File: repo, State: Waiting, AllDone: here(root, p), AllSize: p.Bytes})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// here sums what the store has of p's files, whole or in part. Nothing is verified.
func here(root *os.Root, p *Plan) int64 {
	var sum int64
	for _, f := range p.Files {
		name := path.Join(p.Ref.Repo(), f.Path)
		if st, err := root.Stat(name); err == nil && st.Size() == f.Size {
			sum += f.Size
			continue
		}
		sum += total(readSide(root, name, f.File))
	}
	return sum
}
