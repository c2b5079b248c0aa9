// Command tokens compares quern's tokenizers with Hugging Face's and tiktoken on
// this machine's CPU, one core each: the same tokenizer.json, the same texts, the same
// tokens. Programs take turns and the medians are compared. Run it from the root
// of the repository:
//
//	(cd bench/tokens && npm install --ignore-scripts)
//	go run ./bench/tokens -vocab ../shared/fixtures/vocab/llama3 -prose ../shared/design
//
// With vocabularies of GGUF files as arguments, texts that tokenizers find hard are encoded beside llama.cpp:
//
//	go run ./bench/tokens -llama bench/peers ../shared/fixtures/vocab/ggml-vocab-*.gguf
//
// The vocabulary is a folder with encoder.json and vocab.bpe, as Hugging Face
// once stored them: byte-level, 256 bytes and merges.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/peer"
	"quern/bench/internal/stat"
	"quern/engine/token"
	"quern/formats/weights"
)

type options struct {
	vocab, prose, peers, out string
	llama                    string
	runs, size               int
}

func main() {
	var o options
	flag.StringVar(&o.vocab, "vocab", filepath.Join("..", "shared", "fixtures", "vocab", "llama3"), "`folder` with encoder.json and vocab.bpe")
	flag.StringVar(&o.prose, "prose", filepath.Join("..", "shared", "design"), "`folder` whose .md files join those of the repository")
	flag.StringVar(&o.peers, "peers", filepath.Join("bench", "tokens"), "`folder` with node_modules")
	flag.IntVar(&o.runs, "runs", 7, "runs of each program")
	flag.StringVar(&o.out, "out", filepath.Join("bench", "results"), "folder for the table; empty writes none")
	flag.StringVar(&o.llama, "llama", filepath.Join("bench", "peers"), "`folder` whose node_modules have node-llama-cpp, for vocabularies in arguments")
	flag.IntVar(&o.size, "size", 1<<18, "bytes of the texts for vocabularies in arguments")
	flag.Parse()
	if o.runs < 1 {
		fmt.Fprintln(os.Stderr, "tokens: want at least one run")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	if flag.NArg() > 0 {
		must.End("tokens", besideLlama(os.Stdout, o, flag.Args()))
		return
	}
	var table bytes.Buffer
	err := run(io.MultiWriter(os.Stdout, &table), o)
	if err == nil && o.out != "" {
		name := filepath.Join(o.out, time.Now().Format(time.DateOnly)+"-tokens.md")
		if err = os.WriteFile(name, table.Bytes(), 0o644); err == nil {
			fmt.Fprintln(os.Stderr, "written to", name)
		}
	}
	must.End("tokens", err)
}

func run(out io.Writer, o options) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "quern-tokens-"))
	defer os.RemoveAll(dir)
	v := must.Get(readVocab(o.vocab))
	texts := must.Get(v.texts(o.prose))
	ranks := filepath.Join(dir, "ranks.tiktoken")
	must.Do(os.WriteFile(ranks, v.ranks(), 0o600))
	p := must.Get(startPeer(filepath.Join("bench", "tokens", "peer.mjs"), o.peers))
	defer p.Stop()
	others := stat.Before() // the peer is a child that lives until the end
	fmt.Fprintf(out, "# Tokenizers, %s\n\n%d CPUs, %s/%s, %s. %s\n\n", time.Now().Format(time.DateOnly),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), others.Stamp())
	fmt.Fprintf(out, "Vocabulary %s; documents of %d KiB; MB for a second of the process's CPU time, median of %d runs, interleaved.\n\n", filepath.Base(o.vocab), document>>10, o.runs)
	fmt.Fprint(out, "| pre-tokenizer | text | quern | range | tokenizers | range | tiktoken (wasm) | range | same tokens |\n|---|---|---:|---|---:|---|---:|---|---|\n")
	for _, pre := range rows {
		path := filepath.Join(dir, "tokenizer.json")
		tokenizer := must.Get(v.tokenizer(pre))
		must.Do(os.WriteFile(path, tokenizer, 0o600))
		pattern := ""
		if len(pre.splits) == 1 {
			pattern = pre.splits[0]
		}
		if _, err := p.Ask(request{Tokenizer: path, Ranks: ranks, Pattern: pattern}); err != nil {
			return fmt.Errorf("%s: %w", pre.name, err)
		}
		var m weights.Meta
		m.Set("hf.config", "{}")
		m.Set("hf.tokenizer", string(tokenizer))
		spec, err := token.From(&m)
		if err != nil {
			return fmt.Errorf("%s: %w", pre.name, err)
		}
		quern, err := token.New(spec)
		if err != nil {
			return fmt.Errorf("%s: %w", pre.name, err)
		}
		for _, t := range texts {
			line, err := compare(quern, p, t, pattern != "", o.runs)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", pre.name, t.name, err)
			}
			fmt.Fprintf(out, "| %s | %s | %s |\n", pre.name, t.name, line)
		}
	}
	return nil
}

// compare measures one text and returns the rest of its row.
func compare(quern *token.Vocab, p *node, t text, tiktoken bool, runs int) (string, error) {
	programs := []string{"quern", "hf"}
	if tiktoken {
		programs = append(programs, "tiktoken")
	}
	speeds := make(map[string][]float64)
	same := "yes"
	var want [][]int32
	for i := range runs {
		// In changing order, so that none always comes first.
		for k := range programs {
			name := programs[(i+k)%len(programs)]
			var got [][]int32
			var ms float64
			if name == "quern" {
				got, ms = encode(quern, t.documents)
			} else {
				r, err := p.Ask(request{Texts: t.documents, Peer: name})
				if err != nil {
					return "", err
				}
				got, ms = r.IDs, r.CPU
			}
			speeds[name] = append(speeds[name], float64(t.size)/1e3/ms)
			if want == nil {
				want = got
			}
			if d := different(got, want); d > 0 {
				same = fmt.Sprintf("%d of %d documents differ", d, len(want))
			}
		}
	}
	var cells []string
	for _, name := range []string{"quern", "hf", "tiktoken"} {
		v := speeds[name]
		if v == nil {
			cells = append(cells, "–", "–")
			continue
		}
		slices.Sort(v)
		cells = append(cells, fmt.Sprintf("%.1f", v[len(v)/2]), fmt.Sprintf("%.1f to %.1f", v[0], v[len(v)-1]))
	}
	return strings.Join(append(cells, same), " | "), nil
}

func different(a, b [][]int32) (n int) {
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			n++
		}
	}
	return n
}

// encode encodes documents one after another; ms is CPU time.
func encode(v *token.Vocab, documents []string) (ids [][]int32, ms float64) {
	used := stat.CPUTime()
	for _, d := range documents {
		ids = append(ids, v.Encode(nil, d, false))
	}
	return ids, (stat.CPUTime() - used).Seconds() * 1e3
}

// A node runs the others' tokenizers; see peer.mjs.
type node = peer.Process[request, reply]

type request struct {
	Tokenizer string   `json:"tokenizer,omitempty"`
	Ranks     string   `json:"ranks,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`
	Texts     []string `json:"texts,omitempty"`
	Peer      string   `json:"peer,omitempty"`
}

type reply struct {
	CPU float64   `json:"cpu"`
	IDs [][]int32 `json:"ids"`
}

func startPeer(script, dir string) (*node, error) {
	return peer.Start[request, reply](script, dir, "", "RAYON_NUM_THREADS=1", "TOKENIZERS_PARALLELISM=false")
}
