// Command draft measures what drafts are worth on this machine: tokens a second of the same
// replies with and without, turn by turn. First with a drafter that is wrong about a share of
// what it says, then with a model that drafts, if one is given, and with lookup on three texts and on one that is made against it. Every
// reply with drafts is held against the one without, token by token.
//
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//	go run ./bench/draft tinyllama.gguf
//
// With -mtp the model's own layer drafts: as it is, and, at what that costs, wrong about a share of
// what it says, since the layer of a file with random weights is wrong about all.
//
//	go run ./bench/ggufgen -shape qwen3.5-0.8b -mtp -o qwen.gguf
//	go run ./bench/draft -mtp qwen.gguf
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine/draft"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/kernels"
)

type options struct {
	file, draft                  string
	threads, streams, tokens, by int
	most                         int
	mtp                          bool
	wrong                        []float64
	out                          string
}

func main() {
	var o options
	flag.IntVar(&o.threads, "threads", 2, "threads")
	flag.IntVar(&o.streams, "streams", 1, "sequences decoded together")
	flag.IntVar(&o.tokens, "tokens", 256, "most tokens of a reply")
	flag.IntVar(&o.most, "draft-tokens", 16, "most tokens of a draft")
	flag.IntVar(&o.by, "runs", 5, "runs with drafts, and without")
	flag.StringVar(&o.draft, "draft", "", "a smaller model `file` that drafts too")
	flag.BoolVar(&o.mtp, "mtp", false, "the model's own layer for multi-token prediction drafts too")
	flag.StringVar(&o.out, "out", filepath.Join("bench", "results"), "folder for the table; empty writes none")
	flag.Parse()
	o.wrong = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.5, 1}
	if o.file = flag.Arg(0); flag.NArg() != 1 || o.mtp && o.draft != "" || o.by < 1 || o.streams < 1 || o.tokens < 2 {
		fmt.Fprintln(os.Stderr, "draft: want one model file, -mtp or -draft if either, and at least one run, stream and two tokens; see -help")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	must.End("draft", run(ctx, o, os.Stdout, os.Stderr))
}

// A result is one line of the table.
type result struct {
	name          string
	without, with []float64 // tokens a second
	stats         sched.Stats
	tokens        int
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	defer must.Catch(&err)
	began := time.Now()
	watch := stat.StartWatch()
	m := must.Get(open(ctx, o))
	defer m.close()
	var list []result
	note := func(r result) {
		fmt.Fprintf(stderr, "%s: %s\n", r.name, r.line())
		list = append(list, r)
	}
	own := random(64, m.vocab)
	knowing := func(wrong float64, all []token.ID) *oracle {
		return &oracle{wrong: wrong, rng: rand.New(rand.NewPCG(1, 0)), all: all, other: token.ID(special(m.vocab))}
	}
	for _, p := range o.wrong {
		r := must.Get(m.compare(ctx, own, func(all []token.ID) sched.Drafter { return knowing(p, all) }))
		r.name = fmt.Sprintf("wrong with probability %v", p)
		note(r)
	}
	if o.mtp {
		r := must.Get(m.compare(ctx, own, func([]token.ID) sched.Drafter { return m.layer() }))
		r.name = "MTP"
		note(r)
		for _, p := range o.wrong {
			r := must.Get(m.compare(ctx, own, func(all []token.ID) sched.Drafter { return guided{m.layer(), knowing(p, all)} }))
			r.name = fmt.Sprintf("MTP, wrong with probability %v", p)
			note(r)
		}
	}
	if o.draft != "" {
		r := must.Get(m.compare(ctx, own, func([]token.ID) sched.Drafter { return m.drafter() }))
		r.name = filepath.Base(o.draft)
		note(r)
	}
	for _, t := range texts(m.vocab) {
		r := must.Get(m.compare(ctx, t, func([]token.ID) sched.Drafter { return draft.NewLookup(o.streams, m.context) }))
		r.name = "lookup, " + t.name
		note(r)
	}
	text := render(list, o, began, watch.Stop())
	fmt.Fprint(stdout, text)
	if o.out == "" {
		return nil
	}
	name := filepath.Join(o.out, began.Format("2006-01-02-150405")+"-draft.md")
	must.Do(os.WriteFile(name, []byte(text), 0o644))
	fmt.Fprintln(stderr, "written to", name)
	return nil
}

func render(list []result, o options, began time.Time, others stat.Others) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, CPU level %s  \n%s  \n", began.Format("2006-01-02 15:04"), kernels.Level(), others.Stamp())
	fmt.Fprintf(&b, "`go run ./bench/draft %s-streams %d -threads %d -runs %d -tokens %d -draft-tokens %d %s`, median of %d runs, interleaved.\n\n",
		o.kind(), o.streams, o.threads, o.by, o.tokens, o.most, filepath.Base(o.file), o.by)
	b.WriteString("| drafts | tokens drafted | drawn of these | without, tokens/s | range | with | range | ratio |\n|---|---:|---:|---:|---|---:|---|---:|\n")
	for _, r := range list {
		fmt.Fprintf(&b, "| %s | %s |\n", r.name, r.line())
	}
	slowest := slices.MinFunc(list, func(a, b result) int { return cmp.Compare(a.ratio(), b.ratio()) })
	held := "held"
	if slowest.ratio() < floor {
		held = "not held"
	}
	fmt.Fprintf(&b, "\nWith drafts no row may be slower than %.2f times without: %s, the slowest is %.3f (%s).\n", floor, held, slowest.ratio(), slowest.name)
	return b.String()
}

// floor is what the rule that decides how much is drafted promises of any text.
const floor = 0.97

// kind is the flag of what drafts beside lookup.
func (o *options) kind() string {
	switch {
	case o.mtp:
		return "-mtp "
	case o.draft != "":
		return "-draft " + filepath.Base(o.draft) + " "
	}
	return ""
}

// ratio is how many times as fast as without it is with drafts.
func (r *result) ratio() float64 {
	self := func(x float64) float64 { return x }
	return stat.Median(stat.Values(r.with, self)) / stat.Median(stat.Values(r.without, self))
}

func (r *result) line() string {
	drawn := "–"
	if r.stats.DraftTokens > 0 {
		drawn = fmt.Sprintf("%.0f %%", 100*float64(r.stats.AcceptedTokens)/float64(r.stats.DraftTokens))
	}
	self := func(x float64) float64 { return x }
	a, b := stat.Values(r.without, self), stat.Values(r.with, self)
	return fmt.Sprintf("%.2f a token | %s | %.1f | %.1f–%.1f | %.1f | %.1f–%.1f | %.2f",
		float64(r.stats.DraftTokens)/float64(r.tokens), drawn, stat.Median(a), a[0], a[len(a)-1], stat.Median(b), b[0], b[len(b)-1], r.ratio())
}

var errChanged = errors.New("a reply with drafts is not the one without")
