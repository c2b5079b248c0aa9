package realtime

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// reachable refuses: no WebSocket reaches a server inside a browser.
func reachable() error {
	return fault.New(fault.CodeNotImplemented, "", "a server inside a browser has no WebSocket; use /v1/audio/transcriptions, /v1/chat/completions and /v1/audio/speech")
}

func accept(*server.Call, int64) (socket, error) { return nil, reachable() }
