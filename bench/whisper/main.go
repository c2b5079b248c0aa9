// Command whisper measures the recogniser, and makes files to measure it with.
//
//	go run ./bench/whisper gen -shape base -type F16 -o base.bin
//	go run ./bench/whisper compare -peer DIR base.bin
//	go run ./bench/whisper hour
//
// gen writes a model with random weights in the shape of a published one, for
// whisper.cpp and quern, or a directory of Hugging Face's. The same flags give
// the same bytes, and its transcript is gibberish. compare holds `quern bench`
// against whisper.cpp, which DIR has as @fugood/whisper.node. hour transcribes
// an hour of speech and reports the memory that takes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
)

var commands = []struct {
	name string
	run  func(ctx context.Context, args []string, out io.Writer) error
}{
	{"gen", gen}, {"compare", compare}, {"hour", hour},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	must.End("whisper", run(ctx, os.Args[1:], os.Stdout))
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var names []string
	for _, c := range commands {
		if len(args) > 0 && args[0] == c.name {
			return c.run(ctx, args[1:], out)
		}
		names = append(names, c.name)
	}
	return fmt.Errorf("want one of %s", strings.Join(names, ", "))
}

func gen(_ context.Context, args []string, out io.Writer) (err error) {
	defer must.Catch(&err)
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	var names []string
	for _, s := range shapes {
		names = append(names, s.name)
	}
	name := flags.String("shape", "base", "model to imitate: "+strings.Join(names, ", "))
	typ := flags.String("type", "F16", "number type of matrices: F16, Q8_0, Q5_1 and others")
	hf := flags.Bool("hf", false, "write a directory of Hugging Face's")
	seed := flags.Uint64("seed", 1, "seed of the random weights")
	path := flags.String("o", "", "file or directory to write")
	must.Do(flags.Parse(args))
	if *path == "" || flags.NArg() > 0 {
		return errors.New("gen: want -o FILE and no other arguments")
	}
	for _, s := range shapes {
		if !strings.EqualFold(s.name, *name) {
			continue
		}
		must.Do(generate(*path, s, *typ, *seed, *hf))
		fmt.Fprintf(out, "%s: %s %s\n", filepath.Clean(*path), s.name, *typ)
		return nil
	}
	return fmt.Errorf("gen: no shape %q", *name)
}
