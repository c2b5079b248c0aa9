package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const testCommit = "0123456789abcdef0123456789abcdef01234567"

// A fakeHub answers as the hub does, and large files come from a storage host
// of another origin, under addresses that can expire.
type fakeHub struct {
	hub, storage *httptest.Server

	mu       sync.Mutex
	files    map[string][]byte // of every repository
	lfs      func(name string) bool
	signed   int // number of the signature that is valid
	need     string
	log      []string // "hub GET /path range", "storage GET /path range"
	strayed  []string // tokens seen on the storage host
	sent     int64    // bytes of files
	info     func(w http.ResponseWriter, r *http.Request) bool
	resolve  func(w http.ResponseWriter, r *http.Request) bool
	give     func(w http.ResponseWriter, r *http.Request, data []byte) bool
	listing  func(entry map[string]any)
	noBlobs  bool
	revision string
}

func newFakeHub(t *testing.T, files map[string][]byte) *fakeHub {
	h := &fakeHub{files: files, revision: "main", lfs: func(name string) bool {
		return strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".onnx") || strings.HasSuffix(name, ".bin")
	}}
	h.storage = httptest.NewServer(http.HandlerFunc(h.serveStorage)) // first: the hub's answers name it
	h.hub = httptest.NewServer(http.HandlerFunc(h.serveHub))
	t.Cleanup(h.hub.Close)
	t.Cleanup(h.storage.Close)
	return h
}

func (h *fakeHub) note(where string, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, strings.TrimSpace(where+" "+r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	if where == "storage" && r.Header.Get("Authorization") != "" {
		h.strayed = append(h.strayed, r.Header.Get("Authorization"))
	}
}

func (h *fakeHub) requests(part string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, l := range h.log {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func blob(b []byte) string {
	s := sha1.Sum(append([]byte("blob "+strconv.Itoa(len(b))+"\x00"), b...))
	return hex.EncodeToString(s[:])
}

func (h *fakeHub) serveHub(w http.ResponseWriter, r *http.Request) {
	h.note("hub", r)
	if h.need != "" && r.Header.Get("Authorization") != "Bearer "+h.need {
		w.Header().Set("X-Error-Code", "GatedRepo")
		code := http.StatusUnauthorized
		if r.Header.Get("Authorization") != "" {
			code = http.StatusForbidden
		}
		http.Error(w, "Access to model is restricted.", code)
		return
	}
	seg := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if len(seg) == 6 && seg[0] == "api" && seg[4] == "revision" {
		if h.info != nil && h.info(w, r) {
			return
		}
		rev, err := url.PathUnescape(seg[5])
		if err != nil || rev != h.revision && rev != testCommit {
			w.Header().Set("X-Error-Code", "RevisionNotFound")
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		var list []map[string]any
		for name, data := range h.files {
			e := map[string]any{"rfilename": name}
			if !h.noBlobs {
				e["size"], e["blobId"] = len(data), blob(data)
				if h.lfs(name) {
					e["lfs"] = map[string]any{"sha256": sum(data), "size": len(data), "pointerSize": 134}
				}
			}
			if h.listing != nil {
				h.listing(e)
			}
			list = append(list, e)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": seg[2] + "/" + seg[3], "sha": testCommit, "gated": false, "siblings": list})
		return
	}
	if len(seg) < 5 || seg[2] != "resolve" || seg[3] != testCommit {
		w.Header().Set("X-Error-Code", "RepoNotFound")
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	if h.resolve != nil && h.resolve(w, r) {
		return
	}
	name, _ := url.PathUnescape(strings.Join(seg[4:], "/"))
	data, ok := h.files[name]
	if !ok {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	w.Header().Set("X-Repo-Commit", testCommit)
	if !h.lfs(name) {
		w.Header().Set("ETag", `"`+blob(data)+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
		return
	}
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
	w.Header().Set("X-Linked-ETag", `"`+sum(data)+`"`)
	h.mu.Lock()
	sig := h.signed
	h.mu.Unlock()
	w.Header().Set("Location", fmt.Sprintf("%s/%s?Signature=secret%d", h.storage.URL, url.PathEscape(name), sig))
	w.WriteHeader(http.StatusFound)
}

func (h *fakeHub) serveStorage(w http.ResponseWriter, r *http.Request) {
	h.note("storage", r)
	h.mu.Lock()
	valid := fmt.Sprintf("secret%d", h.signed)
	h.mu.Unlock()
	if r.URL.Query().Get("Signature") != valid {
		http.Error(w, "Request has expired", http.StatusForbidden)
		return
	}
	data := h.files[strings.TrimPrefix(r.URL.Path, "/")]
	if h.give != nil && h.give(w, r, data) {
		return
	}
	http.ServeContent(&counter{w, h}, r, "", time.Time{}, strings.NewReader(string(data)))
}

// counter counts what a storage host sends.
type counter struct {
	http.ResponseWriter
	h *fakeHub
}

func (c *counter) Write(b []byte) (int, error) {
	c.h.mu.Lock()
	c.h.sent += int64(len(b))
	c.h.mu.Unlock()
	return c.ResponseWriter.Write(b)
}

// client pulls from h into a store of its own, in small pieces and without
// long pauses.
func (h *fakeHub) client(t *testing.T, change func(*Options)) (*Client, Store) {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	o := Options{Store: s, Endpoint: h.hub.URL, Chunk: 64 << 10, Backoff: time.Millisecond, Stall: 5 * time.Second, Retries: 3}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, o.Store
}

func ref(t *testing.T, s string) Ref {
	t.Helper()
	r, err := ParseRef(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noise is n bytes that tell every place of the file from every other.
func noise(n int, seed uint64) []byte {
	r := rand.NewPCG(seed, 1)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

// Pull returns the model on this machine, fetching it first when it is not
// there.
func (c *Client) Pull(ctx context.Context, r Ref) (Model, error) {
	m, err := c.Find(r)
	if !errors.Is(err, ErrNotHere) {
		return m, err
	}
	p, err := c.Plan(ctx, r, false)
	if err != nil {
		return Model{}, err
	}
	return c.Fetch(ctx, p)
}
