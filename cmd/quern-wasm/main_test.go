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
		})
		if err == nil {
			err = s.loader("https://hub.example/?a=1&b=$2")
		}
		if err != nil {
			t.Fatal(err)
		}
		s.worker()
		return s
	}
	s := make("a")
	if got := string(s["index.html"]); got != `<title>q</title><script src="engine/loader.js" data-then="assets/main.js" data-hub="https://hub.example/?a=1&amp;b=$2"></script><link rel="stylesheet" href="assets/style.css"><body>` {
		t.Errorf("index.html: %s", got)
	}
	for _, name := range []string{"sw.js", "engine/loader.js"} {
		code := string(s[name])
		if !strings.Contains(code, `new Set(["","assets/main.js","assets/style.css","engine/loader.js","index.html"])`) || strings.Contains(code, "{{") {
			t.Errorf("the files that %s knows: %.400s", name, code)
		}
	}
	if code := string(s["sw.js"]); code == string(make("b")["sw.js"]) {
		t.Error("another style has the same version")
	}
	for _, html := range []string{"<title>q</title>", strings.Repeat(`<script type="module" src="a.js"></script>`, 2)} {
		if err := (site{"index.html": []byte(html)}).loader(""); err == nil {
			t.Errorf("%s: no error", html)
		}
	}
}
