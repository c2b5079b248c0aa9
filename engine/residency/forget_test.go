package residency

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
	"quern/engine/catalog"
)

// found are Kinds that take every file for a model.
type found struct{ placed }

func (found) IsFile(string) bool { return true }

// TestForgets: a file that is replaced again and again, which makes a new entry of it each
// time, leaves no places of the entries before behind.
func TestForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	replace := func(n int) {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace(1)
	synctest.Test(t, func(t *testing.T) {
		o := engine.Options{Dirs: []string{filepath.Dir(path)}, Log: slog.New(slog.DiscardHandler), MemoryLimit: 1, LoadTimeout: time.Hour, MemoryWait: time.Hour, KeepAlive: time.Second}
		c, err := catalog.New(catalog.Options{Options: o, Kinds: found{}})
		if err != nil {
			t.Fatal(err)
		}
		h := &testKeeper{t: t}
		k := New(Options{Options: o, Catalog: c,
			Open: func(context.Context, *catalog.Entry, *Load) (Model, error) { return &sizedModel{h: h}, nil }})
		defer k.Close()
		for i := range 10 {
			replace(2 + i)
			time.Sleep(time.Minute)
			c.Refresh()
			l, err := k.Acquire(t.Context(), c.Find("m"))
			if err != nil {
				t.Fatal(err)
			}
			l.Release()
		}
		if n := len(k.residents); n > 2 {
			t.Errorf("%d places for one model", n)
		}
	})
}
