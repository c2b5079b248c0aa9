package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// endless is an engine whose replies and sound have no end.
func endless() slow {
	e := slow{fake: &fake{}, wait: time.Millisecond, n: 1 << 20}
	e.generate = func(ctx context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
		ok := yield(admitted, nil)
		for ok && ctx.Err() == nil {
			ok = yield(delta(" and on"), nil)
		}
		if ok {
			yield(engine.Event{}, ctx.Err())
		}
	}
	return e
}

// A client that reads a byte a second is dropped, and the work for it ends, at every route whose
// answer comes bit by bit.
func TestEveryStreamDropsWhoReadsSlowly(t *testing.T) {
	requests := map[string]func(*testing.T) *http.Request{}
	for _, s := range streams {
		requests[s.name] = s.make
	}
	for path, body := range map[string]string{
		"/v1/chat/completions":               `{"messages":[{"role":"user","content":"x"}],"stream":true}`,
		"/v1/completions":                    `{"prompt":["x","y"],"stream":true,"max_tokens":-1}`,
		"/v1/responses":                      `{"input":"x","stream":true}`,
		"/v1/messages":                       `{"max_tokens":9999,"messages":[{"role":"user","content":"x"}],"stream":true}`,
		"/api/chat":                          `{"model":"stub-chat","messages":[{"role":"user","content":"x"}]}`,
		"/api/generate":                      `{"model":"stub-chat","prompt":"x"}`,
		"/completion":                        `{"prompt":"x","stream":true}`,
		"/v1/text-to-speech/af_bella/stream": `{"text":"x"}`,
	} {
		requests[path] = func(*testing.T) *http.Request { return jsonRequest(path, body) }
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := request(t)
				c := dialBubble(t, newBubble(t, httpapi.Options{Engine: endless(), Stall: time.Hour}), "")
				begin := time.Now()
				if err := r.Write(c); err != nil {
					t.Fatal(err)
				}
				var read []byte
				for b := make([]byte, 1); ; time.Sleep(time.Second) {
					if _, err := c.Read(b); err != nil {
						break
					}
					read = append(read, b[0])
				}
				if took := time.Since(begin); took > time.Minute || !strings.HasPrefix(string(read), "HTTP/1.1 200") {
					t.Errorf("dropped after %v and %q", took, read)
				}
				// The bubble fails the test if the work goes on.
			})
		})
	}
}

// A WebSocket whose client answers no pings, or sends a message a byte a minute, is closed.
func TestSocketsOfSlowClients(t *testing.T) {
	paths := []string{"/v1/realtime?model=stub-chat", "/v1/speech-to-text/realtime?model_id=scribe_v2_realtime",
		"/v1/text-to-speech/af_bella/stream-input?inactivity_timeout=180", "/v1/text-to-speech/af_bella/multi-stream-input?inactivity_timeout=180"}
	const upgrade = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	for _, path := range paths {
		for name, send := range map[string]func(net.Conn) error{
			"answers no pings": func(net.Conn) error { return nil },
			"a byte a minute":  func(c net.Conn) error { _, err := c.Write([]byte{0x81}); return err },
		} {
			t.Run(name+" "+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := dialBubble(t, newBubble(t, httpapi.Options{}), strings.Replace(upgrade, "%s", path, 1))
					gone := make(chan struct{})
					var read strings.Builder
					go func() {
						defer close(gone)
						io.Copy(&read, c)
					}()
					if err := send(c); err != nil {
						t.Fatal(err)
					}
					begin := time.Now()
					<-gone
					if took := time.Since(begin); took > time.Minute || !strings.HasPrefix(read.String(), "HTTP/1.1 101") {
						t.Errorf("closed after %v and %q", took, read.String())
					}
				})
			})
		}
	}
}
