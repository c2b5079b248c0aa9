package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/engine/lm"
	"quern/engine/local"
	"quern/httpapi"
)

// A picker sees the load of a server with several models, whichever has it, and reads every
// scrape without an error: before the first load, while models are loaded, under load and
// when all are unloaded again.
func TestPicker(t *testing.T) {
	p, err := Open("../../deploy/gateway/endpoint-picker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(engine.Options{
		Models: []engine.ModelOptions{
			{Name: "a-chat", Path: lm.BuiltinPath}, {Name: "m-chat", Path: lm.BuiltinPath, Preload: new(true), Slots: 8, Queue: 64},
			{Name: "z-chat", Path: lm.BuiltinPath},
		},
		Threads: 1, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	api, err := httpapi.New(httpapi.Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api)
	defer s.Close()

	scrapes := 0
	read := func() Signals {
		t.Helper()
		res, err := http.Get(s.URL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := p.Read(t.Context(), res.Body)
		if scrapes++; err != nil {
			t.Errorf("scrape %d: %v", scrapes, err)
		}
		return got
	}
	stats := func() Signals {
		s := e.Stats()
		c, _ := s.Cache()
		return Signals{s.Waiting(), s.Running(), s.KVUsage(), c.BlockSize, c.Blocks}
	}
	if got := read(); got != stats() || got.BlockSize == 0 || got.Blocks == 0 || got.Waiting+got.Running > 0 {
		t.Errorf("nothing loaded: %+v, want %+v", got, stats())
	}
	if err := e.Preload(t.Context()); err != nil {
		t.Fatal(err)
	}
	planned := read()
	if planned != stats() {
		t.Errorf("loaded: %+v, want %+v", planned, stats())
	}

	const streams = 30
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			body := `{"model": "m-chat", "prompt": "Once upon a time", "stream": true, "ignore_eos": true, "max_tokens": 1500}`
			res, err := http.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("%s, %v", res.Status, err)
			}
		})
	}
	// The server works meanwhile: a scrape counts when nothing has changed around it.
	poll.Until(t, "the load is seen", func() bool {
		before := stats()
		got := read()
		return got == before && before == stats() && got.Waiting > 0 && got.Running == 8 && got.KVUsage > 0 && got.Blocks == planned.Blocks
	})
	all.Wait()
	for _, m := range []string{"m-chat", "a-chat"} {
		loaded, err := e.Find(m)
		if err == nil {
			err = loaded.Unload()
		}
		if err != nil {
			t.Error(err)
		}
		if got := read(); got != stats() || got.Blocks != planned.Blocks {
			t.Errorf("%s unloaded: %+v, want %+v", m, got, stats())
		}
	}
	t.Logf("%d scrapes", scrapes)
}
