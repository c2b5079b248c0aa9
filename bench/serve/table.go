package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// table writes what a contest found, in Markdown: medians of the rounds and their ranges,
// percentiles of all rounds together.
func (c *contest) table(out io.Writer, heats [][][]heat) (err error) {
	defer must.Catch(&err)
	arrivals := "the next request starts when one ends"
	if c.rate > 0 {
		arrivals = fmt.Sprintf("%g requests a second at random times", c.rate)
	}
	prompts := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.prompts)), " and "), "[]")
	must.Get(fmt.Fprintf(out, "Prompts of %s tokens, replies of %d; %s; %d rounds of %v, interleaved. Times in ms: median, 99th percentile.\n\n",
		prompts, c.maxTokens, arrivals, c.rounds, c.length))
	head, rule := "| streams | server | tokens/s |", "|---:|---|---:|"
	for _, n := range c.prompts {
		head += fmt.Sprintf(" first token of %d p50 | p99 |", n)
		rule += "---:|---:|"
	}
	head += " between tokens p50 | p99 |"
	rule += "---:|---:|"
	if c.long > 0 {
		head += fmt.Sprintf(" while %d tokens are read p50 | p99 |", c.long)
		rule += "---:|---:|"
	}
	must.Get(fmt.Fprintf(out, "%s\n%s\n", head, rule))
	for i, streams := range c.streams {
		for k, name := range c.names {
			speeds := stat.Values(heats[i][k], func(h heat) float64 { return h.speed() })
			cell := fmt.Sprintf("%.1f (%.1f to %.1f)", stat.Median(speeds), speeds[0], speeds[len(speeds)-1])
			all := heat{first: map[int][]time.Duration{}}
			for _, h := range heats[i][k] {
				for n, list := range h.first {
					all.first[n] = append(all.first[n], list...)
				}
				all.gaps = append(all.gaps, h.gaps...)
				all.during = append(all.during, h.during...)
			}
			row := fmt.Sprintf("| %d | %s | %s |", streams, name, cell)
			for _, n := range c.prompts {
				first := percentiles(all.first[n])
				row += fmt.Sprintf(" %.0f | %.0f |", first[0], first[2])
			}
			gaps := percentiles(all.gaps)
			row += fmt.Sprintf(" %.0f | %.0f |", gaps[0], gaps[2])
			if c.long > 0 {
				during := percentiles(all.during)
				row += fmt.Sprintf(" %.0f | %.0f |", during[0], during[2])
			}
			must.Get(fmt.Fprintln(out, row))
		}
	}
	return nil
}

// problems are what went wrong, by server.
func (c *contest) problems(heats [][][]heat) (out []string) {
	for _, servers := range heats {
		for k, rounds := range servers {
			for _, h := range rounds {
				for _, p := range h.problems {
					if line := c.names[k] + ": " + p; !slices.Contains(out, line) {
						out = append(out, line)
					}
				}
			}
		}
	}
	return out
}

// percentiles returns the 50th, 90th and 99th percentile and the maximum, by
// nearest rank, in milliseconds; zeros when there are no durations.
func percentiles(d []time.Duration) (p [4]float64) {
	if len(d) == 0 {
		return p
	}
	slices.Sort(d)
	for i, share := range []int{50, 90, 99, 100} {
		rank := (len(d)*share + 99) / 100
		p[i] = float64(d[max(rank, 1)-1].Microseconds()) / 1000
	}
	return p
}
