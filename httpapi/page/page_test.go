package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func get(p *Page, method, at string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, at, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func small(t *testing.T) *Page {
	t.Helper()
	p, err := read(fstest.MapFS{
		"index.html":       {Data: []byte("<p>whole")},
		"index.html.br":    {Data: []byte("b")},
		"index.html.gz":    {Data: []byte("gz")},
		"assets/main-A.js": {Data: []byte("main()")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEncodings(t *testing.T) {
	p := small(t)
	tags := map[string]bool{}
	for _, tt := range []struct{ accept, encoding, body string }{
		{"", "", "<p>whole"},
		{"identity", "", "<p>whole"},
		{"gzip, deflate, br, zstd", "br", "b"},
		{"gzip;q=1.0, br;q=0", "gzip", "gz"},
		{"GZip", "gzip", "gz"},
		{"br; q=0.001", "br", "b"},
		{"br;q=x", "", "<p>whole"},
		{"brx, xgzip", "", "<p>whole"},
	} {
		w := get(p, "GET", "/", "Accept-Encoding", tt.accept)
		h := w.Header()
		if got := h.Get("Content-Encoding"); got != tt.encoding || w.Body.String() != tt.body || w.Code != 200 {
			t.Errorf("%q: %d, encoding %q, body %q", tt.accept, w.Code, got, w.Body)
		}
		if h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Vary") != "Accept-Encoding" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%q: header %v", tt.accept, h)
		}
		tags[h.Get("ETag")] = true
	}
	if len(tags) != 3 {
		t.Errorf("%d ETags of 3 forms: %v", len(tags), tags)
	}
	w := get(p, "HEAD", "/", "Accept-Encoding", "gzip")
	if w.Body.Len() != 0 || w.Header().Get("Content-Length") != "2" {
		t.Errorf("HEAD: %d bytes, header %v", w.Body.Len(), w.Header())
	}
}

func TestCaching(t *testing.T) {
	p := small(t)
	tag := get(p, "GET", "/", "Accept-Encoding", "br").Header().Get("ETag")
	for _, tt := range []struct {
		name   string
		header []string
		code   int
	}{
		{"none", nil, 200},
		{"same", []string{"If-None-Match", tag}, 304},
		{"weakened by a proxy", []string{"If-None-Match", "W/" + tag}, 304},
		{"one of several", []string{"If-None-Match", `"a", ` + tag}, 304},
		{"of several lines", []string{"If-None-Match", `"a"`, "If-None-Match", tag}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another", []string{"If-None-Match", `"a"`}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(p, "GET", "/", append(tt.header, "Accept-Encoding", "br")...)
			if w.Code != tt.code || w.Header().Get("ETag") != tag || (w.Code == 304) != (w.Body.Len() == 0) {
				t.Errorf("%d, %d bytes, ETag %s, want %d and %s", w.Code, w.Body.Len(), w.Header().Get("ETag"), tt.code, tag)
			}
		})
	}
	if w := get(p, "GET", "/", "If-None-Match", tag); w.Code != 200 {
		t.Errorf("the tag of another form: %d, want 200", w.Code)
	}
	w := get(p, "GET", "/assets/main-A.js")
	if !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("an asset: %v", w.Header())
	}
}

func TestPaths(t *testing.T) {
	p := small(t)
	for at, want := range map[string]bool{"/": true, "/index.html": true, "/assets/main-A.js": true,
		"/index.html.br": false, "/assets": false, "/assets/": false, "/assets/../index.html": false, "/dist/index.html": false, "": false} {
		if got := p.Has(at); got != want {
			t.Errorf("Has(%q) = %v", at, got)
		}
	}
	if w := get(p, "GET", "/assets/none.js"); w.Code != 404 {
		t.Errorf("no such file: %d", w.Code)
	}
	if _, err := read(fstest.MapFS{"assets/a.exe": {}}); err == nil {
		t.Error("a file of no known type was taken")
	}
}

// TestDist holds what is committed against how it is served.
func TestDist(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[at]
		whole := f.forms[len(f.forms)-1].body
		if len(f.forms) != len(encodings) {
			t.Errorf("%s has %d forms", at, len(f.forms))
		}
		for _, form := range f.forms {
			if form.encoding != "gzip" {
				continue
			}
			r, err := gzip.NewReader(bytes.NewReader(form.body))
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%s.gz is of another build (%v)", at, err)
			}
		}
	}
	index, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	// All that the policy forbids would not work: scripts and styles within the page.
	for _, bad := range []string{"<style", " style=", " onclick", "//cdn", "http://", "https://"} {
		if bytes.Contains(index, []byte(bad)) {
			t.Errorf("index.html has %q", bad)
		}
	}
	w := get(p, "GET", "/")
	for name, want := range headers {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
