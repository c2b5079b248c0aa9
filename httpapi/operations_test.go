package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/httpapi"
)

// A server that gets SIGTERM is unready at once, goes on for shutdown_delay, and then
// ends; readiness of a model does not hide that.
func TestShutdownDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		a := newAPI(t, httpapi.Options{ShutdownDelay: 10 * time.Second})
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- a.Serve(ctx, ln) }()
		tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.dial() }}
		c := &http.Client{Transport: tr}
		ask := func(method, path, body string) int {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		chat := `{"messages":[{"role":"user","content":"x"}],"max_tokens":3}`
		if got := ask("GET", "/readyz", ""); got != 200 {
			t.Errorf("before: %d", got)
		}
		begin := time.Now()
		stop()
		synctest.Wait()
		time.Sleep(9 * time.Second)
		for path, want := range map[string]int{"/readyz": 503, "/readyz?model=" + chatModel: 503, "/livez": 200} {
			if got := ask("GET", path, ""); got != want {
				t.Errorf("%s while it leaves: %d, want %d", path, got, want)
			}
		}
		if got := ask("POST", "/v1/chat/completions", chat); got != 200 {
			t.Errorf("a chat while it leaves: %d", got)
		}
		tr.CloseIdleConnections()
		if err := <-served; err != nil || time.Since(begin) != 10*time.Second {
			t.Errorf("ended after %v: %v", time.Since(begin), err)
		}
	})
}

// Readiness of one model: loaded, not loaded, unknown; and the same apart from the API.
func TestReadyModel(t *testing.T) {
	a := newAPI(t, httpapi.Options{})
	watch := httpapi.Operations(a)
	a.SetReady("models are being loaded") // others
	for path, want := range map[string]int{"/readyz": 503, "/readyz?model=" + chatModel: 200, "/readyz?model=" + embedModel: 503, "/readyz?model=absent": 404} {
		w := httptest.NewRecorder()
		watch.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := onTape(t, a, httptest.NewRequest("GET", path, nil)).Code; got != want || w.Code != want {
			t.Errorf("%s: %d on the API, %d beside it; want %d", path, got, w.Code, want)
		}
	}
	locked := newAPI(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}})
	if got := onTape(t, locked, httptest.NewRequest("GET", "/readyz?model="+chatModel, nil)).Code; got != 401 {
		t.Errorf("without a key: %d", got)
	}
}
