package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
	"quern/engine/cpu"
	"quern/engine/cuda"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// checkRows are the batches whose logits are compared: every way the kernels
// take rows. The second of each prompt attends to what the one before stored.
var checkRows = []int{1, 2, 5, 8, 9, 33, 64, 65, 200}

// checkLimit bounds max|GPU-CPU| over the root mean square of a row of logits. The
// CPU rounds activations to eight bits, the GPU to bfloat16 in long batches.
const checkLimit = 0.2

// check holds products by wgmma against those by mma.sync, then logits of the GPU
// against the CPU's: of every type of weights, and of every family.
func check(ctx context.Context, o *options, w io.Writer) (err error) {
	defer must.Catch(&err)
	all := checkProducts(must.Get(driver.Open()), checkSizes, w)
	try := func(path string) {
		worst, err := o.checkFile(ctx, path)
		if errors.Is(err, errNoLogits) {
			return
		}
		if err == nil && !(worst <= checkLimit) {
			err = fmt.Errorf("logits are %.3g of their size from the CPU's, more than %g", worst, checkLimit)
		}
		name, verdict := called(path), "ok"
		if err != nil {
			verdict = err.Error()
			all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
		}
		fmt.Printf("%-32s distance %.3g: %s\n", name, worst, verdict)
		record(w, map[string]any{"stage": "check", "model": name, "distance": fmt.Sprint(worst), "verdict": verdict})
	}
	for _, typ := range append([]string{"Q6_K", "Q4_0"}, o.types...) {
		try(must.Get(o.model(ctx, o.small, typ, 4)))
	}
	for _, path := range must.Get(matching(o.families)) {
		try(path)
	}
	return all
}

// matching lists the files of patterns that have commas between them.
func matching(patterns string) (files []string, err error) {
	for _, p := range strings.Split(patterns, ",") {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// called is what a model file is called in results: those called as others by their folder.
func called(path string) string {
	if name := filepath.Base(path); name != "model.gguf" {
		return name
	}
	return filepath.Base(filepath.Dir(path))
}

// errNoLogits: the model makes embeddings.
var errNoLogits = errors.New("no logits")

func (o *options) checkFile(ctx context.Context, path string) (worst float64, err error) {
	defer must.Catch(&err)
	set := must.Get(formats.Open(path))
	defer set.Close()
	m := must.Get(model.Open(set))
	must.Do(set.Fill())
	if c := m.Config(); c.Encoder || c.Pooling != model.PoolNone {
		return 0, errNoLogits
	}
	host := cpu.Open(threads.Cores())
	defer host.Close()
	d := must.Get(driver.Open())
	device := must.Get(cuda.Open(cuda.Options{Driver: d, Layers: cuda.AllLayers, Host: cpu.Open(1)}))
	defer device.Close()
	g := graph.NewBuilder(512, 16)
	p := must.Get(g.Compile(m.Logits(g, m.Hidden(g))))
	c := m.Config()
	spec := p.CacheSpec(32, 32, 1, quant.F16)
	var execs [2]graph.Exec
	var caches [2]graph.Cache
	for i, b := range []graph.Backend{host, device} {
		caches[i] = must.Get(b.NewCache(spec))
		defer caches[i].Close()
		execs[i] = must.Get(b.Compile(ctx, p, graph.Watch{}))
		defer execs[i].Close()
	}
	r := rand.New(rand.NewPCG(1, 2))
	table := make([]int32, spec.Blocks)
	for i := range table {
		table[i] = int32(spec.Blocks - 1 - i)
	}
	at := int32(0)
	for _, rows := range checkRows {
		// Twice, since the second time a recorded step is replayed.
		for range 2 {
			in := &graph.Batch{Tables: [][]int32{table}, States: []int32{0}, Want: []int32{0, int32(rows - 1)}}
			if rows == 1 {
				in.Want = in.Want[:1]
			}
			for i := range rows {
				in.Tokens, in.Positions, in.Seq = append(in.Tokens, r.Int32N(int32(c.Vocab))), append(in.Positions, at+int32(i)), append(in.Seq, 0)
			}
			at += int32(rows)
			var logits [2][]float32
			for i, e := range execs {
				logits[i] = must.Get(e.Run(ctx, in, caches[i]))[0]
			}
			d := distance(logits[1], logits[0])
			if d > checkLimit {
				fmt.Printf("   %d rows to position %d: %.2g\n", rows, at, d)
			}
			worst = max(worst, d)
		}
	}
	return worst, nil
}

// distance is max|a-b| / rms(b), and infinite where a is no number.
func distance(a, b []float32) float64 {
	var top, ss float64
	for i := range b {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		top, ss = max(top, d), ss+float64(b[i])*float64(b[i])
	}
	return top / math.Sqrt(ss/float64(max(1, len(b))))
}
