package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// A file is what the hub describes when both its size and its hash are right: each alone is not
// enough.
func TestVerify(t *testing.T) {
	data := []byte("these are the bytes")
	n := int64(len(data))
	wrong := strings.Repeat("0", 64)
	for _, tt := range []struct {
		name string
		file File
		want bool
	}{
		{"both right", File{Size: n, SHA256: sum(data)}, true},
		{"wrong hash, right size", File{Size: n, SHA256: wrong}, false},
		{"right hash, a byte fewer than listed", File{Size: n + 1, SHA256: sum(data)}, false},
		{"right hash, a byte more than listed", File{Size: n - 1, SHA256: sum(data)}, false},
		{"a byte behind what has the hash", File{Size: n - 1, SHA256: sum(data[:n-1])}, false},
		{"nothing listed", File{Size: 0, SHA256: sum(nil)}, false},
		{"git's: both right", File{Size: n, Blob: blob(data)}, true},
		{"git's: wrong hash, right size", File{Size: n, Blob: wrong[:40]}, false},
		{"git's: the size is hashed too", File{Size: n + 1, Blob: blob(data)}, false},
		{"git's: a byte behind what has the hash", File{Size: n - 1, Blob: blob(data[:n-1])}, false},
		{"SHA-256 goes before git's", File{Size: n, SHA256: wrong, Blob: blob(data)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verify(t.Context(), bytes.NewReader(data), tt.file, func(int64) {})
			if got != tt.want || err != nil {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := verify(ctx, bytes.NewReader(data), File{Size: n, SHA256: sum(data)}, func(int64) {}); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("after it was cancelled: %v, %v", ok, err)
	}
}

// Where any of the sources of a size or a hash disagrees with the bytes, a pull ends without the file. What
// a fault does not name is right.
func TestDescriptions(t *testing.T) {
	const name = "m-Q4_K_M.gguf"
	data := noise(70_000, 9)
	lists := func(key string, value any) func(h *fakeHub) {
		return func(h *fakeHub) {
			h.listing = func(e map[string]any) {
				e["lfs"].(map[string]any)[key] = value
			}
		}
	}
	links := func(size int, hash string) func(h *fakeHub) {
		return func(h *fakeHub) {
			h.resolve = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("X-Repo-Commit", testCommit)
				w.Header().Set("X-Linked-Size", fmt.Sprint(size))
				w.Header().Set("X-Linked-ETag", `"`+hash+`"`)
				_, _ = w.Write(data)
				return true
			}
		}
	}
	wrong := strings.Repeat("f", 64)
	for _, tt := range []struct {
		name string
		set  func(h *fakeHub)
		want error
		says string
	}{
		{"all right", func(*fakeHub) {}, nil, ""},
		{"all right, linked", links(len(data), sum(data)), nil, ""},
		{"another hash listed", lists("sha256", wrong), ErrHash, ""},
		{"a byte more listed", lists("size", len(data)+1), errAny, ""},
		{"a byte less listed", lists("size", len(data)-1), errAny, ""},
		{"another size linked", links(len(data)+1, sum(data)), ErrFormat, "links to 70001"},
		{"another hash linked", links(len(data), wrong), ErrHash, "another hash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHub(t, map[string][]byte{name: data})
			tt.set(h)
			c, s := h.client(t, nil)
			_, err := c.Pull(t.Context(), ref(t, "o/n"))
			if tt.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || tt.want != errAny && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v; want %v that says %q", err, tt.want, tt.says)
			}
			if _, err := s.Find(ref(t, "o/n")); !errors.Is(err, ErrNotHere) {
				t.Errorf("found after all: %v", err)
			}
		})
	}
}

// A file that is there is kept only if it has both the size and the hash.
func TestPresent(t *testing.T) {
	data := noise(70_000, 9)
	other := bytes.Clone(data)
	other[69_999] ^= 1
	for _, tt := range []struct {
		name string
		have []byte
		kept bool
	}{
		{"the same", data, true},
		{"other bytes, the same size", other, false},
		{"a byte short", data[:69_999], false},
		{"a byte long", append(bytes.Clone(data), 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHub(t, map[string][]byte{"m.gguf": data})
			c, s := h.client(t, nil)
			put(t, s, "o/n/m.gguf", string(tt.have))
			p, err := c.Plan(t.Context(), ref(t, "o/n"), false)
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Fetch(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if kept := h.requests("resolve") == 0; kept != tt.kept {
				t.Errorf("kept: %v, want %v", kept, tt.kept)
			}
			if got, err := os.ReadFile(m.Path); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d other bytes, %v", len(got), err)
			}
		})
	}
}
