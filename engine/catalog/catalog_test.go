package catalog

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
)

// counted is Kinds that counts how often each path was looked into. Files called bad are
// of no use, and those called other are no models.
type counted struct {
	mu    sync.Mutex
	looks map[string]int
	gate  chan struct{} // holds a description back until it is closed
}

func (k *counted) look(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looks[filepath.Base(path)]++
}

func (k *counted) Describe(id, path string, _ engine.ModelOptions) (*About, error) {
	if k.gate != nil {
		<-k.gate
	}
	switch {
	case strings.Contains(path, "bad"):
		return nil, errors.New("bad")
	case strings.Contains(path, "lacks"): // a file that it names
		_, err := os.Stat(filepath.Join(path, "weights.data"))
		return nil, err
	case strings.Contains(path, "bug"):
		panic("bug")
	}
	return &About{Path: path, ModelInfo: engine.ModelInfo{Kind: engine.KindChat}}, nil
}

func (k *counted) IsFile(path string) bool {
	k.look(path)
	return !strings.Contains(path, "other")
}

func (k *counted) IsFolder(path string, entries []fs.DirEntry) bool {
	k.look(path)
	return slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return d.Name() == "model.safetensors" })
}

func write(t *testing.T, parts ...string) {
	t.Helper()
	path := filepath.Join(parts[:len(parts)-1]...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(parts[len(parts)-1]), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ids(c *Catalog) (list []string) {
	for _, n := range c.List() {
		list = append(list, n.ID)
	}
	return list
}

// TestScan: what lies in a folder is found, and looked into again only when it has
// changed, whether it is of use or not.
func TestScan(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.gguf", "x")
	write(t, dir, "owner", "repo", "b.gguf", "x")
	write(t, dir, "hf", "config.json", "{}")
	write(t, dir, "hf", "model.safetensors", "x")
	write(t, dir, "empty", "config.json", "{}")
	write(t, dir, "bad.gguf", "x")
	write(t, dir, "other.bin", "x")
	write(t, dir, "split-00002-of-00003.gguf", "x")
	write(t, dir, ".hidden", "c.gguf", "x")
	write(t, dir, "", ".d.gguf", "x")
	write(t, dir, "1", "2", "3", "4", "deep.gguf", "x")
	write(t, dir, "1", "2", "3", "4", "5", "deeper.gguf", "x")
	synctest.Test(t, func(t *testing.T) {
		k := &counted{looks: map[string]int{}}
		c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: k})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"1/2/3/4/deep", "a", "hf", "owner/repo/b"}
		if got := ids(c); !slices.Equal(got, want) {
			t.Fatalf("found %v, want %v", got, want)
		}
		again := func() {
			time.Sleep(rescanEvery)
			c.Refresh()
		}
		old := c.List()
		again()
		for name, n := range k.looks {
			if n != 1 {
				t.Errorf("%s was looked into %d times, though nothing changed", name, n)
			}
		}
		if !slices.Equal(c.List(), old) {
			t.Error("entries of files that did not change are new")
		}
		write(t, dir, "bad.gguf", "longer")
		write(t, dir, "other.bin", "longer")
		write(t, dir, "later.gguf", "x")
		if _, err := c.Lookup("later"); err == nil {
			t.Error("folders are read more often than they may be")
		}
		time.Sleep(rescanEvery)
		if _, err := c.Lookup("later"); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]int{"bad.gguf": 2, "other.bin": 2, "a.gguf": 1, "empty": 1, "hf": 1} {
			if n := k.looks[name]; n != want {
				t.Errorf("%s was looked into %d times, want %d", name, n, want)
			}
		}
	})
}

// TestScanDoesNotBlock: while a scan waits for a disk, what is known is found, and a caller that
// wants a new scan shares that scan.
func TestScanDoesNotBlock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.gguf", "x")
	synctest.Test(t, func(t *testing.T) {
		k := &counted{looks: map[string]int{}}
		c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: k})
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "b.gguf", "x")
		time.Sleep(rescanEvery)
		k.gate = make(chan struct{})
		var fresh sync.WaitGroup
		for range 3 {
			fresh.Go(c.Refresh)
		}
		synctest.Wait() // they all wait
		if _, err := c.Lookup("a"); err != nil {
			t.Error(err)
		}
		close(k.gate)
		fresh.Wait()
		if n := k.looks["b.gguf"]; n != 1 || len(ids(c)) != 2 {
			t.Errorf("%d scans found %v", n, ids(c))
		}
	})
}

// TestScanPanics: a file whose reader panics is skipped.
func TestScanPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "a.gguf", "x")
		c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: &counted{looks: map[string]int{}}})
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "bug.gguf", "x")
		for range 2 {
			time.Sleep(rescanEvery)
			c.Refresh()
		}
		if got := ids(c); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%q are listed", got)
		}
	})
}

// TestLookupOfNews: a model that has come since folders were read is found, also by a
// request that names none.
func TestLookupOfNews(t *testing.T) {
	for _, name := range []string{"a", ""} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: &counted{looks: map[string]int{}}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "a.gguf", "x")
			if n, err := c.Lookup(name, engine.KindChat); err == nil {
				t.Errorf("%q finds %s before folders may be read again", name, n.ID)
			}
			time.Sleep(rescanEvery)
			if _, err := c.Lookup(name, engine.KindChat); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		})
	}
}

// A model that is added is listed when Add returns, before what folders hold, and whatever
// is being read meanwhile.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "found.gguf", "x")
	k := &counted{looks: map[string]int{}}
	c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: k})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		all.Go(func() {
			n, err := c.Add(engine.ModelOptions{Name: name, Path: "there"})
			if err != nil {
				t.Error(err)
			} else if c.Find(name) != n {
				t.Errorf("%s was added and is not listed", name)
			}
		})
	}
	all.Wait()
	if c.Find("found") == nil || len(c.List()) != 4 {
		t.Errorf("%d models are listed, want 4", len(c.List()))
	}
	for _, o := range []engine.ModelOptions{{Name: "a", Path: "there"}, {Name: "d", Path: "bad"}} {
		if _, err := c.Add(o); err == nil {
			t.Errorf("%+v was added", o)
		}
	}
	if len(c.List()) != 4 {
		t.Error("what was refused is listed")
	}

	// What is missing is named: the model's path, or a file beside it.
	lacks := filepath.Join(t.TempDir(), "lacks")
	for _, want := range []string{"there is no file " + lacks, filepath.Join(lacks, "weights.data")} {
		if _, err := c.Add(engine.ModelOptions{Path: lacks}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
		if err := os.MkdirAll(lacks, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnspeakableName: a file whose name is no text is not listed: no request could name it.
func TestUnspeakableName(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a\xff.gguf"), []byte("x"), 0o600); err != nil {
		t.Skip("the file system has no such names: ", err)
	}
	write(t, dir, "b.gguf", "x")
	c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: &counted{looks: map[string]int{}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(c); !slices.Equal(got, []string{"b"}) {
		t.Errorf("listed %q", got)
	}
	if _, err := c.Add(engine.ModelOptions{Path: filepath.Join(dir, "a\xff.gguf")}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("named: %v", err)
	}
}
