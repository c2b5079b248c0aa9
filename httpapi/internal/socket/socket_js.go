// Package socket has WebSockets that carry text, but in a browser.
package socket

import (
	"context"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

var errNone = fault.New(fault.CodeNotImplemented, "", "a server inside a browser has no WebSocket; use /v1/audio/transcriptions, /v1/chat/completions and /v1/audio/speech")

// Accept refuses: no WebSocket reaches a server inside a browser.
func Accept(*server.Call, int64, ...string) (*Conn, error) { return nil, errNone }

// A Conn is none.
type Conn struct{}

func (*Conn) Read(context.Context) ([]byte, error)  { return nil, errNone }
func (*Conn) Write(context.Context, []byte) error   { return errNone }
func (*Conn) Limit(int64)                           {}
func (*Conn) Ping(context.Context) error            { return errNone }
func (*Conn) Close(status int, reason string) error { return nil }
