package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Every way a server can misbehave ends in the right bytes, or in an error and
// no file.
func TestMisbehaviour(t *testing.T) {
	t.Parallel() // it waits
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
	part := func(most int) func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		return func(w http.ResponseWriter, r *http.Request, data []byte) bool {
			var from, to int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
			to = min(to, from+most-1)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[from : to+1])
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
					h.signed++ // a request with an old one is refused
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
		{"shorter parts", func(h *fakeHub) { h.give = part(enough) }, nil, "", 0},
		{"parts of a byte", func(h *fakeHub) { h.give = part(1) }, ErrFormat, "asked for", 0},
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
				if tt.name == "shorter parts" {
					o.Chunk = big
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
