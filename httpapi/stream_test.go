package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quern/bench/poll"
	"quern/engine"
	"quern/httpapi"
)

const streamBody = `{"messages":[{"role":"user","content":"x"}],"stream":true}`

func delta(text string) engine.Event { return engine.Event{Type: engine.Delta, Text: text} }

var (
	admitted = engine.Event{Type: engine.Admitted, PromptTokens: 3}
	finish   = engine.Event{Type: engine.Finish, Reason: engine.ReasonStop, Tokens: 2}
	done     = engine.Event{Type: engine.Done, PromptTokens: 3, OutputTokens: 2}
)

// scripted is a fake that calls f for every generation.
func scripted(f func(ctx context.Context, yield func(engine.Event, error) bool)) *fake {
	return &fake{generate: func(ctx context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
		f(ctx, yield)
	}}
}

// lines reads a stream and returns its non-empty lines.
func lines(t *testing.T, r io.Reader) []string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}

func contents(t *testing.T, lines []string) (texts []string) {
	t.Helper()
	for _, l := range lines {
		data, ok := strings.CutPrefix(l, "data: {")
		if !ok {
			continue
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		for _, c := range c.Choices {
			if c.Delta.Content != "" {
				texts = append(texts, c.Delta.Content)
			}
		}
	}
	return texts
}

func TestHeaderWaitsForFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		s := newBubble(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			yield(admitted, nil)
			<-first
			yield(engine.Event{}, &engine.Error{Code: engine.CodeOutOfMemory, Message: "no room"})
		})})
		time.AfterFunc(50*time.Millisecond, func() { close(first) })
		r := post(t, s, "/v1/chat/completions", streamBody)
		wantFailure(t, r, 503, "out_of_memory", "")
		if r.Header.Get("x-should-retry") != "false" {
			t.Error("x-should-retry is not false")
		}
	})
}

func TestHeaderDelayAndKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := make(chan struct{})
		s := newBubble(t, httpapi.Options{HeaderDelay: 20 * time.Millisecond, KeepAlive: 20 * time.Millisecond,
			Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
				yield(admitted, nil)
				<-token
				_ = yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
			})})
		begin := time.Now()
		r := post(t, s, "/v1/chat/completions", streamBody) // returns with the header
		if r.StatusCode != 200 || time.Since(begin) != 20*time.Millisecond {
			t.Errorf("status %d after %v", r.StatusCode, time.Since(begin))
		}
		time.AfterFunc(150*time.Millisecond, func() { close(token) })
		got := lines(t, r.Body)
		comments := 0
		for _, l := range got {
			if l == ": keep-alive" {
				comments++
			}
		}
		if comments != 8 {
			t.Errorf("%d keep-alives, want 8: %q", comments, got)
		}
		if got[len(got)-1] != "data: [DONE]" {
			t.Errorf("ends with %q", got[len(got)-1])
		}
	})
}

func TestStreamErrorAfterHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{HeaderDelay: time.Millisecond, Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			yield(admitted, nil)
			time.Sleep(50 * time.Millisecond)
			yield(engine.Event{}, fmt.Errorf("disk %s is on fire", "/secret"))
		})})
		got := lines(t, post(t, s, "/v1/chat/completions", streamBody).Body)
		last := got[len(got)-1]
		if !strings.HasPrefix(last, `data: {"error":{`) || strings.Contains(last, "secret") || !strings.Contains(last, "internal_error") {
			t.Errorf("ends with %q", last)
		}
	})
}

func TestStallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{Stall: 50 * time.Millisecond, Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
			_ = yield(admitted, nil) && yield(delta("a"), nil)
			<-ctx.Done()
			yield(engine.Event{}, ctx.Err())
		})})
		got := lines(t, post(t, s, "/v1/chat/completions", streamBody).Body)
		if last := got[len(got)-1]; !strings.Contains(last, "stall_timeout (50ms)") || !strings.Contains(last, `"timeout_error"`) {
			t.Errorf("ends with %q", last)
		}
	})
}

func TestRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{}, 1)
		s := newBubble(t, httpapi.Options{
			RequestTimeout: time.Minute, RequestTimeouts: map[string]time.Duration{"/v1/chat/completions": 100 * time.Millisecond},
			Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
				yield(admitted, nil)
				select {
				case <-ctx.Done():
					cancelled <- struct{}{}
					yield(engine.Event{}, ctx.Err())
				case <-time.After(time.Second): // a stream outlives the limit
					_ = yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
				}
			}),
		})
		r := post(t, s, "/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`)
		msg := wantFailure(t, r, 504, "request_timeout", "")
		if !strings.Contains(msg, `request_timeout_overrides["/v1/chat/completions"] (100ms)`) {
			t.Errorf("message %q", msg)
		}
		if r.Header.Get("x-should-retry") != "false" {
			t.Error("x-should-retry is not false")
		}
		select {
		case <-cancelled:
		default:
			t.Error("the work was not cancelled")
		}
		got := lines(t, post(t, s, "/v1/chat/completions", streamBody).Body)
		if got[len(got)-1] != "data: [DONE]" {
			t.Errorf("the stream was cut: %q", got)
		}
	})
}

func TestLoadTimeIsNotRequestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{load: func(ctx context.Context, _ string) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(600 * time.Millisecond):
				return nil
			}
		}}
		s := newBubble(t, httpapi.Options{Engine: slow, RequestTimeout: 500 * time.Millisecond})
		if r := post(t, s, "/v1/completions", `{"prompt":"a"}`); r.StatusCode != 200 {
			t.Errorf("status %d", r.StatusCode)
		}
		never := &fake{load: func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s = newBubble(t, httpapi.Options{Engine: never, LoadTimeout: 20 * time.Millisecond})
		if msg := wantFailure(t, post(t, s, "/v1/completions", `{"prompt":"a","stream":true}`), 504, "load_timeout", ""); !strings.Contains(msg, "load_timeout (20ms)") {
			t.Errorf("message %q", msg)
		}
	})
}

// TestTryAgain: both headers of a 503 say the same, and only where trying again can
// help.
func TestTryAgain(t *testing.T) {
	for _, tt := range []struct {
		name         string
		err          *engine.Error
		again, after string
	}{
		{"queue full", &engine.Error{Code: engine.CodeQueueFull, RetryAfter: 2500 * time.Millisecond}, "true", "3"},
		{"loading", &engine.Error{Code: engine.CodeModelLoading}, "true", "1"},
		{"memory in use", &engine.Error{Code: engine.CodeOutOfMemory, RetryAfter: 5 * time.Second}, "true", "5"},
		{"too large", &engine.Error{Code: engine.CodeOutOfMemory}, "false", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, httpapi.Options{Engine: &fake{load: func(context.Context, string) error { return tt.err }}})
			for _, path := range []string{"/v1/chat/completions", "/v1/text-to-speech/af_bella"} {
				r := post(t, s, path, `{"messages":[{"role":"user","content":"Hi"}],"text":"Hi"}`)
				if r.StatusCode != 503 || r.Header.Get("x-should-retry") != tt.again || r.Header.Get("Retry-After") != tt.after {
					t.Errorf("%s: status %d, x-should-retry %q, Retry-After %q; want 503, %q, %q", path,
						r.StatusCode, r.Header.Get("x-should-retry"), r.Header.Get("Retry-After"), tt.again, tt.after)
				}
			}
		})
	}
}

func TestPanicInEngine(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		s := newServer(t, httpapi.Options{Engine: scripted(func(context.Context, func(engine.Event, error) bool) { panic("boom") })})
		msg := wantFailure(t, post(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"stream":`+stream+`}`), 500, "internal_error", "")
		if strings.Contains(msg, "boom") {
			t.Errorf("message tells the cause: %q", msg)
		}
	}
}

func TestEndWithoutDone(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) { yield(admitted, nil) })})
	wantFailure(t, post(t, s, "/v1/chat/completions", streamBody), 500, "engine_failure", "")
}

// logged keeps what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(httpapi.LogHandler(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// eventually waits for a condition other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.Until(t, what, ok)
}

// TestClientLeaves: in every dialect the work of a client that left ends, streamed or not, and is no
// error.
func TestClientLeaves(t *testing.T) {
	for _, tt := range []struct{ path, body string }{
		{"/v1/chat/completions", `{` + userX + `,`},
		{"/v1/completions", `{"prompt":"x",`},
		{"/v1/responses", `{"input":"x",`},
		{"/v1/messages", `{"model":"stub-chat","max_tokens":9,` + userX + `,`},
		{"/api/chat", `{"model":"stub-chat",` + userX + `,`},
		{"/api/generate", `{"model":"stub-chat","prompt":"x",`},
		{"/completion", `{"prompt":"x",`},
	} {
		for _, stream := range []string{"true", "false"} {
			t.Run(tt.path[1:]+", stream="+stream, func(t *testing.T) {
				var log logged
				ended := make(chan struct{})
				running := make(chan struct{})
				s := newServer(t, httpapi.Options{Log: log.logger(), Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
					_ = yield(admitted, nil) && yield(delta("a"), nil)
					close(running)
					<-ctx.Done()
					close(ended)
					yield(engine.Event{}, ctx.Err())
				})})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+tt.path, strings.NewReader(tt.body+`"stream":`+stream+`}`))
				go func() {
					<-running
					cancel()
				}()
				if r, err := s.Client().Do(req); err == nil {
					b, _ := io.ReadAll(r.Body)
					r.Body.Close()
					if r.StatusCode != 200 {
						t.Fatalf("%d %s", r.StatusCode, b)
					}
				}
				<-ended
				eventually(t, "status 499 in the log", func() bool { return strings.Contains(log.String(), "status=499") })
				if strings.Contains(log.String(), "level=ERROR") {
					t.Errorf("logged as an error: %s", log.String())
				}
			})
		}
	}
}

// dial sends a raw request and returns the connection.
func dial(t *testing.T, url, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.(*net.TCPConn).SetReadBuffer(socketBuffer)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

func rawPost(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func TestReaderThatStalls(t *testing.T) {
	t.Parallel() // it waits
	var log logged
	ended := make(chan struct{})
	s := newServer(t, httpapi.Options{Log: log.logger(), StreamWrite: 100 * time.Millisecond, Engine: scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		defer close(ended)
		yield(admitted, nil)
		for ev := (engine.Event{Type: engine.Delta, Text: strings.Repeat("x", 1<<16), OutputTokens: 5}); ; {
			if !yield(ev, nil) {
				return
			}
		}
	})})
	dial(t, s.URL, rawPost("/v1/chat/completions", streamBody)) // never reads
	<-ended
	eventually(t, "status 499 in the log", func() bool { return strings.Contains(log.String(), "status=499") })
	if want := "prompt_tokens=3 output_tokens=5"; !strings.Contains(log.String(), want) {
		t.Errorf("logged without %s: %s", want, log.String())
	}
}

// A client that does not read holds the engine, and nothing piles up here.
func TestSlowReaderHoldsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deltas = 200
		var made atomic.Int32
		s := newBubble(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			yield(admitted, nil)
			for range deltas {
				made.Add(1)
				if !yield(delta(strings.Repeat("x", socketBuffer)), nil) {
					return
				}
			}
			_ = yield(finish, nil) && yield(done, nil)
		})})
		c := dialBubble(t, s, rawPost("/v1/chat/completions", streamBody))
		synctest.Wait()
		if n := made.Load(); n == 0 || n > 8 {
			t.Errorf("the engine made %d deltas for a client that took none", n)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if texts := contents(t, lines(t, r.Body)); len(texts) != deltas {
			t.Errorf("%d events of %d deltas", len(texts), deltas)
		}
	})
}

func TestOneEventPerTokenForFastReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			yield(admitted, nil)
			for i := range 50 {
				yield(delta(fmt.Sprintf("%d ", i)), nil)
				time.Sleep(100 * time.Microsecond)
			}
			_ = yield(finish, nil) && yield(done, nil)
		})})
		if texts := contents(t, lines(t, post(t, s, "/v1/chat/completions", streamBody).Body)); len(texts) != 50 {
			t.Errorf("%d events for 50 tokens", len(texts))
		}
	})
}

func TestManyPromptsRunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		f := &fake{}
		f.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			defer func() { mu.Lock(); now--; mu.Unlock() }()
			time.Sleep(5 * time.Millisecond)
			_ = yield(admitted, nil) && yield(delta(r.Prompt.Text), nil) && yield(finish, nil) && yield(done, nil)
		}
		s := newBubble(t, httpapi.Options{Engine: f})
		var prompts []string
		for i := range 40 {
			prompts = append(prompts, fmt.Sprint(i))
		}
		body, _ := json.Marshal(map[string]any{"prompt": prompts})
		var out struct {
			Choices []struct {
				Text  string
				Index int
			}
			Usage struct{ Total_tokens int }
		}
		if err := json.NewDecoder(post(t, s, "/v1/completions", string(body)).Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		for i, c := range out.Choices {
			if c.Index != i || c.Text != prompts[i] {
				t.Errorf("choice %d is %+v", i, c)
			}
		}
		if len(out.Choices) != 40 || out.Usage.Total_tokens != 40*5 {
			t.Errorf("%d choices, usage %+v", len(out.Choices), out.Usage)
		}
		if most < 2 || most > 16 {
			t.Errorf("%d prompts at a time", most)
		}
	})
}

func TestOnePromptFails(t *testing.T) {
	f := &fake{}
	f.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		if r.Prompt.Text == "bad" {
			yield(engine.Event{}, &engine.Error{Code: engine.CodeContextLength, Param: "prompt", Message: "too long"})
			return
		}
		yield(admitted, nil)
		<-ctx.Done()
		yield(engine.Event{}, ctx.Err())
	}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, stream := range []string{"true", "false"} {
		wantFailure(t, post(t, s, "/v1/completions", `{"prompt":["a","b","bad"],"stream":`+stream+`}`), 400, "context_length_exceeded", "prompt")
	}
}
