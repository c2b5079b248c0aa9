package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

type speedOptions struct {
	threads, runs, sequence, batch int
	only                           *regexp.Regexp
}

// pause parts the runs: the peer's workers go on spinning some 30 ms after theirs,
// and a run right after has one CPU less.
const pause = 120 * time.Millisecond

// speed prints how encoders of random weights compare with the peer: each run of
// one follows a run of the other. Wall time is what counts on an idle machine,
// CPU time (with one thread) on one that is not.
func speed(p *node, o speedOptions) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "bench-onnx"))
	defer os.RemoveAll(dir)
	pool := threads.NewPool(o.threads)
	defer pool.Close()
	fmt.Printf("%d threads, sequence %d, %d runs; milliseconds, medians (best)\n\n", o.threads, o.sequence, o.runs)
	fmt.Println("| model | batch | quern | onnxruntime | ratio | CPU quern | CPU onnxruntime | ratio | difference |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, s := range shapes {
		for _, int8s := range []bool{false, true} {
			name := s.name + " f32"
			if int8s {
				name = s.name + " int8"
			}
			if !o.only.MatchString(name) {
				continue
			}
			data := bert(s, int8s, 1)
			path := filepath.Join(dir, "model.onnx")
			must.Do(os.WriteFile(path, data, 0o600))
			session := must.Get(run.New(must.Get(onnx.Parse(data, nil)), run.Options{Pool: pool}))
			must.Get(p.Ask(request{Load: path, Threads: o.threads}))
			batches := []int{1, 32}
			if o.batch != 0 {
				batches = []int{o.batch}
			}
			for _, batch := range batches {
				must.Do(compareSpeed(p, session, name, batch, o))
			}
		}
	}
	return nil
}

func compareSpeed(p *node, s *run.Session, name string, batch int, o speedOptions) (err error) {
	defer must.Catch(&err)
	ctx, in := context.Background(), bertInputs(batch, o.sequence)
	got := must.Get(s.Run(ctx, in))
	wire := toWire(in)
	r := must.Get(p.Ask(request{Inputs: wire}))
	want := must.Get(fromWire(r.Outputs))
	apart := furthest(got["last_hidden_state"].F, want["last_hidden_state"].F)
	var wall, cpu [2][]float64
	for range o.runs {
		time.Sleep(pause)
		start, used := time.Now(), stat.CPUTime()
		must.Get(s.Run(ctx, in))
		wall[0] = append(wall[0], float64(time.Since(start))/1e6)
		cpu[0] = append(cpu[0], float64(stat.CPUTime()-used)/1e6)
		time.Sleep(pause)
		r = must.Get(p.Ask(request{Inputs: wire, Runs: 1}))
		wall[1], cpu[1] = append(wall[1], r.MS...), append(cpu[1], r.CPU...)
	}
	w0, w1, c0, c1 := median(wall[0]), median(wall[1]), median(cpu[0]), median(cpu[1])
	best := func(x []float64) float64 { return slices.Min(x) }
	fmt.Printf("| %s | %d | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1g |\n", name, batch,
		w0, best(wall[0]), w1, best(wall[1]), w1/w0, best(wall[1])/best(wall[0]),
		c0, best(cpu[0]), c1, best(cpu[1]), c1/c0, best(cpu[1])/best(cpu[0]), apart)
	return nil
}

func bertInputs(batch, rows int) map[string]*run.Tensor {
	r := rand.New(rand.NewPCG(2, uint64(batch)))
	dims, n := []int{batch, rows}, batch*rows
	ids, hide, kinds := make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range ids {
		ids[i] = r.Int64N(bertVocab)
		if i%rows < rows-i/rows%8 { // a few places are padding
			hide[i] = 1
		}
	}
	return map[string]*run.Tensor{
		"input_ids": run.NewInts(dims, ids), "attention_mask": run.NewInts(dims, hide), "token_type_ids": run.NewInts(dims, kinds),
	}
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// furthest returns the largest difference of two results, by the root of the mean
// square of the second.
func furthest(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most, square := 0.0, 0.0
	for i, v := range b {
		d := math.Abs(float64(a[i]) - float64(v))
		if !(d <= most) {
			most = d
		}
		square += float64(v) * float64(v)
	}
	return most / math.Sqrt(square/float64(len(b)))
}
