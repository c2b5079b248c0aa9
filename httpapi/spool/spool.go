// Package spool keeps bytes of one request or answer whose number is not known
// before: the first in memory, all of them in a temporary file when there are more.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

const (
	// inMemory is how much of one Spool stays in memory, and allInMemory how much of
	// all Spools of a Pool.
	inMemory    = 1 << 20
	allInMemory = 64 << 20
)

// ErrLimit is wrapped by the error of a Write that its Pool has no room for.
var ErrLimit = errors.New("limit of temporary files")

// An Error is a Write that failed because of what is kept, or of where.
type Error struct {
	// Others says that other Spools keep something: when they are closed the same may
	// succeed.
	Others bool
	Err    error // ErrLimit, or the system's
}

func (e *Error) Error() string { return fmt.Sprintf("spool: %v", e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Full reports whether the disk is full, or what the user of the server may take of it.
func (e *Error) Full() bool {
	return errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT)
}

// A Pool bounds what its Spools keep together. Its zero value sets no bound.
type Pool struct {
	limit  int64
	create func() (*os.File, error) // os.CreateTemp, but for tests

	mu           sync.Mutex
	used, memory int64 // bytes of all Spools; those of them in memory
}

// NewPool returns a Pool of at most limit bytes; 0 means any number.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Used returns how many bytes are kept.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// New returns an empty Spool. It has to be closed.
func (p *Pool) New() *Spool { return &Spool{pool: p} }

// take counts n more bytes of s, and reports whether there is memory for them.
func (p *Pool) take(s *Spool, n int64) (memory bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && n > p.limit-p.used {
		return false, &Error{Others: p.used > s.size, Err: ErrLimit}
	}
	p.used += n
	if s.file != nil || s.size+n > inMemory || p.memory+n > allInMemory {
		return false, nil
	}
	p.memory += n
	return true, nil
}

func (p *Pool) give(n, memory int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	p.memory -= memory
}

func (p *Pool) others(s *Spool) bool { return p.Used() > s.size }

// A Spool is a file without a name. One goroutine uses it.
type Spool struct {
	pool *Pool
	mem  []byte
	file *os.File // nil while everything is in memory
	name string   // of the file where the system did not let it be removed while it is open
	size int64
	at   int64
}

// Size returns how many bytes there are.
func (s *Spool) Size() int64 { return s.size }

// Write writes at the place Seek has set, or after what was read or written last.
// Its errors are *Error.
func (s *Spool) Write(p []byte) (int, error) {
	end := s.at + int64(len(p))
	if more := end - s.size; more > 0 {
		memory, err := s.pool.take(s, more)
		if err != nil {
			return 0, err
		}
		if !memory && s.file == nil {
			if err := s.spill(); err != nil {
				s.pool.give(more, 0)
				return 0, &Error{s.pool.others(s), err}
			}
		}
		s.size = end
		if memory {
			s.mem = append(s.mem, make([]byte, more)...)
		}
	}
	if s.file == nil {
		copy(s.mem[s.at:], p)
	} else if _, err := s.file.WriteAt(p, s.at); err != nil {
		return 0, &Error{s.pool.others(s), err}
	}
	s.at = end
	return len(p), nil
}

// spill moves everything to a file.
func (s *Spool) spill() error {
	create := s.pool.create
	if create == nil {
		create = func() (*os.File, error) { return os.CreateTemp("", "quern-*") }
	}
	f, err := create()
	if err != nil {
		return err
	}
	// Without a name it is gone with the process, however that ends.
	name := f.Name()
	if os.Remove(name) == nil {
		name = ""
	}
	if _, err := f.WriteAt(s.mem, 0); err != nil {
		closeFile(f, name)
		return err
	}
	s.pool.give(0, int64(len(s.mem)))
	s.file, s.name, s.mem = f, name, nil
	return nil
}

func closeFile(f *os.File, name string) error {
	err := f.Close()
	if name != "" {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// WriteTo writes everything to w, from the beginning.
func (s *Spool) WriteTo(w io.Writer) (int64, error) {
	// io.Copy would call WriteTo again were it given s.
	return io.Copy(w, io.NewSectionReader(s, 0, s.size))
}

// Read reads on from where Seek, Read or Write ended.
func (s *Spool) Read(p []byte) (int, error) {
	n, err := s.ReadAt(p, s.at)
	s.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// ReadAt reads from a place of its own.
func (s *Spool) ReadAt(p []byte, at int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, at)
	}
	if at < 0 {
		return 0, badPlace(at)
	}
	if at >= int64(len(s.mem)) {
		return 0, io.EOF
	}
	n := copy(p, s.mem[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Seek sets where Read and Write go on.
func (s *Spool) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, badPlace(offset)
	}
	s.at = offset
	return offset, nil
}

func badPlace(at int64) error { return fmt.Errorf("spool: place %d", at) }

// Close frees what is kept. It may be called more than once.
func (s *Spool) Close() error {
	s.pool.give(s.size, int64(len(s.mem)))
	s.size, s.at, s.mem = 0, 0, nil
	f := s.file
	s.file = nil
	if f == nil {
		return nil
	}
	return closeFile(f, s.name)
}
