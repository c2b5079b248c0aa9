package openai

import "quern/httpapi/internal/server"

// jobRoutes refuse files and batches, which are kept in a store that no page has.
func (a api) jobRoutes() (list []server.Route) {
	refuse := server.NotBuilt("files and batches are not kept in a browser; they want a quern on a machine")
	for _, r := range [][2]string{
		{"POST", "/v1/files"}, {"GET", "/v1/files"}, {"GET", "/v1/files/:id"}, {"DELETE", "/v1/files/:id"}, {"GET", "/v1/files/:id/content"},
		{"POST", "/v1/batches"}, {"GET", "/v1/batches"}, {"GET", "/v1/batches/:id"}, {"POST", "/v1/batches/:id/cancel"},
	} {
		list = append(list, server.Route{Method: r[0], Path: r[1], Handle: refuse, Bare: true})
	}
	return list
}
