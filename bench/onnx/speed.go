package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"quern/bench/internal/must"
	"quern/bench/internal/peer"
	"quern/bench/internal/stat"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

type speedOptions struct {
	threads, runs, sequence, batch int
	only                           *regexp.Regexp
}

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
		for _, of := range numbers {
			name := s.name + " " + of
			if !o.only.MatchString(name) {
				continue
			}
			data := bert(s, of, 1)
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
	apart := stat.Furthest(got["last_hidden_state"].F, want["last_hidden_state"].F)
	t := must.Get(peer.InTurn(o.runs, func() error {
		_, err := s.Run(ctx, in)
		return err
	}, func() (wall, cpu float64, err error) {
		r, err := p.Ask(request{Inputs: wire, Runs: 1})
		if err != nil {
			return 0, 0, err
		}
		return r.MS[0], r.CPU[0], nil
	}))
	wall, cpu := t.Wall, t.CPU
	w0, w1, c0, c1 := stat.Median(wall[0]), stat.Median(wall[1]), stat.Median(cpu[0]), stat.Median(cpu[1])
	fmt.Printf("| %s | %d | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1g |\n", name, batch,
		w0, slices.Min(wall[0]), w1, slices.Min(wall[1]), w1/w0, slices.Min(wall[1])/slices.Min(wall[0]),
		c0, slices.Min(cpu[0]), c1, slices.Min(cpu[1]), c1/c0, slices.Min(cpu[1])/slices.Min(cpu[0]), apart)
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
