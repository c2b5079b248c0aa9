package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const big = 300_000 // five pieces of a test client

func TestPull(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{
		"m-Q8_0.gguf": noise(1000, 8), "m-Q4_K_M.gguf": noise(big, 4), "m-Q4_0.gguf": noise(1000, 5), "README.md": []byte("hello"),
		"mmproj-F16.gguf": noise(10, 1),
	})
	var last Progress
	c, s := h.client(t, func(o *Options) { o.Progress = func(p Progress) { last = p } })
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil {
		t.Fatal(err)
	}
	if p.Quant != "Q4_K_M" || !p.Chosen || len(p.Others) != 2 || p.Bytes != big || p.Fetch != big || p.Kind != "gguf" || p.Commit != testCommit {
		t.Errorf("plan %+v", p)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("a plan put %v, %v in the store", list, err)
	}
	m, err := c.Fetch(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(m.Path)
	if err != nil || !bytes.Equal(got, h.files["m-Q4_K_M.gguf"]) {
		t.Errorf("%s: %d bytes, %v", m.Path, len(got), err)
	}
	if m.ID != "o/n/m-Q4_K_M" || m.Ref.String() != "o/n:Q4_K_M" || m.Size != big || m.Revision != "main" || m.Commit != testCommit {
		t.Errorf("model %+v", m)
	}
	if last.State != Present || last.AllDone != big || last.AllSize != big {
		t.Errorf("last progress %+v", last)
	}
	holds(t, s, "o/n/.hub.json", "o/n/m-Q4_K_M.gguf")
	if n := h.requests("storage GET"); n < 5 {
		t.Errorf("%d requests for %d bytes", n, big)
	}

	// Again: everything is there, and nothing is fetched.
	before := h.requests("resolve")
	if p, err = c.Plan(t.Context(), ref(t, "o/n"), false); err != nil || p.Fetch != 0 || p.Files[0].State != Present {
		t.Errorf("second plan %+v, %v", p, err)
	}
	if _, err = c.Pull(t.Context(), ref(t, "o/n:q4_k_m")); err != nil {
		t.Error(err)
	}
	if _, err = c.Fetch(t.Context(), p); err != nil || h.requests("resolve") != before {
		t.Errorf("fetched again: %v", err)
	}

	// A file that was changed is noticed by size, time or hash.
	if err := os.WriteFile(m.Path, noise(big, 99), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = c.Plan(t.Context(), ref(t, "o/n"), false); err != nil || p.Files[0].State != Missing {
		t.Errorf("plan after a change %+v, %v", p, err)
	}
	if m, err = c.Fetch(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(m.Path); !bytes.Equal(got, h.files["m-Q4_K_M.gguf"]) {
		t.Error("not repaired")
	}
	if p, err = c.Plan(t.Context(), ref(t, "o/n"), true); err != nil || p.Fetch != big {
		t.Errorf("forced plan %+v, %v", p, err)
	}
	if _, err = c.Fetch(t.Context(), p); err != nil {
		t.Error(err)
	}
	if _, err := c.Pull(t.Context(), ref(t, "o/n@v2")); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), `"v2"`) {
		t.Errorf("other revision: %v", err)
	}
}

// holds checks which files a store has.
func holds(t *testing.T, s Store, want ...string) {
	t.Helper()
	var got []string
	err := fs.WalkDir(os.DirFS(s.Dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, p)
		}
		return err
	})
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the store has %q, %v; want %q", got, err, want)
	}
}

// A pull that is cancelled goes on where it stopped.
func TestResume(t *testing.T) {
	data := noise(big, 3)
	h := newFakeHub(t, map[string][]byte{"m.gguf": data})
	ctx, cancel := context.WithCancel(t.Context())
	c, s := h.client(t, func(o *Options) {
		o.Parallel = 1
		o.Progress = func(p Progress) {
			if p.AllDone > big/2 {
				cancel()
			}
		}
	})
	if _, err := c.Pull(ctx, ref(t, "o/n")); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	holds(t, s, "o/n/.hub.json", "o/n/m.gguf.part", "o/n/m.gguf.part.json")
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("half a model is listed: %v, %v", list, err)
	}
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil || p.Files[0].State != Partial || p.Fetch >= big/2 || p.Fetch == 0 {
		t.Fatalf("plan %+v, %v", p, err)
	}
	before := h.requests("bytes=0-")
	c.o.Progress = nil
	m, err := c.Fetch(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(m.Path); !bytes.Equal(got, data) {
		t.Error("wrong bytes")
	}
	if h.requests("bytes=0-") != before {
		t.Error("it began from the start")
	}
	holds(t, s, "o/n/.hub.json", "o/n/m.gguf")
}

// Side records that lie, or belong to another file, cost a download and no more.
func TestBadSideRecords(t *testing.T) {
	data := noise(big, 3)
	for _, tt := range []struct{ name, side, part string }{
		{"no record", "", "xxxx"},
		{"no JSON", "{", "xxxx"},
		{"another size", `{"size":1,"hash":"sha256:` + sum(data) + `","done":[[0,1]]}`, "x"},
		{"another hash", `{"size":300000,"hash":"sha256:00","done":[[0,4]]}`, "xxxx"},
		{"negative", `{"size":300000,"hash":"sha256:` + sum(data) + `","done":[[-4,4]]}`, "xxxx"},
		{"beyond the part", `{"size":300000,"hash":"sha256:` + sum(data) + `","done":[[0,300000]]}`, "xxxx"},
		{"out of order", `{"size":300000,"hash":"sha256:` + sum(data) + `","done":[[2,4],[0,1]]}`, "xxxx"},
		{"a lie", `{"size":300000,"hash":"sha256:` + sum(data) + `","done":[[0,4]]}`, "xxxx"},
		{"all a lie", `{"size":300000,"hash":"sha256:` + sum(data) + `","done":[[0,300000]]}`, strings.Repeat("x", big)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHub(t, map[string][]byte{"m.gguf": data})
			c, s := h.client(t, nil)
			put(t, s, "o/n/m.gguf.part", tt.part)
			put(t, s, "o/n/m.gguf.part.json", tt.side)
			m, err := c.Pull(t.Context(), ref(t, "o/n"))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(m.Path); !bytes.Equal(got, data) {
				t.Error("wrong bytes")
			}
			holds(t, s, "o/n/.hub.json", "o/n/m.gguf")
		})
	}
}

func put(t *testing.T, s Store, name, text string) {
	t.Helper()
	p := filepath.Join(s.Dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// What is there and right without a record of it is kept.
func TestAdopt(t *testing.T) {
	data := noise(big, 1)
	h := newFakeHub(t, map[string][]byte{"m.gguf": data})
	c, s := h.client(t, nil)
	put(t, s, "o/n/m.gguf", string(data))
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil || p.Fetch != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if m, err := c.Fetch(t.Context(), p); err != nil || m.Commit != testCommit || h.requests("resolve") != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0,
			time.Now().Add(time.Minute).UTC().Format(http.TimeFormat):  time.Minute,
			time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat): 0,
		} {
			if got := retryAfter(http.Header{"Retry-After": {text}}); got != want {
				t.Errorf("retryAfter(%q) = %v; want %v", text, got, want)
			}
		}
	})
}

func TestOffline(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"m.gguf": noise(10, 1)})
	c, s := h.client(t, func(o *Options) { o.Offline = "QUERN_OFFLINE is set" })
	if _, err := c.Pull(t.Context(), ref(t, "o/n")); !errors.Is(err, ErrOffline) || !strings.Contains(err.Error(), "QUERN_OFFLINE") {
		t.Errorf("error %v", err)
	}
	put(t, s, "o/n/m.gguf", "by hand")
	if m, err := c.Pull(t.Context(), ref(t, "o/n")); err != nil || m.ID != "o/n/m" {
		t.Errorf("%+v, %v", m, err)
	}
	if n := h.requests("hub"); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestLock(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"m.gguf": noise(10, 1)})
	c, s := h.client(t, nil)
	put(t, s, "o/n/"+lockName, "12345\n")
	root, err := s.root(false)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := acquire(root, "o/n") // the one that was left means nothing
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "o/n/x.gguf", "x")
	if _, err := s.Remove(ref(t, "o/n")); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("error %v", err)
	}
	l.release()
	if _, err := c.Pull(t.Context(), ref(t, "o/n/m.gguf")); err != nil {
		t.Error(err)
	}
}

// A pull waits for another of the same repository and tells how far that one is. It
// can be given up, and finds done what the other did.
func TestWaiting(t *testing.T) {
	t.Parallel() // it waits
	data := noise(big, 1)
	h := newFakeHub(t, map[string][]byte{"m.gguf": data})
	seen := make(chan Progress, 1)
	c, s := h.client(t, func(o *Options) {
		o.Progress = func(p Progress) {
			if p.State == Waiting {
				select {
				case seen <- p:
				default:
				}
			}
		}
	})
	put(t, s, "o/n/"+lockName, "")
	root, err := s.root(false)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := acquire(root, "o/n")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil {
		t.Fatal(err)
	}
	// The other has brought a part.
	p, err := openPart(root, "o/n/m.gguf", plan.Files[0].File, true)
	if err != nil {
		t.Fatal(err)
	}
	const part = 64 << 10
	if err := errors.Join(p.writeAt(data[:part], 0), p.save(), p.f.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := c.Fetch(ctx, plan); ended <- err }()
	if p := <-seen; p.AllDone != part || p.AllSize != big || p.File != "o/n" {
		t.Errorf("progress %+v", p)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	go func() { _, err := c.Fetch(t.Context(), plan); ended <- err }()
	<-seen
	l.release() // as when its process dies
	if err := <-ended; err != nil {
		t.Error(err)
	}
	holds(t, s, "o/n/.hub.json", "o/n/m.gguf")
}

// A proxy that is not there, or wants a password, ends a pull at once.
func TestRefusedProxy(t *testing.T) {
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer away.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, tt := range []struct{ name, endpoint, proxy, set, want string }{
		{"refused", "https://hub.example", gone.URL, "HTTPS_PROXY", "connection refused; correct or unset HTTPS_PROXY"},
		{"refused, lower case", "https://hub.example", gone.URL, "https_proxy", "connection refused; correct or unset https_proxy"},
		{"refused, plain", "http://hub.example", gone.URL, "http_proxy", "connection refused; correct or unset http_proxy"},
		{"with a password", "https://hub.example", strings.Replace(gone.URL, "//", "//me:hunter2@", 1), "HTTPS_PROXY", "correct or unset HTTPS_PROXY"},
		{"turned away", "https://hub.example", away.URL, "HTTPS_PROXY", "it answers 407 Proxy Authentication Required; correct or unset HTTPS_PROXY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
				t.Setenv(n, "")
			}
			t.Setenv(tt.set, tt.proxy)
			proxy, err := url.Parse(tt.proxy)
			if err != nil {
				t.Fatal(err)
			}
			c, err := New(Options{Store: Store{Dir: t.TempDir()}, Endpoint: tt.endpoint, Backoff: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			// The environment is read once in a process.
			c.http.Transport.(*http.Transport).Proxy = http.ProxyURL(proxy)
			_, err = c.Pull(t.Context(), ref(t, "o/n"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "the proxy "+proxy.Host) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v; want %q in it", err, tt.want)
			}
		})
	}
}

// Pulls of one model at once: one works, the others find it done.
func TestTogether(t *testing.T) {
	t.Parallel() // it waits
	h := newFakeHub(t, map[string][]byte{"m.gguf": noise(big, 1)})
	c, s := h.client(t, nil)
	var wg sync.WaitGroup
	var ok atomic.Int32
	for range 4 {
		wg.Go(func() {
			if _, err := c.Pull(t.Context(), ref(t, "o/n")); err == nil {
				ok.Add(1)
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ok.Load() != 4 {
		t.Errorf("%d worked", ok.Load())
	}
	holds(t, s, "o/n/.hub.json", "o/n/m.gguf")
}

func TestCache(t *testing.T) {
	data := noise(big, 3)
	h := newFakeHub(t, map[string][]byte{"m-Q4_0.gguf": data})
	dir := Store{Dir: t.TempDir()}
	put(t, dir, "models--o--n/refs/main", testCommit)
	put(t, dir, "models--o--n/blobs/"+sum(data), string(data))
	snap := filepath.Join(dir.Dir, "models--o--n/snapshots", testCommit)
	if err := errors.Join(os.MkdirAll(snap, 0o755), os.Symlink("../../blobs/"+sum(data), filepath.Join(snap, "m-Q4_0.gguf"))); err != nil {
		t.Skip(err) // no links on this system
	}
	c, s := h.client(t, func(o *Options) { o.Cache = dir.Dir })
	m, err := c.Find(ref(t, "o/n"))
	if err != nil || !m.Cached || m.Path != filepath.Join(snap, "m-Q4_0.gguf") || m.Size != big {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := c.Find(ref(t, "o/n:q8_0")); !errors.Is(err, ErrNotHere) {
		t.Errorf("error %v", err)
	}
	p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil || p.Files[0].State != Cached || p.Fetch != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if m, err = c.Fetch(t.Context(), p); err != nil || m.Cached {
		t.Fatalf("%+v, %v", m, err)
	}
	if n := h.requests("resolve"); n != 0 {
		t.Errorf("%d files fetched", n)
	}
	holds(t, s, "o/n/.hub.json", "o/n/m-Q4_0.gguf")

	// A damaged blob is fetched instead.
	if _, err := s.Remove(ref(t, "o/n")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "models--o--n/blobs/"+sum(data), string(noise(big, 4)))
	p, err = c.Plan(t.Context(), ref(t, "o/n"), false)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = c.Fetch(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(m.Path); !bytes.Equal(got, data) {
		t.Error("wrong bytes")
	}
}
