package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// A measurement is one run, as `quern bench --json` and llama.mjs print it. What a program
// does not tell is 0.
type measurement struct {
	Prompt      float64 `json:"pp_tokens_per_s"`
	Generate    float64 `json:"tg_tokens_per_s"`
	Load        float64 `json:"load_s,omitempty"`
	RSS         float64 `json:"peak_rss_bytes,omitempty"`
	Read        float64 `json:"read_gb_per_s,omitempty"`         // quern only
	MachineRead float64 `json:"machine_read_gb_per_s,omitempty"` // quern only
	CPULevel    string  `json:"cpu_level,omitempty"`
}

// A program is quern, or a peer in one of its modes.
type program struct {
	Name string        `json:"name"`
	Mode string        `json:"mode,omitempty"` // the flags of the mode
	Runs []measurement `json:"runs"`

	args []string
	read func(out []byte) (measurement, error)
}

func (p *program) title() string { return strings.TrimSpace(p.Name + " " + p.Mode) }

// measure runs the program once.
func (p *program) measure(ctx context.Context) (err error) {
	defer must.Catch(&err)
	var out bytes.Buffer
	peak := must.Get(execute(ctx, &out, p.args...))
	m, err := p.read(out.Bytes())
	if err != nil {
		return fmt.Errorf("%s printed %q: %w", filepath.Base(p.args[0]), out.String(), err)
	}
	if m.Prompt <= 0 || m.Generate <= 0 {
		return fmt.Errorf("%s measured nothing: %s", filepath.Base(p.args[0]), out.String())
	}
	m.RSS = cmp.Or(m.RSS, peak)
	p.Runs = append(p.Runs, m)
	return nil
}

// programs are quern, which is first, and its peers.
func (c *comparison) programs(ctx context.Context, binary, file string) (_ []*program, err error) {
	defer must.Catch(&err)
	// One run each: the runs are interleaved here.
	counts := []string{
		"--threads", strconv.Itoa(c.Threads), "--pp", strconv.Itoa(c.PP), "--tg", strconv.Itoa(c.TG),
		"--batch", strconv.Itoa(c.Batch), "--depth", strconv.Itoa(c.Depth), "--reps", "1",
	}
	ours := []string{binary, "bench", file, "--json"}
	var caches []string // of a peer
	if c.Cache != "" {
		if c.node {
			return nil, errors.New("node-llama-cpp has caches of f16: leave out -cache-type, or say -node=false")
		}
		ours = append(ours, "--cache-type", c.Cache)
		caches = []string{"-ctk", c.Cache, "-ctv", c.Cache}
	}
	if c.Rounds {
		ours = append(ours, "--round-floats")
	}
	out := []*program{{Name: "quern", args: append(ours, counts...), read: readOurs}}
	if c.node {
		script := filepath.Join("bench", "peers", "llama.mjs")
		out = append(out, &program{Name: "node-llama-cpp", args: append([]string{"node", script, file}, counts...), read: readOurs})
	}
	for _, t := range c.benches {
		if c.Batch != 1 {
			return nil, fmt.Errorf("%s: llama-bench decodes one sequence; leave it out with -batch", t.name)
		}
		if c.Depth > 0 {
			p := must.Get(c.sweep(t, file, caches))
			out = append(out, p)
			continue
		}
		modes := must.Get(modesOf(ctx, t))
		for _, mode := range modes {
			args := append([]string{t.path, "-m", file, "-t", strconv.Itoa(c.Threads), "-p", strconv.Itoa(c.PP), "-n", strconv.Itoa(c.TG), "-r", "1", "-o", "json"}, slices.Concat(caches, mode)...)
			out = append(out, &program{Name: t.name, Mode: strings.Join(mode, " "), args: args, read: readLlamaBench})
		}
	}
	return out, nil
}

// modesOf returns the ways in which a llama-bench may be fastest: as it comes, and with
// the weights repacked while loading where it can (ik_llama.cpp's -rtr).
func modesOf(ctx context.Context, t tool) ([][]string, error) {
	var help bytes.Buffer
	// llama-bench ends its help with status 0 or 1, by its version.
	var exit *exec.ExitError
	if _, err := execute(ctx, &help, t.path, "--help"); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	modes := [][]string{nil}
	if strings.Contains(help.String(), "-rtr,") {
		modes = append(modes, []string{"-rtr", "1"})
	}
	return modes, nil
}

func readOurs(out []byte) (m measurement, err error) { return m, json.Unmarshal(out, &m) }

// readLlamaBench reads what llama-bench prints with -o json: an entry for the prompt and
// one for the reply.
func readLlamaBench(out []byte) (m measurement, err error) {
	var tests []struct {
		Prompt   int     `json:"n_prompt"`
		Generate int     `json:"n_gen"`
		Speed    float64 `json:"avg_ts"`
	}
	if i := bytes.IndexByte(out, '['); i > 0 {
		out = out[i:] // what it says of the device comes before
	}
	if err := json.Unmarshal(out, &tests); err != nil {
		return m, err
	}
	for _, t := range tests {
		switch {
		case t.Prompt > 0 && t.Generate == 0:
			m.Prompt = t.Speed
		case t.Generate > 0 && t.Prompt == 0:
			m.Generate = t.Speed
		}
	}
	return m, nil
}

// sweep is a program's llama-sweep-bench, beside its llama-bench. It measures prompt and reply
// behind every whole number of prompts, and so behind c.Depth tokens last.
func (c *comparison) sweep(t tool, file string, caches []string) (*program, error) {
	if c.Depth%c.PP != 0 {
		return nil, fmt.Errorf("%s: -depth %d is no multiple of -pp %d", t.name, c.Depth, c.PP)
	}
	number := strconv.Itoa
	mode := []string{"-fa", "on"}
	args := append([]string{
		filepath.Join(filepath.Dir(t.path), "llama-sweep-bench"), "-m", file, "-t", number(c.Threads), "-c", number(c.Depth + max(c.PP, c.TG)),
		"-b", number(c.PP), "-ub", number(c.PP), "-n", number(c.TG),
	}, slices.Concat(caches, mode)...)
	return &program{Name: t.name, Mode: strings.Join(mode, " "), args: args, read: func(out []byte) (measurement, error) { return readSweep(out, c.Depth) }}, nil
}

// readSweep reads the table of llama-sweep-bench: a line
//
//	| prompt | reply | tokens before | s | tokens/s of the prompt | s | of the reply |
//
// for every depth, of which that of depth counts.
func readSweep(out []byte, depth int) (m measurement, err error) {
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.ReplaceAll(line, " ", ""), "|")
		if len(cells) == 9 && cells[3] == strconv.Itoa(depth) {
			var e1, e2 error
			m.Prompt, e1 = strconv.ParseFloat(cells[5], 64)
			m.Generate, e2 = strconv.ParseFloat(cells[7], 64)
			return m, errors.Join(e1, e2)
		}
	}
	return m, fmt.Errorf("no line for %d tokens", depth)
}

// latest tells how fast each program was just now.
func latest(programs []*program) string {
	var b strings.Builder
	for i, p := range programs {
		if i > 0 {
			b.WriteString("; ")
		}
		m := p.Runs[len(p.Runs)-1]
		fmt.Fprintf(&b, "%s %.1f and %.1f tokens/s", p.title(), m.Prompt, m.Generate)
	}
	return b.String()
}

// execute runs a program and returns the most memory it had resident, in bytes, 0 where the
// system does not say. What it says to stderr is shown when it fails.
func execute(ctx context.Context, out *bytes.Buffer, args ...string) (peak float64, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if out != nil {
		cmd.Stdout = out
		defer func() {
			if out.Len() == 0 { // builds of llama-sweep-bench that log their table
				out.Write(errs.Bytes())
			}
		}()
	}
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, bytes.TrimSpace(errs.Bytes()))
	}
	return stat.PeakRSS(cmd.ProcessState), nil
}
