package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"quern/httpapi/batch"
)

// A folder is contents on a disk: each a file that is written under another name, synced
// and renamed, so that a name is a whole file also after the power failed.
type folder struct {
	dir  string
	max  int64
	room room

	mu   sync.Mutex
	used int64
}

const unfinished = ".part"

// openFolder opens a folder, and removes incomplete files.
func openFolder(dir string, max int64, room room) (*folder, error) {
	f := &folder{dir: dir, max: max, room: room}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if strings.HasSuffix(e.Name(), unfinished) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		} else if i, err := e.Info(); err == nil {
			f.used += i.Size()
		}
	}
	return f, nil
}

// names are those of all contents.
func (f *folder) names() (names []string, err error) {
	list, err := os.ReadDir(f.dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// take counts n more bytes.
func (f *folder) take(n int64) error {
	if err := f.room.has(int(n)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.max-f.used {
		return &batch.FullError{Left: max(0, f.max-f.used), Err: fmt.Errorf("contents have at most %d bytes (jobs.max_bytes)", f.max)}
	}
	f.used += n
	return nil
}

func (f *folder) give(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= n
}

func (f *folder) Put(ctx context.Context, name string, r io.Reader) (size int64, err error) {
	tmp := filepath.Join(f.dir, name+"."+random()+unfinished)
	w, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, failure(err)
	}
	defer func() {
		if err != nil {
			w.Close()
			os.Remove(tmp)
			f.give(size)
			if full := (*batch.FullError)(nil); errors.As(err, &full) {
				full.Left += size
			}
			size, err = 0, failure(err)
		}
	}()
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, rerr := r.Read(buf)
		if n > 0 {
			if err := f.take(int64(n)); err != nil {
				return size, err
			}
			size += int64(n)
			if _, err := w.Write(buf[:n]); err != nil {
				return size, err
			}
		}
		if rerr == io.EOF {
			break
		} else if rerr != nil {
			return size, rerr
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return size, err
	}
	if err := os.Rename(tmp, filepath.Join(f.dir, name)); err != nil {
		return size, err
	}
	return size, syncDir(f.dir)
}

func (f *folder) Open(_ context.Context, name string, _ int64) (io.ReadSeekCloser, error) {
	r, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, failure(err)
	}
	return r, nil
}

func (f *folder) Delete(_ context.Context, name string, _ int64) error {
	path := filepath.Join(f.dir, name)
	i, err := os.Stat(path)
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		f.give(i.Size())
	}
	return err
}

// syncDir syncs a directory's names to the disk. Windows cannot.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
