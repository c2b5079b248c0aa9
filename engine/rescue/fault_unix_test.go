//go:build linux || darwin

package rescue_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"quern/engine/rescue"
)

// TestFault: what lies behind the end of a mapped file fails the work that reads it, in goroutines
// of Spread too, and the error says so without a stack.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	sum, seen := 0, make([]byte, 2)
	read := func() error {
		for _, b := range data {
			sum += int(b)
		}
		return nil
	}
	if err := rescue.Do(read); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"Do": read,
		"Spread": func() error {
			rescue.Spread(2, func(i int) { seen[i] = data[i<<15] })
			return nil
		},
	} {
		if err := rescue.Do(do); !errors.Is(err, rescue.ErrFault) || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
