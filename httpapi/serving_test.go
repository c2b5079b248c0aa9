package httpapi_test

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"quern/bench/poll"
	"quern/httpapi"
)

var fakeKey = httpapi.Key{Name: "tester", SHA256: sha256.Sum256([]byte(testKey))}

func newAPI(t testing.TB, o httpapi.Options) *httpapi.API {
	t.Helper()
	if o.Engine == nil {
		o.Engine = &fake{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// watched holds the tests that already watch for goroutines.
var watched sync.Map

// noLeaks fails the test when goroutines started after the first call are left
// at its end.
func noLeaks(t testing.TB) {
	if _, again := watched.LoadOrStore(t.Name(), true); again {
		return
	}
	t.Cleanup(func() { watched.Delete(t.Name()) }) // for -count
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		poll.Goroutines(t, before)
	})
}

// socketBuffer keeps the kernel from holding much, so that tests of slow
// readers need not send much.
const socketBuffer = 64 << 10

// newServer serves an API over TCP without keys, and watches for goroutines
// left behind.
func newServer(t testing.TB, o httpapi.Options) *httptest.Server {
	t.Helper()
	return newServerOf(t, newAPI(t, o))
}

func newServerOf(t testing.TB, a *httpapi.API) *httptest.Server {
	t.Helper()
	noLeaks(t)
	s := httptest.NewUnstartedServer(a)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.(*net.TCPConn).SetWriteBuffer(socketBuffer)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// newBubble is newServer for a bubble of testing/synctest: its connections are pipes, so that
// timeouts are those of the bubble's clock. dialBubble opens one.
func newBubble(t *testing.T, o httpapi.Options) *httptest.Server {
	t.Helper()
	ln := newPipes()
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: newAPI(t, o)}}
	s.Start()
	s.Client().Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.dial() }}
	t.Cleanup(s.Close)
	return s
}

func dialBubble(t *testing.T, s *httptest.Server, request string) net.Conn {
	t.Helper()
	c, err := s.Listener.(*pipes).dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipes) dial() (net.Conn, error) {
	c, s := net.Pipe()
	select {
	case l.conns <- s:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func post(t testing.TB, s *httptest.Server, path, body string) *http.Response {
	t.Helper()
	r, err := s.Client().Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}
