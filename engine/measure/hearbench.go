package measure

import (
	"context"
	"fmt"
	"time"

	"quern/engine/asr"
	"quern/engine/asr/conformer"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/lm"
	"quern/engine/onnx/serve"
	fonnx "quern/formats/onnx"
	"quern/kernels"
	"quern/kernels/threads"
)

// A HearingBenchResult is the result of BenchHearing. Times are medians.
type HearingBenchResult struct {
	Window   float64 // seconds of audio in one
	Features time.Duration
	Encode   time.Duration // of one window
	Token    time.Duration // a decode step, of all windows together
	// RealTime is the time of a window with as many tokens as were decoded, as a
	// share of the audio in it.
	RealTime float64

	EncodeRuns []time.Duration
	TokenRuns  []time.Duration

	Tokens      int
	Load        time.Duration // opening, checking and compiling
	WeightBytes int64
	CacheBytes  int64
	Threads     int
	CPULevel    string
	Device      string
}

// IsHearing reports whether path is a recogniser, which BenchHearing measures
// and Bench does not.
func IsHearing(path string) bool { return asr.IsModel(path) || conformer.IsModel(path) }

// An ear is a recogniser that can be measured.
type ear interface {
	Measure(ctx context.Context, o asr.MeasureOptions) (asr.Timing, error)
	CacheBytes() int64
	Close() error
}

// openEar opens a recogniser and returns how many bytes its files have.
func openEar(ctx context.Context, path string, backend graph.Backend, windows int) (ear, int64, error) {
	if !conformer.IsModel(path) {
		m, err := asr.Open(ctx, path, backend, asr.OpenOptions{Windows: windows})
		if err != nil {
			return nil, 0, err
		}
		size, err := lm.SizeOf(path)
		return m, size, err
	}
	info, err := conformer.Describe(path)
	if err != nil {
		return nil, 0, err
	}
	m, err := conformer.Open(ctx, path, conformer.OpenOptions{Compile: func(ctx context.Context, g *fonnx.Model) (conformer.Graph, error) {
		return serve.Host{Processor: backend, Limit: conformerLimit}.Graph(ctx, g)
	}})
	if err != nil {
		return nil, 0, err
	}
	return m, info.Size, nil
}

// conformerLimit is the memory that the values of a graph may take.
const conformerLimit = 8 << 30

// BenchHearing measures how fast a recogniser encodes a window of audio and
// writes tokens, with nothing else running. Of the options Prompt, CacheType and
// Quantize mean nothing here; Batch is the number of windows decoded together.
func BenchHearing(ctx context.Context, o BenchOptions) (HearingBenchResult, error) {
	for _, x := range []struct{ p, v *int }{
		{&o.Threads, new(threads.Cores())}, {&o.Generate, new(128)}, {&o.Batch, new(1)}, {&o.Reps, new(3)},
	} {
		if *x.p <= 0 {
			*x.p = *x.v
		}
	}
	start := time.Now()
	backend, name, err := device.Open(o.Device, device.Options{Threads: o.Threads})
	if err != nil {
		return HearingBenchResult{}, err
	}
	defer backend.Close()
	m, size, err := openEar(ctx, o.Path, backend, o.Batch)
	if m != nil {
		defer m.Close()
	}
	if err != nil {
		return HearingBenchResult{}, err
	}
	res := HearingBenchResult{Load: time.Since(start), WeightBytes: size, CacheBytes: m.CacheBytes(), Threads: o.Threads, CPULevel: kernels.Level(), Device: name}
	var features, shares []float64
	for r := range o.Reps + 1 {
		t, err := m.Measure(ctx, asr.MeasureOptions{Tokens: o.Generate, Windows: o.Batch})
		if err != nil {
			return HearingBenchResult{}, fmt.Errorf("bench: %w", err)
		}
		if r > 0 { // the first one only warms up
			res.EncodeRuns, res.TokenRuns = append(res.EncodeRuns, t.Encode), append(res.TokenRuns, t.PerToken())
			features, shares = append(features, float64(t.Features)), append(shares, t.RealTime())
		}
		res.Window, res.Tokens = t.Seconds, t.Tokens
		if o.Progress != nil {
			o.Progress(r+1, o.Reps+1)
		}
	}
	middle := func(runs []time.Duration) time.Duration {
		x := make([]float64, len(runs))
		for i, d := range runs {
			x[i] = float64(d)
		}
		return time.Duration(median(x))
	}
	res.Features, res.RealTime = time.Duration(median(features)), median(shares)
	res.Encode, res.Token = middle(res.EncodeRuns), middle(res.TokenRuns)
	return res, nil
}
