//go:build !js

package eleven

import "quern/httpapi/internal/server"

// socketRoutes are the endpoints that speak over WebSockets.
func (a api) socketRoutes() []server.Route {
	return []server.Route{
		{Method: "GET", Path: speech + "/stream-input", Handle: a.streamInput, Work: true, Late: true},
		{Method: "GET", Path: speech + "/multi-stream-input", Handle: a.multiStreamInput, Work: true, Late: true},
	}
}
