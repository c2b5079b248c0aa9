//go:build !js

package httpapi

import (
	"quern/httpapi/internal/realtime"
	"quern/httpapi/internal/scribe"
	"quern/httpapi/internal/server"
)

func realtimeRoutes(a *server.API) []server.Route { return realtime.Routes(a) }
func scribeRoutes(a *server.API) []server.Route   { return scribe.Routes(a) }
