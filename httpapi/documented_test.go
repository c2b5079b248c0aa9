package httpapi

import (
	"cmp"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"quern/httpapi/internal/server"
)

var (
	// docPath is a path as documents write it: `GET /v1/files/ID`, or `GET` and `DELETE /v1/files/ID`,
	// with words in capitals for what may be anything.
	docPath  = regexp.MustCompile("(?:`([A-Z]+)` and )?`(?:([A-Z]+) )?(/[A-Za-z0-9_/-]*)(?:[?][^`]*)?`")
	docBlock = regexp.MustCompile(`(?m)^    .*\n`)
	routePar = regexp.MustCompile(`[:*][a-z_]+`)
)

// spelled are paths that stand in docs/api.md for others: what others stand below is none, and
// names that the router takes for a parameter are written out.
var spelled = map[string]string{
	"/": "", "/v1": "", "/elevenlabs": "",
	"/v1/responses/input_tokens": "/v1/responses/ID", "/v1/voices/ID/settings": "/v1/voices/ID/PART", "/v1/voices/add": "/v1/voices/ID",
}

// isRoute reports whether a path of a document is that of a route.
func isRoute(rt server.Route, documented string) bool {
	want := strings.Split(routePar.ReplaceAllString(rt.Path, ":"), "/")
	got := strings.Split(documented, "/")
	if len(got) != len(want) {
		return false
	}
	for i, w := range want {
		if w == ":" && got[i] != strings.ToUpper(got[i]) || w != ":" && got[i] != w {
			return false
		}
	}
	return true
}

// told marks the routes that stand in a document.
type told struct {
	routes []server.Route
	there  []bool
}

// path marks the routes of a path, and reports whether there are any.
func (d *told) path(p string, methods ...string) bool {
	found := false
	for i, rt := range d.routes {
		if isRoute(rt, p) || rt.Bare && isRoute(rt, "/v1"+p) {
			found = true
			for _, m := range methods {
				d.there[i] = d.there[i] || m == "" || m == rt.Method
			}
		}
	}
	return found
}

// find looks for what a path of a document means: itself, or what it makes with the one before
// it, or with what that stands below, or the end of any route.
func (d *told) find(p, before string, methods ...string) (found string, ok bool) {
	tries := []string{p, path.Join(before, p)}
	for base := before; base != "/"; {
		base = path.Dir(base)
		tries = append(tries, path.Join(base, p))
	}
	for _, t := range tries {
		if s, ok := spelled[t]; ok && (s == "" || d.path(s, methods...)) || d.path(t, methods...) {
			return t, true
		}
	}
	for i, rt := range d.routes {
		if strings.HasSuffix(rt.Path, p) {
			d.there[i], found, ok = true, before, true
		}
	}
	return found, ok
}

// TestRoutesDocumented holds the routes against docs/api.md: each stands there, and every path
// that stands there is one. `/ID/cancel` behind `/v1/batches/ID` goes on from that.
func TestRoutesDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	d := &told{}
	for _, of := range dialects(&server.API{}) {
		d.routes = append(d.routes, of.Routes...)
	}
	d.there = make([]bool, len(d.routes))
	for line := range strings.Lines(docBlock.ReplaceAllString(string(text), "")) {
		before := "/"
		for _, m := range docPath.FindAllStringSubmatch(line, -1) {
			found, ok := d.find(m[3], before, m[2], cmp.Or(m[1], m[2]))
			if !ok {
				t.Errorf("docs/api.md names %s, which is no route", m[3])
			}
			before = cmp.Or(found, before)
		}
	}
	for i, rt := range d.routes {
		if !d.there[i] {
			t.Errorf("docs/api.md does not have %s %s", rt.Method, rt.Path)
		}
	}
}
