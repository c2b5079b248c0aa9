//go:build unix

package formats_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"quern/formats"
)

// TestPipe: a pipe is refused, and not waited for.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "m.gguf")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if set, err := formats.Open(pipe); err == nil {
		set.Close()
		t.Error("a pipe is taken for a model")
	}
}
