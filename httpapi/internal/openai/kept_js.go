package openai

import "quern/httpapi/internal/server"

// kept refuses files and batches, which are kept in a store that no page has.
func (api) kept(func(*server.Call, server.Jobs) error) func(*server.Call) error {
	return server.NotBuilt("files and batches are not kept in a browser; they want a quern on a machine")
}
