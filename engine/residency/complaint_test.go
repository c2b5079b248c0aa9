package residency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"quern/engine"
	"quern/engine/catalog"
)

// A model there is no room for is a matter of configuration, one that is broken an
// error.
func TestLoadsThatFailAreLoggedByKind(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want slog.Level
	}{
		{engine.Errorf(engine.CodeOutOfMemory, "", "no room"), slog.LevelWarn},
		{fmt.Errorf("loading: %w", engine.Errorf(engine.CodeOutOfMemory, "", "no room")), slog.LevelWarn},
		{engine.ErrShuttingDown(), slog.LevelWarn},
		{errors.New("disk"), slog.LevelError},
		{engine.Errorf(engine.CodeEngineFailure, "", "broken"), slog.LevelError},
	} {
		if got := loadLevel(loadError(&catalog.Entry{ID: "m"}, tt.err)); got != tt.want {
			t.Errorf("%v is logged at %v, want %v", tt.err, got, tt.want)
		}
	}
}

// A model that does not fit is complained about once, however many ask for it, and
// again when the reason changes.
func TestComplaintsAreNotRepeated(t *testing.T) {
	var list []slog.Record
	k := New(Options{Options: engine.Options{Log: slog.New(keep(func(r slog.Record) { list = append(list, r) }))}})
	n := &resident{Entry: &catalog.Entry{ID: "small"}}
	for _, err := range []error{engine.Errorf(engine.CodeOutOfMemory, "", "needs 2"), engine.Errorf(engine.CodeOutOfMemory, "", "needs 2"), engine.Errorf(engine.CodeOutOfMemory, "", "needs 2"),
		engine.Errorf(engine.CodeOutOfMemory, "", "needs 1"), errors.New("disk"), errors.New("disk")} {
		k.logFailedLoad(t.Context(), n, err, loadError(n.Entry, err))
	}
	var got []string
	for _, r := range list {
		if r.Message != "model not loaded" {
			continue
		}
		line := r.Level.String()
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" || a.Key == "more_before" {
				line += " " + a.Value.String()
			}
			return true
		})
		got = append(got, line)
	}
	want := []string{"WARN needs 2", "DEBUG needs 2", "DEBUG needs 2", "WARN needs 1 2", "ERROR disk", "ERROR disk"}
	if !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}

// keep is a handler that hands records on.
type keep func(slog.Record)

func (keep) Enabled(context.Context, slog.Level) bool { return true }
func (k keep) WithAttrs([]slog.Attr) slog.Handler     { return k }
func (k keep) WithGroup(string) slog.Handler          { return k }
func (k keep) Handle(_ context.Context, r slog.Record) error {
	k(r)
	return nil
}
