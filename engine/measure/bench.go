// Package measure runs models without scheduler, sampler or HTTP: how fast they are,
// and how well they predict a text.
package measure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"quern/engine"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/kernels"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// BenchOptions are the parameters of Bench. Zero fields take the defaults given.
type BenchOptions struct {
	Path      string
	Threads   int        // 0: physical cores
	Device    string     // "": the best there is
	GPULayers *int       // as Options.GPULayers
	Prompt    int        // tokens of prefill; 0: 512
	Generate  int        // decode steps; 0: 128
	Batch     int        // sequences decoded together; 0: 1
	Depth     int        // tokens that stand before those measured, in every sequence
	Reps      int        // repetitions of each, after one to warm up; 0: 3
	CacheType quant.Type // F16 when Invalid
	Quantize  string     // as ModelOptions.Quantize

	InFileOrder bool // as engine.Options.InFileOrder

	// Loading, when not nil, is called with how far the load is, 0 to 1.
	Loading func(done float64)
	// Progress, when not nil, is called after each repetition.
	Progress func(done, of int)
	// Measured, when not nil, is called when speeds are measured, before all weights of the
	// file are read to find out how fast memory is.
	Measured func()
}

// A BenchResult is the result of Bench. Speeds are medians.
type BenchResult struct {
	PromptPerSecond   float64
	GeneratePerSecond float64 // of all sequences together
	PromptRuns        []float64
	GenerateRuns      []float64

	Load                      time.Duration // opening, checking and compiling
	WeightBytes               int64         // of the whole file
	ReadBytesPerSecond        float64       // weights and keys read while decoding
	MachineReadBytesPerSecond float64       // how fast the same weights can be read, measured after
	Threads                   int
	CPULevel                  string
	Device                    string
}

// Bench measures prefill and decode speed of a model file with random tokens,
// without scheduler, sampler or HTTP.
func Bench(ctx context.Context, o BenchOptions) (BenchResult, error) {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&o.Threads, threads.Cores())
	def(&o.Prompt, 512)
	def(&o.Generate, 128)
	def(&o.Batch, 1)
	def(&o.Reps, 3)
	if o.CacheType == quant.Invalid {
		o.CacheType = quant.F16
	}

	start := time.Now()
	file, err := lm.Open(o.Path)
	if err != nil {
		return BenchResult{}, err
	}
	defer file.Close()
	opened := &lm.File{ID: o.Path, Raw: file}
	if err := opened.Open(ctx, engine.ModelOptions{Quantize: o.Quantize}, o.Threads); err != nil {
		return BenchResult{}, err
	}
	m, set := opened.LM, opened.Set
	err = set.FillContext(ctx, func(done, total int64) {
		if o.Loading != nil {
			o.Loading(float64(done) / float64(max(1, total)))
		}
	})
	if err != nil {
		return BenchResult{}, err
	}
	backend, name, err := device.Open(o.Device, device.Options{Threads: o.Threads, Layers: o.GPULayers, InFileOrder: o.InFileOrder})
	if err != nil {
		return BenchResult{}, err
	}
	defer backend.Close()
	b := graph.NewBuilder(max(engine.DefaultBatch, o.Batch), o.Batch)
	p, err := b.Compile(m.Logits(b, m.Hidden(b)))
	if err != nil {
		return BenchResult{}, err
	}
	exec, err := backend.Compile(ctx, p, graph.Watch{Copied: file.Forget})
	if err != nil {
		return BenchResult{}, err
	}
	defer exec.Close()
	res := BenchResult{Load: time.Since(start), WeightBytes: set.Bytes(), Threads: o.Threads, CPULevel: kernels.Level(), Device: name}

	// Prefill fills sequence 0 behind Depth tokens; decoding continues all
	// sequences from there, as the usual tests of other engines do.
	c := m.Config()
	per := (o.Depth + max(o.Prompt, o.Generate+1) + lm.BlockSize - 1) / lm.BlockSize
	spec := p.CacheSpec(per*o.Batch, lm.BlockSize, o.Batch, o.CacheType)
	cache, err := backend.NewCache(spec)
	if err != nil {
		return BenchResult{}, err
	}
	defer cache.Close()
	tables := make([][]int32, o.Batch)
	slots := make([]int32, o.Batch)
	for s := range tables {
		slots[s] = int32(s)
		for i := range per {
			tables[s] = append(tables[s], int32(s*per+i))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	read := func(from, to int) error {
		for at := from; at < to; at += p.Rows {
			in := &graph.Batch{Tables: tables, States: slots}
			for i := at; i < min(to, at+p.Rows); i++ {
				in.Tokens, in.Positions, in.Seq = append(in.Tokens, random.Int32N(int32(c.Vocab))), append(in.Positions, int32(i)), append(in.Seq, 0)
			}
			if at+p.Rows >= to {
				in.Want = []int32{int32(len(in.Tokens) - 1)}
			}
			if _, err := exec.Run(ctx, in, cache); err != nil {
				return err
			}
		}
		return nil
	}
	if portable, ok := cache.(graph.Portable); ok {
		err = fill(portable, spec.BlockBytes(0), (o.Depth+lm.BlockSize-1)/lm.BlockSize)
	} else {
		err = read(0, o.Depth)
	}
	if err != nil {
		return BenchResult{}, fmt.Errorf("bench: %w", err)
	}
	for s := 1; s < o.Batch && o.Depth > 0; s++ {
		for i, block := range tables[s] {
			cache.Copy(0, block, tables[0][i])
		}
		cache.CopyState(slots[s], slots[0])
	}
	prefill := func() error { return read(o.Depth, o.Depth+o.Prompt) }
	decode := func() error {
		in := &graph.Batch{Tables: tables, States: slots}
		for s := range o.Batch {
			in.Tokens, in.Positions = append(in.Tokens, 0), append(in.Positions, 0)
			in.Seq, in.Want = append(in.Seq, int32(s)), append(in.Want, int32(s))
		}
		for i := range o.Generate {
			for s := range in.Tokens {
				in.Tokens[s], in.Positions[s] = random.Int32N(int32(c.Vocab)), int32(o.Depth+i)
			}
			if _, err := exec.Run(ctx, in, cache); err != nil {
				return err
			}
		}
		return nil
	}
	for r := range o.Reps + 1 {
		for _, phase := range []struct {
			run    func() error
			tokens int
			to     *[]float64
		}{{prefill, o.Prompt, &res.PromptRuns}, {decode, o.Generate * o.Batch, &res.GenerateRuns}} {
			start := time.Now()
			if err := phase.run(); err != nil {
				return BenchResult{}, fmt.Errorf("bench: %w", err)
			}
			if r > 0 {
				*phase.to = append(*phase.to, float64(phase.tokens)/time.Since(start).Seconds())
			}
		}
		if o.Progress != nil {
			o.Progress(r+1, o.Reps+1)
		}
	}
	res.PromptPerSecond, res.GeneratePerSecond = median(res.PromptRuns), median(res.GenerateRuns)
	// Each step reads every weight once, and of every sequence the keys and values
	// of Depth tokens and on average half of those generated.
	kv := float64(cache.Bytes()) / float64(per*lm.BlockSize) * (float64(o.Depth) + float64(o.Generate)/2)
	res.ReadBytesPerSecond = res.GeneratePerSecond / float64(o.Batch) * (float64(p.WeightBytes()) + kv)
	if o.Measured != nil {
		o.Measured()
	}
	var data [][]byte
	for t := range set.All() {
		data = append(data, t.Data)
	}
	res.MachineReadBytesPerSecond = backend.ReadBandwidth(data)
	return res, nil
}

// fill writes moderate numbers, of any type, to the first blocks of a cache: the values make
// no difference to speed, and computing 100,000 tokens takes hours.
func fill(cache graph.Portable, blockBytes int64, blocks int) error {
	data, random := make([]byte, blockBytes), rand.New(rand.NewPCG(3, 4))
	for i := range data {
		data[i] = 0x30 + byte(random.IntN(8)) // 0.13 to 0.5 of F16, 48 to 55 of int8
	}
	for b := range blocks {
		if err := cache.Write(0, int32(b), data); err != nil {
			return err
		}
	}
	return nil
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}
