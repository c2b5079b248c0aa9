// Command embed compares how fast quern and llama.cpp (node-llama-cpp) make vectors of texts, and
// how far apart the vectors are. Run it from the root of the repository:
//
//	(cd bench/peers && npm install --ignore-scripts)
//	go run ./bench/ggufgen -shape bge-base -type Q8_0 -o bge-base-Q8_0.gguf
//	go run ./bench/embed -peer bench/peers bge-base-Q8_0.gguf
//	go run ./bench/embed -beside bge-base-Q8_0.gguf # queries beside requests of many texts
//
// Both run in a process of theirs, without HTTP, on the same file, by turns. Texts are random
// tokens. node-llama-cpp takes one text at a time, as its users do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/peer"
	"quern/bench/internal/stat"
	"quern/engine"
	"quern/engine/local"
)

// A load is texts of one request, and the tokens of each.
type load struct{ texts, tokens int }

func (l load) String() string { return fmt.Sprintf("%d × %d", l.texts, l.tokens) }

type options struct {
	peer          string // folder with node_modules
	script        string
	loads         []load
	threads, runs int
	files         []string
	before        stat.Others
}

// The peer's protocol; see bench/peers/vectors.mjs.
type (
	question struct {
		Load    string    `json:"load,omitempty"`
		Threads int       `json:"threads,omitempty"`
		Context int       `json:"context,omitempty"`
		Texts   [][]int32 `json:"texts,omitempty"`
	}
	answer struct {
		Vectors [][]float32
		MS, CPU float64
	}
	node = peer.Process[question, answer]
)

func main() {
	o := options{loads: []load{{1, 16}, {1, 128}, {1, 512}, {32, 16}, {32, 128}, {8, 512}}}
	flag.StringVar(&o.peer, "peer", filepath.Join("bench", "peers"), "`folder` whose node_modules have node-llama-cpp")
	flag.StringVar(&o.script, "script", filepath.Join("bench", "peers", "vectors.mjs"), "the `script` that runs the peer")
	flag.IntVar(&o.threads, "threads", 2, "threads of both programs")
	flag.IntVar(&o.runs, "runs", 9, "runs of each program")
	alone := flag.Bool("beside", false, "how long queries take beside requests of many texts, without the peer")
	flag.Func("loads", "`TEXTSxTOKENS,…` of requests (default 1x16,1x128,1x512,32x16,32x128,8x512)", func(s string) (err error) {
		o.loads, err = readLoads(s)
		return err
	})
	flag.Parse()
	if o.files = flag.Args(); len(o.files) == 0 || o.runs < 1 {
		fmt.Fprintln(os.Stderr, "embed: want model files; see -help")
		os.Exit(2)
	}
	o.before = stat.Before() // the peer's start is not of others
	var err error
	if *alone {
		err = beside(os.Stdout, o)
	} else {
		err = withPeer(o)
	}
	must.End("embed", err)
}

func withPeer(o options) error {
	p, err := peer.Start[question, answer](o.script, o.peer, "node-llama-cpp")
	if err != nil {
		return err
	}
	return errors.Join(run(os.Stdout, p, o), p.Stop())
}

func readLoads(s string) (out []load, err error) {
	for part := range strings.SplitSeq(s, ",") {
		texts, tokens, ok := strings.Cut(part, "x")
		n, e1 := strconv.Atoi(texts)
		m, e2 := strconv.Atoi(tokens)
		if !ok || e1 != nil || e2 != nil || n < 1 || m < minTokens {
			return nil, fmt.Errorf("%q is no TEXTSxTOKENS with at least %d tokens", part, minTokens)
		}
		out = append(out, load{n, m})
	}
	return out, nil
}

// run prints a row for every file and load.
func run(out io.Writer, p *node, o options) (err error) {
	defer must.Catch(&err)
	fmt.Fprintf(out, "%d threads, %d runs of each by turns; milliseconds of a request, medians (best). %s\n\n", o.threads, o.runs, o.before.Stamp())
	fmt.Fprintln(out, "| file | texts × tokens | quern | llama.cpp | ratio | tokens/s | CPU ms quern | CPU ms llama.cpp | furthest cosine |")
	fmt.Fprintln(out, "|---|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, file := range o.files {
		must.Do(compare(out, p, file, o))
	}
	return nil
}

func compare(out io.Writer, p *node, file string, o options) (err error) {
	defer must.Catch(&err)
	ctx := context.Background()
	e := must.Get(local.New(engine.Options{Models: []engine.ModelOptions{{Name: "m", Path: file}}, Threads: o.threads, Device: "cpu"}))
	defer e.Close()
	l := must.Get(e.Open(ctx, "m"))
	defer l.Release()
	longest := slices.MaxFunc(o.loads, func(a, b load) int { return a.tokens - b.tokens }).tokens
	must.Get(p.Ask(question{Load: must.Get(filepath.Abs(file)), Threads: o.threads, Context: longest + spare}))
	for _, load := range o.loads {
		ask := draw(load)
		request := requestOf(ask)
		ours, theirs := must.Get(l.Embed(ctx, request)), must.Get(p.Ask(ask))
		cos := furthest(ours.Vectors, theirs.Vectors)
		t := must.Get(peer.InTurn(o.runs, func() error {
			_, err := l.Embed(ctx, request)
			return err
		}, func() (float64, float64, error) {
			a, err := p.Ask(ask)
			return a.MS, a.CPU, err
		}))
		q, n := stat.Median(t.Wall[0]), stat.Median(t.Wall[1])
		fmt.Fprintf(out, "| %s | %v | %.1f (%.1f) | %.1f (%.1f) | %.2f | %.0f | %.1f | %.1f | %.6f |\n", filepath.Base(file), load,
			q, slices.Min(t.Wall[0]), n, slices.Min(t.Wall[1]), n/q, float64(load.texts*load.tokens)/q*1e3,
			stat.Median(t.CPU[0]), stat.Median(t.CPU[1]), cos)
	}
	return nil
}

// Files of ggufgen begin and end texts by these; node-llama-cpp adds them where they are not.
const begin, end = 1, 2

// spare is what node-llama-cpp wants of a context beside the text.
const spare = 16

// minTokens are those that begin and end a text, and one between.
const minTokens = 3

// draw makes the texts of a load: random tokens that every vocabulary has, behind those that it
// begins with.
func draw(l load) question {
	const control, most = 300, 3000
	r := rand.New(rand.NewPCG(uint64(l.texts), uint64(l.tokens)))
	q := question{}
	for range l.texts {
		text := make([]int32, l.tokens)
		for i := range text {
			text[i] = control + r.Int32N(most-control)
		}
		text[0], text[l.tokens-1] = begin, end
		q.Texts = append(q.Texts, text)
	}
	return q
}

func requestOf(q question) (r engine.EmbedRequest) {
	for _, t := range q.Texts {
		r.Inputs = append(r.Inputs, engine.EmbedInput{Tokens: t})
	}
	return r
}

// furthest is the least cosine of two programs' vectors of a text.
func furthest(a, b [][]float32) float64 {
	least := 1.0
	if len(a) != len(b) {
		return math.NaN()
	}
	for i := range a {
		least = min(least, cosine(a[i], b[i]))
	}
	return least
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var ab, aa, bb float64
	for i, x := range a {
		y := float64(b[i])
		ab, aa, bb = ab+float64(x)*y, aa+float64(x)*float64(x), bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}
