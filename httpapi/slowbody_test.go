package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/httpapi"
)

// trickle sends pieces of n bytes, one every so long, beside the test, until all are sent or
// the connection is closed.
func trickle(t *testing.T, c net.Conn, body string, n int, every time.Duration) {
	over := make(chan struct{})
	t.Cleanup(func() { c.Close(); <-over })
	go func() {
		defer close(over)
		for len(body) > 0 {
			time.Sleep(every)
			if _, err := io.WriteString(c, body[:min(n, len(body))]); err != nil {
				return
			}
			body = body[min(n, len(body)):]
		}
	}()
}

// answered reads the one answer of a connection.
func answered(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// A body may stop for BodyIdle, and has to come at 240 bytes a second on average after as long.
func TestBodyThatTrickles(t *testing.T) {
	body := `{"prompt":"` + strings.Repeat("a", 2000) + `"}`
	for _, tt := range []struct {
		name   string
		bytes  int
		every  time.Duration
		status int
		took   time.Duration // to the answer, where it is refused
	}{
		{"fast enough", 30, 100 * time.Millisecond, 200, 0},
		{"a pause, then fast enough", 300, 900 * time.Millisecond, 200, 0},
		{"too slow", 20, 100 * time.Millisecond, 408, 5500 * time.Millisecond},
		{"a byte at a time", 1, 999 * time.Millisecond, 408, 1010 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newBubble(t, httpapi.Options{BodyIdle: time.Second})
				c := dialBubble(t, s, strings.TrimSuffix(rawPost("/v1/completions", body), body))
				begin := time.Now()
				trickle(t, c, body, tt.bytes, tt.every)
				r := answered(t, c)
				took := time.Since(begin)
				if tt.status == 200 {
					if r.StatusCode != 200 {
						t.Errorf("status %d after %v", r.StatusCode, took)
					}
					return
				}
				if d := took - tt.took; d < -100*time.Millisecond || d > 100*time.Millisecond {
					t.Errorf("refused after %v, want about %v", took, tt.took)
				}
				if r.Header.Get("x-should-retry") != "false" || !r.Close {
					t.Errorf("header %v", r.Header)
				}
				if m := wantFailure(t, r, tt.status, "request_timeout", ""); !strings.Contains(m, "240 bytes a second") {
					t.Error(m)
				}
			})
		})
	}
}

// Bodies of every kind are refused for their slowness, in the shape of their dialect.
func TestSlowBodies(t *testing.T) {
	form := "Content-Type: multipart/form-data; boundary=b\r\n"
	json408 := func(shape string) string { return strings.ReplaceAll(shape, "…", "the body came too slowly, ") }
	for _, tt := range []struct{ path, header, shape string }{
		{"/v1/chat/completions", "", json408(`{"error":{"message":"…`)},
		{"/v1/chat/completions", "Transfer-Encoding: chunked\r\n", json408(`{"error":{"message":"…`)},
		{"/v1/responses", "", json408(`{"error":{"message":"…`)},
		{"/v1/messages", "", json408(`{"type":"error","error":{"type":"timeout_error","message":"…`)},
		{"/api/chat", "", json408(`{"error":"…`)},
		{"/v1/text-to-speech/af_bella", "", json408(`{"detail":{"message":"…`)},
		{"/v1/audio/transcriptions", form, json408(`{"error":{"message":"…`)},
		{"/v1/speech-to-text", form, json408(`{"detail":{"message":"…`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			head, each, size := "Content-Length: 100000\r\n", "%s", 1
			if strings.Contains(tt.header, "chunked") {
				head, each, size = "", "1\r\n%s\r\n", len("1\r\n \r\n")
			}
			c := dialBubble(t, newBubble(t, httpapi.Options{}), "POST "+tt.path+" HTTP/1.1\r\nHost: localhost\r\n"+head+tt.header+"\r\n")
			var body strings.Builder
			for range 1000 {
				fmt.Fprintf(&body, each, " ")
			}
			begin := time.Now()
			trickle(t, c, body.String(), size, time.Second)
			r := answered(t, c)
			b, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != 408 || !strings.HasPrefix(string(b), tt.shape) || !json.Valid(b) {
				t.Errorf("%s: %d %s %v", tt.path, r.StatusCode, b, err)
			}
			if took := time.Since(begin); took > 62*time.Second {
				t.Errorf("%s: after %v", tt.path, took)
			}
		})
	}
}

// Sound that is transcribed while it is sent may come as slowly as it is spoken for as long as a
// session of live sound lasts, and longer at no less than the rate of other bodies. Who is slower is
// dropped.
func TestComingSlowly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		total  time.Duration
		bytes  int // a second
		within time.Duration
		whole  bool
	}{
		{"within a session", 0, 100, 59 * time.Minute, true},
		{"longer, fast enough", 5 * time.Minute, 242, 30 * time.Minute, true},
		{"longer, too slow", 5 * time.Minute, 100, 10 * time.Minute, false},
		{"without a bound", -1, 100, 3 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := httpapi.Options{Engine: &fake{}, Realtime: httpapi.Realtime{Total: tt.total}}
				s := transmit(t, o, earField, "stream=true", "live=true", "file_format=ulaw_8000")
				end := time.Now().Add(tt.within)
				for time.Now().Before(end) {
					if _, err := s.file.Write(make([]byte, 10*tt.bytes)); err != nil {
						break
					}
					time.Sleep(10 * time.Second)
				}
				s.end()
				if b, _ := json.Marshal(s.events); s.status != 200 || strings.Contains(string(b), "transcript.text.done") != tt.whole {
					t.Errorf("%d %s", s.status, b)
				}
			})
		})
	}
}
