// Package hubtest is a hub for tests: a server of this machine that answers as the Hugging
// Face hub does.
package hubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Commit is that of every repository.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// A Hub has one set of files under every name of a repository but OWNER/absent, which does
// not exist, and OWNER/gated, which no token may read.
type Hub struct {
	*httptest.Server
	files map[string][]byte

	mu   sync.Mutex
	gets []string
	give func(w http.ResponseWriter, r *http.Request, name string) bool
}

// New starts a hub that ends with the test.
func New(t testing.TB, files map[string][]byte) *Hub {
	h := &Hub{files: files}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

// Give has f called before a file is sent. If f returns true it has answered itself.
func (h *Hub) Give(f func(w http.ResponseWriter, r *http.Request, name string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.give = f
}

// Gets lists the requests for files, as "NAME RANGE".
func (h *Hub) Gets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.gets...)
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.Contains(r.URL.Path, "/absent/"):
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusUnauthorized)
		return
	case strings.Contains(r.URL.Path, "/gated/"):
		w.Header().Set("X-Error-Code", "GatedRepo")
		w.WriteHeader(http.StatusUnauthorized)
		return
	case strings.HasPrefix(r.URL.Path, "/api/models/"):
		var list []any
		for name, b := range h.files {
			sum := sha256.Sum256(b)
			list = append(list, map[string]any{"rfilename": name, "size": len(b),
				"lfs": map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(b)}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": Commit, "siblings": list})
		return
	}
	_, name, _ := strings.Cut(r.URL.Path, "/resolve/"+Commit+"/")
	h.mu.Lock()
	h.gets = append(h.gets, name+" "+r.Header.Get("Range"))
	give := h.give
	h.mu.Unlock()
	if give != nil && give(w, r, name) {
		return
	}
	data, ok := h.files[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
