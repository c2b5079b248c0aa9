// Command cpu compares quern with llama.cpp on this machine's CPU.
//
// It runs `quern bench` and bench/peers/llama.mjs turn by turn on the same file
// with the same number of threads, takes the median of each and writes the table
// to bench/results. Run it from the root of the repository:
//
//	(cd bench/peers && npm install --ignore-scripts)
//	go run ./bench/ggufgen -shape tinyllama-1.1b -type Q4_K_M -o tinyllama.gguf
//	go run ./bench/cpu tinyllama.gguf
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"quern/bench/internal/must"
)

type options struct {
	files                             []string
	threads, pp, tg, batch, depth, by int
	out                               string
}

// A measurement is what both programs print.
type measurement struct {
	Prompt   float64 `json:"pp_tokens_per_s"`
	Generate float64 `json:"tg_tokens_per_s"`
	Load     float64 `json:"load_s"`
	RSS      float64 `json:"peak_rss_bytes"`
	Read     float64 `json:"read_gb_per_s"` // quern only
	CPULevel string  `json:"cpu_level"`
}

func main() {
	var o options
	flag.Func("model", "model `file`; repeatable, and further files may follow the flags", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	flag.IntVar(&o.threads, "threads", 2, "threads of both programs")
	flag.IntVar(&o.pp, "pp", 512, "prompt tokens")
	flag.IntVar(&o.tg, "tg", 128, "reply tokens")
	flag.IntVar(&o.batch, "batch", 1, "sequences decoded together")
	flag.IntVar(&o.depth, "depth", 0, "tokens that stand before those measured")
	flag.IntVar(&o.by, "runs", 5, "runs of each program")
	flag.StringVar(&o.out, "out", filepath.Join("bench", "results"), "folder for the table; empty writes none")
	flag.Parse()
	o.files = append(o.files, flag.Args()...)
	if len(o.files) == 0 || o.by < 1 {
		fmt.Fprintln(os.Stderr, "cpu: want at least one model file and one run; see -help")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cpu:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "quern-bench-"))
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "quern")
	must.Do(command(ctx, nil, "go", "build", "-o", binary, "./cmd/quern"))
	load := loadAverage()
	var all []comparison
	for _, file := range o.files {
		c := comparison{model: filepath.Base(file), options: o}
		for i := range o.by {
			turn := []func() error{
				func() error { return measure(ctx, &c.quern, quernCommand(binary, file, o)) },
				func() error { return measure(ctx, &c.peer, peerCommand(file, o)) },
			}
			// First one, then the other begins, so that a machine that gets
			// slower over time is unfair to neither.
			if i%2 == 1 {
				turn[0], turn[1] = turn[1], turn[0]
			}
			for _, f := range turn {
				must.Do(f())
			}
			fmt.Fprintf(os.Stderr, "%s, run %d of %d: %s\n", c.model, i+1, o.by, c.latest())
		}
		all = append(all, c)
	}
	text := render(all, machine(load))
	fmt.Print(text)
	if o.out == "" {
		return nil
	}
	name, err := save(o.out, time.Now(), text)
	if err == nil {
		fmt.Fprintln(os.Stderr, "written to", name)
	}
	return err
}

func quernCommand(binary, file string, o options) []string {
	return append([]string{binary, "bench", file, "--json"}, counts(o)...)
}

func peerCommand(file string, o options) []string {
	return append([]string{"node", filepath.Join("bench", "peers", "llama.mjs"), file}, counts(o)...)
}

// counts are the flags both programs know. One run each: the runs are
// interleaved here.
func counts(o options) []string {
	return []string{
		"--threads", strconv.Itoa(o.threads), "--pp", strconv.Itoa(o.pp), "--tg", strconv.Itoa(o.tg),
		"--batch", strconv.Itoa(o.batch), "--depth", strconv.Itoa(o.depth), "--reps", "1",
	}
}

func measure(ctx context.Context, into *[]measurement, args []string) error {
	var out bytes.Buffer
	if err := command(ctx, &out, args...); err != nil {
		return err
	}
	var m measurement
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return fmt.Errorf("%s printed %q: %w", filepath.Base(args[0]), out.String(), err)
	}
	if m.Prompt <= 0 || m.Generate <= 0 {
		return fmt.Errorf("%s measured nothing: %s", filepath.Base(args[0]), out.String())
	}
	*into = append(*into, m)
	return nil
}

// command runs a program; what it says to stderr is shown when it fails.
func command(ctx context.Context, out *bytes.Buffer, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, bytes.TrimSpace(errs.Bytes()))
	}
	return nil
}

// machine describes where and what was measured.
func machine(load string) []string {
	var out []string
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	out = append(out, fmt.Sprintf("Machine: %s, %d CPUs, %s/%s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH))
	commit := "unknown"
	if text, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		commit = strings.TrimSpace(string(text))
	}
	out = append(out, "Commit: "+commit+", "+runtime.Version())
	if load != "" {
		line := "Load average before: " + load
		// Workers wait for the slowest among them, so one thread of another
		// program is enough to spoil a run.
		if n, err := strconv.ParseFloat(load, 64); err == nil && n > 0.5 {
			line += " — the machine was busy, so these numbers do not count"
		}
		out = append(out, line)
	}
	return out
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// save writes text to DATE.md in dir, or to DATE-2.md and so on when there is
// one already.
func save(dir string, now time.Time, text string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	date := now.Format(time.DateOnly)
	for n := 1; ; n++ {
		name := date + ".md"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.md", date, n)
		}
		name = filepath.Join(dir, name)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if _, err := f.WriteString("# " + date + "\n\n" + text); err != nil {
			f.Close()
			return "", err
		}
		return name, f.Close()
	}
}
