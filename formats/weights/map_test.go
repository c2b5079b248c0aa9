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

// What is forgotten is read from the file again, and what is not of the file is left alone.
func TestForget(t *testing.T) {
	const n = 1 << 20
	want := make([]byte, n)
	for i := range want {
		want[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := weights.MapFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := &weights.Set{}
	set.Keep(m)
	own := bytes.Clone(want)
	data := m.Bytes()
	for _, part := range [][]byte{data, data[5:], data[:5], data[5000 : n-5000], data[n-1:], nil, own, own[4096:]} {
		set.Forget(part)
		if !bytes.Equal(data, want) || !bytes.Equal(own, want) {
			t.Fatalf("bytes changed after %d of them were forgotten", len(part))
		}
	}
	if err := set.Close(); err != nil {
		t.Fatal(err)
	}
	m.Forget(own) // a closed mapping has nothing to give back
}
