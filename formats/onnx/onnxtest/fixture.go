package onnxtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Fixture returns the path of a file of the shared fixtures, which lie in some
// directory above this one, or skips the test.
func Fixture(t testing.TB, name ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(append([]string{dir, "shared", "fixtures"}, name...)...)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no shared/fixtures/%s", filepath.Join(name...))
		}
		dir = up
	}
}
