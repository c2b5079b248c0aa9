package hub

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files lists what is in a store, without locks and records.
func (s Store) files(t *testing.T) (list []string) {
	t.Helper()
	err := filepath.WalkDir(s.Dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != recordName && d.Name() != lockName {
			rel, _ := filepath.Rel(s.Dir, p)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRemovePulled: a model that was pulled goes, with what it shares with none; files that
// a user put there stay, and so does everything that no pull has written.
func TestRemovePulled(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"x-Q4_0.gguf": []byte("four"), "x-Q8_0.gguf": []byte("eight"),
		"config.json": []byte("{}"), "tokenizer.json": []byte("{}"), "model.safetensors": []byte("st")})
	c, s := h.client(t, nil)
	pulled := map[string]Model{}
	for _, r := range []string{"o/n:Q4_0", "o/n:Q8_0", "o/n/model.safetensors"} {
		m, err := c.Pull(t.Context(), ref(t, r))
		if err != nil {
			t.Fatal(err)
		}
		pulled[r] = m
	}
	put(t, s, "o/n/mine-Q5_0.gguf", "mine")
	put(t, s, "o/n/vocab.json", "mine")
	put(t, s, "loose.gguf", "mine")
	dir := func(p string) string { return filepath.Join(s.Dir, filepath.FromSlash(p)) }
	for _, p := range []string{dir("o/n/mine-Q5_0.gguf"), dir("loose.gguf"), dir("o/n/absent.gguf"), dir("o"), s.Dir, dir("../x/y/z.gguf"), "/etc/passwd", "", dir("p/q/r.gguf")} {
		if out, err := s.RemovePulled(p); !errors.Is(err, ErrNotPulled) {
			t.Errorf("%s: removed %v, %v", p, out.Files, err)
		}
	}
	before := s.files(t)
	for _, tt := range []struct {
		path string
		gone []string
	}{
		{pulled["o/n:Q8_0"].Path, []string{"o/n/x-Q8_0.gguf"}},
		{pulled["o/n/model.safetensors"].Path, []string{"o/n/config.json", "o/n/model.safetensors", "o/n/tokenizer.json"}},
		{pulled["o/n:Q4_0"].Path, []string{"o/n/x-Q4_0.gguf"}},
	} {
		if m, err := s.Pulled(tt.path); err != nil || m.Path != tt.path {
			t.Errorf("Pulled(%s) = %s, %v", tt.path, m.Path, err)
		}
		out, err := s.RemovePulled(tt.path)
		if err != nil || out.Bytes == 0 {
			t.Errorf("%s: %+v, %v", tt.path, out, err)
		}
		before = slices.DeleteFunc(before, func(f string) bool { return slices.Contains(tt.gone, f) })
		if got := s.files(t); !slices.Equal(got, before) {
			t.Errorf("after %s there is %v; want %v", tt.path, got, before)
		}
		if _, err := s.RemovePulled(tt.path); !errors.Is(err, ErrNotPulled) {
			t.Errorf("%s again: %v", tt.path, err)
		}
	}
}

// TestHalves: a pull that ended early is told of with what to ask for to go on, and can be
// thrown away without what is whole.
func TestHalves(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"x-Q4_0.gguf": noise(300<<10, 1), "x-Q8_0.gguf": noise(400<<10, 2)})
	c, s := h.client(t, func(o *Options) { o.Parallel, o.Chunk = 1, 64<<10 })
	if list, err := s.Halves(); list != nil || err != nil {
		t.Errorf("of an empty store: %v, %v", list, err)
	}
	nowhere := Store{Dir: filepath.Join(s.Dir, "nowhere")}
	if _, err := nowhere.Discard(ref(t, "o/n")); !errors.Is(err, ErrNotHere) || strings.Contains(err.Error(), s.Dir) {
		t.Errorf("of a store that is not there: %v", err)
	}
	whole, err := c.Pull(t.Context(), ref(t, "o/n:Q4_0"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := 0
	h.give = func(http.ResponseWriter, *http.Request, []byte) bool {
		if given++; given == 3 {
			cancel()
		}
		return false
	}
	if _, err := c.Pull(ctx, ref(t, "o/n:q8_0@main")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	list, err := s.Halves()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if got := list[0]; got.Ref.String() != "o/n:Q8_0@main" || got.Size != 400<<10 || got.Have < 128<<10 || got.Have >= got.Size {
		t.Errorf("%+v", got)
	}
	l, err := acquire(must(s.root(false))(t), "o/n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Discard(list[0].Ref); !errors.Is(err, ErrBusy) {
		t.Errorf("discarded under a pull: %v", err)
	}
	if under, err := s.Halves(); err != nil || list[0].Busy || !under[0].Busy {
		t.Errorf("under a pull: %+v, %v", under, err)
	}
	l.release()
	if after, err := s.Halves(); err != nil || after[0].Busy {
		t.Errorf("after it: %+v, %v", after, err)
	}
	if n, err := s.Discard(list[0].Ref); err != nil || n < list[0].Have {
		t.Errorf("discarded %d bytes, %v", n, err)
	}
	if got := s.files(t); !slices.Equal(got, []string{"o/n/x-Q4_0.gguf"}) {
		t.Errorf("left: %v", got)
	}
	if m, err := s.Find(ref(t, "o/n:Q4_0")); err != nil || m.Path != whole.Path {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := s.Discard(list[0].Ref); !errors.Is(err, ErrNotHere) {
		t.Errorf("discarded again: %v", err)
	}
}

// TestHalvesLeft: what pulls have left that were killed is told of file by file where the record
// speaks of a later pull, or is gone, and can be thrown away; a pull of the file goes on there.
func TestHalvesLeft(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"x-Q4_0.gguf": noise(300<<10, 1), "x-Q8_0.gguf": noise(400<<10, 2)})
	c, s := h.client(t, func(o *Options) { o.Parallel, o.Chunk = 1, 64<<10 })
	ctx, cancel := context.WithCancel(t.Context())
	given := 0
	h.give = func(http.ResponseWriter, *http.Request, []byte) bool {
		if given++; given == 3 {
			cancel()
		}
		return false
	}
	if _, err := c.Pull(ctx, ref(t, "o/n:Q8_0")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	h.give = nil
	if _, err := c.Pull(t.Context(), ref(t, "o/n:Q4_0")); err != nil {
		t.Fatal(err)
	}
	put(t, s, "p/n/dir/y.bin.part", "12345") // its records are lost
	put(t, s, "p/n/.hub.json.part", "{")
	list, err := s.Halves()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if got := list[0]; got.Ref.String() != "o/n/x-Q8_0.gguf" || got.Size != 400<<10 || got.Have < 128<<10 || got.Have >= got.Size {
		t.Errorf("%+v", got)
	}
	if got := list[1]; got.Ref.String() != "p/n/dir/y.bin" || got.Size != 0 || got.Have != 0 {
		t.Errorf("%+v", got)
	}
	if p, err := c.Plan(t.Context(), list[0].Ref, false); err != nil || p.Fetch != list[0].Size-list[0].Have {
		t.Errorf("a pull of the rest: %+v, %v", p, err)
	}
	for _, half := range list {
		if n, err := s.Discard(half.Ref); err != nil || n < max(half.Have, 5) {
			t.Errorf("%s: discarded %d bytes, %v", half.Ref, n, err)
		}
		if _, err := s.Discard(half.Ref); !errors.Is(err, ErrNotHere) {
			t.Errorf("%s again: %v", half.Ref, err)
		}
	}
	if _, err := s.Find(ref(t, "o/n:Q4_0")); err != nil {
		t.Error(err)
	}
	if got := s.files(t); !slices.Equal(got, []string{"o/n/x-Q4_0.gguf"}) {
		t.Errorf("left: %v", got)
	}
}

// TestDiscardAll: nothing is left of a repository that has nothing whole.
func TestDiscardAll(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"x-00001-of-00002.gguf": noise(70<<10, 1), "x-00002-of-00002.gguf": noise(80<<10, 2)})
	c, s := h.client(t, func(o *Options) { o.Parallel = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	h.give = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		if strings.Contains(r.URL.Path, "00002-of") {
			cancel()
		}
		return false
	}
	if _, err := c.Pull(ctx, ref(t, "o/n")); err == nil {
		t.Fatal("pulled")
	}
	if _, err := s.Discard(ref(t, "o/n")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "o")); !os.IsNotExist(err) {
		t.Errorf("left: %v, %v", s.files(t), err)
	}
}

// TestNoRoom: what does not fit the disk is refused before anything is fetched, with numbers.
func TestNoRoom(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"x-Q4_0.gguf": noise(300<<10, 1)})
	c, _ := h.client(t, func(o *Options) { o.Free = func(string) int64 { return spare + 200<<10 } })
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil {
		t.Fatal(err)
	}
	var space *SpaceError
	if err := c.Room(p); !errors.As(err, &space) || !errors.Is(err, ErrSpace) || space.Need != 300<<10 ||
		!strings.Contains(err.Error(), "needs 1 MB beside 67 MB that stay free, and ") { // else 1 MB would be less than the 67 MB there are
		t.Errorf("%v", err)
	}
	if _, err := c.Fetch(t.Context(), p); !errors.Is(err, ErrSpace) || h.sent != 0 {
		t.Errorf("%v after %d bytes", err, h.sent)
	}
}

// must fails the test where there is an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
