// Command cpu compares quern with llama.cpp on this machine's CPU.
//
// It runs `quern bench` and its peers turn by turn on the same file with the same number
// of threads, and writes the medians to bench/results: a table for people and the runs as
// JSON, from which -readme makes the table of BUILD.md. Run it from the root of the
// repository:
//
//	(cd bench/peers && npm install --ignore-scripts)
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//	go run ./bench/cpu -llama-bench ik_llama.cpp=PATH/llama-bench tinyllama.gguf
//	go run ./bench/cpu -readme
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

type options struct {
	Threads int    `json:"threads"`
	PP      int    `json:"pp"`
	TG      int    `json:"tg"`
	Batch   int    `json:"batch"`
	Depth   int    `json:"depth"`
	Rounds  bool   `json:"round_floats,omitempty"`
	Cache   string `json:"cache_type,omitempty"`
	files   []string
	benches []tool // llama-bench of other programs
	node    bool
	by      int
	out     string
}

// A tool is another program: what to call it, and where it is.
type tool struct{ name, path string }

func main() {
	var o options
	var readme, check bool
	flag.Func("model", "model `file`; repeatable, and further files may follow the flags", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	flag.Func("llama-bench", "`NAME=PATH` of a llama-bench to measure beside, repeatable: ik_llama.cpp's, llama.cpp's", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok || name == "" || path == "" {
			return errors.New("want NAME=PATH")
		}
		o.benches = append(o.benches, tool{name, path})
		return nil
	})
	flag.BoolVar(&o.node, "node", true, "measure beside node-llama-cpp, installed in bench/peers or $PEER_DIR")
	flag.IntVar(&o.Threads, "threads", 2, "threads of all programs")
	flag.IntVar(&o.PP, "pp", 512, "prompt tokens")
	flag.IntVar(&o.TG, "tg", 128, "reply tokens")
	flag.IntVar(&o.Batch, "batch", 1, "sequences decoded together")
	flag.IntVar(&o.Depth, "depth", 0, "tokens that stand before those measured")
	flag.StringVar(&o.Cache, "cache-type", "", "number type of the KV caches of quern and of -llama-bench, f16 if empty; without -node")
	flag.BoolVar(&o.Rounds, "round-floats", false, "quern rounds floats, as the peers do")
	flag.IntVar(&o.by, "runs", 5, "runs of each program")
	flag.StringVar(&o.out, "out", filepath.Join("bench", "results"), "folder for the results; empty writes none")
	flag.BoolVar(&readme, "readme", false, "measure nothing: write the table of BUILD.md from the newest results")
	flag.BoolVar(&check, "check", false, "with -readme, write nothing and fail where the table is another")
	flag.Parse()
	o.files = append(o.files, flag.Args()...)
	if readme {
		if err := writeReadme(o.out, "BUILD.md", check); err != nil {
			fmt.Fprintln(os.Stderr, "cpu:", err)
			os.Exit(1)
		}
		return
	}
	if len(o.files) == 0 || o.by < 1 || check {
		fmt.Fprintln(os.Stderr, "cpu: want at least one model file and one run; see -help")
		os.Exit(2)
	}
	if !o.node && len(o.benches) == 0 {
		fmt.Fprintln(os.Stderr, "cpu: nothing to compare with: -node or -llama-bench")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	must.End("cpu", run(ctx, o))
}

func run(ctx context.Context, o options) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "quern-bench-"))
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "quern")
	must.Get(execute(ctx, nil, "go", "build", "-o", binary, "./cmd/quern"))
	r := result{Date: time.Now().Format(time.DateOnly), Machine: machine()}
	watch := stat.StartWatch()
	for _, file := range o.files {
		c := comparison{Model: strings.TrimSuffix(filepath.Base(file), ".gguf"), options: o}
		programs := must.Get(c.programs(ctx, binary, file))
		for i := range o.by {
			// The order turns around, so that a machine that gets slower over time is
			// unfair to none of them.
			for k := range programs {
				if i%2 == 1 {
					k = len(programs) - 1 - k
				}
				must.Do(programs[k].measure(ctx))
			}
			fmt.Fprintf(os.Stderr, "%s, run %d of %d: %s\n", c.Model, i+1, o.by, latest(programs))
		}
		for _, p := range programs {
			c.Programs = append(c.Programs, *p)
		}
		r.Models = append(r.Models, c)
	}
	others := watch.Stop()
	r.Machine.Others = &others
	fmt.Print(r.render())
	if o.out == "" {
		return nil
	}
	name, err := r.save(o.out)
	if err == nil {
		fmt.Fprintln(os.Stderr, "written to", name)
	}
	return err
}
