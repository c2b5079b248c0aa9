package spool

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

func in(t *testing.T) (dir string) {
	dir = t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

// TestSpool: a Spool reads and writes as a file does, wherever its bytes lie, and what
// they took is given back.
func TestSpool(t *testing.T) {
	for _, largest := range []int{1000, inMemory / 50} {
		dir := in(t)
		p := NewPool(0)
		s := p.New()
		var want []byte
		at := 0
		r := rand.New(rand.NewPCG(1, uint64(largest)))
		for range 400 {
			switch r.IntN(4) {
			case 0:
				at = r.IntN(len(want) + 100)
				if got, err := s.Seek(int64(at), io.SeekStart); err != nil || got != int64(at) {
					t.Fatal(got, err)
				}
			case 1:
				b := make([]byte, r.IntN(2*largest))
				n, err := s.Read(b)
				left := max(0, len(want)-at)
				if n != min(len(b), left) || (err != nil) != (n == 0 && (len(b) > 0 || left == 0) && err == io.EOF) && err != nil {
					t.Fatalf("read %d of %d, %v", n, left, err)
				}
				if !bytes.Equal(b[:n], want[min(at, len(want)):][:n]) {
					t.Fatal("read other bytes than were written")
				}
				at += n
			default:
				b := make([]byte, r.IntN(largest))
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				if n, err := s.Write(b); n != len(b) || err != nil {
					t.Fatal(n, err)
				}
				if end := at + len(b); end > len(want) {
					want = append(want, make([]byte, end-len(want))...)
				}
				copy(want[at:], b)
				at += len(b)
			}
		}
		var all bytes.Buffer
		if n, err := s.WriteTo(&all); err != nil || n != s.Size() || !bytes.Equal(all.Bytes(), want) {
			t.Errorf("%d of %d bytes, or others (%v)", n, len(want), err)
		}
		if onDisk := s.file != nil; onDisk != (len(want) > inMemory) || onDisk && s.mem != nil {
			t.Errorf("%d bytes: on disk is %v, %d in memory", len(want), onDisk, len(s.mem))
		}
		if end, err := s.Seek(-1, io.SeekEnd); err != nil || end != int64(len(want)-1) {
			t.Error(end, err)
		}
		if _, err := s.Seek(-int64(len(want)), io.SeekCurrent); err == nil {
			t.Error("a place before the first byte")
		}
		if list, _ := os.ReadDir(dir); len(list) > 0 && runtime.GOOS != "windows" {
			t.Errorf("a crash would leave %v", list)
		}
		if p.Used() != int64(len(want)) {
			t.Errorf("%d bytes used, want %d", p.Used(), len(want))
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if list, _ := os.ReadDir(dir); len(list) > 0 || p.Used() != 0 || p.memory != 0 {
			t.Errorf("left are %v, %d bytes, %d in memory", list, p.Used(), p.memory)
		}
	}
}

// TestPoolLimit: what all Spools keep is bounded, and the error tells whether others
// are in the way.
func TestPoolLimit(t *testing.T) {
	in(t)
	p := NewPool(3 * inMemory)
	a, b := p.New(), p.New()
	defer a.Close()
	piece := make([]byte, inMemory)
	var full *Error
	for range 3 {
		if _, err := a.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Write(piece[:1]); !errors.As(err, &full) || !errors.Is(err, ErrLimit) || full.Others {
		t.Errorf("alone: %+v", err)
	}
	if _, err := b.Write(piece[:1]); !errors.As(err, &full) || !errors.Is(err, ErrLimit) || !full.Others {
		t.Errorf("beside another: %+v", err)
	}
	if _, err := a.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(piece); err != nil {
		t.Errorf("writing over what is there: %v", err)
	}
	a.Close()
	if _, err := b.Write(piece[:1]); err != nil {
		t.Errorf("after the other has gone: %v", err)
	}
	b.Close()
}

// TestPoolMemory: many small Spools do not add up to much memory.
func TestPoolMemory(t *testing.T) {
	in(t)
	p := NewPool(0)
	half := make([]byte, inMemory/2)
	var memory, most int64
	for range 3 * allInMemory / inMemory {
		s := p.New()
		defer s.Close()
		if _, err := s.Write(half); err != nil {
			t.Fatal(err)
		}
		memory += int64(len(s.mem))
		most = max(most, memory)
	}
	if most != allInMemory || p.memory != most {
		t.Errorf("%d bytes in memory, counted %d, want %d", most, p.memory, allInMemory)
	}
}

// TestDiskFull: the system's errors come through, and count nothing.
func TestDiskFull(t *testing.T) {
	for _, tt := range []struct {
		name   string
		create func() (*os.File, error)
		full   bool
	}{
		{"no place for a file", func() (*os.File, error) { return nil, &os.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC} }, true},
		{"no folder", func() (*os.File, error) { return os.CreateTemp(filepath.Join(t.TempDir(), "none"), "") }, false},
		{"a file that cannot be written", func() (*os.File, error) {
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return nil, err
			}
			return os.Open(name)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(0)
			p.create = tt.create
			s := p.New()
			if _, err := s.Write(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			var e *Error
			if _, err := s.Write(make([]byte, inMemory)); !errors.As(err, &e) || e.Full() != tt.full || e.Others {
				t.Errorf("%+v", err)
			}
			if p.Used() != 100 {
				t.Errorf("%d bytes used", p.Used())
			}
			s.Close()
			if p.Used() != 0 || p.memory != 0 {
				t.Errorf("%d bytes used, %d in memory", p.Used(), p.memory)
			}
		})
	}
}
