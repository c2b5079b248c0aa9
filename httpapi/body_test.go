package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/httpapi"
)

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

// wantEncoded posts a body of some type in a coding, and holds the answer to a status and, of a failure, its code.
func wantEncoded(t *testing.T, s *httptest.Server, path, kind, encoding string, sent []byte, status int, code string) {
	t.Helper()
	req, _ := http.NewRequest("POST", s.URL+path, bytes.NewReader(sent))
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("Content-Encoding", encoding)
	r, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if code != "" {
		wantFailure(t, r, status, code, "")
	} else if r.StatusCode != status {
		t.Errorf("status %d, want %d: %s", r.StatusCode, status, body(t, r))
	}
}

func TestContentEncoding(t *testing.T) {
	const limit = 1 << 16
	s := newServer(t, httpapi.Options{JSONBody: limit})
	ok := []byte(`{"prompt":"a"}`)
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		status         int
		code           string
	}{
		{"gzip", "gzip", zipped(t, ok), 200, ""},
		{"x-gzip", "X-GZIP", zipped(t, ok), 200, ""},
		{"identity", "identity", ok, 200, ""},
		{"bomb", "gzip", zipped(t, bytes.Repeat([]byte(" "), 100*limit)), 413, "request_too_large"},
		{"not gzip", "gzip", ok, 400, "invalid_json"},
		{"cut", "gzip", zipped(t, ok)[:20], 400, "invalid_json"},
		{"bad sum", "gzip", append(zipped(t, ok)[:len(zipped(t, ok))-8], 1, 2, 3, 4, 5, 6, 7, 8), 400, "invalid_json"},
		{"garbage behind", "gzip", append(zipped(t, ok), "garbage"...), 400, "invalid_json"},
		{"brotli", "br", ok, 400, "invalid_value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantEncoded(t, s, "/v1/completions", "", tt.encoding, tt.body, tt.status, tt.code)
		})
	}
}

func TestTooLarge(t *testing.T) {
	var log logged
	s := newServer(t, httpapi.Options{JSONBody: 1000, Log: log.logger()})
	fits := `{"prompt":"` + strings.Repeat("a", 1000-13) + `"}`
	if r := post(t, s, "/v1/completions", fits); r.StatusCode != 200 {
		t.Errorf("%d bytes: status %d", len(fits), r.StatusCode)
	}
	wantFailure(t, post(t, s, "/v1/completions", fits+" "), 413, "request_too_large", "")
	wantFailure(t, post(t, s, "/v1/completions", strings.Repeat("a", 8<<20)), 413, "request_too_large", "")
	// Without a length in front.
	req, _ := http.NewRequest("POST", s.URL+"/v1/completions", io.MultiReader(strings.NewReader(fits), strings.NewReader(" ")))
	r, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	wantFailure(t, r, 413, "request_too_large", "")
	eventually(t, "three times 413 in the log", func() bool { return strings.Count(log.String(), "status=413") == 3 })
}

// A refused body ends no connection that carries other requests, as those of HTTP/2 do.
func TestTooLargeOverHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(newAPI(t, httpapi.Options{JSONBody: 1000}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	var conns []net.Conn
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { conns = append(conns, i.Conn) }})
	for range 2 {
		q, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/chat/completions", strings.NewReader(strings.Repeat("x", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.ProtoMajor != 2 || r.StatusCode != 413 {
			t.Errorf("HTTP/%d: %d, %v", r.ProtoMajor, r.StatusCode, err)
		}
		r.Body.Close()
	}
	if len(conns) != 2 || conns[0] != conns[1] {
		t.Errorf("connections %v", conns)
	}
}

func TestBodyThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{BodyIdle: 100 * time.Millisecond})
		half := "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"prompt\":"
		begin := time.Now()
		b, err := io.ReadAll(dialBubble(t, s, half))
		if err != nil || len(b) != 0 {
			t.Errorf("got %q, %v; want a closed connection", b, err)
		}
		if d := time.Since(begin); d != 100*time.Millisecond {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestHalfABody(t *testing.T) {
	var log logged
	s := newServer(t, httpapi.Options{Log: log.logger()})
	c := dial(t, s.URL, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"prompt\":")
	c.Close()
	eventually(t, "status 499 in the log", func() bool { return strings.Contains(log.String(), "status=499") })
}

// Without a key the body is not read, and a client that sends none of it does
// not hold the connection.
func TestUnreadBodyDoesNotHoldTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, BodyIdle: 100 * time.Millisecond})
		c := dialBubble(t, s, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
		b, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("the connection stays open: %v", err)
		}
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 401")) {
			t.Errorf("got %q", b)
		}
	})
}
