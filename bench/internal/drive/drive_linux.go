package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"quern/bench/internal/must"
)

// A Drive is a file system in a file. It is set to write nothing by itself, so that what was not
// synced is in the memory of the system alone.
type Drive struct {
	At    string // where it is mounted
	image string
	marks int
}

// size is what a Drive has; files of zeros take no room.
const size = 1 << 30

// Again runs this program with other arguments where it may mount file systems that no other
// program sees. What it runs calls Private first.
func Again(ctx context.Context, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: mounts of its own: %w", ErrNotHere, err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("in mounts of its own: %w", err)
	}
	return nil
}

// Private keeps mounts of this program from others.
func Private() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	return nil
}

// New makes a Drive in a folder, and mounts it there.
func New(ctx context.Context, dir string) (_ *Drive, err error) {
	defer must.Catch(&err)
	d := &Drive{At: filepath.Join(dir, "disk"), image: filepath.Join(dir, "image")}
	f := must.Get(os.Create(d.image))
	must.Do(errors.Join(f.Truncate(size), f.Close(), os.Mkdir(d.At, 0o700)))
	if err := command(ctx, "mkfs.ext4", "-q", "-F", d.image); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	if err := d.mount(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	return d, nil
}

func (d *Drive) mount(ctx context.Context) error {
	// commit is in seconds: how long the journal waits where nothing is synced.
	return command(ctx, "mount", "-o", "loop,commit=3600", d.image, d.At)
}

// mark is the name of a file that is written anew for each cut, since ext4 syncs one that is written again.
func (d *Drive) mark() string { return filepath.Join(d.At, fmt.Sprint("not-synced-", d.marks)) }

// Mark writes a file and does not sync it, for Cut to see that it goes.
func (d *Drive) Mark() error {
	return os.WriteFile(d.mark(), bytes.Repeat([]byte("gone"), 1<<16), 0o600)
}

// Cut has the Drive be what was on the disk at this moment, and mounts it again. Whatever wrote to
// it has been killed. It fails where what Mark wrote is still there: then nothing is shown.
func (d *Drive) Cut(ctx context.Context) (err error) {
	defer must.Catch(&err)
	before := d.image + ".before"
	must.Do(command(ctx, "cp", "--sparse=always", d.image, before))
	// This writes to the old file, which is then thrown away.
	must.Do(errors.Join(unix.Unmount(d.At, 0), os.Remove(d.image)))
	must.Do(errors.Join(os.Rename(before, d.image), d.mount(ctx)))
	if text, err := os.ReadFile(d.mark()); err == nil && bytes.Contains(text, []byte("gone")) {
		return errors.New("a file that was not synced outlived the outage: this file system shows nothing")
	}
	d.marks++
	return nil
}

// Close unmounts it, with the name space of mounts at the latest.
func (d *Drive) Close() { _ = unix.Unmount(d.At, unix.MNT_DETACH) }

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
