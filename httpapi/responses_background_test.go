package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// A stepping engine says a word for each step it is given, and ends when there are no more.
// gone is told when a generation is over.
func stepping() (f *fake, steps chan string, gone chan error) {
	steps, gone = make(chan string), make(chan error, 8)
	f = scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		defer func() { gone <- ctx.Err() }()
		if !yield(admitted, nil) {
			return
		}
		for {
			select {
			case word, more := <-steps:
				if !more {
					_ = yield(finish, nil) && yield(done, nil)
					return
				}
				if !yield(delta(word), nil) {
					return
				}
			case <-ctx.Done():
				yield(engine.Event{}, ctx.Err())
				return
			}
		}
	})
	return f, steps, gone
}

// TestBackground: a response in the background is answered at once, goes on without its
// client, and is there when it is over.
func TestBackground(t *testing.T) {
	f, steps, gone := stepping()
	s := newServer(t, httpapi.Options{Engine: f})
	r := respond(t, s, `"input":"x","background":true,"top_p":0.5`)
	if r.Status != "queued" || len(r.Output) != 0 {
		t.Fatalf("%+v", r)
	}
	if r.Temperature != nil || r.TopP == nil || *r.TopP != 0.5 { // the model's own temperature is not known yet
		t.Errorf("temperature %v, top_p %v", r.Temperature, r.TopP)
	}
	path := "/v1/responses/" + r.ID
	steps <- "one "
	eventually(t, "it is at work", func() bool {
		return decoded[responseOf](t, ask(t, s, "GET", path, "")).Status == "in_progress"
	})
	wantFailure(t, ask(t, s, "POST", "/v1/responses", `{"input":"y","previous_response_id":"`+r.ID+`"}`), 400, "invalid_value", "previous_response_id")
	wantFailure(t, ask(t, s, "GET", path+"?stream=true", ""), 400, "invalid_value", "stream")
	steps <- "two"
	close(steps)
	<-gone
	eventually(t, "the response is over", func() bool {
		return decoded[responseOf](t, ask(t, s, "GET", path, "")).Status == "completed"
	})
	if now := decoded[responseOf](t, ask(t, s, "GET", path, "")); now.Output[0].Content[0].Text != "one two" || now.Temperature == nil || *now.TopP != 0.5 {
		t.Errorf("%+v", now)
	}
	if now := decoded[responseOf](t, ask(t, s, "POST", path+"/cancel", "")); now.Status != "completed" {
		t.Errorf("cancelled when it was over: %+v", now)
	}
}

// TestBackgroundStalls: one that makes no progress for stall_timeout fails, and stops.
func TestBackgroundStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, steps, gone := stepping()
		s := newBubble(t, httpapi.Options{Engine: f, Stall: time.Minute})
		r := respond(t, s, `"input":"x","background":true`)
		begin := time.Now()
		steps <- "one "
		if err := <-gone; !errors.Is(err, context.Canceled) || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		synctest.Wait()
		now := decoded[responseOf](t, ask(t, s, "GET", "/v1/responses/"+r.ID, ""))
		if now.Status != "failed" || now.Error == nil || !strings.Contains(now.Error.Message, "stall_timeout") {
			t.Errorf("%+v", now)
		}
	})
}

// TestBackgroundStreamedAgain: the events of a response in the background can be read from
// any number on, while it is made and later, by whom it was made for.
func TestBackgroundStreamedAgain(t *testing.T) {
	f, steps, gone := stepping()
	s := newServer(t, httpapi.Options{Engine: f})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/responses", strings.NewReader(`{"input":"x","background":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	steps <- "one "
	var head strings.Builder
	for !strings.Contains(head.String(), `"delta":"one "`) {
		b := make([]byte, 512)
		n, err := first.Body.Read(b)
		if err != nil {
			t.Fatal(head.String(), err)
		}
		head.Write(b[:n])
	}
	_, rest, _ := strings.Cut(head.String(), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	leave()
	io.Copy(io.Discard, first.Body)
	// HEAD waits for no event.
	if r := ask(t, s, "HEAD", "/v1/responses/"+id+"?stream=true", ""); r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d, %v", r.StatusCode, r.Header)
	}
	go func() {
		steps <- "two"
		close(steps)
	}()
	all := sentEvents(t, ask(t, s, "GET", "/v1/responses/"+id+"?stream=true", "").Body)
	if err := <-gone; err != nil {
		t.Errorf("its work ended with %v", err)
	}
	var names []string
	for i, e := range all {
		names = append(names, e.name)
		if e.data["sequence_number"] != float64(i) {
			t.Errorf("event %d is %v", i, e.data)
		}
	}
	const want = "response.created response.queued response.in_progress response.output_item.added response.content_part.added " +
		"response.output_text.delta response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.completed"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again := sentEvents(t, ask(t, s, "GET", "/v1/responses/"+id+"?stream=true&starting_after=4", "").Body)
	if jsonOf(again[0].data) != jsonOf(all[5].data) || len(again) != len(all)-5 {
		t.Errorf("from the sixth on there are %d events, the first %v", len(again), again[0].data)
	}
	if r := ask(t, s, "GET", "/v1/responses/"+id+"?stream=true&starting_after=99", ""); r.StatusCode != 200 {
		t.Errorf("from beyond the last: %d", r.StatusCode)
	} else if b, _ := io.ReadAll(r.Body); string(b) != "data: [DONE]\n\n" {
		t.Errorf("from beyond the last: %s", b)
	}
}

// TestBackgroundCancelled: cancelling and deleting stop the work.
func TestBackgroundCancelled(t *testing.T) {
	for _, tt := range []struct{ name, method, path string }{{"cancel", "POST", "/cancel"}, {"delete", "DELETE", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			f, steps, gone := stepping()
			s := newServer(t, httpapi.Options{Engine: f})
			r := respond(t, s, `"input":"x","background":true`)
			steps <- "one"
			path := "/v1/responses/" + r.ID
			b := ask(t, s, tt.method, path+tt.path, "")
			if err := <-gone; err == nil {
				t.Error("the work went on")
			}
			if tt.name == "delete" {
				wantFailure(t, ask(t, s, "GET", path, ""), 404, "not_found", "")
				return
			}
			if now := decoded[responseOf](t, b); now.Status != "cancelled" || now.Error != nil {
				t.Errorf("%+v", now)
			}
			if now := decoded[responseOf](t, ask(t, s, "POST", path+"/cancel", "")); now.Status != "cancelled" {
				t.Errorf("the second time %+v", now)
			}
		})
	}
}

// TestBackgroundFails: an error in the background is in the response when a client gets it.
func TestBackgroundFails(t *testing.T) {
	for _, tt := range []struct {
		name, more, code, message string
		err                       error
	}{
		{"the engine", "", "server_error", "broken", &engine.Error{Code: engine.CodeEngineFailure, Message: "broken"}},
		{"the request", `,"truncation":"disabled"`, "invalid_prompt", "too long", &engine.Error{Code: engine.CodeContextLength, Message: "too long"}},
		{"a panic", "", "server_error", "something went wrong inside the server; its log has the details", nil},
		{"the schema", `,"text":{"format":{"type":"json_schema","name":"n","schema":{"wrong":1}}}`, "invalid_prompt", "text.format.schema/wrong: not a keyword", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, httpapi.Options{Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
				if tt.err == nil {
					panic("no")
				}
				yield(engine.Event{}, tt.err)
			})})
			r := respond(t, s, `"input":"x","background":true`+tt.more)
			var now responseOf
			eventually(t, "it fails", func() bool {
				now = decoded[responseOf](t, ask(t, s, "GET", "/v1/responses/"+r.ID, ""))
				return now.Status == "failed"
			})
			if now.Error == nil || now.Error.Code != tt.code || now.Error.Message != tt.message {
				t.Errorf("%+v", now.Error)
			}
		})
	}
}

// TestBackgroundLimits: so many responses are made in the background, and no more is kept
// of one than there is room for.
func TestBackgroundLimits(t *testing.T) {
	f, steps, gone := stepping()
	s := newServer(t, httpapi.Options{Engine: f, Responses: httpapi.Responses{Background: 2, Bytes: 64 << 10}})
	first := respond(t, s, `"input":"x","background":true`)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/responses", strings.NewReader(`{"input":"y","background":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Body.Close()
	refused := ask(t, s, "POST", "/v1/responses", `{"input":"z","background":true}`)
	if m := wantFailure(t, refused, 503, "queue_full", ""); !strings.Contains(m, "responses.background") {
		t.Error(m)
	}
	eventually(t, "the first is at work", func() bool {
		return decoded[responseOf](t, ask(t, s, "GET", "/v1/responses/"+first.ID, "")).Status == "in_progress"
	})
	decoded[responseOf](t, ask(t, s, "POST", "/v1/responses/"+first.ID+"/cancel", ""))
	<-gone
	// The other's events fill the store.
	steps <- strings.Repeat("x", 128<<10)
	<-gone
	events := sentEventsOf(t, second.Body)
	if len(events) == 0 || strings.Contains(events[len(events)-1], "x") {
		t.Errorf("%d events", len(events))
	}
	if r := respond(t, s, `"input":"z","background":true`); r.Status != "queued" {
		t.Errorf("there is no room afterwards: %+v", r)
	} else {
		decoded[responseOf](t, ask(t, s, "POST", "/v1/responses/"+r.ID+"/cancel", ""))
	}
}

// sentEventsOf reads the names of events.
func sentEventsOf(t *testing.T, r io.Reader) (names []string) {
	t.Helper()
	for _, line := range lines(t, r) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, name)
		}
	}
	return names
}

// TestClientOfResponseLeaves: a client that leaves stops a response that is not in the background.
func TestClientOfResponseLeaves(t *testing.T) {
	for _, more := range []string{"", `,"stream":true`} {
		f, steps, gone := stepping()
		s := newServer(t, httpapi.Options{Engine: f})
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/responses", strings.NewReader(`{"input":"x"`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if r, err := s.Client().Do(req); err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
		steps <- "one"
		leave()
		if err := <-gone; err == nil {
			t.Errorf("the work of %q went on", more)
		}
	}
}

// TestShutdownEndsBackground: a shutdown gives responses in the background the time it
// gives requests, and cancels them then.
func TestShutdownEndsBackground(t *testing.T) {
	f, steps, gone := stepping()
	url, stop, result := serve(t, httpapi.Options{Engine: f, ShutdownGrace: time.Millisecond})
	r := send(t, url+"/v1/responses", `{"input":"x","background":true}`)
	decoded[responseOf](t, r)
	steps <- "one"
	stop()
	if err := <-gone; err == nil {
		t.Error("the work was not cancelled")
	}
	if err := waitFor(t, "Serve", result); err != nil {
		t.Errorf("Serve: %v", err)
	}
}
