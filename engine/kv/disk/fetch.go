package disk

import (
	"errors"
	"io/fs"
	"sort"
	"time"
)

// A Model keeps the blocks of one model, which are equally long, in a Store.
type Model struct {
	s             *Store
	block, states int    // bytes
	notify        func() // a Fetch has something, or is over
	free          chan []byte
}

// Model returns a Model of blocks, and states behind them, of so many bytes; 0: these are not kept.
// notify must not block.
func (s *Store) Model(block, states int64, notify func()) *Model {
	return &Model{s: s, block: int(block), states: int(states), notify: notify, free: make(chan []byte, min(ahead, 1+spare/max(1, block+states)))}
}

// Use and Touch are the Store's.
func (m *Model) Use() uint64                { return m.s.Use() }
func (m *Model) Touch(keys []Key, n uint64) { m.s.Touch(keys, n) }

// room returns memory for a block, from a free list.
func (m *Model) room(n int) []byte {
	if n == m.block {
		select {
		case b := <-m.free:
			return b
		default:
		}
	}
	return make([]byte, n)
}

func (m *Model) give(b []byte) {
	if len(b) == m.block {
		select {
		case m.free <- b:
		default:
		}
	}
}

// Save queues a block for writing, the depth-th of the sequence of use n. fill copies its bytes; it
// is called before Save returns, or not where the block is kept already or the queue is full.
func (m *Model) Save(k Key, depth int, n uint64, fill func([]byte) error) {
	m.save(k, m.block, at(n, depth), fill)
}

// SaveStates is Save for the states behind the block k.
func (m *Model) SaveStates(k Key, depth int, n uint64, fill func([]byte) error) {
	m.save(k.States(), m.states, at(n, depth), fill)
}

func (m *Model) save(k Key, size int, used stamp, fill func([]byte) error) {
	s := m.s
	if size == 0 || !s.admit(k, int64(size), used) {
		return
	}
	w := &save{key: k, used: used, data: m.room(size), m: m}
	err := fill(w.data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil { // of the device, which logs it itself
		delete(s.pending, k)
		s.queued -= int64(size)
		s.stats.Dropped++
		return
	}
	s.saves = append(s.saves, w)
	s.write.Signal()
}

// admit reports whether a block is to be written.
func (s *Store) admit(k Key, size int64, used stamp) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.entry(k) != nil || s.pending[k] || s.closed {
		s.index.touch(k, used)
		return false
	}
	if s.skip > 0 || s.queued > 0 && s.queued+size > backlog {
		s.skip = max(0, s.skip-1)
		s.stats.Dropped++
		return false
	}
	s.pending[k] = true
	s.queued += size
	return true
}

// A Fetch reads blocks of one sequence ahead of its caller. Its methods do not wait and
// are for one goroutine.
type Fetch struct {
	m    *Model
	keys []Key
	use  uint64

	// Guarded by the Store's mutex.
	sought bool // how many are there was found out
	end    int  // so many, as far as is known
	wanted bool // blocks are to be read
	next   int  // to be read
	busy   bool // with a reader, or ready for one
	over   bool
	blocks []*Block
}

const (
	ahead = 16       // blocks that are read ahead of the caller
	most  = 64 << 20 // bytes of all that are
	spare = 16 << 20 // bytes that a model keeps for the next
)

// A Block is one that was read.
type Block struct {
	Index  int    // from the start of the sequence
	Data   []byte // nil of models that keep none
	States []byte // behind it, nil where they were not kept
	m      *Model
}

// Release frees the Block's memory.
func (b *Block) Release() {
	if b.Data != nil {
		b.m.give(b.Data)
		b.Data = nil
	}
}

// Seek starts a look-up of blocks of use n, the first of a sequence. It returns nil if there are no
// keys, or the disk does not answer.
func (m *Model) Seek(keys []Key, n uint64) *Fetch {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stalled > 0 || len(keys) == 0 {
		return nil
	}
	f := &Fetch{m: m, keys: keys, use: n, end: len(keys)}
	s.open[f] = true
	s.resume(f)
	return f
}

// more reports whether a reader may read on for f.
func (s *Store) more(f *Fetch) bool {
	return !f.over && (!f.sought || f.wanted && f.next < f.end && len(f.blocks) < ahead && (s.held == 0 || s.held+f.m.block+f.m.states <= most))
}

// resume queues f for a reader. The mutex is held.
func (s *Store) resume(f *Fetch) {
	if !f.busy && s.more(f) {
		f.busy = true
		s.ready = append(s.ready, f)
		s.read.Signal()
	}
}

// Want starts reading the blocks from the first-th on. It reports whether there may be some.
func (f *Fetch) Want(first int) bool {
	s := f.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	f.wanted, f.next = true, max(f.next, first)
	if f.sought && f.next >= f.end {
		s.finish(f)
	}
	s.resume(f)
	return !f.over
}

// Next returns the next block that has been read, if there is one, and whether no more will be.
func (f *Fetch) Next() (b *Block, over bool) {
	s := f.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.blocks) == 0 {
		return nil, f.over
	}
	b = f.blocks[0]
	f.blocks = f.blocks[1:]
	s.held -= b.size()
	for f := range s.open { // others may read now
		s.resume(f)
	}
	return b, false
}

// Close ends f.
func (f *Fetch) Close() {
	s := f.m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(f)
	for _, b := range f.blocks {
		s.held -= b.size()
	}
	f.blocks = nil
	for f := range s.open {
		s.resume(f)
	}
}

func (b *Block) size() int { return len(b.Data) + len(b.States) }

// finish ends f, but for blocks that have been read. The mutex is held.
func (s *Store) finish(f *Fetch) {
	f.over = true
	delete(s.open, f)
}

// endAll ends all, and returns them, for their models to be notified. The mutex is held.
func (s *Store) endAll() (ended []*Fetch) {
	for f := range s.open {
		s.finish(f)
		ended = append(ended, f)
	}
	s.ready = nil
	return ended
}

func notifyAll(ended []*Fetch) {
	for _, f := range ended {
		f.m.notify()
	}
}

// reads is a goroutine that reads files.
func (s *Store) reads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.ready) == 0 && !s.closed {
			s.read.Wait()
		}
		if s.closed {
			return
		}
		f := s.ready[0]
		s.ready = s.ready[1:]
		for s.more(f) {
			if !f.sought {
				s.seek(f)
			} else {
				s.fetch(f)
			}
			if f.sought && f.next >= f.end {
				s.finish(f)
			}
			s.mu.Unlock()
			f.m.notify()
			s.mu.Lock()
		}
		f.busy = false
	}
}

// seek finds out how many blocks are there: files are removed from the end of sequences, so
// halving finds it. Of models with states it is those before the last states. The mutex is held, but
// not while files are opened.
func (s *Store) seek(f *Fetch) {
	keys, n := f.keys, 0
	s.mu.Unlock()
	s.timed(func() {
		if f.m.states > 0 {
			for n = len(keys); n > 0 && !s.there(keys[n-1].States()); {
				n--
			}
			return
		}
		n = sort.Search(len(keys), func(i int) bool { return !s.there(keys[i]) })
	})
	s.mu.Lock()
	f.sought, f.end = true, n
	if n == 0 {
		s.stats.Misses++
	}
}

// there reports whether a file can be opened.
func (s *Store) there(k Key) bool {
	f, err := s.o.FS.Open(s.path(k))
	if err != nil {
		s.failed(err)
		return false
	}
	f.Close()
	return true
}

// fetch reads the next block. The mutex is held, but not while it reads.
func (s *Store) fetch(f *Fetch) {
	i, last, m := f.next, f.next == f.end-1, f.m
	s.mu.Unlock()
	b := &Block{Index: i, m: m}
	ok := true
	if m.block > 0 {
		b.Data = m.room(m.block)
		ok = s.load(f.keys[i], b.Data)
	}
	if ok && m.states > 0 && last {
		states := make([]byte, m.states)
		if s.load(f.keys[i].States(), states) {
			b.States = states
		}
	}
	s.mu.Lock()
	switch {
	case f.over:
		return
	case !ok:
		s.stats.Misses++
		f.end = i
		for _, k := range f.keys[i+1:] { // may be damaged too; they are computed, and so written again
			s.index.remove(k)
			s.index.remove(k.States())
		}
		return
	}
	s.stats.Hits++
	s.index.touch(f.keys[i], at(f.use, i))
	if b.States != nil {
		s.index.touch(f.keys[i].States(), at(f.use, i))
	}
	f.blocks = append(f.blocks, b)
	s.held += b.size()
	f.next = max(f.next, i+1)
}

// load reads a file. One with any error counts as missing.
func (s *Store) load(k Key, data []byte) (ok bool) {
	var err error
	s.timed(func() {
		var f File
		if f, err = s.o.FS.Open(s.path(k)); err != nil {
			return
		}
		defer f.Close()
		var used stamp
		if used, err = readFile(f, k, data); err == nil {
			s.mu.Lock()
			s.index.add(k, occupied(int64(len(data))), used)
			s.mu.Unlock()
		}
	})
	if errors.Is(err, errForeign) {
		s.discard(k)
	} else if err != nil {
		s.failed(err)
	}
	return err == nil
}

// failed counts an error of reading, but not a missing file.
func (s *Store) failed(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.warn(reading, "a block cannot be read; it is computed", "err", err)
	}
}

// timed calls f, which reads. Where it takes too long all fetches end, and none begins until f has
// returned.
func (s *Store) timed(f func()) {
	late := time.AfterFunc(s.o.Patience, func() {
		s.mu.Lock()
		s.stalled++
		ended := s.endAll()
		s.mu.Unlock()
		s.warn(stalling, "the disk does not answer; prompts are computed until it does")
		notifyAll(ended)
	})
	f()
	if !late.Stop() {
		s.mu.Lock()
		s.stalled--
		s.mu.Unlock()
	}
}
