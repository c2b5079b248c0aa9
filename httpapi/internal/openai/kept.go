//go:build !js

package openai

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// kept answers with the files and batches of this server.
func (a api) kept(answer func(*server.Call, server.Jobs) error) func(*server.Call) error {
	return func(c *server.Call) error {
		if a.Options.Jobs == nil {
			return fault.New(fault.CodeNotImplemented, "", "this server keeps no files and runs no batches (jobs.store is off)")
		}
		return answer(c, a.Options.Jobs)
	}
}
