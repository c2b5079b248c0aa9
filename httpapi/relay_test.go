package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/engine/tts"
	"quern/httpapi"
)

// A slow engine is late with its speech and its segments, and fails if fail says so.
type slow struct {
	*fake
	wait time.Duration
	fail error
	n    int // pieces, each after wait
}

func (s slow) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return s.lend(ctx, s, name, kinds)
}

func (s slow) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		for i := range s.n {
			if err := s.sleep(ctx); err != nil {
				yield(engine.Segment{}, err)
				return
			}
			if !yield(engine.Segment{ID: i, Text: fmt.Sprintf(" word%d", i)}, nil) {
				return
			}
		}
	}
}

func (s slow) Speak(ctx context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		for range s.n {
			if err := s.sleep(ctx); err != nil {
				yield(engine.Speech{}, err)
				return
			}
			if !yield(engine.Speech{Chunk: tts.Chunk{Samples: make([]float32, fakeRate/2), Symbols: 3}, Rate: fakeRate}, nil) {
				return
			}
		}
	}
}

func (s slow) sleep(ctx context.Context) error {
	select {
	case <-time.After(s.wait):
		return s.fail
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A tape is a response that notes when something was written: "5s header",
// "5s : keep-alive".
type tape struct {
	*httptest.ResponseRecorder
	begin time.Time
	notes []string
}

func (t *tape) note(what string) {
	if what != "" {
		t.notes = append(t.notes, fmt.Sprintf("%v %s", time.Since(t.begin), what))
	}
}

func (t *tape) WriteHeader(status int) {
	t.note(fmt.Sprint("header ", status))
	t.ResponseRecorder.WriteHeader(status)
}

func (t *tape) Write(p []byte) (int, error) {
	what := strings.TrimSpace(string(p))
	switch {
	case string(p) == "\n":
		what = "line"
	case strings.HasPrefix(what, "data: "), strings.HasPrefix(what, "{"):
		what = "value"
	case len(p) > 0 && !strings.HasPrefix(what, ":"):
		what = "sound"
	}
	t.note(what)
	return t.ResponseRecorder.Write(p)
}

// onTape asks a server in a bubble of its own time.
func onTape(t *testing.T, a *httpapi.API, r *http.Request) *tape {
	t.Helper()
	w := &tape{ResponseRecorder: httptest.NewRecorder(), begin: time.Now()}
	func() {
		defer func() {
			if p := recover(); p != nil {
				w.note(fmt.Sprint("aborted: ", p))
			}
		}()
		a.ServeHTTP(w, r)
	}()
	return w
}

func jsonRequest(path, body string) *http.Request {
	return httptest.NewRequest("POST", path, strings.NewReader(body))
}

func formRequest(t *testing.T, path string, fields map[string]string) *http.Request {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for k, v := range fields {
		form.WriteField(k, v)
	}
	file, err := form.CreateFormFile("file", "a.wav")
	if err != nil {
		t.Fatal(err)
	}
	file.Write(tone(t))
	form.Close()
	r := httptest.NewRequest("POST", path, &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r
}

// streams are the requests whose answers come piece by piece.
var streams = []struct {
	name   string
	make   func(t *testing.T) *http.Request
	idle   string // what shows that the stream goes on
	events bool   // has room for an error
}{
	{"transcription", func(t *testing.T) *http.Request {
		return formRequest(t, "/v1/audio/transcriptions", map[string]string{"model": earModel, "stream": "true"})
	}, ": keep-alive", true},
	{"speech events", func(*testing.T) *http.Request {
		return jsonRequest("/v1/audio/speech", `{"input":"a.","voice":"af_bella","stream_format":"sse"}`)
	}, ": keep-alive", true},
	{"vendor events", func(*testing.T) *http.Request {
		return jsonRequest("/v1/text-to-speech/af_bella/stream/sse", `{"text":"a."}`)
	}, ": keep-alive", true},
	{"vendor lines", func(*testing.T) *http.Request {
		return jsonRequest("/v1/text-to-speech/af_bella/stream/with-timestamps", `{"text":"a."}`)
	}, "line", false},
	{"vendor line events", func(*testing.T) *http.Request {
		r := jsonRequest("/v1/text-to-speech/af_bella/stream/with-timestamps", `{"text":"a."}`)
		r.Header.Set("Accept", "text/event-stream")
		return r
	}, ": keep-alive", true},
	{"sound", func(*testing.T) *http.Request {
		return jsonRequest("/v1/audio/speech", `{"input":"a.","voice":"af_bella","response_format":"pcm"}`)
	}, "", false},
}

// A stream of any kind opens after header_delay, is kept open, and goes on.
func TestEveryStreamIsKeptOpen(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, httpapi.Options{Engine: slow{fake: &fake{}, wait: 40 * time.Second, n: 2}})
				w := onTape(t, a, tt.make(t))
				want := []string{"5s header 200"}
				if tt.idle != "" {
					want = append(want, "5s "+tt.idle, "20s "+tt.idle, "35s "+tt.idle)
				}
				got := w.notes[:min(len(w.notes), len(want))]
				if !slices.Equal(got, want) {
					t.Fatalf("got %q, want %q", w.notes, want)
				}
				rest := strings.Join(w.notes[len(want):], "\n")
				if !strings.HasPrefix(rest, "40s ") || !strings.Contains(rest, "\n1m20s ") || strings.Contains(rest, "aborted") {
					t.Errorf("then %q", rest)
				}
				if tt.idle != "" && !strings.Contains(rest, "55s "+tt.idle) {
					t.Errorf("not kept open between values: %q", rest)
				}
			})
		})
	}
}

// What fails before the header has a status; later a stream says so if it can, and
// is cut off if it cannot.
func TestEveryStreamFailsHonestly(t *testing.T) {
	full := &engine.Error{Code: engine.CodeQueueFull, Message: "full", RetryAfter: 2 * time.Second}
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, httpapi.Options{Engine: slow{fake: &fake{}, wait: 4 * time.Second, n: 1, fail: full}})
				w := onTape(t, a, tt.make(t))
				if w.Code != 503 || w.Header().Get("Retry-After") != "2" || w.notes[0] != "4s header 503" {
					t.Errorf("early: %d %v %q", w.Code, w.Header(), w.notes)
				}
				a = newAPI(t, httpapi.Options{Engine: slow{fake: &fake{}, wait: 6 * time.Second, n: 1, fail: full}})
				w = onTape(t, a, tt.make(t))
				last := w.notes[len(w.notes)-1]
				switch {
				case w.notes[0] != "5s header 200":
					t.Errorf("late: %q", w.notes)
				case tt.events && (last != "6s value" || !strings.Contains(w.Body.String(), `"queue_full"`)):
					t.Errorf("late: %q %s", w.notes, w.Body)
				case !tt.events && last != "6s aborted: "+http.ErrAbortHandler.Error():
					t.Errorf("late: %q", w.notes)
				}
			})
		})
	}
}

func TestEveryStreamStalls(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The first piece comes after 4 s, the second would after 8.
				a := newAPI(t, httpapi.Options{Stall: 3 * time.Second, Engine: slow{fake: &fake{}, wait: 4 * time.Second, n: 2}})
				w := onTape(t, a, tt.make(t))
				if last := w.notes[len(w.notes)-1]; !strings.HasPrefix(last, "7s ") || tt.events && !strings.Contains(w.Body.String(), "stall_timeout (3s)") {
					t.Errorf("got %q %s", w.notes, w.Body)
				}
			})
		})
	}
}

// A client that leaves ends the work of any stream before the handler returns.
func TestEveryStreamEndsWithItsClient(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, httpapi.Options{Engine: slow{fake: &fake{}, wait: time.Hour, n: 1}})
				ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
				defer cancel()
				w := onTape(t, a, tt.make(t).WithContext(ctx))
				if last := w.notes[len(w.notes)-1]; last != "7s aborted: "+http.ErrAbortHandler.Error() {
					t.Errorf("got %q", w.notes)
				}
				// The bubble fails the test if the work goes on.
			})
		})
	}
}

// The header is due by the first prompt that was admitted, however many follow.
func TestHeaderDelayRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
			if r.Prompt.Text == "late" {
				time.Sleep(4 * time.Second)
			}
			if yield(admitted, nil) {
				time.Sleep(20 * time.Second)
				_ = yield(delta("a"), nil) && yield(finish, nil) && yield(done, nil)
			}
		}
		a := newAPI(t, httpapi.Options{Engine: f})
		w := onTape(t, a, jsonRequest("/v1/completions", `{"prompt":["soon","late"],"stream":true}`))
		if w.notes[0] != "5s header 200" {
			t.Errorf("got %q", w.notes)
		}
	})
}

type panicky struct{ *fake }

func (p panicky) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return p.lend(ctx, p, name, kinds)
}

func (panicky) Speak(context.Context, engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(func(engine.Speech, error) bool) { panic("boom") }
}

func TestPanicInStreamedSpeech(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: panicky{&fake{}}})
	r := post(t, s, "/v1/audio/speech", `{"input":"a.","voice":"af_bella","stream_format":"sse"}`)
	if msg := wantFailure(t, r, 500, "internal_error", ""); strings.Contains(msg, "boom") {
		t.Errorf("message tells the cause: %q", msg)
	}
	io.Copy(io.Discard, r.Body)
}
