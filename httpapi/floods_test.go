package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/httpapi"
)

// records keeps what is logged, record by record.
type records struct {
	mu   sync.Mutex
	list []slog.Record
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }

func (r *records) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, rec)
	return nil
}

// all returns what was logged so far.
func (r *records) all() []slog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// attr returns an attribute of a record as text.
func attr(r slog.Record, name string) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == name {
			text = a.Value.String()
		}
		return true
	})
	return text
}

// failing is an engine whose generations end with an error.
func failing(err error) *fake {
	return scripted(func(_ context.Context, yield func(engine.Event, error) bool) { yield(engine.Event{}, err) })
}

const plainChat = `{"messages":[{"role":"user","content":"x"}]}`

func TestLogLevels(t *testing.T) {
	full := &engine.Error{Code: engine.CodeQueueFull, Message: "full", Err: errors.New("64 wait")}
	for _, tt := range []struct {
		name   string
		engine *fake
		body   string
		late   bool // the header is sent before
		level  slog.Level
		code   string
	}{
		{"answered", &fake{}, plainChat, false, slog.LevelInfo, ""},
		{"bad body", &fake{}, `{`, false, slog.LevelInfo, "invalid_json"},
		{"unknown model", &fake{}, `{"model":"none","messages":[{"role":"user","content":"x"}]}`, false, slog.LevelInfo, "model_not_found"},
		{"bad template", failing(&engine.Error{Code: engine.CodeTemplate, Message: "no", Err: errors.New("cause")}), plainChat, false, slog.LevelInfo, "template_error"},
		{"queue full", failing(full), plainChat, false, slog.LevelWarn, "queue_full"},
		{"no memory", failing(&engine.Error{Code: engine.CodeOutOfMemory, Message: "no room", Err: errors.New("cause")}), plainChat, false, slog.LevelWarn, "out_of_memory"},
		{"load timeout", failing(&engine.Error{Code: engine.CodeLoadTimeout, Message: "slow"}), plainChat, false, slog.LevelWarn, "load_timeout"},
		{"engine failure", failing(&engine.Error{Code: engine.CodeEngineFailure, Message: "broken"}), plainChat, false, slog.LevelError, "engine_failure"},
		{"unknown failure", failing(errors.New("disk")), plainChat, false, slog.LevelError, "internal_error"},
		{"stream, queue full", failing(full), streamBody, true, slog.LevelWarn, "queue_full"},
		{"stream, engine failure", failing(&engine.Error{Code: engine.CodeEngineFailure, Message: "broken"}), streamBody, true, slog.LevelError, "engine_failure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.late {
				fail := tt.engine.generate
				tt.engine.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
					_ = yield(admitted, nil) && yield(delta("a"), nil)
					fail(ctx, r, yield)
				}
			}
			log := &records{}
			a := newAPI(t, httpapi.Options{Engine: tt.engine, Log: slog.New(log)})
			onTape(t, a, jsonRequest("/v1/chat/completions", tt.body))
			if len(log.all()) != 1 {
				t.Fatalf("%d records", len(log.all()))
			}
			if r := log.all()[0]; r.Level != tt.level || attr(r, "code") != tt.code {
				t.Errorf("got %v %q, want %v %q", r.Level, attr(r, "code"), tt.level, tt.code)
			}
		})
	}
}

// Requests that fail alike are counted after the first ten. Faults of the server
// are all logged.
func TestFloodsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &records{}
		var err error
		a := newAPI(t, httpapi.Options{Log: slog.New(log), Engine: scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			yield(engine.Event{}, err)
		})})
		ask := func(n int, body string) {
			for range n {
				onTape(t, a, jsonRequest("/v1/chat/completions", body))
			}
		}
		err = &engine.Error{Code: engine.CodeQueueFull, Message: "full"}
		ask(100, plainChat)
		ask(30, `{`)
		ask(5, `{}`)
		err = errors.New("disk")
		ask(50, plainChat)
		count := func() map[string]int {
			out := map[string]int{}
			for _, r := range log.all() {
				out[fmt.Sprint(r.Level, " ", attr(r, "code"), " ", attr(r, "more"))]++
			}
			return out
		}
		want := map[string]int{"WARN queue_full ": 10, "INFO invalid_json ": 10, "INFO missing_required_parameter ": 5, "ERROR internal_error ": 50}
		if got := count(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want["WARN queue_full 90"], want["INFO invalid_json 20"] = 1, 1
		if got := count(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after a minute: got %v, want %v", got, want)
		}
		// The count has begun anew.
		err = &engine.Error{Code: engine.CodeQueueFull, Message: "full"}
		ask(11, plainChat)
		want["WARN queue_full "] = 20
		if got := count(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("later: got %v, want %v", got, want)
		}
		time.Sleep(time.Minute)
	})
}

// Counts are logged when the server ends.
func TestFloodsAreToldAtTheEnd(t *testing.T) {
	log := &records{}
	url, stop, result := serve(t, httpapi.Options{Log: slog.New(log)})
	for range 13 {
		send(t, url+"/v1/chat/completions", `{`).Body.Close()
	}
	stop()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, r := range log.all() {
		if attr(r, "more") == "3" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times of 3 more", told)
	}
}
