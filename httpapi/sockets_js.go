package httpapi

import "quern/httpapi/internal/server"

// Dialects that speak over WebSockets have no routes: a page cannot answer those.
func realtimeRoutes(*server.API) []server.Route { return nil }
func scribeRoutes(*server.API) []server.Route   { return nil }
