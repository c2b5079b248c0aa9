package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"quern/bench/internal/must"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// speedOf compares what conversions make of a model of float32 with the peer, on random floats.
func speedOf(p *node, file, sizes string, o speedOptions) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "bench-onnx"))
	defer os.RemoveAll(dir)
	pool := threads.NewPool(o.threads)
	defer pool.Close()
	data := must.Get(os.ReadFile(file))
	in := must.Get(randomInputs(data, sizes))
	fmt.Printf("%d threads, %s, %d runs; milliseconds, medians (best)\n\n", o.threads, sizes, o.runs)
	fmt.Println("| model | quern | onnxruntime | ratio | CPU quern | CPU onnxruntime | ratio | difference |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, of := range conversions {
		if !o.only.MatchString(of) {
			continue
		}
		m := converted(data, of, in, pool)
		path := filepath.Join(dir, "model.onnx")
		must.Do(os.WriteFile(path, m, 0o600))
		s := must.Get(run.New(must.Get(onnx.Parse(m, nil)), run.Options{Pool: pool}))
		must.Get(p.Ask(request{Load: path, Threads: o.threads}))
		must.Do(compareSpeed(p, s, strings.TrimSuffix(filepath.Base(file), ".onnx")+" "+of, in, o.runs))
	}
	return nil
}

// randomInputs returns normal numbers for the inputs of a model, and ones for its integers.
func randomInputs(data []byte, sizes string) (in map[string]*run.Tensor, err error) {
	defer must.Catch(&err)
	of := make(map[string]int)
	for _, s := range strings.FieldsFunc(sizes, func(r rune) bool { return r == ',' }) {
		name, size, _ := strings.Cut(s, "=")
		of[name] = must.Get(strconv.Atoi(size))
	}
	r := rand.New(rand.NewPCG(1, 0))
	in = make(map[string]*run.Tensor)
	for _, v := range must.Get(onnx.Parse(data, nil)).Graph.Asked() {
		n, shape := 1, []int{}
		for _, d := range v.Type.Dims {
			size := int(d.Size)
			if d.Param != "" {
				size = of[d.Param]
			}
			if size < 1 {
				return nil, fmt.Errorf("-sizes names no %s of %s", d.Param, v.Name)
			}
			n, shape = n*size, append(shape, size)
		}
		switch v.Type.Elem {
		case onnx.Float:
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			in[v.Name] = run.NewFloats(shape, x)
		case onnx.Int64:
			x := make([]int64, n)
			for i := range x {
				x[i] = 1
			}
			in[v.Name] = run.NewInts(shape, x)
		default:
			return nil, fmt.Errorf("an input of %v", v.Type.Elem)
		}
	}
	return in, nil
}
