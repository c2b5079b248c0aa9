package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options say where a Store is and how much it may hold.
type Options struct {
	Dir  string // made where it is missing, but not the folder above it
	Size int64  // bytes of all files
	Log  *slog.Logger

	Patience time.Duration // how long a read is waited for; 0 is half a second
	FS       FS            // nil is OS
}

// A Store is a folder of blocks. It is safe for concurrent use.
type Store struct {
	o    Options
	name string // of temporary files

	mu      sync.Mutex
	index   index
	saves   []*save // to be written, oldest first
	pending map[Key]bool
	queued  int64       // bytes of these
	ready   []*Fetch    // that readers may read on for
	open    fetches     // all that are not over
	held    int         // bytes of blocks that are read and not taken
	stalled int         // reads that have not returned in time
	warned  [kinds]bool // of each fault
	backoff int         // writes that are left out after the next that fails
	skip    int         // and after the last, still
	fresh   int64       // bytes written since the folder was read
	closed  bool
	stats   Stats

	write, read sync.Cond // saves or ready have grown, or closed is set
	writer      sync.WaitGroup
}

type fetches map[*Fetch]bool

// Stats count since Open.
type Stats struct {
	Bytes, Files int64 // in the folder, as far as it was read

	Hits    int64 // blocks read
	Misses  int64 // fetches that ended at a block that was not there
	Writes  int64 // blocks written
	Dropped int64 // blocks that were not, since the disk was busy or had failed
	Evicted int64 // blocks removed for others
	Damaged int64 // files that did not match their names
	Errors  int64 // of the disk
}

const (
	readers  = 4
	farewell = 5 * time.Second // Close waits no longer for writes
	backlog  = 64 << 20        // bytes that may wait to be written
	mostSkip = 1024            // writes left out after failures, at most
	shares   = 16              // the folder is read again when a share of its size was written
	unit     = 4096            // bytes that files are counted in
)

// Faults that are logged once.
const (
	writing = iota
	reading
	stalling
	damaged
	kinds
)

// Open opens the Store of a folder. If that cannot be used, the error is logged, and all look-ups
// are misses.
func Open(o Options) *Store {
	o.Patience = cmp.Or(o.Patience, 500*time.Millisecond)
	if o.FS == nil {
		o.FS = OS{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{o: o, name: fmt.Sprintf("tmp-%016x", rand.Uint64()), index: newIndex(), pending: map[Key]bool{}, open: fetches{}}
	s.write.L, s.read.L = &s.mu, &s.mu
	s.writer.Go(s.writes)
	for range readers {
		go s.reads() // one may be in a call that does not return, so Close cannot wait for them
	}
	return s
}

// Close writes the queued blocks, and when each block was last used, and ends all fetches. It waits
// for at most farewell.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	ended := s.endAll()
	s.write.Broadcast()
	s.read.Broadcast()
	s.mu.Unlock()
	notifyAll(ended)
	done := make(chan struct{})
	go func() {
		s.writer.Wait()
		close(done)
	}()
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.o.Log.Warn("prefix cache: the disk does not answer; what waits is not written", "dir", s.o.Dir)
	}
}

// Stats takes a snapshot.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Bytes, st.Files = s.index.bytes, int64(s.index.files)
	return st
}

// Use returns a number that is higher than that of all uses before.
func (s *Store) Use() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index.use()
}

// Touch sets use n as the last use of these blocks, the first of a sequence.
func (s *Store) Touch(keys []Key, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for depth, k := range keys {
		s.index.touch(k, at(n, depth))
	}
	if len(s.index.dirty) >= mostDirty {
		s.write.Signal()
	}
}

func (s *Store) path(k Key) string { return filepath.Join(s.o.Dir, k.folder(), k.file()) }

// warn logs a fault the first time.
func (s *Store) warn(kind int, message string, args ...any) {
	s.mu.Lock()
	if kind == damaged {
		s.stats.Damaged++
	} else {
		s.stats.Errors++
	}
	first := !s.warned[kind]
	s.warned[kind] = true
	s.mu.Unlock()
	if first {
		s.o.Log.Warn("prefix cache: "+message, append([]any{"dir", s.o.Dir}, args...)...)
	}
}

// A save is a block to be written.
type save struct {
	key  Key
	used stamp
	data []byte
	m    *Model
}

// writes is the goroutine that writes and removes files.
func (s *Store) writes() {
	if err := s.o.FS.Mkdir(s.o.Dir); err != nil && !errors.Is(err, fs.ErrExist) {
		s.warn(writing, "the folder cannot be made; nothing is kept", "err", err)
	}
	s.scan(true)
	for {
		s.mu.Lock()
		for len(s.saves) == 0 && !s.closed && len(s.index.dirty) < mostDirty {
			s.write.Wait()
		}
		if len(s.saves) == 0 {
			dirty, closed := s.index.takeDirty(), s.closed
			s.mu.Unlock()
			s.mark(dirty)
			if closed {
				return
			}
			continue
		}
		w := s.saves[0]
		s.saves[0] = nil
		s.saves = s.saves[1:]
		have := s.index.entry(w.key) != nil
		s.mu.Unlock()
		if !have {
			s.store(w)
		}
		s.mu.Lock()
		delete(s.pending, w.key)
		s.queued -= int64(len(w.data))
		s.mu.Unlock()
		w.m.give(w.data)
	}
}

// store writes a block, and evicts others for it.
func (s *Store) store(w *save) {
	size := occupied(int64(len(w.data)))
	err := s.room(size)
	if err == nil {
		err = s.put(w)
	}
	s.mu.Lock()
	if err == nil {
		s.index.add(w.key, size, w.used)
		s.stats.Writes++
		s.fresh += size
		s.backoff = 0
	} else {
		s.stats.Dropped++
		s.skip = s.backoff
		s.backoff = min(2*s.backoff+1, mostSkip)
	}
	var dirty map[Key]stamp
	again := s.fresh >= s.o.Size/shares
	if again {
		dirty = s.index.takeDirty()
	}
	s.mu.Unlock()
	if err != nil {
		s.warn(writing, "a block cannot be written; replies stay the same, prompts may take longer after a restart", "err", err)
	}
	if again { // others may use the folder too
		s.mark(dirty)
		s.scan(false)
	}
}

// occupied is the disk space of a file that keeps n bytes.
func occupied(n int64) int64 { return (header + n + unit - 1) / unit * unit }

// room evicts files until size more bytes fit.
func (s *Store) room(size int64) error {
	if size > s.o.Size {
		return fmt.Errorf("a block of %d bytes, and all may have %d", size, s.o.Size)
	}
	for {
		s.mu.Lock()
		if s.index.bytes+size <= s.o.Size {
			s.mu.Unlock()
			return nil
		}
		k := s.index.oldest()
		used := s.index.entry(k).used
		s.mu.Unlock()
		if e, err := s.look(k); err == nil && e.used > used { // by another server
			s.mu.Lock()
			s.index.add(k, e.size, e.used)
			s.mu.Unlock()
			continue
		}
		if err := s.o.FS.Remove(s.path(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.mu.Lock()
		s.index.remove(k)
		s.stats.Evicted++
		s.mu.Unlock()
	}
}

// put writes a file and gives it its name once it is whole. It is not forced to the disk:
// one that a crash leaves in parts has the wrong checksum.
func (s *Store) put(w *save) (err error) {
	folder := filepath.Join(s.o.Dir, w.key.folder())
	temp := filepath.Join(folder, s.name)
	f, err := s.o.FS.Create(temp)
	if errors.Is(err, fs.ErrNotExist) {
		// Only this one: a whole folder that has vanished may be a disk that is not mounted.
		if err = s.o.FS.Mkdir(folder); err == nil || errors.Is(err, fs.ErrExist) {
			f, err = s.o.FS.Create(temp)
		}
	}
	if err != nil {
		return err
	}
	h := headerOf(w.key, w.used, w.data)
	if _, err = f.Write(h[:]); err == nil {
		_, err = f.Write(w.data)
	}
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = s.o.FS.Rename(temp, s.path(w.key))
	}
	if err != nil {
		s.o.FS.Remove(temp)
	}
	return err
}

// mark writes when files were last used into them, as far as that can be done.
func (s *Store) mark(used map[Key]stamp) {
	for k, u := range used {
		f, err := s.o.FS.Update(s.path(k))
		if err != nil {
			continue
		}
		h := headerOf(k, u, nil)
		f.WriteAt(h[usedAt:keyAt], usedAt)
		f.Close()
	}
}

// scan reads the folder. first removes temporary files of writers that were stopped.
func (s *Store) scan(first bool) {
	s.mu.Lock()
	s.fresh = 0
	s.mu.Unlock()
	for n := range 256 {
		var k Key
		k[0] = byte(n)
		folder := k.folder()
		list, err := s.o.FS.ReadDir(filepath.Join(s.o.Dir, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn(reading, "the folder cannot be read", "err", err)
			continue
		}
		var found []entry
		for _, e := range list {
			k, ok := keyOf(folder, e.Name())
			if ok {
				if e, err := s.look(k); err == nil {
					found = append(found, e)
				}
			} else if first && strings.HasPrefix(e.Name(), "tmp-") {
				s.o.FS.Remove(filepath.Join(s.o.Dir, folder, e.Name()))
			}
		}
		s.mu.Lock()
		s.index.merge(byte(n), found)
		s.mu.Unlock()
	}
}

// look reads the header of a file. One that is none of quern's is removed, since it has the
// name of a block.
func (s *Store) look(k Key) (entry, error) {
	f, err := s.o.FS.Open(s.path(k))
	if err != nil {
		return entry{}, err
	}
	_, used, size, err := readHeader(f, k)
	f.Close()
	if errors.Is(err, errForeign) {
		s.discard(k)
	}
	return entry{key: k, size: occupied(size), used: used}, err
}

// discard removes a file that is damaged.
func (s *Store) discard(k Key) {
	s.warn(damaged, "a file is damaged, or none of quern's; it is removed", "file", s.path(k))
	err := s.o.FS.Remove(s.path(k))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		s.index.remove(k)
	}
}
