package httpapi

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
	"quern/httpapi/page"
)

// pages are the files of the page people use, where it is served. They need no key: a
// browser asks for them before the page can ask for one.
func pages(a *server.API) []server.Route {
	if !a.Options.Page {
		return nil
	}
	files, err := page.New()
	if err != nil {
		panic(err) // they are part of the program
	}
	serve := func(c *server.Call) error {
		if !files.Has(c.R.URL.Path) {
			return fault.New(fault.CodeUnknownURL, "", "there is no file %.200s in this version's page; load the page again", c.R.URL.Path)
		}
		files.ServeHTTP(c.W, c.R)
		return nil
	}
	var routes []server.Route
	for _, path := range []string{"/", "/assets/*file"} {
		routes = append(routes, server.Route{Method: "GET", Path: path, Handle: serve, Open: true})
	}
	return routes
}
