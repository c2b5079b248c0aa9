package httpapi_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// newBubble2 is newBubble of a server and a client that speak HTTP/2.
func newBubble2(t *testing.T, o httpapi.Options) *httptest.Server {
	t.Helper()
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	ln := newPipes()
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: newAPI(t, o), Protocols: &only}}
	s.Start()
	s.Client().Transport = &http.Transport{Protocols: &only, DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.dial() }}
	t.Cleanup(s.Close)
	return s
}

// A request over HTTP/2 may take longer than one write to its client may: to answer in one piece,
// between two pieces of sound, and to send its body.
func TestHTTP2TakesItsTime(t *testing.T) {
	for name, r := range map[string]*http.Request{
		"an answer in one piece": jsonRequest("/v1/completions", `{"prompt":"a"}`),
		"sound in pieces":        jsonRequest("/v1/audio/speech", `{"input":"a.","voice":"af_bella","response_format":"pcm"}`),
		"an answer to a browser": jsonRequest("/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"stream":true}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := endless()
				late.wait, late.n = 40*time.Second, 2
				late.generate = func(ctx context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
					time.Sleep(40 * time.Second)
					_ = yield(admitted, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
				}
				s := newBubble2(t, httpapi.Options{Engine: late, RequestTimeout: time.Hour})
				got, err := s.Client().Post(s.URL+r.URL.Path, "application/json", r.Body)
				if err != nil {
					t.Fatal(err)
				}
				defer got.Body.Close()
				if b, err := io.ReadAll(got.Body); err != nil || got.StatusCode != 200 || got.ProtoMajor != 2 || len(b) == 0 {
					t.Errorf("HTTP/%d: %d, %d bytes, %v", got.ProtoMajor, got.StatusCode, len(b), err)
				}
			})
		})
	}
	for every, status := range map[time.Duration]int{50 * time.Millisecond: 200, 500 * time.Millisecond: 408} {
		synctest.Test(t, func(t *testing.T) {
			s := newBubble2(t, httpapi.Options{})
			body := `{"prompt":"` + strings.Repeat("a", 20_000) + `"}`
			r, w := io.Pipe()
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for len(body) > 0 {
					time.Sleep(every)
					n, err := io.WriteString(w, body[:min(25, len(body))])
					if err != nil {
						return
					}
					body = body[n:]
				}
				w.Close()
			}()
			got, err := s.Client().Post(s.URL+"/v1/completions", "application/json", r)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if b, err := io.ReadAll(got.Body); err != nil || got.StatusCode != status {
				t.Errorf("25 bytes every %v: %d %s, %v", every, got.StatusCode, b, err)
			}
			r.Close()
			<-sent
		})
	}
}

// A client that does not read a stream of HTTP/2 is dropped, and the work for it ends.
func TestHTTP2ReaderThatStalls(t *testing.T) {
	for name, body := range map[string]string{"/v1/chat/completions": streamBody, "/v1/audio/speech": `{"input":"a.","voice":"af_bella","response_format":"pcm"}`} {
		synctest.Test(t, func(t *testing.T) {
			s := newBubble2(t, httpapi.Options{Engine: endless(), Stall: time.Hour})
			got, err := s.Client().Post(s.URL+name, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			time.Sleep(time.Minute)
			if b, err := io.ReadAll(got.Body); err == nil {
				t.Errorf("%s: %d bytes and its end", name, len(b))
			}
			// The bubble fails the test if the work goes on.
		})
	}
}

// Sound that is transcribed while it is sent leaves a connection of HTTP/2 to the requests beside it
// and after it.
func TestHTTP2Coming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble2(t, httpapi.Options{})
		dials := 0
		transport := s.Client().Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		for range 2 {
			r := formRequest(t, "/v1/audio/transcriptions", nil)
			first, kind := "--"+strings.TrimPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary="), r.Header.Get("Content-Type")
			fields := ""
			for name, value := range map[string]string{"model": earModel, "stream": "true", "live": "true"} {
				fields += first + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
			}
			got, err := s.Client().Post(s.URL+r.URL.Path, kind, io.MultiReader(strings.NewReader(fields), r.Body))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(got.Body)
			got.Body.Close()
			if err != nil || got.StatusCode != 200 || !strings.Contains(string(b), "transcript.text.done") {
				t.Errorf("%d %s, %v", got.StatusCode, b, err)
			}
		}
		if dials != 1 {
			t.Errorf("%d connections", dials)
		}
	})
}

// A stalled connection takes nothing more from the other side once it is told so.
type stalled struct {
	net.Conn
	stall, closed chan struct{}
	once          sync.Once
}

func (c *stalled) Read(p []byte) (int, error) {
	select {
	case <-c.stall:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return c.Conn.Read(p)
	}
}

func (c *stalled) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A client whose connection of HTTP/2 takes nothing any more is dropped, and the work for it ends.
func TestHTTP2ConnectionThatStalls(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		a := newAPI(t, httpapi.Options{Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
			defer close(ended)
			for ok := yield(admitted, nil); ok && ctx.Err() == nil; {
				ok = yield(delta(strings.Repeat("x", 1<<10)), nil)
			}
		})})
		ln := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		out := make(chan error, 1)
		go func() {
			out <- a.Serve(ctx, tls.NewListener(ln, &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}}))
		}()
		c := &stalled{stall: make(chan struct{}), closed: make(chan struct{})}
		transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			under, err := ln.dial()
			c.Conn = under
			t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			return t, cmp.Or(err, t.Handshake())
		}}
		got, err := (&http.Client{Transport: transport}).Post("https://localhost/v1/chat/completions", "application/json", strings.NewReader(streamBody))
		if err != nil {
			t.Fatal(err)
		}
		if got.ProtoMajor != 2 {
			t.Errorf("HTTP/%d", got.ProtoMajor)
		}
		close(c.stall)
		begin := time.Now()
		<-ended
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it is worked for for %v", took)
		}
		c.Close()
		got.Body.Close()
		transport.CloseIdleConnections()
		stop()
		if err := <-out; err != nil {
			t.Error(err)
		}
	})
}
