package hub

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"quern/engine/filelock"
)

// lockName is in a repository's folder while it is pulled into.
const lockName = ".pull.lock"

// A lock keeps other processes out of one repository. The system drops it with
// the process, so a killed pull leaves the file and no lock.
type lock struct {
	root *os.Root
	name string
	f    *os.File
}

// acquire locks a repository's folder, which exists. It does not wait: ErrBusy.
func acquire(root *os.Root, repo string) (*lock, error) {
	name := path.Join(repo, lockName)
	for {
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := filelock.Lock(f); err != nil {
			who := owner(f)
			f.Close()
			if errors.Is(err, filelock.ErrLocked) {
				return nil, fmt.Errorf("%s: %w%s", repo, ErrBusy, who)
			}
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		// The process that held the lock may have removed the file since we opened it.
		mine, err1 := f.Stat()
		there, err2 := root.Stat(name)
		if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
			f.Close()
			continue
		}
		if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
			f.Close()
			return nil, err
		}
		return &lock{root: root, name: name, f: f}, nil
	}
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// busy says whether a repository is locked. Where it is not, busy holds the
// lock for a moment; a pull that begins then waits for it.
func busy(root *os.Root, repo string) bool {
	f, err := root.OpenFile(path.Join(repo, lockName), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Lock(f), filelock.ErrLocked)
}

// owner names the process that wrote a lock file.
func owner(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// release gives the lock up.
func (l *lock) release() {
	// Removed while still locked: see acquire. Where that cannot be, the file
	// stays, and means nothing without the lock.
	_ = l.root.Remove(l.name)
	l.f.Close()
}
