//go:build unix

package catalog

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"quern/engine"
)

// TestScanPipes: pipes, and links to them and to nothing, are none of a folder's files.
func TestScanPipes(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		unix.Mkfifo(filepath.Join(dir, "pipe.gguf"), 0o600), unix.Mkfifo(filepath.Join(dir, "config.json"), 0o600),
		os.Symlink("pipe.gguf", filepath.Join(dir, "link.gguf")), os.Symlink("nothing", filepath.Join(dir, "nothing.gguf")),
		os.WriteFile(filepath.Join(dir, "real.gguf"), nil, 0o600), os.Symlink("real.gguf", filepath.Join(dir, "also.gguf")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(Options{Options: engine.Options{Models: []engine.ModelOptions{{Path: filepath.Join(dir, "pipe.gguf")}}, Log: slog.New(slog.DiscardHandler)}, Kinds: &counted{looks: map[string]int{}}}); err == nil {
		t.Error("a pipe that is named is taken for a model")
	}
	c, err := New(Options{Options: engine.Options{Dirs: []string{dir}, Log: slog.New(slog.DiscardHandler)}, Kinds: &counted{looks: map[string]int{}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(c); !slices.Equal(got, []string{"also", "real"}) {
		t.Errorf("models %q; want also and real", got)
	}
}
