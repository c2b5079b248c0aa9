package eleven

import "quern/httpapi/internal/server"

// socketRoutes are none: a page cannot answer WebSockets.
func (a api) socketRoutes() []server.Route { return nil }
