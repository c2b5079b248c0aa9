//go:build !unix && !windows

package weights_test

import (
	"os"
	"path/filepath"
	"testing"

	"quern/formats/weights"
)

// A file is described and then loaded: it is read once and is in memory once. One that has
// changed is read again.
func TestMapFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	read := func() []byte {
		m, err := weights.MapFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return m.Bytes()
	}
	if err := os.WriteFile(path, make([]byte, 9<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	first, second := read(), read()
	if &first[0] != &second[0] {
		t.Error("the file is in memory twice")
	}
	if err := os.WriteFile(path, []byte("other"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := string(read()); got != "other" {
		t.Errorf("the file has changed: read %q", got)
	}
	if len(first) != 9<<20 || len(second) != 9<<20 {
		t.Error("mappings changed their length")
	}
}
