package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/internal/peer"
	"quern/engine/builtin"
	"quern/formats/gguf"
)

func TestReadLoads(t *testing.T) {
	got, err := readLoads("1x16,32x128")
	if err != nil || !slices.Equal(got, []load{{1, 16}, {32, 128}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "1", "1x", "x16", "0x16", "1x2", "1x16,"} {
		if got, err := readLoads(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

func TestFurthest(t *testing.T) {
	for _, tt := range []struct {
		a, b [][]float32
		want float64
	}{
		{[][]float32{{1, 0}, {3, 4}}, [][]float32{{2, 0}, {3, 4}}, 1},
		{[][]float32{{1, 0}, {1, 0}}, [][]float32{{1, 0}, {0, 1}}, 0},
		{[][]float32{{1, 0}}, [][]float32{{-1, 0}}, -1},
	} {
		if got := furthest(tt.a, tt.b); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v and %v are %v apart, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	if got := furthest([][]float32{{1}}, nil); !math.IsNaN(got) {
		t.Errorf("vectors of one text and of none are %v apart", got)
	}
}

// A row says how long each took, and how far apart their vectors are: a peer that answers the
// same vector for every text is far from quern.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node")
	}
	dir := t.TempDir()
	file, script := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "peer.mjs")
	const text = `import { createInterface } from "node:readline"
for await (const line of createInterface({ input: process.stdin })) {
  const q = JSON.parse(line)
  console.log(JSON.stringify(q.load ? {} : { vectors: q.texts.map(() => [...Array(WIDTH).fill(0).keys()]), ms: 3000, cpu: 5000 }))
}`
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	width, _ := set.Meta.Int("llama.embedding_length")
	for path, data := range map[string][]byte{file: builtin.GGUF(), script: []byte(strings.Replace(text, "WIDTH", fmt.Sprint(width), 1))} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules", "node-llama-cpp"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := peer.Start[question, answer](script, dir, "node-llama-cpp")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	var out strings.Builder
	if err := compare(&out, p, file, options{loads: []load{{2, 4}}, threads: 1, runs: 1}); err != nil {
		t.Fatal(err)
	}
	cells := strings.Split(out.String(), "|")
	if len(cells) != 11 || !strings.Contains(cells[2], "2 × 4") || !strings.Contains(cells[4], "3000.0 (3000.0)") || !strings.Contains(cells[8], "5000.0") {
		t.Fatalf("%q of vectors of %d", out.String(), width)
	}
	if !strings.HasPrefix(strings.TrimSpace(cells[9]), "0.") && !strings.HasPrefix(strings.TrimSpace(cells[9]), "-0.") {
		t.Errorf("vectors that have nothing in common are %s apart", cells[9])
	}
}

// Queries are answered beside a request of many texts, and every number is one.
func TestBeside(t *testing.T) {
	of, n := bulk, together
	bulk, together = load{8, 8}, 2
	defer func() { bulk, together = of, n }()
	file := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(file, builtin.GGUF(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := beside(&out, options{files: []string{file}, threads: 1}); err != nil {
		t.Fatal(err)
	}
	var v [6]float64
	last := out.String()[strings.LastIndex(out.String(), "| m.gguf"):]
	if n, err := fmt.Sscanf(last, "| m.gguf | %f, %f | %f, %f | %f | %f |", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]); n != 6 || slices.Min(v[:]) <= 0 {
		t.Errorf("%q: %v", last, err)
	}
}
