package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// The marks in a document between which the table stands.
const (
	begin = "<!-- from here on written by: go run ./bench/cpu -readme -->\n"
	end   = "<!-- until here -->\n"
)

// writeReadme puts the table of the results in dir between the marks of a document. With
// check it only compares.
func writeReadme(dir, document string, check bool) (err error) {
	defer must.Catch(&err)
	results := must.Get(readResults(dir))
	text := string(must.Get(os.ReadFile(document)))
	before, rest, ok := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s lacks the marks %q and %q", document, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	want := before + begin + summary(results) + end + after
	switch {
	case want == text:
		return nil
	case check:
		return fmt.Errorf("the table of %s is not that of the results in %s: go run ./bench/cpu -readme", document, dir)
	}
	return os.WriteFile(document, []byte(want), 0o644)
}

// readResults reads every result in dir, the oldest first. Of a busy machine is none.
func readResults(dir string) (_ []result, err error) {
	defer must.Catch(&err)
	var out []result
	names := must.Get(filepath.Glob(filepath.Join(dir, "*.json")))
	// DATE.json comes before DATE-2.json, and that before DATE-10.json.
	slices.SortFunc(names, func(a, b string) int {
		a, b = strings.TrimSuffix(a, ".json"), strings.TrimSuffix(b, ".json")
		if c := strings.Compare(a[:min(len(a), len(dir)+11)], b[:min(len(b), len(dir)+11)]); c != 0 {
			return c
		}
		if c := len(a) - len(b); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		var r result
		if err := json.Unmarshal(must.Get(os.ReadFile(name)), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !r.Machine.busy() {
			out = append(out, r)
		}
	}
	return out, nil
}

// A subject is what one row of the summary is of.
type subject struct {
	model, level, cache string
	options             [5]int
}

// summary is the table of the newest measurement of every model, and what quern loses.
func summary(results []result) string {
	type row struct {
		r *result
		c *comparison
	}
	rows := map[subject]row{}
	var order []subject
	for i := range results {
		for k := range results[i].Models {
			c := &results[i].Models[k]
			s := subject{c.Model, c.Programs[0].Runs[0].CPULevel, c.Cache, [...]int{c.Threads, c.PP, c.TG, c.Batch, c.Depth}}
			if _, ok := rows[s]; !ok {
				order = append(order, s)
			}
			rows[s] = row{&results[i], c}
		}
	}
	var b strings.Builder
	var lost []string
	b.WriteString("| | prefill, tokens/s: quern | best peer | ratio | decode, tokens/s: quern | best peer | ratio | of what memory gives | measured |\n|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, s := range order {
		c := rows[s].c
		fmt.Fprintf(&b, "| %s", c.title())
		for _, q := range []quantity{c.prompt(), c.reply()} {
			fmt.Fprintf(&b, " | %s", q.cell(c.Programs[0]))
			best := c.best(q)
			if best == nil {
				b.WriteString(" | – | –")
				continue
			}
			ratio := c.ratio(q)
			fmt.Fprintf(&b, " | %s: %s | %.2f", best.title(), q.cell(*best), ratio)
			if ratio < 1 {
				lost = append(lost, fmt.Sprintf("%s, %s: %.2f of %s", c.title(), q.name, ratio, best.title()))
			}
		}
		share := "–"
		if got, gives := stat.Median(read.values(c.Programs[0])), stat.Median(readers.values(c.Programs[0])); got > 0 && gives > 0 {
			share = fmt.Sprintf("%.0f %%", 100*got/gives)
		}
		fmt.Fprintf(&b, " | %s | %s, %s |\n", share, rows[s].r.Date, rows[s].r.Machine.Commit)
	}
	b.WriteString("\n")
	if len(lost) == 0 {
		b.WriteString("Medians, with the range of the runs. No row is slower than the best peer.\n")
	} else {
		b.WriteString("Medians, with the range of the runs. quern is slower in:\n\n")
		for _, l := range lost {
			b.WriteString("- " + l + "\n")
		}
	}
	return b.String()
}

// title is a model with all that makes it another row.
func (c *comparison) title() string {
	out := c.Model
	if c.Batch > 1 {
		out += fmt.Sprintf(", %d sequences", c.Batch)
	}
	if c.Depth > 0 {
		out += fmt.Sprintf(", behind %d tokens", c.Depth)
	}
	if c.Cache != "" {
		out += ", cache of " + c.Cache
	}
	if level := c.Programs[0].Runs[0].CPULevel; level == "avx2" || level == "generic" {
		out += ", at " + level
	}
	if c.Rounds {
		out += ", `--round-floats`"
	}
	return out
}
