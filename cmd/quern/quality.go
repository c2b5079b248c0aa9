package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/measure"
)

// A qualityReport is the output of `quern bench --quality --json`.
type qualityReport struct {
	Model      string  `json:"model"`
	Tokens     int     `json:"tokens"`
	Scored     int     `json:"scored_tokens"`
	Window     int     `json:"window"`
	Perplexity float64 `json:"perplexity"`
	Error      float64 `json:"perplexity_error"`

	Against          string   `json:"against,omitempty"`
	AgainstPerpl     *float64 `json:"against_perplexity,omitempty"`
	MeanKL           *float64 `json:"kl_mean,omitempty"`
	MedianKL         *float64 `json:"kl_median,omitempty"`
	KL99             *float64 `json:"kl_99,omitempty"`
	MaxKL            *float64 `json:"kl_max,omitempty"`
	SameFirstChoices *float64 `json:"same_top,omitempty"`
}

// maxText bounds the text of a quality measurement.
const maxText = 1 << 30

func (a *app) quality(ctx context.Context, s *settings.Loaded, model, text, against string, window int, asJSON bool) error {
	f, err := os.Open(text)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := readLimited(f, maxText)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	bars := a.progress("measuring")
	name := filepath.Base(model)
	r, err := measure.Quality(ctx, measure.QualityOptions{
		Path: model, Against: against, Text: string(b), Context: window, Threads: s.Threads, Device: s.Device,
		Quantize: s.ModelDefaults.Quantize, CacheType: s.ModelDefaults.CacheNumber(),
		Progress: func(done float64) { bars.Update(name, done) },
	})
	bars.Wait()
	if err != nil {
		return err
	}
	q := qualityReport{Model: name, Tokens: r.Tokens, Scored: r.Scored, Window: r.Window, Perplexity: r.Perplexity, Error: r.Error}
	if d := r.Reference; d != nil {
		q.Against, q.AgainstPerpl = filepath.Base(against), &d.Perplexity
		q.MeanKL, q.MedianKL, q.KL99, q.MaxKL, q.SameFirstChoices = &d.MeanKL, &d.MedianKL, &d.KL99, &d.MaxKL, &d.SameTop
	}
	if asJSON {
		return writeJSON(a.out, q)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", terminal.Plain(q.Model))
	fmt.Fprintf(w, "text\t%s: %d of %d tokens predicted, in windows of %d\n", terminal.Plain(filepath.Base(text)), q.Scored, q.Tokens, q.Window)
	fmt.Fprintf(w, "perplexity\t%.4f ± %.4f\n", q.Perplexity, q.Error)
	if d := r.Reference; d != nil {
		fmt.Fprintf(w, "against\t%s, perplexity %.4f (%+.2f %%)\n", terminal.Plain(q.Against), d.Perplexity, 100*(q.Perplexity/d.Perplexity-1))
		fmt.Fprintf(w, "KL divergence\tmean %.5f, median %.5f, 99 %% below %.4f, largest %.4f nats a token\n", d.MeanKL, d.MedianKL, d.KL99, d.MaxKL)
		fmt.Fprintf(w, "same first choice\t%.2f %%\n", 100*d.SameTop)
	}
	return w.Flush()
}

// benchArgs wants a file, and with --quality a text beside it.
func benchArgs(cmd *cobra.Command, args []string) error {
	if quality, err := cmd.Flags().GetBool("quality"); err != nil || !quality {
		return exactModel(cmd, args)
	}
	if len(args) != 2 {
		return usageError{errors.New("--quality wants a model and a text file")}
	}
	return nil
}
