package local

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"quern/bench/poll"
	"quern/engine"
	"quern/engine/residency"
)

func TestKeepAliveAndEviction(t *testing.T) {
	e := open(t, engine.Options{Models: []engine.ModelOptions{
		{Name: "short", Path: small, CacheBytes: 32 << 20, KeepAlive: 20 * time.Millisecond},
		{Name: "kept", Path: small, CacheBytes: 32 << 20, KeepAlive: -1},
	}})
	status := func(id string) string {
		m, err := e.described(id)
		if err != nil {
			t.Fatal(err)
		}
		return m.Status
	}
	for _, id := range []string{"short", "kept"} {
		if err := e.Load(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, "short is unloaded", func() bool { return status("short") == "unloaded" })
	if got := status("kept"); got != "loaded" {
		t.Errorf("kept is %s", got)
	}
	// A request's own keep_alive wins; 0 is at once.
	if _, err := gather(t.Context(), e, "kept", engine.GenerateRequest{Prompt: engine.Prompt{Text: "x"}, MaxTokens: 1, KeepAlive: new(time.Duration)}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "kept is unloaded", func() bool { return status("kept") == "unloaded" })
	// Which holds for that model in memory, not for the next.
	if err := e.Load(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if m, err := e.described("kept"); err != nil || m.Status != "loaded" || !m.Expires.IsZero() {
		t.Errorf("loaded again, kept is %s and expires at %v, %v", m.Status, m.Expires, err)
	}
}

// TestOneAtATime: with memory for one model, loading the other evicts it, unless it is in
// use.
func TestOneAtATime(t *testing.T) {
	e := open(t, engine.Options{MemoryLimit: 48 << 20, MemoryWait: time.Millisecond, KeepAlive: -1, Models: []engine.ModelOptions{
		{Name: "short", Path: small, CacheBytes: 32 << 20}, {Name: "kept", Path: small, CacheBytes: 32 << 20},
	}})
	if err := e.Load(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	// A busy machine may take longer than MemoryWait to free the other.
	poll.Until(t, "short is loaded", func() bool { return e.Load(t.Context(), "short") == nil })
	if m, err := e.described("kept"); err != nil || m.Status != "unloaded" {
		t.Errorf("kept is %s after the other took its place, %v", m.Status, err)
	}
	_, release, err := leased[residency.Model](t.Context(), e, "short")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var known *engine.Error
	if err := e.Load(t.Context(), "kept"); !errors.As(err, &known) || known.Code != engine.CodeOutOfMemory {
		t.Errorf("loading beside a busy model: %v", err)
	}
	if err := e.Unload("short"); !errors.As(err, &known) || known.Param != "model" {
		t.Errorf("unloading a busy model: %v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	e, err := New(engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small}}, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	ended := make(chan error)
	go func() {
		for ev, err := range e.Generate(context.Background(), "small", engine.GenerateRequest{Prompt: engine.Prompt{Text: "go on"}, IgnoreEOS: true}) {
			if err != nil {
				ended <- err
				return
			}
			if ev.Type == engine.PromptDone {
				close(started)
			}
		}
		ended <- nil
	}()
	<-started
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var known *engine.Error
	if err := <-ended; err != nil && (!errors.As(err, &known) || known.Code != engine.CodeShuttingDown) {
		t.Errorf("the reply ended with %v", err)
	}
	if err := e.Load(context.Background(), "small"); !errors.As(err, &known) || known.Code != engine.CodeShuttingDown {
		t.Errorf("loading after Close: %v", err)
	}
	poll.Goroutines(t, before)
}
