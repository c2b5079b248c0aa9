package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"quern/httpapi/internal/fault"
)

// A Route is one endpoint. All routes answer under their path, and those
// marked bare also without /v1, because base URLs are given both ways.
type Route struct {
	Method string
	Path   string
	Handle func(*Call) error
	Open   bool // needs no key
	Work   bool // runs a model: refused while shutting down
	Bare   bool

	// Admit lets in, by a name for the log, who has no key but something like one; may be nil.
	Admit func(*http.Request) (name string, ok bool)

	// Late lets in who has no key yet, and names one later: the handler calls Identify.
	Late bool

	// Operation is what traces call its work; "" is by the kind of model that is asked for.
	Operation string

	Fail     Fail   // nil is as its dialect does
	IDHeader string // as the dialect's
	Prefixed bool   // under its dialect's prefix, where nothing has to be guessed
}

// A Fail is how failures of a request are answered. nil is OpenAI's.
type Fail func(*fault.Error, *http.Request) (status int, body any)

// A Dialect is the endpoints that clients of one kind know.
type Dialect struct {
	Routes   []Route
	Fail     Fail
	IDHeader string // says the id of a request beside x-request-id; "" is none
	Prefix   string // where they are beside their own paths; "" is nowhere
	Below    string // where every path is of the dialect, what there is not too; "" is nowhere
}

// all returns the routes of all dialects.
func all(dialects []Dialect) []Route {
	var out []Route
	for _, d := range dialects {
		for _, rt := range d.Routes {
			if rt.Fail == nil {
				rt.Fail = d.Fail
			}
			rt.IDHeader = d.IDHeader
			if !rt.Prefixed {
				out = append(out, rt)
			}
			if d.Prefix != "" {
				rt.Prefixed, rt.Path = true, d.Prefix+rt.Path
				out = append(out, rt)
			}
		}
	}
	return out
}

// spelledAs tells how a path that no route took is answered: as the route that it is, asked by
// another method, or stands below, or as the dialect whose own it is.
func spelledAs(path string, dialects []Dialect, routes []Route) (Fail, string) {
	in := func(base string) bool { return base != "" && (path == base || strings.HasPrefix(path, base+"/")) }
	for _, rt := range routes {
		base, _, _ := strings.Cut(rt.Path, "/:")
		if rt.Fail != nil && in(base) {
			return rt.Fail, rt.IDHeader
		}
	}
	for _, d := range dialects {
		if in(d.Prefix) || in(d.Below) {
			return d.Fail, d.IDHeader
		}
	}
	return nil, ""
}

// Paths of requests that no route took, in the metrics.
const (
	pathUnmatched = "unmatched"
	pathPreflight = "preflight"
)

// withHeads adds to routes the one of HEAD beside each of GET, which answers the same without the
// body: net/http leaves that out.
func withHeads(routes []Route) []Route {
	there := map[string]bool{}
	for _, rt := range routes {
		if rt.Method == http.MethodHead {
			there[rt.Path] = true
		}
	}
	out := slices.Clone(routes)
	for _, rt := range routes {
		if rt.Method == http.MethodGet && !there[rt.Path] {
			rt.Method = http.MethodHead
			out = append(out, rt)
		}
	}
	return out
}

func (a *API) newRouter(dialects []Dialect) *httprouter.Router {
	r := httprouter.New()
	// A redirected POST loses its body or its key.
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false // ServeHTTP answers them
	r.HandleMethodNotAllowed = true
	for _, rt := range withHeads(a.routes) {
		if before, behind, ok := strings.Cut(rt.Path, "*id/"); ok {
			a.inner = append(a.inner, inner{rt, before, "/" + behind})
			continue
		}
		h := func(w http.ResponseWriter, req *http.Request, ps httprouter.Params) {
			a.dispatch(&Call{W: w.(*response), R: req, Route: &rt, Params: ps})
		}
		r.Handle(rt.Method, rt.Path, h)
		if rt.Bare {
			r.Handle(rt.Method, strings.TrimPrefix(rt.Path, "/v1"), h)
		}
	}
	unmatched := func(e func(*http.Request) *fault.Error) http.HandlerFunc {
		rt := Route{Path: pathUnmatched, Handle: func(c *Call) error { return e(c.R) }}
		return func(w http.ResponseWriter, req *http.Request) {
			open := rt
			// A caller without a key does not learn which paths exist under /v1.
			open.Open = !strings.HasPrefix(req.URL.Path, "/v1/")
			open.Fail, open.IDHeader = spelledAs(req.URL.Path, dialects, a.routes)
			a.dispatch(&Call{W: w.(*response), R: req, Route: &open})
		}
	}
	r.NotFound = unmatched(func(r *http.Request) *fault.Error {
		return fault.New(fault.CodeUnknownURL, "", "there is no endpoint at %s %.200s; check the base URL and the path", r.Method, r.URL.Path)
	})
	r.MethodNotAllowed = unmatched(func(r *http.Request) *fault.Error {
		return fault.New(fault.CodeMethod, "", "%s is not allowed at %.200s; the Allow header lists what is", r.Method, r.URL.Path)
	})
	return r
}

// An inner route is of something that belongs to a model: what is named between two parts of its
// path, which may have slashes and so is none of httprouter's.
type inner struct {
	route          Route
	before, behind string
}

// inside returns the inner route of a request, if it is of one.
func (a *API) inside(r *http.Request) *Call {
	for _, n := range a.inner {
		paths := []string{n.before}
		if n.route.Bare {
			paths = append(paths, strings.TrimPrefix(n.before, "/v1"))
		}
		for _, before := range paths {
			id, ok := strings.CutPrefix(r.URL.Path, before)
			if !ok {
				continue
			}
			if id, ok = strings.CutSuffix(id, n.behind); ok && id != "" && r.Method == n.route.Method {
				return &Call{R: r, Route: &n.route, Params: httprouter.Params{{Key: "id", Value: id}}}
			}
		}
	}
	return nil
}

// NotBuilt answers paths clients know and this server has nothing behind.
func NotBuilt(what string) func(*Call) error {
	return func(*Call) error { return fault.New(fault.CodeNotImplemented, "", "%s", what) }
}
