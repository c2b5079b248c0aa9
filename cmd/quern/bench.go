package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/rss"
	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/measure"
)

// A benchReport is the output of `quern bench --json`.
type benchReport struct {
	Model             string    `json:"model"`
	PromptPerSecond   float64   `json:"pp_tokens_per_s"`
	GeneratePerSecond float64   `json:"tg_tokens_per_s"`
	Load              float64   `json:"load_s"`
	PeakRSS           int64     `json:"peak_rss_bytes"`
	Read              float64   `json:"read_gb_per_s"`         // weights and KV cache read while decoding
	MachineRead       float64   `json:"machine_read_gb_per_s"` // bandwidth of reading memory alone
	Threads           int       `json:"threads"`
	CPULevel          string    `json:"cpu_level"`
	Device            string    `json:"device"`
	Prompt            int       `json:"pp"`
	Generate          int       `json:"tg"`
	Batch             int       `json:"batch"`
	Depth             int       `json:"depth"`
	WeightBytes       int64     `json:"weight_bytes"`
	PromptRuns        []float64 `json:"pp_runs"`
	GenerateRuns      []float64 `json:"tg_runs"`
}

func (a *app) benchCmd() *cobra.Command {
	var asJSON, quality bool
	var against string
	var pp, tg, batch, depth, reps, window int
	cmd := &cobra.Command{
		Use:   "bench MODEL [TEXT]",
		Short: "Measure speed of a model, or how well it predicts a text",
		Long: `Measures how fast MODEL, a file or a model's name, reads a prompt (pp, prefill) and
writes a reply (tg, decode), with random tokens and nothing else running in the process.
Every number is the median of --reps runs after one that does not count.

With --batch N, N sequences are decoded together and the speed is their sum. With
--depth N, both are measured behind N tokens that are in the cache already.

Of a recogniser the encoder's time for a window of sound (30 seconds of Whisper's, 20 of
Parakeet's) and the decoder's for a token are measured; --tg is the tokens of a window,
--batch the windows decoded together.

With --quality the perplexity of the model on the file TEXT is measured instead, and
with --against how far its predictions are from those of another file: that of the
same model before it was quantised, or its own, whose KV cache is of F16 then.`,
		Example: `  quern bench quern-tiny
  quern bench model.gguf
  quern bench model.gguf --threads 4 --json
  quern bench model.gguf --batch 8 --pp 128 --tg 64
  quern bench model.gguf --depth 32768 --tg 32 --cache-type q8_0
  quern bench ggml-base.bin --tg 100
  quern bench --quality model-q4_k_m.gguf book.txt --against model-f16.gguf
  quern bench --quality model.gguf book.txt --cache-type q4_0 --against model.gguf`,
		Args: benchArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if pp < 1 || tg < 1 || batch < 1 || reps < 1 || window < 1 {
				return usageError{errors.New("--pp, --tg, --batch, --reps and --window must be at least 1")}
			}
			if depth < 0 {
				return usageError{errors.New("--depth must not be negative")}
			}
			var err error
			if quality {
				err = idle(cmd, "--quality measures no speed", "pp", "tg", "batch", "depth", "reps", "gpu-layers")
			} else {
				err = idle(cmd, "it belongs to --quality", "against", "window")
			}
			if err != nil {
				return err
			}
			s, err := a.load(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signals(cmd.Context(), stopSignals()...)
			defer stop()
			file, err := a.modelFile(ctx, cmd, args[0])
			if err == nil && against != "" {
				against, err = a.modelFile(ctx, cmd, against)
			}
			if err != nil {
				return err
			}
			setProcs(s.Threads)
			if quality {
				return a.quality(ctx, s, file, args[1], against, window, asJSON)
			}
			bars, loading := a.progress("measuring"), a.progress("loading")
			defer loading.Wait()
			name := filepath.Base(file)
			var peak int64
			o := measure.BenchOptions{
				Progress:  func(done, of int) { bars.Update(name, float64(done)/float64(of)) },
				Loading:   func(done float64) { loading.Update(name, done) },
				Path:      file,
				Threads:   s.Threads,
				Device:    s.Device,
				GPULayers: s.Layers(),

				InFileOrder: !s.Repack,
				Measured:    func() { peak = rss.Peak() },

				Prompt:    pp,
				Generate:  tg,
				Batch:     batch,
				Depth:     depth,
				Reps:      reps,
				CacheType: s.ModelDefaults.CacheNumber(),
				Quantize:  s.ModelDefaults.Quantize,
			}
			if measure.IsHearing(file) {
				if err := idle(cmd, "a recogniser is measured", "pp", "depth", "cache-type", "quantize", "gpu-layers"); err != nil {
					return err
				}
				r, err := measure.BenchHearing(ctx, o)
				bars.Wait()
				if err != nil {
					return err
				}
				report := newHearingReport(name, batch, r)
				if asJSON {
					return writeJSON(a.out, report)
				}
				return a.printHearing(report)
			}
			r, err := measure.Bench(ctx, o)
			bars.Wait()
			if err != nil {
				return err
			}
			report := benchReport{
				Model:             name,
				PromptPerSecond:   r.PromptPerSecond,
				GeneratePerSecond: r.GeneratePerSecond,
				Load:              r.Load.Seconds(),
				PeakRSS:           peak,
				Read:              r.ReadBytesPerSecond / 1e9,
				MachineRead:       r.MachineReadBytesPerSecond / 1e9,
				Threads:           r.Threads,
				CPULevel:          r.CPULevel,
				Device:            r.Device,
				Prompt:            pp,
				Generate:          tg,
				Batch:             batch,
				Depth:             depth,
				WeightBytes:       r.WeightBytes,
				PromptRuns:        r.PromptRuns,
				GenerateRuns:      r.GenerateRuns,
			}
			if asJSON {
				return writeJSON(a.out, report)
			}
			return a.printBench(report)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVar(&quality, "quality", false, "measure how well the model predicts TEXT")
	f.StringVar(&against, "against", "", "with --quality, the reference `file`")
	f.IntVar(&window, "window", 512, "with --quality, `tokens` predicted from one another")
	f.IntVar(&pp, "pp", 512, "prompt `tokens`")
	f.IntVar(&tg, "tg", 128, "reply `tokens`")
	f.IntVar(&batch, "batch", 1, "sequences decoded together, a `number`")
	f.IntVar(&depth, "depth", 0, "`tokens` that stand before those measured")
	f.IntVar(&reps, "reps", 3, "measured `runs`")
	settings.AddFlags(cmd)
	return cmd
}

func (a *app) printBench(r benchReport) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	span := func(runs []float64) string {
		if len(runs) == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f to %.1f", slices.Min(runs), slices.Max(runs))
	}
	fmt.Fprintf(w, "model\t%s, %s\n", terminal.Plain(r.Model), humanize.Bytes(uint64(max(r.WeightBytes, 0))))
	fmt.Fprintf(w, "on\t%s, %d threads, %s\n", r.Device, r.Threads, r.CPULevel)
	fmt.Fprintf(w, "load\t%.2f s\n", r.Load)
	fmt.Fprintf(w, "prefill pp%d\t%.1f tokens/s\t%s\n", r.Prompt, r.PromptPerSecond, span(r.PromptRuns))
	fmt.Fprintf(w, "decode tg%d\t%.1f tokens/s\t%s\n", r.Generate, r.GeneratePerSecond, span(r.GenerateRuns))
	if r.Depth > 0 {
		fmt.Fprintf(w, "\tboth behind %d tokens\n", r.Depth)
	}
	if r.Batch > 1 {
		fmt.Fprintf(w, "\t%d sequences together, speed is their sum\n", r.Batch)
	}
	reads := fmt.Sprintf("%.1f GB/s while decoding", r.Read)
	if r.MachineRead > 0 {
		reads += fmt.Sprintf(", of %.1f GB/s this machine reads", r.MachineRead)
	}
	fmt.Fprintf(w, "memory reads\t%s\n", reads)
	if r.PeakRSS > 0 {
		fmt.Fprintf(w, "peak memory\t%s\n", humanize.Bytes(uint64(r.PeakRSS)))
	}
	return w.Flush()
}

// A hearingReport is the output of `quern bench --json` for a recogniser.
type hearingReport struct {
	Model       string    `json:"model"`
	Encode      float64   `json:"encode_ms"` // a window
	Token       float64   `json:"token_ms"`  // a decode step of all windows
	Features    float64   `json:"features_ms"`
	RealTime    float64   `json:"real_time_factor"` // of a window with so many tokens
	Window      float64   `json:"window_s"`
	Load        float64   `json:"load_s"`
	PeakRSS     int64     `json:"peak_rss_bytes"`
	Threads     int       `json:"threads"`
	CPULevel    string    `json:"cpu_level"`
	Device      string    `json:"device"`
	Tokens      int       `json:"tg"`
	Batch       int       `json:"batch"`
	WeightBytes int64     `json:"weight_bytes"`
	CacheBytes  int64     `json:"cache_bytes"`
	EncodeRuns  []float64 `json:"encode_runs"`
	TokenRuns   []float64 `json:"token_runs"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func newHearingReport(name string, batch int, r measure.HearingBenchResult) hearingReport {
	all := func(runs []time.Duration) []float64 {
		out := make([]float64, len(runs))
		for i, d := range runs {
			out[i] = milliseconds(d)
		}
		return out
	}
	return hearingReport{
		Model: name, Encode: milliseconds(r.Encode), Token: milliseconds(r.Token), Features: milliseconds(r.Features),
		RealTime: r.RealTime, Window: r.Window, Load: r.Load.Seconds(), PeakRSS: rss.Peak(),
		Threads: r.Threads, CPULevel: r.CPULevel, Device: r.Device, Tokens: r.Tokens, Batch: batch,
		WeightBytes: r.WeightBytes, CacheBytes: r.CacheBytes, EncodeRuns: all(r.EncodeRuns), TokenRuns: all(r.TokenRuns),
	}
}

func (a *app) printHearing(r hearingReport) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	span := func(runs []float64) string {
		return fmt.Sprintf("%.2f to %.2f", slices.Min(runs), slices.Max(runs))
	}
	fmt.Fprintf(w, "model\t%s, %s\n", terminal.Plain(r.Model), humanize.Bytes(uint64(max(r.WeightBytes, 0))))
	fmt.Fprintf(w, "on\t%s, %d threads, %s\n", r.Device, r.Threads, r.CPULevel)
	fmt.Fprintf(w, "load\t%.2f s\n", r.Load)
	fmt.Fprintf(w, "features\t%.1f ms for %g s of audio\n", r.Features, r.Window)
	fmt.Fprintf(w, "encoder\t%.1f ms\t%s\n", r.Encode, span(r.EncodeRuns))
	fmt.Fprintf(w, "decoder\t%.2f ms/token\t%s\n", r.Token, span(r.TokenRuns))
	if r.Batch > 1 {
		fmt.Fprintf(w, "\t%d windows together: %.2f ms for each token\n", r.Batch, r.Token/float64(r.Batch))
	}
	fmt.Fprintf(w, "real time\t%.3f of the audio's, with %d tokens a window\n", r.RealTime, r.Tokens)
	fmt.Fprintf(w, "keys and values\t%s\n", humanize.Bytes(uint64(max(r.CacheBytes, 0))))
	if r.PeakRSS > 0 {
		fmt.Fprintf(w, "peak memory\t%s\n", humanize.Bytes(uint64(r.PeakRSS)))
	}
	return w.Flush()
}
