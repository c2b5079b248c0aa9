package httpapi_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// dialSmall sends a request over a connection that takes in little unread.
func dialSmall(t *testing.T, url, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that stops reading is dropped, and its work ends, although the work would
// fit into the buffers the system lends by itself. Without the bound this waits for
// ever.
func TestReaderThatStopsIsDropped(t *testing.T) {
	t.Parallel() // it waits
	for _, tt := range []struct {
		name  string
		bytes int
	}{
		{"writes block", 1 << 20},
		{"nothing more is written", 64 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.bytes < 1<<20 && runtime.GOOS != "linux" {
				t.Skip("the system does not tell")
			}
			ended := make(chan struct{})
			url, _, _ := serve(t, httpapi.Options{StreamWrite: 100 * time.Millisecond, Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
				defer close(ended)
				yield(admitted, nil)
				text := strings.Repeat("x", 1<<10)
				for range tt.bytes / len(text) {
					if !yield(delta(text), nil) {
						return
					}
				}
				<-ctx.Done()
			})})
			dialSmall(t, url, rawPost("/v1/chat/completions", streamBody)) // never reads
			<-ended
		})
	}
}
