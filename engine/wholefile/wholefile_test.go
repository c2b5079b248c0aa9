package wholefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put := func(text string, err error) func(*os.File) error {
		return func(f *os.File) error {
			_, bad := f.WriteString(text)
			return errors.Join(bad, err)
		}
	}
	holds := func(want string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil || string(b) != want {
			t.Errorf("%q, %v; want %q", b, err, want)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("left: %v, %v", list, err)
		}
	}
	if err := Write(path, put("one", nil)); err != nil {
		t.Fatal(err)
	}
	holds("one")
	broken := errors.New("broken")
	if err := Write(path, put("two", broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	holds("one") // what was there stays
	if err := Write(path, put("three", nil)); err != nil {
		t.Error(err)
	}
	holds("three")
	if err := Write(dir, put("", nil)); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("error %v", err)
	}
	missing := filepath.Join(dir, "none", "f")
	if err := Write(missing, put("", nil)); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), ".part") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		full := filepath.Join(t.TempDir(), "full")
		if err := os.Symlink("/dev/full", full); err != nil {
			t.Fatal(err)
		}
		if err := Write(full, put("text", nil)); err == nil || !strings.Contains(err.Error(), full+": no space left") {
			t.Errorf("error %v", err)
		}
	}
}

// TestLeftBehind: what a killed process of the same number left is not in the way, nor written to.
func TestLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	left := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, func(f *os.File) error { _, err := f.WriteString("whole"); return err }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "whole", left: "half"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 2 {
		t.Errorf("there are %v, %v", list, err)
	}
}
