package main

import (
	"io"
	"strings"
	"testing"
)

// TestRun: the whole program on the built-in model, which drafts for itself too.
func TestRun(t *testing.T) {
	const tiny = "../../engine/builtin/quern-tiny.gguf"
	var out strings.Builder
	o := options{file: tiny, draft: tiny, threads: 2, streams: 2, tokens: 24, by: 1, most: 8, wrong: []float64{0, 1}}
	if err := run(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| wrong with probability 0 | ", "| 100 % |", "| quern-tiny.gguf | ", "| lookup, code edit | ", "| lookup, adversarial | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// TestMTP: a model's own layer drafts, as it is and guided, at every share of wrong tokens.
func TestMTP(t *testing.T) {
	var out strings.Builder
	o := options{file: "../../engine/model/testdata/made/glm4moe/model.gguf", mtp: true, threads: 2, streams: 2, tokens: 24, by: 1, most: 8, wrong: []float64{0, 1}}
	if err := run(t.Context(), o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bench/draft -mtp -streams 2", "| MTP | ", "| MTP, wrong with probability 0 | ", "| MTP, wrong with probability 1 | ", "than 0.97 times without: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		// A busy machine may find no gain in drafts, and makes none.
		if strings.HasPrefix(line, "| MTP, wrong with probability 0 |") && !strings.Contains(line, "| 100 % |") && !strings.Contains(line, "| – |") {
			t.Errorf("what is never wrong was not drawn: %s", line)
		}
	}
	o.file = "../../engine/builtin/quern-tiny.gguf"
	if err := run(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "nextn") {
		t.Errorf("a file without such a layer: %v", err)
	}
}

// TestAdversary: all that lookup could draft behind any pair of tokens is wrong.
func TestAdversary(t *testing.T) {
	a := adversary(32000)
	all := append(a.prompt, a.reply...)
	seen, pairs := map[[3]int32]bool{}, map[[2]int32]int{}
	for i := 2; i < len(all); i++ {
		three := [3]int32(all[i-2 : i+1])
		if seen[three] {
			t.Fatalf("%v comes twice", three)
		}
		seen[three] = true
		pairs[[2]int32(all[i-2:i])]++
	}
	if len(pairs) != 144 || len(all) != 1728 {
		t.Errorf("%d tokens, %d different pairs", len(all), len(pairs))
	}
}
