//go:build !js

// Package socket has WebSockets that carry text.
package socket

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// Accept makes the connection of a call a WebSocket whose messages are at most limit
// bytes long, in one of protocols if the client names some. It returns nil without an
// error for a request that was answered.
func Accept(c *server.Call, limit int64, protocols ...string) (*Conn, error) {
	if !strings.EqualFold(c.R.Header.Get("Upgrade"), "websocket") {
		c.W.Header().Set("Upgrade", "websocket")
		return nil, fault.New(fault.CodeUpgrade, "", "%s is a WebSocket; connect with ws:// or wss://", c.R.URL.Path)
	}
	conn, err := websocket.Accept(c.W, c.R, &websocket.AcceptOptions{
		Subprotocols: protocols,
		// Origins were checked as those of all requests are; where there are keys, a page
		// that knows one may connect from anywhere.
		InsecureSkipVerify: true,
	})
	if err != nil {
		return nil, nil
	}
	w := &Conn{conn}
	w.Limit(limit)
	return w, nil
}

// A Conn is a WebSocket. One goroutine reads at a time, and one writes.
type Conn struct{ c *websocket.Conn }

var errBinary = errors.New("socket: a message is no text")

// Read returns the next message.
func (w *Conn) Read(ctx context.Context) ([]byte, error) {
	kind, b, err := w.c.Read(ctx)
	if err == nil && kind != websocket.MessageText {
		w.Close(int(websocket.StatusUnsupportedData), "messages are text")
		return nil, errBinary
	}
	return b, err
}

// Limit bounds the messages that are read from now on, in bytes.
func (w *Conn) Limit(n int64) { w.c.SetReadLimit(n) }

// Write sends a message.
func (w *Conn) Write(ctx context.Context, b []byte) error {
	return w.c.Write(ctx, websocket.MessageText, b)
}

// Ping asks whether the client is there, while another goroutine reads.
func (w *Conn) Ping(ctx context.Context) error { return w.c.Ping(ctx) }

// Close sends a status of RFC 6455 with a reason, and closes; with status 0 it sends
// none.
func (w *Conn) Close(status int, reason string) error {
	if status == http.StatusOK || status == 0 {
		return w.c.CloseNow()
	}
	const most = 123 // RFC 6455, 5.5
	if len(reason) > most {
		reason = strings.ToValidUTF8(reason[:most], "")
	}
	return w.c.Close(websocket.StatusCode(status), reason)
}
