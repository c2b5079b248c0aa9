package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// A result is what one call measured.
type result struct {
	Date    string       `json:"date"`
	Machine host         `json:"machine"`
	Models  []comparison `json:"models"`
}

// A host is where it was measured, with what.
type host struct {
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	OS     string `json:"os"`
	Commit string `json:"commit"`
	Go     string `json:"go"`

	Others *stat.Others `json:"others,omitempty"`
}

func (h host) busy() bool { return h.Others != nil && h.Others.Busy() }

func machine() host {
	h := host{CPU: runtime.GOARCH, CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Commit: "unknown", Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				h.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		h.Commit = strings.TrimSpace(string(text))
	}
	return h
}

// A comparison holds the runs of all programs on one file, quern's first.
type comparison struct {
	Model string `json:"model"`
	options
	Programs []program `json:"programs"`
}

// A quantity is a row of the table.
type quantity struct {
	name   string
	of     func(measurement) float64
	digits int
	less   bool // is better
}

// values are the quantity of all runs of a program, in ascending order.
func (q quantity) values(p program) []float64 { return stat.Values(p.Runs, q.of) }

func (c *comparison) prompt() quantity {
	return quantity{fmt.Sprintf("pp%d, tokens/s", c.PP) + c.behind(), func(m measurement) float64 { return m.Prompt }, 1, false}
}

func (c *comparison) reply() quantity {
	name := fmt.Sprintf("tg%d, tokens/s", c.TG)
	if c.Batch > 1 {
		name = fmt.Sprintf("tg%d × %d, tokens/s", c.TG, c.Batch)
	}
	return quantity{name + c.behind(), func(m measurement) float64 { return m.Generate }, 1, false}
}

func (c *comparison) behind() string {
	if c.Depth == 0 {
		return ""
	}
	return fmt.Sprintf(" behind %d", c.Depth)
}

var (
	loading = quantity{"load, s", func(m measurement) float64 { return m.Load }, 2, true}
	memory  = quantity{"peak memory, MB", func(m measurement) float64 { return m.RSS / 1e6 }, 0, true}
	read    = quantity{"memory read, GB/s", func(m measurement) float64 { return m.Read }, 1, false}
	readers = quantity{"memory gives, GB/s", func(m measurement) float64 { return m.MachineRead }, 1, false}
)

// best is the peer with the best median, nil if no peer tells.
func (c *comparison) best(q quantity) *program {
	var best *program
	for i := range c.Programs[1:] {
		p := &c.Programs[1+i]
		v := stat.Median(q.values(*p))
		if v == 0 {
			continue
		}
		if best == nil || (v < stat.Median(q.values(*best))) == q.less {
			best = p
		}
	}
	return best
}

// ratio is quern's median divided by the best peer's, 0 if either is missing.
func (c *comparison) ratio(q quantity) float64 {
	p := c.best(q)
	if p == nil {
		return 0
	}
	return stat.Median(q.values(c.Programs[0])) / stat.Median(q.values(*p))
}

// render makes tables in Markdown: medians, and smallest and largest.
func (r *result) render() string {
	var b strings.Builder
	h := r.Machine
	fmt.Fprintf(&b, "Machine: %s, %d CPUs, %s  \nCommit: %s, %s  \n", h.CPU, h.CPUs, h.OS, h.Commit, h.Go)
	if h.Others != nil {
		b.WriteString(h.Others.Stamp() + "  \n")
	}
	for _, c := range r.Models {
		caches := ""
		if c.Cache != "" {
			caches = ", caches of " + c.Cache
		}
		fmt.Fprintf(&b, "\n%s, %d threads, median of %d runs, interleaved; quern at %s%s.\n\n|", c.Model, c.Threads, len(c.Programs[0].Runs), c.Programs[0].Runs[0].CPULevel, caches)
		for _, p := range c.Programs {
			fmt.Fprintf(&b, " | %s", p.title())
		}
		b.WriteString(" | quern / best |\n|---" + strings.Repeat("|---:", len(c.Programs)+1) + "|\n")
		for _, q := range []quantity{c.prompt(), c.reply(), loading, memory, read, readers} {
			fmt.Fprintf(&b, "| %s", q.name)
			for _, p := range c.Programs {
				b.WriteString(" | " + q.cell(p))
			}
			ratio := "–"
			if x := c.ratio(q); x > 0 {
				ratio = fmt.Sprintf("%.2f", x)
			}
			fmt.Fprintf(&b, " | %s |\n", ratio)
		}
	}
	return b.String()
}

// cell is a median with its range.
func (q quantity) cell(p program) string {
	v := q.values(p)
	if stat.Median(v) == 0 {
		return "–"
	}
	middle := fmt.Sprintf("%.*f", q.digits, stat.Median(v))
	if len(v) == 1 {
		return middle
	}
	return fmt.Sprintf("%s (%.*f to %.*f)", middle, q.digits, v[0], q.digits, v[len(v)-1])
}

// save writes the table and the runs to DATE.md and DATE.json in dir, or to DATE-2.md and
// so on when there are such already. It returns the table's name.
func (r *result) save(dir string) (_ string, err error) {
	defer must.Catch(&err)
	must.Do(os.MkdirAll(dir, 0o755))
	runs := must.Get(json.MarshalIndent(r, "", " "))
	for n := 1; ; n++ {
		name := filepath.Join(dir, r.Date)
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		f, err := os.OpenFile(name+".md", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		must.Do(err)
		_, err = f.WriteString("# " + r.Date + "\n\n" + r.render())
		must.Do(errors.Join(err, f.Close()))
		return name + ".md", os.WriteFile(name+".json", append(runs, '\n'), 0o644)
	}
}
