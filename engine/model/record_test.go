package model_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// stacked is the model of a file with as many layers as real ones have: copies
// of its own. Only shapes are read.
func stacked(b *testing.B, file string, layers int) *weights.Set {
	b.Helper()
	set, err := gguf.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { set.Close() })
	tall := &weights.Set{Source: set.Source}
	has := 0
	for k, v := range set.Meta.All() {
		if strings.HasSuffix(k, ".block_count") {
			n, _ := set.Meta.Int(k)
			has, v = int(n), int64(layers)
		}
		tall.Meta.Set(k, v)
	}
	for w := range set.All() {
		var layer int
		if n, _ := fmt.Sscanf(w.Name, "blk.%d.", &layer); n == 0 {
			if err := tall.Add(w); err != nil {
				b.Fatal(err)
			}
			continue
		}
		for l := layer; l < layers; l += has {
			c := *w
			c.Name = strings.Replace(w.Name, fmt.Sprintf("blk.%d.", layer), fmt.Sprintf("blk.%d.", l), 1)
			if err := tall.Add(&c); err != nil {
				b.Fatal(err)
			}
		}
	}
	return tall
}

// BenchmarkRecord records and compiles the pass of every architecture at 32
// layers: what a load pays for the graph.
func BenchmarkRecord(b *testing.B) {
	files, err := filepath.Glob("testdata/*.gguf")
	if err != nil || len(files) == 0 {
		b.Fatal(len(files), err)
	}
	slices.Sort(files)
	for _, file := range files {
		b.Run(strings.TrimSuffix(filepath.Base(file), ".gguf"), func(b *testing.B) {
			m, err := model.Open(stacked(b, file, 32))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				g := graph.NewBuilder(512, 64)
				x := m.Hidden(g)
				if !m.Config().Encoder {
					x = m.Logits(g, x)
				}
				p, err := g.Compile(x)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(p.Steps)), "steps")
			}
		})
	}
}
