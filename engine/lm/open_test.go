package lm

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestSizeOfNothing: a file that is gone when it is asked for is an error.
func TestSizeOfNothing(t *testing.T) {
	if n, err := SizeOf(filepath.Join(t.TempDir(), "gone.bin")); n != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
