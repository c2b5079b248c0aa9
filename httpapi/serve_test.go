package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// serve runs API.Serve and returns its address, the function that asks it to
// stop, and what it returned.
func serve(t *testing.T, o httpapi.Options) (url string, stop context.CancelFunc, result <-chan error) {
	t.Helper()
	noLeaks(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out := make(chan error, 1)
	a := newAPI(t, o)
	go func() { out <- a.Serve(ctx, ln) }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return "http://" + ln.Addr().String(), cancel, out
}

func waitFor[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	t.Log("waiting:", what)
	return <-c
}

func send(t *testing.T, url, body string) *http.Response {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

func TestShutdown(t *testing.T) {
	t.Parallel() // it waits
	admittedN := make(chan struct{}, 8)
	f := scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		if !yield(admitted, nil) || !yield(delta("a"), nil) {
			return
		}
		admittedN <- struct{}{}
		<-ctx.Done()
		yield(engine.Event{}, ctx.Err())
	})
	url, stop, result := serve(t, httpapi.Options{Engine: f, ShutdownGrace: 300 * time.Millisecond})

	stream := send(t, url+"/v1/chat/completions", streamBody)
	plain := make(chan *http.Response, 1)
	go func() {
		r, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"x"}]}`))
		if err == nil {
			plain <- r
		}
	}()
	waitFor(t, "both at work", admittedN)
	waitFor(t, "both at work", admittedN)
	if r, err := http.Get(url + "/readyz"); err != nil || r.StatusCode != 200 {
		t.Fatalf("readyz: %v", err)
	} else {
		r.Body.Close()
	}

	stop()
	eventually(t, "/readyz fails", func() bool {
		r, err := http.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode == 503 && strings.Contains(string(b), "shutting down")
	})
	refused := send(t, url+"/v1/chat/completions", streamBody)
	wantFailure(t, refused, 503, "shutting_down", "")
	if !refused.Close || refused.Header.Get("Retry-After") == "" {
		t.Errorf("close %v, headers %v", refused.Close, refused.Header)
	}
	if r, err := http.Get(url + "/health"); err != nil || r.StatusCode != 200 {
		t.Errorf("health while shutting down: %v", err)
	} else {
		r.Body.Close()
	}

	got := lines(t, stream.Body)
	if last := got[len(got)-1]; !strings.Contains(last, `"shutting_down"`) {
		t.Errorf("stream ends with %q", last)
	}
	r := waitFor(t, "plain request", plain)
	wantFailure(t, r, 503, "shutting_down", "")
	r.Body.Close()
	if err := waitFor(t, "Serve", result); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("still serving")
	}
}

func TestShutdownLetsWorkFinish(t *testing.T) {
	began, stopped := make(chan struct{}), make(chan struct{})
	f := scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("a"), nil)
		close(began)
		<-stopped
		_ = yield(delta("b"), nil) && yield(finish, nil) && yield(done, nil)
	})
	url, stop, result := serve(t, httpapi.Options{Engine: f})
	r := send(t, url+"/v1/chat/completions", streamBody)
	<-began
	stop()
	eventually(t, "/readyz fails", func() bool {
		r, err := http.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.StatusCode == 503
	})
	close(stopped)
	if got := lines(t, r.Body); got[len(got)-1] != "data: [DONE]" {
		t.Errorf("got %q", got)
	}
	if err := waitFor(t, "Serve", result); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeRefusesPublicAddressWithoutKeys(t *testing.T) {
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := newAPI(t, httpapi.Options{}).Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "auth: none") {
		t.Errorf("got %v", err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is open")
	}
	for _, o := range []httpapi.Options{{NoAuth: true}, {Keys: []httpapi.Key{fakeKey}}} {
		ln, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newAPI(t, o).Serve(ctx, ln); err != nil {
			t.Errorf("got %v", err)
		}
	}
}

// A fullListener is of a process that may open no more files.
type fullListener struct {
	*pipes
	failures int
}

func (l *fullListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.pipes.Accept()
}

// That connections cannot be accepted is said once a minute, and they are once they can be.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		ln := &fullListener{newPipes(), 100}
		ctx, stop := context.WithCancel(t.Context())
		out := make(chan error, 1)
		a := newAPI(t, httpapi.Options{Log: log.logger()})
		go func() { out <- a.Serve(ctx, ln) }()
		time.Sleep(2 * time.Minute) // 100 tries are a second apart at most
		if n := strings.Count(log.String(), "cannot be accepted"); n != 2 {
			t.Errorf("told %d times: %s", n, log.String())
		}
		c, err := ln.dial()
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET /livez HTTP/1.0\r\n\r\n")
		if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.0 200") {
			t.Errorf("%q, %v", b, err)
		}
		stop()
		if err := <-out; err != nil {
			t.Error(err)
		}
	})
}

// No more connections are accepted than may be open: others wait until one is closed,
// and a server with all open shuts down.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		ln := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		out := make(chan error, 1)
		a := newAPI(t, httpapi.Options{Log: log.logger(), Connections: 2, Idle: time.Hour, ReadHeader: time.Hour})
		go func() { out <- a.Serve(ctx, ln) }()
		var open []net.Conn
		for range 2 {
			c, err := ln.dial()
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		third := make(chan net.Conn)
		go func() {
			c, _ := ln.dial()
			third <- c
		}()
		time.Sleep(10 * time.Minute)
		select {
		case <-third:
			t.Fatal("a third connection is accepted")
		default:
		}
		if n := strings.Count(log.String(), "connections wait"); n != 1 {
			t.Errorf("told %d times: %s", n, log.String())
		}
		open[0].Close()
		c := <-third
		io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 200 {
			t.Errorf("%v, %v", r, err)
		}
		stop()
		if err := <-out; err != nil {
			t.Error(err)
		}
	})
}

func TestHeadersTooLarge(t *testing.T) {
	t.Parallel() // it waits
	url, _, _ := serve(t, httpapi.Options{})
	c := dial(t, url, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: "+strings.Repeat("a", 80<<10)+"\r\n\r\n")
	b := make([]byte, 12)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "HTTP/1.1 431" {
		t.Errorf("got %q, %v", b, err)
	}
	c.Close()
}

func TestReadiness(t *testing.T) {
	a := newAPI(t, httpapi.Options{})
	s := newServerOf(t, a)
	a.SetReady("loading models")
	r, err := s.Client().Get(s.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); r.StatusCode != 503 || !strings.Contains(string(b), "loading models") {
		t.Errorf("got %d %s", r.StatusCode, b)
	}
	a.SetReady("")
	for _, path := range []string{"/readyz", "/livez", "/health", "/v1/models", "/models/", "/v1/models/" + chatModel, "/v1/server", "/metrics", "/props", "/v1/voices", "/api/ps"} {
		r, err := s.Client().Head(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != 200 {
			t.Errorf("HEAD %s: %d", path, r.StatusCode)
		}
	}
}

func TestConnectionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{StreamWrite: 50 * time.Millisecond, BodyIdle: 50 * time.Millisecond})
		for range 3 { // deadlines of one request must not reach the next
			c := post(t, s, "/v1/completions", `{"prompt":"a"}`)
			if b, err := io.ReadAll(c.Body); err != nil || c.StatusCode != 200 {
				t.Fatalf("%d %s %v", c.StatusCode, b, err)
			}
			time.Sleep(80 * time.Millisecond)
		}
	})
}

// A body's deadline must not end a request that takes longer to answer.
func TestSlowAnswerOutlivesBodyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{BodyIdle: 50 * time.Millisecond, Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
			yield(admitted, nil)
			select {
			case <-time.After(200 * time.Millisecond):
				_ = yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
			case <-ctx.Done():
				yield(engine.Event{}, ctx.Err())
			}
		})})
		if r := post(t, s, "/v1/completions", `{"prompt":"a"}`); r.StatusCode != 200 {
			t.Errorf("status %d", r.StatusCode)
		}
	})
}
