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
	little   = 1 << 20   // bytes that are, where there is little room or the speed is known
	slowDisk = 100 << 20 // bytes a second
	littleAt = 10 << 30  // bytes that are free
)

// folders are those that are written to: is that possible, is there room, how fast are they.
func (m *Machine) folders() []Finding {
	var list []Finding
	measured := map[uint64]rates{}
	for _, d := range m.Dirs {
		list = append(list, d.look(measured)...)
	}
	return list
}

// rates are those of a file system, in bytes a second.
type rates struct{ written, read float64 }

// look writes to the folder; how fast that is it looks for once a file system.
func (d Dir) look(measured map[uint64]rates) []Finding {
	at := d.Path
	for { // a folder that is made when it is needed
		_, err := os.Stat(at)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	id, free, known := volume(at)
	r, again := measured[id]
	size := sample
	if again || known && free < 4*sample {
		size = little
	}
	now, err := speed(at, size)
	if !again {
		r = now
	}
	if known && err == nil {
		measured[id] = r
	}
	name := "folder of " + d.Use
	found := d.Path
	if known {
		found += ", " + humanize.IBytes(free) + " free"
	}
	if err != nil {
		return one(name, Broken, found+": "+err.Error(), "let the user that runs quern write there, or name another: "+d.Setting)
	}
	found += fmt.Sprintf(", writes %s/s, reads %s/s", humanize.IBytes(uint64(r.written)), humanize.IBytes(uint64(r.read)))
	switch {
	case known && free < littleAt:
		return one(name, Slow, found, "make room, or name another: "+d.Setting)
	case r.read < slowDisk || r.written < slowDisk/4:
		return one(name, Slow, found, d.Why+": use a local disk, or name another: "+d.Setting)
	}
	return one(name, OK, found, "")
}

// speed writes a file of size bytes, to the disk, and reads it again, from the disk where the
// system can be told to forget it.
func speed(dir string, size int) (r rates, err error) {
	f, err := os.CreateTemp(dir, ".quern-doctor-*")
	if err != nil {
		return rates{}, err
	}
	os.Remove(f.Name()) // so that nothing is left when this is interrupted; Windows removes no open file
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, little)
	rand.Read(block) // which no disk makes smaller
	start := time.Now()
	for range size / len(block) {
		if _, err := f.Write(block); err != nil {
			return rates{}, err
		}
	}
	if err := f.Sync(); err != nil {
		return rates{}, err
	}
	r.written = float64(size) / time.Since(start).Seconds()
	forget(f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return rates{}, err
	}
	start = time.Now()
	if _, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, block); err != nil {
		return rates{}, err
	}
	r.read = float64(size) / time.Since(start).Seconds()
	return r, nil
}
