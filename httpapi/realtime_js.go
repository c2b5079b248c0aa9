package httpapi

import "quern/httpapi/internal/server"

// realtimeRoutes are none: a page cannot answer WebSockets.
func realtimeRoutes(*server.API) []server.Route { return nil }
