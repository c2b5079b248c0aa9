package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"quern/bench/internal/must"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// checkAll runs graphs of every family here, with and without fusion, and in the
// peer, and compares. A graph the peer refuses counts for nothing, but all of a
// family may not be.
func checkAll(p *node, each int, seed uint64, only *regexp.Regexp, golden string) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "bench-onnx"))
	defer os.RemoveAll(dir)
	pool := threads.NewPool(2)
	defer pool.Close()
	var bad error
	for _, f := range families {
		if !only.MatchString(f.name) {
			continue
		}
		same, refused := 0, 0
		for i := range each {
			g := newGraph(&f, i, seed)
			name := fmt.Sprintf("%s/%d (%s)", f.name, i, g.ops())
			data := g.Bytes()
			path := filepath.Join(dir, "model.onnx")
			must.Do(os.WriteFile(path, data, 0o600))
			want, err := results(p, path, g.in)
			if err != nil {
				refused++
				fmt.Printf("%s: %v\n", name, err)
				continue
			}
			ok := true
			for _, plain := range []bool{false, true} {
				if err := g.compare(pool, data, want, plain); err != nil {
					ok = false
					bad = errors.Join(bad, fmt.Errorf("%s, plain %v: %w", name, plain, err))
				}
			}
			if ok {
				same++
			}
			if golden != "" && i < len(f.make) {
				must.Do(writeGolden(golden, fmt.Sprintf("%s%d", f.name, i), g, data, want))
			}
		}
		fmt.Printf("%-12s %d of %d graphs agree, %d refused by the peer\n", f.name, same, each, refused)
		if refused > each/2 {
			bad = errors.Join(bad, fmt.Errorf("%s: the peer refused %d of %d graphs", f.name, refused, each))
		}
	}
	return bad
}

// ops lists the operators of a graph.
func (g *graph) ops() string {
	var ops []string
	for _, n := range g.Model.Graph.Nodes {
		if n.Op != "Identity" && !slices.Contains(ops, n.Op) {
			ops = append(ops, n.Op)
		}
	}
	return fmt.Sprint(ops)
}

func results(p *node, path string, in map[string]*run.Tensor) (_ map[string]*run.Tensor, err error) {
	defer must.Catch(&err)
	must.Get(p.Ask(request{Load: path, Threads: 1}))
	return fromWire(must.Get(p.Ask(request{Inputs: toWire(in)})).Outputs)
}

func (g *graph) compare(pool *threads.Pool, data []byte, want map[string]*run.Tensor, plain bool) (err error) {
	defer must.Catch(&err)
	m := must.Get(onnx.Parse(data, nil))
	s := must.Get(run.New(m, run.Options{Pool: pool, NoFusion: plain}))
	got := must.Get(s.Run(context.Background(), g.in))
	for name, w := range want {
		if err := differ(got[name], w, g.loose, g.off); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// differ says where two tensors are further apart than allowed.
func differ(got, want *run.Tensor, loose float64, off int64) (err error) {
	defer must.Catch(&err)
	if got == nil || got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %v, want %v of shape %d", got, want.Type, want.Shape)
	}
	a := must.Get(got.Convert(onnx.Double))
	b := must.Get(want.Convert(onnx.Double))
	square := 0.0
	for _, v := range b.D {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			square += v * v
		}
	}
	mean := math.Sqrt(square / float64(max(1, len(b.D))))
	whole := len(got.F) == 0 && len(got.D) == 0
	for i, v := range b.D {
		d := math.Abs(a.D[i] - v)
		ok := d <= loose*(math.Abs(v)+mean) || a.D[i] == v || math.IsNaN(v) && math.IsNaN(a.D[i])
		if whole {
			ok = d <= float64(off)
		}
		if !ok {
			return fmt.Errorf("element %d of %d %v is %g, want %g", i, want.Shape, want.Type, a.D[i], v)
		}
	}
	return nil
}

// A golden is a graph with the peer's results, for tests without it.
type golden struct {
	Model   []byte                `json:"model"`
	Inputs  map[string]wireTensor `json:"inputs"`
	Outputs map[string]wireTensor `json:"outputs"`
	Loose   float64               `json:"loose"`
	Off     int64                 `json:"off"`
}

// writeGolden writes a graph and its results, unless they are large.
func writeGolden(dir, name string, g *graph, data []byte, want map[string]*run.Tensor) error {
	b, err := json.Marshal(golden{data, toWire(g.in), toWire(want), g.loose, g.off})
	if err != nil {
		return err
	}
	const most = 24 << 10
	if len(b) > most {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, name+".json"), b, 0o644)
}
