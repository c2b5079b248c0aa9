package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func ids(list []Model) string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID+"="+m.Ref.String())
	}
	return strings.Join(out, " ")
}

func TestStoreList(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for _, name := range []string{
		"loose.gguf", "a/other.gguf", "notes.txt",
		"o/n/x-Q8_0.gguf", "o/n/x-Q4_0.gguf", "o/n/half-Q5_0.gguf.part", "o/n/half-Q5_0.gguf.part.json",
		"o/split/y-Q8_0-00001-of-00002.gguf", "o/split/y-Q8_0-00002-of-00002.gguf", "o/torn/z-00001-of-00002.gguf",
		"o/two/a-Q8_0.gguf", "o/two/b-Q8_0.gguf", "o/st/config.json", "o/st/model.safetensors", ".hidden/n/x.gguf", "o/.hidden/x.gguf", "bad--owner/n/x.gguf",
	} {
		put(t, s, name, "12345")
	}
	list, err := s.List()
	want := "a/other=/ loose=/ o/n/x-Q4_0=o/n:Q4_0 o/n/x-Q8_0=o/n:Q8_0 o/split/y-Q8_0=o/split:Q8_0 o/st=o/st " +
		"o/two/a-Q8_0=o/two/a-Q8_0.gguf o/two/b-Q8_0=o/two/b-Q8_0.gguf"
	if got := ids(list); err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	for _, m := range list {
		if _, err := os.Stat(m.Path); err != nil || m.Size == 0 || m.Modified.IsZero() {
			t.Errorf("%+v: %v", m, err)
		}
		if m.Ref.Owner == "" {
			continue
		}
		if again, err := s.Find(m.Ref); err != nil || again.Path != m.Path {
			t.Errorf("Find(%s) = %s, %v; want %s", m.Ref, again.Path, err, m.Path)
		}
	}
	for _, r := range []string{"o/n:Q5_0", "o/torn", "o/nowhere", "p/n", "o/n@v1"} {
		if m, err := s.Find(ref(t, r)); !errors.Is(err, ErrNotHere) {
			t.Errorf("Find(%s) = %+v, %v", r, m, err)
		}
	}
	nowhere := Store{Dir: filepath.Join(s.Dir, "nowhere")}
	if list, err := nowhere.List(); list != nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(nowhere.Dir); err == nil {
		t.Error("List made a folder")
	}
}

func TestRemove(t *testing.T) {
	for _, tt := range []struct {
		name, ref string
		left      []string
		err       error
	}{
		{"one quant", "o/n:q8_0", []string{"o/n/notes.md", "o/n/x-Q4_0.gguf", "o/n/x-Q4_0.gguf.part", "o/st/config.json", "o/st/model.safetensors"}, nil},
		{"the repository", "o/n", []string{"o/n/notes.md", "o/st/config.json", "o/st/model.safetensors"}, nil},
		{"a folder", "o/st", []string{"o/n/notes.md", "o/n/x-Q4_0.gguf", "o/n/x-Q4_0.gguf.part", "o/n/x-Q8_0.gguf", "o/n/x-Q8_0.gguf.part"}, nil},
		{"what is not there", "o/n:q5_0", nil, ErrNotHere},
		{"where nothing is", "p/n", nil, ErrNotHere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Store{Dir: t.TempDir()}
			for _, name := range []string{"o/n/x-Q8_0.gguf", "o/n/x-Q8_0.gguf.part", "o/n/x-Q4_0.gguf", "o/n/x-Q4_0.gguf.part", "o/n/notes.md", "o/st/config.json", "o/st/model.safetensors"} {
				put(t, s, name, "12345")
			}
			plan, err := s.Removal(ref(t, tt.ref))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v; want %v", err, tt.err)
			}
			done, err := s.Remove(ref(t, tt.ref))
			if !errors.Is(err, tt.err) || !slices.Equal(plan.Files, done.Files) {
				t.Fatalf("%v, %v; want %v, %v", done, err, plan, tt.err)
			}
			if tt.err != nil {
				return
			}
			if want := int64(5 * len(done.Files)); done.Bytes != want {
				t.Errorf("%d bytes of %v; want %d", done.Bytes, done.Files, want)
			}
			// The record says nothing any more; it may be there or not.
			_ = os.Remove(filepath.Join(s.Dir, "o/n/.hub.json"))
			holds(t, s, tt.left...)
		})
	}
}

// Links out of the store lead nowhere: nothing behind them is listed, written
// or removed.
func TestStoreStaysInside(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "n", "x-Q8_0.gguf")
	if err := errors.Join(os.Mkdir(filepath.Dir(victim), 0o755), os.WriteFile(victim, []byte("precious"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s := Store{Dir: t.TempDir()}
	put(t, s, "p/n/y.gguf", "y")
	if err := errors.Join(os.Symlink(outside, filepath.Join(s.Dir, "o")), os.Symlink(victim, filepath.Join(s.Dir, "p/n/x-Q8_0.gguf"))); err != nil {
		t.Skip(err)
	}
	for _, r := range []string{"o/n", "o/n:Q8_0", "p/n:Q8_0"} {
		if _, err := s.Remove(ref(t, r)); err == nil {
			t.Errorf("%s was removed", r)
		}
	}
	if list, err := s.List(); err != nil || ids(list) != "p/n/y=p/n/y.gguf" {
		t.Errorf("%s, %v", ids(list), err)
	}
	h := newFakeHub(t, map[string][]byte{"x-Q8_0.gguf": noise(big, 1)})
	c, _ := h.client(t, func(o *Options) { o.Store = s })
	if _, err := c.Pull(t.Context(), ref(t, "o/n")); err == nil {
		t.Error("pulled through a link")
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("outside: %q, %v", b, err)
	}
	if m, err := fs.Glob(os.DirFS(outside), "*/*"); err != nil || len(m) != 1 {
		t.Errorf("outside: %q, %v", m, err)
	}
}

// A pull that replaces a model hides it until the new one is whole.
func TestReplacing(t *testing.T) {
	const a, b = "x-Q8_0-00001-of-00002.gguf", "x-Q8_0-00002-of-00002.gguf"
	h := newFakeHub(t, map[string][]byte{a: noise(1000, 1), b: noise(1000, 2)})
	c, s := h.client(t, func(o *Options) { o.Parallel = 1 })
	m, err := c.Pull(t.Context(), ref(t, "o/n"))
	if err != nil || len(m.Files) != 2 {
		t.Fatal(m, err)
	}
	h.files = map[string][]byte{a: noise(1000, 3), b: noise(1000, 4)}
	h.listing = func(e map[string]any) {
		if e["rfilename"] == b {
			e["lfs"] = map[string]any{"sha256": strings.Repeat("0", 64), "size": 1000}
		}
	}
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch(t.Context(), p); !errors.Is(err, ErrHash) {
		t.Fatalf("error %v", err)
	}
	if m, err := s.Find(ref(t, "o/n")); !errors.Is(err, ErrNotHere) {
		t.Errorf("half old, half new: %+v, %v", m, err)
	}
	h.listing = nil
	if _, err := c.Pull(t.Context(), ref(t, "o/n")); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Find(ref(t, "o/n@main")); err != nil || m.Commit != testCommit {
		t.Errorf("%+v, %v", m, err)
	}
}

// A damaged side record is refused or describes bytes the part can hold.
func FuzzSide(f *testing.F) {
	file := File{Path: "m.gguf", Size: 10, SHA256: strings.Repeat("a", 64)}
	f.Add(`{"size":10,"hash":"` + file.hash() + `","done":[[0,4],[6,10]]}`)
	f.Add(`{"size":10,"hash":"` + file.hash() + `","done":[[4,2],[-1,9]]}`)
	s := Store{Dir: f.TempDir()}
	root, err := s.root(true)
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("m.gguf.part", make([]byte, 10), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := root.WriteFile("m.gguf.part.json", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		done := readSide(root, "m.gguf", file)
		if n := total(done) + total(gaps(done, file.Size, 3)); n != file.Size {
			t.Fatalf("%q: %v, %d bytes in all", text, done, n)
		}
	})
}

func TestSpans(t *testing.T) {
	var list []span
	for _, s := range []span{{5, 7}, {1, 2}, {9, 9}, {2, 5}, {20, 30}, {8, 10}, {7, 8}, {0, 40}, {50, 60}} {
		list = addSpan(list, s)
	}
	if !slices.Equal(list, []span{{0, 40}, {50, 60}}) {
		t.Errorf("%v", list)
	}
	if got := gaps(list, 65, 4); !slices.Equal(got, []span{{40, 44}, {44, 48}, {48, 50}, {60, 64}, {64, 65}}) {
		t.Errorf("%v", got)
	}
}

func TestFindToken(t *testing.T) {
	home := Store{Dir: t.TempDir()}
	put(t, home, "token", "from-home\n")
	put(t, home, "mine", "from-file\n")
	put(t, home, "two", "a b")
	file := func(n string) string { return filepath.Join(home.Dir, n) }
	for _, tt := range []struct {
		name string
		env  map[string]string
		file string
		want string
		ok   bool
	}{
		{"variable", map[string]string{"HF_TOKEN": "from-env", "HF_HOME": home.Dir}, file("mine"), "from-env", true},
		{"file", map[string]string{"HF_HOME": home.Dir}, file("mine"), "from-file", true},
		{"standard file", map[string]string{"HF_HOME": home.Dir}, "", "from-home", true},
		{"none", map[string]string{"HF_HOME": file("nowhere")}, "", "", true},
		{"no such file", nil, file("nowhere"), "", false},
		{"no token", nil, file("two"), "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FindToken(func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }, tt.file)
			if got.value != tt.want || (err == nil) != tt.ok {
				t.Errorf("got %q, %v; want %q, %v", got.value, err, tt.want, tt.ok)
			}
			if err != nil && strings.Contains(err.Error(), "a b") {
				t.Errorf("error %q tells the token", err)
			}
		})
	}
}
