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
// percentiles of all rounds together. others is what other programs used before.
func (c *contest) table(out io.Writer, heats [][][]heat, others stat.Others) (err error) {
	defer must.Catch(&err)
	random := c.loads[0].rate > 0
	arrivals := "the next request starts when one ends"
	if random {
		arrivals = fmt.Sprintf("requests at random times (Poisson), at most %d open, the others wait", c.loads[0].streams)
	}
	prompts := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.prompts)), " and "), "[]")
	must.Get(fmt.Fprintf(out, "Prompts of %s tokens, replies of %d; %s; %d rounds of %v, interleaved, seed %d. Times in ms: median, 99th percentile.\n%s\n\n",
		prompts, c.maxTokens, arrivals, c.rounds, c.length, c.seed, others.Stamp()))
	columns := c.columns(random)
	head, rule := "|", "|"
	for _, col := range columns {
		head += " " + col.name + " |"
		if rule += "---"; col.name != "server" {
			rule += ":"
		}
		rule += "|"
	}
	must.Get(fmt.Fprintf(out, "%s\n%s\n", head, rule))
	for i, l := range c.loads {
		for k, name := range c.names {
			all := together(heats[i][k])
			row := "|"
			for _, col := range columns {
				row += " " + col.of(l, name, &all) + " |"
			}
			must.Get(fmt.Fprintln(out, row))
		}
	}
	return nil
}

// An outcome is the heats of one load on one server, and all together.
type outcome struct {
	heat
	each []heat
}

func together(heats []heat) outcome {
	all := outcome{heat: heat{first: map[int][]time.Duration{}}, each: heats}
	for _, h := range heats {
		for n, list := range h.first {
			all.first[n] = append(all.first[n], list...)
		}
		all.gaps = append(all.gaps, h.gaps...)
		all.during = append(all.during, h.during...)
		all.open = append(all.open, h.open...)
		all.came += h.came
		all.completed += h.completed
		all.refused += h.refused
	}
	return all
}

// A column is one of the table.
type column struct {
	name string
	of   func(l load, server string, o *outcome) string
}

// columns are those of loads at random times, or of streams that are kept open.
func (c *contest) columns(random bool) []column {
	first := "streams"
	if random {
		first = "requests/s"
	}
	list := []column{
		{first, func(l load, _ string, _ *outcome) string {
			if random {
				return fmt.Sprintf("%g", l.rate)
			}
			return fmt.Sprint(l.streams)
		}},
		{"server", func(_ load, server string, _ *outcome) string { return server }},
	}
	add := func(name string, of func(o *outcome) string) {
		list = append(list, column{name, func(_ load, _ string, o *outcome) string { return of(o) }})
	}
	if random {
		add("came", func(o *outcome) string { return fmt.Sprint(o.came) })
		add("completed", func(o *outcome) string { return fmt.Sprint(o.completed) })
		add("refused", func(o *outcome) string { return fmt.Sprint(o.refused) })
	}
	add("tokens/s", func(o *outcome) string {
		speeds := stat.Values(o.each, func(h heat) float64 { return h.speed() })
		return fmt.Sprintf("%.1f (%.1f to %.1f)", stat.Median(speeds), speeds[0], speeds[len(speeds)-1])
	})
	times := func(name string, of func(o *outcome) []time.Duration, ratio, most bool) {
		at := func(i int) func(o *outcome) string {
			return func(o *outcome) string { return fmt.Sprintf("%.0f", percentiles(of(o))[i]) }
		}
		add(name+" p50", at(0))
		add("p99", at(2))
		if ratio {
			add("p99/p50", func(o *outcome) string {
				if p := percentiles(of(o)); p[0] > 0 {
					return fmt.Sprintf("%.1f", p[2]/p[0])
				}
				return "–"
			})
		}
		if most {
			add("max", at(3))
		}
	}
	for _, n := range c.prompts {
		times(fmt.Sprintf("first token of %d", n), func(o *outcome) []time.Duration { return o.first[n] }, random, false)
	}
	times("between tokens", func(o *outcome) []time.Duration { return o.gaps }, false, random)
	if c.long > 0 {
		times(fmt.Sprintf("while %d tokens are read", c.long), func(o *outcome) []time.Duration { return o.during }, false, random)
	}
	if random {
		add("most open", func(o *outcome) string { return fmt.Sprint(slices.Max(append(o.open, -1)) + 1) })
		add("above saturation", func(o *outcome) string { return saturated(o.each) })
	}
	return list
}

// The queue of a server that keeps up is as long at the end as in the middle, but for chance. With fewer
// than fewArrivals it is all chance, and a tenth of what came has to be left for a load to be too much.
const (
	fewArrivals = 16
	tooMuch     = 0.1
)

// saturated reports whether more came than a server answers: its queue grew, in the median of the rounds.
func saturated(heats []heat) string {
	for _, h := range heats {
		if len(h.open) < fewArrivals {
			return "too few came to tell"
		}
	}
	growth := stat.Median(stat.Values(heats, func(h heat) float64 { return h.growth() }))
	if growth > tooMuch {
		return fmt.Sprintf("yes: the queue grew by %.0f %% of what came", 100*growth)
	}
	return "no"
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
