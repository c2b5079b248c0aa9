package local

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"quern/engine"
)

// A diary is a slog.Handler that keeps messages, each with the request of its
// context.
type diary struct {
	mu    sync.Mutex
	lines []string
}

type whoKey struct{}

func (d *diary) Enabled(context.Context, slog.Level) bool { return true }
func (d *diary) WithAttrs([]slog.Attr) slog.Handler       { return d }
func (d *diary) WithGroup(string) slog.Handler            { return d }

func (d *diary) Handle(ctx context.Context, r slog.Record) error {
	who, _ := ctx.Value(whoKey{}).(string)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, who+": "+r.Message)
	return nil
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// TestLogNamesRequests: a load is logged with the context of the request that began
// it, even when that has left; what no request asked for is logged with none.
func TestLogNamesRequests(t *testing.T) {
	d := new(diary)
	e := open(t, engine.Options{Models: []engine.ModelOptions{{Name: "small", Path: small}}, Log: slog.New(d),
		Defaults: map[engine.Kind]string{engine.KindSpeech: "none", engine.KindChat: "none", engine.KindCompletion: "small"}})
	if got, want := d.take(), []string{": default that cannot be used", ": default that cannot be used"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
	ask := func(who string) error {
		ctx := context.WithValue(t.Context(), whoKey{}, who)
		_, err := gather(ctx, e, "small", engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 2})
		return err
	}
	for _, who := range []string{"first", "second"} {
		if err := ask(who); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := d.take(), []string{"first: loading model", "first: model loaded"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
	if err := e.Unload("small"); err != nil {
		t.Fatal(err)
	}
	if got, want := d.take(), []string{": model unloaded"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}

	gone, leave := context.WithCancel(context.WithValue(t.Context(), whoKey{}, "third"))
	leave()
	if err := e.Load(gone, "small"); err == nil {
		t.Log("the load was faster than the end of the request's context")
	}
	if err := ask("fourth"); err != nil {
		t.Fatal(err)
	}
	if got, want := d.take(), []string{"third: loading model", "third: model loaded"}; !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
