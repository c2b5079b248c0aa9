// Command cuda measures quern on a machine with a GPU and without a Go toolchain.
//
// bench/cuda/run.sh builds it, and runs it there with the quern binary and
// ggufgen beside it. It looks for the first kernel that gives something else than the
// interpreter, holds logits of the GPU against the CPU's on a small shape, times the
// kernels for products of many rows, and then runs `quern bench` on a large shape,
// whose files of random weights it generates. Results are written as they come, so
// that an end without warning loses one number.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/kernels/cuda/driver"
)

type options struct {
	quern, gen    string // programs
	dir, out      string
	shape, small  string
	families      string
	types, stages []string
	batches       []int
	device        string
	until         time.Time
	twin          time.Duration // for comparing kernel by kernel
	on            bool          // also after something wrong
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	must.End("cuda", run(ctx, os.Args[1:]))
}

// stages are what can be asked for, in the order they run.
var stages = []struct {
	name string
	must bool // the next have no meaning after its failure
	run  func(context.Context, *options, io.Writer) error
}{
	{"info", false, info},
	{"twin", true, twin},
	{"check", true, check},
	{"gemm", false, gemm},
	{"speed", false, speed},
	{"peer", false, peer},
}

func run(ctx context.Context, args []string) (err error) {
	defer must.Catch(&err)
	var (
		o                     options
		types, names, batches string
		budget                time.Duration
		beside                = filepath.Dir(os.Args[0])
		flags                 = flag.NewFlagSet("cuda", flag.ContinueOnError)
		list                  = func(s string) []string {
			return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		}
		every []string
	)
	for _, s := range stages {
		every = append(every, s.name)
	}
	flags.StringVar(&o.quern, "quern", filepath.Join(beside, "quern"), "the quern `program`, built with -tags cuda")
	flags.StringVar(&o.gen, "ggufgen", filepath.Join(beside, "ggufgen"), "the ggufgen `program`")
	flags.StringVar(&o.dir, "dir", "/dev/shm/quern", "`folder` for models")
	flags.StringVar(&o.out, "out", "cuda.jsonl", "`file` results are appended to, one JSON object a line")
	flags.StringVar(&o.shape, "shape", "llama-3.1-8b", "shape whose speed is measured")
	flags.StringVar(&o.small, "small", "tinyllama-1.1b", "shape whose logits are checked, with four layers")
	flags.StringVar(&o.families, "families", "engine/model/testdata/*.gguf,engine/model/testdata/made/*/*.gguf", "`patterns` of model files whose logits are checked too, with commas between")
	flags.StringVar(&types, "types", "Q4_K_M,Q8_0,F16", "types of weights")
	flags.StringVar(&names, "stages", strings.Join(every, ","), "what to do")
	flags.StringVar(&batches, "batches", "1,8,32,128,256", "sequences decoded together")
	flags.StringVar(&o.device, "device", "cuda", "device: cuda, cuda:1 or, to try the script, cpu")
	flags.DurationVar(&o.twin, "twin", 75*time.Second, "compare kernel by kernel for about this `time`")
	flags.BoolVar(&o.on, "on", false, "go on to speeds though something is wrong")
	flags.DurationVar(&budget, "budget", 9*time.Minute, "start nothing new after this `time`")
	must.Do(flags.Parse(args))
	o.types, o.stages, o.until = list(types), list(names), time.Now().Add(budget)
	for _, s := range o.stages {
		if !slices.Contains(every, s) {
			return fmt.Errorf("no stage %q", s)
		}
	}
	for _, s := range list(batches) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("batch %q", s)
		}
		o.batches = append(o.batches, n)
	}
	if strings.HasPrefix(o.device, "cuda") {
		// Before anything is generated for it.
		must.Do(present())
	}
	must.Do(os.MkdirAll(o.dir, 0o755))
	f := must.Get(os.OpenFile(o.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	defer f.Close()
	var failed error
	for _, s := range stages {
		if !slices.Contains(o.stages, s.name) {
			continue
		}
		fmt.Printf("== %s\n", s.name)
		start := time.Now()
		err := s.run(ctx, &o, f)
		if err != nil {
			fmt.Printf("%s failed: %v\n", s.name, err)
			record(f, map[string]any{"stage": s.name, "error": err.Error()})
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Printf("-- %s took %.0f s\n", s.name, time.Since(start).Seconds())
		// A speed that cannot be had does not keep the next stage from its numbers; the
		// speed of what is wrong is none.
		if err != nil && s.must && !o.on {
			return fmt.Errorf("%w\nno speeds are measured of what is wrong: -on does, -stages asks for some", failed)
		}
	}
	return failed
}

func record(w io.Writer, v map[string]any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own making
	}
	w.Write(append(b, '\n'))
}

// present returns an error where there is no device to measure.
func present() error {
	drv, err := driver.Open()
	if err != nil {
		return err
	}
	list, err := drv.Devices()
	if err == nil && len(list) == 0 {
		err = errors.New("the driver has no device")
	}
	return err
}

// info notes the machine.
func info(ctx context.Context, _ *options, w io.Writer) error {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader").Output()
	if err != nil {
		return fmt.Errorf("nvidia-smi: %w", err)
	}
	fmt.Print(string(out))
	record(w, map[string]any{"stage": "info", "date": time.Now().UTC().Format(time.DateOnly), "gpu": strings.TrimSpace(string(out))})
	return nil
}

// model returns a file of that shape and type with so many layers, 0 for all,
// generating it where it is not.
func (o *options) model(ctx context.Context, shape, typ string, layers int) (string, error) {
	path := filepath.Join(o.dir, fmt.Sprintf("%s-%s-%d.gguf", shape, typ, layers))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	out, err := exec.CommandContext(ctx, o.gen, "-shape", shape, "-type", typ, "-layers", strconv.Itoa(layers), "-o", path).CombinedOutput()
	fmt.Print(string(out))
	if err != nil {
		return "", fmt.Errorf("ggufgen: %w", err)
	}
	return path, nil
}

// A speedRun is one call of quern bench.
type speedRun struct{ prompt, generate, batch, depth, reps int }

// contextOfMany is what stands before the tokens of several sequences: what they
// read of the cache then counts as in use.
const contextOfMany = 1024

// errTime ends the stage.
var errTime = errors.New("out of time")

// speed measures every type: prompts of 512 and 4096 tokens, and 128 tokens of
// all batches, several together behind contextOfMany; of the first type long
// contexts too. A model goes when its numbers are there; memory holds one.
func speed(ctx context.Context, o *options, w io.Writer) error {
	var all error
	for i, typ := range o.types {
		path, err := o.model(ctx, o.shape, typ, 0)
		if err != nil {
			return errors.Join(all, err)
		}
		var runs []speedRun
		for _, b := range o.batches {
			depth := 0
			if b > 1 {
				depth = contextOfMany
			}
			runs = append(runs, speedRun{512, 128, b, depth, 3})
		}
		runs = slices.Insert(runs, min(1, len(runs)), speedRun{4096, 32, 1, 0, 3})
		if i == 0 {
			runs = append(runs, speedRun{512, 64, 1, 8192, 1}, speedRun{512, 64, 1, 32768, 1})
		}
		for _, r := range runs {
			// A batch that is too large says nothing about the others.
			if err := o.bench(ctx, w, path, typ, r); err != nil {
				fmt.Println(err)
				if all = errors.Join(all, err); errors.Is(err, errTime) || ctx.Err() != nil {
					break
				}
			}
		}
		if err := os.Remove(path); err != nil || errors.Is(all, errTime) || ctx.Err() != nil {
			return errors.Join(all, err)
		}
	}
	return all
}

func (o *options) bench(ctx context.Context, w io.Writer, path, typ string, r speedRun) error {
	if time.Now().After(o.until) {
		return errTime
	}
	cmd := exec.CommandContext(ctx, o.quern, "bench", "--device", o.device, "--json", "--pp", strconv.Itoa(r.prompt), "--tg", strconv.Itoa(r.generate),
		"--batch", strconv.Itoa(r.batch), "--depth", strconv.Itoa(r.depth), "--reps", strconv.Itoa(r.reps), path)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s batch %d: %w: %s", typ, r.batch, err, strings.TrimSpace(problem.String()))
	}
	var m struct {
		Prompt   float64 `json:"pp_tokens_per_s"`
		Generate float64 `json:"tg_tokens_per_s"`
		Read     float64 `json:"read_gb_per_s"`
		Load     float64 `json:"load_s"`
		Device   string  `json:"device"`
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return fmt.Errorf("quern bench: %w: %q", err, out)
	}
	fmt.Printf("%-7s pp%-5d %9.1f tok/s   tg%-4d batch %-4d behind %-5d %9.1f tok/s   %7.1f GB/s read, loaded in %.1f s, %.0f s in all\n",
		typ, r.prompt, m.Prompt, r.generate, r.batch, r.depth, m.Generate, m.Read, m.Load, time.Since(start).Seconds())
	record(w, map[string]any{"stage": "speed", "shape": o.shape, "type": typ, "device": m.Device, "pp": r.prompt, "tg": r.generate, "batch": r.batch, "depth": r.depth,
		"pp_tokens_per_s": m.Prompt, "tg_tokens_per_s": m.Generate, "read_gb_per_s": m.Read, "load_s": m.Load})
	return nil
}

// peer runs the same shape in PyTorch, where that is installed.
func peer(ctx context.Context, o *options, w io.Writer) error {
	script := filepath.Join(filepath.Dir(os.Args[0]), "torch_peer.py")
	if err := exec.CommandContext(ctx, "python3", "-c", "import torch; assert torch.cuda.is_available()").Run(); err != nil {
		fmt.Println("no PyTorch with CUDA here")
		return nil
	}
	cmd := exec.CommandContext(ctx, "python3", script)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	fmt.Print(string(out))
	w.Write(out)
	return err
}
