package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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
			data := encoder(s, of, o.sequence, pool)
			path := filepath.Join(dir, "model.onnx")
			must.Do(os.WriteFile(path, data, 0o600))
			session := must.Get(run.New(must.Get(onnx.Parse(data, nil)), run.Options{Pool: pool}))
			must.Get(p.Ask(request{Load: path, Threads: o.threads}))
			batches := []int{1, 32}
			if o.batch != 0 {
				batches = []int{o.batch}
			}
			for _, batch := range batches {
				must.Do(compareSpeed(p, session, fmt.Sprintf("%s | %d", name, batch), bertInputs(batch, o.sequence), o.runs))
			}
		}
	}
	return nil
}

// encoder returns a model of one of numbers.
func encoder(s shape, of string, rows int, pool *threads.Pool) []byte {
	if how, ok := calibrations[of]; ok {
		return static(bert(s, "f32", 1), how, bertInputs(1, rows), pool)
	}
	if strings.HasPrefix(of, "O2") {
		return optimised(s, of != "O2", 1)
	}
	return bert(s, of, 1)
}

// compareSpeed prints a row of a table.
func compareSpeed(p *node, s *run.Session, name string, in map[string]*run.Tensor, runs int) (err error) {
	defer must.Catch(&err)
	ctx, output := context.Background(), s.Outputs()[0].Name
	got := must.Get(s.Run(ctx, in))
	wire := toWire(in)
	r := must.Get(p.Ask(request{Inputs: wire}))
	want := must.Get(fromWire(r.Outputs))
	apart := stat.Furthest(got[output].F, want[output].F)
	t := must.Get(peer.InTurn(runs, func() error {
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
	fmt.Printf("| %s | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1f (%.1f) | %.1f (%.1f) | %.2f (%.2f) | %.1g |\n", name,
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
