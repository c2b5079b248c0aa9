package disk_test

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine/kv/disk"
	"quern/engine/kv/disk/disktest"
)

// TestFaults: a disk that fails costs one line in the log, and what is there is still read.
func TestFaults(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, tt := range []struct {
		name string
		ops  string
		err  error
	}{
		{"full", "write", full},
		{"read-only", "create update write rename remove mkdir", fs.ErrPermission},
		{"cannot be renamed to", "rename", fs.ErrPermission},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := disktest.New(".")
				kept, lost := chain("kept", 5), chain("lost", 200)
				b := open(files, 1000*file)
				b.save(kept)
				var mu sync.Mutex
				fails, tries := true, 0
				files.Before = func(op, name string) error {
					mu.Lock()
					defer mu.Unlock()
					if fails && strings.Contains(tt.ops, op) {
						tries++
						return tt.err
					}
					return nil
				}
				b.s.Close()
				b = open(files, 1000*file)
				synctest.Wait()
				for _, k := range lost {
					b.save([]disk.Key{k})
				}
				if n := b.found(t, kept); n != 5 {
					t.Errorf("%d blocks are read of 5", n)
				}
				if n := b.found(t, lost); n != 0 {
					t.Errorf("%d blocks are read that cannot be written", n)
				}
				if n := strings.Count(b.log.String(), "\n"); n != 1 {
					t.Errorf("%d lines are logged: %s", n, b.log)
				}
				if st := b.s.Stats(); st.Dropped != 200 || st.Writes != 0 {
					t.Errorf("%+v", st)
				}
				mu.Lock()
				if tries > 60 {
					t.Errorf("%d tries", tries)
				}
				fails = false
				mu.Unlock()
				for _, k := range chain("more", 400) { // it gets well again
					b.save([]disk.Key{k})
				}
				if st := b.s.Stats(); st.Writes == 0 || st.Bytes > 1000*file {
					t.Errorf("when the disk is well: %+v", st)
				}
				for _, name := range files.Files() {
					if strings.Contains(name, "tmp-") && tt.name != "read-only" {
						t.Errorf("%s is left", name)
					}
				}
				b.s.Close()
			})
		})
	}
}

// TestVanished: a folder that is gone is not made again, since it may be a disk that is not
// mounted, and nothing waits for it.
func TestVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		keys := chain("a", 50)
		b := open(files, 1<<20)
		defer b.s.Close()
		b.save(keys[:20])
		files.RemoveAll(dir)
		if n := b.found(t, keys); n != 0 {
			t.Errorf("%d blocks of a folder that is gone", n)
		}
		b.save(keys[20:])
		if n := len(files.Files()); n != 0 || strings.Count(b.log.String(), "\n") != 1 {
			t.Errorf("%d files, logged: %s", n, b.log)
		}
	})
}

// TestStall: a disk that does not answer for ten seconds keeps no call waiting, ends what was
// being read after half a second, and is used again when it answers.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		keys := chain("a", 40)
		b := open(files, 1<<30)
		b.save(keys[:20])
		var mu sync.Mutex
		until := make(chan struct{})
		files.Before = func(op, name string) error {
			mu.Lock()
			c := until
			mu.Unlock()
			<-c
			return nil
		}
		begun := time.Now()
		f := b.m.Seek(keys, 1)
		if !f.Want(0) {
			t.Error("it is over before it was looked for")
		}
		large := b.s.Model(1<<20, 0, func() {})
		for i := range 200 {
			large.Save(disk.Root(fmt.Sprint(i)), 0, 1, func([]byte) error { return nil })
		}
		if _, over := f.Next(); over || time.Since(begun) > 0 {
			t.Errorf("over %v after %v", over, time.Since(begun))
		}
		time.Sleep(600 * time.Millisecond)
		if _, over := f.Next(); !over {
			t.Error("it is still waited for")
		}
		if b.m.Seek(keys, 2) != nil {
			t.Error("a disk that does not answer is asked again")
		}
		if st := b.s.Stats(); st.Dropped != 200-64 {
			t.Errorf("%+v", st)
		}
		time.Sleep(10 * time.Second)
		close(until)
		synctest.Wait()
		if n := b.found(t, keys); n != 20 {
			t.Errorf("%d blocks when the disk answers again, want 20", n)
		}
		if n := strings.Count(b.log.String(), "\n"); n != 1 {
			t.Errorf("logged: %s", b.log)
		}
		b.s.Close()
	})
}

// TestCloseOfAStalledDisk: Close waits some seconds and no longer.
func TestCloseOfAStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		b := open(files, 1<<20)
		synctest.Wait()
		until := make(chan struct{})
		files.Before = func(op, name string) error { <-until; return nil }
		b.save(chain("a", 3))
		begun := time.Now()
		b.s.Close()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		close(until)
	})
}
