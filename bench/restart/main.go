// Command restart measures how soon a long prompt is answered after a restart, with the prefix
// cache on disk:
//
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//	go run ./bench/restart tinyllama.gguf
//
// Each run has a folder of its own and three processes of this program. The first computes a
// prompt, then has it again from memory. The second has it from disk, from files that the system
// still has in memory; the third from those that the system was advised to drop (on Linux). Both also compute
// another prompt of that length. The replies are compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/bench/internal/system"
	"quern/engine"
	"quern/engine/local"
	"quern/engine/token"
	"quern/kernels/quant"
)

// types are those of KV caches on the CPU.
var types = map[string]quant.Type{"f16": quant.F16, "f32": quant.F32, "q8_0": quant.Q8_0, "q4_0": quant.Q4_0}

type options struct {
	model, dir, cacheType string
	tokens, runs, threads int
	asJSON                bool
	visit                 string // of a process that is one: what it does
}

func main() {
	must.End("restart", run(os.Args[1:], os.Stdout))
}

func run(args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	var o options
	flags := flag.NewFlagSet("restart", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "`folder` on the disk to be measured (default that of temporary files)")
	flags.StringVar(&o.cacheType, "cache-type", "f16", "of the KV cache: f16, f32, q8_0 or q4_0")
	flags.IntVar(&o.tokens, "tokens", 6000, "of the prompt")
	flags.IntVar(&o.runs, "runs", 3, "runs")
	flags.IntVar(&o.threads, "threads", 0, "compute threads; 0 is one per core")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.visit, "visit", "", "of the processes it starts")
	must.Do(flags.Parse(args))
	if _, ok := types[o.cacheType]; !ok {
		return fmt.Errorf("no cache of %q", o.cacheType)
	}
	if flags.NArg() != 1 || o.tokens < 64 || o.runs < 1 {
		return errors.New("want one model file, 64 tokens or more and a run or more")
	}
	o.model = flags.Arg(0)
	if o.visit != "" {
		return json.NewEncoder(out).Encode(must.Get(visit(o)))
	}
	var all results
	for i := range o.runs {
		must.Do(all.measure(o))
		fmt.Fprintf(os.Stderr, "run %d of %d\n", i+1, o.runs)
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(all)
	}
	all.print(out, o)
	return nil
}

// results are by row and run, in milliseconds.
type results struct {
	Load, LoadAgain            []float64 // of the model: the first time its weights are hashed
	Cold, Memory, Disk, Forgot []float64 // to the first token
	Bytes                      int64     // of the folder
	Files                      int
}

// measure makes one run.
func (r *results) measure(o options) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp(o.dir, "quern-restart-"))
	defer os.RemoveAll(dir)
	o.dir = filepath.Join(dir, "cache")
	first := must.Get(start(o, "first"))
	r.Load = append(r.Load, first.Load)
	r.Cold = append(r.Cold, first.First[0])
	r.Memory = append(r.Memory, first.First[1])
	r.Bytes, r.Files = 0, 0
	must.Do(filepath.WalkDir(o.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			r.Files++
			r.Bytes += must.Get(d.Info()).Size()
		}
		return err
	}))
	for what, to := range map[string]*[]float64{"again": &r.Disk, "forgotten": &r.Forgot} {
		if to == &r.Forgot {
			if !must.Get(forget(o.dir)) {
				continue
			}
		}
		v := must.Get(start(o, what))
		r.LoadAgain = append(r.LoadAgain, v.Load)
		*to = append(*to, v.First[0])
		r.Cold = append(r.Cold, v.First[1])
		if want := (o.tokens - 1) / 32 * 32; v.Cached != want || v.Reply != first.Reply {
			return fmt.Errorf("after a restart %d tokens are found, want %d, and the reply is %s, want %s", v.Cached, want, v.Reply, first.Reply)
		}
	}
	return nil
}

// forget has the system drop what it has of the files in dir from memory. It reports whether it
// can.
func forget(dir string) (can bool, err error) {
	can = true
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			can, err = system.Forget(path)
		}
		return err
	})
	return can, err
}

// start runs a process of this program.
func start(o options, what string) (v visited, err error) {
	defer must.Catch(&err)
	cmd := exec.Command(must.Get(os.Executable()), "-visit", what, "-dir", o.dir, "-cache-type", o.cacheType, "-tokens", fmt.Sprint(o.tokens), "-threads", fmt.Sprint(o.threads), o.model)
	cmd.Stderr = os.Stderr
	must.Do(json.Unmarshal(must.Get(cmd.Output()), &v))
	return v, nil
}

// visited is what a process tells.
type visited struct {
	Load   float64
	First  []float64
	Reply  string
	Cached int
}

func visit(o options) (v visited, err error) {
	defer must.Catch(&err)
	ctx := context.Background()
	m := engine.ModelOptions{Name: "m", Path: o.model, ContextLength: o.tokens + 64, Slots: 1, CacheType: types[o.cacheType]}
	e := must.Get(local.New(engine.Options{Models: []engine.ModelOptions{m}, Threads: o.threads, Device: "cpu", PrefixCache: engine.PrefixCache{Dir: o.dir}}))
	defer func() { must.Do(e.Close()) }()
	begun := time.Now()
	l := must.Get(e.Open(ctx, "m"))
	defer l.Release()
	v.Load = millis(time.Since(begun))
	seeds := []uint64{1, 1} // from memory
	if o.visit != "first" {
		seeds[1] = uint64(len(o.visit)) // one that is new, to be computed
	}
	for i, seed := range seeds {
		took, reply, cached := ask(ctx, l, prompt(o.tokens, seed))
		v.First = append(v.First, millis(took))
		if i == 0 {
			v.Reply, v.Cached = reply, cached
		}
	}
	return v, nil
}

// ask is the time to the first token, the reply and how much of the prompt was found.
func ask(ctx context.Context, l engine.Lease, ids []token.ID) (first time.Duration, reply string, cached int) {
	r := engine.GenerateRequest{Prompt: engine.Prompt{Tokens: ids}, MaxTokens: 8, IgnoreEOS: true}
	r.Sample.Logprobs = true
	var drawn []token.ID
	for ev, err := range l.Generate(ctx, r) {
		must.Do(err)
		for _, t := range ev.Logprobs {
			drawn = append(drawn, t.ID)
		}
		if ev.Type == engine.Done {
			first, cached = ev.Timings.First, ev.CachedTokens
		}
	}
	return first, fmt.Sprint(drawn), cached
}

// prompt is tokens behind the special ones of any vocabulary.
func prompt(n int, seed uint64) []token.ID {
	r := rand.New(rand.NewPCG(seed, 0))
	ids := make([]token.ID, n)
	for i := range ids {
		ids[i] = token.ID(300 + r.IntN(1000))
	}
	return ids
}

func (r *results) print(out io.Writer, o options) {
	cold := stat.Median(r.Cold)
	fmt.Fprintf(out, "| first token of %d tokens, %s | ms, median (range) | of computing |\n|---|---:|---:|\n", o.tokens, strings.ToUpper(o.cacheType))
	for _, row := range []struct {
		name string
		ms   []float64
	}{{"computed", r.Cold}, {"in memory", r.Memory}, {"after a restart", r.Disk}, {"after a restart, files not in memory", r.Forgot}} {
		if len(row.ms) > 0 {
			fmt.Fprintf(out, "| %s | %.0f (%.0f to %.0f) | %.2f %% |\n", row.name, stat.Median(row.ms), slices.Min(row.ms), slices.Max(row.ms), 100*stat.Median(row.ms)/cold)
		}
	}
	fmt.Fprintf(out, "\n%d files, %.1f MB; loading took %.0f ms the first time, then %.0f.\n", r.Files, float64(r.Bytes)/1e6, stat.Median(r.Load), stat.Median(r.LoadAgain))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
