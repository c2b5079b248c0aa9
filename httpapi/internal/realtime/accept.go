//go:build !js

package realtime

import (
	"context"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// reachable is nil: sessions can be had here.
func reachable() error { return nil }

// accept makes the connection of a call a WebSocket whose messages are at most limit
// bytes long. It returns nil without an error for a request that was answered.
func accept(c *server.Call, limit int64) (socket, error) {
	if !strings.EqualFold(c.R.Header.Get("Upgrade"), "websocket") {
		c.W.Header().Set("Upgrade", "websocket")
		return nil, fault.New(fault.CodeUpgrade, "", "%s is a WebSocket; connect with ws:// or wss://", c.R.URL.Path)
	}
	conn, err := websocket.Accept(c.W, c.R, &websocket.AcceptOptions{
		Subprotocols: []string{protocol},
		// Origins were checked as those of all requests are; where there are keys, a page
		// that knows one may connect from anywhere.
		InsecureSkipVerify: true,
	})
	if err != nil {
		return nil, nil
	}
	conn.SetReadLimit(limit)
	return webSocket{conn}, nil
}

// A webSocket is a socket of coder/websocket.
type webSocket struct{ c *websocket.Conn }

func (w webSocket) Read(ctx context.Context) ([]byte, error) {
	kind, b, err := w.c.Read(ctx)
	if err == nil && kind != websocket.MessageText {
		return nil, w.Close(ending{int(websocket.StatusUnsupportedData), "events are text"})
	}
	return b, err
}

func (w webSocket) Write(ctx context.Context, b []byte) error {
	return w.c.Write(ctx, websocket.MessageText, b)
}

func (w webSocket) Ping(ctx context.Context) error { return w.c.Ping(ctx) }

func (w webSocket) Close(why ending) error {
	if why.code == http.StatusOK || why.code == 0 {
		return w.c.CloseNow()
	}
	return w.c.Close(websocket.StatusCode(why.code), why.reason)
}
