package local

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/measure"
	"quern/engine/sample"
	"quern/kernels/quant"
)

// TestQuality holds the perplexity against the log-probabilities requests get,
// and a model against itself.
func TestQuality(t *testing.T) {
	tiny := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(tiny, builtin.GGUF(), 0o666); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("Once upon a time there was a fox called Nora. Nora lived in a green forest. ", 6)
	const window = 96 // more than a step, and no multiple of one
	last := 0.0
	r, err := measure.Quality(t.Context(), measure.QualityOptions{Path: tiny, Against: tiny, Text: text, Context: window, Progress: func(x float64) { last = x }})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Reference; d == nil || d.MeanKL > 1e-9 || d.MaxKL > 1e-9 || d.SameTop != 1 || d.Perplexity != r.Perplexity {
		t.Errorf("against itself %+v", d)
	}
	if last != 1 {
		t.Errorf("progress ended at %g", last)
	}
	e := open(t, engine.Options{})
	in, err := e.Tokenize(t.Context(), "", engine.TokenizeRequest{Prompt: engine.Prompt{Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	loss, n := 0.0, 0
	for at := 0; at+window <= len(in.Tokens); at += window {
		res, err := gather(t.Context(), e, "", engine.GenerateRequest{Prompt: engine.Prompt{Tokens: in.Tokens[at : at+window]}, NoTokens: true, NoPromptCache: true,
			PromptLogprobs: true, Sample: sample.Params{Logprobs: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range res.events[1].Prompt[window/2+1:] {
			loss -= float64(l.Logprob)
			n++
		}
	}
	if want := math.Exp(loss / float64(n)); r.Tokens != len(in.Tokens) || r.Scored != n || math.Abs(r.Perplexity/want-1) > 1e-3 {
		t.Errorf("perplexity %g of %d in %d tokens, want %g of %d in %d", r.Perplexity, r.Scored, r.Tokens, want, n, len(in.Tokens))
	}
	for typ, most := range map[quant.Type]float64{quant.F32: 1e-3, quant.Q8_0: 5e-3, quant.Q4_0: 0.1} {
		r, err := measure.Quality(t.Context(), measure.QualityOptions{Path: tiny, Against: tiny, CacheType: typ, Text: text, Context: window})
		if err != nil || r.Reference.MeanKL == 0 || r.Reference.MeanKL > most {
			t.Errorf("a cache of %v: %+v, %v; want a divergence up to %g", typ, r.Reference, err, most)
		}
	}
	for _, o := range []measure.QualityOptions{{Path: tiny, Text: "short"}, {Path: tiny, Against: small, Text: text}, {Path: "../model/testdata/bert-mean-Q8_0.gguf", Text: text}} {
		if _, err := measure.Quality(t.Context(), o); err == nil {
			t.Errorf("%s against %q on %d bytes: no error", o.Path, o.Against, len(o.Text))
		}
	}
}
