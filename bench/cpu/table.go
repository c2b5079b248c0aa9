package main

import (
	"fmt"
	"strings"

	"quern/bench/internal/stat"
)

// A comparison holds the runs of both programs on one file.
type comparison struct {
	model string
	options
	quern, peer []measurement
}

func (c *comparison) latest() string {
	q, p := c.quern[len(c.quern)-1], c.peer[len(c.peer)-1]
	return fmt.Sprintf("prefill %.1f and %.1f, decode %.1f and %.1f tokens/s", q.Prompt, p.Prompt, q.Generate, p.Generate)
}

// A row is one quantity.
type row struct {
	name   string
	of     func(measurement) float64
	digits int
}

func (c *comparison) rows() []row {
	const mb = 1e6
	tg := fmt.Sprintf("tg%d, tokens/s", c.tg)
	if c.batch > 1 {
		tg = fmt.Sprintf("tg%d × %d, tokens/s", c.tg, c.batch)
	}
	pp := fmt.Sprintf("pp%d, tokens/s", c.pp)
	if c.depth > 0 {
		at := fmt.Sprintf(" behind %d", c.depth)
		pp, tg = pp+at, tg+at
	}
	return []row{
		{pp, func(m measurement) float64 { return m.Prompt }, 1},
		{tg, func(m measurement) float64 { return m.Generate }, 1},
		{"load, s", func(m measurement) float64 { return m.Load }, 2},
		{"peak memory, MB", func(m measurement) float64 { return m.RSS / mb }, 0},
		{"memory read, GB/s", func(m measurement) float64 { return m.Read }, 1},
	}
}

// render makes the table in Markdown. Ranges are smallest to largest.
func render(all []comparison, about []string) string {
	var b strings.Builder
	for _, line := range about {
		fmt.Fprintf(&b, "%s  \n", line)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s, %d threads, median of %d runs, interleaved; quern at %s, node-llama-cpp at %s.\n\n",
			c.model, c.threads, len(c.quern), c.quern[0].CPULevel, c.peer[0].CPULevel)
		b.WriteString("| | quern | range | node-llama-cpp | range | ratio |\n|---|---:|---|---:|---|---:|\n")
		for _, r := range c.rows() {
			q, p := stat.Values(c.quern, r.of), stat.Values(c.peer, r.of)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.name, r.cells(q), r.cells(p), ratio(q, p))
		}
	}
	return b.String()
}

func (r row) cells(v []float64) string {
	if stat.Median(v) == 0 {
		return "– | –"
	}
	return fmt.Sprintf("%.*f | %.*f to %.*f", r.digits, stat.Median(v), r.digits, v[0], r.digits, v[len(v)-1])
}

func ratio(q, p []float64) string {
	if stat.Median(q) == 0 || stat.Median(p) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", stat.Median(q)/stat.Median(p))
}
