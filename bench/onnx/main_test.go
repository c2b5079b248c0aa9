package main

import (
	"context"
	"fmt"
	"testing"

	"quern/bench/internal/stat"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// TestGraphs runs the graphs that -check compares with the peer with fusion and
// without.
func TestGraphs(t *testing.T) {
	pool := threads.NewPool(2)
	defer pool.Close()
	for _, f := range families {
		for i := range 20 {
			t.Run(fmt.Sprintf("%s/%d", f.name, i), func(t *testing.T) {
				g := newGraph(&f, i, 3)
				m, err := onnx.Parse(g.Bytes(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var out [2]map[string]*run.Tensor
				for j := range out {
					s, err := run.New(m, run.Options{Pool: pool, NoFusion: j == 1})
					if err != nil {
						t.Fatal(err)
					}
					if out[j], err = s.Run(context.Background(), g.in); err != nil {
						t.Fatal(err)
					}
				}
				for name, want := range out[1] {
					if err := differ(out[0][name], want, g.loose, g.off); err != nil {
						t.Errorf("%s %s: %v", g.ops(), name, err)
					}
				}
			})
		}
	}
}

// TestBERT runs a small encoder with fusion and without.
func TestBERT(t *testing.T) {
	pool := threads.NewPool(2)
	defer pool.Close()
	for _, of := range numbers {
		m, err := onnx.Parse(encoder(shape{"tiny", 2, 32, 4, 64}, of, 17, pool), nil)
		if err != nil {
			t.Fatal(err)
		}
		var out [2]*run.Tensor
		for j := range out {
			s, err := run.New(m, run.Options{Pool: pool, NoFusion: j == 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Run(context.Background(), bertInputs(3, 17))
			if err != nil {
				t.Fatal(err)
			}
			out[j] = got["last_hidden_state"]
		}
		// A value that is quantised to its neighbour moves what follows.
		limit := 1e-4
		if of == "f16" { // whose √2 is another
			limit = 2e-3
		}
		if of != "f32" && of != "f16" && of != "O2" { // activations are of bytes
			limit = 0.1
		}
		if d := stat.Furthest(out[0].F, out[1].F); !(d <= limit) {
			t.Errorf("%s: the furthest results are %g apart", of, d)
		}
	}
}
