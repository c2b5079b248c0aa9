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
	"path/filepath"
	"strconv"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// A measurement is what `quern bench --json` and the peers print of a
// recogniser.
type measurement struct {
	Encode   float64 `json:"encode_ms"`
	Token    float64 `json:"token_ms"`
	Version  string  `json:"version"`
	CPULevel string  `json:"cpu_level"`
}

// compare runs quern and a peer turn by turn on the same files.
func compare(ctx context.Context, args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	peer := flags.String("peer", "", "`command` that is given a file, threads and tokens: peer.cpp built, or \"node peer.mjs\"")
	threads := flags.Int("threads", 2, "threads of both")
	tokens := flags.Int("tg", 64, "tokens decoded")
	runs := flags.Int("runs", 3, "runs of each")
	must.Do(flags.Parse(args))
	if *peer == "" || flags.NArg() == 0 || *runs < 1 {
		return errors.New("compare: want -peer COMMAND and at least one model file")
	}
	dir := must.Get(os.MkdirTemp("", "quern-bench-"))
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "quern")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/quern").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	fmt.Fprintf(out, "| %d threads, ms | quern | range | peer | range | peer/quern |\n|---|---:|---|---:|---|---:|\n", *threads)
	var about string
	for _, file := range flags.Args() {
		var both [2][]measurement
		commands := [2][]string{
			{binary, "bench", file, "--json", "--reps", "1", "--threads", strconv.Itoa(*threads), "--tg", strconv.Itoa(*tokens)},
			append(strings.Fields(*peer), file, strconv.Itoa(*threads), strconv.Itoa(*tokens)),
		}
		for i := range *runs {
			for k := range both {
				k = (k + i) % 2 // so that a machine that slows down is unfair to neither
				both[k] = append(both[k], must.Get(measure(ctx, commands[k])))
			}
		}
		name := filepath.Base(file)
		for _, row := range []struct {
			name string
			of   func(measurement) float64
		}{
			{"encoder, window", func(m measurement) float64 { return m.Encode }},
			{"decoder, token", func(m measurement) float64 { return m.Token }},
		} {
			q, p := stat.Values(both[0], row.of), stat.Values(both[1], row.of)
			fmt.Fprintf(out, "| %s %s | %s | %s | %.2f |\n", name, row.name, cells(q), cells(p), stat.Median(p)/stat.Median(q))
		}
		about = fmt.Sprintf("quern at %s, %s at %s", both[0][0].CPULevel, both[1][0].Version, both[1][0].CPULevel)
	}
	fmt.Fprintf(out, "\nMedians of %d interleaved runs, %d tokens; %s.\n", *runs, *tokens, about)
	return nil
}

func measure(ctx context.Context, args []string) (m measurement, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return m, fmt.Errorf("%s: %w\n%s", filepath.Base(args[0]), err, bytes.TrimSpace(errs.Bytes()))
	}
	if err := json.Unmarshal(text, &m); err != nil || !(m.Encode > 0 && m.Token > 0) {
		return m, fmt.Errorf("%s measured nothing: %q", filepath.Base(args[0]), text)
	}
	return m, nil
}

func cells(v []float64) string {
	return fmt.Sprintf("%.2f | %.2f to %.2f", stat.Median(v), v[0], v[len(v)-1])
}
