// Package page is the page that people use quern with: its files, and how they are served.
//
// The files are the same for everyone and hold no secret, so they need no key: a browser
// could not send one with them. What the page does goes through the API, which asks.
package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// policy lets the page load from its own origin only, run no script but its own, and be
// shown in no frame.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self' data: blob:; " +
	"media-src 'self' blob:; style-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// headers are those of every answer. The two cross-origin policies isolate the page, which
// browsers want before its workers may share memory.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
}

// types are the media types of the endings there are.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// A file is a file of the page in the forms it is sent in.
type file struct {
	mime  string
	cache string
	forms []form // the smallest first; the last is as it is
}

// A form is a file as one Content-Encoding has it.
type form struct {
	encoding string // "" is as it is
	etag     string
	body     []byte
}

// encodings are those the build makes, the smaller first, and their endings.
var encodings = []struct{ name, ending string }{{"br", ".br"}, {"gzip", ".gz"}, {"", ""}}

// A Page is the files of the page, ready to be served.
type Page struct{ files map[string]*file }

// New reads the files of the page.
func New() (*Page, error) { return read(Files()) }

// read takes the files of from: those below assets have names that change when they do.
func read(from fs.FS) (*Page, error) {
	p := &Page{files: map[string]*file{}}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		ending := path.Ext(name)
		if err != nil || d.IsDir() || ending == ".br" || ending == ".gz" {
			return err
		}
		f := &file{mime: types[ending], cache: "no-cache"}
		if f.mime == "" {
			return fmt.Errorf("page: there is no media type for %s", name)
		}
		if strings.HasPrefix(name, "assets/") {
			f.cache = "public, max-age=31536000, immutable"
		}
		for _, e := range encodings {
			b, err := fs.ReadFile(from, name+e.ending)
			if err != nil {
				if e.ending != "" {
					continue
				}
				return err
			}
			sum := sha256.Sum256(b)
			f.forms = append(f.forms, form{e.name, `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, b})
		}
		p.files["/"+name] = f
		if name == "index.html" {
			p.files["/"] = f
		}
		return nil
	})
	return p, err
}

// Has reports whether there is a file at a path, as "/" or "/assets/main.js".
func (p *Page) Has(at string) bool { return p.files[at] != nil }

// ServeHTTP answers GET and HEAD for a path that the page has; others get 404.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := p.files[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	for name, value := range headers {
		h.Set(name, value)
	}
	accepted := r.Header.Values("Accept-Encoding")
	i := 0
	for f.forms[i].encoding != "" && !accepts(accepted, f.forms[i].encoding) {
		i++
	}
	form := &f.forms[i]
	h.Add("Vary", "Accept-Encoding")
	h.Set("Cache-Control", f.cache)
	h.Set("ETag", form.etag)
	if matches(r.Header.Values("If-None-Match"), form.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.mime)
	if form.encoding != "" {
		h.Set("Content-Encoding", form.encoding)
	}
	h.Set("Content-Length", strconv.Itoa(len(form.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(form.body) // a client that leaves needs no more
	}
}

// accepts reports whether Accept-Encoding names an encoding and does not weigh it 0.
func accepts(values []string, encoding string) bool {
	for item := range items(values) {
		name, weight, weighed := strings.Cut(item, ";")
		if !strings.EqualFold(strings.TrimSpace(name), encoding) {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(weight), "q=")), 64)
		return !weighed || err == nil && q > 0
	}
	return false
}

// matches reports whether If-None-Match names etag. Proxies weaken the tags they pass on.
func matches(values []string, etag string) bool {
	for item := range items(values) {
		if item == "*" || strings.TrimPrefix(item, "W/") == etag {
			return true
		}
	}
	return false
}

// items are the values of a header that is a list. None of the page's ETags has a comma.
func items(values []string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range values {
			for item := range strings.SplitSeq(v, ",") {
				if !yield(strings.TrimSpace(item)) {
					return
				}
			}
		}
	}
}
