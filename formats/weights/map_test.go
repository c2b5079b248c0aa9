package weights_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"quern/formats/weights"
)

func TestMapFile(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := weights.MapFile(path)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes: the mapping holds %d, or others", size, len(m.Bytes()))
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Errorf("%d bytes: Close: %v", size, err)
			}
		}
		if m.Bytes() != nil {
			t.Errorf("%d bytes: still there after Close", size)
		}
	}
}

func TestMapFileErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := weights.MapFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v, want it to say so", err)
	}
	if _, err := weights.MapFile(dir); err == nil {
		t.Error("a directory: no error")
	}
}
