//go:build !js

package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The page's script waits for loader.js, and the service worker knows every file and has
// another version when one of them changes.
func TestSite(t *testing.T) {
	make := func(style string) site {
		s := site{}
		err := s.page(fstest.MapFS{
			"index.html":    {Data: []byte(`<title>q</title><link rel="stylesheet" href="assets/style.css"><script type="module" src="assets/main.js"></script><body>`)},
			"index.html.br": {Data: []byte("b")}, "assets/main.js": {Data: []byte("main()")}, "assets/style.css": {Data: []byte(style)},
		}, "https://hub.example/?a=1&b=$2")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.worker(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := make("a")
	if got := string(s["index.html"]); got != `<title>q</title><script src="engine/loader.js" data-then="assets/main.js" data-hub="https://hub.example/?a=1&amp;b=$2"></script><link rel="stylesheet" href="assets/style.css"><body>` {
		t.Errorf("index.html: %s", got)
	}
	code := string(s["sw.js"])
	if !strings.Contains(code, `new Set(["","assets/main.js","assets/style.css","index.html"])`) || strings.Contains(code, "{{") {
		t.Errorf("the service worker's files: %.400s", code)
	}
	if code == string(make("b")["sw.js"]) {
		t.Error("another style has the same version")
	}
	for _, html := range []string{"<title>q</title>", strings.Repeat(`<script type="module" src="a.js"></script>`, 2)} {
		if err := (site{}).page(fstest.MapFS{"index.html": {Data: []byte(html)}}, ""); err == nil {
			t.Errorf("%s: no error", html)
		}
	}
}
