package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"quern/bench/fixtures"
	"quern/bench/internal/must"
	"quern/bench/internal/peer"
	"quern/bench/internal/stat"
	"quern/engine/token"
	"quern/formats/gguf"
)

type llamaRequest struct {
	Load string `json:"load,omitempty"`
	Text string `json:"text,omitempty"`
}

type llamaReply struct {
	MS     float64 `json:"ms"`
	Tokens int     `json:"tokens"`
}

// besideLlama encodes hard texts of size bytes with the vocabularies of GGUF files, by turns with
// llama.cpp. Texts that are no UTF-8 are left out, as JavaScript has none.
func besideLlama(out io.Writer, o options, files []string) (err error) {
	defer must.Catch(&err)
	p := must.Get(peer.Start[llamaRequest, llamaReply](filepath.Join("bench", "peers", "tokens.mjs"), o.llama, "node-llama-cpp"))
	defer p.Stop()
	fmt.Fprintf(out, "%s\n\nTexts of %d kB; CPU ms a MB, median of %d runs by turns.\n\n", stat.Before().Stamp(), o.size/1000, o.runs)
	fmt.Fprint(out, "| vocabulary | text | quern | llama.cpp | llama.cpp / quern | tokens |\n|---|---|---:|---:|---:|---|\n")
	for _, file := range files {
		set := must.Get(gguf.Open(file))
		v := must.Get(token.New(must.Get(token.From(&set.Meta))))
		must.Get(p.Ask(llamaRequest{Load: must.Get(filepath.Abs(file))}))
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".gguf"), "ggml-vocab-")
		for _, t := range fixtures.Hard {
			text := t.Make(o.size)
			if text = strings.ToValidUTF8(text, ""); text == "" {
				continue
			}
			fmt.Fprintf(out, "| %s | %s | %s |\n", name, t.Name, must.Get(hard(v, p, text, o.runs)))
		}
		must.Do(set.Close())
	}
	return nil
}

// hard measures one text and returns the rest of its row.
func hard(v *token.Vocab, p *peer.Process[llamaRequest, llamaReply], text string, runs int) (string, error) {
	var ours, theirs []float64
	var ids []token.ID
	var got llamaReply
	size := len(text)
	for range runs {
		used := stat.CPUTime()
		ids = v.Encode(ids[:0], text, false)
		ours = append(ours, (stat.CPUTime()-used).Seconds()*1e9/float64(size))
		var err error
		if got, err = p.Ask(llamaRequest{Text: text}); err != nil {
			return "", err
		}
		theirs = append(theirs, got.MS*1e6/float64(size))
		if got.MS > 20e3 {
			break // a second time would say the same
		}
	}
	same := "the same number"
	if got.Tokens != len(ids) {
		same = fmt.Sprintf("%d, %d", len(ids), got.Tokens)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	us, they := stat.Median(ours), stat.Median(theirs)
	return fmt.Sprintf("%.1f | %.1f | %.2f | %s", us, they, they/us, same), nil
}
