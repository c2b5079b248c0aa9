package realtime

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// accept refuses: no WebSocket reaches a server inside a browser.
func accept(*server.Call, int64) (socket, error) {
	return nil, fault.New(fault.CodeNotImplemented, "", "a server inside a browser has no WebSocket; use /v1/audio/transcriptions, /v1/chat/completions and /v1/audio/speech")
}
