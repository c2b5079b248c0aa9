package hub

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// The token reaches the hub and no other server or record.
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
		t.Errorf("a certificate of no known authority: %v", err)
	}
	c.http.Transport = s.Client().Transport
	if _, err := c.Plan(t.Context(), ref(t, "o/n"), false); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("error %v", err)
	}
	if n := plain.requests("hub"); n != 0 {
		t.Errorf("%d requests over http", n)
	}
}
