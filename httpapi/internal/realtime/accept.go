package realtime

import (
	"quern/httpapi/internal/server"
	sockets "quern/httpapi/internal/socket"
)

// reachable is nil where sessions can be had.
func reachable() error { return sockets.Reachable() }

// accept makes the connection of a call a socket; nil without an error is for a request
// that was answered.
func accept(c *server.Call, limit int64) (socket, error) {
	conn, err := sockets.Accept(c, limit, protocol)
	if err != nil || conn == nil {
		return nil, err
	}
	return webSocket{conn}, nil
}

// A webSocket is the socket of a client.
type webSocket struct{ *sockets.Conn }

func (w webSocket) Close(why ending) error { return w.Conn.Close(why.code, why.reason) }
