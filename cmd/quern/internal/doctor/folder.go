package doctor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
)

const (
	sample   = 64 << 20  // bytes that are written and read again
	slowDisk = 100 << 20 // bytes a second
	littleAt = 10 << 30  // bytes that are free
)

// folders are those that are written to: is that possible, is there room, how fast are they.
func (m *Machine) folders() []Finding {
	var list []Finding
	for _, d := range m.Dirs {
		list = append(list, d.look()...)
	}
	return list
}

func (d Dir) look() []Finding {
	at := d.Path
	for { // a folder that is made when it is needed
		_, err := os.Stat(at)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	free, known := space(at)
	written, read, err := speed(at, free, known)
	name := "folder of " + d.Use
	found := d.Path
	if known {
		found += ", " + humanize.IBytes(free) + " free"
	}
	if err != nil {
		return one(name, Broken, found+": "+err.Error(), "let the user that runs quern write there, or name another: "+d.Setting)
	}
	found += fmt.Sprintf(", writes %s/s, reads %s/s", humanize.IBytes(uint64(written)), humanize.IBytes(uint64(read)))
	switch {
	case known && free < littleAt:
		return one(name, Slow, found, "make room, or name another: "+d.Setting)
	case read < slowDisk || written < slowDisk/4:
		return one(name, Slow, found, d.Why+": use a local disk, or name another: "+d.Setting)
	}
	return one(name, OK, found, "")
}

// speed writes a file, to the disk, and reads it again, from the disk where the system can
// be told to forget it; in bytes a second.
func speed(dir string, free uint64, known bool) (written, read float64, err error) {
	size := sample
	if known && free < 4*sample {
		size = 1 << 20
	}
	f, err := os.CreateTemp(dir, ".quern-doctor-*")
	if err != nil {
		return 0, 0, err
	}
	os.Remove(f.Name()) // so that nothing is left when this is interrupted; Windows removes no open file
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 1<<20)
	rand.Read(block) // which no disk makes smaller
	start := time.Now()
	for range size / len(block) {
		if _, err := f.Write(block); err != nil {
			return 0, 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	written = float64(size) / time.Since(start).Seconds()
	forget(f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, 0, err
	}
	start = time.Now()
	if _, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, block); err != nil {
		return 0, 0, err
	}
	return written, float64(size) / time.Since(start).Seconds(), nil
}
