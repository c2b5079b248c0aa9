package disk_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"quern/engine/kv/disk"
	"quern/engine/kv/disk/disktest"
)

const (
	dir    = "cache"
	length = 1000 // bytes of a block
	file   = 4096 // that one takes
)

// chain makes the keys of a sequence of n blocks.
func chain(root string, n int) (keys []disk.Key) {
	k := disk.Root(root)
	for i := range n {
		k = k.Next([]int32{int32(i)})
		keys = append(keys, k)
	}
	return keys
}

// content is what block i of a sequence holds.
func content(k disk.Key, n int) []byte { return bytes.Repeat(k[:], n)[:n] }

// A bench is a Store with a model in it, in a bubble.
type bench struct {
	s   *disk.Store
	m   *disk.Model
	log *bytes.Buffer
}

func open(files disk.FS, size int64) *bench {
	b := &bench{log: new(bytes.Buffer)}
	b.s = disk.Open(disk.Options{Dir: dir, Size: size, FS: files, Log: slog.New(slog.NewTextHandler(b.log, nil))})
	b.m = b.s.Model(length, 0, func() {})
	return b
}

// save saves the blocks of a sequence and waits until they are written.
func (b *bench) save(keys []disk.Key) {
	use := b.m.Use()
	for i, k := range keys {
		b.m.Save(k, i, use, func(data []byte) error { copy(data, content(k, length)); return nil })
	}
	synctest.Wait()
}

// found is how many blocks of a sequence are read, which are what was saved.
func (b *bench) found(t *testing.T, keys []disk.Key) (n int) {
	t.Helper()
	f := b.m.Seek(keys, b.m.Use())
	if f == nil || !f.Want(0) {
		return 0
	}
	defer f.Close()
	for {
		synctest.Wait()
		block, over := f.Next()
		if over {
			return n
		}
		if block == nil {
			t.Fatal("a fetch has nothing and is not over")
		}
		if block.Index != n || !bytes.Equal(block.Data, content(keys[n], length)) {
			t.Errorf("block %d, as number %d, is not what was saved", n, block.Index)
		}
		block.Release()
		n++
	}
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		keys := chain("a", 40)
		b := open(files, 1<<20)
		if n := b.found(t, keys); n != 0 {
			t.Errorf("%d blocks of an empty folder", n)
		}
		b.save(keys[:30])
		if n := b.found(t, keys); n != 30 {
			t.Errorf("%d blocks of 30", n)
		}
		b.s.Close()
		b = open(files, 1<<20)
		defer b.s.Close()
		if n := b.found(t, keys); n != 30 {
			t.Errorf("%d blocks of 30 after a restart", n)
		}
		if n := b.found(t, chain("b", 40)); n != 0 {
			t.Errorf("%d blocks of another model", n)
		}
		if n := b.found(t, keys[:7]); n != 7 {
			t.Errorf("%d blocks of 7", n)
		}
		st := b.s.Stats()
		if st.Files != 30 || st.Bytes != 30*file || st.Hits != 37 || st.Misses == 0 || st.Writes+st.Dropped+st.Evicted+st.Damaged+st.Errors != 0 {
			t.Errorf("%+v", st)
		}
		if b.log.Len() > 0 {
			t.Errorf("logged: %s", b.log)
		}
	})
}

// States are found as far as the last that are there.
func TestStates(t *testing.T) {
	for _, block := range []int64{length, 0} {
		t.Run(fmt.Sprintf("blocks of %d", block), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := disk.Open(disk.Options{Dir: dir, Size: 1 << 20, FS: disktest.New(".")})
				defer s.Close()
				m := s.Model(block, 8, func() {})
				keys := chain("a", 20)
				for i, k := range keys {
					m.Save(k, i, 1, func(data []byte) error { return nil })
				}
				for _, i := range []int{4, 11} {
					m.SaveStates(keys[i], i, 1, func(data []byte) error { data[0] = byte(i); return nil })
				}
				synctest.Wait()
				for _, tt := range []struct{ of, from, blocks, at int }{{20, 0, 12, 11}, {11, 0, 5, 4}, {4, 0, 0, 0}, {20, 12, 0, 0}, {20, 6, 6, 11}} {
					n, at := 0, 0
					if f := m.Seek(keys[:tt.of], 2); f.Want(tt.from) {
						for {
							synctest.Wait()
							b, over := f.Next()
							if over {
								break
							}
							if n++; b.States != nil {
								if at = b.Index; b.States[0] != byte(at) {
									t.Errorf("states of block %d behind block %d", b.States[0], at)
								}
							}
						}
					}
					if n != tt.blocks || at != tt.at {
						t.Errorf("of %d blocks from %d on: %d, with states behind %d; want %d and %d", tt.of, tt.from, n, at, tt.blocks, tt.at)
					}
				}
			})
		})
	}
}

// TestLeastRecentlyUsed: what was used last stays, the beginnings of sequences before their ends, also
// across a restart, and no clock has a say.
func TestLeastRecentlyUsed(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := disktest.New(".")
				b := open(files, 30*file)
				defer func() { b.s.Close() }()
				read, touched, old, fresh := chain("read", 10), chain("touched", 10), chain("old", 10), chain("fresh", 15)
				for _, keys := range [][]disk.Key{read, touched, old} {
					b.save(keys)
				}
				b.found(t, read)
				b.m.Touch(touched, b.m.Use())
				if restart {
					b.s.Close()
					b = open(files, 30*file)
					synctest.Wait()
				}
				b.save(fresh)
				for _, tt := range []struct {
					name string
					keys []disk.Key
					want int
				}{{"fresh", fresh, 15}, {"touched", touched, 10}, {"read", read, 5}, {"old", old, 0}} {
					if n := b.found(t, tt.keys); n != tt.want {
						t.Errorf("%d blocks are left of what was %s, want %d", n, tt.name, tt.want)
					}
				}
				if st := b.s.Stats(); st.Bytes != 30*file || st.Evicted != 15 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// TestDamage: whatever becomes of a file, it is a miss, and the next write mends it.
func TestDamage(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 4; return b }
	}
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"gone", func([]byte) []byte { return nil }},
		{"empty", func([]byte) []byte { return []byte{} }},
		{"a header cut short", func(b []byte) []byte { return b[:63] }},
		{"only a header", func(b []byte) []byte { return b[:64] }},
		{"a byte short", func(b []byte) []byte { return b[:len(b)-1] }},
		{"a byte too long", func(b []byte) []byte { return append(b, 0) }},
		{"zeros", func(b []byte) []byte { clear(b); return b }},
		{"zeros from the middle on", func(b []byte) []byte { clear(b[len(b)/2:]); return b }},
		{"another version", flip(7)},
		{"another key", flip(20)},
		{"another length", flip(48)},
		{"a length beyond all", func(b []byte) []byte { binary.LittleEndian.PutUint64(b[48:], 1<<63); return b }},
		{"another checksum", flip(56)},
		{"another second checksum", flip(60)},
		{"the first bit", flip(64)},
		{"the last bit", flip(-1)},
		{"a bit in the middle", flip(500)},
		{"text", func([]byte) []byte { return []byte(strings.Repeat("hello\n", 200)) }},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", tt.name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					files := disktest.New(".")
					keys := chain("a", 3)
					b := open(files, 1<<20)
					b.save(keys)
					if restart {
						b.s.Close()
					}
					name := fmt.Sprintf("%s/%x/%x", dir, keys[1][:1], keys[1][1:])
					if !slices.Contains(files.Files(), name) {
						t.Fatalf("no file %s among %v", name, files.Files())
					}
					files.Change(name, tt.change)
					if restart {
						b = open(files, 1<<20)
						synctest.Wait()
					}
					defer func() { b.s.Close() }()
					if n := b.found(t, keys); n != 1 {
						t.Errorf("%d blocks, want 1", n)
					}
					if strings.Count(b.log.String(), "\n") > 1 {
						t.Errorf("logged: %s", b.log)
					}
					if tt.name == "gone" && !restart {
						return // it is known until the folder is read again
					}
					b.save(keys)
					if n := b.found(t, keys); n != 3 {
						t.Errorf("%d blocks after they were written again, want 3", n)
					}
				})
			})
		}
	}
}

// TestAllDamaged: a folder whose files are all cut short, as after a loss of power, is mended by the first
// who has computed their blocks.
func TestAllDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		keys := chain("a", 9)
		b := open(files, 1<<20)
		b.save(keys)
		b.s.Close()
		for _, name := range files.Files() {
			files.Change(name, func(data []byte) []byte { return data[:100] })
		}
		b = open(files, 1<<20)
		synctest.Wait()
		defer func() { b.s.Close() }()
		if n := b.found(t, keys); n != 0 {
			t.Errorf("%d blocks", n)
		}
		b.save(keys)
		if n := b.found(t, keys); n != 9 {
			t.Errorf("%d blocks after they were written again, want 9", n)
		}
		if st := b.s.Stats(); st.Files != 9 || st.Bytes != 9*file {
			t.Errorf("%+v", st)
		}
	})
}

// A use that is damaged does not stop the count of uses, and files that are none of a Store's
// are left alone.
func TestForeignFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		keys := chain("a", 2)
		b := open(files, 1<<20)
		b.save(keys)
		b.s.Close()
		first := fmt.Sprintf("%s/%x/", dir, keys[0][:1])
		files.Change(first+fmt.Sprintf("%x", keys[0][1:]), func(data []byte) []byte {
			binary.LittleEndian.PutUint64(data[8:], ^uint64(0))
			return data
		})
		others := []string{first + "readme", first + strings.Repeat("A", 62), first + strings.Repeat("a", 61), dir + "/notes", dir + "/zz"}
		for _, name := range others {
			files.Change(name, func([]byte) []byte { return []byte("mine") })
		}
		files.Change(first+"tmp-0123", func([]byte) []byte { return []byte("left by a crash") })
		b = open(files, 1<<20)
		synctest.Wait()
		defer b.s.Close()
		if n := b.m.Use(); n > 10 {
			t.Errorf("use %d", n)
		}
		if n := b.found(t, keys); n != 2 {
			t.Errorf("%d blocks, want 2", n)
		}
		for _, name := range others {
			if !slices.Contains(files.Files(), name) {
				t.Errorf("%s was removed", name)
			}
		}
		if slices.Contains(files.Files(), first+"tmp-0123") {
			t.Error("what a crash left is still there")
		}
		if st := b.s.Stats(); st.Files != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// TestTwoServers: two Stores in one folder find each other's blocks and keep to the limit
// together, but for what was written since they looked last.
func TestTwoServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		const limit = 64 * file
		a, b := open(files, limit), open(files, limit)
		synctest.Wait()
		defer a.s.Close()
		defer b.s.Close()
		keys := chain("both", 10)
		a.save(keys[:5])
		if n := b.found(t, keys); n != 5 {
			t.Errorf("%d blocks of the other server, want 5", n)
		}
		b.save(keys)
		if n := a.found(t, keys); n != 10 {
			t.Errorf("%d blocks of both, want 10", n)
		}
		for i := range 40 {
			a.save(chain(fmt.Sprint("a", i), 5))
			b.save(chain(fmt.Sprint("b", i), 5))
			a.found(t, keys)
		}
		if n := len(files.Files()); n > 64+2*64/16 {
			t.Errorf("%d files", n)
		}
		if n := b.found(t, keys); n < 10 {
			t.Errorf("%d blocks are left of what one server uses all the time", n)
		}
		if a.log.Len()+b.log.Len() > 0 {
			t.Errorf("logged: %s%s", a.log, b.log)
		}
	})
}

// TestConcurrently is for the race detector: many read, write and evict the same blocks.
func TestConcurrently(t *testing.T) {
	s := disk.Open(disk.Options{Dir: t.TempDir() + "/c", Size: 40 * file})
	var work sync.WaitGroup
	for worker := range 6 {
		work.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			told := make(chan struct{}, 1)
			m := s.Model(length, 0, func() {
				select {
				case told <- struct{}{}:
				default:
				}
			})
			for i := range 30 {
				keys := chain(fmt.Sprint((worker+i)%4), 20)
				use := m.Use()
				f := m.Seek(keys, use)
				n := 0
				for f != nil && f.Want(n) && ctx.Err() == nil {
					b, over := f.Next()
					if over {
						break
					}
					if b == nil {
						<-told
						continue
					}
					if !bytes.Equal(b.Data, content(keys[b.Index], length)) {
						t.Errorf("block %d is not what was saved", b.Index)
					}
					b.Release()
					n = b.Index + 1
				}
				if f != nil {
					f.Close()
				}
				for i, k := range keys[n:] {
					m.Save(k, n+i, use, func(data []byte) error { copy(data, content(k, length)); return nil })
				}
			}
		})
	}
	work.Wait()
	s.Close()
	if st := s.Stats(); st.Bytes > 40*file || st.Writes == 0 || st.Damaged+st.Errors > 0 {
		t.Errorf("%+v", st)
	}
}

// TestBounded: what is read ahead is bounded for all sequences together, and none starves.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := disk.Open(disk.Options{Dir: dir, Size: 1 << 30, FS: disktest.New(".")})
		defer s.Close()
		const block = 8 << 20
		m := s.Model(block, 0, func() {})
		keys := chain("a", 10)
		for i, k := range keys {
			m.Save(k, i, 1, func(data []byte) error { return nil })
			synctest.Wait()
		}
		var all []*disk.Fetch
		for range 6 {
			f := m.Seek(keys, 2)
			if !f.Want(0) {
				t.Fatal("nothing is found")
			}
			all = append(all, f)
		}
		synctest.Wait()
		read := s.Stats().Hits
		if read < 8 || read > 11 {
			t.Errorf("%d blocks of 8 MiB are read ahead", read)
		}
		all[3].Close()
		taken := 0
		for range 6 * len(keys) {
			for i, f := range all {
				if b, _ := f.Next(); b != nil && i != 3 {
					b.Release()
					taken++
				}
			}
			synctest.Wait()
		}
		if want := 5 * len(keys); taken != want {
			t.Errorf("%d blocks are taken, want %d", taken, want)
		}
	})
}

// A block whose device fails is not written.
func TestFillFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		b := open(files, 1<<20)
		defer b.s.Close()
		k := disk.Root("a")
		b.m.Save(k, 0, 1, func([]byte) error { return errors.New("the device is lost") })
		synctest.Wait()
		if n := len(files.Files()); n != 0 {
			t.Errorf("%d files", n)
		}
		b.save([]disk.Key{k})
		if n := b.found(t, []disk.Key{k}); n != 1 {
			t.Errorf("%d blocks, want 1", n)
		}
	})
}
