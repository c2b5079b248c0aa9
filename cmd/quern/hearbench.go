package main

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"quern/engine/measure"
)

// A hearingReport is what `quern bench --json` prints of a recogniser.
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
		RealTime: r.RealTime, Window: r.Window, Load: r.Load.Seconds(), PeakRSS: peakRSS(),
		Threads: r.Threads, CPULevel: r.CPULevel, Device: r.Device, Tokens: r.Tokens, Batch: batch,
		WeightBytes: r.WeightBytes, CacheBytes: r.CacheBytes, EncodeRuns: all(r.EncodeRuns), TokenRuns: all(r.TokenRuns),
	}
}

func (a *app) printHearing(r hearingReport) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	span := func(runs []float64) string {
		return fmt.Sprintf("%.2f to %.2f", slices.Min(runs), slices.Max(runs))
	}
	fmt.Fprintf(w, "model\t%s, %s\n", plain(r.Model), humanize.Bytes(uint64(max(r.WeightBytes, 0))))
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
