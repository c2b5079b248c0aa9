package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// Large bodies are in work a few at a time; small ones do not wait for them, and
// those that wait leave with their clients or are told after the time for a
// request.
func TestLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 << 20
		var inside, done atomic.Int32
		leave := make(chan struct{})
		f := &fake{embed: func(r engine.EmbedRequest) (engine.EmbedResult, error) {
			if len(r.Inputs[0].Text) > 1000 {
				inside.Add(1)
				<-leave
			}
			return engine.EmbedResult{Vectors: [][]float32{{1}}}, nil
		}}
		a := newAPI(t, httpapi.Options{Engine: f, JSONBody: limit, RequestTimeouts: map[string]time.Duration{"/v1/embeddings": time.Minute}})
		ask := func(ctx context.Context, text string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/v1/embeddings", strings.NewReader(`{"model":"`+embedModel+`","input":"`+text+`"}`))
			defer func() { recover() }() // http.ErrAbortHandler for a client that left
			a.ServeHTTP(w, r)
			return w
		}
		long := strings.Repeat("a", limit-100)
		for range 6 {
			go func() {
				ask(t.Context(), long)
				done.Add(1)
			}()
		}
		synctest.Wait()
		if n := inside.Load(); n != 4 {
			t.Errorf("%d large bodies are in work, want 4", n)
		}
		kept := func() int {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/metrics", nil))
			_, after, _ := strings.Cut(w.Body.String(), "\ntemp_bytes ")
			n, _, _ := strings.Cut(after, "\n")
			f, err := strconv.ParseFloat(n, 64)
			if err != nil {
				t.Error(err)
			}
			return int(f)
		}
		if n := kept(); n < 2*len(long) || n >= 3*len(long) {
			t.Errorf("%d bytes are kept out of memory, want the two bodies that wait, of %d", n, len(long))
		}
		if w := ask(t.Context(), "short"); w.Code != 200 {
			t.Errorf("a small body beside them: %d %s", w.Code, w.Body)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() { ask(ctx, long); close(gone) }()
		synctest.Wait()
		cancel()
		<-gone
		late := ask(t.Context(), long) // time passes while all wait
		synctest.Wait()
		if late.Code != 504 || !strings.Contains(late.Body.String(), "request_timeout") {
			t.Errorf("a large body that waits too long: %d %s", late.Code, late.Body)
		}
		synctest.Wait() // the others end at the same moment
		if n := done.Load(); n != 2 {
			t.Errorf("%d of those that waited were told, want 2", n)
		}
		close(leave)
		synctest.Wait()
		if w := ask(t.Context(), long); w.Code != 200 || done.Load() != 6 {
			t.Errorf("afterwards: %d %s, %d done", w.Code, w.Body, done.Load())
		}
		if n := kept(); n != 0 {
			t.Errorf("%d bytes are still kept", n)
		}
	})
}

// A slow reader reads when its channel says so.
type slowReader struct {
	*httptest.ResponseRecorder
	read chan struct{}
}

func (w slowReader) Write(p []byte) (int, error) {
	<-w.read
	return w.ResponseRecorder.Write(p)
}

// A large answer counts until it is written.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 << 20
		a := newAPI(t, httpapi.Options{JSONBody: limit})
		read := make(chan struct{})
		var begun atomic.Int32
		body := `{"model":"` + chatModel + `","content":"` + strings.Repeat("a ", 250_000) + `","x":"` + strings.Repeat("a", limit-500_200) + `"}`
		for range 5 {
			go func() {
				r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/tokenize", strings.NewReader(body))
				a.ServeHTTP(slowReader{httptest.NewRecorder(), read}, r)
				begun.Add(1)
			}()
		}
		synctest.Wait()
		late := httptest.NewRecorder()
		a.ServeHTTP(late, httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/tokenize", strings.NewReader(body)))
		if late.Code != http.StatusGatewayTimeout {
			t.Errorf("a large body beside four large answers: %d %.200s", late.Code, late.Body)
		}
		close(read)
		synctest.Wait()
		if begun.Load() != 5 {
			t.Errorf("%d of 5 answers were written", begun.Load())
		}
	})
}

// A large body that cannot be kept is refused with what to change, and leaves nothing.
func TestLargeBodiesAreCounted(t *testing.T) {
	const limit = 2 << 20
	s := newServer(t, httpapi.Options{JSONBody: 2 * limit, TempFiles: limit})
	for range 3 {
		r := post(t, s, "/tokenize", `{"prompt":"`+strings.Repeat("a", limit)+`"}`)
		wantFailure(t, r, 503, "out_of_disk", "")
	}
	if r := post(t, s, "/tokenize", `{"prompt":"`+strings.Repeat("a", limit-100)+`"}`); r.StatusCode != 200 {
		t.Errorf("status %d of what there is room for", r.StatusCode)
	}
}

// What bodies of many small values take once decoded is bounded too, however little
// they are as text: three times what there is room for is asked, and who is served
// fits. Small requests pass by, and what could never fit is refused.
func TestBodiesShareWhatTheyDecodeTo(t *testing.T) {
	const budget = 8 << 20 // of a server whose limit is so low
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"` + strconv.Itoa(i) + `":1`)
		}
		return b.String()
	}
	chat := func(more string) string {
		return `{"model":"` + chatModel + `","messages":[{"role":"user","content":"a"}]` + more + `}`
	}
	for _, tt := range []struct {
		name, path, body string
		each             int // bytes a value takes at least
		n                int
	}{
		{"messages", "/v1/chat/completions", `{"model":"` + chatModel + `","messages":[` + list(5000, `{"role":"user","content":""}`) + `]}`, 200, 5000},
		{"bodies below 64 KiB", "/v1/chat/completions", `{"model":"` + chatModel + `","messages":[` + list(2000, `{"role":"user","content":""}`) + `]}`, 200, 2000},
		{"parts", "/v1/chat/completions", `{"model":"` + chatModel + `","messages":[{"role":"user","content":[` + list(5000, `{"type":"text","text":""}`) + `]}]}`, 200, 5000},
		{"fields", "/v1/chat/completions", chat(fields(20000)), 40, 20000},
		{"logit_bias", "/v1/chat/completions", chat(`,"logit_bias":{` + fields(20000)[1:] + `}`), 40, 20000},
		{"tokens", "/v1/completions", `{"model":"` + chatModel + `","prompt":[` + list(100000, `1`) + `]}`, 4, 100000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inside, ended atomic.Int32
				leave := make(chan struct{})
				f := &fake{generate: func(_ context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
					inside.Add(1)
					defer ended.Add(1)
					<-leave
					_ = yield(admitted, nil) && yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
				}}
				a := newAPI(t, httpapi.Options{Engine: f, JSONBody: 1 << 20, RequestTimeout: -1})
				ask := func(body string) *httptest.ResponseRecorder {
					w := httptest.NewRecorder()
					a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+tt.path, strings.NewReader(body)))
					return w
				}
				fit := budget / (tt.each * tt.n)
				for range 2 * fit {
					go ask(tt.body)
				}
				synctest.Wait()
				if n := int(inside.Load()); n == 0 || n > fit {
					t.Errorf("%d are in work, want at most %d", n, fit)
				}
				if w := ask(`{"model":`); w.Code != 400 {
					t.Errorf("a small body beside them: %d %s", w.Code, w.Body)
				}
				close(leave)
				synctest.Wait()
				if ended.Load() < int32(2*fit) {
					t.Errorf("%d of %d were served", ended.Load(), 2*fit)
				}
			})
		})
	}
	s := newServer(t, httpapi.Options{JSONBody: 1 << 20})
	wantFailure(t, post(t, s, "/v1/chat/completions", chat(`,"x":[`+list(150_000, `{}`)+`]`)), 413, "request_too_large", "")
}
