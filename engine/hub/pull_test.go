package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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

// Every way a server can misbehave ends in the right bytes, or in an error and
// no file.
func TestMisbehaviour(t *testing.T) {
	const name = "m-Q4_K_M.gguf"
	data := noise(big, 7)
	// first lets only the first n calls through to f.
	first := func(n int32, f func(w http.ResponseWriter, r *http.Request, data []byte) bool) func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		var calls atomic.Int32
		return func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			return calls.Add(1) <= n && f(w, r, data)
		}
	}
	abort := func(send int) func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		return func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			var from, to int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
			w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[from:min(from+send, to+1)])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	answer := func(code int, header ...string) func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	whole := func(change func(w http.ResponseWriter, b []byte) []byte) func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		return func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			_, _ = w.Write(change(w, bytes.Clone(data)))
			return true
		}
	}
	flip := func(w http.ResponseWriter, b []byte) []byte { b[len(b)/2] ^= 1; return b }
	hubSays := func(key, value string) func(h *fakeHub) {
		return func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool { w.Header().Set(key, value); return false }
		}
	}
	for _, tt := range []struct {
		name  string
		set   func(h *fakeHub)
		want  error  // nil: the right bytes
		says  string // in the error
		takes time.Duration
	}{
		{"dropped connections", func(h *fakeHub) { h.give = first(3, abort(20_000)) }, nil, "", 0},
		{"dropped before the first byte", func(h *fakeHub) { h.give = first(3, abort(0)) }, nil, "", 0},
		{"always dropped", func(h *fakeHub) { h.give = abort(10) }, io.ErrUnexpectedEOF, "gave up after 4 tries", 0},
		{"short body", func(h *fakeHub) {
			h.give = first(2, func(w http.ResponseWriter, r *http.Request, data []byte) bool {
				// No length: the connection just ends.
				conn, buf, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return false
				}
				var from, to int
				fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
				fmt.Fprintf(buf, "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Range: bytes %d-%d/%d\r\n\r\n", from, to, len(data))
				_, _ = buf.Write(data[from : from+100])
				_ = buf.Flush()
				conn.Close()
				return true
			})
		}, nil, "", 0},
		{"silence", func(h *fakeHub) {
			h.give = first(1, func(w http.ResponseWriter, r *http.Request, data []byte) bool {
				w.Header().Set("Content-Length", "65536")
				w.Header().Set("Content-Range", "bytes "+strings.TrimPrefix(r.Header.Get("Range"), "bytes=")+"/300000")
				w.WriteHeader(http.StatusPartialContent)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return true
			})
		}, nil, "", 0},
		{"429 with Retry-After", func(h *fakeHub) { h.give = first(1, answer(429, "Retry-After", "1")) }, nil, "", time.Second},
		{"429 for too long", func(h *fakeHub) { h.give = answer(429, "Retry-After", "86400") }, errAny, "24h", 0},
		{"503", func(h *fakeHub) { h.give = first(2, answer(503)) }, nil, "", 0},
		{"429 of the hub itself", func(h *fakeHub) {
			n := 0
			h.info = func(w http.ResponseWriter, r *http.Request) bool {
				if n++; n > 2 {
					return false
				}
				w.WriteHeader(429)
				return true
			}
		}, nil, "", 0},
		{"expired addresses", func(h *fakeHub) {
			h.give = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				if len(h.log) == 6 {
					h.signed++ // whoever asks with an old one is sent away
				}
				return false
			}
		}, nil, "", 0},
		{"addresses that are never good", func(h *fakeHub) {
			h.give = answer(403)
		}, errAny, "403", 0},
		{"wrong bytes once", func(h *fakeHub) {
			h.give = first(1, whole(flip))
			h.files[name] = h.files[name][:60_000]
		}, nil, "", 0},
		{"wrong bytes always", func(h *fakeHub) { h.give = whole(flip) }, ErrHash, name, 0},
		{"no ranges", func(h *fakeHub) { h.give = whole(func(_ http.ResponseWriter, b []byte) []byte { return b }) }, nil, "", 0},
		{"no ranges and dropped", func(h *fakeHub) {
			calls := 0
			h.give = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
				h.mu.Lock()
				calls++
				n := calls
				h.mu.Unlock()
				w.Header().Set("Content-Length", fmt.Sprint(len(data)))
				if r.Header.Get("Range") == "" && n < 8 {
					_, _ = w.Write(data[:100_000])
					panic(http.ErrAbortHandler)
				}
				_, _ = w.Write(data)
				return true
			}
		}, nil, "", 0},
		{"another range", func(h *fakeHub) { h.give = answer(206, "Content-Range", "bytes 1-2/300000", "Content-Length", "0") }, ErrFormat, "asked for", 0},
		{"no range said", func(h *fakeHub) { h.give = answer(206, "Content-Length", "0") }, ErrFormat, "which", 0},
		{"another length", func(h *fakeHub) {
			h.give = whole(func(w http.ResponseWriter, b []byte) []byte {
				w.Header().Set("Content-Length", "300001")
				return append(b, 1)
			})
		}, errAny, "300001 bytes", 0},
		{"compressed", func(h *fakeHub) { h.give = answer(200, "Content-Encoding", "gzip") }, ErrFormat, "compressed", 0},
		{"another size linked", hubSays("X-Linked-Size", "1"), nil, "", 0}, // overwritten by the true one
		{"storage answers 404", func(h *fakeHub) { h.give = first(2, answer(404)) }, nil, "", 0},
		{"storage answers 416", func(h *fakeHub) { h.give = answer(416) }, ErrFormat, "416", 0},
		{"web page for a listing", func(h *fakeHub) {
			h.info = func(w http.ResponseWriter, r *http.Request) bool { _, _ = io.WriteString(w, "<html>"); return true }
		}, ErrFormat, "not what a hub says", 0},
		{"endless listing", func(h *fakeHub) {
			h.info = func(w http.ResponseWriter, r *http.Request) bool {
				for range maxInfo/len(data) + 2 {
					if _, err := w.Write(data); err != nil {
						break
					}
				}
				return true
			}
		}, ErrFormat, "MiB", 0},
		{"no commit", func(h *fakeHub) {
			h.info = func(w http.ResponseWriter, r *http.Request) bool {
				_, _ = io.WriteString(w, `{"sha":"../..","siblings":[]}`)
				return true
			}
		}, ErrFormat, "commit", 0},
		{"another commit", func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("X-Repo-Commit", strings.Repeat("f", 40))
				_, _ = w.Write(data)
				return true
			}
		}, ErrFormat, "commit", 0},
		{"another hash linked", func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("X-Linked-ETag", `"`+strings.Repeat("f", 64)+`"`)
				_, _ = w.Write(data)
				return true
			}
		}, ErrHash, "another hash", 0},
		{"redirect to a file", func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", "file:///etc/passwd")
				w.WriteHeader(302)
				return true
			}
		}, ErrFormat, "no web address", 0},
		{"redirects without end", func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, r.URL.Path, http.StatusFound)
				return true
			}
		}, ErrFormat, "more than 8 times", 0},
		{"a renamed repository", func(h *fakeHub) {
			h.info = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/o/n/") {
					http.Redirect(w, r, strings.Replace(r.URL.String(), "/o/n/", "/o/new/", 1), http.StatusTemporaryRedirect)
					return true
				}
				return false
			}
		}, nil, "", 0},
		{"names that lead out", func(h *fakeHub) {
			for _, n := range []string{"../m-Q5_K_M.gguf", "/m-Q4_0.gguf", "a/../../m-Q8_0.gguf", `..\m-Q4_K_M.gguf`, "x.gguf.part", ".pull.lock"} {
				h.files[n] = []byte("evil")
			}
		}, nil, "", 0},
		{"no hashes", func(h *fakeHub) {
			h.listing = func(e map[string]any) { delete(e, "lfs"); delete(e, "blobId") }
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Length", "300000")
				_, _ = w.Write(data)
				return true
			}
		}, ErrFormat, "cannot be verified", 0},
		{"a listing without sizes", func(h *fakeHub) { h.noBlobs = true }, nil, "", 0},
		{"absurd size", func(h *fakeHub) {
			h.listing = func(e map[string]any) { e["lfs"] = map[string]any{"sha256": sum(data), "size": int64(1) << 43} }
		}, ErrSpace, "left", 0},
		{"negative size", func(h *fakeHub) {
			h.listing = func(e map[string]any) { e["lfs"] = map[string]any{"sha256": sum(data), "size": -5} }
			h.resolve = func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(410); return true }
		}, ErrFormat, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFakeHub(t, map[string][]byte{name: data})
			tt.set(h)
			c, s := h.client(t, func(o *Options) {
				if tt.name == "silence" {
					o.Stall = 100 * time.Millisecond
				}
			})
			start := time.Now()
			m, err := c.Pull(t.Context(), ref(t, "o/n"))
			if took := time.Since(start); took < tt.takes {
				t.Errorf("took %v; want at least %v", took, tt.takes)
			}
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(m.Path); err != nil || !bytes.Equal(got, h.files[name]) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				holds(t, s, "o/n/.hub.json", "o/n/"+name)
				return
			}
			if err == nil || tt.want != errAny && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %v that says %q", err, tt.want, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q gives a signed address away", err)
			}
			if _, err := s.Find(ref(t, "o/n")); !errors.Is(err, ErrNotHere) {
				t.Errorf("found after all: %v", err)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, "o", "n", name)); err == nil {
				t.Error("there is a file")
			}
			if tt.want == ErrHash {
				if left, _ := filepath.Glob(filepath.Join(s.Dir, "o/n/*.part*")); tt.name == "wrong bytes always" && left != nil {
					t.Errorf("left: %q", left)
				}
			}
		})
	}
}

var errAny = errors.New("any error")

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

// The token reaches the hub, and nobody and nothing else.
func TestToken(t *testing.T) {
	const secret = "hf_very-secret"
	h := newFakeHub(t, map[string][]byte{"m.gguf": noise(big, 3), "config.json": []byte("{}")})
	h.need = secret
	var log bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, tt := range []struct {
		name, token string
		want        error
		says        []string
	}{
		{"none", "", ErrAccess, []string{"gated", h.hub.URL + "/o/n", "HF_TOKEN", "hub.token_file", h.hub.URL + "/settings/tokens"}},
		{"another", "hf_other-secret", ErrAccess, []string{"gated", h.hub.URL + "/o/n", "token from TEST"}},
		{"right", secret, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			token, err := NewToken(tt.token, "TEST")
			if err != nil {
				t.Fatal(err)
			}
			failures := 0
			h.give = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				if failures++; failures < 3 {
					w.WriteHeader(503)
					return true
				}
				return false
			}
			c, _ := h.client(t, func(o *Options) { o.Token, o.Log = token, logger })
			logger.Info("options", "token", token, "options", fmt.Sprintf("%v %+v %#v", token, c.o, c.o.Token))
			_, err = c.Pull(t.Context(), ref(t, "o/n"))
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v; want %v", err, tt.want)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q; want %q in it", err, part)
				}
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q tells the token", err)
			}
		})
	}
	if len(h.strayed) > 0 {
		t.Errorf("the storage host was sent %q", h.strayed)
	}
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "trying again") {
		t.Errorf("log:\n%s", text)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   int
		header string
		token  string
		want   error
		says   string
	}{
		{"no such repository, no token", 401, "RepoNotFound", "", ErrNotFound, "HF_TOKEN"},
		{"no such repository", 404, "RepoNotFound", "x", ErrNotFound, "token from TEST"},
		{"bad token", 401, "", "x", ErrAccess, "does not accept the token from TEST"},
		{"forbidden", 403, "", "x", ErrAccess, "/o/n"},
		{"gated", 403, "GatedRepo", "x", ErrAccess, "fine-grained"},
		{"disabled", 403, "DisabledRepo", "", ErrAccess, "disabled"},
		{"teapot", 418, "", "", ErrFormat, "418"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHub(t, nil)
			h.info = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("X-Error-Code", tt.header)
				w.WriteHeader(tt.code)
				return true
			}
			c, _ := h.client(t, func(o *Options) { o.Token, _ = NewToken(tt.token, "TEST") })
			_, err := c.Plan(t.Context(), ref(t, "o/n"), false)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %v that says %q", err, tt.want, tt.says)
			}
		})
	}
}

// The listing of a gated repository is public, its files are not. A pull that
// gets nothing leaves nothing.
func TestGatedFiles(t *testing.T) {
	h := newFakeHub(t, map[string][]byte{"m.gguf": noise(big, 1)})
	h.resolve = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Error-Code", "GatedRepo")
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	c, s := h.client(t, nil)
	_, err := c.Pull(t.Context(), ref(t, "o/n"))
	if !errors.Is(err, ErrAccess) || !strings.Contains(err.Error(), h.hub.URL+"/o/n") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
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

func TestOrigins(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"https://h", "https://h:443/x", true}, {"https://H", "https://h", true}, {"http://h", "http://h:80", true},
		{"https://h", "http://h", false}, {"https://h", "https://h:8443", false}, {"https://h", "https://cdn.h", false}, {"https://h", "https://h.evil", false},
	} {
		a, err1 := url.Parse(tt.a)
		b, err2 := url.Parse(tt.b)
		if err1 != nil || err2 != nil || sameOrigin(a, b) != tt.want {
			t.Errorf("sameOrigin(%s, %s) is not %v", tt.a, tt.b, tt.want)
		}
	}
	for _, bad := range []string{"ftp://h", "h", "https://user:s3cret@h", "https://h?x=1", "https://", "https://%zz"} {
		if _, err := New(Options{Endpoint: bad}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("endpoint %q: %v", bad, err)
		}
	}
}

// What https gave is not fetched over http.
func TestDowngrade(t *testing.T) {
	plain := newFakeHub(t, nil)
	s := httptest.NewTLSServer(http.RedirectHandler(plain.hub.URL, http.StatusFound))
	defer s.Close()
	c, _ := plain.client(t, func(o *Options) { o.Endpoint = s.URL })
	if _, err := c.Plan(t.Context(), ref(t, "o/n"), false); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate nobody vouches for: %v", err)
	}
	c.http.Transport = s.Client().Transport
	if _, err := c.Plan(t.Context(), ref(t, "o/n"), false); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("error %v", err)
	}
	if n := plain.requests("hub"); n != 0 {
		t.Errorf("%d requests over http", n)
	}
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
