//go:build !js

package openai

import "quern/httpapi/internal/server"

// jobRoutes are the endpoints of files and batches.
func (a api) jobRoutes() []server.Route {
	return []server.Route{
		{Method: "POST", Path: "/v1/files", Handle: a.createFile, Bare: true},
		{Method: "GET", Path: "/v1/files", Handle: a.listFiles, Bare: true},
		{Method: "GET", Path: "/v1/files/:id", Handle: a.getFile, Bare: true},
		{Method: "DELETE", Path: "/v1/files/:id", Handle: a.removeFile, Bare: true},
		{Method: "GET", Path: "/v1/files/:id/content", Handle: a.fileContent, Bare: true},
		{Method: "POST", Path: "/v1/batches", Handle: a.Object(a.createBatch), Bare: true},
		{Method: "GET", Path: "/v1/batches", Handle: a.listBatches, Bare: true},
		{Method: "GET", Path: "/v1/batches/:id", Handle: a.getBatch, Bare: true},
		{Method: "POST", Path: "/v1/batches/:id/cancel", Handle: a.cancelBatch, Bare: true},
	}
}
