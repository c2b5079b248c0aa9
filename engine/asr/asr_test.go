package asr

import (
	"archive/zip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/formats/safetensors"
	"quern/kernels/quant"
)

// shared is a file of the fixtures beside the repository, or where those are
// absent of testdata, which has the most important ones. Without either the test
// is skipped.
func shared(t testing.TB, path string) string {
	t.Helper()
	if p := filepath.Join("..", "..", "..", "shared", "fixtures", path); exists(p) {
		return p
	}
	if name, ok := strings.CutPrefix(path, "whisper/"); ok {
		if p := filepath.Join(packed(t), name); exists(p) {
			return p
		}
	}
	t.Skip("no fixtures beside the repository")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// packed unpacks testdata/golden.zip, which testdata/make.py makes.
func packed(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	z, err := zip.OpenReader(filepath.Join("testdata", "golden.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, path string, o OpenOptions) *Model {
	t.Helper()
	b := cpu.Open(2)
	m, err := Open(t.Context(), path, b, o)
	if err != nil {
		b.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		b.Close()
	})
	return m
}

// golden reads tensors as float32.
func golden(t testing.TB, path string) func(name string) []float32 {
	t.Helper()
	set, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return func(name string) []float32 {
		t.Helper()
		x, ok := set.Tensor(name)
		if !ok {
			t.Fatalf("no golden %q", name)
		}
		f := make([]float32, x.Elems())
		x.Type.Layout().Decode(f, x.Data)
		return f
	}
}

func goldenJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wave reads 16-bit mono samples of a WAV file with a plain header.
func wave(t testing.TB, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := 12
	for string(data[at:at+4]) != "data" {
		at += 8 + int(data[at+4]) + int(data[at+5])<<8
	}
	data = data[at+8:]
	x := make([]float32, len(data)/2)
	for i := range x {
		x[i] = float32(int16(uint16(data[2*i])|uint16(data[2*i+1])<<8)) / 32768
	}
	return x
}

// distance is the largest difference relative to the largest wanted value.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var d, top float64
	for i := range got {
		d = max(d, math.Abs(float64(got[i]-want[i])))
		if got[i] != got[i] {
			return math.NaN()
		}
		top = max(top, math.Abs(float64(want[i])))
	}
	return d / top
}

var exact = OpenOptions{Cache: quant.F32}
